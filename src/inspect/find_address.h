/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `malloc find`: what is at an address of the heaps, and which places point to it.
 *
 * The places are found by the leak search's own notion of roots, blocks and dead memory
 * (inspect/leak_search.h): a place that is not listed here cannot keep a block from being lost
 * there, and the other way round. Whether the place is itself in a lost block is not examined.
 *
 *	register	of a thread, of the vector unit too, where it is in no system call
 *	chunk		a thread is inside the allocator with the address of the block's chunk
 *	stack		a thread's, with the frame that the place is in where a walk leads that far
 *	tls		static thread-local memory: from the lowest block that the thread's table of these
 *			(dtv, of glibc) has below the thread pointer, up to that
 *	control		behind the thread pointer, up to the end of the stack's memory as libc notes it
 *	block		another block
 *	heap		memory of heaps in which blocks may be that are not known
 *	memory		any other: data of a module (symbol/ knows which), or a mapping
 *
 * If only blocks point to it, the shortest way from a root is found as well (heap/reach/block_path.h),
 * since who fixes a leak asks for the end of the chain, which may be thousands of blocks away.
 *
 * Dynamic TLS is a block, and the table that leads to it is another block. For static and dynamic
 * TLS the answer has the module and the offset in its data, if the loader's list has them
 * (inspect/tls.h).
 */
#pragma once

#include "heap/reach/referrers.h"
#include "heap/reach/shared_counts.h"
#include "inspect/leak_marks.h"
#include "inspect/leak_search.h"
#include "inspect/owner_graph.h"
#include "os/procfs.h"

struct memory_view;

enum find_referrer_kind {
	FIND_REFERRER_REGISTER, FIND_REFERRER_VECTOR, FIND_REFERRER_CHUNK,
			    FIND_REFERRER_STACK,
	FIND_REFERRER_TLS, FIND_REFERRER_CONTROL, FIND_REFERRER_MEMORY,
			    FIND_REFERRER_HEAP,
	FIND_REFERRER_BLOCK, FIND_REFERRER_KINDS,
};

struct find_referrer {
	enum find_referrer_kind kind;
	bool firm;		/* keeps the block reachable; else at best "possibly lost" */
	uint64_t place;		/* address; 0: register, vector, chunk */
	uint64_t word;		/* the pointer */
	/* of register, vector, chunk, stack, tls, control; where tls_module is */
	pid_t tid;
	uint32_t index;		/* of register: word of struct regs */
	uint64_t pc;		/* of stack: of its frame's function; 0: not known */
	bool returns;		/* pc is a return address */
	uint64_t tp;		/* of tls, control: the thread pointer */
	/* an address in the module whose thread-local data it is in; 0: none known */
	uint64_t tls_module;
	uint64_t tls_offset;	/* in that data */
	uint32_t block;		/* of block: index in in.held */
};

struct find_address {
	struct leak_marks in;	/* blocks, and what is not sure of them; no mark */
	struct heaps heap;	/* the walk that they are from; or why there is none */
	struct proc_maps maps;
	uint32_t generation;		/* of the module map */
	uint32_t block, outer;		/* indices, or REFERRERS_NO_BLOCK */
	VEC(struct find_referrer) vec;	/* firm ones first */
	uint64_t nr_firm, nr_inner;	/* found in all */
	uint64_t own;			/* in the block itself: not among these */
	uint64_t unread;		/* bytes of roots and blocks, where there may be more */
	struct shared_counts shared;	/* if control is not 0: of the std::shared_ptr that have it */
	/* If path.ways.nr: the way, without hops; `in` and maps are those above, and not set. */
	struct owner_graph way;
};

void find_address_free(struct find_address *find);
/* How many blocks are before it on the way. */
uint64_t find_address_way_blocks(const struct find_address *find);
/* "register", "vector", "stack" ... */
const char *find_address_word(enum find_referrer_kind kind);

/* What was found, before it is known what it is. */
struct find_places {
	struct search_origins origins;	/* of words; see leak_search_referrers */
	struct referrers referrers;
};

/*
 * Any thread: find the places in a view that point to the block at or around address, at most
 * `limit` firm ones and as many others. find has the blocks, and heap the walk if there was one.
 * After an error as well, free *ret.
 */
struct err *find_address_search(const struct memory_view *view, uint64_t address, size_t limit,
				struct find_address *find, struct find_places *ret) MUST_CHECK;
/* Tracer thread: say what they are, which fills in the rest of find. */
struct err *find_address_name(const struct memory_view *view, const struct find_places *places,
			      struct find_address *find) MUST_CHECK;
void find_address_free_places(struct find_places *places);
