/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The account of a process' memory: its resident memory, divided into parts that add up to what the
 * kernel counts (Rss of /proc/PID/smaps), and beside it what is not resident in its mappings and
 * costs memory all the same.
 *
 * Theory of operation
 *
 * Two sources are put together. The kinds of memory (growth/memory_use.h) divide the kernel's figure
 * of each mapping among heaps, stacks, files and so on. The walk of the heaps (heap/heap_walk.h)
 * lists their chunks, and pagemap of the very memory that was walked says which of their pages are
 * resident: that of the target as it stands, or of the snapshot, in whose page tables private
 * memory is as it was at the fork. Each resident byte of a heap is that of the chunk which it lies
 * in, so a page that two chunks share is divided between them.
 *
 * The heaps are of a moment, and the kernel's figures of one some ms later, while the process ran
 * on. If the heaps have more in memory by then, the rest is no chunk's (ACCOUNT_ALLOCATOR); if they
 * have less, the sum is that of the earlier moment. Where nothing ran, both are the same.
 *
 * What a block's program asked for is in the log, so it is known of recorded blocks only. Of the
 * others their usable size counts as asked for.
 *
 * What is not known has no part of its own: it is said in a note.
 */
#pragma once

#include "growth/memory_use.h"
#include "inspect/heaps.h"
#include "os/held_files.h"

/* In the order in which they are shown. */
enum account_part {
	/* They add up to ACCOUNT_ALL. */
	ACCOUNT_HELD,		/* blocks of the walked heaps: what was asked for */
	ACCOUNT_OVERHEAD,	/* their rounding and headers */
	ACCOUNT_CACHED,		/* free, in threads' caches */
	ACCOUNT_FREE,		/* free, in the lists of arenas */
	ACCOUNT_TOP,		/* free, at the end of a main arena */
	ACCOUNT_TOPS,		/* free, at the ends of other arenas */
	ACCOUNT_ALLOCATOR,	/* of the heaps, and in no block: the allocator's own data */
	ACCOUNT_UNDIVIDED,	/* heaps that were not walked */
	ACCOUNT_ANONYMOUS,	/* mapped without malloc */
	ACCOUNT_LAZY,		/* given back by MADV_FREE: the kernel takes it when it needs it */
	ACCOUNT_STACKS,		/* of threads that live, with the first one's */
	ACCOUNT_ENDED,		/* of threads that have ended, and were not joined */
	ACCOUNT_FILES_CLEAN,
	ACCOUNT_FILES_DIRTY,	/* written to, and to be written to the file */
	ACCOUNT_FILES_COPIED,	/* private copies of their pages, which were written to */
	ACCOUNT_SHARED,		/* shared memory that no other process has mapped */
	ACCOUNT_SHARED_OTHERS,	/* ... that others have mapped as well */
	ACCOUNT_DEVICE,
	ACCOUNT_OWN,		/* mdbg's log and agent */
	ACCOUNT_ALL,		/* the sum */
	/* Parts of it that are counted above. */
	ACCOUNT_HUGE,		/* in huge pages */
	ACCOUNT_FORKED,		/* private, and shared with other processes since a fork */
	ACCOUNT_TRIM,		/* free: malloc_trim gives it back */
	ACCOUNT_PINNED,		/* free, on pages that live blocks keep */
	/* Not resident in its mappings. */
	ACCOUNT_UNTOUCHED,	/* of blocks: asked for, and never written to, or given back */
	ACCOUNT_SWAPPED,
	ACCOUNT_TABLES,		/* page tables, without those of mdbg's memory */
	ACCOUNT_HUGETLB,	/* huge pages of hugetlbfs, which Rss leaves out */
	ACCOUNT_DESCRIPTORS,	/* memory files and deleted files of tmpfs, as far as not mapped */
	ACCOUNT_SOCKETS,	/* buffers of its sockets, in the kernel */
	ACCOUNT_GROUP_FILES,	/* of its control group: page cache */
	ACCOUNT_GROUP_SHARED,	/* ... tmpfs and shared memory */
	ACCOUNT_GROUP_KERNEL,	/* ... slab, stacks, page tables, sockets */
	ACCOUNT_PARTS,
};

enum account_where { ACCOUNT_IN, ACCOUNT_SUM, ACCOUNT_OF, ACCOUNT_BESIDE };

enum account_where account_where(enum account_part part);
/* "held", "free": one word; and what it is, in words. */
const char *account_name(enum account_part part);
const char *account_what(enum account_part part);

/* The heaps that were walked. Bytes are those of chunks, with headers. */
struct account_heap {
	bool known;			/* false: `why` says the reason */
	char why[256];
	struct {
		uint64_t bytes, resident, swapped, chunks;
	} kind[CHUNK_KINDS];
	uint64_t main_top;		/* resident bytes at the ends of main arenas */
	uint64_t other_top;		/* ... of other ones */
	uint32_t other_tops;		/* how many of these have a page or more of it */
	uint16_t largest;		/* the one with most, by number ... */
	uint64_t largest_bytes;		/* ... and its bytes */
	uint64_t recorded, recorded_bytes;	/* chunks in use that the log has */
	uint64_t early, early_bytes;	/* ... and others */
	uint64_t recorded_headers, early_headers;	/* bytes of theirs */
	/* What the program has asked for in the recorded ones; UINT64_MAX: it is not known. */
	uint64_t asked;
	uint64_t trim, pinned;		/* of the free bytes: heap/free_space.h */
};

/*
 * Find what is resident of the chunks of a walk. pages_of: the process that has the memory which was
 * walked, at the moment of the walk.
 */
struct err *account_heap_find(const struct heaps *heap, pid_t pages_of,
			      struct account_heap *ret) MUST_CHECK;
/* The same as a look without a stop has it. */
struct heap_free account_heap_free(const struct account_heap *heap);

/* What is known of the process beside its mappings and heaps; MEMORY_UNKNOWN: it is not known. */
struct account_beside {
	uint64_t tables, hugetlb;
	uint64_t group_files, group_shared, group_kernel;
	struct held_files files;	/* `mapped` is filled in */
	bool files_known;
	char no_sockets[128];		/* why nothing is known of its sockets */
};

struct account {
	uint64_t part[ACCOUNT_PARTS];	/* bytes, or MEMORY_UNKNOWN */
};

/* The bytes of files that are in no mapping of the process; `mapped` of each is filled in. */
uint64_t account_unmapped(const struct memory_use *use, struct held_files *files);
/* Bytes of the buffers of those sockets whose are known; *unknown_ret: how many others there are. */
uint64_t account_sockets(const struct held_files *files, size_t *unknown_ret);
void account_make(const struct memory_use *use, const struct account_heap *heap,
		  struct account_beside *beside, struct account *ret);
