/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * export heapsnapshot: V8's heap snapshot, as Chrome's DevTools open it (Memory, Load profile) and
 * compute dominators and retainers from it.
 *
 *	node 0		the root, which leads to
 *	"(GC roots)"	which DevTools look for by that name; it leads to
 *	groups		of roots, as `malloc owners` names them, and what is lost; they lead to
 *	blocks		a class is who allocated them
 *
 * A pointer that does not count is weak: what a lost block points to is kept by others, and a word of
 * a stack owns nothing that another root leads to (heap/reach/dominators.h). So DevTools get the
 * figures of `malloc owners`. Names of pointers are their numbers in the block.
 *
 * DevTools keep all numbers in 32 bits. The id of a block is made of its address, so that two files
 * of one process can be compared: it is the same as long as the block is there. Addresses that lie
 * 64 GB apart may get the same one.
 */

#include <inttypes.h>

#include "answer/owner_rows.h"
#include "answer/stack_names.h"
#include "base/cleanup.h"
#include "export/export_file.h"
#include "export/format_list.h"
#include "export/text.h"
#include "heap/interner.h"
#include "log/log.h"

#define FIELDS		7u	/* of a node */
#define HEAD		2u	/* nodes before the groups */
#define STEPS		4096u	/* between two looks whether the user has interrupted */
#define NODE_OBJECT	3u
#define NODE_SYNTHETIC	9u
#define EDGE_ELEMENT	1u
#define EDGE_WEAK	6u

enum life { UNKNOWN, ALIVE, LOST };

struct writer {
	struct stack_names *names;
	const struct owners *owners;
	struct export_file *file;
	struct text_set strings;
	struct interner stacks;		/* stack, or size of an early block -> index in of_stack */
	VEC(uint32_t) of_stack;		/* its string */
	uint8_t *life;			/* by vertex: enum life */
	uint32_t *group_first, *group_to;	/* blocks by group: group_to[group_first[i] ..] */
	bool behind;			/* something has been written to the array */
};

static void writer_free(struct writer *writer)
{
	text_set_free(&writer->strings);
	interner_free(&writer->stacks);
	vec_free(&writer->of_stack);
	free(writer->life);
	free(writer->group_first);
	free(writer->group_to);
}

/* What is lost is below the group of that name in the tree of dominators. */
static struct err *find_lost(struct writer *writer)
{
	const struct dominators *keeps = &writer->owners->keeps;
	uint8_t *life = writer->life = calloc(keeps->top + 1ull, 1);

	if (!life)
		return err_nomem;
	for (uint32_t i = keeps->nr; i <= keeps->top; i++)
		life[i] = i == dominators_lost(keeps) ? LOST : ALIVE;
	for (uint32_t i = 0; i < keeps->nr; i++) {
		uint32_t at = i;
		uint8_t is;

		while (life[at] == UNKNOWN)
			at = keeps->of[at];
		is = life[at];
		for (at = i; life[at] == UNKNOWN; at = keeps->of[at])
			life[at] = is;
	}
	return NULL;
}

/* The next block that a group leads to, from *at on; the roots come first, then what is lost. */
static bool next_in_group(const struct writer *writer, size_t *at, uint32_t *group_ret,
			  uint32_t *block_ret)
{
	const struct owners *owners = writer->owners;
	size_t roots = owners->graph.graph.roots.nr;

	for (; *at < roots + owners->keeps.nr; ++*at) {
		bool root = *at < roots;
		uint32_t block = root ? owners->graph.graph.roots.at[*at].block :
					(uint32_t)(*at - roots);
		uint32_t group = root ? owners->roots.group_of.at[*at] :
				 owners->keeps.of[block] == dominators_lost(&owners->keeps) ?
					 owners->keeps.nr_groups - 1 : DOMINATORS_NO_GROUP;

		if (group == DOMINATORS_NO_GROUP)
			continue;
		*group_ret = group;
		*block_ret = block;
		++*at;
		return true;
	}
	return false;
}

static struct err *find_groups(struct writer *writer)
{
	uint32_t nr = writer->owners->keeps.nr_groups, group, block;
	size_t at = 0;

	writer->group_first = calloc(nr + 2ull, sizeof(*writer->group_first));
	if (!writer->group_first)
		return err_nomem;
	while (next_in_group(writer, &at, &group, &block))
		writer->group_first[group + 2]++;
	for (uint32_t i = 2; i < nr + 2; i++)
		writer->group_first[i] += writer->group_first[i - 1];
	writer->group_to = malloc((writer->group_first[nr + 1] + 1ull) *
				  sizeof(*writer->group_to));
	if (!writer->group_to)
		return err_nomem;
	/* Each begins one place further up, which is moved to its end now: the next one's begin. */
	at = 0;
	while (next_in_group(writer, &at, &group, &block))
		writer->group_to[writer->group_first[group + 1]++] = block;
	return NULL;
}

static void write_number(struct writer *writer, uint64_t number)
{
	if (writer->behind)
		export_file_text(writer->file, ",");
	writer->behind = true;
	export_file_number(writer->file, number);
}

static void write_node(struct writer *writer, unsigned type, uint32_t name, uint32_t id,
		       uint64_t size, uint64_t edges)
{
	const uint64_t fields[FIELDS] = { type, name, id, MIN(size, (uint64_t)UINT32_MAX), edges };

	for (unsigned i = 0; i < FIELDS; i++)
		write_number(writer, fields[i]);
	export_file_text(writer->file, "\n");
}

static void write_edge(struct writer *writer, unsigned type, uint64_t name, uint64_t node)
{
	write_number(writer, type);
	write_number(writer, name);
	write_number(writer, node * FIELDS);
	export_file_text(writer->file, "\n");
}

static struct err *add_string(struct writer *writer, const char *text, uint32_t *ret)
{
	AUTO_STR struct str clean = STR_INIT;
	struct err *err = text_clean(&clean, text);

	return err ? err : text_set_copy(&writer->strings, str_text(&clean), ret);
}

/* The class of a block. */
static struct err *name_block(struct writer *writer, uint32_t number, uint32_t *ret)
{
	const struct owner_graph *graph = &writer->owners->graph;
	AUTO_STR struct str text = STR_INIT;
	uint32_t at, string;
	struct err *err = interner_number(&writer->stacks, root_names_class_key(graph, number), &at);

	if (err || at < writer->of_stack.nr) {
		*ret = err ? 0 : writer->of_stack.at[at];
		return err;
	}
	err = root_names_class(writer->names, graph, number, &text);
	if (!err)
		err = add_string(writer, str_text(&text), &string);
	*ret = err ? 0 : string;
	return err ? err : vec_push(&writer->of_stack, string);
}

static uint32_t id_of(uint64_t address)
{
	return (uint32_t)(address >> 4) ^ (uint32_t)(address >> 36) * 0x9e3779b1u;
}

static struct err *write_nodes(struct writer *writer)
{
	const struct owners *owners = writer->owners;
	const struct dominators *keeps = &owners->keeps;
	const struct block_graph *graph = &owners->graph.graph;
	uint32_t name = 0;
	struct err *err = add_string(writer, "", &name);

	write_node(writer, NODE_SYNTHETIC, name, 1, 0, 1);
	if (!err)
		err = add_string(writer, "(GC roots)", &name);
	write_node(writer, NODE_SYNTHETIC, name, 3, 0, keeps->nr_groups);
	for (uint32_t i = 0; i < keeps->nr_groups && !err; i++) {
		AUTO_STR struct str text = STR_INIT;

		err = owner_rows_vertex(writer->names, owners, dominators_group(keeps, i), &text);
		if (!err)
			err = add_string(writer, str_text(&text), &name);
		write_node(writer, NODE_SYNTHETIC, name, 5 + 2 * i, 0,
			   writer->group_first[i + 1] - writer->group_first[i]);
	}
	for (uint32_t i = 0; i < keeps->nr && !err; i++) {
		const struct packed_block *held = packed_at(&owners->graph.in.held, i);

		err = name_block(writer, i, &name);
		write_node(writer, NODE_OBJECT, name, id_of(held->address),
			   packed_size(&owners->graph.in.held, held),
			   graph->first[i + 1] - graph->first[i]);
		if (!err && i % STEPS == 0)
			err = export_file_check(writer->file);
	}
	return err;
}

/* A block is the node behind those of the groups. A weak pointer has a string for its name. */
static struct err *write_edges(struct writer *writer)
{
	const struct dominators *keeps = &writer->owners->keeps;
	const struct block_graph *graph = &writer->owners->graph.graph;
	uint64_t blocks = HEAD + (uint64_t)keeps->nr_groups;
	struct err *err = NULL;

	writer->behind = false;
	write_edge(writer, EDGE_ELEMENT, 0, 1);
	for (uint32_t i = 0; i < keeps->nr_groups; i++)
		write_edge(writer, EDGE_ELEMENT, i, HEAD + (uint64_t)i);
	for (uint32_t i = 0; i < keeps->nr_groups; i++)
		for (uint32_t j = writer->group_first[i]; j < writer->group_first[i + 1]; j++)
			write_edge(writer, EDGE_ELEMENT, j - writer->group_first[i],
				   blocks + writer->group_to[j]);
	for (uint32_t i = 0; i < keeps->nr && !err; i++) {
		for (uint32_t j = graph->first[i]; j < graph->first[i + 1]; j++) {
			uint32_t to = graph->to.at[j];
			bool weak = writer->life[i] == LOST && writer->life[to] != LOST;

			write_edge(writer, weak ? EDGE_WEAK : EDGE_ELEMENT,
				   weak ? 0 : j - graph->first[i], blocks + to);
		}
		if (i % STEPS == 0)
			err = export_file_check(writer->file);
	}
	return err;
}

static void write_strings(struct writer *writer)
{
	struct export_file *file = writer->file;

	for (size_t i = 0; i < writer->strings.vec.nr; i++) {
		export_file_text(file, i ? ",\n\"" : "\"");
		for (const char *at = writer->strings.vec.at[i]; *at; at++) {
			if (*at == '"' || *at == '\\')
				export_file_text(file, "\\");
			export_file_bytes(file, at, 1);
		}
		export_file_text(file, "\"");
	}
}

static const char meta[] =
	"{\"node_fields\":[\"type\",\"name\",\"id\",\"self_size\",\"edge_count\","
	"\"trace_node_id\",\"detachedness\"],\"node_types\":[[\"hidden\",\"array\",\"string\","
	"\"object\",\"code\",\"closure\",\"regexp\",\"number\",\"native\",\"synthetic\","
	"\"concatenated string\",\"sliced string\",\"symbol\",\"bigint\",\"object shape\"],"
	"\"string\",\"number\",\"number\",\"number\",\"number\",\"number\"],"
	"\"edge_fields\":[\"type\",\"name_or_index\",\"to_node\"],\"edge_types\":[[\"context\","
	"\"element\",\"property\",\"internal\",\"hidden\",\"shortcut\",\"weak\"],"
	"\"string_or_number\",\"node\"],\"trace_function_info_fields\":[\"function_id\",\"name\","
	"\"script_name\",\"script_id\",\"line\",\"column\"],\"trace_node_fields\":[\"id\","
	"\"function_info_index\",\"count\",\"size\",\"children\"],\"sample_fields\":["
	"\"timestamp_us\",\"last_assigned_id\"],\"location_fields\":[\"object_index\","
	"\"script_id\",\"line\",\"column\"]}";

static struct err *write_file(struct writer *writer)
{
	const struct dominators *keeps = &writer->owners->keeps;
	const struct block_graph *graph = &writer->owners->graph.graph;
	struct export_file *file = writer->file;
	struct err *err;

	export_file_f(file, "{\"snapshot\":{\"meta\":%s,\"node_count\":%" PRIu64
			    ",\"edge_count\":%" PRIu64 ",\"trace_function_count\":0},\n"
			    "\"nodes\":[", meta,
		      (uint64_t)HEAD + keeps->nr_groups + keeps->nr,
		      (uint64_t)1 + keeps->nr_groups + writer->group_first[keeps->nr_groups] +
			      graph->to.nr);
	err = write_nodes(writer);
	export_file_text(file, "],\n\"edges\":[");
	if (!err)
		err = write_edges(writer);
	export_file_text(file, "],\n\"trace_function_infos\":[],\n\"trace_tree\":[],\n"
			       "\"samples\":[],\n\"locations\":[],\n\"strings\":[");
	write_strings(writer);
	export_file_text(file, "]}\n");
	return err;
}

static struct err *write_owners(struct stack_names *names, const struct owners *owners,
				struct export_file *file)
{
	CLEANUP(writer_free) struct writer writer = { .names = names, .owners = owners,
						      .file = file, .strings = TEXT_SET_INIT,
						      .stacks = INTERNER_INIT };
	struct err *err = find_lost(&writer);

	if (!err)
		err = find_groups(&writer);
	return err ? err : write_file(&writer);
}

const struct export_format export_heapsnapshot = {
	.name	= "heapsnapshot",
	.brief	= "all blocks and pointers, for the memory panel of Chrome's DevTools",
	.owners	= write_owners,
};
