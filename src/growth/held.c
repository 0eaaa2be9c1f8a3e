/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The pieces of held.h. */

#include "growth/held.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"

/* The place of a piece; at the end of all, chunk is the number of chunks. */
struct place {
	size_t chunk;
	uint32_t at;
};

void held_clear(struct held *held)
{
	vec_each_value(chunk, &held->chunks)
		free(chunk);
	vec_free(&held->chunks);
	*held = (struct held)HELD_INIT;
}

static struct held_piece *piece_at(const struct held *held, struct place place)
{
	return place.chunk < held->chunks.nr ?
	       &held->chunks.at[place.chunk]->piece[place.at] : NULL;
}

/* The first piece that ends behind address. */
static struct place find(const struct held *held, uint64_t address)
{
	size_t low = 0, high = held->chunks.nr;
	struct place place = { 0, 0 };

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct held_chunk *chunk = held->chunks.at[middle];

		if (chunk->piece[chunk->nr - 1].end > address)
			high = middle;
		else
			low = middle + 1;
	}
	place.chunk = low;
	if (low < held->chunks.nr)
		while (held->chunks.at[low]->piece[place.at].end <= address)
			place.at++;
	return place;
}

static void step(const struct held *held, struct place *place)
{
	if (++place->at == held->chunks.at[place->chunk]->nr)
		*place = (struct place){ place->chunk + 1, 0 };
}

static void drop(struct held *held, struct place place)
{
	struct held_chunk *chunk = held->chunks.at[place.chunk];
	struct held_piece *piece = &chunk->piece[place.at];

	held->bytes[piece->kind] -= piece->end - piece->start;
	held->nr--;
	chunk->nr--;
	memmove(piece, piece + 1, (chunk->nr - place.at) * sizeof(*piece));
	if (chunk->nr)
		return;
	free(chunk);
	vec_remove(&held->chunks, place.chunk);
}

/* Make a second chunk of the upper half of a full one. */
static struct err *split(struct held *held, size_t index)
{
	struct held_chunk *chunk = held->chunks.at[index], *new;
	struct err *err = vec_reserve(&held->chunks, 1);

	if (err)
		return err;
	new = malloc(sizeof(*new));
	if (!new)
		return err_nomem;
	new->nr = chunk->nr - chunk->nr / 2;
	chunk->nr /= 2;
	memcpy(new->piece, chunk->piece + chunk->nr, new->nr * sizeof(new->piece[0]));
	memmove(&held->chunks.at[index + 2], &held->chunks.at[index + 1],
		(held->chunks.nr - index - 1) * sizeof(held->chunks.at[0]));
	held->chunks.at[index + 1] = new;
	held->chunks.nr++;
	return NULL;
}

static struct err *first_chunk(struct held *held)
{
	struct held_chunk *chunk = malloc(sizeof(*chunk));
	struct err *err;

	if (!chunk)
		return err_nomem;
	chunk->nr = 0;
	err = vec_push(&held->chunks, chunk);
	if (err)
		free(chunk);
	return err;
}

/* Put in a piece that overlaps none. */
static struct err *put(struct held *held, const struct held_piece *piece)
{
	struct place place = find(held, piece->start);
	struct held_chunk *chunk;
	struct err *err = NULL;

	if (held->nr >= HELD_MAX)
		return err_create(ERR_RANGE, "growth: more than %u mappings", HELD_MAX);
	if (!held->chunks.nr)
		err = first_chunk(held);
	else if (place.chunk == held->chunks.nr)
		place = (struct place){ place.chunk - 1, held->chunks.at[place.chunk - 1]->nr };
	if (!err && held->chunks.at[place.chunk]->nr == HELD_CHUNK)
		err = split(held, place.chunk);
	if (err)
		return err;
	chunk = held->chunks.at[place.chunk];
	if (place.at > chunk->nr) {
		place.at -= chunk->nr;
		chunk = held->chunks.at[place.chunk + 1];
	}
	memmove(&chunk->piece[place.at + 1], &chunk->piece[place.at],
		(chunk->nr - place.at) * sizeof(*piece));
	chunk->piece[place.at] = *piece;
	chunk->nr++;
	held->nr++;
	held->bytes[piece->kind] += piece->end - piece->start;
	return NULL;
}

/* Cut [start, end), which is in it, out of a piece. */
static struct err *cut(struct held *held, struct place place, uint64_t start, uint64_t end)
{
	struct held_piece *piece = piece_at(held, place), rest = *piece;

	if (start == piece->start && end == piece->end) {
		drop(held, place);
		return NULL;
	}
	if (start > piece->start && end < piece->end) {
		rest.start = end;
		held->bytes[piece->kind] -= piece->end - start;
		piece->end = start;
		return put(held, &rest);
	}
	held->bytes[piece->kind] -= end - start;
	if (start == piece->start)
		piece->start = end;
	else
		piece->end = start;
	return NULL;
}

struct err *held_remove(struct held *held, uint64_t start, uint64_t end, uint64_t before,
			struct held_pieces *taken)
{
	struct err *err = NULL;

	while (!err && start < end) {
		struct place place = find(held, start);
		struct held_piece *piece = piece_at(held, place), part;

		while (piece && piece->start < end && piece->since >= before) {
			step(held, &place);
			piece = piece_at(held, place);
		}
		if (!piece || piece->start >= end)
			break;
		part = *piece;
		part.start = MAX(part.start, start);
		part.end = MIN(part.end, end);
		start = part.end;
		if (taken)
			err = vec_push(&taken->vec, part);
		if (!err)
			err = cut(held, place, part.start, part.end);
	}
	return err;
}

/* Put a piece into the gaps between those that are there. */
struct err *held_insert(struct held *held, const struct held_piece *piece)
{
	struct held_piece part = *piece;
	struct err *err = held_remove(held, piece->start, piece->end, piece->since, NULL);

	while (!err && part.start < piece->end) {
		const struct held_piece *next = piece_at(held, find(held, part.start));
		uint64_t behind = piece->end;

		part.end = piece->end;
		if (next && next->start < piece->end) {
			part.end = MAX(next->start, part.start);
			behind = next->end;
		}
		if (part.start < part.end)
			err = put(held, &part);
		part.start = behind;
	}
	return err;
}
