/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds where a libc keeps the fields of a thread that the agent reads (theory in tcb.h). */

#include "tracee/tcb.h"

#include "base/cleanup.h"
#include "tracee/target.h"

#define TCB_MAX		4096u
#define SELF_MAX	64u
#define THREADS_MAX	16u		/* that are looked at: the target is stopped meanwhile */
#define STACK_MAX	(1ull << 36)

/* The known facts about a thread. */
struct memory_view {
	uint64_t tp, sp;
	uint32_t tid;
	bool first;		/* of the process: its stack is the kernel's */
	size_t len;		/* of what could be read */
	uint8_t bytes[TCB_MAX];	/* from tp on */
};

struct views {
	struct target *target;
	struct memory_view *at;
	unsigned nr;
};

static void collect(struct views *views, const struct thread *thread)
{
	const struct arch *arch = views->target->arch;
	struct memory_view *view = &views->at[views->nr];

	if (views->nr == THREADS_MAX || !thread_is_stopped(thread) ||
	    thread->tgid != views->target->pid)
		return;
	view->tp = regs_get(&thread->regs, arch->tp);
	view->sp = regs_get(&thread->regs, arch->sp);
	view->tid = (uint32_t)thread->tid;
	view->first = thread->tid == thread->tgid;
	if (!view->tp || view->tp % 8 ||
	    memory_read_some(views->target->memory, view->tp, view->bytes, TCB_MAX,
			     &view->len))
		return;
	views->nr++;
}

static uint64_t word(const struct memory_view *view, uint32_t offset)
{
	uint64_t value = 0;

	if (offset + sizeof(value) <= view->len)
		memcpy(&value, view->bytes + offset, sizeof(value));
	return value;
}

static void derive_self(const struct views *views, struct tcb *ret)
{
	for (uint32_t offset = 0; offset < SELF_MAX && !ret->has_self; offset += 8) {
		unsigned same = 0;

		while (same < views->nr && word(&views->at[same], offset) == views->at[same].tp)
			same++;
		ret->has_self = same == views->nr;
		ret->self_offset = ret->has_self ? offset : 0;
	}
}

/* tid */

static bool all_have_tid(const struct views *views, uint32_t offset)
{
	for (const struct memory_view *view = views->at; view < views->at + views->nr; view++)
		if (offset + sizeof(view->tid) > view->len ||
		    memcmp(view->bytes + offset, &view->tid, sizeof(view->tid)))
			return false;
	return true;
}

/* glibc's description for debuggers: size in bits, number of elements, offset. */
static uint32_t told_tid(const struct views *views)
{
	uint64_t address = modules_symbol(&views->target->modules, "_thread_db_pthread_tid");
	uint32_t told[3];

	if (!address || modules_read_constant(&views->target->modules, views->target->memory,
					      address, told, sizeof(told)) ||
	    told[0] != 32 || !all_have_tid(views, told[2]))
		return 0;
	return told[2];
}

/* The offsets from first on that fit: the first of them, and how many there are. */
static uint32_t find_offset(const struct views *views, uint32_t first, uint32_t step,
			    bool (*fits)(const struct views *views, uint32_t offset),
			    unsigned *nr_ret)
{
	uint32_t found = 0;
	unsigned nr = 0;

	for (uint32_t offset = first; offset < TCB_MAX; offset += step)
		if (fits(views, offset) && !nr++)
			found = offset;
	*nr_ret = nr;
	return found;
}

static uint32_t derive_tid(const struct views *views)
{
	unsigned nr;
	uint32_t found = find_offset(views, 4, 4, all_have_tid, &nr);

	return nr > 1 && views->nr == 1 ? told_tid(views) : found;
}

/* stack */

/*
 * Are these the bounds of a stack with this thread's control block in it? The end is to be readable;
 * it mostly has been read, as the block lies there.
 */
static bool bounds(struct target *target, const struct memory_view *view, uint32_t offset)
{
	uint64_t base = word(view, offset), size = word(view, offset + 8), unused;

	return base && size && size < STACK_MAX && view->tp - base < size &&
	       (base + size - view->tp <= view->len ||
		!memory_read_u64(target->memory, base + size - 8, &unused));
}

/* Use the threads that libc has made; most must have SP on their stack. */
static bool fits_stack(const struct views *views, uint32_t offset)
{
	unsigned nr = 0, inside = 0;

	for (unsigned i = 0; i < views->nr; i++) {
		const struct memory_view *view = &views->at[i];

		if (view->first)
			continue;
		if (!bounds(views->target, view, offset))
			return false;
		nr++;
		inside += word(view, offset) % 4096 == 0 &&
			  view->sp - word(view, offset) < word(view, offset + 8);
	}
	return 2 * inside > nr;
}

/* Use the first thread: see tcb.h. */
static uint32_t stack_of_first(const struct views *views)
{
	uint64_t address = 0, stack_end;
	uint32_t found = 0;

	for (unsigned i = 0; i < views->nr; i++) {
		if (!views->at[i].first)
			continue;
		address = modules_symbol(&views->target->modules, "__libc_stack_end");
		if (!address ||
		    memory_read_u64(views->target->memory, address, &stack_end) || !stack_end)
			return 0;
		for (uint32_t offset = 16; offset < TCB_MAX; offset += 8) {
			if (word(&views->at[i], offset) != stack_end ||
			    word(&views->at[i], offset - 8))
				continue;
			if (found)
				return 0;
			found = offset - 8;
		}
	}
	return found;
}

static uint32_t derive_stack(const struct views *views)
{
	unsigned nr;
	uint32_t found = find_offset(views, 8, 8, fits_stack, &nr);

	if (nr > 1)
		return 0;
	return nr ? found : stack_of_first(views);
}

void tcb_derive(struct target *target, struct tcb *ret)
{
	AUTO_FREE struct memory_view *view = malloc(THREADS_MAX * sizeof(*view));
	struct views views = { .target = target, .at = view };
	struct thread *thread;

	*ret = (struct tcb){ .has_self = false };
	if (!view)
		return;
	for_each_thread(thread, target)
		collect(&views, thread);
	if (!views.nr)
		return;
	derive_self(&views, ret);
	if (!ret->has_self)
		return;
	if (target->kind->same_ids(target))
		ret->tid_offset = derive_tid(&views);
	ret->stack_offset = derive_stack(&views);
}
