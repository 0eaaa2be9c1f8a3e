/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Adds up the free memory of slabs (free_slabs.h): one pass over the chunks, a span at a time. */

#include "heap/free_slabs.h"

#include "base/page.h"
#include "os/page_runs.h"

/* A span and what is in it. */
struct slab {
	const struct heap_span *span;
	uint64_t open;			/* resident bytes of its free chunks, ... */
	bool cached, gone;		/* has it such blocks? */
	VEC(struct heap_chunk) live;
};

struct slabs {
	const struct free_space_source *source;
	struct free_space *ret;
	size_t span;			/* the next one of the walk */
	size_t at_run;
	struct slab slab;
};

static struct err *end_slab(struct slabs *slabs)
{
	struct slab *slab = &slabs->slab;
	struct free_sum *sum = slab->span ? &slabs->ret->arenas.at[slab->span->heap] : NULL;
	const struct pinned_page page = {
		.address = slab->span ? slab->span->start : 0, .bytes = slab->open,
		.pages = slab->span ? (slab->span->end - slab->span->start + PAGE - 1) / PAGE : 0,
		.live = slab->live.at, .nr_live = slab->live.nr,
	};

	if (!slab->open)
		return NULL;
	sum->kept[page.nr_live ? FREE_PINNED : slab->cached ? FREE_CACHED :
		  slab->gone ? FREE_TRIMMED : FREE_HEADER] += page.bytes;
	if (!page.nr_live)
		return NULL;
	sum->pinned_pages += page.pages;
	return slabs->source->pinned ? slabs->source->pinned(slabs->source->ctx, &page) : NULL;
}

/* Both the spans and the chunks are in order. A chunk in no span is in a slab of its own. */
static struct err *turn_to(struct slabs *slabs, const struct heap_chunk *chunk)
{
	const struct heap_walk *walk = slabs->source->walk;
	struct slab *slab = &slabs->slab;
	struct err *err;

	if (slab->span && chunk->address < slab->span->end)
		return NULL;
	err = end_slab(slabs);
	while (slabs->span < walk->spans.nr && walk->spans.at[slabs->span].end <= chunk->address)
		slabs->span++;
	slab->span = slabs->span < walk->spans.nr ? &walk->spans.at[slabs->span] : NULL;
	slab->open = 0;
	slab->cached = slab->gone = false;
	vec_clear(&slab->live);
	return err;
}

static struct err *add_chunk(struct slabs *slabs, const struct heap_chunk *chunk)
{
	const struct free_space_source *source = slabs->source;
	struct free_sum *sum = &slabs->ret->arenas.at[chunk->heap];
	uint64_t bytes = page_runs_between(source->pages, &slabs->at_run, chunk->address,
					   chunk->address + chunk->size).resident;
	bool gone = chunk_held(chunk) && source->gone && source->gone(source->ctx, chunk);

	if (chunk_held(chunk) && !gone)
		return vec_push(&slabs->slab.live, *chunk);
	slabs->slab.gone |= gone;
	if (chunk->kind == CHUNK_CACHED) {
		slabs->slab.cached = true;
		sum->cached += chunk->size;
		sum->cached_resident += bytes;
	} else if (chunk->kind != CHUNK_OWN) {
		sum->bytes += chunk->size;
		if (chunk->kind == CHUNK_KEPT)
			sum->kept[FREE_TRIMMED] += bytes;
		else
			slabs->slab.open += bytes;
	}
	return NULL;
}

struct err *free_slabs_add_up(const struct free_space_source *source, struct free_space *ret)
{
	struct slabs slabs = { .source = source, .ret = ret };
	struct chunk_at at = heap_chunks_start();
	struct heap_chunk chunk;
	struct err *err = NULL;

	while (!err && heap_chunks_next(&source->walk->chunks, &at, &chunk)) {
		if (!chunk.bare || chunk.heap >= source->walk->arenas.nr)
			continue;
		err = turn_to(&slabs, &chunk);
		if (!err)
			err = add_chunk(&slabs, &chunk);
	}
	if (!err)
		err = end_slab(&slabs);
	vec_free(&slabs.slab.live);
	return err;
}
