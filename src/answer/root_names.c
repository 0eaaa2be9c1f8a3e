/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names of roots (root_names.h). */

#include "answer/root_names.h"

#include <inttypes.h>

#include "answer/own_frame.h"
#include "answer/stack.h"
#include "answer/stack_names.h"
#include "base/cancel.h"
#include "log/log.h"
#include "session/session.h"
#include "symbol/symbol.h"

#define STEPS	4096u	/* between two looks whether the user has interrupted */

/* A name being made, and the range of addresses that has the same one. */
struct naming {
	struct session *session;
	struct symbols *symbols;
	const struct owner_graph *graph;
	bool exact;		/* with the place in it */
	uint64_t start, end;
	uint32_t group;		/* its number */
	struct str text;
};

static enum symbol_names form(const struct naming *naming)
{
	return session_naming(naming->session)->names;
}

static struct err *add_offset(struct naming *naming, uint64_t offset)
{
	return naming->exact && offset ? str_addf(&naming->text, "+0x%" PRIx64, offset) : NULL;
}

/* The function itself, and not what is inlined there. */
static const struct symbol_frame *frame_of(struct naming *naming, const struct root_range *range)
{
	size_t nr;

	return symbols_resolve(naming->symbols, range->pc, naming->graph->generation, range->returns,
			       &nr) + nr - 1;
}

static const char *frame_text(struct naming *naming, const struct root_range *range,
			      const struct symbol_frame *frame)
{
	const struct stack_pc pc = { range->pc, naming->graph->generation, !range->returns };

	return frame->function && !naming->exact ? symbol_frame_name(frame, form(naming)) :
						   stack_text(naming->session, naming->symbols, pc);
}

static struct err *name_frame(struct naming *naming, const struct root_range *range)
{
	if (!range->pc)
		return str_addf(&naming->text, "stack of thread %d", range->tid);
	return str_addf(&naming->text, "stack of thread %d, in %s", range->tid,
			frame_text(naming, range, frame_of(naming, range)));
}

/*
 * Where a thread is whose registers are roots: its innermost function that is not of the C library,
 * which has most of them from it.
 */
static struct err *add_place(struct naming *naming, pid_t tid)
{
	size_t nr;
	const struct root_range *range = owner_graph_frames(naming->graph, tid, &nr);

	for (; nr && range->pc; range++, nr--) {
		const struct symbol_frame *frame = frame_of(naming, range);

		if (frame->function && !own_frame_is_libc(frame->module))
			return str_addf(&naming->text, ", in %s", frame_text(naming, range, frame));
	}
	return NULL;
}

static struct err *name_tls(struct naming *naming, const struct root_range *range, uint64_t place)
{
	struct symbol_tls is = symbol_data_tls(naming->symbols, range->tls_module,
					   naming->graph->generation, place - range->start);
	const char *name = symbol_tls_name(&is, form(naming));
	struct err *err;

	if (!range->tls_module || !name)
		return str_addf(&naming->text, "thread-local data of thread %d%s%s", range->tid,
				is.module && range->tls_module ? ", of " : "",
				is.module && range->tls_module ? is.module : "");
	naming->start = naming->end = place;	/* where the variable ends is not known */
	err = str_add(&naming->text, name);
	if (!err)
		err = add_offset(naming, is.offset);
	return err ? err : str_addf(&naming->text, " [%s] of thread %d", is.module, range->tid);
}

static struct err *name_range(struct naming *naming, const struct root_range *range, uint64_t place)
{
	naming->start = range->start;
	naming->end = range->end;
	switch (range->in) {
	case ROOT_RANGE_FRAME:
		return name_frame(naming, range);
	case ROOT_RANGE_TLS:
		return name_tls(naming, range, place);
	default:
		return str_addf(&naming->text, "control block of thread %d", range->tid);
	}
}

static struct err *name_mapping(struct naming *naming, uint64_t place)
{
	const struct proc_map *map = procparse_maps_find(&naming->graph->maps, place);
	struct err *err;

	if (!map)
		return str_add(&naming->text, "memory");
	naming->start = map->start;
	naming->end = map->end;
	err = *map->path ? str_addf(&naming->text, "mapping %s", map->path) :
			   str_addf(&naming->text, "anonymous mapping 0x%" PRIx64, map->start);
	return err ? err : add_offset(naming, place - map->start);
}

static struct err *name_memory(struct naming *naming, uint64_t place)
{
	struct symbol_data is = symbol_data_at(naming->symbols, place, naming->graph->generation);
	struct err *err;

	if (!is.module)
		return name_mapping(naming, place);
	naming->start = is.start;
	naming->end = is.end;
	if (!is.name) {
		err = str_addf(&naming->text, "data of %s", is.module);
		return err || !naming->exact ? err :
			str_addf(&naming->text, "+0x%" PRIx64, is.offset);
	}
	err = str_add(&naming->text, form(naming) == SYMBOL_NAMES_FULL ? is.name : is.brief);
	if (!err)
		err = add_offset(naming, place - is.start);
	return err ? err : str_addf(&naming->text, " [%s]", is.module);
}

static struct err *name_alone(struct naming *naming, const struct search_origin *origin)
{
	static const char *const words[] = {
		[SEARCH_REGISTER] = "registers", [SEARCH_VECTOR] = "vector registers",
		[SEARCH_CHUNK] = "the allocator at work, in",
		[SEARCH_DTV] = "the table of thread-local data of",
		[SEARCH_STACK] = "the stack, a block, of",
		[SEARCH_MAPPED] = "mappings that may be no blocks",
		[SEARCH_FREED] = "blocks that were freed meanwhile",
	};
	struct err *err;

	if (origin->from == SEARCH_REGISTER && naming->exact)
		err = str_addf(&naming->text, "register %s",
			       session_arch(naming->session)->reg_names[origin->index]);
	else
		err = str_add(&naming->text, words[origin->from]);
	if (err || !origin->tid)
		return err;
	err = str_addf(&naming->text, "%s thread %d", origin->from <= SEARCH_VECTOR ? " of" : "",
		       origin->tid);
	return err || origin->from > SEARCH_VECTOR ? err : add_place(naming, origin->tid);
}

static struct err *name_root(struct naming *naming, size_t number)
{
	const struct owner_graph *graph = naming->graph;
	const struct graph_root *root = &graph->graph.roots.at[number];
	const struct root_range *range;

	str_clear(&naming->text);
	naming->start = naming->end = root->place;
	if (root->in == WORD_ALONE)
		return name_alone(naming, &graph->origins.vec.at[root->place]);
	range = owner_graph_range(graph, root->place);
	if (range)
		return name_range(naming, range, root->place);
	if (root->in == WORD_HEAP)
		return str_add(&naming->text, "heap memory in no block that is known");
	return name_memory(naming, root->place);
}

static struct err *name_one(struct naming *naming, size_t at, struct root_names *ret)
{
	const struct graph_root *root = &naming->graph->graph.roots.at[at];
	struct err *err = NULL;

	if (root->in == WORD_ALONE || root->place < naming->start || root->place >= naming->end) {
		err = name_root(naming, at);
		if (!err)
			err = text_set_copy(&ret->names, str_text(&naming->text), &naming->group);
		if (root->in == WORD_ALONE || root->in == WORD_HEAP)
			naming->start = naming->end = 0;
	}
	ret->group_of.at[at] = naming->group;
	return err || at % STEPS ? err : cancel_check();
}

/* What waits in the kernel is mostly a function of the C library, whose frame has words of earlier calls. */
static bool is_innermost(const struct naming *naming, size_t at)
{
	const struct root_range *range;

	range = owner_graph_range(naming->graph, naming->graph->graph.roots.at[at].place);
	return range && range->in == ROOT_RANGE_FRAME && range->pc && !range->returns;
}

static struct err *name_roots(struct naming *naming, struct root_names *ret)
{
	const struct block_graph *graph = &naming->graph->graph;
	size_t nr = graph->roots.nr, stacks = graph->nr_firm;
	struct err *err = NULL;

	while (stacks < nr && graph->roots.at[stacks].in == WORD_STACK)
		stacks++;
	for (size_t i = 0; i < graph->nr_firm && !err; i++)
		err = name_one(naming, i, ret);
	/* Stacks from their outer end on, and the innermost frames of all of them when the others are through. */
	for (int innermost = 0; innermost < 2; innermost++)
		for (size_t i = stacks; i-- > graph->nr_firm && !err;)
			if (is_innermost(naming, i) == innermost)
				err = name_one(naming, i, ret);
	for (size_t i = stacks; i < nr && !err; i++)
		err = name_one(naming, i, ret);
	return err;
}

struct err *root_names_build(struct session *session, const struct owner_graph *graph,
			     struct root_names *ret)
{
	struct naming naming = { .session = session, .symbols = session_symbols(session),
				 .graph = graph, .text = STR_INIT };
	struct err *err;

	*ret = (struct root_names){ .names = TEXT_SET_INIT };
	err = vec_reserve(&ret->group_of, graph->graph.roots.nr);
	if (err)
		return err;
	ret->group_of.nr = graph->graph.roots.nr;
	err = name_roots(&naming, ret);
	str_free(&naming.text);
	return err;
}

void root_names_free(struct root_names *names)
{
	text_set_free(&names->names);
	vec_free(&names->group_of);
}

struct err *root_names_text(struct session *session, const struct owner_graph *graph, size_t root,
			    struct str *ret)
{
	struct naming naming = { .session = session, .symbols = session_symbols(session),
				 .graph = graph, .exact = true, .text = STR_INIT };
	struct err *err = name_root(&naming, root);

	if (!err)
		err = str_add(ret, str_text(&naming.text));
	str_free(&naming.text);
	return err;
}

struct callers {
	struct stack_names *names;
	struct str *text;
	unsigned nr;
};

static struct err *add_caller(void *ctx, const struct symbol_frame *frame)
{
	struct callers *callers = ctx;
	struct err *err;

	if (callers->nr > 1)
		return NULL;
	err = callers->nr++ ? str_add(callers->text, ", called by ") : NULL;
	return err ? err : function_text(callers->text, frame,
					 session_naming(callers->names->session)->names);
}

struct err *root_names_block(struct stack_names *names, const struct owner_graph *graph,
			     uint32_t block, struct str *ret)
{
	struct block is = packed_block(&graph->in.held, block);
	struct callers callers = { .names = names, .text = ret };

	if (is.preattach)
		return str_add(ret, no_stack_text(is.unrecorded));
	return is.stack == LOG_STACK_NONE ? NULL :
		stack_names_each(names, is.stack, add_caller, &callers);
}

uint64_t root_names_class_key(const struct owner_graph *graph, uint32_t block)
{
	struct block is = packed_block(&graph->in.held, block);

	return is.preattach ? 1ull << 63 | is.size : is.stack;
}

struct err *root_names_class(struct stack_names *names, const struct owner_graph *graph,
			     uint32_t block, struct str *ret)
{
	struct block is = packed_block(&graph->in.held, block);
	size_t before = ret->len;
	struct err *err;

	if (is.preattach)
		return str_addf(ret, "%" PRIu64 " bytes %s", is.size, no_stack_text(is.unrecorded));
	err = root_names_block(names, graph, block, ret);
	return err || ret->len > before ? err : str_add(ret, "(unknown)");
}
