/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The heaps of a view, and what the log has of them (heap/reconcile.h): together they give all
 * blocks, also those from before the attach. session/heap.h says how a view is got by.
 */
#pragma once

#include "heap/heap_walk.h"
#include "heap/packed.h"
#include "heap/reconcile.h"

struct heap_view;
struct memory_limit;
struct memory_view;

/* A C library whose heaps were walked. */
struct heaps_libc {
	char name[48];		/* of its file, as the target has it, without folders */
	uint64_t start;		/* of its module */
};

struct heaps {
	/* if walked; with notes of what the log has (heap/reconcile.h) */
	struct heap_walk walk;
	bool walked;
	char why[256];			/* why not, or what was not */
	/* by the numbers that arenas have; mostly there is one */
	struct heaps_libc libc[HEAP_LIBCS_MAX];
	size_t nr_libcs;
	bool complete;			/* what is in no record was allocated before the attach */
	uint64_t under_way;		/* blocks left out: calls for them may be under way */
	bool calm;			/* no thread was inside the allocator */
	/* of a snapshot: what was freed while that was walked; it was held at the moment */
	struct walk_gone gone;
	uint64_t pause_ns;		/* for how long the target was stopped for it, or 0 */
	char no_snapshot[256];		/* why there was none, though a stop takes longer; or "" */
	uint64_t brk_start, brk;	/* the process': 0 where there is none */
	uint64_t missing;		/* bytes that a truncated core lacks */
	uint8_t process;		/* number of the process that was walked */
	bool lent;			/* the walk is the session's */
};

#define HEAPS_INIT	{ HEAP_WALK_INIT, .walked = false }

void heaps_free(struct heaps *heap);

/*
 * Walk the heaps of a view of now, and note what the log has of them. left_out: as reconcile_merge
 * has it. held: gets the blocks of the log (held->timed is set), or NULL. before: of the looks
 * before this one.
 */
struct err *heaps_walk(struct heap_view *walk, const struct reconcile_history *before,
		       struct packed_list *held, struct word_list *left_out) MUST_CHECK;
/*
 * The functions below run on any thread. The same of a view of an earlier moment, whose memory is a
 * snapshot; the log has gone on since. walk->ret and left_out are empty before.
 */
struct err *heaps_walk_past(struct heap_view *walk, struct word_list *left_out) MUST_CHECK;
/*
 * The same, and list all blocks, from the log and from the walk. own_memory: as in struct heap_view.
 * timed: as in struct packed_list.
 */
struct err *heaps_list_past(const struct memory_view *view, const struct memory_limit *own_memory,
			    bool timed, struct heaps *ret,
			    struct packed_list *list_ret) MUST_CHECK;
/* Only the blocks of the log, as they were at the moment of the view. */
struct err *heaps_list_log(const struct memory_view *view, bool timed,
			   struct packed_list *ret) MUST_CHECK;
