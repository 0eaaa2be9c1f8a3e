/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The list of a heap's chunks: adding, searching, changing. */

#include "heap/heap_chunk.h"

#include <string.h>

#define KIND_BITS	7u
#define NOTE_SHIFT	3u
#define NOTE_BITS	(3u << NOTE_SHIFT)

struct err *heap_chunks_add(struct heap_chunks *chunks, const struct heap_chunk *chunk,
			    bool *new_run_ret)
{
	bool is_long = chunk->size % CODE_UNIT || chunk->size / CODE_UNIT >= CODE_LONG;
	const struct heap_run *last = chunks->run.nr ? &chunks->run.at[chunks->run.nr - 1] : NULL;
	struct err *err = vec_reserve(&chunks->code, 5);

	if (err)
		return err;
	*new_run_ret = !last || chunks->in_run == RUN_CHUNKS || chunks->end != chunk->address ||
		       last->heap != chunk->heap || last->bare != chunk->bare;
	if (*new_run_ret) {
		err = vec_push(&chunks->run, ((struct heap_run){ .address = chunk->address,
								 .heap = chunk->heap,
								 .bare = chunk->bare,
								 .code = chunks->code.nr }));
		if (err)
			return err;
		chunks->in_run = 0;
	}
	chunks->code.at[chunks->code.nr++] = (uint16_t)(
		chunk->kind | chunk->note << NOTE_SHIFT |
		(is_long ? CODE_LONG : chunk->size / CODE_UNIT) << CODE_SIZE_SHIFT);
	for (unsigned i = 0; is_long && i < 4; i++)
		chunks->code.at[chunks->code.nr++] = (uint16_t)(chunk->size >> 16 * i);
	chunks->in_run++;
	chunks->nr++;
	chunks->end = chunk->address + chunk->size;
	return NULL;
}

static struct err *append_run(struct heap_chunks *to, const struct heap_chunks *from, size_t run)
{
	struct heap_run copy = from->run.at[run];
	size_t start = copy.code;
	size_t end = run + 1 < from->run.nr ? from->run.at[run + 1].code : from->code.nr;
	struct err *err;

	copy.code = to->code.nr;
	err = vec_push(&to->run, copy);
	if (!err)
		err = vec_reserve(&to->code, end - start);
	if (err)
		return err;
	memcpy(&to->code.at[to->code.nr], &from->code.at[start], (end - start) * sizeof(uint16_t));
	to->code.nr += end - start;
	return NULL;
}

struct err *heap_chunks_join(struct heap_chunks *chunks, const struct heap_chunks *others)
{
	struct heap_chunks joined = { .nr = chunks->nr + others->nr,
				      .end = MAX(chunks->end, others->end),
				      /* nothing is added to the last run */
				      .in_run = RUN_CHUNKS };
	size_t i = 0, j = 0;
	struct err *err = NULL;

	while (!err && (i < chunks->run.nr || j < others->run.nr)) {
		if (j == others->run.nr || (i < chunks->run.nr && chunks->run.at[i].address <
									others->run.at[j].address))
			err = append_run(&joined, chunks, i++);
		else
			err = append_run(&joined, others, j++);
	}
	heap_chunks_free(err ? &joined : chunks);
	if (!err)
		*chunks = joined;
	return err;
}

void heap_chunks_free(struct heap_chunks *chunks)
{
	vec_free(&chunks->code);
	vec_free(&chunks->run);
	*chunks = (struct heap_chunks){ .nr = 0 };
}

bool heap_chunk_at_run(const struct heap_chunks *chunks, struct chunk_at *at, size_t run)
{
	const struct heap_run *to;

	if (run >= chunks->run.nr)
		return false;
	to = &chunks->run.at[run];
	*at = (struct chunk_at){
		.address = to->address,
		.run = run,
		.code = to->code,
		.end = run + 1 < chunks->run.nr ? to[1].code : chunks->code.nr,
		.heap = to->heap,
		.bare = to->bare,
	};
	return true;
}

/*
 * Returns the last run that does not begin behind address, from `low` on; SIZE_MAX: all begin
 * behind it.
 */
static size_t run_of(const struct heap_chunks *chunks, uint64_t address, size_t low)
{
	size_t high = chunks->run.nr, step = 1;

	/* Mostly it is near, so the search looks ahead in growing steps. */
	for (; low + step < high && chunks->run.at[low + step].address <= address; step *= 2)
		low += step;
	high = low + step < high ? low + step : high;
	return LOWER_BOUND(i, low, high, chunks->run.at[i].address <= address) - 1;
}

void heap_chunks_seek(const struct heap_chunks *chunks, struct chunk_at *at, uint64_t address)
{
	bool known = at->run < chunks->run.nr && chunks->run.at[at->run].address <= address;
	size_t run = run_of(chunks, address, known ? at->run : 0);

	if (run == SIZE_MAX) {
		*at = heap_chunks_start();
		return;
	}
	if ((!known || run != at->run || at->address > address) &&
	    !heap_chunk_at_run(chunks, at, run))
		return;
	while (at->code < at->end && at->address < address) {
		const uint16_t *code = &chunks->code.at[at->code];
		bool is_long = *code >> CODE_SIZE_SHIFT == CODE_LONG;

		at->address += is_long ? chunk_long_size(code) :
					 (uint64_t)(*code >> CODE_SIZE_SHIFT) * CODE_UNIT;
		at->code += is_long ? 5 : 1;
	}
}

bool heap_chunks_find(const struct heap_chunks *chunks, struct chunk_at *at, uint64_t address,
		      struct heap_chunk *ret)
{
	heap_chunks_seek(chunks, at, address);
	return at->address == address && heap_chunks_next(chunks, at, ret) &&
	       ret->address == address;
}

void heap_chunks_set_kind(struct heap_chunks *chunks, const struct chunk_at *at,
			  enum chunk_kind kind)
{
	uint16_t *code = &chunks->code.at[at->last];

	*code = (uint16_t)((*code & ~KIND_BITS) | kind);
}

void heap_chunks_set_note(struct heap_chunks *chunks, const struct chunk_at *at,
			  enum chunk_note note)
{
	uint16_t *code = &chunks->code.at[at->last];

	*code = (uint16_t)((*code & ~NOTE_BITS) | note << NOTE_SHIFT);
}

unsigned heap_chunks_noted(const struct heap_chunks *chunks, const struct chunk_at *at,
			   enum chunk_note note)
{
	struct chunk_at before = *at;
	struct heap_chunk chunk;
	unsigned nr = 0;

	if (!heap_chunk_at_run(chunks, &before, at->run))
		return 0;
	while (before.code < at->last && heap_chunks_next(chunks, &before, &chunk))
		nr += chunk.note == note;
	return nr;
}

bool heap_chunk_at(const struct heap_chunks *chunks, uint64_t address, struct heap_chunk *ret,
		   struct chunk_at *at_ret)
{
	struct chunk_at at = heap_chunks_start();
	struct heap_chunk chunk;

	if (!heap_chunks_find(chunks, &at, address, &chunk))
		return false;
	*ret = chunk;
	if (at_ret)
		*at_ret = at;
	return true;
}

bool heap_chunk_around(const struct heap_chunks *chunks, uint64_t address, struct heap_chunk *ret)
{
	struct chunk_at at = heap_chunks_start();
	size_t run = run_of(chunks, address + 8, 0);
	struct heap_chunk chunk;
	bool found = false;

	/* A bare run that begins behind address does not hold it. */
	if (run != SIZE_MAX && chunks->run.at[run].bare && chunks->run.at[run].address > address)
		run--;
	if (run == SIZE_MAX || !heap_chunk_at_run(chunks, &at, run))
		return false;
	while (at.code < at.end && at.address <= address + (at.bare ? 0 : 8) &&
	       heap_chunks_next(chunks, &at, &chunk)) {
		*ret = chunk;
		found = true;
	}
	return found && address - (ret->address - (ret->bare ? 0 : 8)) < ret->size;
}

const char *heap_chunk_kind(enum chunk_kind kind)
{
	static const char *const kinds[CHUNK_KINDS] = {
		[CHUNK_USED] = "used", [CHUNK_MMAPPED] = "mapped", [CHUNK_OWN] = "allocator",
		[CHUNK_CACHED] = "tcache", [CHUNK_FAST] = "fastbin", [CHUNK_FREE] = "bin",
		[CHUNK_TOP] = "top", [CHUNK_KEPT] = "kept",
	};

	return kinds[kind];
}
