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
#define FILES_LEAST	(1ull << 20)	/* page cache that is mapped comes and goes */
#define PART_LEAST	(1ull << 20)	/* of a part that could go ... */
#define PART_SHARE	4u		/* ... and of what is resident ... */
#define PART_SHARE_SEEN	16u		/* ... where there is more than was seen */

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

/* Growth of a kind, as far as it counts. */
static uint64_t kind_growth(const struct memory_look *before, const struct memory_look *now,
			    enum memory_kind kind, bool virtual)
{
	const struct memory_sum *was = &before->kind[kind], *is = &now->kind[kind];
	uint64_t bytes = virtual ? grown(was, is, MEMORY_VSIZE) : grown_in_use(was, is);

	if (kind != MEMORY_FILES || virtual || bytes >= FILES_LEAST)
		return bytes;
	return grown(was, is, MEMORY_PRIVATE);
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
		uint64_t bytes = kind_growth(before, now, kind, virtual);

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
	[MEMORY_FILES] = { "mapped files grow (page cache, which the kernel takes back)",
			   "memory maps" },
	[MEMORY_SHARED] = { "shared memory grows", "growth" },
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

/* Is all of that known? It is not where the log samples, or an allocator's blocks have no heads. */
static bool net_is_known(const struct memory_look *before, const struct memory_look *now)
{
	return before->unsized == now->unsized && now->unsized != MEMORY_UNKNOWN;
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

static uint64_t free_bytes(const struct heap_free *is)
{
	return is->known ? is->listed + is->main_top + is->other_top : 0;
}

/*
 * Say that the heap has free memory, and what gives it back: malloc_trim if it reaches the most of
 * it. It does not reach the ends of other arenas than the main one, nor pages with live blocks.
 */
static PRINTF(3, 4) void say_free(const struct memory_look *now, struct memory_verdict *ret,
				  const char *fmt, ...)
{
	const struct heap_free *is = &now->free;
	uint64_t pinned = free_bytes(is) - MIN(free_bytes(is), is->trimmed + is->other_top);
	size_t len;
	va_list args;

	va_start(args, fmt);
	vsnprintf(ret->text, sizeof(ret->text), fmt, args);
	va_end(args);
	len = strlen(ret->text);
	snprintf(ret->ask, sizeof(ret->ask), "malloc trim");
	if (!is->known)
		return;
	if (!is->whole) {
		snprintf(ret->ask, sizeof(ret->ask), "memory account");
		return;
	}
	ret->gives = is->trimmed;
	if (is->other_top > is->trimmed && is->other_top >= pinned) {
		snprintf(ret->text + len, sizeof(ret->text) - len, "; %" PRIu64 " lie at the ends of "
			 "%" PRIu32 " arenas, which malloc_trim does not give back "
			 "(MALLOC_ARENA_MAX: fewer arenas)", is->other_top, is->other_tops);
		snprintf(ret->ask, sizeof(ret->ask), "memory account");
	} else if (pinned > is->trimmed) {
		const char *by = "; blocks that are held or cached keep";

		if (is->trimmed)
			snprintf(ret->text + len, sizeof(ret->text) - len, "%s most of their pages, and "
				 "a trim gives back some %" PRIu64, by, is->trimmed);
		else
			snprintf(ret->text + len, sizeof(ret->text) - len,
				 "%s their pages, and a trim gives back nothing", by);
		snprintf(ret->ask, sizeof(ret->ask), "malloc pins");
	} else {
		snprintf(ret->text + len, sizeof(ret->text) - len, "; a trim gives back some %" PRIu64,
			 is->trimmed);
	}
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
	} else if (held >= (int64_t)(ret->bytes / 2) && !net_is_known(before, now)) {
		ret->kind = MEMORY_HEAP_UNCLEAR;
		say(ret, "malloc sites sort growth", "the heap grows, by %" PRIu64 " bytes: recorded "
		    "blocks hold %" PRId64 " bytes more, less what was freed of blocks from before "
		    "the attach, which is not known", ret->bytes, held);
	} else if (held >= (int64_t)(ret->bytes / 2)) {
		ret->kind = MEMORY_HEAP_GROWS;
		say(ret, "malloc sites sort growth", "the heap in use grows, by %" PRIu64
		    " bytes: blocks hold %" PRId64 " bytes more", ret->bytes, held);
	} else if (!divided) {
		ret->kind = MEMORY_HEAP_UNCLEAR;
		say(ret, now->pools ? now->pools : "growth mmap", "anonymous memory grows, by %" PRIu64
		    " bytes, of which blocks hold %" PRId64 "; it is not known who holds the rest%s",
		    ret->bytes, MAX(held, 0), now->pools ? ", where a pool lies as well" : "");
	} else if (extended >= ret->bytes / 2) {
		ret->kind = MEMORY_HEAP_FREE;
		say_free(now, ret, "the heap grows by %" PRIu64 " bytes that are free but "
			 "kept: blocks hold %" PRIu64 " bytes %s", ret->bytes,
			 (uint64_t)(held < 0 ? -held : held), held < 0 ? "less" : "more");
	} else {
		ret->kind = MEMORY_HEAP_TOUCHED;
		say(ret, "malloc sites sort bytes", "the heap is not larger, but %" PRIu64
		    " bytes more of it are in memory: blocks are written to for the first time",
		    ret->bytes);
	}
}

/* The part that could go and is largest. */
struct part {
	enum memory_verdict_kind kind;
	uint64_t bytes;
};

static void try_part(struct part *best, enum memory_verdict_kind kind, uint64_t bytes)
{
	if (bytes != MEMORY_UNKNOWN && bytes > best->bytes)
		*best = (struct part){ kind, bytes };
}

/* True if there is something to say. compared: two looks have shown that nothing grows. */
static bool judge_parts(const struct memory_look *now, bool compared, struct memory_verdict *ret)
{
	const char *still = compared ? "nothing grows, but " : "";
	struct part best = { .bytes = 0 };
	unsigned share;

	if (!now->by_kind)
		return false;
	try_part(&best, MEMORY_HEAP_FREE, free_bytes(&now->free));
	try_part(&best, MEMORY_GIVEN_BACK, now->all.at[MEMORY_LAZY]);
	try_part(&best, MEMORY_DESCRIPTORS, now->descriptors);
	share = best.kind == MEMORY_HEAP_FREE && !now->free.whole ? PART_SHARE_SEEN : PART_SHARE;
	if (best.bytes < PART_LEAST || best.bytes < now->all.at[MEMORY_RSIZE] / share)
		return false;
	ret->kind = best.kind;
	ret->bytes = best.bytes;
	ret->ns = compared ? ret->ns : 0;
	if (best.kind == MEMORY_HEAP_FREE)
		say_free(now, ret, "%sthe heap keeps %s%" PRIu64 " bytes in memory that are free",
			 still, now->free.whole ? "" : "at least ", best.bytes);
	else if (best.kind == MEMORY_GIVEN_BACK)
		say(ret, "memory account", "%s%" PRIu64 " resident bytes were given back (MADV_FREE): "
		    "the kernel takes them when it needs memory", still, best.bytes);
	else
		say(ret, "memory account", "%sits descriptors hold %" PRIu64 " bytes of memory files "
		    "that are not mapped, and in no resident size", still, best.bytes);
	return true;
}

/* Before a second look with kinds, the log may prove that blocks grow, or that nothing does. */
static void judge_history(const struct memory_look *before, const struct memory_look *now,
			  struct memory_verdict *ret)
{
	uint64_t bytes = before ? grown(&before->all, &now->all, MEMORY_RSIZE) : 0;
	int64_t net = before && before->held != MEMORY_UNKNOWN && now->held != MEMORY_UNKNOWN &&
		      !now->unrecorded && net_is_known(before, now) ? held_net(before, now) : 0;

	if (before && bytes >= memory_verdict_least(now->all.at[MEMORY_RSIZE]) && net > 0 &&
	    (uint64_t)net >= bytes / 2) {
		ret->kind = MEMORY_HEAP_GROWS;
		ret->bytes = bytes;
		say(ret, "malloc sites sort growth", "memory in use by malloc grows: blocks hold "
		    "%" PRId64 " bytes more, and %" PRIu64 " bytes more are in memory",
		    net, bytes);
	} else if (!judge_parts(now, false, ret)) {
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

/* Private memory: what no other process has as well, and what others share since a fork. */
static void add_private(const struct memory_look *look, uint64_t *alone_ret, uint64_t *forked_ret)
{
	uint64_t all = 0, others = 0;
	bool known = true;

	for (enum memory_kind kind = MEMORY_HEAP; kind <= MEMORY_MAIN_STACK; kind++) {
		known &= look->kind[kind].at[MEMORY_OTHERS] != MEMORY_UNKNOWN ||
			 look->kind[kind].at[MEMORY_RSIZE] == MEMORY_UNKNOWN;
		memory_use_add(&all, look->kind[kind].at[MEMORY_RSIZE]);
		memory_use_add(&others, look->kind[kind].at[MEMORY_OTHERS]);
	}
	*forked_ret = known ? others : MEMORY_UNKNOWN;
	*alone_ret = all - MIN(all, others);
}

/*
 * What was copied: it was shared with a process of a fork, and is not any more, though nobody of
 * them has ended. The resident size does not show it.
 */
static uint64_t copied(const struct memory_look *before, const struct memory_look *now,
		       uint64_t *left_ret)
{
	uint64_t was, is, alone_was, alone_is;

	add_private(before, &alone_was, &was);
	add_private(now, &alone_is, &is);
	*left_ret = is;
	if (was == MEMORY_UNKNOWN || is == MEMORY_UNKNOWN || is > was || alone_was > alone_is ||
	    before->family != now->family)
		return 0;
	return MIN(was - is, alone_is - alone_was);
}

static uint64_t descriptors_growth(const struct memory_look *before, const struct memory_look *now)
{
	uint64_t was = before->descriptors, is = now->descriptors;

	return was == MEMORY_UNKNOWN || is == MEMORY_UNKNOWN || is < was ? 0 : is - was;
}

/* Is it larger than the growth of any kind? Then that is said. */
static bool judge_beside(const struct memory_look *before, const struct memory_look *now,
			 uint64_t least, struct memory_verdict *ret)
{
	uint64_t left, since = copied(before, now, &left);
	uint64_t files = descriptors_growth(before, now);

	if (MAX(since, files) < least)
		return false;
	ret->bytes = MAX(since, files);
	if (files > since) {
		ret->kind = MEMORY_DESCRIPTORS;
		say(ret, "memory account", "memory files that its descriptors hold, and that are not "
		    "mapped, grow by %" PRIu64 " bytes", files);
	} else {
		ret->kind = MEMORY_COPIED;
		say(ret, "memory account", "%" PRIu64 " bytes were copied since a fork: this process or "
		    "the other one writes to pages that both had; %" PRIu64 " bytes are still shared",
		    since, left);
	}
	return true;
}

/* Was what has grown of shared memory there before? */
static bool was_there(const struct memory_look *before, const struct memory_look *now,
		      uint64_t bytes)
{
	uint64_t was = before->shared_there, is = now->shared_there;

	if (was != MEMORY_UNKNOWN && is != MEMORY_UNKNOWN)
		return is < was || is - was < bytes / 2;
	return grown(&before->kind[MEMORY_SHARED], &now->kind[MEMORY_SHARED], MEMORY_OTHERS) >=
	       bytes - bytes / 2;
}

/*
 * Memory that was mapped before is in memory now. Who has mapped it was perhaps never recorded, and who
 * touches it can be.
 */
static void judge_touched(const struct memory_look *before, const struct memory_look *now,
			  struct memory_verdict *ret)
{
	const struct memory_sum *was = &before->kind[ret->which], *is = &now->kind[ret->which];
	uint64_t huge = grown(was, is, MEMORY_HUGE);
	bool mapped = ret->which == MEMORY_MAPPED;

	say(ret, mapped ? "malloc sites heap == mmap sort bytes" : "growth fault",
	    "%s is written to for the first time, by %" PRIu64 " bytes%s",
	    mapped ? "memory of blocks that malloc has mapped on their own" :
	    ret->which == MEMORY_SHARED ? "shared memory that was mapped before" :
	    "memory that was mapped before, without malloc,", ret->bytes,
	    huge >= ret->bytes / 2 ? ", in huge pages: each first write takes 2 MB" : "");
}

static void judge_kind(const struct memory_look *before, const struct memory_look *now,
		       struct memory_verdict *ret)
{
	const struct memory_sum *was = &before->kind[ret->which], *is = &now->kind[ret->which];

	ret->kind = MEMORY_KIND_GROWS;
	if (ret->which == MEMORY_SHARED && was_there(before, now, ret->bytes)) {
		ret->kind = MEMORY_SHARED_TOUCHED;
		say(ret, "memory maps", "%" PRIu64 " bytes of shared memory that was there already are "
		    "touched here for the first time: nothing was allocated", ret->bytes);
	} else if (ret->which == MEMORY_FILES &&
		   grown(was, is, MEMORY_PRIVATE) >= ret->bytes - ret->bytes / 2) {
		say(ret, kinds[ret->which].ask, "private copies of pages of mapped files grow, by %"
		    PRIu64 " bytes", ret->bytes);
	} else if ((ret->which == MEMORY_MAPPED || ret->which == MEMORY_ANONYMOUS ||
		    ret->which == MEMORY_SHARED) &&
		   grown(was, is, MEMORY_VSIZE) < ret->bytes / 2) {
		judge_touched(before, now, ret);
	} else {
		bool pool = ret->which == MEMORY_ANONYMOUS && now->pools;

		say(ret, pool ? now->pools : kinds[ret->which].ask, "%s, by %" PRIu64 " bytes",
		    kinds[ret->which].what, ret->bytes);
	}
}

static void judge_kinds(const struct memory_look *before, const struct memory_look *now,
			struct memory_verdict *ret)
{
	uint64_t least = memory_verdict_least(now->all.at[MEMORY_RSIZE]);

	ret->which = largest(before, now, false, &ret->bytes);
	if (judge_beside(before, now, MAX(least, ret->bytes), ret))
		return;
	if (ret->bytes >= least) {
		if (ret->which == MEMORY_HEAP)
			judge_heap(before, now, ret);
		else
			judge_kind(before, now, ret);
		return;
	}
	ret->which = largest(before, now, true, &ret->bytes);
	if (ret->bytes >= least) {
		ret->kind = MEMORY_KIND_GROWS;
		say(ret, kinds[ret->which].ask, "%s, by %" PRIu64 " bytes that are mapped and not in "
		    "memory", kinds[ret->which].what, ret->bytes);
	} else if (!judge_parts(now, true, ret)) {
		ret->kind = MEMORY_NOTHING_GROWS;
		ret->bytes = 0;
		say(ret, "memory system", "nothing grows");
	}
}

void memory_verdict(const struct memory_look *before, const struct memory_look *now,
		    struct memory_verdict *ret)
{
	*ret = (struct memory_verdict){
		.ns = before && now->time_ns > before->time_ns ? now->time_ns - before->time_ns :
								 0,
		.gives = MEMORY_UNKNOWN,
	};
	if (!before || !before->by_kind || !now->by_kind) {
		judge_history(before, now, ret);
	} else if (before->divided && now->divided) {
		judge_kinds(before, now, ret);
	} else {
		struct memory_look was = merged(before), is = merged(now);

		judge_kinds(&was, &is, ret);
	}
}

bool memory_verdict_wants_free(const struct memory_look *now, const struct memory_verdict *verdict)
{
	uint64_t heap = now->by_kind ? now->kind[MEMORY_HEAP].at[MEMORY_RSIZE] : MEMORY_UNKNOWN;

	if (now->free.known || heap == MEMORY_UNKNOWN || heap < PART_LEAST)
		return false;
	return verdict->kind == MEMORY_HEAP_FREE ||
	       ((verdict->kind == MEMORY_NOTHING_GROWS || verdict->kind == MEMORY_SECOND_LOOK) &&
		heap >= now->all.at[MEMORY_RSIZE] / PART_SHARE);
}
