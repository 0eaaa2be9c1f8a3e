/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How much of glibc's heaps is free, while the target runs (heap_walk.h).
 *
 * Only the lists of free chunks are read, not the heap: the chunks of the bins of each arena, and
 * its top. The target changes them meanwhile, so each chunk must point back to the one before it,
 * lie in the arena's memory and have a possible size, or the rest of its list is left out.
 *
 * Lists go all over the heap, and a read of a few bytes takes nearly as long as one of some pages.
 * So a window is read around a chunk, as long as most of the chunks that follow lie in it.
 */

#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/page.h"
#include "heap/free_space.h"
#include "heap/glibc/glibc.h"
#include "os/procfs.h"

#define AROUND		(256u << 10)
#define WINDOW_COST	20		/* it takes as long as so many reads of a chunk alone */
#define CHECK_EVERY	64u	/* chunks between two looks at the clock */

struct free_links {
	uint64_t prev_size, size, fd, bk;
};

struct look {
	struct glibc *glibc;
	const struct heap_span *span;	/* that the last chunk was in */
	uint8_t *bytes;			/* the window, AROUND long */
	uint64_t start;			/* of the window; len is 0 if there is none */
	size_t len;
	int64_t use;			/* how often it was of use, less how often it was not */
	uint64_t nr, deadline;
	struct heap_free *ret;
};

/* Of the processor: mdbg may have to wait for one. */
static uint64_t now(void)
{
	return procfs_clock(CLOCK_THREAD_CPUTIME_ID);
}

static bool is_late(struct look *look)
{
	if (look->nr++ % CHECK_EVERY || now() < look->deadline)
		return false;
	look->ret->whole = false;
	return true;
}

static bool in_window(const struct look *look, uint64_t at)
{
	return look->len && at >= look->start &&
	       at - look->start + sizeof(struct free_links) <= look->len;
}

/* Find the memory of this heap that the address lies in. */
static bool find_span(struct look *look, uint16_t heap, uint64_t at)
{
	const struct heap_span *last = look->span;

	if (last && last->heap == heap && at >= last->start && at < last->end)
		return true;
	vec_each(span, &look->glibc->walk->spans)
		if (span->heap == heap && at >= span->start && at < span->end) {
			look->span = span;
			return true;
		}
	return false;
}

/* Read the links of a chunk in that memory. */
static bool read_links(struct look *look, uint64_t at, struct free_links *ret)
{
	struct memory *memory = look->glibc->source->memory;

	if (!in_window(look, at) && look->use > -10 * WINDOW_COST) {
		look->use -= WINDOW_COST;
		look->start = MAX(ALIGN_DOWN(at, AROUND), look->span->start);
		if (memory_read_some(memory, look->start, look->bytes,
				     MIN(AROUND, look->span->end - look->start), &look->len))
			look->len = 0;
	}
	if (!in_window(look, at))
		return !memory_read(memory, at, ret, sizeof(*ret));
	look->use = MIN(look->use + 1, (int64_t)1024);
	memcpy(ret, look->bytes + (at - look->start), sizeof(*ret));
	return true;
}

static uint64_t resident(const struct look *look, uint64_t start, uint64_t end)
{
	const struct heap_source *source = look->glibc->source;

	if (start >= end)
		return 0;
	return source->resident ? source->resident(source->ctx, start, end) : end - start;
}

/* The first bytes of a chunk, with its links, are resident, and what shares a page with others. */
static void add_chunk(struct look *look, uint64_t at, uint64_t size)
{
	uint64_t from = ALIGN_UP(at + FREE_LINKS, PAGE), to = ALIGN_DOWN(at + size, PAGE);
	uint64_t whole = resident(look, from, to);

	look->ret->trimmed += whole;
	look->ret->listed += size - (to > from ? to - from - whole : 0);
}

static void add_bin(struct look *look, uint16_t heap, uint64_t header, uint64_t at)
{
	uint64_t before = header;
	struct free_links links;

	while (at != header && !is_late(look)) {
		uint64_t size;

		if (!find_span(look, heap, at) || !read_links(look, at, &links) ||
		    links.bk != before)
			return;
		size = links.size & ~SIZE_FLAGS;
		if (size < CHUNK_LEAST || size > look->span->end - at)
			return;
		add_chunk(look, at, size);
		before = at;
		at = links.fd;
	}
}

static void add_top(struct look *look, uint16_t heap)
{
	const struct heap_arena *arena = &look->glibc->walk->arenas.at[heap];
	uint64_t size, bytes;

	if (!find_span(look, heap, arena->top) ||
	    !glibc_walk_peek(look->glibc, arena->top + 8, &size))
		return;
	size = MIN(size & ~SIZE_FLAGS, look->span->end - arena->top);
	bytes = resident(look, arena->top, arena->top + size);
	if (arena->main) {
		look->ret->main_top += bytes;
		look->ret->trimmed += arena->brk ? ALIGN_DOWN(bytes - MIN(bytes, FREE_TOP_LEAST), PAGE) : 0;
	} else if (bytes >= PAGE) {
		look->ret->other_top += bytes;
		look->ret->other_tops++;
	}
}

static struct err *add_arena(struct look *look, uint16_t heap)
{
	const struct heap_arena *arena = &look->glibc->walk->arenas.at[heap];
	uint64_t bins = arena->address + look->glibc->layout.bins, word[2 * BINS];
	struct err *err = memory_read(look->glibc->source->memory, bins, word, sizeof(word));

	if (err)
		return err;
	add_top(look, heap);
	for (unsigned i = 0; i < BINS; i++)
		add_bin(look, heap, bins + 16 * i - CHUNK_HEADER, word[2 * i]);
	return NULL;
}

void glibc_free_look(struct glibc *glibc, uint64_t budget_ns, struct heap_free *ret)
{
	AUTO_FREE uint8_t *bytes = malloc(AROUND);
	struct look look = { .glibc = glibc, .bytes = bytes, .deadline = now() + budget_ns,
			     .ret = ret };

	*ret = (struct heap_free){ .known = bytes && glibc->walk->arenas.nr, .whole = true };
	for (size_t i = 0; ret->known && i < glibc->walk->arenas.nr; i++) {
		struct err *err = add_arena(&look, (uint16_t)i);

		if (err) {
			err_ignore(err);
			ret->whole = false;
		}
	}
}
