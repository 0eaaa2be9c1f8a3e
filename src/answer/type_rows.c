/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rows of `malloc types`. */

#include "answer/type_rows.h"

#include "base/cancel.h"
#include "heap/filter.h"
#include "heap/interner.h"

#define CANCEL_EACH	65536u	/* blocks */

#define IS(kind, member)	COLUMN(kind, struct type_row, member)

static const struct column type_columns[] = {
	{ "bytes", ">BYTES", "in blocks of this type", IS(BYTES, bytes), .flags = COLUMN_BRIEF },
	{ "count", ">COUNT", "blocks", IS(NUMBER, count), .flags = COLUMN_BRIEF },
	{ "share", NULL, "of all bytes, in percent", IS(REAL, share) },
	{ "how", "KNOWN BY", "vtable, python, frame, debug, spread, form or like; empty: it is not", IS(TEXT, how),
	  .flags = COLUMN_BRIEF | COLUMN_EMPTY },
	{ "tried", NULL, "of `like`: seen blocks of the site that its rules were tried on",
	  IS(NUMBER, tried), .flags = COLUMN_0_UNKNOWN },
	{ "right", NULL, "of these, those that were named rightly, in percent", IS(REAL, right),
	  COLUMN_WITH(struct type_row, tried) },
	{ "address", "FIRST", "one of the blocks", IS(ADDRESS, address), .flags = COLUMN_BRIEF },
	{ "type", "TYPE", "`?`: it is not known", IS(TEXT, type), .flags = COLUMN_BRIEF },
};

const struct relation type_relation = RELATION("types", type_columns, struct type_row);

struct summing {
	const struct typed_blocks *typed;
	const struct filter *filter;
	const struct filter_env *env;
	struct type_sums *ret;
	struct interner keys;		/* number of the type << 8 | how → place in ret->vec */
	VEC(uint8_t) stacks;		/* do its names match? 0 not asked yet, 1 no, 2 yes */
};

/* Names are asked for once a stack. */
static bool names_match(struct summing *summing, uint32_t stack)
{
	bool asked = stack < summing->stacks.nr && summing->stacks.at[stack];
	bool match = asked ? summing->stacks.at[stack] == 2 :
			     filter_matches_names(summing->filter, summing->env, stack);

	if (!asked && stack != LOG_STACK_NONE && stack <= reader_stacks(summing->env->log) &&
	    vec_slot(&summing->stacks, stack))
		summing->stacks.at[stack] = match ? 2 : 1;
	return match;
}

static bool is_kept(struct summing *summing, size_t i)
{
	struct block block;

	if (!summing->filter->conds.nr)
		return true;
	block = packed_block(&summing->typed->found.blocks.held, i);
	return filter_matches_numbers(summing->filter, summing->env, &block) &&
	       names_match(summing, block.stack);
}

static struct err *row_of(struct summing *summing, struct known_type type, uint64_t address,
			  struct type_row **ret)
{
	uint32_t place;
	struct err *err = interner_number(&summing->keys,
					  (uint64_t)type.number << 8 | type.how, &place);

	if (!err && place == summing->ret->vec.nr) {
		struct type_row row = {
			.type = typed_blocks_name(summing->typed, type.number),
			.how = typed_blocks_how((enum known_how)type.how), .address = address,
		};

		if (type.how == KNOWN_LIKE) {
			row.tried = summing->typed->likes.at[type.number].tested;
			row.right = 100.0 * (double)summing->typed->likes.at[type.number].right /
				    (double)MAX(row.tried, 1ull);
		}
		err = vec_push(&summing->ret->vec, row);
	}
	if (!err)
		*ret = &summing->ret->vec.at[place];
	return err;
}

static struct err *add(struct summing *summing, size_t i)
{
	const struct packed_list *list = &summing->typed->found.blocks.held;
	const struct packed_block *block = packed_at(list, i);
	uint64_t size = packed_size(list, block);
	struct known_type type = summing->typed->of.at[i];
	struct type_sums *ret = summing->ret;
	struct type_row *row;
	struct err *err = row_of(summing, type, block->address, &row);

	if (err)
		return err;
	row->bytes += size;
	row->count++;
	ret->bytes += size;
	ret->count++;
	ret->known[type.how] += size;
	return NULL;
}

COMPARE_BY(by_bytes, struct type_row, row, ~row->bytes)

struct err *type_rows_sum(const struct typed_blocks *typed, const struct filter *filter,
			  const struct filter_env *env, struct type_sums *ret)
{
	struct summing summing = { .typed = typed, .filter = filter, .env = env, .ret = ret,
				   .keys = INTERNER_INIT };
	struct err *err = NULL;

	*ret = (struct type_sums){ .bytes = 0 };
	for (size_t i = 0; !err && i < typed->of.nr; i++) {
		if (is_kept(&summing, i))
			err = add(&summing, i);
		if (!err && i % CANCEL_EACH == 0)
			err = cancel_check();
	}
	interner_free(&summing.keys);
	vec_free(&summing.stacks);
	vec_sort(&ret->vec, by_bytes);
	vec_each(row, &ret->vec)
		row->share = ret->bytes ? 100.0 * (double)row->bytes / (double)ret->bytes : 0;
	return err;
}

void type_rows_free(struct type_sums *sums)
{
	vec_free(&sums->vec);
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
