/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The search for leaks in a view: it collects the roots and marks what they lead to (theory in
 * leaks.h).
 */
#pragma once

#include "heap/referrers.h"

struct heap_walk;
struct region;
struct session_find;
struct session_leaks;
struct memory_view;
struct proc_map;

/*
 * Mark the blocks in *ret, which also says what is known of their walk (`walk` is read only if
 * ret->walked). The view must be deep. Any thread.
 */
struct err *leak_search_run(const struct memory_view *view, const struct heap_walk *walk,
			    struct session_leaks *ret) MUST_CHECK;

/* The origin of a word that is a root by itself. */
enum search_from {
	SEARCH_REGISTER,	/* index: word of struct regs */
	SEARCH_VECTOR,		/* index: of the words of the vector unit */
	SEARCH_CHUNK,		/* a thread has the address of the block's chunk */
	SEARCH_DTV,		/* the start of the table that its control block points into */
	SEARCH_STACK,		/* the block that SP lies in */
	SEARCH_MAPPED,		/* a mapping that may not be a block */
	SEARCH_FREED,		/* a block that was freed since */
};

struct search_origin {
	enum search_from from;
	pid_t tid;		/* 0: no thread */
	uint32_t index;
};

struct search_origins {
	VEC(struct search_origin) vec;
};

/*
 * Find the places that point to a block (heap/referrers.h), with the roots and blocks of
 * leak_search_run. find->in is as there, but nothing is marked; find->heap has the walk. The place of a
 * REFERRER_WORD is the index of its origin, which is a register or a chunk. The caller frees
 * *origins, after an error as well; they are filled in before spec->is_firm is called.
 */
struct err *leak_search_referrers(const struct memory_view *view, struct session_find *find,
				  const struct referrers_spec *spec,
				  struct search_origins *origins,
				  struct referrers *ret) MUST_CHECK;
/*
 * Is this mapping searched for pointers? (glibc's heaps and mdbg's own memory are decided
 * elsewhere.) region: as in struct memory_view.
 */
bool leak_search_is_root(const struct region *region, const struct proc_map *map);
