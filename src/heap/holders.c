/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pointers to one block (holders.h). */

#include "heap/holders.h"

#include <stdlib.h>

#include "base/cancel.h"
#include "base/cleanup.h"
#include "heap/extents.h"
#include "heap/heuristic.h"

#define BUFFER	(256u << 10)
#define NEAR	2048u		/* between blocks that are read at once; less than a page */
#define KNOWN	64u

struct scanner {
	const struct mark_source *source;
	const struct holders_spec *spec;
	struct holders *ret;
	struct extents extents;
	struct heuristic heuristic;
	/* Inner pointers that the heuristics were asked for. */
	struct {
		uint64_t word;
		bool applies;
	} known[KNOWN];
	uint64_t low, len;	/* no pointer to the block is outside */
	uint64_t *buffer;
	uint64_t start, end;	/* what is in it */
	struct err *err;
};

static bool heuristic_says(struct scanner *scanner, const struct block *block, uint64_t word)
{
	unsigned i = (unsigned)(word >> 3) % KNOWN;

	if (scanner->known[i].word != word) {
		scanner->known[i].word = word;
		scanner->known[i].applies = heuristic_applies(&scanner->heuristic, block, word);
	}
	return scanner->known[i].applies;
}

static void add(struct scanner *scanner, struct holder *holder, const struct block *pointed)
{
	struct holders *ret = scanner->ret;
	const struct holders_spec *spec = scanner->spec;

	if (holder->in == HOLDER_BLOCK && holder->block == ret->block) {
		ret->own++;
		return;
	}
	holder->firm = holder->word == pointed->address ||
		       heuristic_says(scanner, pointed, holder->word) ||
		       (spec->is_firm && spec->is_firm(spec->ctx, holder));
	if (holder->firm && ret->nr_firm++ < spec->limit)
		scanner->err = vec_push(&ret->firm, *holder);
	else if (!holder->firm && ret->nr_inner++ < spec->limit)
		scanner->err = vec_push(&ret->inner, *holder);
}

/* nr words, the first of which is at place: an address, or an index (HOLDER_WORD). */
static void scan_words(struct scanner *scanner, const uint64_t *word, size_t nr, uint64_t place,
		       enum holder_in in, uint32_t block)
{
	uint32_t step = in == HOLDER_WORD ? 1 : 8;

	for (size_t i = 0; i < nr && !scanner->err; i++) {
		struct holder holder = { .word = word[i], .block = block, .in = (uint8_t)in,
					 .place = place + i * step };
		struct extent_found at;
		struct block block_at;

		if (word[i] - scanner->low >= scanner->len)
			continue;
		at = extents_find(&scanner->extents, word[i]);
		if (at.block != scanner->ret->block && at.outer != scanner->ret->block)
			continue;
		block_at = held_block(scanner->source->list, at.block);
		add(scanner, &holder, &block_at);
	}
}

/* --- memory --- */

/* Whole words of [start, end), which is in the buffer but for what is no whole word. */
static void scan_buffered(struct scanner *scanner, uint64_t start, uint64_t end, enum holder_in in,
			  uint32_t block)
{
	start = ALIGN_UP(start, 8ull);
	end = ALIGN_DOWN(end, 8ull);
	if (start < end)
		scan_words(scanner, scanner->buffer + (start - scanner->start) / 8,
			   (end - start) / 8, start, in, block);
}

/* Of [start, end) what is in blocks, if that is asked for, or what is in none. */
static void scan_part(struct scanner *scanner, uint64_t start, uint64_t end, enum holder_in in)
{
	struct extent_at next = extents_from(&scanner->extents, start);
	struct extent extent;

	while (start < end) {
		bool any = extents_next(&scanner->extents, &next, &extent);
		uint64_t from = any ? MIN(extent.start, end) : end;
		uint64_t to = any ? MIN(extent.end, end) : end;

		if (in != HOLDER_BLOCK && start < from)
			scan_buffered(scanner, start, from, in, HOLDERS_NO_BLOCK);
		if (in == HOLDER_BLOCK && from < to)
			scan_buffered(scanner, from, to, in, extent.block);
		start = to;
	}
}

/* From start on, a multiple of 8, up to end; less, or nothing, where it cannot be read. */
static struct err *fill(struct scanner *scanner, uint64_t start, uint64_t end)
{
	size_t got = 0;
	struct err *err = memory_read_some(scanner->source->memory, start, scanner->buffer,
					   (size_t)(end - start), &got);

	scanner->start = start;
	scanner->end = start + (err ? 0 : got);
	return err && err->code != ERR_MEMORY ? err : NULL;
}

/* From `at` on, which is mapped. */
static struct err *scan_mapped(struct scanner *scanner, uint64_t at, uint64_t end,
			       enum holder_in in, struct mark_ranges *unread)
{
	struct err *err = NULL;

	while (!err && at < end) {
		uint64_t from = ALIGN_DOWN(at, 8ull), to = MIN(end, from + BUFFER);

		err = fill(scanner, from, to);
		if (!err && scanner->end > at) {
			scan_part(scanner, at, scanner->end, in);
			err = scanner->err;
		}
		at = MAX(at, scanner->end);
		if (!err && scanner->end < to) {
			to = mark_behind_hole(unread, at, end);
			err = mark_ranges_note(unread, at, to);
			at = to;
		}
		if (!err)
			err = cancel_check();
	}
	return err;
}

/* What is in no mapping takes no system call. */
static struct err *scan_present(struct scanner *scanner, const struct mark_range *part,
				enum holder_in in, struct mark_ranges *unread)
{
	uint64_t at = part->start;
	struct err *err = NULL;

	while (!err && at < part->end) {
		struct mark_range mapped = mark_next_mapped(scanner->source, at);
		uint64_t from = MIN(mapped.start, part->end), to = MIN(mapped.end, part->end);

		if (at < from)
			err = mark_ranges_note(unread, at, from);
		if (!err && from < to)
			err = scan_mapped(scanner, from, to, in, unread);
		if (!err)
			err = cancel_check();
		at = to;
	}
	return err;
}

static struct err *scan_range(struct scanner *scanner, uint64_t start, uint64_t end,
			      enum holder_in in)
{
	const struct mark_source *source = scanner->source;
	struct mark_ranges *unread = in == HOLDER_BLOCK ? &scanner->ret->unread_blocks :
							  &scanner->ret->unread_roots;
	struct mark_range part = { start, end };
	struct err *err = NULL;

	while (!err && start < end) {
		if (source->next_present && !source->next_present(source->ctx, start, end, &part))
			break;
		err = scan_present(scanner, &part, in, unread);
		start = part.end;
	}
	return err;
}

static struct err *scan_ranges(struct scanner *scanner, const struct mark_range *range, size_t nr,
			       enum holder_in in)
{
	struct err *err = NULL;

	for (size_t i = 0; i < nr && !err; i++)
		err = scan_range(scanner, range[i].start, range[i].end, in);
	return err;
}

/* Neighbours are read at once: what is between two is on the pages of one of them. */
static struct err *scan_blocks(struct scanner *scanner)
{
	const struct extents *extents = &scanner->extents;
	struct extent_at at = extents_from(extents, 0);
	struct extent extent;
	bool any = extents_next(extents, &at, &extent);
	struct err *err = NULL;

	while (any && !err) {
		uint64_t start = extent.start, end = extent.end;

		for (any = extents_next(extents, &at, &extent);
		     any && extent.start <= end + NEAR && extent.start - start < BUFFER;
		     any = extents_next(extents, &at, &extent))
			end = extent.end;
		err = scan_range(scanner, start, end, HOLDER_BLOCK);
	}
	return err;
}

/* --- all of it --- */

static void choose(struct scanner *scanner)
{
	const struct holders_spec *spec = scanner->spec;
	struct holders *ret = scanner->ret;
	struct extent_found at = extents_find(&scanner->extents, spec->address);

	if (at.block == EXTENT_NONE && spec->otherwise)
		at = extents_find(&scanner->extents, spec->otherwise);
	if (at.block == EXTENT_NONE)
		return;
	ret->block = at.block;
	ret->outer = at.outer == EXTENT_NONE ? HOLDERS_NO_BLOCK : at.outer;
}

/* (A block that lies in another may go on behind its end.) */
static void bound(struct scanner *scanner)
{
	const struct extents *extents = &scanner->extents;
	struct extent_at at = extents_from(extents, 0);
	uint64_t low = UINT64_MAX, high = 0;
	struct extent extent;

	while (extents_next(extents, &at, &extent)) {
		if (extent.block != scanner->ret->block && extent.outer != scanner->ret->block)
			continue;
		low = MIN(low, extent.start);
		high = MAX(high, extent.end);
	}
	scanner->low = low;
	scanner->len = high - low;
}

static struct err *scan(struct scanner *scanner)
{
	const struct mark_source *source = scanner->source;
	AUTO_FREE uint64_t *buffer = malloc(BUFFER);
	struct err *err;

	if (!buffer)
		return err_nomem;
	scanner->buffer = buffer;
	bound(scanner);
	heuristic_init(&scanner->heuristic, source->memory, source->code, source->nr_code);
	scan_words(scanner, source->word, source->nr_words, 0, HOLDER_WORD, HOLDERS_NO_BLOCK);
	err = scanner->err;
	if (!err)
		err = scan_ranges(scanner, source->root, source->nr_roots, HOLDER_ROOT);
	if (!err)
		err = scan_ranges(scanner, source->heap, source->nr_heaps, HOLDER_HEAP);
	return err ? err : scan_blocks(scanner);
}

struct err *holders_find(const struct mark_source *source, const struct holders_spec *spec,
			 struct holders *ret)
{
	struct holders holders = { .block = HOLDERS_NO_BLOCK, .outer = HOLDERS_NO_BLOCK };
	struct scanner scanner = { .source = source, .spec = spec, .ret = &holders,
				   .extents = EXTENTS_INIT };
	struct err *err = extents_build(source->list, &scanner.extents);

	if (!err)
		choose(&scanner);
	if (!err && holders.block != HOLDERS_NO_BLOCK)
		err = scan(&scanner);
	extents_free(&scanner.extents);
	if (err)
		holders_free(&holders);
	else
		*ret = holders;
	return err;
}

void holders_free(struct holders *holders)
{
	vec_free(&holders->firm);
	vec_free(&holders->inner);
	vec_free(&holders->unread_roots.vec);
	vec_free(&holders->unread_blocks.vec);
}
