/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Marking: possibly lost blocks that are likely to be in use (enum likely, reach.h).
 *
 * A stale word points anywhere into a block, but a program that hands out the memory behind a
 * header points to the same place in all blocks that come from one site. So the offsets of a site's
 * blocks are counted. Only the smallest offset of each block counts: a second pointer, of code that
 * walks along a string, is farther inside.
 */

#include "heap/reach/reach_private.h"

#include "heap/reach/inner.h"
#include "heap/interner.h"

#define LEAST		8u	/* fewer blocks at an offset may be there by chance */
#define FEW		4u	/* offsets that a site may have */
#define NEARLY_ALL	90u	/* percent of its blocks are at these */
#define SAMPLES		16u	/* blocks at an offset that are examined to recognise it */
#define POOL_LEAST	256u	/* bytes; no pool gets its memory in smaller blocks */

struct site_offsets {
	uint64_t blocks, usual;	/* with inner pointers; of these, at offsets that are usual there */
};

struct at_offset {
	uint32_t site, offset;
	uint64_t blocks;
	uint32_t samples, sds;
	uint32_t number;	/* of reach_result.offsets, + 1; 0: not there yet */
};

struct likely_search {
	struct marker *marker;
	struct interner site_keys, offset_keys;
	VEC(struct site_offsets) sites;
	VEC(struct at_offset) offsets;
};

/* Blocks that are in no record have no stack: those of one size may be of one site. */
static uint64_t site_key(const struct marker *marker, const struct packed_block *held)
{
	return held->preattach ? 1ull << 63 | packed_size(marker->list, held) : held->stack;
}

static struct err *offset_of(struct likely_search *search, uint32_t block, struct at_offset **ret)
{
	const struct marker *marker = search->marker;
	uint32_t site, number, offset = marker->ret->offset[block];
	struct err *err = interner_number(&search->site_keys,
					  site_key(marker, marker_at(marker, block)), &site);

	if (!err && site == search->sites.nr)
		err = vec_push(&search->sites, ((struct site_offsets){ .blocks = 0 }));
	if (!err)
		err = interner_number(&search->offset_keys, (uint64_t)site << 32 | offset, &number);
	if (!err && number == search->offsets.nr)
		err = vec_push(&search->offsets,
			       ((struct at_offset){ .site = site, .offset = offset }));
	if (!err)
		*ret = &search->offsets.at[number];
	return err;
}

/* Blocks that are likely by now are no longer possible only. */
static bool is_asked(const struct marker *marker, uint32_t block)
{
	return marker_at(marker, block)->state == POSSIBLE && marker->ret->offset[block];
}

static struct err *count(struct likely_search *search)
{
	struct marker *marker = search->marker;
	struct err *err = NULL;

	for (uint32_t i = 0; i < marker->list->nr && !err; i++) {
		struct at_offset *at;

		if (!is_asked(marker, i))
			continue;
		err = offset_of(search, i, &at);
		if (err)
			break;
		at->blocks++;
		search->sites.at[at->site].blocks++;
		if (at->samples < SAMPLES && inner_may_be_sds(at->offset)) {
			struct block block = packed_block(marker->list, i);

			at->samples++;
			at->sds += inner_is_sds(marker->source->memory, &block, at->offset);
		}
	}
	return err;
}

static bool may_be_usual(const struct likely_search *search, const struct at_offset *at)
{
	return at->blocks >= LEAST && at->blocks * FEW >= search->sites.at[at->site].blocks;
}

static bool is_usual(const struct likely_search *search, const struct at_offset *at)
{
	const struct site_offsets *site = &search->sites.at[at->site];

	return may_be_usual(search, at) && site->usual * 100 >= site->blocks * NEARLY_ALL;
}

static struct err *number_offset(struct likely_search *search, struct at_offset *at)
{
	struct reach_result *ret = search->marker->ret;
	struct err *err = NULL;

	if (!at->number)
		err = vec_push(&ret->offsets, ((struct reach_offset){
			.offset = at->offset, .sds = at->samples && at->sds == at->samples }));
	if (!err && !at->number)
		at->number = (uint32_t)ret->offsets.nr;
	return err;
}

static void mark(struct marker *marker, uint32_t block, enum likely likely)
{
	marker_at(marker, block)->likely = likely & 3;
	reach_words_set_state(marker, block, LIKELY);
}

static struct err *mark_offsets(struct likely_search *search)
{
	struct marker *marker = search->marker;
	struct err *err = NULL;

	for (uint32_t i = 0; i < marker->list->nr && !err; i++) {
		struct at_offset *at;

		if (!is_asked(marker, i))
			continue;
		err = offset_of(search, i, &at);
		if (err || !is_usual(search, at))
			continue;
		err = number_offset(search, at);
		if (err)
			break;
		marker->ret->offset[i] = at->number;
		mark(marker, i, LIKELY_OFFSET);
	}
	return err;
}

static void mark_pools(struct marker *marker)
{
	for (uint32_t i = 0; i < marker->list->nr; i++) {
		struct block block;

		if (!is_asked(marker, i))
			continue;
		block = packed_block(marker->list, i);
		if (block.size >= POOL_LEAST && inner_is_pool(marker->source->memory, &block))
			mark(marker, i, LIKELY_POOL);
	}
}

static struct err *search_offsets(struct likely_search *search)
{
	struct err *err = count(search);

	if (err)
		return err;
	vec_each(at, &search->offsets) {
		if (may_be_usual(search, at))
			search->sites.at[at->site].usual += at->blocks;
	}
	return mark_offsets(search);
}

struct err *reach_likely_find(struct marker *marker)
{
	struct likely_search search = { .marker = marker, .site_keys = INTERNER_INIT,
					.offset_keys = INTERNER_INIT };
	struct err *err = search_offsets(&search);

	interner_free(&search.site_keys);
	interner_free(&search.offset_keys);
	vec_free(&search.sites);
	vec_free(&search.offsets);
	if (err)
		return err;
	mark_pools(marker);
	return reach_follow_pending(marker);
}
