/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rows of `malloc pymalloc`. */

#include "answer/python_rows.h"

#include "answer/stack_names.h"
#include "log/log.h"

#define IS(kind, member)	COLUMN(kind, struct python_row, member)

static const struct column python_columns[] = {
	{ "type", "TYPE", "of the objects; (no object) of what Python keeps beside them",
	  IS(TEXT, type), .flags = COLUMN_BRIEF | COLUMN_EMPTY },
	{ "state", "STATE", "lost: nothing points to it; indirect: only lost ones do",
	  IS(TEXT, state), .flags = COLUMN_BRIEF | COLUMN_EMPTY },
	{ "size", ">SIZE", "of a block; 0 by type", IS(BYTES, size), .flags = COLUMN_BRIEF },
	{ "count", ">COUNT", "blocks", IS(NUMBER, count), .flags = COLUMN_BRIEF },
	{ "bytes", ">BYTES", "in these blocks", IS(BYTES, bytes), .flags = COLUMN_BRIEF },
	{ "stack", NULL, "for mdbg::frames, where `probe pool pymalloc` has recorded it",
	  IS(STACK, stack) },
	{ "function", "FUNCTION", "that of the line `in NAME`", IS(TEXT, function),
	  .flags = COLUMN_BRIEF | COLUMN_EMPTY | COLUMN_NOT_EXPORTED },
};

const struct relation python_relation = RELATION("pymalloc", python_columns, struct python_row);

struct summing {
	const struct pyobjects *objects;
	enum python_by by;
	const struct log *log;
	uint8_t process;
	struct python_sums *ret;
	struct map places;	/* key → place in ret->vec, plus 1 */
};

/* That of the function which has made the object, or which has given its block to somebody. */
static uint32_t stack_of(const struct summing *summing, uint64_t object, uint64_t block)
{
	const uint64_t place = (uint64_t)summing->process << LOG_PROCESS_SHIFT | LOG_DOMAIN_USER;
	struct log_record record;

	if (!summing->log || (!log_record_lookup(summing->log, object | place, &record) &&
			      !log_record_lookup(summing->log, block | place, &record)))
		return LOG_STACK_NONE;
	return record.stack;
}

static void count_lost(struct python_sums *sums, uint32_t size, enum pynode_state state)
{
	sums->lost += state == PYNODE_LOST;
	sums->lost_bytes += state == PYNODE_LOST ? size : 0;
	sums->indirect += state == PYNODE_INDIRECT;
	sums->indirect_bytes += state == PYNODE_INDIRECT ? size : 0;
}

/* The row of these; NULL: no memory. */
static struct python_row *row_of(struct summing *summing, uint64_t key,
				 const struct python_row *begin)
{
	uintptr_t place = (uintptr_t)map_get(&summing->places, key);

	if (place)
		return &summing->ret->vec.at[place - 1];
	if (vec_push(&summing->ret->vec, *begin) ||
	    map_put(&summing->places, key, (void *)(uintptr_t)summing->ret->vec.nr))
		return NULL;
	return &summing->ret->vec.at[summing->ret->vec.nr - 1];
}

static struct err *add(void *ctx, uint64_t block, uint64_t object, uint32_t size,
		       const struct pytype *type, enum pynode_state state)
{
	static const char *const states[] = { "", "lost", "indirect" };
	struct summing *summing = ctx;
	struct python_row begin = { .type = "", .state = "", .function = "",
				    .stack = LOG_STACK_NONE };
	uint64_t number = (uint64_t)(type - summing->objects->types.at), key = number;
	struct python_row *row;

	count_lost(summing->ret, size, state);
	if (summing->by == PYTHON_BY_LOST) {
		if (state == PYNODE_HELD)
			return NULL;
		begin.state = states[state];
		begin.stack = stack_of(summing, object, block);
		key |= (uint64_t)begin.stack << 28 | (uint64_t)state << 26;
	}
	if (summing->by == PYTHON_BY_SIZE)
		key = 0;
	else
		begin.type = type->name;
	if (summing->by != PYTHON_BY_TYPE) {
		begin.size = size;
		key |= (uint64_t)size << 16;
	}
	row = row_of(summing, key, &begin);
	if (!row)
		return err_nomem;
	row->count++;
	row->bytes += size;
	return NULL;
}

COMPARE_BY(by_bytes, struct python_row, row, ~row->bytes)

struct err *python_rows_sum(const struct pyobjects *objects, enum python_by by,
			    const struct log *log, uint8_t process, struct python_sums *ret)
{
	struct summing summing = { objects, by, log, process, ret, MAP_INIT };
	struct err *err;

	*ret = (struct python_sums){ .lost = 0 };
	err = pyobjects_each(objects, add, &summing);
	map_free(&summing.places, NULL);
	vec_sort(&ret->vec, by_bytes);
	return err;
}

struct err *python_rows(struct stack_names *names, const struct python_sums *sums,
			struct answer *ret)
{
	struct err *err = NULL;

	*ret = (struct answer)ANSWER_KEPT(&python_relation);
	vec_each_while(sum, &sums->vec, !err) {
		struct str function = STR_INIT;
		struct python_row row = *sum;

		if (row.stack != LOG_STACK_NONE)
			err = stack_names_headline(names, row.stack, &function);
		row.function = str_text(&function);
		if (!err)
			err = answer_add(ret, &row);
		str_free(&function);
	}
	return err;
}
