/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parses the words of `malloc pins`, and makes its answer. */

#include "cmd/query_pins.h"

#include "cmd/shell/cmd.h"

const char *const query_pins_by[] = {
	[PIN_STACK] = "site",    [PIN_FUNCTION] = "function", [PIN_LINE] = "line",
	[PIN_MODULE] = "module", [PIN_THREAD] = "thread",     [PIN_SIZE] = "size",
	[PIN_HEAP] = "heap",     [PIN_TYPE] = "type", NULL,
};

static struct err *parse_by(const struct query *query, int *at, enum pin_by *ret)
{
	const char *word;
	int by;

	*ret = PIN_STACK;
	if (*at >= query->argc || strcmp(query->argv[*at], "by"))
		return NULL;
	word = query->argv[*at + 1];
	by = !word ? -1 : strcmp(word, "stack") ? call_word_index(word, query_pins_by) : PIN_STACK;
	if (by < 0)
		return err_hint(word ? err_create(ERR_USAGE, "'%s' is nothing to group by", word) :
				       err_create(ERR_USAGE, "what to group by is missing"),
				"by site, function, line, module, thread, size, heap or type");
	*ret = (enum pin_by)by;
	*at += 2;
	return NULL;
}

static struct err *parse(struct query *query, enum pin_by *by, struct answer_order *order)
{
	const char *const *argv = (const char *const *)query->argv;
	int at = 0, used = 0;
	struct err *err = parse_by(query, &at, by);

	if (!err)
		err = filter_parse(query->argc - at, argv + at, FILTER_ALL, &query->filter, NULL,
				   &used);
	at += used;
	if (!err)
		err = answer_order_parse(&pin_relation, query->argc, argv, &at, order);
	return !err && at < query->argc ? call_bad_word(argv[at]) : err;
}

static struct err *take_types(const struct call *call, enum pin_by by, struct query *query)
{
	struct err *err = query_typed(call, by == PIN_TYPE, query);

	return err || by != PIN_TYPE || query->typed.taken ? err :
		       err_create(ERR_UNSUPPORTED, "types are not known: %s", query->untyped);
}

static uint64_t type_of(void *types, const struct block *block)
{
	return typed_blocks_of(types, block).number;
}

struct err *query_pins(const struct call *call, struct query_pins *ret)
{
	struct query *query = &ret->query;
	struct answer_order order;
	enum pin_by by = PIN_STACK;
	struct err *err;

	*ret = (struct query_pins){ .use = HEAP_USE_INIT, .pins = PINS_INIT };
	err = query_begin(call, query);
	if (!err)
		err = parse(query, &by, &order);
	if (!err)
		err = take_types(call, by, query);
	if (!err)
		err = heap_use_take(call->session,
				    by == PIN_THREAD || by == PIN_TYPE ||
				    filter_is_typed(&query->filter) ||
				    filter_is_timed(&query->filter), &ret->use);
	if (err)
		return err;
	ret->env = query_env(call, query);
	ret->source = heap_use_source(&ret->use);
	ret->source.by = by;
	ret->source.filter = &query->filter;
	ret->source.env = &ret->env;
	ret->source.key_of = stack_names_key;
	ret->source.ctx = &query->names;
	ret->source.type_of = type_of;
	ret->source.types = &query->typed;
	err = pins_build(&ret->source, &ret->pins);
	if (!err)
		err = pin_rows_order(&ret->pins, &order);
	return err ? err : query_warn_of_nobody(call, &query->names, &query->filter);
}

void query_pins_free(struct query_pins *pins)
{
	pins_free(&pins->pins);
	heap_use_free(&pins->use);
	query_free(&pins->query);
}

static struct err *take_sites(const struct query_pins *from, struct query *query,
			      struct early *early)
{
	struct err *err = NULL;

	vec_each_while(pin, &from->pins.vec, !err) {
		if (pin->preattach) {
			early->bytes += pin->bytes;
			early->count += pin->pages;
			early->unrecorded |= pin->unrecorded;
			continue;
		}
		query->sites.bytes += pin->bytes;
		query->sites.count += pin->pages;
		err = vec_push(&query->sites.vec, ((struct site){
			.key = pin->key, .stack = pin->stack,
			.bytes = pin->bytes, .count = pin->pages }));
	}
	return err;
}

struct err *query_pins_sites(const struct call *call, struct query *query,
			     struct early *early_ret)
{
	struct query_pins pins;
	struct err *err = query_pins(call, &pins);

	*early_ret = (struct early){ .bytes = 0 };
	if (!err && pins.source.by != PIN_STACK)
		err = err_hint(err_create(ERR_USAGE, "an export is by stack"),
			       "its reader adds stacks up by function, line or module");
	if (!err)
		err = take_sites(&pins, &pins.query, early_ret);
	pins.query.limit = UINT64_MAX;
	pins_free(&pins.pins);
	*query = pins.query;
	query->heap = pins.use.heap;
	pins.use.heap = (struct heaps)HEAPS_INIT;
	heap_use_free(&pins.use);
	return err;
}
