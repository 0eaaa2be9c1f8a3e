/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rows of `malloc leaks`. */

#include "answer/leak_rows.h"

#include "answer/stack_names.h"
#include "base/cleanup.h"
#include "session/leaks.h"
#include "session/session.h"

#define HOLDER(kind, member)	COLUMN(kind, struct holder_row, member)

static const struct column holder_columns[] = {
	{ "kind", "KIND", "stack, register, vector", HOLDER(TEXT, kind) },
	{ "block", "BLOCK", "address", HOLDER(ADDRESS, block) },
	{ "bytes", ">BYTES", "of all that hangs on the word", HOLDER(BYTES, bytes) },
	{ "count", ">COUNT", NULL, HOLDER(NUMBER, count) },
	{ "place", "PLACE", NULL, HOLDER(ADDRESS, place), COLUMN_WITH(struct holder_row, place),
	  .flags = COLUMN_ABSENT },
	{ "thread", ">THREAD", NULL, HOLDER(NUMBER, thread), .flags = COLUMN_0_UNKNOWN | COLUMN_ABSENT },
	{ "register", "REGISTER", NULL, HOLDER(TEXT, reg), COLUMN_WITH(struct holder_row, in_register),
	  .flags = COLUMN_ABSENT },
	{ "pc", "PC", NULL, HOLDER(ADDRESS, pc), .flags = COLUMN_0_UNKNOWN | COLUMN_ABSENT },
	{ "returns", NULL, NULL, HOLDER(NUMBER, returns), COLUMN_WITH(struct holder_row, pc),
	  .flags = COLUMN_ABSENT },
};

static const struct relation holder_relation = RELATION("holders", holder_columns, struct holder_row);

#define IS(kind, member)	COLUMN(kind, struct leak_row, member)

static const struct column leak_columns[] = {
	{ "kind", "KIND", "definite indirect possible reachable", IS(TEXT, kind),
	  .flags = COLUMN_BRIEF },
	{ "bytes", ">BYTES", NULL, IS(BYTES, leak.bytes), .flags = COLUMN_BRIEF },
	{ "count", ">COUNT", NULL, IS(NUMBER, leak.blocks), .flags = COLUMN_BRIEF },
	{ "indirectbytes", ">INDIRECT", "lost with a definite one", IS(BYTES, leak.indirect_bytes),
	  .flags = COLUMN_BRIEF },
	{ "indirectcount", NULL, NULL, IS(NUMBER, leak.indirect_blocks) },
	{ "likelybytes", NULL, "of a possible one: most likely in use", IS(BYTES, leak.likely_bytes) },
	{ "likelycount", NULL, NULL, IS(NUMBER, leak.likely_blocks) },
	{ "offsets", NULL, "the bytes in such blocks that are pointed to", IS(TEXT, offsets) },
	{ "stackbytes", NULL, "hang on words of stacks and registers alone",
	  IS(BYTES, leak.stack_bytes) },
	{ "stackcount", NULL, NULL, IS(NUMBER, leak.stack_blocks) },
	{ "heldby", NULL, "a list of dicts: those of the 100 largest such words that point to its blocks",
	  IS(ROWS, held_by), .rows = &holder_relation },
	{ "address", NULL, "of its first block, for `malloc path`", IS(ADDRESS, address) },
	{ "through", NULL, "the definitely lost block through which an indirect one's is",
	  IS(ADDRESS, through), .flags = COLUMN_0_UNKNOWN },
	{ "ringcount", NULL, "of count: through which a ring of blocks is lost, or lost in such",
	  IS(NUMBER, leak.ring_blocks) },
	{ "type", "TYPE", "of its blocks, `TYPE, and others` if they differ; `?`: not known",
	  IS(TEXT, type), COLUMN_WITH(struct leak_row, leak.type) },
	{ "preattach", NULL, NULL, IS(NUMBER, leak.preattach) },
	{ "stack", NULL, NULL, IS(STACK, leak.stack) },
	{ "suppressed", NULL, "the pattern that suppresses it, or empty", IS(TEXT, suppressed) },
	{ "function", "FUNCTION", NULL, IS(TEXT, function),
	  .flags = COLUMN_BRIEF | COLUMN_NOT_IN_TCL | COLUMN_NOT_EXPORTED },
};

const struct relation leak_relation = RELATION("leaks", leak_columns, struct leak_row);

struct err *leaks_order(struct leaks *leaks, const struct answer_order *order)
{
	size_t left;
	struct err *err = answer_sort(order, leaks->vec.at, leaks->vec.nr, sizeof(*leaks->vec.at),
				    &left);

	if (err || left == leaks->vec.nr)
		return err;
	leaks->unlisted = leaks->vec.nr - left;
	leaks->vec.nr = left;
	leaks->listed = (struct leak_sum){ 0, 0 };
	vec_each(leak, &leaks->vec) {
		leaks->listed.blocks += leak->blocks;
		leaks->listed.bytes += leak->bytes;
	}
	return NULL;
}

struct making {
	struct session *session;
	const struct leak_marks *found;
	const struct leaks *leaks;
	const struct suppressions *suppressions;
	struct stack_names names;
};

static struct holder_row holder_row_of(const struct making *making,
				       const struct leak_holder *holder)
{
	static const char *const words[] = {
		[LEAK_HOLDER_STACK] = "stack", [LEAK_HOLDER_REGISTER] = "register",
		[LEAK_HOLDER_VECTOR] = "vector",
	};
	const struct leak_marks *found = making->found;
	const struct reach_holder *is = &found->mark.holders.at[holder->number];
	const struct leak_sum *sum = &making->leaks->by_holder.at[holder->number];

	return (struct holder_row){
		.kind = words[holder->in],
		.block = packed_at(&found->held, is->block)->address,
		.bytes = sum->bytes,
		.count = sum->blocks,
		.place = is->is_register ? 0 : is->place,
		.thread = (uint32_t)holder->tid,
		.in_register = holder->in == LEAK_HOLDER_REGISTER,
		.reg = holder->in == LEAK_HOLDER_REGISTER ?
			session_arch(making->session)->reg_names[holder->index] : NULL,
		.pc = holder->pc,
		.returns = holder->returns,
	};
}

/* The words of stacks and registers that alone hold blocks of this record. */
static struct err *find_holders(const struct making *making, const struct leak *leak,
				struct answer *ret)
{
	const struct leak_marks *found = making->found;
	struct err *err = NULL;

	*ret = (struct answer)ANSWER_KEPT(&holder_relation);
	for (size_t i = 0; !err && leak->stack_blocks && i < found->holders.nr; i++) {
		const struct leak_holder *holder = &found->holders.at[i];
		uint32_t block = found->mark.holders.at[holder->number].block;
		struct block is = packed_block(&found->held, block);
		struct holder_row row = holder_row_of(making, holder);

		if (reach_kind(packed_at(&found->held, block)) == leak->kind &&
		    is.stack == leak->stack && is.preattach == leak->preattach &&
		    is.unrecorded == leak->unrecorded)
			err = answer_add(ret, &row);
	}
	return err;
}

struct err *leak_rows_type(const struct leak *leak, struct str *ret)
{
	struct err *err = str_add(ret, leak->type ? leak->type : "");

	return err || !leak->types_differ ? err : str_add(ret, ", and others");
}

/* Numbers with blanks between them. */
static struct err *offsets_text(const struct leak *leak, struct str *ret)
{
	struct err *err = str_add(ret, "");

	for (uint32_t i = 0; !err && i < leak->nr_offsets; i++)
		err = str_addf(ret, "%s%u", i ? " " : "", leak->offset[i]);
	return err;
}

static struct err *add_row(struct making *making, const struct leak *leak, struct answer *ret)
{
	AUTO_STR struct str offsets = STR_INIT, function = STR_INIT, type = STR_INIT;
	struct leak_row row = { .leak = *leak, .kind = leak_kind_word(leak->kind) };
	struct err *err = offsets_text(leak, &offsets), *add_err;

	if (!err)
		err = leak->preattach ? str_add(&function, no_stack_text(leak->unrecorded)) :
			stack_names_headline(&making->names, leak->stack, &function);
	if (!err)
		err = leak_rows_type(leak, &type);
	if (!err)
		err = find_holders(making, leak, &row.held_by);
	row.type = str_text(&type);
	row.offsets = str_text(&offsets);
	row.function = str_text(&function);
	row.address = packed_at(&making->found->held, leak->first)->address;
	if (leak->kind == LEAK_INDIRECT)
		row.through = packed_at(&making->found->held,
					reach_leader(&making->found->mark, leak->first))->address;
	if (leak->suppression != SUPPRESS_NONE)
		row.suppressed = making->suppressions->vec.at[leak->suppression].pattern;
	add_err = answer_add(ret, &row);
	return err ? err : add_err;
}

struct err *leak_rows(struct session *session, const struct leak_marks *found,
		      const struct leaks *leaks, const struct suppressions *suppressions,
		      struct answer *ret)
{
	struct making making = { .session = session, .found = found, .leaks = leaks,
				 .suppressions = suppressions };
	struct err *err = NULL;

	*ret = (struct answer)ANSWER_KEPT(&leak_relation);
	stack_names_init(&making.names, session);
	for (size_t i = 0; !err && i < leaks->vec.nr; i++)
		err = add_row(&making, &leaks->vec.at[i], ret);
	stack_names_free(&making.names);
	return err;
}
