/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pointers to one block (referrers.h). */

#include "heap/reach/referrers.h"

#include "heap/reach/heuristic.h"

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
	struct word_scan words;
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

static struct err *add(struct scanner *scanner, struct referrer *referrer,
		       const struct block *pointed)
{
	struct referrers *ret = scanner->ret;
	const struct referrers_spec *spec = scanner->spec;

	if (referrer->in == WORD_BLOCK && referrer->block == ret->block) {
		ret->own++;
		return NULL;
	}
	referrer->firm = referrer->word == pointed->address ||
		       heuristic_says(scanner, pointed, referrer->word) ||
		       (spec->is_firm && spec->is_firm(spec->ctx, referrer));
	if (referrer->firm)
		return ret->nr_firm++ < spec->limit ? vec_push(&ret->firm, *referrer) : NULL;
	return ret->nr_inner++ < spec->limit ? vec_push(&ret->inner, *referrer) : NULL;
}

static struct err *look(void *ctx, const uint64_t *word, size_t nr, const struct word_piece *piece)
{
	struct scanner *scanner = ctx;
	uint32_t step = piece->in == WORD_ALONE ? 1 : 8;
	struct err *err = NULL;

	for (size_t i = 0; i < nr && !err; i++) {
		struct referrer referrer = { .word = word[i], .block = piece->block,
					     .in = (uint8_t)piece->in,
					     .place = piece->place + i * step };
		struct extent_found at;
		struct block block_at;

		if (word[i] - scanner->low >= scanner->len)
			continue;
		at = extents_find(&scanner->extents, word[i]);
		if (at.block != scanner->ret->block && at.outer != scanner->ret->block)
			continue;
		block_at = packed_block(scanner->source->list, at.block);
		err = add(scanner, &referrer, &block_at);
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
	struct word_scan *words = &scanner->words;
	struct err *err;

	*words = (struct word_scan){ .source = source, .extents = &scanner->extents, .look = look,
				     .ctx = scanner };
	err = word_scan_begin(words);
	if (err)
		return err;
	bound(scanner);
	err = word_scan_alone(words, 0, source->nr_words);
	if (!err)
		err = word_scan_ranges(words, source->root, source->nr_roots, WORD_ROOT);
	if (!err)
		err = word_scan_ranges(words, source->heap, source->nr_heaps, WORD_HEAP);
	if (!err)
		err = word_scan_blocks(words);
	scanner->ret->unread_roots = words->unread_roots;
	scanner->ret->unread_blocks = words->unread_blocks;
	return err;
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
	word_scan_free(&scanner.words);
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
