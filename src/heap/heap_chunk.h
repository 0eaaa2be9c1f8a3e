/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The chunks of a heap, as a walk lists them: there are as many as the target has blocks, and more.
 * So a chunk takes two bytes, and half a byte as its share of an index:
 *
 *	code	note (2 bits) | kind (3) | size / 8 (11)
 *
 * For a size that does not fit it has CODE_LONG, and the next four codes have the size. Chunks lie
 * end to end, so the sizes before a chunk tell where it begins. A run is a part of the list in
 * which this holds, of one heap, with at most RUN_CHUNKS chunks; a run has its address, and
 * searches go by that.
 *
 * A chunk of glibc's has a header: its word of size lies before its block, and the block ends where
 * the header of the next chunk begins. Other allocators note sizes elsewhere. Their chunks are bare:
 * the block is all of the chunk, and a list may have 8 bytes of it.
 *
 * Codes may be changed in place: the kind of a chunk may be known only when the lists of free
 * chunks have been read, and a comparison with the log notes its result here.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

enum chunk_kind {
	CHUNK_USED,		/* the program has it */
	/*
	 * the same, in a mapping of its own, to the end of that (glibc 2.43 and later: CHUNK_USED
	 * in LOG_HEAP_MMAP)
	 */
	CHUNK_MMAPPED,
	CHUNK_OWN,		/* the allocator uses it: a thread's cache */
	CHUNK_CACHED,		/* free, in a thread's cache */
	CHUNK_FAST,		/* free, in a fastbin */
	CHUNK_FREE,		/* free, in a bin */
	CHUNK_TOP,		/* the end of an arena, not yet given out */
	/*
	 * (of bare chunks, as CHUNK_TOP is of others) whole pages that the allocator has taken
	 * back, and keeps
	 */
	CHUNK_KEPT,
	CHUNK_KINDS,
};

enum chunk_note {
	NOTE_NONE,
	NOTE_RECORDED,		/* the log has its block */
	NOTE_EARLY,		/* a block that is missing in the log and must be listed */
	/* only during a walk: the first word of the block is kept (glibc.h) */
	NOTE_LINKED,
};

struct heap_chunk {
	uint64_t address;	/* of the block in it */
	uint64_t size;		/* with its header */
	uint16_t heap;		/* number, or LOG_HEAP_MMAP */
	uint8_t kind, note;
	bool bare;		/* it has no header */
};

#define RUN_CHUNKS	32u
#define CODE_LONG	0x7ffu
#define CODE_SIZE_SHIFT	5u
#define CODE_UNIT	8u	/* bytes */

struct heap_run {
	uint64_t address : 48;	/* of its first block */
	uint64_t heap : 16;
	uint64_t code : 63;	/* its first */
	uint64_t bare : 1;
};

struct heap_chunks {
	VEC(uint16_t) code;
	VEC(struct heap_run) run;	/* in order of address */
	uint64_t nr;
	uint64_t end;			/* behind the last chunk, where the next would follow */
	unsigned in_run;		/* chunks of the last run */
};

/* Add one behind all others. *new_run_ret: is it the first of a run? */
struct err *heap_chunks_add(struct heap_chunks *chunks, const struct heap_chunk *chunk,
			    bool *new_run_ret) MUST_CHECK;
void heap_chunks_free(struct heap_chunks *chunks);

/* A place in the list. */
struct chunk_at {
	uint64_t address;	/* of the next chunk */
	/* the run of the next one, unless that is the first of the run behind it */
	size_t run;
	size_t code, end;	/* of the next chunk; of the run */
	size_t last;		/* of the chunk that was given */
	uint16_t heap;
	bool bare;
};

/* Returns the place of the first chunk. */
static inline struct chunk_at heap_chunks_start(void)
{
	return (struct chunk_at){ .run = SIZE_MAX };
}

/* Move to the start of a run; false: there is no such run. */
bool heap_chunk_at_run(const struct heap_chunks *chunks, struct chunk_at *at, size_t run);
/*
 * Move to the first chunk that does not begin before address. This is cheap from a place that lies
 * a little before it.
 */
void heap_chunks_seek(const struct heap_chunks *chunks, struct chunk_at *at, uint64_t address);

static inline uint64_t chunk_long_size(const uint16_t *code)
{
	return (uint64_t)code[1] | (uint64_t)code[2] << 16 | (uint64_t)code[3] << 32 |
	       (uint64_t)code[4] << 48;
}

/* Get the next chunk; false: there is none. */
static inline bool heap_chunks_next(const struct heap_chunks *chunks, struct chunk_at *at,
				    struct heap_chunk *ret)
{
	uint16_t code;

	if (at->code == at->end && !heap_chunk_at_run(chunks, at, at->run + 1))
		return false;
	code = chunks->code.at[at->code];
	at->last = at->code++;
	ret->address = at->address;
	ret->heap = at->heap;
	ret->bare = at->bare;
	ret->kind = code & 7;
	ret->note = code >> 3 & 3;
	ret->size = (uint64_t)(code >> CODE_SIZE_SHIFT) * CODE_UNIT;
	if (code >> CODE_SIZE_SHIFT == CODE_LONG) {
		ret->size = chunk_long_size(&chunks->code.at[at->last]);
		at->code += 4;
	}
	at->address += ret->size;
	return true;
}

/* Change the chunk that was given last. */
void heap_chunks_set_kind(struct heap_chunks *chunks, const struct chunk_at *at,
			  enum chunk_kind kind);
void heap_chunks_set_note(struct heap_chunks *chunks, const struct chunk_at *at,
			  enum chunk_note note);
/*
 * The number of chunks with this note that are in the same run as the chunk given last, and before
 * it.
 */
unsigned heap_chunks_noted(const struct heap_chunks *chunks, const struct chunk_at *at,
			   enum chunk_note note);

/* Find the chunk of the block at address; false: there is none. The search begins at *at. */
bool heap_chunks_find(const struct heap_chunks *chunks, struct chunk_at *at, uint64_t address,
		      struct heap_chunk *ret);
/* Search from the start of the list on. *at_ret (may be NULL) has just given the chunk. */
bool heap_chunk_at(const struct heap_chunks *chunks, uint64_t address, struct heap_chunk *ret,
		   struct chunk_at *at_ret);
/*
 * The chunk that holds address. One with a header begins with its word of size here, since the word
 * before that belongs to the chunk before (a block reaches into it, and a free chunk has its size
 * there).
 */
bool heap_chunk_around(const struct heap_chunks *chunks, uint64_t address, struct heap_chunk *ret);

/* How many bytes before its block a chunk begins, so that chunks lie end to end. */
static inline unsigned chunk_header(const struct heap_chunk *chunk)
{
	return chunk->bare ? 0 : chunk->kind == CHUNK_MMAPPED ? 16 : 8;
}

/* Bytes that the program can use of a chunk. */
static inline uint64_t chunk_usable(const struct heap_chunk *chunk)
{
	return chunk->size - chunk_header(chunk);
}

/* Is it in use by the program? */
static inline bool chunk_held(const struct heap_chunk *chunk)
{
	return chunk->kind == CHUNK_USED || chunk->kind == CHUNK_MMAPPED;
}

/* "used", "tcache", "fastbin", ... */
const char *heap_chunk_kind(enum chunk_kind kind);
/* Add one list to another; both are in order of address, and no chunk lies in one of the other's. */
struct err *heap_chunks_join(struct heap_chunks *chunks,
			     const struct heap_chunks *others) MUST_CHECK;
