/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Walks the chunks of glibc's heaps by their sizes. */

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/page.h"
#include "heap/glibc/glibc.h"
#include "log/log.h"

#define WINDOW_LEAST	4096u		/* bytes, if it is not known that all will be used */
#define LEAD_STEPS	(1u << 26)	/* chunks that are looked at to find beginnings ... */
#define LEAD_RUNNING	(1u << 22)	/* ... and while the target runs */

bool glibc_walk_word(struct glibc *glibc, uint64_t address, uint64_t *ret)
{
	struct window *window = &glibc->window;
	uint64_t offset = address - window->start;

	if (address >= ADDRESS_END)
		return false;
	if (address < window->start || window->len < 8 || offset > window->len - 8) {
		/* a window that continues the last one is large */
		bool goes_on = address >= window->start && offset < 2 * WINDOW_BYTES;

		window->start = address & ~15ull;
		window->len = 0;
		if (memory_read_some(window->memory, window->start, window->bytes,
				     goes_on ? WINDOW_BYTES : WINDOW_LEAST, &window->len))
			return false;
		offset = address - window->start;
		if (window->len < 8 || offset > window->len - 8)
			return false;
	}
	memcpy(ret, window->bytes + offset, sizeof(*ret));
	return true;
}

bool glibc_walk_peek(const struct glibc *glibc, uint64_t address, uint64_t *ret)
{
	return address < ADDRESS_END && !memory_read_u64(glibc->source->memory, address, ret);
}

struct err *glibc_walk_damage(struct glibc *glibc, struct heap_damage damage, const char *fmt, ...)
{
	struct err *err;
	va_list ap;

	if (!damage.doubt.why)
		damage.doubt = glibc_doubt_heap(glibc, damage.heap);
	va_start(ap, fmt);
	err = heap_walk_damage(glibc->walk, damage, fmt, ap);
	va_end(ap);
	return err;
}

/* The state of the walk of one span. */
struct at {
	const struct heap_span *span;
	uint64_t chunk, top;	/* top: that of the arena, if it is in this span; else 0 */
	uint64_t word, size;	/* of the current chunk */
	uint64_t link;		/* the word behind it, which may be a link */
	uint64_t before;	/* block of the last good chunk; 0: none */
};

static bool fits(const struct at *at)
{
	return at->size >= CHUNK_LEAST && at->size % CHUNK_HEADER == 0 &&
	       !(at->word & IS_MMAPPED) && at->size <= at->span->end - at->chunk &&
	       !(at->top && at->chunk + at->size > at->top && at->chunk < at->top);
}

static bool leads_to_heap(const struct glibc *glibc, const struct heap_span *near, uint64_t word)
{
	const struct heap_walk *walk = glibc->walk;
	size_t low;

	if (!word || word % CHUNK_HEADER)
		return false;
	if (word >= near->start && word < near->end)
		return true;
	low = LOWER_BOUND(i, 0, walk->spans.nr, walk->spans.at[i].end <= word);
	return low < walk->spans.nr && word >= walk->spans.at[low].start;
}

/* The link may be plain, or masked by safe-linking. */
static bool may_be_link(const struct glibc *glibc, const struct at *at)
{
	uint64_t place = at->chunk + CHUNK_HEADER;

	return glibc->links.nr < LINKS_MOST &&
	       (leads_to_heap(glibc, at->span, at->link) ||
		leads_to_heap(glibc, at->span, at->link ^ place >> 12));
}

static struct err *add_chunk(struct glibc *glibc, struct at *at, enum chunk_kind kind)
{
	bool linked = kind == CHUNK_USED && at->link && may_be_link(glibc, at), new_run;
	struct heap_chunk chunk = {
		.address = at->chunk + CHUNK_HEADER,
		.heap = at->span->heap,
		.size = at->size,
		.kind = kind,
		.note = linked ? NOTE_LINKED : NOTE_NONE,
	};
	uint64_t most = glibc->source->most_chunks;
	struct err *err;

	if (most && glibc->walk->chunks.nr >= most)
		return err_create(ERR_RANGE, "more than %" PRIu64 " chunks", most);
	err = heap_chunks_add(&glibc->walk->chunks, &chunk, &new_run);
	if (!err && new_run)
		err = vec_push(&glibc->run_links, (uint32_t)glibc->links.nr);
	if (!err && linked)
		err = vec_push(&glibc->links, at->link);
	at->before = at->chunk + CHUNK_HEADER;
	return err;
}

/*
 * The end of a heap that is no longer its arena's last: a header of size 0, mostly behind a chunk
 * of 16 bytes, or in a chunk of 32 (sysmalloc).
 */
static bool is_heap_end(struct glibc *glibc, const struct at *at)
{
	uint64_t left = at->span->end - at->chunk, next;

	if (at->top || glibc_is_main(glibc, at->span->heap))
		return false;
	if (left == 16)
		return !at->size;
	return (at->size == 16 || at->size == 32) && left == at->size + 16 &&
		glibc_walk_word(glibc, at->chunk + at->size + 8, &next) && !(next & ~SIZE_FLAGS);
}

/*
 * Two chunks of 16 bytes mean that other code has called sbrk, and the heap continues behind its
 * part; or that the heap continues in a mapping.
 */
static bool is_gap(struct glibc *glibc, uint64_t chunk, uint64_t size)
{
	uint64_t next;

	return size == 16 && glibc_walk_word(glibc, chunk + 16 + 8, &next) &&
	       (next & ~SIZE_FLAGS) == 16;
}

/* Do sizes lead to goal, or if gaps is set to a gap before it? */
static bool leads_to(struct glibc *glibc, uint64_t at, uint64_t goal, bool gaps)
{
	uint64_t word, size;

	for (unsigned i = 0; at < goal && glibc->led < (glibc->running ? LEAD_RUNNING : LEAD_STEPS);
	     i++) {
		glibc->led++;
		if (!glibc_walk_word(glibc, at + 8, &word))
			return false;
		size = word & ~SIZE_FLAGS;
		if (i && gaps && is_gap(glibc, at, size))
			return true;
		if (size < CHUNK_LEAST || size % CHUNK_HEADER || size > goal - at ||
		    word & (IS_MMAPPED | NON_MAIN_ARENA) || (!i && !(word & PREV_INUSE)))
			return false;
		at += size;
	}
	return at == goal;
}

bool glibc_walk_leads_to(struct glibc *glibc, uint64_t at, uint64_t goal)
{
	return leads_to(glibc, at, goal, false);
}

/*
 * Returns where the main heap continues behind a gap; the span's end if that is not found. A span
 * without top ends with a gap.
 */
static uint64_t behind_gap(struct glibc *glibc, const struct at *at)
{
	const uint64_t goal = at->top ? at->top : at->span->end;

	for (uint64_t next = at->chunk + 32; next < goal; next += CHUNK_HEADER)
		if (leads_to(glibc, next, goal, true))
			return next;
	return goal;
}

/*
 * Returns the first block that is known to be in use, behind the place where the walk cannot
 * continue.
 */
static uint64_t next_known(const struct glibc *glibc, uint64_t chunk, uint64_t end)
{
	const struct heap_source *source = glibc->source;
	uint64_t known = source->known_from ?
		source->known_from(source->ctx, chunk + CHUNK_HEADER + 1) : UINT64_MAX;

	if (known % CHUNK_HEADER || known - CHUNK_HEADER >= end)
		return end;
	return known - CHUNK_HEADER;
}

/* There is no chunk here, or none follows: note that, and continue where a chunk is known to be. */
static struct err *step_over(struct glibc *glibc, struct at *at)
{
	uint64_t goal = at->top > at->chunk ? at->top : at->span->end;
	uint64_t next = next_known(glibc, at->chunk, goal);
	struct err *err;

	err = glibc_walk_damage(glibc, (struct heap_damage){
				.heap = at->span->heap, .address = at->chunk + 8,
				.before = at->before,
				.after = next < at->span->end ? next + CHUNK_HEADER : 0 },
				fits(at) ?
				"what follows this chunk cannot be read: size 0x%" PRIx64 :
				      "this is no chunk header: size 0x%" PRIx64,
				at->word);
	at->chunk = next;
	return err;
}

/* A free chunk also has its size at its end, and there is no free one beside it. */
static struct err *check_free(struct glibc *glibc, const struct at *at)
{
	uint64_t foot;

	if (!glibc_walk_word(glibc, at->chunk + at->size, &foot) || foot == at->size)
		return NULL;
	return glibc_walk_damage(glibc, (struct heap_damage){
				.heap = at->span->heap, .address = at->chunk + at->size,
				.before = at->chunk + CHUNK_HEADER,
				.after = at->chunk + at->size + CHUNK_HEADER },
				 "free chunk of 0x%" PRIx64 " bytes ends with size 0x%" PRIx64,
				 at->size, foot);
}

static struct err *take_top(struct glibc *glibc, struct at *at)
{
	uint64_t size = at->span->end - at->chunk;
	struct err *err = NULL;

	/* At the end there may be only a part of a chunk's header. */
	if (at->size != size)
		err = glibc_walk_damage(glibc, (struct heap_damage){ .heap = at->span->heap,
				   .address = at->chunk + 8, .before = at->before },
					"the top chunk has a wrong size: 0x%" PRIx64, at->word);
	at->size = size;
	if (!err && size >= CHUNK_HEADER)
		err = add_chunk(glibc, at, CHUNK_TOP);
	at->chunk = at->span->end;
	return err;
}

/* Read one chunk, and move to the next. */
static struct err *step(struct glibc *glibc, struct at *at)
{
	enum chunk_kind kind;
	struct err *err;
	uint64_t next;

	if (at->top && at->chunk == at->top)
		return take_top(glibc, at);
	if (is_heap_end(glibc, at)) {
		at->chunk = at->span->end;
		return NULL;
	}
	if (glibc_is_main(glibc, at->span->heap) && is_gap(glibc, at->chunk, at->size)) {
		at->chunk = behind_gap(glibc, at);
		return NULL;
	}
	if (!fits(at) || !glibc_walk_word(glibc, at->chunk + at->size + 8, &next))
		return step_over(glibc, at);
	/* A free chunk beside the top chunk would have become part of it. */
	kind = next & PREV_INUSE || at->chunk + at->size == at->top ? CHUNK_USED : CHUNK_FREE;
	err = add_chunk(glibc, at, kind);
	if (!err && kind == CHUNK_FREE)
		err = check_free(glibc, at);
	at->chunk += at->size;
	return err;
}

static struct err *walk_span(struct glibc *glibc, const struct heap_span *span)
{
	uint64_t top = glibc->walk->arenas.at[span->heap].top;
	struct at at = { .span = span, .chunk = span->start };
	struct err *err = NULL;

	if (top >= span->start && top < span->end)
		at.top = top;
	while (!err && at.chunk < span->end) {
		if (span->end - at.chunk < CHUNK_HEADER ||
		    !glibc_walk_word(glibc, at.chunk + 8, &at.word)) {
			return glibc_walk_damage(glibc, (struct heap_damage){
						.heap = span->heap, .address = at.chunk,
						.before = at.before },
						 "the rest of this heap cannot be read");
		}
		at.size = at.word & ~SIZE_FLAGS;
		at.link = 0;
		/* It is read before the next chunk's header, so that addresses only go up. */
		if (at.size <= LISTED_MOST && !glibc_walk_word(glibc, at.chunk + CHUNK_HEADER,
							       &at.link))
			at.link = 0;
		err = step(glibc, &at);
	}
	return err;
}

COMPARE_BY(by_start, struct heap_span, x, x->start)

static struct err *walk_spans(struct glibc *glibc)
{
	struct heap_walk *walk = glibc->walk;
	struct err *err = NULL;

	vec_sort(&walk->spans, by_start);
	for (size_t i = 0; i < walk->spans.nr && !err; i++) {
		const struct heap_span *span = &walk->spans.at[i];
		struct at at = { .span = span, .chunk = span->start,
				 .size = span->end - span->start };

		/* A mapping's chunk that ends before its mapping is as long as any other. */
		err = span->heap != LOG_HEAP_MMAP ? walk_span(glibc, span) :
		      add_chunk(glibc, &at, span->end % PAGE ? CHUNK_USED : CHUNK_MMAPPED);
	}
	return err;
}

struct err *glibc_walk(const struct heap_source *source, struct heap_walk *ret)
{
	struct heap_walk walk = HEAP_WALK_INIT;
	struct glibc glibc = { .source = source, .walk = &walk };
	struct err *err;

	glibc.window.memory = source->memory;
	glibc.window.bytes = malloc(WINDOW_BYTES);
	if (!glibc.window.bytes)
		return err_nomem;
	err = glibc_layout_arenas(&glibc);
	for (size_t i = 0; i < walk.arenas.nr; i++)
		walk.arenas.at[i].whole = true;
	glibc_doubt_arenas(&glibc);
	if (!err)
		err = glibc_layout_spans(&glibc);
	if (!err)
		err = glibc_mapped_find(&glibc);
	if (!err)
		err = walk_spans(&glibc);
	if (!err)
		err = glibc_lists_mark(&glibc);
	if (!err && source->check)
		err = glibc_bins_check(&glibc);
	if (!err && source->lists)
		err = glibc_bins_add_up(&glibc);
	if (!err)
		heap_walk_add_up(&walk);
	free(glibc.window.bytes);
	vec_free(&glibc.links);
	vec_free(&glibc.run_links);
	if (err)
		heap_walk_free(&walk);
	else
		*ret = walk;
	return err;
}
