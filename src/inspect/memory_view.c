/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a view says of the stacks of its threads (memory_view.h). */

#include "inspect/memory_view.h"

#include <string.h>

#include "probe/area.h"
#include "probe/probe.h"
#include "tracee/backtrace.h"

size_t memory_view_stack_words(const struct memory_view *view,
			       const struct memory_view_thread *thread,
			       uint64_t word[MEMORY_VIEW_STACK_WORDS])
{
	uint64_t low = memory_view_stack_low(view, thread) & ~7ull;
	size_t got;

	/* It may be less, where the stack ends. */
	if (memory_read_some(view->memory, low, word, MEMORY_VIEW_STACK_WORDS * sizeof(*word),
			     &got))
		return 0;
	return got / sizeof(*word);
}

bool memory_view_stack_bounds(const struct memory_view *view, uint64_t tp, uint64_t *start_ret,
			      uint64_t *end_ret)
{
	uint64_t word[2];

	if (!view->stack_offset || !tp ||
	    memory_read(view->memory, tp + view->stack_offset, word, sizeof(word)) || !word[0] ||
	    __builtin_add_overflow(word[0], word[1], end_ret))
		return false;
	*start_ret = word[0];
	return true;
}

bool memory_view_stack(const struct memory_view *view, const struct memory_view_thread *thread,
		       uint64_t *start_ret, uint64_t *end_ret)
{
	uint64_t sp = regs_get(&thread->regs, view->arch->sp), tp = thread->tp, end;
	const struct proc_map *map = procparse_maps_find(&view->maps, sp);

	if (map && !strcmp(map->path, "[stack]")) {
		*start_ret = map->start;
		*end_ret = map->end;
		return true;
	}
	*end_ret = tp;
	return memory_view_stack_bounds(view, tp, start_ret, &end) && sp >= *start_ret &&
	       sp < tp && tp < end;
}

struct err *memory_view_frames(const struct memory_view *view,
			       const struct memory_view_thread *thread, struct stack_frames *ret)
{
	struct regs regs = thread->regs;

	if (view->probes)
		area_walk_regs(view->probes, view->memory, &thread->regs, &regs);
	return backtrace_frames(view->target, view->memory, &regs,
				view->probes ? &view->probes->walk_area : NULL, ret);
}

void memory_view_free(struct memory_view *view)
{
	procparse_maps_free(&view->maps);
	vec_free(&view->threads);
	vec_free(&view->vectors);
	vec_free(&view->in_hand.vec);
	vec_free(&view->code);
	vec_free(&view->libcs);
}
