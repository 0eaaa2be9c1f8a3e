/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Walks of an allocator's heaps: they list all chunks, in use or free, as the allocator's own data
 * in the target's memory have them. This is the interface of every allocator's walk; there is one,
 * glibc's.
 *
 * A walk works on struct memory and knows no process. It trusts no length, no pointer and no count.
 * Each loop is bounded by what was walked before, whatever is in the memory. Words that contradict
 * others are listed as damage, with the blocks on both sides, and the walk goes on behind them. So
 * a torn heap (a thread was stopped in the middle of malloc) gives damage, not an error. Such
 * damage is uncertain: it has a doubt, which says why (glibc_doubt.c). A caller that can let the
 * target run looks again.
 *
 * glibc (2.26 and later, 64 bits)
 *
 *	main_arena	in libc's data; no symbol is needed. It has 127 bins, each a pair of words which,
 *			if the bin is empty, point at the bin itself; behind them `next`, by which all
 *			arenas form a ring. Where these two hold there is an arena, and where `next`
 *			leads back to says how long the part before the bins is, which tells 2.26
 *			(no have_fastchunks) from later ones, and 2.43 (no fastbins) from both.
 *	other arenas	follow the heap_info at the start of their first heap: ar_ptr, prev, size. The
 *			arena's place behind it tells the two lengths of heap_info (2.35 added
 *			pagesize). The last heap is where top is, at a multiple of the largest heap
 *			size, which is tried out; prev leads to the others.
 *	main heap	ends with top; contiguous, it begins system_mem before that. Where others have
 *			called sbrk, or sbrk has failed, it is in pieces, each but the last ended by two
 *			fenceposts: the other pieces are searched for (glibc_pieces.c).
 *	chunks		are walked by their sizes. One is free if the next one says so (PREV_INUSE), but
 *			those in fastbins and in a thread's cache are known by their lists alone.
 *	tcache		each thread's lists are a chunk of the heap themselves, found by the thread's own
 *			pointer: the offset from the thread pointer at which all threads have none or one
 *			to such a chunk; or by their content. counts are bytes up to 2.29, 16 bits from
 *			2.30 on, and what a list has room for from 2.42 on, when twelve lists of larger
 *			blocks (one for each power of two, up to 4 MB) came in. The length of their chunk tells.
 *	safe-linking	(2.32): an end of a list is 0 without it, and the place itself >> 12 with it.
 *	mmapped		chunks hang on no list. They are looked for at the pages of anonymous mappings
 *			that no heap covers, and counted against mp_ (n_mmaps, mmapped_mem), which is found
 *			by its sbrk_base. What does not add up is said (mmapped_certain). 2.43 leaves 16 bytes
 *			of the mapping behind the chunk, as if another one followed; and its mmapped_mem
 *			grows by 16 too much with each mremap, so that the mappings' own sum is given.
 *
 * Heaps are numbered from the oldest: 0 is the main one, 1 the first that was added. Numbers never
 * change (malloc_info counts the other way round).
 *
 * Rejected: a table of offsets by version (distributions patch, and what is wrong there is wrong
 * silently).
 */
#pragma once

#include <sys/types.h>

#include "base/memory.h"
#include "heap/chunk.h"

#define HEAPS_MAX	60000u	/* arenas; numbers above are LOG_HEAP_* */

/* Why what seems to be damage may be none. */
enum heap_doubt_why {
	HEAP_DOUBT_NONE,		/* it is damage */
	HEAP_DOUBT_INSIDE,	/* `thread` stands inside the allocator, and may be changing it */
	HEAP_DOUBT_LOCKED,	/* the arena is locked; by whom is not known */
	HEAP_DOUBT_NO_THREAD,	/* a cache that no thread has (any more) */
};

struct heap_doubt {
	enum heap_doubt_why why;
	pid_t thread;		/* 0: not known */
};

/* A run of chunks, end to end. */
struct heap_span {
	uint64_t start, end;	/* of the first chunk, behind the last one */
	uint16_t heap;		/* number, or LOG_HEAP_MMAP */
};

struct heap_arena {
	uint64_t address;	/* of its malloc_state ... */
	uint64_t bins_end;	/* ... and where its bins end, behind which no chunk is named */
	uint64_t top;		/* chunk; 0: none yet */
	uint64_t system_mem, max_system_mem;
	bool locked;
	bool whole;		/* all that system_mem says was walked, and nothing was damaged */
	bool damaged;		/* something was, for certain */
	/* of damage in it; if it is locked, the thread holds the lock */
	struct heap_doubt doubt;
	uint64_t bytes[CHUNK_KINDS], chunks[CHUNK_KINDS];
	uint64_t largest_free;	/* chunk, bytes */
};

/* A word that contradicts others. */
struct heap_damage {
	uint64_t address;	/* of the word */
	uint64_t before, after;	/* blocks on both sides; 0: not known */
	uint16_t heap;
	struct heap_doubt doubt;
	char what[128];
};

struct heap_walk {
	struct heap_chunks chunks;	/* in order of address */
	VEC(struct heap_arena) arenas;	/* by number */
	VEC(struct heap_span) spans;	/* by start */
	VEC(struct heap_damage) damage;	/* at most HEAP_DAMAGE_MAX */
	uint64_t damages;		/* of all ... */
	uint64_t uncertain;		/* ... and how many of these have a doubt */
	uint64_t mmapped, mmapped_bytes;	/* as the allocator counts them, if it is known: */
	/* certain: what was found is as many, and as long */
	bool mmapped_known, mmapped_certain;
	bool caches_known;		/* false: cached blocks may count as used */
	/* blocks that a word in flight leads to by links: see heap_source */
	VEC(uint64_t) loose;
};

#define HEAP_WALK_INIT	{ .chunks = { .nr = 0 } }
#define HEAP_DAMAGE_MAX	1000u

/* A private writable mapping. */
struct heap_map {
	uint64_t start, end;
	bool brk;		/* [heap] */
	bool anonymous;		/* may hold mapped chunks */
};

/* A thread that stands inside the allocator, or may: nothing tells where it is. */
struct heap_inside {
	pid_t tid;
	bool aborts;			/* the allocator has called abort: it has found damage */
	uint64_t tp;			/* thread pointer; 0: not known */
	const uint64_t *word;		/* its registers and the top of its stack */
	size_t nr_words;
};

/* The input of a walk. Arrays are the caller's. */
struct heap_source {
	struct memory *memory;
	const struct heap_map *map;	/* in order of address */
	size_t nr_maps;
	const struct heap_map *data;	/* of these those of libc, where main_arena is */
	size_t nr_data;
	uint64_t main_arena;		/* by symbol; 0: not known */
	const uint64_t *thread;		/* thread pointers, as far as they are known */
	size_t nr_threads;
	bool all_threads;		/* there are no others */
	/*
	 * The first block from address on that is certainly in use; UINT64_MAX: there is none. It
	 * is called where there is damage, for ascending addresses. NULL: none is known.
	 */
	uint64_t (*known_from)(void *ctx, uint64_t address);
	void *ctx;
	/*
	 * Words that threads inside the allocator have in hand. One of them may be taking a list
	 * apart that nothing else leads to any more (malloc_consolidate, the end of a thread):
	 * chunks of it look used.
	 */
	const uint64_t *in_flight_word;
	size_t nr_in_flight;
	const struct heap_inside *inside;
	size_t nr_inside;
	bool lockless;			/* the process has one thread, which takes no locks */
	bool check;			/* look at all links of the bins, too */
};

/*
 * ERR_NOTFOUND: libc's data has no arena (nothing was allocated yet, or it is laid out otherwise);
 * ERR_NOMEM. All else that is wrong is damage, in a walk that is as whole as it can be.
 */
struct err *glibc_walk(const struct heap_source *source, struct heap_walk *ret) MUST_CHECK;
void heap_walk_free(struct heap_walk *walk);

/*
 * Shows whether glibc's allocator does anything: a checksum of the bins, tops and sums of all
 * arenas, read without a walk and without a stop. If two of them differ, chunks were given out or
 * taken back in between. If they are equal, that proves nothing, since blocks that go to and from a
 * thread's cache touch no arena. Locks, and how many threads an arena has, are not part of it. It
 * uses the memory, libc's data and the main arena of source. 0: there is no arena yet.
 */
struct err *glibc_pulse(const struct heap_source *source, uint64_t *ret) MUST_CHECK;
