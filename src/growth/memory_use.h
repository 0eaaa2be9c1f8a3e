/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The memory of a process by kind, from its mappings and from what is known of who owns them.
 *
 * A kind is what a mapping is for. The kernel says it of files, devices, shared memory, [heap] and
 * [stack]. All else is anonymous to it, and owners say which of it is the allocator's, a thread's
 * stack or mdbg's own. Neighbours of different owners are often one mapping, of which the kernel
 * has one figure. Then it is divided: sizes are known, and resident bytes and all else go by what
 * pagemap says is touched in each part. The kind of such a mapping is that of its largest part.
 *
 * The kinds add up to `all`, but for mdbg's own memory, which is not the process', and for the
 * kernel's: page tables are in no mapping.
 */
#pragma once

#include "heap/heap_walk.h"
#include "os/pagemap.h"
#include "os/smaps.h"

/* The machine offers no such figure. */
#define MEMORY_UNKNOWN	UINT64_MAX

enum memory_kind {
	MEMORY_HEAP,		/* [heap], and what malloc's allocator has got for its heaps */
	MEMORY_MAPPED,		/* blocks that malloc has mapped on their own */
	MEMORY_ANONYMOUS,	/* other private anonymous memory */
	MEMORY_STACKS,		/* of threads, with their guard pages */
	MEMORY_MAIN_STACK,
	MEMORY_FILES,		/* mapped, with pages that were written and are copies since */
	MEMORY_SHARED,		/* System V, POSIX, memfd, shared anonymous */
	MEMORY_DEVICE,		/* of devices, and pages of the kernel such as [vdso] */
	MEMORY_OWN,		/* mdbg's log and its code in the process; not in all */
	MEMORY_KERNEL,		/* page tables; in no mapping, and not in all */
	MEMORY_KINDS,
};

/* "heap", "mapped" ...: what is printed, and the keys of mdbg::memory. */
extern const char *const memory_kind_names[MEMORY_KINDS];

enum memory_figure {
	MEMORY_VSIZE,		/* mapped */
	MEMORY_RSIZE,		/* resident */
	MEMORY_PSS,		/* resident: each page divided by those who share it */
	MEMORY_DIRTY,		/* resident, and written to since it was read or made */
	MEMORY_SWAP,
	MEMORY_LOCKED,
	MEMORY_HUGE,		/* in huge pages */
	MEMORY_PRIVATE,		/* resident, and a page of no file: a copy of it, or anonymous */
	MEMORY_OTHERS,		/* resident, and mapped by other processes as well */
	MEMORY_LAZY,		/* resident, and given back by MADV_FREE: the kernel's to take */
	MEMORY_FIGURES,
};

/* Bytes, or MEMORY_UNKNOWN. */
struct memory_sum {
	uint64_t at[MEMORY_FIGURES];
};

#define MEMORY_ENDED	(-1)	/* thread: it has ended, and its stack is still there */

struct memory_map {
	const struct proc_map *map;	/* in memory_use.maps */
	struct memory_sum sum;
	enum memory_kind kind;
	pid_t thread;		/* whose stack it is; 0: none, or not known */
	bool counted;		/* it is part of the process' memory; [vsyscall] is not */
};

/* The figures of one moment. */
struct memory_look {
	uint64_t time_ns;	/* by the monotonic clock */
	struct memory_sum all, kind[MEMORY_KINDS];
	/* Heap, mapped and anonymous memory are told apart for certain. */
	bool divided;
	bool by_kind;		/* false: nothing is known but the resident bytes of `all` */
	uint64_t own_tables;	/* bytes of page tables for mdbg's memory, which are in no kind */
	struct heap_free free;	/* of the heaps; it is looked for where the verdict needs it */
	/* That the objects of shared memory which it has mapped have; or MEMORY_UNKNOWN. */
	uint64_t shared_there;
	uint64_t descriptors;	/* of files that descriptors hold, as far as not mapped; the same */
	uint64_t family;	/* tells whether its parent and its children are the same as before */
	uint64_t held;		/* bytes in blocks that malloc has given out, by the log */
	uint64_t older;		/* freed so far of blocks that the log does not have (log_older) */
	uint64_t unsized;	/* frees of such blocks whose size is not known; MEMORY_UNKNOWN: nor how many */
	/* Pools that lie in memory which they map: the command that lists what is in them; NULL: none. */
	const char *pools;
	uint64_t log;		/* whose bytes they are: tells one log from another */
	uint64_t unrecorded;	/* events that the log had no room for: then held is too low */
};

struct memory_use {
	struct memory_look look;
	/* From page tables only, as there is much memory: no MEMORY_PSS, no MEMORY_DIRTY. */
	bool quick;
	uint64_t min_faults, maj_faults;	/* since its start, or MEMORY_UNKNOWN */
	struct proc_maps maps;
	VEC(struct memory_map) vec;		/* in order of address */
};

#define MEMORY_USE_INIT	{ .maps = { VEC_INIT }, .vec = VEC_INIT }

/* Memory whose owner is known. */
struct memory_owner {
	uint64_t start, end;
	enum memory_kind kind;
	pid_t thread;		/* MEMORY_STACKS: LWP id, MEMORY_ENDED, or 0 */
};

struct memory_owners {
	VEC(struct memory_owner) vec;
	bool whole;		/* all that is malloc's is in it */
	bool rest_is_heap;	/* so is private memory without a name that nobody owns */
};

/*
 * Add up mappings and their figures, which are taken over from smaps. Without figures (smaps has
 * none) only MEMORY_VSIZE is known. Owners may overlap; they are sorted. Without a pagemap (NULL)
 * mappings are divided by size. The members of ret that are in no mapping stay unknown:
 * MEMORY_KERNEL, faults, held.
 */
struct err *memory_use_make(struct smaps *smaps, struct memory_owners *owners,
			    struct pagemap *pagemap, struct memory_use *ret) MUST_CHECK;
/* The process has locked so many bytes, of which no kind is known: if there are none, none has. */
void memory_use_set_locked(struct memory_use *use, uint64_t bytes);
void memory_use_free(struct memory_use *use);
/* Add b to *a; what is unknown in both stays unknown. */
void memory_use_add(uint64_t *a, uint64_t b);
/* All figures are unknown. */
extern const struct memory_sum memory_sum_unknown;
