/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stacks among the roots of a leak search (leak_stacks.h). */

#include "inspect/leak_stacks.h"

#include <stdlib.h>

#include "inspect/leak_marks.h"
#include "inspect/leak_search.h"
#include "inspect/memory_view.h"
#include "tracee/backtrace.h"
#include "tracee/target.h"

#define TOP_WORDS	1024u	/* the control block begins in the last words of a stack's mapping */
#define SELF		2u	/* tcbhead_t: a word with the block's address, as word 0 */

static struct err *add(struct leak_stacks *stacks, uint64_t start, uint64_t end, pid_t tid)
{
	return start >= end ? NULL :
		vec_push(&stacks->vec, ((struct leak_stack){ { start, end }, tid }));
}

struct err *leak_stacks_add(const struct memory_view *view,
			    const struct memory_view_thread *thread, uint64_t tls_size,
			    struct leak_stacks *stacks)
{
	uint64_t low = memory_view_stack_low(view, thread) & ~7ull, start, end;

	if (!memory_view_stack(view, thread, &start, &end))
		return NULL;
	if (end == thread->tp) {
		if (!tls_size || tls_size >= end - start)
			return NULL;
		end -= tls_size;
	}
	return add(stacks, MAX(low, start), end, thread->tid);
}

/*
 * The thread pointer that a control block at the end of the mapping has; 0: there is none. libc's
 * own stacks begin with the guard below it; one that the program has made begins behind its guard,
 * and may be used for something else since.
 */
static uint64_t control_block(const struct memory_view *view, const struct proc_map *map,
			      const struct proc_map *guard)
{
	uint64_t word[TOP_WORDS], low;
	size_t nr;

	low = map->end - map->start > sizeof(word) ? map->end - sizeof(word) : map->start;
	if (!memory_read_holes(view->memory, low, word, map->end - low))
		return 0;
	nr = (map->end - low) / sizeof(*word);
	for (size_t i = 0; i + SELF < nr; i++) {
		uint64_t address = low + i * sizeof(*word), start, end;

		if (word[i] == address && word[i + SELF] == address &&
		    memory_view_stack_bounds(view, address, &start, &end) && end == map->end &&
		    start >= guard->start && start < guard->end)
			return address;
	}
	return 0;
}

static bool is_used(const struct memory_view *view, const struct proc_map *map)
{
	for (size_t i = 0; i < view->threads.nr; i++) {
		const struct memory_view_thread *thread = &view->threads.at[i];
		uint64_t sp = regs_get(&thread->regs, view->arch->sp);

		if (!thread->placed || (thread->tp >= map->start && thread->tp < map->end) ||
		    (sp >= map->start && sp < map->end))
			return true;
	}
	return false;
}

static bool may_be_stack(const struct proc_map *map, const struct proc_map *below)
{
	return map->write && !map->shared && !map->inode && !*map->path &&
	       below->end == map->start && !below->read && !below->write;
}

struct err *leak_stacks_ended(const struct memory_view *view, uint64_t tls_size,
			      struct reach_ranges *ranges)
{
	struct err *err = NULL;

	for (size_t i = 1; tls_size && i < view->maps.vec.nr && !err; i++) {
		const struct proc_map *map = &view->maps.vec.at[i];
		uint64_t tp;

		if (!may_be_stack(map, map - 1))
			continue;
		tp = control_block(view, map, map - 1);
		if (tp && tp - map->start > tls_size && !is_used(view, map))
			err = vec_push(&ranges->vec, ((struct reach_range){ map->start,
									    tp - tls_size }));
	}
	return err;
}

struct err *leak_stacks_split(const struct leak_stacks *stacks, struct reach_ranges *roots,
			      struct reach_ranges *on_stack_ret)
{
	struct reach_ranges out = { VEC_INIT };
	struct err *err = NULL;

	for (size_t i = 0; i < stacks->vec.nr && !err; i++)
		err = vec_push(&out.vec, stacks->vec.at[i].range);
	for (size_t i = 0; i < roots->vec.nr && !err; i++)
		err = vec_push(&on_stack_ret->vec, roots->vec.at[i]);
	if (!err)
		err = reach_ranges_subtract(roots, &out);
	if (!err)
		err = reach_ranges_subtract(on_stack_ret, roots);
	vec_free(&out.vec);
	return err;
}

static int by_bytes(const void *va, const void *vb, void *ctx)
{
	const struct reach_holder *holders = ctx;
	const struct leak_holder *a = va, *b = vb;
	uint64_t one = holders[a->number].bytes, other = holders[b->number].bytes;

	if (one != other)
		return one > other ? -1 : 1;
	return a->number < b->number ? -1 : 1;
}

/* The stack that holds the address, or NULL. */
static const struct leak_stack *stack_at(const struct leak_stacks *stacks, uint64_t address)
{
	vec_each(stack, &stacks->vec) {
		if (address >= stack->range.start && address < stack->range.end)
			return stack;
	}
	return NULL;
}

static void place_holder(const struct leak_stacks *stacks, const struct search_origins *origins,
			 const struct reach_holder *is, struct leak_holder *holder)
{
	const struct search_origin *origin = is->is_register ? &origins->vec.at[is->place] : NULL;
	const struct leak_stack *stack = is->is_register ? NULL : stack_at(stacks, is->place);

	if (origin) {
		holder->in = origin->from == SEARCH_VECTOR ? LEAK_HOLDER_VECTOR :
							     LEAK_HOLDER_REGISTER;
		holder->tid = origin->tid;
		holder->index = origin->index;
	} else if (stack) {
		holder->in = LEAK_HOLDER_STACK;
		holder->tid = stack->tid;
	}
}

struct err *leak_stacks_holders(const struct leak_stacks *stacks,
			      const struct search_origins *origins, struct leak_marks *ret)
{
	struct err *err = vec_reserve(&ret->holders, ret->mark.holders.nr);

	for (size_t i = 0; i < ret->mark.holders.nr && !err; i++)
		ret->holders.at[ret->holders.nr++].number = (uint32_t)i;
	if (err || !ret->holders.nr)
		return err;
	qsort_r(ret->holders.at, ret->holders.nr, sizeof(*ret->holders.at), by_bytes,
		ret->mark.holders.at);
	ret->holders.nr = MIN(ret->holders.nr, LEAK_HOLDERS_MAX);
	vec_each(holder, &ret->holders) {
		*holder = (struct leak_holder){ .number = holder->number };
		place_holder(stacks, origins, &ret->mark.holders.at[holder->number], holder);
	}
	return NULL;
}

/* exit; its end is its start where it is not known. */
static struct reach_range find_exit(const struct target *target)
{
	struct reach_range is = { .start = modules_symbol(&target->modules, "exit") };
	uint64_t size = 0;

	vec_each_value(module, &target->modules.live) {
		if (is.start >= module->start && is.start < module->end &&
		    (!module->elf || elf_symbol_function_extent(module->elf,
								is.start - module->bias, &size)))
			size = 0;
	}
	is.end = is.start + size;
	return is;
}

static void leave_exit(const struct memory_view *view, const struct reach_range *exit_is,
		       struct memory_view_thread *thread)
{
	struct stack_frames frames;

	/* Without memory for it the frames are not found. */
	if (memory_view_frames(view, thread, &frames))
		return;
	for (uint32_t i = 0; i + 1 < frames.nr; i++) {
		uint64_t pc = frames.pc[i] - (i > 0), slot = frames.slot[i + 1];

		if (pc < exit_is->start || pc >= exit_is->end || !slot)
			continue;
		thread->exit_low = slot + sizeof(slot);
		break;
	}
	backtrace_frames_free(&frames);
}

void leak_stacks_leave_exit(struct memory_view *view)
{
	struct reach_range exit_is = find_exit(view->target);

	for (size_t i = 0; exit_is.start < exit_is.end && i < view->threads.nr; i++)
		if (view->threads.at[i].stopped)
			leave_exit(view, &exit_is, &view->threads.at[i]);
}

static void walk_thread(const struct memory_view *view, const struct memory_view_thread *thread,
			struct leak_marks *leaks)
{
	struct stack_frames frames;

	/* Without memory for it the frames are not found. */
	if (memory_view_frames(view, thread, &frames))
		return;
	vec_each(holder, &leaks->holders) {
		if (holder->in == LEAK_HOLDER_STACK && holder->tid == thread->tid)
			backtrace_frames_at(&frames, leaks->mark.holders.at[holder->number].place,
					    &holder->pc, &holder->returns);
	}
	backtrace_frames_free(&frames);
}

static bool has_holder(const struct leak_marks *leaks, pid_t tid)
{
	vec_each(holder, &leaks->holders) {
		if (holder->in == LEAK_HOLDER_STACK && holder->tid == tid)
			return true;
	}
	return false;
}

void leak_stacks_find_frames(const struct memory_view *view, struct leak_marks *leaks)
{
	leaks->generation = view->target->modules.generation;
	for (size_t i = 0; i < view->threads.nr; i++)
		if (view->threads.at[i].stopped && has_holder(leaks, view->threads.at[i].tid))
			walk_thread(view, &view->threads.at[i], leaks);
}
