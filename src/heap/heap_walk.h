/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Walks of an allocator's heaps: they list all chunks, in use or free, as the allocator's own data
 * in the target's memory have them. This is the interface of every allocator's walk. Those of a
 * process that has several allocators are joined (heap_walk_join).
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
 *	main_arena	It is in libc's data; no symbol is needed. It has 127 bins, each a pair of
 *			words which, if the bin is empty, point at the bin itself. Behind them is
 *			`next`, by which all arenas form a ring. If these two conditions hold, there
 *			is an arena. The place that `next` leads back to gives the length of the
 *			part before the bins, which tells 2.26 (no have_fastchunks) from later
 *			versions, and 2.43 (no fastbins) from both.
 *	other arenas	They follow the heap_info at the start of their first heap: ar_ptr, prev,
 *			size. The arena's place behind it tells which of the two lengths heap_info
 *			has (2.35 added pagesize). The last heap is the one with top, at a multiple
 *			of the largest heap size; prev leads to the others. That size follows from
 *			mp_ (hp_pagesize), and is the one that fits the heaps of all arenas.
 *	main heap	It ends with top; if it is contiguous, it begins system_mem before that. If
 *			other code has called sbrk, or sbrk has failed, it is in pieces, and all but
 *			the last end with two fenceposts: the other pieces are searched for
 *			(glibc_pieces.c).
 *	chunks		They are walked by their sizes. A chunk is free if the next one says so
 *			(PREV_INUSE), but those in fastbins and in a thread's cache are known only
 *			by their lists.
 *	tcache		Each thread's lists are themselves in a chunk of the heap. The thread's own
 *			pointer leads to it: it is at the offset from the thread pointer at which
 *			all threads have no pointer, or one to such a chunk. If there is no such
 *			offset, the chunk is found by its contents. counts are bytes up to 2.29, 16
 *			bits from 2.30 on, and the number of chunks that a list has room for from
 *			2.42 on, which added twelve lists of larger blocks (one for each power of
 *			two, up to 4 MB). The length of the chunk tells which.
 *	safe-linking	(2.32) The end of a list is 0 without it, and its own place >> 12 with it.
 *	mmapped		These chunks are in no list. They are looked for at the pages of anonymous
 *			mappings that no heap covers, and compared with the counts in mp_ (n_mmaps,
 *			mmapped_mem), which is found by its sbrk_base. A difference is reported
 *			(mmapped_certain). 2.43 leaves 16 bytes of the mapping behind the chunk, as
 *			if another one followed; and its mmapped_mem grows by 16 too much with each
 *			mremap, so the sum of the mappings found is reported instead.
 *
 * A process may have several glibcs: dlmopen and LD_AUDIT load another one for each namespace, a
 * static program one beside its own. They have the same loader, so they are of one version. Each has
 * a main arena, a ring, caches and an mp_ of its own:
 *
 *	brk		Only the first one calls sbrk (__libc_initial). Its top is in [heap], or the
 *			sbrk_base of its mp_. The main heaps of the others consist of mappings.
 *	pieces		If several main heaps lack some, a free chunk shows whose a piece is: its
 *			list goes through a bin of its arena.
 *	mmapped		These chunks say nothing about their libc, so they are compared with the
 *			sums of all.
 *	tcache		The offset of the pointer is another one for each; a pointer is of the libc
 *			in whose heaps its cache lies.
 *
 * Heaps are numbered from the oldest: 0 is the main one, 1 the first that was added. Numbers never
 * change (malloc_info counts the other way round). The heaps of further glibcs follow, so their
 * numbers grow when one before them adds a heap.
 *
 * Rejected: a table of offsets by version (distributions patch glibc, and wrong offsets would not
 * be noticed).
 */
#pragma once

#include <stdarg.h>
#include <sys/types.h>

#include "base/memory.h"
#include "heap/heap_chunk.h"

#define HEAPS_MAX	60000u	/* arenas; numbers above are LOG_HEAP_* */
/* Pages that a walk of glibc's heaps looks at if nothing says where a mapped chunk begins. */
#define HEAP_PAGES_MAX	(1u << 18)

/* The reason why apparent damage may be none. */
enum heap_doubt_why {
	HEAP_DOUBT_NONE,		/* it is damage */
	HEAP_DOUBT_INSIDE,	/* `thread` is inside the allocator, and may be changing it */
	HEAP_DOUBT_LOCKED,	/* the arena is locked; it is not known by which thread */
	HEAP_DOUBT_NO_THREAD,	/* a cache that no thread has (any more) */
};

struct heap_doubt {
	enum heap_doubt_why why;
	pid_t thread;		/* 0: not known */
};

/* Memory that chunks lie in. glibc's lie end to end in it. */
struct heap_span {
	uint64_t start, end;	/* of the first chunk, behind the last one */
	uint16_t heap;		/* number, or LOG_HEAP_MMAP */
};

struct heap_arena {
	uint16_t libc;		/* place of its glibc, or of its allocator's module, in the source */
	bool main;		/* its glibc's first */
	bool brk;		/* its memory comes from sbrk, as long as that gives any */
	/*
	 * Its chunks are bare (heap/heap_chunk.h): it is no glibc's, and the fields that say so are
	 * not known. CHUNK_KEPT is memory that the allocator has taken back and keeps, in whole
	 * pages, and CHUNK_FREE what it can give out beside blocks of the same page or slab.
	 */
	bool bare;
	uint64_t address;	/* of its malloc_state ... */
	uint64_t bins_end;	/* ... and the end of its bins: no word behind it names a chunk */
	uint64_t top;		/* chunk; 0: none yet */
	/* bytes from the kernel: now (CHUNK_KEPT is in it), and the most that it was (not of bare ones) */
	uint64_t system_mem, max_system_mem;
	bool locked;		/* (not of bare ones) */
	bool whole;		/* all that system_mem says was walked, without damage */
	bool damaged;		/* something was, for certain */
	/* doubt of damage in it; if it is locked, the thread holds the lock */
	struct heap_doubt doubt;
	uint64_t bytes[CHUNK_KINDS], chunks[CHUNK_KINDS];
	uint64_t largest_free;	/* chunk, bytes */
};

/* The chunks of a free list. Sizes of bins are as glibc has them, with the flags in the lowest bits. */
struct heap_list {
	uint64_t least, most, bytes, count;
};

#define HEAP_FASTBINS	10u
#define HEAP_BINS	127u	/* the first one is the unsorted bin */

/* The lists of an arena of glibc, and its heaps: what malloc_info(3) says of it. */
struct heap_lists {
	uint16_t heap;			/* its number */
	bool whole;			/* each list leads back to its start */
	struct heap_list fast[HEAP_FASTBINS], bin[HEAP_BINS];
	/* Of an arena that is not the main one: heaps, and their bytes that are and were writable. */
	uint64_t heaps, heap_bytes, writable_bytes;
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
	uint64_t damages;		/* that are certain, listed or not ... */
	uint64_t uncertain;		/* ... and those that have a doubt */
	uint64_t mmapped, mmapped_bytes;	/* as the allocator counts them, if it is known: */
	/* It asks for pages of so many bytes, of hugetlbfs; 0: it does not, or is not known to. */
	uint64_t huge_page;
	uint64_t mmapped_most, mmapped_bytes_most;	/* the most that there ever were at a time */
	/* certain: those found have the same number and length */
	bool mmapped_known, mmapped_certain;
	bool caches_known;		/* false: cached blocks may count as used */
	/* glibcs in which no arena was found, though something may be allocated there; bits */
	uint32_t unknown_libcs;
	/* blocks that a word in flight leads to by links: see heap_source */
	VEC(uint64_t) loose;
	VEC(struct heap_lists) lists;	/* of glibc's arenas, by number, if the source asks for them */
};

#define HEAP_WALK_INIT	{ .chunks = { .nr = 0 } }
#define HEAP_DAMAGE_MAX	1000u

/* How much damage there is, certain or not. */
static inline uint64_t heap_walk_all_damage(const struct heap_walk *walk)
{
	return walk->damages + walk->uncertain;
}

/* A private writable mapping. */
struct heap_map {
	uint64_t start, end;
	bool brk;		/* [heap] */
	bool anonymous;		/* may hold mapped chunks */
};

/* A thread that is inside the allocator, or may be, because its place is not known. */
struct heap_inside {
	pid_t tid;
	bool aborts;			/* the allocator has called abort: it has found damage */
	uint64_t tp;			/* thread pointer; 0: not known */
	const uint64_t *word;		/* its registers and the top of its stack */
	size_t nr_words;
};

#define HEAP_LIBCS_MAX	16u	/* glibc has as many namespaces */

/* A glibc of the process, or a module with another allocator. */
struct heap_libc {
	/* those parts of the source's map that belong to it, where its main_arena is */
	const struct heap_map *data;
	size_t nr_data;
	uint64_t main_arena;		/* by symbol; 0: not known */
};

/* The input of a walk. Arrays are the caller's. */
struct heap_source {
	struct memory *memory;
	const struct heap_map *map;	/* in order of address */
	size_t nr_maps;
	const struct heap_libc *libc;
	size_t nr_libcs;		/* HEAP_LIBCS_MAX at most */
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
	bool lists;			/* add the chunks of each list up: heap_lists */
	/* The walk ends with ERR_RANGE if there are more; 0: any number. */
	uint64_t most_chunks;
	/* For glibc_ranges: memory->next leaves out what the process has never touched. */
	bool live;
	/* The resident bytes of some pages; for the same; NULL: all of them. */
	uint64_t (*resident)(void *ctx, uint64_t start, uint64_t end);
	/* glibc_ranges may read the lists of free chunks for so long; 0: it does not. */
	uint64_t free_ns;
};

/*
 * ERR_NOTFOUND: no libc's data has an arena (nothing was allocated yet, or it is laid out otherwise);
 * ERR_NOMEM. All else that is wrong is damage, in a walk that is as whole as it can be.
 */
struct err *glibc_walk(const struct heap_source *source, struct heap_walk *ret) MUST_CHECK;
/* heap/jemalloc/jemalloc.h. The same errors; ERR_UNSUPPORTED: its tree is laid out otherwise. */
struct err *jemalloc_walk(const struct heap_source *source, struct heap_walk *ret) MUST_CHECK;
/* heap/tcmalloc/tcmalloc.h. The same errors; ERR_UNSUPPORTED: its data are laid out otherwise. */
struct err *tcmalloc_walk(const struct heap_source *source, struct heap_walk *ret) MUST_CHECK;
/* heap/mimalloc/mimalloc.h. ERR_UNSUPPORTED: its segments or pages are laid out otherwise, or encoded. */
struct err *mimalloc_walk(const struct heap_source *source, struct heap_walk *ret) MUST_CHECK;
/* heap/musl.c. ERR_NOTFOUND: no context of mallocng is there. */
struct err *musl_walk(const struct heap_source *source, struct heap_walk *ret) MUST_CHECK;
void heap_walk_free(struct heap_walk *walk);
/*
 * For walks: add damage, whose `what` this makes. Its arena is not whole any more, and it is damaged if
 * there is no doubt. Above HEAP_DAMAGE_MAX it is only counted. ERR_NOMEM.
 */
struct err *heap_walk_damage(struct heap_walk *walk, struct heap_damage damage, const char *fmt,
			     va_list ap) MUST_CHECK;
/* For walks, at their end: sum up the chunks of each arena, and clear their notes. */
void heap_walk_add_up(struct heap_walk *walk);
/*
 * Add the walk of another allocator of the same process; it is freed in any case. Its arenas get the
 * numbers behind those that are there. ERR_FORMAT: they have the same memory; ERR_RANGE, ERR_NOMEM.
 * After an error the first one is good for nothing but heap_walk_free.
 */
struct err *heap_walk_join(struct heap_walk *walk, struct heap_walk *other) MUST_CHECK;

/* What the arenas say of themselves. Zeros: there are none yet. */
struct heap_pulse {
	/*
	 * Shows whether the allocator does anything: a checksum of the bins, tops and sums of all
	 * arenas. If two of them differ, chunks were given out or taken back in between. If they
	 * are equal, that proves nothing, since blocks that go to and from a thread's cache touch no
	 * arena. Locks, and how many threads an arena has, are not part of it.
	 */
	uint64_t sum;
	uint64_t acquired;	/* bytes from the kernel, but for chunks that are mapped */
	/* Blocks that are held or cached; the chunks of a walk are no more than twice that. */
	uint64_t blocks;
	bool counted;		/* false: `blocks` is not known */
};

/* Read without a walk and without a stop. It uses the memory, the map and the libcs of source. */
struct err *glibc_pulse(const struct heap_source *source, struct heap_pulse *ret) MUST_CHECK;
/* The checksum is that of all descriptors. */
struct err *jemalloc_pulse(const struct heap_source *source, struct heap_pulse *ret) MUST_CHECK;
/* The checksum is that of all spans. */
struct err *tcmalloc_pulse(const struct heap_source *source, struct heap_pulse *ret) MUST_CHECK;
/* The checksum is that of all pages. */
struct err *mimalloc_pulse(const struct heap_source *source, struct heap_pulse *ret) MUST_CHECK;

/* Memory that the allocator has got from the kernel. */
struct heap_range {
	uint64_t start, end;
	bool mapped;		/* of a block that is mapped on its own; else of a heap */
};

/*
 * What was free and resident when it was looked at, in bytes of chunks: without threads' caches and
 * fastbins, which are small.
 */
struct heap_free {
	bool known;
	bool whole;		/* false: there was no time for all of it, and there is more */
	uint64_t listed;	/* in the lists of arenas */
	uint64_t main_top;	/* at the ends of main arenas */
	uint64_t other_top;	/* at the ends of others ... */
	uint32_t other_tops;	/* ... which are so many, with a page or more each */
	uint64_t trimmed;	/* of all that: what malloc_trim(0) gives back, about */
};

struct heap_ranges {
	struct heap_free free;
	VEC(struct heap_range) vec;	/* in order of address */
	/* These are all, it seems: as many mapped chunks as malloc counts, and no damage. */
	bool whole;
};

/*
 * Find the memory of glibc's heaps, with what is reserved for them, and of its mapped chunks,
 * without a walk and without a stop. The target runs on and may change all of it meanwhile, so
 * ranges are what the memory said when it was read. Mapped chunks are looked for at the starts of
 * mappings and, if malloc counts more of them than are found, at some thousand pages that the
 * target has touched (a read of others would make the kernel give it these pages); pieces of main
 * heaps at such pages alone. It uses the memory, the maps, the libcs and live of source. There
 * are none, and they are not whole, if nothing was allocated yet.
 */
struct err *glibc_ranges(const struct heap_source *source, struct heap_ranges *ret) MUST_CHECK;
/* The same of jemalloc's heaps, with its base blocks, by the tree's words at that time. */
struct err *jemalloc_ranges(const struct heap_source *source, struct heap_ranges *ret) MUST_CHECK;
struct err *tcmalloc_ranges(const struct heap_source *source, struct heap_ranges *ret) MUST_CHECK;
struct err *mimalloc_ranges(const struct heap_source *source, struct heap_ranges *ret) MUST_CHECK;
void heap_ranges_free(struct heap_ranges *ranges);
