/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rows of `malloc types`. */

#include "answer/type_rows.h"

#include <stdlib.h>
#include <string.h>

#include "answer/frame_type.h"
#include "answer/stack_names.h"
#include "base/cancel.h"
#include "base/map.h"
#include "heap/filter.h"
#include "session/session.h"
#include "symbol/string_pool.h"
#include "symbol/symbol.h"

#define TABLE_OF	"_ZTV"
#define NAME_OF		"_ZTS"
#define NAME_WORDS	"typeinfo name for "
#define HEADER		16u	/* of a table, before its address point */

#define IS(kind, member)	COLUMN(kind, struct type_row, member)

static const struct column type_columns[] = {
	{ "bytes", ">BYTES", "in blocks of this type", IS(BYTES, bytes), .flags = COLUMN_BRIEF },
	{ "count", ">COUNT", "blocks", IS(NUMBER, count), .flags = COLUMN_BRIEF },
	{ "share", NULL, "of all bytes, in percent", IS(REAL, share) },
	{ "how", "KNOWN BY", "vtable, python, frame or form; empty: it is not", IS(TEXT, how),
	  .flags = COLUMN_BRIEF | COLUMN_EMPTY },
	{ "address", "FIRST", "one of the blocks", IS(ADDRESS, address), .flags = COLUMN_BRIEF },
	{ "type", "TYPE", "`?`: it is not known", IS(TEXT, type), .flags = COLUMN_BRIEF },
};

const struct relation type_relation = RELATION("types", type_columns, struct type_row);

const char *type_rows_how(enum type_how how)
{
	static const char *const words[TYPE_HOWS] = {
		[TYPE_VTABLE] = "vtable", [TYPE_PYTHON] = "python", [TYPE_FRAME] = "frame",
		[TYPE_FORM] = "form", [TYPE_UNKNOWN] = "",
	};

	return words[how];
}

struct summing {
	struct stack_names *names;
	const struct session_contents *found;
	struct symbols *symbols;
	struct type_sums *ret;
	struct names pool;	/* names of classes come from the target */
	struct map places;	/* number of the type << 3 | how → place in ret->vec, + 1 */
	/* Texts of ret->texts; NULL: not asked yet; "": it is not known. */
	VEC(const char *) classes, stacks;
};

static const char *behind(const char *text, const char *words)
{
	size_t len = strlen(words);

	return text && !strncmp(text, words, len) ? text + len : NULL;
}

/* The class by its name, as objects of types have it: `*` stands before a local one. */
static struct err *demangle(struct summing *summing, const char *name, const char **ret)
{
	AUTO_STR struct str mangled = STR_INIT;
	struct err *err = str_addf(&mangled, NAME_OF "%s", name);
	const char *text;

	*ret = "";
	if (err)
		return err;
	text = string_pool_readable(&summing->pool, str_text(&mangled), SIZE_MAX, NULL);
	if (!text)
		return err_nomem;
	text = behind(text, NAME_WORDS);
	return text ? text_set_keep(&summing->ret->texts, text, ret) : NULL;
}

/*
 * The symbol of the table, and the name in the type's object, if both are there, must be of one
 * class. A table for the time of construction (_ZTC) is of none.
 */
static struct err *name_table(struct summing *summing, const struct block_class *class,
			      const char **ret)
{
	size_t nr;
	const struct symbol_frame *frame = symbols_resolve(summing->symbols, class->table,
							   summing->found->generation, false, &nr);
	const char *symbol = behind(frame[nr - 1].linkage, TABLE_OF), *name = class->name;

	*ret = "";
	if (name && *name == '*')
		name++;
	if (behind(frame[nr - 1].linkage, "_ZTC") || (symbol && frame[nr - 1].offset < HEADER))
		return NULL;
	if (symbol && name && strcmp(symbol, name))
		return NULL;
	if (!symbol && !name)
		return NULL;
	return demangle(summing, symbol ? symbol : name, ret);
}

static struct err *name_class(struct summing *summing, uint32_t number, const char **ret)
{
	const struct block_class *class = &summing->found->types.classes.at[number];
	const char **known = vec_slot(&summing->classes, number);
	struct err *err = NULL;

	if (!known)
		return err_nomem;
	if (!*known)
		err = class->table ? name_table(summing, class, known) :
			text_set_keep(&summing->ret->texts,
				      summing->found->types.python.types.at[class->python].name,
				      known);
	*ret = *known;
	return err;
}

static struct err *name_stack(struct summing *summing, uint32_t stack, const char **ret)
{
	AUTO_STR struct str text = STR_INIT;
	const char **known;
	struct err *err;

	*ret = "";
	/* A damaged log may name stacks that do not exist. */
	if (stack == LOG_STACK_NONE || stack > reader_stacks(session_log(summing->names->session)))
		return NULL;
	known = vec_slot(&summing->stacks, stack);
	if (!known)
		return err_nomem;
	if (!*known) {
		err = frame_type_of_stack(summing->names, stack, &text);
		if (!err)
			err = text_set_keep(&summing->ret->texts, str_text(&text), known);
		if (err)
			return err;
	}
	*ret = *known;
	return NULL;
}

/* The best that is known of a sum. */
static struct err *name_sum(struct summing *summing, const struct block_type_sum *sum,
			    const char **type_ret, enum type_how *how_ret)
{
	struct err *err = NULL;

	*type_ret = "";
	if (sum->class) {
		*how_ret = summing->found->types.classes.at[sum->class - 1].table ? TYPE_VTABLE :
										    TYPE_PYTHON;
		err = name_class(summing, sum->class - 1, type_ret);
	}
	if (!err && !**type_ret) {
		*how_ret = TYPE_FRAME;
		err = name_stack(summing, sum->stack, type_ret);
	}
	if (err || **type_ret)
		return err;
	*how_ret = sum->form == BLOCK_FORM_NONE ? TYPE_UNKNOWN : TYPE_FORM;
	*type_ret = block_form_name(sum->form);
	return NULL;
}

static struct err *add(struct summing *summing, const struct block_type_sum *sum)
{
	struct type_sums *ret = summing->ret;
	struct type_row row = { .address = sum->address };
	enum type_how how = TYPE_UNKNOWN;
	uint32_t number;
	uintptr_t place;
	uint64_t key;
	struct err *err = name_sum(summing, sum, &row.type, &how);

	if (!err)
		err = text_set_number(&ret->texts, row.type, &number);
	if (err)
		return err;
	row.how = type_rows_how(how);
	key = (uint64_t)number << 3 | how;
	place = (uintptr_t)map_get(&summing->places, key);
	if (!place) {
		err = vec_push(&ret->vec, row);
		place = ret->vec.nr;
		if (!err)
			err = map_put(&summing->places, key, (void *)place);
		if (err)
			return err;
	}
	ret->vec.at[place - 1].bytes += sum->bytes;
	ret->vec.at[place - 1].count += sum->count;
	ret->bytes += sum->bytes;
	ret->count += sum->count;
	ret->known[how] += sum->bytes;
	return NULL;
}

COMPARE_BY(by_bytes, struct type_row, row, ~row->bytes)

struct err *type_rows_sum(struct stack_names *names, const struct session_contents *found,
			  const struct filter *filter, const struct filter_env *env,
			  struct type_sums *ret)
{
	struct summing summing = { .names = names, .found = found, .ret = ret, .pool = NAMES_INIT,
				   .places = MAP_INIT,
				   .symbols = session_symbols(names->session) };
	struct err *err = NULL;

	*ret = (struct type_sums){ .bytes = 0 };
	vec_each_while(sum, &found->types.sums, !err) {
		err = cancel_check();
		if (!err && filter_matches_names(filter, env, sum->stack))
			err = add(&summing, sum);
	}
	string_pool_free(&summing.pool);
	map_free(&summing.places, NULL);
	vec_free(&summing.classes);
	vec_free(&summing.stacks);
	vec_sort(&ret->vec, by_bytes);
	vec_each(row, &ret->vec)
		row->share = ret->bytes ? 100.0 * (double)row->bytes / (double)ret->bytes : 0;
	return err;
}

void type_rows_free(struct type_sums *sums)
{
	vec_free(&sums->vec);
	text_set_free(&sums->texts);
}

struct err *type_rows(const struct type_sums *sums, struct answer *ret)
{
	struct err *err = NULL;

	*ret = (struct answer)ANSWER_KEPT(&type_relation);
	vec_each_while(row, &sums->vec, !err) {
		struct type_row copy = *row;

		err = answer_add(ret, &copy);
	}
	if (err)
		answer_free(ret);
	return err;
}
