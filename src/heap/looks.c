/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Blocks that are in no record, over several looks (theory in looks.h). */

#include "heap/looks.h"

#include "heap/block.h"
#include "heap/walk.h"
#include "log/log.h"

void looks_free(struct looks *looks)
{
	vec_free(&looks->sure.vec);
	vec_free(&looks->seen.vec);
}

void looks_drop_freed(struct looks *looks, const struct log *log, bool complete)
{
	uint64_t before = looks->unknown_frees;
	struct log_accounts accounts;

	if (log) {
		accounts = log_accounts_get(log);
		/* What looks like the allocator's own may be a key's destructor: log/stray.h. */
		looks->unknown_frees = accounts.unknown_frees + accounts.own_frees;
	}
	if (looks->unknown_frees != before || !complete)
		vec_clear(&looks->sure.vec);
}

/* Not only those of the last look, which may have been torn, and have overlooked some. */
static struct err *keep_sure(struct looks *looks, const struct heap_walk *walk)
{
	struct chunk_at at = heap_chunks_start();
	size_t had = looks->sure.vec.nr;
	struct heap_chunk chunk;
	struct err *err = NULL;

	while (!err && heap_chunks_next(&walk->chunks, &at, &chunk))
		if (chunk.note == NOTE_EARLY && !word_list_has(&looks->sure, had, chunk.address))
			err = vec_push(&looks->sure.vec, chunk.address);
	if (looks->sure.vec.nr > had)
		word_list_sort(&looks->sure);
	return err;
}

struct cursor {
	struct chunk_at chunk;
	size_t left_out;
};

/* The next block of this look, by address, that no record knows, listed or left out; 0: no more. */
static uint64_t next_block(const struct heap_walk *walk, const struct addresses *left_out,
			   struct cursor *at)
{
	struct chunk_at next = at->chunk;
	uint64_t listed = UINT64_MAX, other = UINT64_MAX;
	struct heap_chunk chunk;

	while (listed == UINT64_MAX && heap_chunks_next(&walk->chunks, &next, &chunk)) {
		if (chunk.note == NOTE_EARLY)
			listed = chunk.address;
		else
			at->chunk = next;
	}
	if (at->left_out < left_out->vec.nr)
		other = left_out->vec.at[at->left_out];
	if (listed == UINT64_MAX && other == UINT64_MAX)
		return 0;
	if (listed < other)
		at->chunk = next;
	else
		at->left_out++;
	return MIN(listed, other);
}

/* A look at a heap that was torn, where a block may have been overlooked, says nothing. */
static struct err *keep_seen(struct looks *looks, const struct heap_walk *walk,
			     const struct addresses *left_out)
{
	struct word_list *seen = &looks->seen;
	size_t had = seen->vec.nr, kept = 0, i = 0;
	struct cursor at = { heap_chunks_start(), 0 };
	struct err *err = NULL;
	uint64_t address;

	if (walk->damages)
		return NULL;
	while (!err && (address = next_block(walk, left_out, &at))) {
		if (!looks->any) {
			err = vec_push(&seen->vec, address);
			continue;
		}
		while (i < had && seen->vec.at[i] < address)
			i++;
		if (i < had && seen->vec.at[i] == address)
			seen->vec.at[kept++] = address;
	}
	if (looks->any)
		seen->vec.nr = kept;
	looks->any = true;
	return err;
}

struct err *looks_keep(struct looks *looks, const struct heap_walk *walk,
		       const struct addresses *left_out)
{
	struct err *err = keep_sure(looks, walk);

	return err ? err : keep_seen(looks, walk, left_out);
}

uint64_t looks_unsure(const struct looks *looks, const struct addresses *left_out)
{
	uint64_t nr = 0;

	for (size_t i = 0; i < left_out->vec.nr; i++)
		nr += !looks->any ||
		      word_list_has(&looks->seen, looks->seen.vec.nr, left_out->vec.at[i]);
	return nr;
}
