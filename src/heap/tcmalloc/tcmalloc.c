/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Makes the list of chunks of what was found of tcmalloc's heap (theory in tcmalloc.h). */

#include <inttypes.h>
#include <string.h>

#include "base/compiler.h"
#include "base/page.h"
#include "heap/tcmalloc/tcmalloc.h"

#define DEBUG_LOOK	512u		/* blocks in use that are looked at */
#define DEBUG_MAGIC	0xdeadbeefull

bool tcmalloc_is_mapped(const struct tcmalloc *tc, uint64_t address)
{
	const struct heap_source *source = tc->bare.source;
	size_t low = LOWER_BOUND(i, 0, source->nr_maps, source->map[i].end <= address);

	return low < source->nr_maps && address >= source->map[low].start;
}

/* The page, or NULL. Nothing is read outside of the process's own memory: it may be a device's. */
static const uint8_t *page_at(struct tcmalloc *tc, uint64_t page)
{
	size_t slot = page / PAGE % READER_PAGES;
	uint8_t *bytes = tc->reader.bytes + slot * PAGE;

	if (tc->reader.page[slot] == page && page)
		return bytes;
	tc->reader.page[slot] = 0;
	if (!tcmalloc_is_mapped(tc, page) ||
	    memory_read(tc->bare.source->memory, page, bytes, PAGE))
		return NULL;
	tc->reader.page[slot] = page;
	return bytes;
}

bool tcmalloc_read(struct tcmalloc *tc, uint64_t address, void *buf, size_t len)
{
	uint8_t *to = buf;

	while (len) {
		uint64_t page = ALIGN_DOWN(address, PAGE);
		size_t part = MIN(len, (size_t)(page + PAGE - address));
		const uint8_t *bytes = page_at(tc, page);

		if (!bytes)
			return false;
		memcpy(to, bytes + (address - page), part);
		address += part;
		to += part;
		len -= part;
	}
	return true;
}

bool tcmalloc_word(struct tcmalloc *tc, uint64_t address, uint64_t *ret)
{
	return tcmalloc_read(tc, address, ret, sizeof(*ret));
}

static struct err *add_objects(struct tcmalloc *tc, const struct tcmalloc_span *span)
{
	uint64_t size = tc->class[span->class].size, address = span->start;
	struct err *err = NULL;

	for (uint32_t i = 0; i < span->nr && !err; i++, address += size)
		err = bare_walk_add(&tc->bare, address, size,
				    tcmalloc_lists_kind(tc, span->first + i), 0);
	return err ? err : bare_walk_add(&tc->bare, address, span->start + span->bytes - address,
					 CHUNK_OWN, 0);
}

/* Each span is one of the walk's, since it is given back as a whole (free_space.h). */
static struct err *add_span(struct tcmalloc *tc, const struct tcmalloc_span *span)
{
	struct err *err;

	if (span->where == SPAN_RETURNED)
		return NULL;
	err = bare_walk_span(&tc->bare, span->start, span->start + span->bytes, 0);
	if (err || span->nr)
		return err ? err : add_objects(tc, span);
	return bare_walk_add(&tc->bare, span->start, span->bytes,
			     span->where == SPAN_NORMAL ? CHUNK_KEPT : CHUNK_USED, 0);
}

static struct err *add_chunks(struct tcmalloc *tc)
{
	struct err *err = NULL;

	vec_each_while(span, &tc->spans, !err)
		err = add_span(tc, span);
	return err ? err : bare_walk_end(&tc->bare);
}

/* Are all spans together as long as tcmalloc says? Where one is lost, that was said already. */
static struct err *check_sums(struct tcmalloc *tc)
{
	uint64_t sum[3] = { 0 }, says[3];	/* all, normal, returned */

	vec_each(span, &tc->spans) {
		sum[0] += span->bytes;
		if (span->where != SPAN_USED)
			sum[span->where] += span->bytes;
	}
	if (heap_walk_all_damage(tc->bare.walk) ||
	    !tcmalloc_read(tc, tc->sums, says, sizeof(says)) || !memcmp(sum, says, sizeof(sum)))
		return NULL;
	return bare_walk_damage(&tc->bare, (struct heap_damage){ .address = tc->sums },
				"spans of %" PRIu64 " bytes, %" PRIu64 " free and %" PRIu64
				" returned; noted are %" PRIu64 ", %" PRIu64 ", %" PRIu64,
				sum[0], sum[1], sum[2], says[0], says[1], says[2]);
}

/*
 * Is it the debugging library? That has a header in each block (debugallocation.cc, MallocBlock:
 * two sizes, and this number for one that is in use), so that none begins where the program has
 * it. It keeps what was freed in use for long.
 */
static bool debugs(struct tcmalloc *tc)
{
	unsigned looked = 0, headers = 0;

	for (size_t i = 0; i < tc->spans.nr && looked < DEBUG_LOOK; i++) {
		const struct tcmalloc_span *span = &tc->spans.at[i];
		uint64_t address = span->start, word;

		for (uint32_t j = 0; j < span->nr && looked < DEBUG_LOOK; j++) {
			if (tcmalloc_lists_kind(tc, span->first + j) == CHUNK_USED &&
			    tcmalloc_word(tc, address + 16, &word)) {
				looked++;
				headers += word == DEBUG_MAGIC;
			}
			address += tc->class[span->class].size;
		}
	}
	return headers * 4 > looked;
}

static struct err *walk_module(struct tcmalloc *tc)
{
	struct heap_walk *walk = tc->bare.walk;
	struct err *err = tcmalloc_layout_find(tc);

	walk->mmapped_known = walk->mmapped_certain = true;
	if (!err)
		err = bare_walk_arena(&tc->bare, tc->class[0].at);
	if (!err)
		err = tcmalloc_spans_find(tc);
	if (!err)
		err = tcmalloc_lists_mark(tc);
	if (!err && debugs(tc))
		err = err_create(ERR_UNSUPPORTED, "tcmalloc: its debugging library's blocks lie "
				 "inside of those of the heap");
	if (!err)
		err = add_chunks(tc);
	return err ? err : check_sums(tc);
}

struct tcmalloc *tcmalloc_open(const struct heap_source *source, size_t libc,
			       struct heap_walk *walk)
{
	struct tcmalloc *tc = calloc(1, sizeof(*tc));

	if (!tc)
		return NULL;
	tc->bare = (struct bare_walk)BARE_WALK_INIT(source, walk);
	tc->libc = libc;
	tc->reader.bytes = malloc(READER_PAGES * PAGE);
	if (tc->reader.bytes)
		return tc;
	free(tc);
	return NULL;
}

void tcmalloc_close(struct tcmalloc *tc)
{
	if (!tc)
		return;
	bare_walk_free(&tc->bare);
	free(tc->reader.bytes);
	free(tc->state);
	vec_free(&tc->spans);
	free(tc);
}

/* The heap of one of the source's modules. */
static struct err *walk_libc(const struct heap_source *source, size_t libc, struct heap_walk *ret)
{
	struct heap_walk walk = HEAP_WALK_INIT;
	struct tcmalloc *tc = tcmalloc_open(source, libc, &walk);
	struct err *err = tc ? walk_module(tc) : err_nomem;

	tcmalloc_close(tc);
	vec_each(arena, &walk.arenas)
		arena->libc = (uint16_t)libc;
	if (err)
		heap_walk_free(&walk);
	else
		*ret = walk;
	return err;
}

struct err *tcmalloc_walk(const struct heap_source *source, struct heap_walk *ret)
{
	struct heap_walk walk = HEAP_WALK_INIT, found;
	uint32_t unknown = 0;
	bool any = false;
	struct err *err, *lacks = NULL;

	for (size_t i = 0; i < source->nr_libcs; i++) {
		err = walk_libc(source, i, &found);
		if (!err && any)
			err = heap_walk_join(&walk, &found);
		else if (!err)
			walk = found;
		if (err && err->code != ERR_NOTFOUND && err->code != ERR_UNSUPPORTED) {
			if (any)
				heap_walk_free(&walk);
			return err;
		}
		any |= !err;
		lacks = err ? err : lacks;
		unknown |= err && err->code == ERR_UNSUPPORTED ? 1u << i : 0;
	}
	if (!any)
		return lacks ? lacks : err_create(ERR_NOTFOUND, "tcmalloc: no module");
	walk.unknown_libcs = unknown;
	*ret = walk;
	return NULL;
}
