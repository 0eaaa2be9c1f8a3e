/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rows of `malloc owners`. */

#include "answer/owner_rows.h"

#include <inttypes.h>

#include "answer/site_rows.h"
#include "answer/stack_names.h"
#include "answer/typed_blocks.h"
#include "base/cancel.h"
#include "base/cleanup.h"
#include "heap/interner.h"
#include "log/log.h"
#include "session/leaks.h"
#include "session/session.h"

#define NONE	UINT32_MAX
#define STEPS	65536u	/* between two looks whether the user has interrupted */

#define IS(kind, member)	COLUMN(kind, struct owner_row, member)

static const struct column owner_columns[] = {
	{ "label", "LABEL", "a root, type, site, module, thread; of a block empty", IS(TEXT, label),
	  .flags = COLUMN_EMPTY },
	{ "bytes", ">KEEPS", "that would go with it, its own among them", IS(BYTES, bytes),
	  .flags = COLUMN_BRIEF },
	{ "count", ">COUNT", "blocks that would go with it", IS(NUMBER, count),
	  .flags = COLUMN_BRIEF },
	{ "own", ">OWN", "bytes of its own blocks; by root, of those kept by it directly",
	  IS(BYTES, own), .flags = COLUMN_BRIEF },
	{ "change", ">CHANGE", "of bytes, since it was asked before, by the same words",
	  IS(CHANGE, change), COLUMN_WITH(struct owner_row, compared), .flags = COLUMN_BRIEF },
	{ "share", ">%", "of all bytes, in percent", IS(REAL, share), .flags = COLUMN_BRIEF },
	{ "address", "ADDRESS", "the block; of several that which keeps most, to go on with",
	  IS(ADDRESS, address), .flags = COLUMN_BRIEF | COLUMN_0_UNKNOWN },
	{ "size", NULL, "of that block", IS(BYTES, size) },
	{ "blockbytes", NULL, "of bytes, the part that this block keeps",
	  IS(BYTES, blockbytes) },
	{ "stack", NULL, "that has allocated it, for mdbg::frames", IS(STACK, stack) },
	{ "function", "OWNER", "that has allocated it, and its caller", IS(TEXT, function),
	  .flags = COLUMN_BRIEF | COLUMN_EMPTY | COLUMN_NOT_EXPORTED },
};

const struct relation owner_relation = RELATION("owners", owner_columns, struct owner_row);

struct err *owner_rows_take(struct session *session, const struct owner_ask *ask,
			    struct owners *ret)
{
	*ret = (struct owners){ .graph = { .in = { .held = PACKED_INIT, .heap = HEAPS_INIT } } };
	return session_leaks_graph(session, ask, &ret->graph);
}

struct err *owner_rows_find(struct session *session, bool keep, struct owners *owners)
{
	struct dominators_source source = { .graph = &owners->graph.graph, .keep = keep,
					    .list = &owners->graph.in.held };
	struct err *err;

	if (owners->keeps.of)
		return NULL;
	root_names_free(&owners->roots);	/* of a search that was interrupted */
	err = root_names_build(session, &owners->graph, &owners->roots);
	if (err)
		return err;
	source.group_of = owners->roots.group_of.at;
	source.nr_groups = (uint32_t)owners->roots.names.vec.nr;
	return dominators_build(&source, &owners->keeps);
}

static void count_all(struct owners *owners)
{
	free(owners->counts);
	owners->counts = NULL;
	dominator_sums_free(&owners->sums);
}

static struct err *match(const struct filter *filter, const struct filter_env *env,
			 struct owners *owners)
{
	const struct packed_list *list = &owners->graph.in.held;

	for (uint32_t i = 0; i < list->nr; i++) {
		struct block block = packed_block(list, i);
		struct err *err = i % STEPS ? NULL : cancel_check();

		if (err)
			return err;
		owners->counts[i] = filter_matches(filter, env, &block);
	}
	return dominators_sum(&owners->keeps, list, owners->counts, &owners->sums);
}

struct err *owner_rows_count(const struct filter *filter, const struct filter_env *env,
			     struct owners *owners)
{
	struct err *err;

	count_all(owners);
	if (!filter->conds.nr)
		return NULL;
	owners->counts = malloc(owners->keeps.nr + 1ull);
	err = owners->counts ? match(filter, env, owners) : err_nomem;
	if (err)
		count_all(owners);
	return err;
}

void owner_rows_free(struct owners *owners)
{
	count_all(owners);
	owner_graph_free(&owners->graph);
	root_names_free(&owners->roots);
	dominators_free(&owners->keeps);
}

struct making {
	struct stack_names *names;
	const struct owners *owners;
	enum owner_by by;
	bool brief;
	VEC(struct owner_row) rows;	/* by group */
	struct interner keys;		/* of groups of blocks */
	uint32_t *group_of;		/* by block */
};

static struct err *add_group(struct making *making, uint32_t group)
{
	return vec_push(&making->rows, ((struct owner_row){ .group = group, .block = NONE,
							    .stack = LOG_STACK_NONE }));
}

/* The row goes on with the block that keeps most. */
static void take_block(const struct making *making, uint32_t block, struct owner_row *row)
{
	const struct owners *owners = making->owners;

	if (row->block == NONE || owners_bytes(owners, block) > owners_bytes(owners, row->block))
		row->block = block;
}

/* 0: it does not count. */
static uint64_t size_of(const struct making *making, uint32_t block)
{
	const struct owners *owners = making->owners;
	const struct packed_list *list = &owners->graph.in.held;

	return owners->counts && !owners->counts[block] ? 0 :
		packed_size(list, packed_at(list, block));
}

/* A row for each group of roots, for what is lost, and for what several groups lead to. */
static struct err *make_roots(struct making *making)
{
	const struct dominators *keeps = &making->owners->keeps;
	struct err *err = NULL;

	for (uint32_t i = 0; i <= keeps->nr_groups && !err; i++) {
		err = add_group(making, i);
		if (err || i == keeps->nr_groups)
			continue;
		making->rows.at[i].bytes = owners_bytes(making->owners, dominators_group(keeps, i));
		making->rows.at[i].count = owners_blocks(making->owners)[dominators_group(keeps, i)];
	}
	for (uint32_t i = 0; i < keeps->nr && !err; i++) {
		struct owner_row *row;

		if (keeps->of[i] < keeps->nr)
			continue;
		row = &making->rows.at[keeps->of[i] - keeps->nr];
		row->own += size_of(making, i);
		if (keeps->of[i] == keeps->top) {
			row->bytes += owners_bytes(making->owners, i);
			row->count += owners_blocks(making->owners)[i];
		}
		take_block(making, i, row);
	}
	return err;
}

static struct err *make_blocks(struct making *making)
{
	const struct dominators *keeps = &making->owners->keeps;
	struct err *err = NULL;

	for (uint32_t i = 0; i < keeps->nr && !err; i++) {
		if (keeps->of[i] != making->owners->graph.block)
			continue;
		err = vec_push(&making->rows, ((struct owner_row){
			.group = i, .block = i, .bytes = owners_bytes(making->owners, i),
			.count = owners_blocks(making->owners)[i],
			.own = size_of(making, i) }));
	}
	return err;
}

/* Blocks that are in no record are grouped by size. */
static uint64_t key_of(const struct making *making, const struct block *block)
{
	if (making->by == OWNER_TYPE)
		return typed_blocks_of(making->owners->typed, block).number;
	if (making->by == OWNER_THREAD)
		return block->preattach ? UINT64_MAX : block->thread;
	if (block->preattach)
		return 1ull << 63 | block->size;
	if (making->by == OWNER_SITE)
		return block->stack;
	return stack_names_key(making->names, block->stack, SITE_MODULE);
}

static struct err *group_blocks(struct making *making)
{
	const struct packed_list *list = &making->owners->graph.in.held;
	struct err *err = NULL;

	making->group_of = malloc((list->nr + 1) * sizeof(*making->group_of));
	if (!making->group_of)
		return err_nomem;
	for (uint32_t i = 0; i < list->nr && !err; i++) {
		struct block block = packed_block(list, i);

		err = interner_number(&making->keys, key_of(making, &block), &making->group_of[i]);
		if (!err && making->group_of[i] == making->rows.nr)
			err = add_group(making, making->group_of[i]);
		if (!err && i % STEPS == 0)
			err = cancel_check();
	}
	return err;
}

/* The tree of dominators from top to bottom. */
struct tree {
	uint32_t *child, *sibling;	/* by vertex; NONE: there is no other */
	uint32_t *within;		/* by group: blocks of it above the present one */
};

static void tree_free(struct tree *tree)
{
	free(tree->child);
	free(tree->sibling);
	free(tree->within);
}

static struct err *make_tree(const struct making *making, struct tree *ret)
{
	const struct dominators *keeps = &making->owners->keeps;
	size_t nr = keeps->top + 1ull;

	*ret = (struct tree){ malloc(nr * sizeof(*ret->child)), malloc(nr * sizeof(*ret->sibling)),
			      calloc(making->rows.nr + 1, sizeof(*ret->within)) };
	if (!ret->child || !ret->sibling || !ret->within)
		return err_nomem;
	memset(ret->child, 0xff, nr * sizeof(*ret->child));
	for (uint32_t i = 0; i < keeps->top; i++) {
		ret->sibling[i] = ret->child[keeps->of[i]];
		ret->child[keeps->of[i]] = i;
	}
	ret->sibling[keeps->top] = NONE;
	return NULL;
}

static void go_in(struct making *making, struct tree *tree, uint32_t vertex)
{
	const struct dominators *keeps = &making->owners->keeps;
	uint32_t group = vertex < keeps->nr ? making->group_of[vertex] : NONE;
	struct owner_row *row = group == NONE ? NULL : &making->rows.at[group];

	if (!row)
		return;
	row->own += size_of(making, vertex);
	if (tree->within[group]++)
		return;
	row->bytes += owners_bytes(making->owners, vertex);
	row->count += owners_blocks(making->owners)[vertex];
	take_block(making, vertex, row);
}

/* Nothing of it is recursive: the tree may be as deep as there are blocks. */
static void walk_tree(struct making *making, struct tree *tree)
{
	const struct dominators *keeps = &making->owners->keeps;
	uint32_t at = keeps->top;

	go_in(making, tree, at);
	for (;;) {
		if (tree->child[at] != NONE) {
			at = tree->child[at];
			go_in(making, tree, at);
			continue;
		}
		for (; at != keeps->top; at = keeps->of[at]) {
			if (at < keeps->nr)
				tree->within[making->group_of[at]]--;
			if (tree->sibling[at] != NONE)
				break;
		}
		if (at == keeps->top)
			return;
		at = tree->sibling[at];
		go_in(making, tree, at);
	}
}

static struct err *make_groups(struct making *making)
{
	CLEANUP(tree_free) struct tree tree = { .child = NULL };
	struct err *err = group_blocks(making);

	if (!err)
		err = make_tree(making, &tree);
	if (!err)
		walk_tree(making, &tree);
	return err ? err : cancel_check();
}

struct err *owner_rows_vertex(struct stack_names *names, const struct owners *owners,
			      uint32_t vertex, struct str *ret)
{
	const struct dominators *keeps = &owners->keeps;
	AUTO_STR struct str from = STR_INIT;
	struct err *err;

	if (vertex == keeps->top)
		return str_add(ret, "several roots");
	if (vertex == dominators_lost(keeps))
		return str_add(ret, "nothing: lost");
	if (vertex >= keeps->nr)
		return str_add(ret, owners->roots.names.vec.at[vertex - keeps->nr]);
	err = root_names_block(names, &owners->graph, vertex, &from);
	return err ? err : str_addf(ret, "0x%" PRIx64 ", from %s",
				    (uint64_t)packed_at(&owners->graph.in.held, vertex)->address,
				    from.len ? str_text(&from) : "(unknown)");
}

static struct err *add_label(const struct making *making, const struct owner_row *row,
			     struct str *ret)
{
	const struct owners *owners = making->owners;
	struct block block;

	if (making->by == OWNER_BLOCK)
		return NULL;
	if (making->by == OWNER_ROOT)
		return owner_rows_vertex(making->names, owners, owners->keeps.nr + row->group, ret);
	block = packed_block(&owners->graph.in.held, row->block);
	if (making->by == OWNER_TYPE)
		return str_addf(ret, "type %s", typed_blocks_name(owners->typed, (uint32_t)
								  key_of(making, &block)));
	if (block.preattach && making->by != OWNER_THREAD)
		return str_addf(ret, "blocks of %" PRIu64 " bytes %s", block.size,
				no_stack_text(block.unrecorded));
	if (block.preattach)
		return str_add(ret, no_stack_text(block.unrecorded));
	if (making->by == OWNER_SITE)
		return NULL;
	return site_label(making->names, making->by == OWNER_THREAD ? SITE_THREAD : SITE_MODULE,
			  &(struct site){ .key = key_of(making, &block), .stack = block.stack },
			  ret);
}

static struct err *add_row(const struct making *making, struct owner_row *row, struct answer *ret)
{
	AUTO_STR struct str label = STR_INIT, function = STR_INIT;
	uint64_t all = owners_bytes(making->owners, making->owners->keeps.top);
	struct err *err = NULL;

	if (row->block != NONE) {
		struct block block = packed_block(&making->owners->graph.in.held, row->block);

		row->address = block.address;
		row->size = block.size;
		row->blockbytes = owners_bytes(making->owners, row->block);
		row->stack = block.preattach ? LOG_STACK_NONE : block.stack;
		err = root_names_block(making->names, &making->owners->graph, row->block, &function);
	}
	if (!err)
		err = add_label(making, row, &label);
	if (err)
		return err;
	row->share = all ? 100.0 * (double)row->bytes / (double)all : 0.0;
	row->label = str_text(&label);
	row->function = str_text(making->brief && label.len ? &label : &function);
	return answer_add(ret, row);
}

/* By root the group is that of a name, which may be another number tomorrow. */
static struct err *add_key(const struct making *making, const struct owner_row *row, struct str *ret)
{
	struct block block;

	if (making->by != OWNER_SITE)
		return add_label(making, row, ret);
	block = packed_block(&making->owners->graph.in.held, row->block);
	return str_addf(ret, "%" PRIx64, key_of(making, &block));
}

static struct err *compare(struct making *making, struct owner_change *before,
			   struct owner_change *now)
{
	struct err *err = NULL;

	if (!now)
		return NULL;
	vec_each_while(row, &making->rows, !err) {
		AUTO_STR struct str key = STR_INIT;

		err = add_key(making, row, &key);
		if (!err)
			err = owner_change_add(now, str_text(&key), row->bytes);
		row->compared = before && before->known;
		if (!err && row->compared)
			err = owner_change_since(before, str_text(&key), row->bytes, &row->change);
	}
	now->known = true;
	return err ? err : cancel_check();
}

static void drop_empty(struct making *making)
{
	size_t nr = 0;

	vec_each(row, &making->rows) {
		if (row->count)
			making->rows.at[nr++] = *row;
	}
	making->rows.nr = nr;
}

static struct err *make(struct making *making, const struct owner_rows_ask *ask,
			struct answer *ret, uint64_t *all_ret)
{
	struct answer_order by_bytes = ask->order;
	size_t left = 0;
	struct err *err = making->by == OWNER_ROOT ? make_roots(making) :
			  making->by == OWNER_BLOCK ? make_blocks(making) : make_groups(making);

	if (!by_bytes.by)
		by_bytes.by = relation_find(&owner_relation, "bytes");
	drop_empty(making);
	*all_ret = making->rows.nr;
	if (!err)
		err = compare(making, ask->before, ask->now);
	if (!err)
		err = answer_sort(&by_bytes, making->rows.at, making->rows.nr,
				  sizeof(*making->rows.at), &left);
	for (size_t i = 0; i < left && !err; i++)
		err = add_row(making, &making->rows.at[i], ret);
	return err;
}

struct err *owner_rows(struct stack_names *names, const struct owners *owners,
		       const struct owner_rows_ask *ask, struct answer *ret, uint64_t *all_ret)
{
	struct making making = { .names = names, .owners = owners, .by = ask->by,
				 .brief = ask->brief, .keys = INTERNER_INIT };
	struct err *err;

	*ret = (struct answer)ANSWER_KEPT(&owner_relation);
	err = make(&making, ask, ret, all_ret);
	vec_free(&making.rows);
	interner_free(&making.keys);
	free(making.group_of);
	if (err)
		answer_free(ret);
	return err;
}
