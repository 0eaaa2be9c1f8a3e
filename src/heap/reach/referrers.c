/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pointers to one block (referrers.h). */

#include "heap/reach/referrers.h"

#include "heap/extents.h"
#include "heap/reach/heuristic.h"
#include "heap/reach/scan.h"

#define NEAR	2048u		/* between blocks that are read at once; less than a page */
#define KNOWN	64u

struct scanner {
	const struct reach_source *source;
	const struct referrers_spec *spec;
	struct referrers *ret;
	struct extents extents;
	struct heuristic heuristic;
	/* Inner pointers that the heuristics were asked for. */
	struct {
		uint64_t word;
		bool applies;
	} known[KNOWN];
	uint64_t low, len;	/* no pointer to the block is outside */
	struct scan scan;
	enum referrer_in in;	/* what is scanned */
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

static void add(struct scanner *scanner, struct referrer *referrer, const struct block *pointed)
{
	struct referrers *ret = scanner->ret;
	const struct referrers_spec *spec = scanner->spec;

	if (referrer->in == REFERRER_BLOCK && referrer->block == ret->block) {
		ret->own++;
		return;
	}
	referrer->firm = referrer->word == pointed->address ||
		       heuristic_says(scanner, pointed, referrer->word) ||
		       (spec->is_firm && spec->is_firm(spec->ctx, referrer));
	if (referrer->firm && ret->nr_firm++ < spec->limit)
		scanner->err = vec_push(&ret->firm, *referrer);
	else if (!referrer->firm && ret->nr_inner++ < spec->limit)
		scanner->err = vec_push(&ret->inner, *referrer);
}

/* Look at nr words. place is that of the first one: its address, or its index (REFERRER_WORD). */
static void look_at_words(struct scanner *scanner, const uint64_t *word, size_t nr, uint64_t place,
		       enum referrer_in in, uint32_t block)
{
	uint32_t step = in == REFERRER_WORD ? 1 : 8;

	for (size_t i = 0; i < nr && !scanner->err; i++) {
		struct referrer referrer = { .word = word[i], .block = block, .in = (uint8_t)in,
					 .place = place + i * step };
		struct extent_found at;
		struct block block_at;

		if (word[i] - scanner->low >= scanner->len)
			continue;
		at = extents_find(&scanner->extents, word[i]);
		if (at.block != scanner->ret->block && at.outer != scanner->ret->block)
			continue;
		block_at = packed_block(scanner->source->list, at.block);
		add(scanner, &referrer, &block_at);
	}
}

static void scan_buffered(struct scanner *scanner, uint64_t start, uint64_t end, uint32_t block)
{
	size_t nr;
	const uint64_t *word = scan_words(&scanner->scan, start, end, &start, &nr);

	look_at_words(scanner, word, nr, start, scanner->in, block);
}

/* Scan the parts of [start, end) that are in blocks, if those are scanned now; else all others. */
static struct err *scan_part(void *ctx, uint64_t start, uint64_t end)
{
	struct scanner *scanner = ctx;
	bool blocks = scanner->in == REFERRER_BLOCK;
	struct extent_at next = extents_from(&scanner->extents, start);
	struct extent extent;

	while (start < end) {
		bool any = extents_next(&scanner->extents, &next, &extent);
		uint64_t from = any ? MIN(extent.start, end) : end;
		uint64_t to = any ? MIN(extent.end, end) : end;

		if (!blocks && start < from)
			scan_buffered(scanner, start, from, REFERRERS_NO_BLOCK);
		if (blocks && from < to)
			scan_buffered(scanner, from, to, extent.block);
		start = to;
	}
	return scanner->err;
}

static struct err *scan_ranges(struct scanner *scanner, const struct reach_range *range, size_t nr,
			       enum referrer_in in)
{
	struct err *err = NULL;

	scanner->in = in;
	for (size_t i = 0; i < nr && !err; i++)
		err = scan_range(&scanner->scan, range[i].start, range[i].end,
				 &scanner->ret->unread_roots, scan_part);
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

	scanner->in = REFERRER_BLOCK;
	while (any && !err) {
		uint64_t start = extent.start, end = extent.end;

		for (any = extents_next(extents, &at, &extent);
		     any && extent.start <= end + NEAR && extent.start - start < SCAN_BUFFER;
		     any = extents_next(extents, &at, &extent))
			end = extent.end;
		err = scan_range(&scanner->scan, start, end, &scanner->ret->unread_blocks,
				 scan_part);
	}
	return err;
}

static void choose(struct scanner *scanner)
{
	const struct referrers_spec *spec = scanner->spec;
	struct referrers *ret = scanner->ret;
	struct extent_found at = extents_find(&scanner->extents, spec->address);

	if (at.block == EXTENT_NONE && spec->otherwise)
		at = extents_find(&scanner->extents, spec->otherwise);
	if (at.block == EXTENT_NONE)
		return;
	ret->block = at.block;
	ret->outer = at.outer == EXTENT_NONE ? REFERRERS_NO_BLOCK : at.outer;
}

/* A block that lies in another may end behind it. */
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
	const struct reach_source *source = scanner->source;
	struct err *err = scan_init(&scanner->scan, source, scanner);

	if (err)
		return err;
	bound(scanner);
	look_at_words(scanner, source->word, source->nr_words, 0, REFERRER_WORD,
		      REFERRERS_NO_BLOCK);
	err = scanner->err;
	if (!err)
		err = scan_ranges(scanner, source->root, source->nr_roots, REFERRER_ROOT);
	if (!err)
		err = scan_ranges(scanner, source->heap, source->nr_heaps, REFERRER_HEAP);
	return err ? err : scan_blocks(scanner);
}

struct err *referrers_find(const struct reach_source *source, const struct referrers_spec *spec,
			   struct referrers *ret)
{
	struct referrers referrers = { .block = REFERRERS_NO_BLOCK, .outer = REFERRERS_NO_BLOCK };
	struct scanner scanner = { .source = source, .spec = spec, .ret = &referrers,
				   .extents = EXTENTS_INIT,
				   .heuristic = { source->memory, source->code,
						  source->nr_code, {{ 0 }} } };
	struct err *err = extents_build(source->list, &scanner.extents);

	if (!err)
		choose(&scanner);
	if (!err && referrers.block != REFERRERS_NO_BLOCK)
		err = scan(&scanner);
	extents_free(&scanner.extents);
	scan_free(&scanner.scan);
	if (err)
		referrers_free(&referrers);
	else
		*ret = referrers;
	return err;
}

void referrers_free(struct referrers *referrers)
{
	vec_free(&referrers->firm);
	vec_free(&referrers->inner);
}
