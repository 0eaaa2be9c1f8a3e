/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The sentence about which memory grows (theory in memory_verdict.h). */

#include "growth/memory_verdict.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

#define LEAST		(64ull << 10)
#define LEAST_SHARE	4096u		/* of the resident bytes */
#define KEPT_LEAST	(1ull << 20)	/* free memory that is worth a `malloc trim` */

uint64_t memory_verdict_least(uint64_t resident)
{
	return MAX(LEAST, resident == MEMORY_UNKNOWN ? 0 : resident / LEAST_SHARE);
}

static PRINTF(3, 4) void say(struct memory_verdict *ret, const char *ask, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(ret->text, sizeof(ret->text), fmt, args);
	va_end(args);
	snprintf(ret->ask, sizeof(ret->ask), "%s", ask);
}

/* Growth of one figure; 0 if it shrank or is not known. */
static uint64_t grown(const struct memory_sum *before, const struct memory_sum *now,
		      enum memory_figure figure)
{
	uint64_t was = before->at[figure], is = now->at[figure];

	return was == MEMORY_UNKNOWN || is == MEMORY_UNKNOWN || is < was ? 0 : is - was;
}

/* Growth of what is in memory or swapped out: pages that are swapped out have not gone. */
static uint64_t grown_in_use(const struct memory_sum *before, const struct memory_sum *now)
{
	uint64_t was = MEMORY_UNKNOWN, is = MEMORY_UNKNOWN;

	memory_use_add(&was, before->at[MEMORY_RSIZE]);
	memory_use_add(&was, before->at[MEMORY_SWAP]);
	memory_use_add(&is, now->at[MEMORY_RSIZE]);
	memory_use_add(&is, now->at[MEMORY_SWAP]);
	return was == MEMORY_UNKNOWN || is == MEMORY_UNKNOWN || is < was ? 0 : is - was;
}

/*
 * The kind that grows most, other than mdbg's own; *bytes_ret is 0 if none grows. Page tables follow
 * what is mapped, and a thread that touches two pages of its stack takes as much of them: they are
 * named only if they grow by twice as much as any other kind.
 */
static enum memory_kind largest(const struct memory_look *before, const struct memory_look *now,
				bool virtual, uint64_t *bytes_ret)
{
	enum memory_kind best = MEMORY_HEAP;
	uint64_t most = 0;

	for (enum memory_kind kind = 0; kind < MEMORY_KINDS; kind++) {
		uint64_t bytes = virtual ?
			grown(&before->kind[kind], &now->kind[kind], MEMORY_VSIZE) :
			grown_in_use(&before->kind[kind], &now->kind[kind]);

		if (kind == MEMORY_OWN || bytes <= most ||
		    (kind == MEMORY_KERNEL && bytes / 2 < most))
			continue;
		most = bytes;
		best = kind;
	}
	*bytes_ret = most;
	return best;
}

static const struct {
	const char *what, *ask;
} kinds[MEMORY_KINDS] = {
	[MEMORY_HEAP] = { "the heap grows", "malloc" },
	[MEMORY_MAPPED] = { "blocks that malloc maps on their own grow",
			    "malloc sites heap == mmap sort growth" },
	[MEMORY_ANONYMOUS] = { "memory that is mapped without malloc grows", "growth mmap" },
	[MEMORY_STACKS] = { "stacks of threads grow", "thread" },
	[MEMORY_MAIN_STACK] = { "the stack of the first thread grows", "where" },
	[MEMORY_FILES] = { "mapped files grow (page cache, and copies of written pages)",
			   "memory maps" },
	[MEMORY_SHARED] = { "shared memory grows", "growth shm" },
	[MEMORY_DEVICE] = { "memory of a device grows", "memory maps" },
	[MEMORY_KERNEL] = { "page tables of the kernel grow", "memory maps" },
};

/*
 * How much more blocks hold. What was freed of blocks from before the attach is set off: a process
 * that replaces these does not grow.
 */
static int64_t held_net(const struct memory_look *before, const struct memory_look *now)
{
	return (int64_t)((now->held - before->held) - (now->older - before->older));
}

/*
 * Is the change of what the blocks in heaps hold known? *ret is that change: blocks that are mapped
 * on their own are left out.
 */
static bool held_change(const struct memory_look *before, const struct memory_look *now,
			int64_t *ret)
{
	uint64_t was = before->kind[MEMORY_MAPPED].at[MEMORY_VSIZE],
		 is = now->kind[MEMORY_MAPPED].at[MEMORY_VSIZE];

	if (before->held == MEMORY_UNKNOWN || now->held == MEMORY_UNKNOWN ||
	    before->log != now->log || before->unrecorded != now->unrecorded)
		return false;
	*ret = held_net(before, now);
	if (was != MEMORY_UNKNOWN && is != MEMORY_UNKNOWN)
		*ret -= (int64_t)(is - was);
	return true;
}

static void judge_heap(const struct memory_look *before, const struct memory_look *now,
		       struct memory_verdict *ret)
{
	uint64_t extended = grown(&before->kind[MEMORY_HEAP], &now->kind[MEMORY_HEAP],
				  MEMORY_VSIZE);
	bool divided = before->divided && now->divided;
	int64_t held;

	if (!held_change(before, now, &held)) {
		ret->kind = MEMORY_HEAP_UNCLEAR;
		say(ret, "malloc", "the heap grows, by %" PRIu64 " bytes; without a complete log "
		    "it is not known whether blocks or free memory", ret->bytes);
	} else if (held >= (int64_t)(ret->bytes / 2)) {
		ret->kind = MEMORY_HEAP_GROWS;
		say(ret, "malloc sites sort growth", "the heap in use grows, by %" PRIu64
		    " bytes: blocks hold %" PRId64 " bytes more", ret->bytes, held);
	} else if (!divided) {
		ret->kind = MEMORY_HEAP_UNCLEAR;
		say(ret, "growth mmap", "anonymous memory grows, by %" PRIu64 " bytes, of which "
		    "blocks hold %" PRId64 "; it is not known who holds the rest", ret->bytes,
		    MAX(held, 0));
	} else if (extended >= ret->bytes / 2) {
		ret->kind = MEMORY_HEAP_FREE;
		say(ret, "malloc trim", "the heap grows by %" PRIu64 " bytes that are free but "
		    "kept: blocks hold %" PRIu64 " bytes %s", ret->bytes,
		    (uint64_t)(held < 0 ? -held : held), held < 0 ? "less" : "more");
	} else {
		ret->kind = MEMORY_HEAP_TOUCHED;
		say(ret, "malloc sites sort bytes", "the heap is not larger, but %" PRIu64
		    " bytes more of it are in memory: blocks are written to for the first time",
		    ret->bytes);
	}
}

/* How much of the heap is certainly free, and in memory. */
static uint64_t kept_free(const struct memory_look *now, const struct memory_past *past)
{
	uint64_t heap = now->kind[MEMORY_HEAP].at[MEMORY_RSIZE];
	uint64_t mapped = now->kind[MEMORY_MAPPED].at[MEMORY_VSIZE], held = now->held;
	uint64_t older;

	if (!past || !past->known || !now->divided || heap == MEMORY_UNKNOWN ||
	    held == MEMORY_UNKNOWN || now->unrecorded || past->peak_held <= held)
		return 0;
	older = past->first_rss - MIN(past->first_rss, past->first_held);
	held -= mapped == MEMORY_UNKNOWN ? 0 : MIN(held, mapped);
	heap -= MIN(heap, held);
	heap -= MIN(heap, older);
	return MIN(heap, past->peak_held - now->held);
}

/* True if that is said. compared: two looks have shown that nothing grows. */
static bool judge_kept(const struct memory_look *now, const struct memory_past *past, bool compared,
		       struct memory_verdict *ret)
{
	uint64_t kept = now->by_kind ? kept_free(now, past) : 0;

	if (kept < KEPT_LEAST || kept < now->kind[MEMORY_HEAP].at[MEMORY_RSIZE] / 2)
		return false;
	ret->kind = MEMORY_HEAP_FREE;
	ret->bytes = kept;
	say(ret, "malloc trim", "%sthe heap keeps at least %" PRIu64 " bytes in memory that are "
	    "free: blocks have held %" PRIu64 " bytes and hold %" PRIu64,
	    compared ? "nothing grows, but " : "", kept, past->peak_held, now->held);
	return true;
}

/* Before a second look with kinds, the log may prove that blocks grow, or that nothing does. */
static void judge_history(const struct memory_look *before, const struct memory_look *now,
			  const struct memory_past *past, struct memory_verdict *ret)
{
	uint64_t bytes = before ? grown(&before->all, &now->all, MEMORY_RSIZE) : 0;
	int64_t net = before && before->held != MEMORY_UNKNOWN && now->held != MEMORY_UNKNOWN &&
		      !now->unrecorded ? held_net(before, now) : 0;

	if (before && bytes >= memory_verdict_least(now->all.at[MEMORY_RSIZE]) && net > 0 &&
	    (uint64_t)net >= bytes / 2) {
		ret->kind = MEMORY_HEAP_GROWS;
		ret->bytes = bytes;
		say(ret, "malloc sites sort growth", "memory in use by malloc grows: blocks hold "
		    "%" PRId64 " bytes more, and %" PRIu64 " bytes more are in memory",
		    net, bytes);
	} else if (!judge_kept(now, past, false, ret)) {
		ret->kind = MEMORY_SECOND_LOOK;
		ret->ns = 0;
		say(ret, "memory", "what grows is not known from one look; a "
		    "later one is compared with it");
	}
}

/* Count heap, mapped and anonymous memory as heap. */
static struct memory_look merged(const struct memory_look *look)
{
	struct memory_look ret = *look;

	for (unsigned i = 0; i < MEMORY_FIGURES; i++) {
		memory_use_add(&ret.kind[MEMORY_HEAP].at[i], look->kind[MEMORY_MAPPED].at[i]);
		memory_use_add(&ret.kind[MEMORY_HEAP].at[i], look->kind[MEMORY_ANONYMOUS].at[i]);
	}
	ret.kind[MEMORY_MAPPED] = ret.kind[MEMORY_ANONYMOUS] = memory_sum_unknown;
	return ret;
}

static void judge_kinds(const struct memory_look *before, const struct memory_look *now,
			const struct memory_past *past, struct memory_verdict *ret)
{
	uint64_t least = memory_verdict_least(now->all.at[MEMORY_RSIZE]);
	bool virtual = false;

	ret->which = largest(before, now, false, &ret->bytes);
	if (ret->bytes < least) {
		virtual = true;
		ret->which = largest(before, now, true, &ret->bytes);
	}
	if (ret->bytes < least) {
		if (judge_kept(now, past, true, ret))
			return;
		ret->kind = MEMORY_NOTHING_GROWS;
		ret->bytes = 0;
		say(ret, "memory system", "nothing grows");
	} else if (ret->which == MEMORY_HEAP && !virtual) {
		judge_heap(before, now, ret);
	} else {
		ret->kind = MEMORY_KIND_GROWS;
		say(ret, kinds[ret->which].ask, "%s, by %" PRIu64 " bytes%s",
		    kinds[ret->which].what, ret->bytes,
		    virtual ? " that are mapped and not in memory" : "");
	}
}

void memory_verdict(const struct memory_look *before, const struct memory_look *now,
		    const struct memory_past *past, struct memory_verdict *ret)
{
	*ret = (struct memory_verdict){
		.ns = before && now->time_ns > before->time_ns ? now->time_ns - before->time_ns :
								 0,
	};
	if (!before || !before->by_kind || !now->by_kind) {
		judge_history(before, now, past, ret);
	} else if (before->divided && now->divided) {
		judge_kinds(before, now, past, ret);
	} else {
		struct memory_look was = merged(before), is = merged(now);

		judge_kinds(&was, &is, past, ret);
	}
}
