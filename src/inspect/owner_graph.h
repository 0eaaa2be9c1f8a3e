/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * All pointers of a view (heap/reach/block_graph.h), with what its roots are, for `malloc owners`
 * and `malloc path`. Roots, blocks and dead memory are those of the leak search
 * (inspect/leak_search.h). The graph stays when the view is gone: what is asked of it needs no
 * process that stands still, and no snapshot.
 *
 * What a root is, its place says:
 *
 *	frame		a stack, by the function whose frame the word lies in
 *	tls		thread-local data of a module, of a thread
 *	control		a thread's control block, behind the thread pointer
 *	(none of them)	data of a module, or a mapping: symbol/ and the maps know which
 *
 * Words that have no place are registers and the like: struct search_origin.
 */
#pragma once

#include "heap/reach/block_path.h"
#include "inspect/leak_marks.h"
#include "inspect/leak_search.h"
#include "os/procfs.h"

struct memory;
struct memory_view;

enum root_range_in { ROOT_RANGE_FRAME, ROOT_RANGE_TLS, ROOT_RANGE_CONTROL };

struct root_range {
	uint64_t start, end;
	enum root_range_in in;
	pid_t tid;
	uint64_t pc;		/* of a frame's function; 0: not known */
	bool returns;		/* pc is a return address */
	uint64_t tls_module;	/* as in struct find_referrer; 0: not known */
};

/* Where the frames of a thread begin. */
struct root_frames {
	pid_t tid;
	size_t first;		/* in ranges: its innermost frame, behind which the others lie */
};

/* From one block of a way to the next: the first word that points there. */
struct owner_hop {
	uint32_t way;		/* in path.ways */
	uint32_t block;
	bool found;		/* false: of the last one; or it is not there any more */
	uint64_t from;		/* byte of the block that has the word */
	uint64_t to;		/* byte of the next block that it points to */
	bool entered;		/* of the first block: the root's word was read */
	uint64_t entry;		/* byte of the first block that the root's word points to */
};

/* What is asked beside the graph: ways to the block at an address. */
struct owner_ask {
	uint64_t address;	/* 0: nothing */
	size_t limit;		/* of ways; 0: none is looked for */
	bool timed;		/* the blocks have times and threads */
};

struct owner_graph {
	struct leak_marks in;		/* blocks, and what is not sure of them; no mark */
	struct block_graph graph;
	struct search_origins origins;	/* of roots of WORD_ALONE, by their place */
	VEC(struct root_range) ranges;	/* by start; they do not overlap */
	VEC(struct root_frames) frames;	/* by thread; those that have roots */
	struct proc_maps maps;
	uint32_t generation;		/* of the module map */
	uint32_t block;			/* at the address; WORD_NO_BLOCK: none is there */
	bool freed;			/* but free memory of a heap */
	struct block_path path;
	VEC(struct owner_hop) hops;	/* of all ways, one behind the other */
};

/*
 * Any thread: find the pointers of the view, and what is asked. ret->in has the blocks and their
 * walk, whose chunks are freed as soon as the question is answered. After an error as well, the caller frees *ret. ERR_CANCELLED; ERR_NOMEM; ERR_RANGE.
 */
struct err *owner_graph_search(const struct memory_view *view, const struct owner_ask *ask,
			       struct owner_graph *ret) MUST_CHECK;
/*
 * Ask the same graph again. Which words of blocks point to the
 * next ones is read in `memory`, which may be that of the process now: its pointers may be others.
 * After an error nothing is asked.
 */
struct err *owner_graph_ask(struct memory *memory, const struct owner_ask *ask,
			    struct owner_graph *graph) MUST_CHECK;
/* Free what only the answer to a question needs. */
void owner_graph_rest(struct owner_graph *graph);
/* Tracer thread: find out what the roots are. The view is a snapshot, or still stands. */
struct err *owner_graph_name(const struct memory_view *view, struct owner_graph *ret) MUST_CHECK;
/* What of ret->ranges has the address, or NULL. */
const struct root_range *owner_graph_range(const struct owner_graph *graph, uint64_t address);
/* The frames of a thread, *nr_ret of them side by side, from the innermost one outwards. */
const struct root_range *owner_graph_frames(const struct owner_graph *graph, pid_t tid,
					    size_t *nr_ret);
void owner_graph_free(struct owner_graph *graph);
