/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rows of `malloc path`. */

#include "answer/path_rows.h"

#include "answer/root_names.h"
#include "answer/stack_names.h"
#include "base/cleanup.h"
#include "log/log.h"
#include "session/session.h"
#include "symbol/fold.h"
#include "symbol/symbol.h"
#include "type/pointer_step.h"
#include "type/type_name.h"
#include "type/types.h"

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
	{ "type", NULL, "of the block, as the way to it is declared", IS(TEXT, type),
	  .flags = COLUMN_EMPTY },
	{ "member", NULL, "of the word that leads on; of a root, with the variable", IS(TEXT, member),
	  .flags = COLUMN_EMPTY },
	{ "stack", NULL, "that has allocated the block", IS(STACK, stack) },
	{ "label", "WHAT", "the root, or who allocated the block", IS(TEXT, label),
	  .flags = COLUMN_BRIEF | COLUMN_EMPTY },
};

const struct relation path_relation = RELATION("path", path_columns, struct path_row);

/* A way that is being told, and what is known of the types on it. */
struct telling {
	struct stack_names *names;
	const struct owner_graph *graph;
	struct types *types;		/* NULL: not asked for yet */
	struct type *type;		/* of what the last word points to; NULL: not known */
	struct answer *ret;
};

/* The variable at which the way begins, if debug information has it at this place. */
static struct err *find_variable(struct telling *telling, uint64_t place, struct symbol_data *is,
				 struct type **ret)
{
	struct session *session = telling->names->session;
	AUTO_STR struct str name = STR_INIT;
	struct named named;
	bool found;
	struct err *err = telling->types ? NULL : session_types(session, &telling->types);

	*ret = NULL;
	*is = symbol_data_at(session_symbols(session), place, telling->graph->generation);
	if (err || !is->name)
		return err;
	/* A symbol has the ABI of its type behind its name: "cache[abi:cxx11]". */
	err = str_add_bytes(&name, is->name, strcspn(is->name, "["));
	if (!err)
		err = types_find(telling->types, NULL, str_text(&name), &named, &found);
	if (!err && found && named.kind == NAME_VARIABLE && named.is.where == VARIABLE_ADDRESS &&
	    named.is.address == is->start)
		*ret = named.is.type;
	return err;
}

/* What cannot be read, or is of several files, is not known. */
static struct err *ignore_unknown(struct err *err)
{
	if (err && err->code != ERR_NOMEM && err->code != ERR_CANCELLED) {
		err_ignore(err);
		return NULL;
	}
	return err;
}

static struct err *add_variable(struct telling *telling, const struct graph_root *root,
				struct str *member)
{
	struct symbol_data is;
	struct type *type;
	bool found;
	struct err *err;

	if (root->in != WORD_ROOT || owner_graph_range(telling->graph, root->place))
		return NULL;
	err = ignore_unknown(find_variable(telling, root->place, &is, &type));
	if (err || !type)
		return err;
	err = str_add(member, is.brief);
	if (!err)
		err = pointer_step_add(type, root->place - is.start, true, member, &telling->type,
				       &found);
	if (!err && !found)
		str_clear(member);
	return err;
}

static struct err *add_root(struct telling *telling, uint32_t way)
{
	const struct owner_graph *graph = telling->graph;
	const struct block_way *is = &graph->path.ways.at[way];
	AUTO_STR struct str text = STR_INIT, member = STR_INIT;
	struct path_row row = { .way = way, .stack = LOG_STACK_NONE, .kind = "lost", .type = "",
				.member = "" };
	const struct graph_root *root;
	struct err *err;

	telling->type = NULL;
	if (is->root == BLOCK_PATH_LOST) {
		row.label = is->ring ? "only its ring" : "";
		return answer_add(telling->ret, &row);
	}
	root = &graph->graph.roots.at[is->root];
	row.kind = "root";
	row.address = root->in == WORD_ALONE ? 0 : root->place;
	err = root_names_text(telling->names->session, graph, is->root, &text);
	if (!err)
		err = add_variable(telling, root, &member);
	row.label = str_text(&text);
	row.member = str_text(&member);
	return err ? err : answer_add(telling->ret, &row);
}

/* Names of types in templates say less than the class that they stand for. */
static struct err *add_name(const struct telling *telling, struct type *type, struct str *to)
{
	struct type *plain = type_plain(type);
	struct err *err = type_name_add(plain->name ? plain : type, to);
	struct folded folded = { .text = NULL };

	if (!err && session_naming(telling->names->session)->names != SYMBOL_NAMES_FULL)
		folded = fold_name(str_text(to));
	if (folded.text) {
		str_clear(to);
		err = str_add(to, folded.text);
	}
	free(folded.text);
	return err;
}

/*
 * The type of a block, and the member that leads on from it. `at` is the byte of the block at which the
 * value begins that the word before points to.
 */
static struct err *add_types(struct telling *telling, const struct owner_hop *hop, uint64_t at,
			     struct str *type, struct str *member)
{
	struct type *is = telling->type;
	struct err *err = is && !at ? add_name(telling, is, type) : NULL;
	bool found;

	telling->type = NULL;
	if (err || !is || !hop->found || hop->from < at)
		return err;
	return pointer_step_add(is, hop->from - at, false, member, &telling->type, &found);
}

static struct err *add_hop(struct telling *telling, const struct owner_hop *hop, uint64_t at,
			   uint32_t step)
{
	const struct owner_graph *graph = telling->graph;
	struct block block = packed_block(&graph->in.held, hop->block);
	AUTO_STR struct str text = STR_INIT, type = STR_INIT, member = STR_INIT;
	struct path_row row = {
		.way = hop->way, .step = step, .kind = "block", .address = block.address,
		.size = block.size, .offset = hop->from, .to = hop->to, .block = true,
		.stack = block.preattach ? LOG_STACK_NONE : block.stack, .leads = hop->found,
	};
	struct err *err = root_names_block(telling->names, graph, hop->block, &text);

	if (!err)
		err = add_types(telling, hop, at, &type, &member);
	row.label = str_text(&text);
	row.type = str_text(&type);
	row.member = str_text(&member);
	return err ? err : answer_add(telling->ret, &row);
}

struct err *path_rows(struct stack_names *names, const struct owner_graph *graph,
		      struct answer *ret)
{
	struct telling telling = { .names = names, .graph = graph, .ret = ret };
	uint32_t way = UINT32_MAX, step = 0;
	uint64_t at = 0;
	struct err *err = NULL;

	*ret = (struct answer)ANSWER_KEPT(&path_relation);
	vec_each_while(hop, &graph->hops, !err) {
		if (hop->way != way) {
			way = hop->way;
			step = 0;
			err = add_root(&telling, way);
			at = hop->entry;
			telling.type = hop->entered ? telling.type : NULL;
		}
		if (!err)
			err = add_hop(&telling, hop, at, ++step);
		at = hop->to;
	}
	if (err)
		answer_free(ret);
	return err;
}
