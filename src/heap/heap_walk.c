/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What all walks share: the end of one, and two that become one. */

#include "heap/heap_walk.h"

#include <stdio.h>

#include "base/compiler.h"
#include "log/log.h"

void heap_walk_free(struct heap_walk *walk)
{
	heap_chunks_free(&walk->chunks);
	vec_free(&walk->arenas);
	vec_free(&walk->spans);
	vec_free(&walk->damage);
	vec_free(&walk->loose);
	vec_free(&walk->lists);
}

struct err *heap_walk_damage(struct heap_walk *walk, struct heap_damage damage, const char *fmt,
			     va_list ap)
{
	if (damage.heap < walk->arenas.nr) {
		walk->arenas.at[damage.heap].whole = false;
		walk->arenas.at[damage.heap].damaged |= !damage.doubt.why;
	}
	if (damage.doubt.why)
		walk->uncertain++;
	else
		walk->damages++;
	if (walk->damage.nr == HEAP_DAMAGE_MAX)
		return NULL;
	vsnprintf(damage.what, sizeof(damage.what), fmt, ap);
	return vec_push(&walk->damage, damage);
}

void heap_walk_add_up(struct heap_walk *walk)
{
	struct chunk_at at = heap_chunks_start();
	struct heap_chunk chunk;

	while (heap_chunks_next(&walk->chunks, &at, &chunk)) {
		struct heap_arena *arena;

		if (chunk.note)
			heap_chunks_set_note(&walk->chunks, &at, NOTE_NONE);
		if (chunk.heap >= walk->arenas.nr)
			continue;
		arena = &walk->arenas.at[chunk.heap];
		arena->bytes[chunk.kind] += chunk.size;
		arena->chunks[chunk.kind]++;
		if (chunk.kind >= CHUNK_FAST && chunk.size > arena->largest_free)
			arena->largest_free = chunk.size;
	}
}

COMPARE_BY(by_start, struct heap_span, x, x->start)

/* Does a span of one lie in one of the other? Both are in order. */
static bool overlap(const struct heap_walk *walk, const struct heap_walk *other)
{
	size_t i = 0, j = 0;

	while (i < walk->spans.nr && j < other->spans.nr) {
		const struct heap_span *a = &walk->spans.at[i], *b = &other->spans.at[j];

		if (a->start < b->end && b->start < a->end)
			return true;
		if (a->end <= b->start)
			i++;
		else
			j++;
	}
	return false;
}

static uint16_t number_of(uint16_t heap, uint16_t first)
{
	return heap < HEAPS_MAX ? (uint16_t)(heap + first) : heap;
}

static struct err *add_lists(struct heap_walk *walk, const struct heap_walk *other, uint16_t first)
{
	struct err *err = NULL;

	vec_each_while(arena, &other->arenas, !err)
		err = vec_push(&walk->arenas, *arena);
	vec_each_while(span, &other->spans, !err)
		err = vec_push(&walk->spans,
			       ((struct heap_span){ span->start, span->end,
						    number_of(span->heap, first) }));
	vec_each_while(damage, &other->damage, !err) {
		if (walk->damage.nr == HEAP_DAMAGE_MAX)
			break;
		err = vec_push(&walk->damage, *damage);
		if (!err)
			walk->damage.at[walk->damage.nr - 1].heap = number_of(damage->heap, first);
	}
	vec_each_while(word, &other->loose, !err)
		err = vec_push(&walk->loose, *word);
	vec_each_while(lists, &other->lists, !err) {
		err = vec_push(&walk->lists, *lists);
		if (!err)
			walk->lists.at[walk->lists.nr - 1].heap = number_of(lists->heap, first);
	}
	vec_sort(&walk->spans, by_start);
	return err;
}

struct err *heap_walk_join(struct heap_walk *walk, struct heap_walk *other)
{
	uint16_t first = (uint16_t)walk->arenas.nr;
	struct err *err = NULL;

	if (overlap(walk, other))
		err = err_create(ERR_FORMAT, "two allocators seem to have the same memory");
	else if (walk->arenas.nr + other->arenas.nr > HEAPS_MAX)
		err = err_create(ERR_RANGE, "more than %u heaps", HEAPS_MAX);
	vec_each(run, &other->chunks.run)
		run->heap = number_of(run->heap, first);
	if (!err)
		err = heap_chunks_join(&walk->chunks, &other->chunks);
	if (!err)
		err = add_lists(walk, other, first);
	walk->damages += other->damages;
	walk->uncertain += other->uncertain;
	walk->mmapped += other->mmapped;
	walk->mmapped_bytes += other->mmapped_bytes;
	walk->mmapped_certain &= other->mmapped_certain;
	walk->caches_known &= other->caches_known;
	walk->unknown_libcs |= other->unknown_libcs;
	heap_walk_free(other);
	return err;
}
