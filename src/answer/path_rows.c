/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rows of `malloc path`. */

#include "answer/path_rows.h"

#include "answer/root_names.h"
#include "answer/stack_names.h"
#include "base/cleanup.h"
#include "log/log.h"

#define IS(kind, member)	COLUMN(kind, struct path_row, member)
#define OF_BLOCK		COLUMN_WITH(struct path_row, block)
#define LEADS			COLUMN_WITH(struct path_row, leads)

static const struct column path_columns[] = {
	{ "way", ">WAY", "0: the shortest one", IS(NUMBER, way), .flags = COLUMN_BRIEF },
	{ "step", ">STEP", "0: the root", IS(NUMBER, step), .flags = COLUMN_BRIEF },
	{ "kind", "KIND", "root; lost: there is no root; block", IS(TEXT, kind),
	  .flags = COLUMN_BRIEF },
	{ "address", "ADDRESS", "of the block; of a root's word", IS(ADDRESS, address),
	  .flags = COLUMN_BRIEF | COLUMN_0_UNKNOWN },
	{ "size", ">SIZE", "of the block", IS(BYTES, size), OF_BLOCK, .flags = COLUMN_BRIEF },
	{ "offset", ">OFFSET", "of the word in it that points to the next block",
	  IS(NUMBER, offset), LEADS, .flags = COLUMN_BRIEF },
	{ "to", ">TO", "byte of the next block that the word points to", IS(NUMBER, to), LEADS,
	  .flags = COLUMN_BRIEF },
	{ "stack", NULL, "that has allocated the block", IS(STACK, stack) },
	{ "label", "WHAT", "the root, or who allocated the block", IS(TEXT, label),
	  .flags = COLUMN_BRIEF | COLUMN_EMPTY },
};

const struct relation path_relation = RELATION("path", path_columns, struct path_row);

static struct err *add_root(struct stack_names *names, const struct owner_graph *graph,
			    uint32_t way, struct answer *ret)
{
	const struct block_way *is = &graph->path.ways.at[way];
	AUTO_STR struct str text = STR_INIT;
	struct path_row row = { .way = way, .stack = LOG_STACK_NONE, .kind = "lost" };
	const struct graph_root *root;
	struct err *err;

	if (is->root == BLOCK_PATH_LOST) {
		row.label = is->ring ? "only its ring" : "";
		return answer_add(ret, &row);
	}
	root = &graph->graph.roots.at[is->root];
	row.kind = "root";
	row.address = root->in == WORD_ALONE ? 0 : root->place;
	err = root_names_text(names->session, graph, is->root, &text);
	row.label = str_text(&text);
	return err ? err : answer_add(ret, &row);
}

static struct err *add_hop(struct stack_names *names, const struct owner_graph *graph,
			   const struct owner_hop *hop, uint32_t step, struct answer *ret)
{
	struct block block = packed_block(&graph->in.held, hop->block);
	AUTO_STR struct str text = STR_INIT;
	struct path_row row = {
		.way = hop->way, .step = step, .kind = "block", .address = block.address,
		.size = block.size, .offset = hop->from, .to = hop->to, .block = true,
		.stack = block.preattach ? LOG_STACK_NONE : block.stack,
		.leads = hop->found,
	};
	struct err *err = root_names_block(names, graph, hop->block, &text);

	row.label = text.len ? str_text(&text) : "";
	return err ? err : answer_add(ret, &row);
}

struct err *path_rows(struct stack_names *names, const struct owner_graph *graph,
		      struct answer *ret)
{
	uint32_t way = UINT32_MAX, step = 0;
	struct err *err = NULL;

	*ret = (struct answer)ANSWER_KEPT(&path_relation);
	vec_each_while(hop, &graph->hops, !err) {
		if (hop->way != way) {
			way = hop->way;
			step = 0;
			err = add_root(names, graph, way, ret);
		}
		if (!err)
			err = add_hop(names, graph, hop, ++step, ret);
	}
	if (err)
		answer_free(ret);
	return err;
}
