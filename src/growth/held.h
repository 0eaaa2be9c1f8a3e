/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a process holds by its calls of brk, mmap and shared memory: pieces of address space, no two
 * of which overlap, each with the call that made it.
 *
 * Theory of operation
 *
 * Pieces lie in order of address, in chunks of at most HELD_CHUNK pieces: to put one in moves the
 * rest of one chunk, and an allocator that maps downwards, piece by piece, costs no more than one
 * that maps upwards. Pieces are never joined, even where the kernel joins their mappings, because
 * each has a call of its own.
 *
 * Order. Events do not come in the order in which they happened: a thread may be held between the
 * system call and the note of it. Each piece has the moment from which on somebody may take it away
 * (`since`: when its call returned), and each removal the moment from which on the kernel may have
 * given the place to another call (`before`: when its call was entered). A removal takes only what
 * is older than itself, and a piece that is put in gives way to younger ones. So two events of the
 * same place may come in either order.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"

#define HELD_CHUNK	256u
/* Pieces; the kernel lets a process have 65,530 mappings, which may be many pieces each. */
#define HELD_MAX	(1u << 20)

enum held_kind { HELD_BRK, HELD_MMAP, HELD_SHM, HELD_KINDS };

struct held_piece {
	uint64_t start, end;
	uint64_t since;
	/* of a piece that is gone: when another call had its place */
	uint64_t until;
	/* where the mapping of its call would begin now, if all of it had moved with this piece */
	uint64_t base;
	uint64_t time;			/* of its call: time stamp */
	uint64_t event;			/* its number */
	uint32_t thread, stack;		/* of the log */
	enum held_kind kind;
};

struct held_chunk {
	uint32_t nr;
	struct held_piece piece[HELD_CHUNK];
};

struct held {
	VEC(struct held_chunk *) chunks;	/* none is empty */
	size_t nr;				/* pieces */
	uint64_t bytes[HELD_KINDS];
};

#define HELD_INIT	{ VEC_INIT, 0, { 0 } }

struct held_pieces {
	VEC(struct held_piece) vec;
};

void held_clear(struct held *held);
/* ERR_RANGE: HELD_MAX pieces are there; ERR_NOMEM. The piece is not in then, or only in part. */
struct err *held_insert(struct held *held, const struct held_piece *piece) MUST_CHECK;
/*
 * Take out the parts in [start, end) of pieces whose `since` is less than before. If taken is not
 * NULL, they are added to it, in order. ERR_NOMEM: some were not taken out.
 */
struct err *held_remove(struct held *held, uint64_t start, uint64_t end, uint64_t before,
			struct held_pieces *taken) MUST_CHECK;

/* Go through all pieces; nothing may be put in or taken out meanwhile. */
#define held_each(piece, held)							\
	for (size_t held_i = 0; held_i < (held)->chunks.nr; held_i++)			\
		for (const struct held_piece *piece = (held)->chunks.at[held_i]->piece,	\
		     *held_end = piece + (held)->chunks.at[held_i]->nr;			\
		     piece < held_end; piece++)
