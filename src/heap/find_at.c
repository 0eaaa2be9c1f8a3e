/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds the block or chunk at an address. */

#include "heap/find_at.h"

#include "heap/heap_walk.h"

/* The last block that begins at or before an address, of the process that was walked. */
struct nearest {
	uint64_t address;
	uint8_t process;
	bool exact;		/* it begins at the address, not before */
	struct block block;	/* if found */
	bool found;
};

static struct err *take_nearer(const struct block *block, uint64_t slot UNUSED, void *ctx)
{
	struct nearest *nearest = ctx;
	uint64_t least = nearest->exact ? nearest->address :
			 nearest->found ? nearest->block.address : 0;

	if (block->process != nearest->process || block->heap == LOG_HEAP_USER ||
	    block->address > nearest->address || block->address < least)
		return NULL;
	nearest->block = *block;
	nearest->found = true;
	return NULL;
}

static struct err *find_nearest(const struct find_source *source, struct nearest *nearest)
{
	uint64_t key = nearest->address | (uint64_t)source->process << LOG_PROCESS_SHIFT;
	struct log_record record;

	if (!source->log)
		return NULL;
	if (log_record_lookup(source->log, key, &record)) {
		nearest->block = block_of_record(&record);
		nearest->found = true;
		return NULL;
	}
	return blocks_each(source->log, source->in_hand, take_nearer, nearest);
}

/*
 * If the walk has a chunk at the address, its note decides whether there is a block. The size is
 * the one that the program asked for.
 */
static struct err *find_block(const struct find_source *source, const struct heap_chunk *chunk,
			      struct nearest *nearest)
{
	struct err *err;

	if (chunk && chunk->note == NOTE_EARLY) {
		nearest->block = block_of_chunk(chunk, source->process, source->complete);
		nearest->found = true;
		return NULL;
	}
	if (chunk && chunk->note != NOTE_RECORDED)
		return NULL;
	err = find_nearest(source, nearest);
	if (!err && nearest->found && chunk)
		nearest->block.heap = chunk->heap;
	return err;
}

static bool find_freed_at(const struct find_source *source, uint64_t address,
			  struct found_at *ret)
{
	uint64_t key = address | (uint64_t)source->process << LOG_PROCESS_SHIFT;
	struct log_record was;

	if (!log_record_retired(source->log, key, &was) ||
	    !free_history_first(source->log, key, was.time, &ret->freed))
		return false;
	ret->was = block_of_record(&was);
	return true;
}

struct err *find_at(const struct find_source *source, uint64_t address, struct found_at *ret)
{
	bool chunked = source->walk &&
		       heap_chunk_around(&source->walk->chunks, address, &ret->chunk);
	struct nearest nearest = { .address = chunked ? ret->chunk.address : address,
				   .process = source->process, .exact = chunked };
	struct err *err = find_block(source, chunked ? &ret->chunk : NULL, &nearest);

	if (err)
		return err;
	ret->what = chunked ? FOUND_CHUNK : FOUND_NOTHING;
	if (nearest.found && (chunked ? address >= ret->chunk.address :
			      address - nearest.block.address < MAX(nearest.block.size, 1ull))) {
		ret->what = FOUND_BLOCK;
		ret->block = nearest.block;
	}
	if (!source->log || ret->what == FOUND_BLOCK ||
	    (!find_freed_at(source, address, ret) &&
	     !(chunked && find_freed_at(source, ret->chunk.address, ret))))
		ret->freed.time = 0;
	return NULL;
}
