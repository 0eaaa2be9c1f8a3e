/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds blocks that look like those of one site (block_like.h). */

#include "heap/block_like.h"

#include <string.h>

#include "base/cancel.h"
#include "heap/extents.h"
#include "heap/heap_walk.h"
#include "heap/reach/page_reader.h"

#define WORDS		8u
#define SHARE		99u	/* percent */
#define LEAST		10u	/* blocks that a rule was learned from, and tested by */
#define READ_MOST	(16ull << 30)
#define BUFFER		4096u	/* bytes that are read at once */
#define ARRAY_BYTES	512u	/* in a larger block the place of a pointer says nothing */
#define SMALL		65536u
/* Pointers in a block, and to it, without which it has no look; and none of the levels that tell less. */
#define TELLING		1u
#define TELLING_MUCH	2u
#define CANCEL_EACH	4096u
#define LOOK_NONE	UINT32_MAX

enum word_is { WORD_ZERO, WORD_SMALL, WORD_BLOCK_START, WORD_INSIDE, WORD_CONSTANT, WORD_OTHER };

/* What blocks of one look, or of one look and site, come to. */
struct look_sums {
	uint32_t site;		/* + 1: of most of the learned ones; 0: none yet */
	uint32_t learned, tested;
	uint32_t most;		/* learned ones of that site */
	uint32_t right;		/* tested ones of that site */
	/* Of all of them: those of the site that has most, and of the one behind it. */
	uint32_t first_site, first, second;
};

struct level {
	struct interner looks;
	VEC(struct look_sums) sums;	/* by number of the look */
	struct interner pairs;		/* number of the look << 32 | site */
	VEC(struct look_sums) of_pair;
	uint32_t *of;			/* by block: number of its look */
	bool counts;
};

struct liking {
	const struct block_like_source *source;
	struct block_like *ret;
	struct extents extents;
	uint32_t *size;			/* by block: usable bytes; all from some on are the same */
	uint32_t *referrer;		/* by block: a hash of what points to it; 0: nothing */
	struct level level[LIKE_LEVELS];
	struct page_reader reader;
	uint64_t left;			/* bytes of blocks that may still be read */
	uint64_t word[BUFFER / 8];
};

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 29;
}

/* The usable bytes of a chunk of glibc's. */
static uint64_t rounded(uint64_t size)
{
	return MAX(ALIGN_UP(size + 8, 16ull), 32ull) - 8;
}

/* A block that is in no chunk counts as one of glibc's. */
static void take_sizes(struct liking *liking)
{
	const struct packed_list *list = liking->source->list;
	struct chunk_at at = heap_chunks_start();

	for (size_t i = 0; i < list->nr; i++) {
		const struct packed_block *packed = packed_at(list, i);
		uint64_t size = rounded(packed_size(list, packed));
		struct heap_chunk chunk;

		if (liking->source->walk && !packed->user &&
		    heap_chunks_find(&liking->source->walk->chunks, &at, packed->address, &chunk) &&
		    chunk_held(&chunk))
			size = chunk_usable(&chunk);
		liking->size[i] = (uint32_t)MIN(size, (uint64_t)UINT32_MAX);
	}
}

static uint64_t size_of(const struct liking *liking, uint32_t block)
{
	return liking->size[block];
}

static uint32_t site_of(const struct liking *liking, uint32_t block)
{
	const struct packed_block *packed = packed_at(liking->source->list, block);

	return packed->preattach || packed->stack >= liking->source->nr_stacks ? 0 :
		liking->source->site_of_stack[packed->stack];
}

static bool is_in(const struct reach_ranges *ranges, uint64_t address)
{
	size_t low = LOWER_BOUND(i, 0, ranges->vec.nr, ranges->vec.at[i].end <= address);

	return low < ranges->vec.nr && ranges->vec.at[low].start <= address;
}

/* Of several that point to it, the same one counts whatever their order is. */
static void note_referrer(struct liking *liking, uint32_t from, uint64_t offset, uint32_t to)
{
	uint64_t size = size_of(liking, from);
	uint64_t hash = mix(mix(1, size > ARRAY_BYTES ? ARRAY_BYTES + 1 : size),
			    size > ARRAY_BYTES ? 0 : offset);
	uint32_t value = (uint32_t)hash | 1;

	if (from != to && (!liking->referrer[to] || value < liking->referrer[to]))
		liking->referrer[to] = value;
}

/* The block whose start each word is; EXTENT_NONE where it is none. is_inside: it is in one. */
static void look_up(struct liking *liking, size_t at, size_t nr, uint32_t *start, bool *inside)
{
	const struct packed_list *list = liking->source->list;
	struct extent_found found[EXTENTS_BATCH];

	extents_look_up(&liking->extents, liking->word + at, nr, found);
	for (size_t i = 0; i < nr; i++) {
		uint32_t block = found[i].block;

		inside[i] = block != EXTENT_NONE;
		start[i] = inside[i] && packed_at(list, block)->address == liking->word[at + i] ?
				   block : EXTENT_NONE;
	}
}

static struct err *read_referrers(struct liking *liking, uint32_t block)
{
	const struct packed_list *list = liking->source->list;
	uint64_t start = packed_at(list, block)->address;
	uint64_t size = packed_size(list, packed_at(list, block)) & ~7ull;

	for (uint64_t done = 0; done < size; done += BUFFER) {
		size_t len = (size_t)MIN(size - done, (uint64_t)BUFFER), got = 0;

		liking->left -= MIN(liking->left, len);
		if (!liking->left)
			return NULL;
		if (memory_read_some(&liking->reader.memory, start + done, liking->word, len, &got))
			got = 0;
		for (size_t at = 0; at < got / 8; at += EXTENTS_BATCH) {
			size_t nr = MIN(got / 8 - at, (size_t)EXTENTS_BATCH);
			uint32_t to[EXTENTS_BATCH];
			bool inside[EXTENTS_BATCH];

			look_up(liking, at, nr, to, inside);
			for (size_t i = 0; i < nr; i++)
				if (to[i] != EXTENT_NONE)
					note_referrer(liking, block, done + (at + i) * 8, to[i]);
		}
	}
	return block % CANCEL_EACH ? NULL : cancel_check();
}

static enum word_is word_is(const struct liking *liking, uint64_t word, uint32_t start, bool inside)
{
	if (!word)
		return WORD_ZERO;
	if (word < SMALL)
		return WORD_SMALL;
	if (start != EXTENT_NONE)
		return WORD_BLOCK_START;
	if (inside)
		return WORD_INSIDE;
	return is_in(&liking->source->constant, word) || is_in(&liking->source->code, word) ?
		WORD_CONSTANT : WORD_OTHER;
}

/* What a word adds to the look of each level. */
static void add_word(const struct liking *liking, uint64_t word, uint32_t start, enum word_is is,
		     uint64_t hash[LIKE_LEVELS])
{
	bool is_pointer = is == WORD_BLOCK_START || is == WORD_INSIDE;

	hash[0] = mix(hash[0], is);
	if (start != EXTENT_NONE)
		hash[0] = mix(hash[0], size_of(liking, start));
	hash[1] = mix(hash[1], is_pointer ? WORD_INSIDE : is == WORD_CONSTANT ? is : WORD_OTHER);
	hash[2] = mix(hash[2], is == WORD_CONSTANT);
	if (is == WORD_CONSTANT)
		for (unsigned i = 0; i < LIKE_LEVELS; i++)
			hash[i] = mix(hash[i], word);
}

static struct err *take_look(struct liking *liking, uint32_t block)
{
	const struct packed_list *list = liking->source->list;
	uint64_t size = size_of(liking, block), hash[LIKE_LEVELS];
	size_t len = (size_t)MIN(size & ~7ull, WORDS * 8ull), got = 0;
	uint32_t start[EXTENTS_BATCH];
	bool inside[EXTENTS_BATCH];
	unsigned telling = liking->referrer[block] != 0;
	struct err *err = NULL;

	if (memory_read_some(&liking->reader.memory, packed_at(list, block)->address,
			     liking->word, len, &got) || got < len)
		return NULL;
	look_up(liking, 0, len / 8, start, inside);
	for (unsigned i = 0; i < LIKE_LEVELS; i++)
		hash[i] = mix(mix(size, liking->referrer[block]), i);
	for (size_t i = 0; i < len / 8; i++) {
		enum word_is is = word_is(liking, liking->word[i], start[i], inside[i]);

		telling += is == WORD_BLOCK_START || is == WORD_INSIDE || is == WORD_CONSTANT;
		add_word(liking, liking->word[i], start[i], is, hash);
	}
	for (unsigned i = 0; !err && i < LIKE_LEVELS && telling >= (i ? TELLING_MUCH : TELLING); i++)
		err = interner_number(&liking->level[i].looks, hash[i], &liking->level[i].of[block]);
	return err || block % CANCEL_EACH ? err : cancel_check();
}

/* Half of them, whatever their order is. */
static bool is_learned(const struct liking *liking, uint32_t block)
{
	return mix(7, packed_at(liking->source->list, block)->address) >> 40 & 1;
}

static struct err *count_pair(struct level *level, uint32_t look, uint32_t site, bool learned)
{
	uint32_t number;
	struct err *err = interner_number(&level->pairs, (uint64_t)look << 32 | site, &number);
	struct look_sums *sums;

	if (err)
		return err;
	sums = vec_slot(&level->of_pair, number);
	if (!sums)
		return err_nomem;
	sums->site = site;
	sums->learned += learned;
	sums->tested += !learned;
	return NULL;
}

static void rank(struct look_sums *sums, const struct look_sums *pair)
{
	uint32_t nr = pair->learned + pair->tested;

	if (nr <= sums->first) {
		sums->second = MAX(sums->second, nr);
		return;
	}
	sums->second = sums->first;
	sums->first = nr;
	sums->first_site = pair->site;
}

/* A look is that of the site to which most of its learned blocks belong. */
static struct err *sum_up(struct level *level)
{
	for (size_t i = 0; i < level->pairs.room; i++) {
		uint32_t look = (uint32_t)(level->pairs.key[i] >> 32);
		const struct look_sums *pair;
		struct look_sums *sums;

		if (!level->pairs.number[i])
			continue;
		pair = &level->of_pair.at[level->pairs.number[i] - 1];
		sums = vec_slot(&level->sums, look);
		if (!sums)
			return err_nomem;
		sums->learned += pair->learned;
		sums->tested += pair->tested;
		rank(sums, pair);
		if (pair->learned < sums->most || (pair->learned == sums->most &&
						   pair->site > sums->site && sums->site))
			continue;
		sums->most = pair->learned;
		sums->site = pair->site;
		sums->right = pair->tested;
	}
	return NULL;
}

static bool is_share(uint64_t part, uint64_t all)
{
	return part * 100 >= all * SHARE;
}

/* Each site in turn is taken for one that was not seen: how many of its blocks have a rule then? */
static void judge(struct level *level)
{
	uint64_t wrong = 0, all = 0;

	for (size_t i = 0; i < level->pairs.room; i++) {
		const struct look_sums *pair, *sums;
		uint64_t nr, others, best;

		if (!level->pairs.number[i])
			continue;
		pair = &level->of_pair.at[level->pairs.number[i] - 1];
		sums = &level->sums.at[level->pairs.key[i] >> 32];
		nr = pair->learned + pair->tested;
		others = sums->learned + sums->tested - nr;
		best = pair->site == sums->first_site ? sums->second : sums->first;
		all += nr;
		wrong += best >= 2 * LEAST && is_share(best, others) ? nr : 0;
	}
	level->counts = is_share(all - wrong, all);
}

static struct err *learn(struct liking *liking, struct level *level)
{
	struct err *err = NULL;

	for (uint32_t i = 0; !err && i < liking->source->list->nr; i++) {
		uint32_t site = site_of(liking, i);

		if (site && level->of[i] != LOOK_NONE)
			err = count_pair(level, level->of[i], site, is_learned(liking, i));
	}
	if (!err)
		err = sum_up(level);
	if (!err)
		judge(level);
	return err;
}

static const struct look_sums *rule_of(const struct liking *liking, uint32_t block)
{
	for (unsigned i = 0; i < LIKE_LEVELS; i++) {
		const struct level *level = &liking->level[i];
		uint32_t look = level->of[block];
		const struct look_sums *sums = look < level->sums.nr ? &level->sums.at[look] : NULL;

		if (level->counts && sums && sums->learned >= LEAST && sums->tested >= LEAST &&
		    is_share(sums->most, sums->learned) && is_share(sums->right, sums->tested))
			return sums;
	}
	return NULL;
}

/* The rules are tried on the seen blocks that have not made them, too. */
static struct err *name(struct liking *liking, uint32_t block)
{
	const struct look_sums *rule = rule_of(liking, block);
	uint32_t site = site_of(liking, block);
	struct like_site *like;

	if (!rule || (site && is_learned(liking, block)))
		return NULL;
	like = vec_slot(&liking->ret->sites, rule->site - 1);
	if (!like)
		return err_nomem;
	if (site) {
		like->tested++;
		like->right += site == rule->site;
	} else if (packed_at(liking->source->list, block)->preattach) {
		liking->ret->of.at[block] = rule->site;
	}
	return NULL;
}

static struct err *begin(struct liking *liking)
{
	size_t nr = liking->source->list->nr;
	struct err *err = extents_build(liking->source->list, &liking->extents);

	if (err)
		return err;
	liking->referrer = calloc(nr, sizeof(*liking->referrer));
	liking->size = malloc(nr * sizeof(*liking->size));
	if (!liking->referrer || !liking->size || !vec_slot(&liking->ret->of, nr - 1))
		return err_nomem;
	take_sizes(liking);
	for (unsigned i = 0; i < LIKE_LEVELS; i++) {
		liking->level[i].of = malloc(nr * sizeof(*liking->level[i].of));
		if (!liking->level[i].of)
			return err_nomem;
		memset(liking->level[i].of, 0xff, nr * sizeof(*liking->level[i].of));
	}
	return NULL;
}

static struct err *run(struct liking *liking)
{
	uint32_t nr = (uint32_t)liking->source->list->nr;
	struct err *err = begin(liking);

	liking->left = READ_MOST;
	for (uint32_t i = 0; !err && i < nr; i++)
		err = read_referrers(liking, i);
	/* What points to blocks is not known of all of them. */
	if (!liking->left)
		return err;
	for (uint32_t i = 0; !err && i < nr; i++)
		err = take_look(liking, i);
	for (unsigned i = 0; !err && i < LIKE_LEVELS; i++)
		err = learn(liking, &liking->level[i]);
	for (uint32_t i = 0; !err && i < nr; i++)
		err = name(liking, i);
	return err;
}

/* Without blocks of both kinds there is nothing to be learned, or to be named. */
static bool has_both(const struct block_like_source *source)
{
	bool seen = false, early = false;

	for (size_t i = 0; i < source->list->nr && !(seen && early); i++) {
		const struct packed_block *packed = packed_at(source->list, i);

		early |= packed->preattach;
		seen |= !packed->preattach && packed->stack < source->nr_stacks &&
			source->site_of_stack[packed->stack];
	}
	return seen && early;
}

struct err *block_like_find(const struct block_like_source *source, struct block_like *ret)
{
	struct liking *liking;
	struct err *err;

	if (!has_both(source))
		return NULL;
	liking = calloc(1, sizeof(*liking));
	if (!liking)
		return err_nomem;
	liking->source = source;
	liking->ret = ret;
	page_reader_init(&liking->reader, source->memory);
	err = run(liking);
	for (unsigned i = 0; i < LIKE_LEVELS; i++) {
		struct level *level = &liking->level[i];

		interner_free(&level->looks);
		interner_free(&level->pairs);
		vec_free(&level->sums);
		vec_free(&level->of_pair);
		free(level->of);
	}
	extents_free(&liking->extents);
	free(liking->referrer);
	free(liking->size);
	free(liking);
	return err;
}

void block_like_free(struct block_like *like)
{
	vec_free(&like->of);
	vec_free(&like->sites);
}
