/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rows of `malloc pins`. */

#include "answer/pin_rows.h"

#include <inttypes.h>

#include "answer/site_rows.h"
#include "answer/stack_names.h"
#include "answer/typed_blocks.h"
#include "log/log.h"

#define IS(kind, member)	COLUMN(kind, struct pin_row, member)

static const struct column pin_columns[] = {
	{ "label", "SITE", "what the blocks have in common; empty by stack", IS(TEXT, label),
	  .flags = COLUMN_EMPTY },
	{ "bytes", ">FREE", "free bytes that they keep resident", IS(BYTES, pin.bytes),
	  .flags = COLUMN_BRIEF },
	{ "pages", ">PAGES", "with free bytes, that they are on", IS(NUMBER, pin.pages),
	  .flags = COLUMN_BRIEF },
	{ "count", ">COUNT", "blocks on these pages", IS(NUMBER, pin.count),
	  .flags = COLUMN_BRIEF },
	{ "held", ">HELD", "bytes of these blocks", IS(BYTES, pin.held), .flags = COLUMN_BRIEF },
	{ "preattach", NULL, "1: they are in no record", IS(NUMBER, pin.preattach) },
	{ "stack", NULL, "for mdbg::frames", IS(STACK, pin.stack) },
	{ "function", "FUNCTION", "that of the line `in NAME`", IS(TEXT, function),
	  .flags = COLUMN_BRIEF | COLUMN_EMPTY | COLUMN_NOT_EXPORTED },
};

const struct relation pin_relation = RELATION("pins", pin_columns, struct pin_row);

struct err *pin_rows_order(struct pins *pins, const struct answer_order *order)
{
	size_t left;
	struct err *err = answer_sort(order, pins->vec.at, pins->vec.nr, sizeof(*pins->vec.at),
				      &left);

	if (!err)
		pins->vec.nr = left;
	return err;
}

struct err *pin_rows_label(const struct stack_names *names, const struct typed_blocks *typed,
			   enum pin_by by, const struct pin *pin, struct str *ret)
{
	const struct site site = { .key = pin->key, .stack = pin->stack };
	struct err *err;

	if (by == PIN_TYPE)
		return str_addf(ret, "type %s", typed_blocks_name(typed, (uint32_t)pin->key));
	if (by == PIN_HEAP)
		return str_addf(ret, "heap %" PRIu64, pin->key);
	if (!pin->preattach)
		return site_label(names, (enum site_by)by, &site, ret);
	err = str_addf(ret, "blocks of %" PRIu64 " bytes ", pin->key);
	return err ? err : str_add(ret, no_stack_text(pin->unrecorded));
}

static struct err *take_function(struct stack_names *names, const struct pin *pin, bool brief,
				 const char *label, struct str *ret)
{
	uint64_t key;

	if (brief && *label)
		return str_add(ret, label);
	if (pin->stack == LOG_STACK_NONE)
		return NULL;
	if (brief)
		return stack_names_headline(names, pin->stack, ret);
	key = stack_names_key(names, pin->stack, SITE_FUNCTION);
	return key ? str_add(ret, stack_names_name(names, key)) : NULL;
}

static struct err *add_row(struct stack_names *names, const struct typed_blocks *typed,
			   enum pin_by by, bool brief, const struct pin *pin, struct answer *ret)
{
	AUTO_STR struct str label = STR_INIT, function = STR_INIT;
	struct pin_row row = { .pin = *pin };
	struct err *err = pin_rows_label(names, typed, by, pin, &label);

	if (!err)
		err = take_function(names, pin, brief, str_text(&label), &function);
	if (err)
		return err;
	row.label = str_text(&label);
	row.function = str_text(&function);
	return answer_add(ret, &row);
}

struct err *pin_rows(struct stack_names *names, const struct typed_blocks *typed, enum pin_by by,
		     bool brief, const struct pins *pins, struct answer *ret)
{
	struct err *err = NULL;

	*ret = (struct answer)ANSWER_KEPT(&pin_relation);
	vec_each_while(pin, &pins->vec, !err)
		err = add_row(names, typed, by, brief, pin, ret);
	if (err)
		answer_free(ret);
	return err;
}
