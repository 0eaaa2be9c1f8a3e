/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All pointers of a view, and its roots by name (owner_graph.h). */

#include "inspect/owner_graph.h"

#include "base/cancel.h"
#include "base/cleanup.h"
#include "inspect/memory_view.h"
#include "inspect/tls.h"
#include "tracee/backtrace.h"
#include "tracee/target.h"

#define BUFFER_WORDS	4096u

/* The block of the list's part [from, to) that has the address, or WORD_NO_BLOCK. */
static uint32_t block_in(const struct packed_list *list, size_t from, size_t to, uint64_t address)
{
	size_t behind = LOWER_BOUND(i, from, to, packed_at(list, i)->address <= address);
	const struct packed_block *held = behind > from ? packed_at(list, behind - 1) : NULL;

	return held && address - held->address < MAX(packed_size(list, held), 1ull) ?
		       (uint32_t)(behind - 1) : WORD_NO_BLOCK;
}

static uint32_t block_at(const struct packed_list *list, uint64_t address)
{
	uint32_t block = block_in(list, list->nr_outer, list->nr, address);

	return block != WORD_NO_BLOCK ? block : block_in(list, 0, list->nr_outer, address);
}

/* An address behind the end of a block, but still in its chunk, counts as in that block. */
static void choose(uint64_t address, struct owner_graph *ret)
{
	struct heap_chunk chunk;

	ret->block = block_at(&ret->in.held, address);
	if (ret->block != WORD_NO_BLOCK || !ret->in.walked ||
	    !heap_chunk_around(&ret->in.heap.walk.chunks, address, &chunk))
		return;
	if (chunk_held(&chunk) && address >= chunk.address)
		ret->block = block_at(&ret->in.held, chunk.address);
	ret->freed = ret->block == WORD_NO_BLOCK && chunk.kind != CHUNK_OWN;
}

/* The first word of block `from` that points into block `to`. */
static void find_hop(struct memory *memory, const struct packed_list *list, uint32_t from,
		     uint32_t to, struct owner_hop *ret)
{
	uint64_t word[BUFFER_WORDS], start = packed_at(list, from)->address;
	uint64_t at = ALIGN_UP(start, 8ull), end = start + packed_size(list, packed_at(list, from));
	uint64_t low = packed_at(list, to)->address;
	uint64_t len = MAX(packed_size(list, packed_at(list, to)), 1ull);

	while (at + 8 <= end) {
		size_t nr = MIN((end - at) / 8, (uint64_t)BUFFER_WORDS), len_read = nr * 8;

		/* What cannot be read, as of a core file, is zeros. */
		if (!memory_read_holes(memory, at, word, len_read))
			nr = 0;
		for (size_t i = 0; i < nr; i++) {
			if (word[i] - low >= len)
				continue;
			ret->found = true;
			ret->from = at + i * 8 - start;
			ret->to = word[i] - low;
			return;
		}
		at += len_read;
	}
}

/* Where in the first block of a way the word of its root points to. */
static void find_entry(struct memory *memory, const struct owner_graph *graph,
		       const struct block_way *way, struct owner_hop *ret)
{
	const struct packed_list *list = &graph->in.held;
	const struct packed_block *block = packed_at(list, way->block);
	const struct graph_root *root;
	uint64_t word;

	if (way->root == BLOCK_PATH_LOST)
		return;
	root = &graph->graph.roots.at[way->root];
	if (root->in == WORD_ALONE || memory_read_u64(memory, root->place, &word))
		return;
	ret->entry = word - block->address;
	ret->entered = ret->entry < MAX(packed_size(list, block), 1ull);
}

static struct err *find_hops(struct memory *memory, struct owner_graph *ret, uint32_t way)
{
	uint32_t at = ret->path.ways.at[way].block;
	struct err *err = NULL;

	for (; !err; at = block_path_next(&ret->path, at)) {
		struct owner_hop hop = { .way = way, .block = at };

		if (at == ret->path.ways.at[way].block)
			find_entry(memory, ret, &ret->path.ways.at[way], &hop);
		if (at != ret->block)
			find_hop(memory, &ret->in.held, at, block_path_next(&ret->path, at), &hop);
		err = vec_push(&ret->hops, hop);
		if (!err)
			err = cancel_check();
		if (at == ret->block)
			break;
	}
	return err;
}

static struct err *ask_graph(struct memory *memory, const struct owner_ask *ask,
			     struct owner_graph *graph)
{
	struct err *err = NULL;

	graph->block = WORD_NO_BLOCK;
	graph->freed = false;
	if (ask->address)
		choose(ask->address, graph);
	if (ask->limit && graph->block != WORD_NO_BLOCK)
		err = block_path_find(&graph->graph, graph->block, ask->limit, &graph->path);
	for (uint32_t i = 0; !err && i < graph->path.ways.nr; i++)
		err = find_hops(memory, graph, i);
	return err;
}

struct err *owner_graph_search(const struct memory_view *view, const struct owner_ask *ask,
			       struct owner_graph *ret)
{
	struct err *err = leak_search_graph(view, &ret->in, &ret->origins, &ret->graph);

	if (!err)
		err = ask_graph(view->memory, ask, ret);
	heaps_free(&ret->in.heap);
	ret->in.heap = (struct heaps)HEAPS_INIT;
	return err;
}

void owner_graph_rest(struct owner_graph *graph)
{
	block_path_free(&graph->path);
	vec_free(&graph->hops);
	graph->block = WORD_NO_BLOCK;
}

struct err *owner_graph_ask(struct memory *memory, const struct owner_ask *ask,
			    struct owner_graph *graph)
{
	struct err *err;

	owner_graph_rest(graph);
	err = ask_graph(memory, ask, graph);
	if (err)
		owner_graph_rest(graph);
	return err;
}

static struct err *add_range(struct owner_graph *ret, struct root_range range)
{
	return range.start < range.end ? vec_push(&ret->ranges, range) : NULL;
}

/*
 * Does a root lie there, or in a register of that thread? They are in order of address in two parts, but for
 * those without a place.
 */
static bool has_roots(const struct owner_graph *graph, uint64_t start, uint64_t end, pid_t tid)
{
	vec_each(root, &graph->graph.roots) {
		if (root->in == WORD_STACK && root->place >= start && root->place < end)
			return true;
		if (root->in == WORD_ALONE && graph->origins.vec.at[root->place].tid == tid)
			return true;
	}
	return false;
}

/* As backtrace_frames_at: a frame ends with the return address of its function. */
static struct err *add_frames(const struct memory_view *view,
			      const struct memory_view_thread *thread, struct owner_graph *ret)
{
	uint64_t at = memory_view_stack_low(view, thread), start, end;
	struct stack_frames frames;
	struct err *err;

	if (!memory_view_stack(view, thread, &start, &end) || at >= end ||
	    !has_roots(ret, at, end, thread->tid))
		return NULL;
	err = memory_view_frames(view, thread, &frames);
	if (err)
		return err;
	for (uint32_t i = 0; i + 1 < frames.nr && !err; i++) {
		uint64_t behind = frames.slot[i + 1] + 8;

		if (behind <= at || behind > end)
			break;
		err = add_range(ret, (struct root_range){ at, behind, ROOT_RANGE_FRAME, thread->tid,
							  frames.pc[i], i > 0, 0 });
		at = behind;
	}
	backtrace_frames_free(&frames);
	return err ? err : add_range(ret, (struct root_range){ at, end, ROOT_RANGE_FRAME,
							       thread->tid, 0, false, 0 });
}

/* Its control block, up to the end of its stack's memory. */
static struct err *add_control(const struct memory_view *view,
			       const struct memory_view_thread *thread, struct owner_graph *ret)
{
	uint64_t start, end;

	if (!thread->tp || !memory_view_stack_bounds(view, thread->tp, &start, &end) ||
	    thread->tp < start)
		return NULL;
	return add_range(ret, (struct root_range){ thread->tp, end, ROOT_RANGE_CONTROL,
						   thread->tid, 0, false, 0 });
}

static struct err *add_tls(const struct memory_view *view, struct owner_graph *ret)
{
	struct err *err = NULL;
	struct tls tls;

	tls_read(view, &tls);
	vec_each_while(block, &tls.blocks, !err) {
		err = add_range(ret, (struct root_range){ block->start, block->end, ROOT_RANGE_TLS,
							  block->tid, 0, false, block->module });
	}
	tls_free(&tls);
	return err;
}

COMPARE_BY(by_start, struct root_range, x, x->start)

/* Where ranges overlap, thread-local data are what they are; a stack ends below them. */
static void part_ranges(struct owner_graph *ret)
{
	size_t nr = 0;

	vec_sort(&ret->ranges, by_start);
	for (size_t i = 0; i < ret->ranges.nr; i++) {
		struct root_range range = ret->ranges.at[i];
		struct root_range *last = nr ? &ret->ranges.at[nr - 1] : NULL;

		if (last && last->end > range.start && range.in == ROOT_RANGE_TLS)
			last->end = range.start;
		else if (last)
			range.start = MAX(range.start, last->end);
		if (range.start < range.end)
			ret->ranges.at[nr++] = range;
	}
	ret->ranges.nr = nr;
}

COMPARE_BY(by_tid, struct root_frames, x, (uint64_t)x->tid)

/* A stack grows down: its innermost frame comes first. */
static struct err *find_frames(struct owner_graph *ret)
{
	struct err *err = NULL;
	pid_t last = 0;

	for (size_t i = 0; i < ret->ranges.nr && !err; i++) {
		const struct root_range *range = &ret->ranges.at[i];

		if (range->in == ROOT_RANGE_FRAME && range->tid != last)
			err = vec_push(&ret->frames, ((struct root_frames){ last = range->tid, i }));
	}
	vec_sort(&ret->frames, by_tid);
	return err;
}

struct err *owner_graph_name(const struct memory_view *view, struct owner_graph *ret)
{
	struct err *err = add_tls(view, ret);

	vec_each_while(thread, &view->threads, !err) {
		if (thread->stopped && thread->placed)
			err = add_frames(view, thread, ret);
		if (!err)
			err = add_control(view, thread, ret);
	}
	part_ranges(ret);
	if (!err)
		err = find_frames(ret);
	ret->generation = view->target->modules.generation;
	return err;
}

const struct root_range *owner_graph_range(const struct owner_graph *graph, uint64_t address)
{
	size_t behind = LOWER_BOUND(i, 0, graph->ranges.nr, graph->ranges.at[i].start <= address);
	const struct root_range *range = behind ? &graph->ranges.at[behind - 1] : NULL;

	return range && address < range->end ? range : NULL;
}

const struct root_range *owner_graph_frames(const struct owner_graph *graph, pid_t tid,
					    size_t *nr_ret)
{
	size_t at = LOWER_BOUND(i, 0, graph->frames.nr, graph->frames.at[i].tid < tid), first;

	*nr_ret = 0;
	if (at == graph->frames.nr || graph->frames.at[at].tid != tid)
		return NULL;
	first = graph->frames.at[at].first;
	while (first + *nr_ret < graph->ranges.nr) {
		const struct root_range *range = &graph->ranges.at[first + *nr_ret];

		if (range->in != ROOT_RANGE_FRAME || range->tid != tid)
			break;
		++*nr_ret;
	}
	return &graph->ranges.at[first];
}

void owner_graph_free(struct owner_graph *graph)
{
	leak_marks_free(&graph->in);
	block_graph_free(&graph->graph);
	vec_free(&graph->origins.vec);
	vec_free(&graph->ranges);
	vec_free(&graph->frames);
	procparse_maps_free(&graph->maps);
	owner_graph_rest(graph);
}
