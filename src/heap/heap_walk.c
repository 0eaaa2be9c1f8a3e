/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What all walks share: the end of one, and two that become one. */

#include "heap/heap_walk.h"

#include "base/compiler.h"
#include "log/log.h"

void heap_walk_free(struct heap_walk *walk)
{
	heap_chunks_free(&walk->chunks);
	vec_free(&walk->arenas);
	vec_free(&walk->spans);
	vec_free(&walk->damage);
	vec_free(&walk->loose);
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
