/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Marking: possibly lost blocks that are likely to be in use (enum likely, reach.h).
 *
 * A stale word points anywhere into a block, but a program that hands out the memory behind a
 * header points to the same place in all blocks that come from one site. So the offsets of a site's
 * blocks are counted, each block by its evidence (reach_evidence.c). An offset is usual if nearly
 * all of them are at a few offsets, and if they are most of the site's. Where others of the site
 * are pointed to at their start, nobody adds a header. Where others are lost, the words may be
 * stale: a block that is given out again is full of them, and what they point to begins at
 * multiples of 16, so that they agree in small blocks. Blocks that are possibly lost by other words
 * than these may be far down in a list, and are no argument against it, unless nearly all are like
 * this.
 *
 * What adds the header is mostly a function that many sites call, some of which have few blocks. So
 * the sites are added up by their innermost frames, one, two and three of them, and what is usual
 * there is usual for each of the sites.
 *
 * Where an offset is not usual, the block's form may prove it (form.h). Some blocks of a site and
 * an offset are examined. If nearly all of them have the same form, the rest has, too; if most of
 * them have one, each block is asked.
 *
 * Rounds. What is found in one round has pointers, which are evidence for other blocks. A block
 * that such a pointer leads to is likely at once, if its form or what is known of its site says so.
 * Other evidence is for the next round, which counts anew. So a long chain is one round, not many.
 */

#include "heap/reach/reach_private.h"

#include "heap/reach/inner.h"
#include "heap/reach/page_reader.h"
#include "heap/interner.h"

#define LEAST		8u	/* fewer blocks at an offset may be there by chance */
#define FEW		4u	/* offsets that a site may have */
#define NEARLY_ALL	90u	/* percent of its blocks are at these */
#define SURE_PART	8u	/* of the possibly lost blocks one in so many has evidence */
#define SAMPLES		16u	/* first blocks at an offset that are examined to recognise it */
#define POOL_LEAST	128u	/* bytes; no pool gets its memory in smaller blocks */
#define ROUNDS		8u
#define FRAMES		3u	/* innermost ones, by which sites are added up */

#define NO_SITE		UINT32_MAX

/* A site; or all sites with the same innermost frames, whose `callers` are NO_SITE. */
struct site_offsets {
	uint64_t blocks, usual;	/* with sure evidence; of these, at usual offsets */
	uint64_t others;	/* that are reachable, or that nothing leads to */
	uint64_t possible;	/* with evidence or without */
	uint32_t caller[FRAMES];
	bool counted;		/* the last two are in the figures of its callers, too */
};

struct at_offset {
	uint32_t site, offset;
	uint64_t blocks, seen;		/* the latter are asked for, in all rounds */
	uint32_t samples, shared;	/* the latter are objects of make_shared */
	uint32_t of_form[FORMS];
	bool usual;
	uint32_t number;	/* of reach_result.offsets, + 1; 0: not there yet */
};

struct likely_search {
	struct marker *marker;
	struct interner site_keys, offset_keys;
	VEC(struct site_offsets) sites;
	VEC(struct at_offset) offsets;
	struct page_reader reader;
	struct err *err;	/* while blocks are followed */
	uint64_t last_key;	/* of the site that was asked for last, ... */
	uint32_t last;		/* ... which is this; or NO_SITE */
};

#define KEY_OLDER	(1ull << 63)
#define KEY_FRAMES	(1ull << 62)

/* Blocks that are in no record have no stack: those of one size may be of one site. */
static uint64_t site_key(const struct marker *marker, const struct packed_block *held)
{
	return held->preattach ? KEY_OLDER | packed_size(marker->list, held) : held->stack;
}

static struct err *number_site(struct likely_search *search, uint64_t key, uint32_t *ret)
{
	struct err *err = interner_number(&search->site_keys, key, ret);

	if (!err && *ret == search->sites.nr)
		err = vec_push(&search->sites, ((struct site_offsets){
			.caller = { NO_SITE, NO_SITE, NO_SITE } }));
	return err;
}

/* The key of the innermost frames of a stack: 62 bits of a hash. */
static uint64_t frames_key(const uint64_t *pcs, uint32_t nr)
{
	uint64_t key = nr;

	for (uint32_t i = 0; i < nr; i++) {
		key = (key ^ pcs[i]) * 0x9e3779b97f4a7c15ull;
		key ^= key >> 32;
	}
	return KEY_FRAMES | (key >> 2);
}

static struct err *find_callers(struct likely_search *search, uint32_t site, uint32_t stack)
{
	const struct reach_source *source = search->marker->source;
	uint64_t pcs[FRAMES];
	uint32_t nr = source->frames ? source->frames(source->ctx, stack, pcs, FRAMES) : 0;
	struct err *err = NULL;

	for (uint32_t i = 0; i < nr && !err; i++) {
		uint32_t caller;

		err = number_site(search, frames_key(pcs, i + 1), &caller);
		if (!err)
			search->sites.at[site].caller[i] = caller;
	}
	return err;
}

static struct err *site_of(struct likely_search *search, const struct packed_block *held,
			   uint32_t *ret)
{
	uint64_t key = site_key(search->marker, held);
	size_t nr = search->sites.nr;
	struct err *err;

	if (search->last != NO_SITE && search->last_key == key) {
		*ret = search->last;
		return NULL;
	}
	err = number_site(search, key, ret);
	if (!err && *ret == nr && !held->preattach)
		err = find_callers(search, *ret, held->stack);
	if (err)
		return err;
	search->last_key = key;
	search->last = *ret;
	return NULL;
}

static uint64_t offset_key(uint32_t site, uint32_t offset)
{
	return (uint64_t)site << 32 | offset;
}

static struct err *number_at(struct likely_search *search, uint32_t site, uint32_t offset,
			     struct at_offset **ret)
{
	uint32_t number;
	struct err *err = interner_number(&search->offset_keys, offset_key(site, offset), &number);

	if (!err && number == search->offsets.nr)
		err = vec_push(&search->offsets,
			       ((struct at_offset){ .site = site, .offset = offset }));
	if (!err)
		*ret = &search->offsets.at[number];
	return err;
}

/* NULL: no block was counted there. */
static struct at_offset *find_at(struct likely_search *search, uint32_t site, uint32_t offset)
{
	uint32_t number = interner_find(&search->offset_keys, offset_key(site, offset));

	return number == UINT32_MAX ? NULL : &search->offsets.at[number];
}

static bool has_number(const struct packed_block *held)
{
	return held->state == LIKELY &&
	       (held->likely == LIKELY_OFFSET || held->likely == LIKELY_FORM);
}

/* Is it to be asked whether the block is likely? Not, if it is so by now. */
static bool is_asked(const struct marker *marker, uint32_t block)
{
	return marker_at(marker, block)->state == POSSIBLE && marker->ret->offset[block];
}

static bool is_sure(const struct marker *marker, uint32_t block)
{
	return !(marker->ret->offset[block] & EVIDENCE_UNSURE);
}

/* The first blocks of a process differ from those that come later: some of these are taken, too. */
static void sample(struct likely_search *search, uint32_t i, struct at_offset *at)
{
	struct marker *marker = search->marker;
	struct block block;

	if (at->seen++ >= SAMPLES && at->seen & (at->seen - 1))
		return;
	block = packed_block(marker->list, i);
	at->samples++;
	at->of_form[form_of(&search->reader.memory, &block, at->offset)]++;
	at->shared += heuristic_is_shared(&marker->heuristic, &block);
}

/* Count a block that has evidence, or that has got its reason by it, to the place of its offset. */
static struct err *count_block(struct likely_search *search, uint32_t site, uint32_t i)
{
	struct marker *marker = search->marker;
	uint32_t *evidence = &marker->ret->offset[i];
	bool counted = has_number(marker_at(marker, i));
	struct at_offset *at;
	struct err *err = number_at(search, site, counted ?
				    marker->ret->offsets.at[*evidence - 1].offset :
				    evidence_offset(*evidence), &at);

	if (err)
		return err;
	if (counted || is_sure(marker, i)) {
		at->blocks++;
		search->sites.at[site].blocks++;
	}
	if (counted)
		return NULL;
	sample(search, i, at);
	/* Until the marks are set, the number of the place, + 1, stands for the offset. */
	*evidence += (uint32_t)(at - search->offsets.at) + 1 - at->offset;
	return NULL;
}

/* In the first round, all blocks are counted by their states, too. */
static struct err *count_blocks(struct likely_search *search, bool first)
{
	const struct marker *marker = search->marker;
	struct err *err = NULL;

	vec_each(site, &search->sites)
		site->blocks = site->usual = 0;
	vec_each(at, &search->offsets) {
		at->blocks = 0;
		at->usual = false;
	}
	for (uint32_t i = 0; i < marker->list->nr && !err; i++) {
		const struct packed_block *held = marker_at(marker, i);
		bool is_counted = is_asked(marker, i) || has_number(held);
		uint32_t site;

		if (!first && !is_counted)
			continue;
		err = site_of(search, held, &site);
		if (!err && first)
			*(held->state == POSSIBLE ? &search->sites.at[site].possible :
			  &search->sites.at[site].others) += 1;
		if (!err && is_counted)
			err = count_block(search, site, i);
	}
	return err;
}

/* Add the figures of the sites to those of their innermost frames. */
static struct err *add_up(struct likely_search *search)
{
	size_t nr = search->offsets.nr;
	struct err *err = NULL;

	vec_each(site, &search->sites) {
		for (unsigned k = 0; k < FRAMES && site->caller[k] != NO_SITE; k++) {
			struct site_offsets *caller = &search->sites.at[site->caller[k]];

			caller->blocks += site->blocks;
			caller->others += site->counted ? 0 : site->others;
			caller->possible += site->counted ? 0 : site->possible;
		}
		site->counted = true;
	}
	for (size_t i = 0; i < nr && !err; i++) {
		struct at_offset is = search->offsets.at[i];

		for (unsigned k = 0; k < FRAMES && !err; k++) {
			uint32_t caller = search->sites.at[is.site].caller[k];
			struct at_offset *at;

			if (caller == NO_SITE || !is.blocks)
				break;
			err = number_at(search, caller, is.offset, &at);
			if (!err)
				at->blocks += is.blocks;
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

	return may_be_usual(search, at) && site->usual * 100 >= site->blocks * NEARLY_ALL &&
	       site->usual * 2 >= site->blocks + site->others &&
	       site->blocks * SURE_PART >= site->possible;
}

/* Is the offset usual for all sites with one of the same innermost frames? */
static bool callers_say(struct likely_search *search, const struct at_offset *at)
{
	const struct site_offsets *site = &search->sites.at[at->site];
	bool usual = false;

	for (unsigned k = 0; !usual && k < FRAMES && site->caller[k] != NO_SITE; k++) {
		const struct at_offset *all = find_at(search, site->caller[k], at->offset);

		usual = all && all->usual;
	}
	return usual;
}

static void judge(struct likely_search *search)
{
	vec_each(at, &search->offsets)
		if (may_be_usual(search, at))
			search->sites.at[at->site].usual += at->blocks;
	vec_each(at, &search->offsets)
		at->usual = is_usual(search, at);
	vec_each(at, &search->offsets) {
		at->usual = at->usual || callers_say(search, at);
		/* An inner pointer to such an object is of none of its owners. */
		if (at->shared)
			at->usual = false;
	}
}

/* The form of the blocks there, if all have the same; of many, nearly all of those examined. */
static enum form form_at(const struct at_offset *at)
{
	uint32_t enough = at->seen > SAMPLES ? NEARLY_ALL : 100;

	for (unsigned form = FORM_NONE + 1; form < FORMS; form++)
		if (at->samples && at->of_form[form] * 100 >= at->samples * enough)
			return form;
	return FORM_NONE;
}

/* Why is this block likely, of which at is the place? */
static enum likely why(struct likely_search *search, uint32_t i, const struct at_offset *at,
		       bool sure)
{
	const struct marker *marker = search->marker;
	struct block block;

	if (at->usual && sure)
		return LIKELY_OFFSET;
	if (form_at(at) != FORM_NONE)
		return LIKELY_FORM;
	if (at->of_form[FORM_NONE] * 2 > at->samples)
		return LIKELY_NOT;
	block = packed_block(marker->list, i);
	return form_of(&search->reader.memory, &block, at->offset) == FORM_NONE ? LIKELY_NOT :
		LIKELY_FORM;
}

static struct err *number_offset(struct likely_search *search, struct at_offset *at)
{
	struct reach_result *ret = search->marker->ret;
	struct err *err = NULL;

	if (!at->number)
		err = vec_push(&ret->offsets, ((struct reach_offset){ .offset = at->offset,
								      .form = form_at(at) }));
	if (!err && !at->number)
		at->number = (uint32_t)ret->offsets.nr;
	return err;
}

static void mark(struct marker *marker, uint32_t block, enum likely likely)
{
	marker_at(marker, block)->likely = likely & 7;
	reach_words_set_state(marker, block, LIKELY);
}

static struct err *mark_offsets(struct likely_search *search)
{
	struct marker *marker = search->marker;
	struct err *err = NULL;

	for (uint32_t i = 0; i < marker->list->nr && !err; i++) {
		uint32_t *evidence = &marker->ret->offset[i];
		struct at_offset *at;
		enum likely likely;

		if (!is_asked(marker, i))
			continue;
		at = &search->offsets.at[evidence_offset(*evidence) - 1];
		likely = why(search, i, at, is_sure(marker, i));
		if (likely == LIKELY_NOT) {
			*evidence -= (uint32_t)(at - search->offsets.at) + 1 - at->offset;
			continue;
		}
		err = number_offset(search, at);
		if (err)
			break;
		*evidence = at->number;
		mark(marker, i, likely);
	}
	return err;
}

/* What needs no offset: pools, and members of lists. */
static void mark_others(struct likely_search *search)
{
	struct marker *marker = search->marker;

	for (uint32_t i = 0; i < marker->list->nr; i++) {
		struct block block;

		if (!is_asked(marker, i))
			continue;
		block = packed_block(marker->list, i);
		if (block.size >= POOL_LEAST && inner_is_pool(&search->reader.memory, &block))
			mark(marker, i, LIKELY_POOL);
		else if (is_sure(marker, i) &&
			 reach_linked(marker, &search->reader.memory, i,
				      evidence_offset(marker->ret->offset[i])))
			mark(marker, i, LIKELY_LINKED);
	}
}

/* A place that was met for the first time is judged by what is known of its site's callers. */
static struct err *place_of(struct likely_search *search, uint32_t block, uint32_t offset,
			    struct at_offset **ret)
{
	struct at_offset *at;
	uint32_t site;
	struct err *err = site_of(search, marker_at(search->marker, block), &site);

	if (!err)
		err = number_at(search, site, offset, &at);
	if (err)
		return err;
	if (!at->seen)
		at->usual = callers_say(search, at);
	sample(search, block, at);
	if (at->shared)
		at->usual = false;
	*ret = at;
	return NULL;
}

bool reach_likely_mark(struct marker *marker, uint32_t block, uint64_t offset, bool is_link)
{
	struct likely_search *search = marker->likely;
	enum likely likely = LIKELY_NOT;
	struct at_offset *at;

	if (search->err || !offset)
		return false;
	search->err = place_of(search, block, (uint32_t)offset, &at);
	if (!search->err)
		likely = why(search, block, at, !is_link);
	if (search->err)
		return false;
	if (likely == LIKELY_NOT &&
	    reach_linked(marker, &search->reader.memory, block, offset))
		likely = LIKELY_LINKED;
	else if (likely != LIKELY_NOT)
		search->err = number_offset(search, at);
	if (search->err || likely == LIKELY_NOT)
		return false;
	marker_at(marker, block)->likely = likely & 7;
	if (likely != LIKELY_LINKED)
		marker->ret->offset[block] = at->number;
	return true;
}

static struct err *find_in_round(struct likely_search *search, bool first)
{
	struct err *err = count_blocks(search, first);

	if (!err && search->offsets.nr)
		err = add_up(search);
	if (err)
		return err;
	judge(search);
	err = mark_offsets(search);
	if (err)
		return err;
	mark_others(search);
	err = reach_follow_pending(search->marker);
	return err ? err : search->err;
}

static bool any_asked(const struct marker *marker)
{
	for (uint32_t i = 0; i < marker->list->nr; i++)
		if (is_asked(marker, i))
			return true;
	return false;
}

static struct err *find_all(struct likely_search *search)
{
	struct marker *marker = search->marker;
	struct err *err = NULL;
	uint64_t noted = UINT64_MAX;

	for (unsigned i = 0; i < ROUNDS && !err && marker->nr_noted != noted; i++) {
		noted = marker->nr_noted;
		err = find_in_round(search, !i);
	}
	return err;
}

struct err *reach_likely_find(struct marker *marker)
{
	struct likely_search search = { .marker = marker, .site_keys = INTERNER_INIT,
					.offset_keys = INTERNER_INIT, .last = NO_SITE };
	struct err *err;

	reach_evidence_stacks(marker);
	if (!any_asked(marker))
		return NULL;
	page_reader_init(&search.reader, marker->source->memory);
	marker->likely = &search;
	err = find_all(&search);
	marker->likely = NULL;
	interner_free(&search.site_keys);
	interner_free(&search.offset_keys);
	vec_free(&search.sites);
	vec_free(&search.offsets);
	return err;
}
