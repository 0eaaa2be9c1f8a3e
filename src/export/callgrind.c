/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * export callgrind: costs by line and function, for callgrind_annotate and KCachegrind. The events
 * are those of memcheck's --xtree-memory=full: bytes and blocks held now, of all time, and freed.
 *
 * The line that called the allocator has what a site holds as its own cost. Each function on the way
 * there calls the next one at its line, for the same cost. If a function is in a stack more than
 * once, each level of it has a name of its own (f, f'2, ..., as callgrind's --separate-recs names
 * them). Otherwise the cost would be counted again at each level, and a recursive function would
 * hold more than there is.
 */

#include <inttypes.h>

#include "base/cleanup.h"
#include "export/export_file.h"
#include "export/format_list.h"
#include "export/model.h"
#include "export/text.h"
#include "heap/interner.h"

/* Of an earlier moment only those before PAST are known. */
enum event {
	CUR_BYTES, CUR_BLOCKS, PAST, ALL_BYTES = PAST, ALL_BLOCKS, FREED_BYTES, FREED_BLOCKS, EVENTS,
};

static const struct {
	const char *name, *brief;
} events[EVENTS] = {
	[CUR_BYTES]	= { "curB", "bytes held" },
	[CUR_BLOCKS]	= { "curBk", "blocks held" },
	[ALL_BYTES]	= { "totB", "bytes of all time" },
	[ALL_BLOCKS]	= { "totBk", "blocks of all time" },
	[FREED_BYTES]	= { "totFdB", "bytes freed" },
	[FREED_BLOCKS]	= { "totFdBk", "blocks freed" },
};

static unsigned events_of(const struct model *model)
{
	return model->past ? PAST : EVENTS;
}

struct cost {
	uint64_t at[EVENTS];
};

/* A function is known by its name and its source file. Of both the symbols keep one copy. */
struct function {
	const char *name, *file;	/* file may be NULL */
	uint32_t file_id;
	uint32_t module;
	uint32_t stack, depth;		/* depth: how often the function was met in this stack */
};

struct level {
	uint32_t function, depth;	/* from 1 */
};

/* The own cost of a line of a function, or a call that this line makes. */
#define NO_CALL	UINT32_MAX

struct entry {
	uint32_t level;
	int line;
	uint32_t callee;		/* a level; NO_CALL: this is the line's own cost */
	struct cost cost;
};

struct graph {
	const struct model *model;
	struct interner names, files, function_keys, level_keys, line_keys, entry_keys;
	VEC(struct function) functions;
	VEC(struct level) levels;
	VEC(struct entry) entries;	/* by number; once sorted by level and line */
	uint32_t stack;			/* the stack at hand, from 1 */
};

static void graph_free(struct graph *graph)
{
	interner_free(&graph->names);
	interner_free(&graph->files);
	interner_free(&graph->function_keys);
	interner_free(&graph->level_keys);
	interner_free(&graph->line_keys);
	interner_free(&graph->entry_keys);
	vec_free(&graph->functions);
	vec_free(&graph->levels);
	vec_free(&graph->entries);
}

static struct cost cost_of(const struct model_site *site)
{
	const struct site *figures = &site->figures;
	/* Of what was there before the attach no more is known than what is held. */
	bool early = site->part == MODEL_EARLY;

	return (struct cost){ .at = {
		[CUR_BYTES]	= figures->bytes,
		[CUR_BLOCKS]	= figures->count,
		[ALL_BYTES]	= early ? figures->bytes : figures->total_bytes,
		[ALL_BLOCKS]	= early ? figures->count : figures->total,
		[FREED_BYTES]	= figures->freed_bytes,
		[FREED_BLOCKS]	= figures->freed,
	} };
}

static void add_cost(struct cost *to, const struct cost *cost)
{
	for (unsigned i = 0; i < EVENTS; i++)
		to->at[i] += cost->at[i];
}

/* Numbers */

static struct err *function_of(struct graph *graph, const struct model_step *step, uint32_t *ret)
{
	struct function function = { .name = step->frame->name, .file = step->frame->file,
				     .module = step->location->module };
	uint32_t name;
	struct err *err = interner_number(&graph->names, (uintptr_t)function.name, &name);

	if (!err)
		err = interner_number(&graph->files, (uintptr_t)function.file, &function.file_id);
	if (!err)
		err = interner_number(&graph->function_keys,
				      (uint64_t)name << 32 | function.file_id, ret);
	if (!err && *ret == graph->functions.nr)
		err = vec_push(&graph->functions, function);
	return err;
}

/* The caller asks this for the steps of a stack in turn, from the outermost on. */
static struct err *level_of(struct graph *graph, const struct model_step *step, uint32_t *ret)
{
	struct function *function;
	uint32_t number;
	struct err *err = function_of(graph, step, &number);

	if (err)
		return err;
	function = &graph->functions.at[number];
	if (function->stack != graph->stack)
		function->depth = 0;
	function->stack = graph->stack;
	function->depth++;
	err = interner_number(&graph->level_keys, (uint64_t)number << 32 | function->depth, ret);
	if (!err && *ret == graph->levels.nr)
		err = vec_push(&graph->levels, ((struct level){ number, function->depth }));
	return err;
}

static struct err *add_entry(struct graph *graph, uint32_t level, int line, uint32_t callee,
			     const struct cost *cost)
{
	uint32_t place, number;
	struct err *err = interner_number(&graph->line_keys,
					  (uint64_t)level << 32 | (uint32_t)line, &place);

	if (!err)
		err = interner_number(&graph->entry_keys, (uint64_t)place << 32 | callee, &number);
	if (!err && number == graph->entries.nr)
		err = vec_push(&graph->entries, ((struct entry){ level, line, callee, { { 0 } } }));
	if (!err)
		add_cost(&graph->entries.at[number].cost, cost);
	return err;
}

static struct err *add_site(struct graph *graph, const struct model_site *site,
			    struct model_stack *stack)
{
	struct err *err = model_stack_get(graph->model, site, stack);
	const struct cost cost = cost_of(site);
	uint32_t caller = NO_CALL, level = NO_CALL;
	int caller_line = 0;
	size_t own = err ? 0 : model_stack_first(graph->model, stack);

	graph->stack++;
	for (size_t i = stack->vec.nr; !err && i-- > own;) {
		const struct model_step *step = &stack->vec.at[i];

		err = level_of(graph, step, &level);
		if (!err && caller != NO_CALL)
			err = add_entry(graph, caller, caller_line, level, &cost);
		caller = level;
		caller_line = step->frame->line;
	}
	return err ? err : add_entry(graph, caller, caller_line, NO_CALL, &cost);
}

/* Sort by function, level and line. The own cost of a line comes before its calls. */
static int by_place(const void *va, const void *vb)
{
	const struct entry *a = va, *b = vb;

	if (a->level != b->level)
		return a->level < b->level ? -1 : 1;
	if (a->line != b->line)
		return a->line < b->line ? -1 : 1;
	return a->callee + 1 < b->callee + 1 ? -1 : a->callee + 1 > b->callee + 1;
}

static struct err *build(struct graph *graph)
{
	const struct model *model = graph->model;
	struct model_stack stack = { VEC_INIT };
	struct err *err = NULL;

	for (size_t i = 0; !err && i < model->sites.nr; i++)
		err = add_site(graph, &model->sites.at[i], &stack);
	vec_free(&stack.vec);
	vec_sort(&graph->entries, by_place);
	return err;
}

/* Writing: a name is written once, together with a number, and later only its number is. */

struct writer {
	const struct graph *graph;
	struct export_file *file;
	bool *files, *modules, *levels;	/* which were written */
};

/* Returns true if the caller must write the name behind it. */
static bool begin_name(struct writer *writer, const char *what, uint32_t number, bool *written)
{
	bool is_new = !written[number];

	export_file_f(writer->file, "%s=(%u)%s", what, number + 1, is_new ? " " : "");
	written[number] = true;
	return is_new;
}

static void write_module(struct writer *writer, const char *what, const struct function *function)
{
	const struct model *model = writer->graph->model;
	/* A function without a module gets a number, too, or readers would take the last one. */
	uint32_t number = MIN(function->module, (uint32_t)model->modules.nr);

	if (begin_name(writer, what, number, writer->modules))
		text_write(writer->file, number < model->modules.nr ?
			   model->modules.at[number].path : "???", "", 0);
	export_file_text(writer->file, "\n");
}

static void write_file(struct writer *writer, const char *what, const struct function *function)
{
	if (begin_name(writer, what, function->file_id, writer->files))
		text_write(writer->file, function->file ? function->file : "???", "", 0);
	export_file_text(writer->file, "\n");
}

static void write_level(struct writer *writer, const char *what, uint32_t number)
{
	const struct level *level = &writer->graph->levels.at[number];

	if (begin_name(writer, what, number, writer->levels)) {
		text_write(writer->file, writer->graph->functions.at[level->function].name, "", 0);
		if (level->depth > 1)
			export_file_f(writer->file, "'%u", level->depth);
	}
	export_file_text(writer->file, "\n");
}

static void write_cost(struct writer *writer, const struct cost *cost)
{
	for (unsigned i = 0; i < events_of(writer->graph->model); i++) {
		export_file_text(writer->file, " ");
		export_file_number(writer->file, cost->at[i]);
	}
	export_file_text(writer->file, "\n");
}

static void write_entry(struct writer *writer, const struct entry *entry)
{
	const struct graph *graph = writer->graph;
	unsigned known = events_of(graph->model);
	const struct function *callee;

	if (entry->callee != NO_CALL) {
		callee = &graph->functions.at[graph->levels.at[entry->callee].function];
		write_module(writer, "cob", callee);
		write_file(writer, "cfi", callee);
		write_level(writer, "cfn", entry->callee);
		export_file_f(writer->file, "calls=%" PRIu64 " 0\n",
			      MAX(entry->cost.at[known > PAST ? ALL_BLOCKS : CUR_BLOCKS],
				  (uint64_t)1));
	}
	export_file_number(writer->file, (uint64_t)entry->line);
	write_cost(writer, &entry->cost);
}

static struct err *write_entries(struct writer *writer)
{
	const struct graph *graph = writer->graph;
	struct err *err = NULL;

	for (size_t i = 0; !err && i < graph->entries.nr; i++) {
		const struct entry *entry = &graph->entries.at[i];
		const struct function *function =
			&graph->functions.at[graph->levels.at[entry->level].function];

		if (!i || entry[-1].level != entry->level) {
			export_file_text(writer->file, "\n");
			write_module(writer, "ob", function);
			write_file(writer, "fl", function);
			write_level(writer, "fn", entry->level);
		}
		write_entry(writer, entry);
		err = export_file_check(writer->file);
	}
	return err;
}

static void write_head(struct writer *writer)
{
	const struct model *model = writer->graph->model;
	struct export_file *file = writer->file;

	export_file_text(file, "# callgrind format\nversion: 1\ncreator: mdbg\n");
	export_file_f(file, "pid: %d\ncmd: ", model->pid);
	text_write(file, *model->command ? model->command : "(not known)", "", 0);
	export_file_text(file, "\n");
	if (model->sample)
		export_file_f(file, "desc: sampled (one in %" PRIu64 " bytes): all figures are "
			      "estimates\n", model->sample);
	export_file_text(file, "positions: line\n");
	for (unsigned i = 0; i < events_of(model); i++)
		export_file_f(file, "event: %s : %s\n", events[i].name, events[i].brief);
	export_file_text(file, "events:");
	for (unsigned i = 0; i < events_of(model); i++)
		export_file_f(file, " %s", events[i].name);
	export_file_text(file, "\n");
}

static struct err *write_graph(const struct graph *graph, struct export_file *file)
{
	AUTO_FREE bool *files = calloc((size_t)graph->files.nr + 1, sizeof(*files));
	AUTO_FREE bool *modules = calloc(graph->model->modules.nr + 1, sizeof(*modules));
	AUTO_FREE bool *levels = calloc(graph->levels.nr + 1, sizeof(*levels));
	struct writer writer = { graph, file, files, modules, levels };
	struct cost all = { { 0 } };
	struct err *err;

	if (!files || !modules || !levels)
		return err_nomem;
	for (size_t i = 0; i < graph->model->sites.nr; i++) {
		const struct cost cost = cost_of(&graph->model->sites.at[i]);

		add_cost(&all, &cost);
	}
	write_head(&writer);
	export_file_text(file, "summary:");
	write_cost(&writer, &all);
	err = write_entries(&writer);
	export_file_text(file, "\ntotals:");
	write_cost(&writer, &all);
	return err;
}

static struct err *write_callgrind(const struct model *model, struct export_file *file)
{
	struct graph graph CLEANUP(graph_free) = { .model = model };
	struct err *err = build(&graph);

	return err ? err : write_graph(&graph, file);
}

const struct export_format export_callgrind = {
	.name	= "callgrind",
	.brief	= "held, all-time and freed by line and function, for callgrind_annotate",
	.wants	= EXPORT_FREED,
	.write	= write_callgrind,
};
