/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sites: blocks added up by what they have in common. */

#include "heap/site.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "heap/keymap.h"

struct build {
	const struct log *log;
	const struct blocks *blocks;
	const struct site_spec *spec;
	uint64_t now_ns;
	uint64_t mean;			/* of sampling; 0 */
	struct keymap keys;		/* site's key -> its place in sites */
	struct keymap parts;		/* site << 32 | stack */
	VEC(uint64_t) part_bytes;	/* by number in parts */
	uint32_t *site_of;		/* of each block */
	struct sites sites;
};

/* The key of a stack is asked for once a stack, not once a block. */
struct stack_keys {
	struct keymap stacks;
	VEC(uint64_t) keys;
};

static bool by_name(const struct build *build)
{
	return build->spec->by == SITE_FUNCTION || build->spec->by == SITE_MODULE;
}

static struct err *named_key(struct build *build, struct stack_keys *cache, uint32_t stack,
			     uint64_t *ret)
{
	uint32_t number;
	struct err *err = keymap_number(&cache->stacks, stack, &number);

	if (!err && number == cache->keys.nr)
		err = vec_push(&cache->keys,
			       build->spec->key_of(build->spec->ctx, stack, build->spec->by));
	if (!err)
		*ret = cache->keys.at[number];
	return err;
}

static struct err *block_key(struct build *build, struct stack_keys *cache,
			     const struct block *block, uint64_t *ret)
{
	switch (build->spec->by) {
	case SITE_FUNCTION:
	case SITE_MODULE:
		return named_key(build, cache, block->stack, ret);
	case SITE_THREAD:
		*ret = block->thread;
		return NULL;
	case SITE_SIZE:
		*ret = block->size;
		return NULL;
	case SITE_STACK:
		break;
	}
	*ret = block->stack;
	return NULL;
}

/* Which of a site's stacks has most bytes is known when all are added up. */
static struct err *add_part(struct build *build, uint32_t site, const struct block *block,
			    uint64_t bytes)
{
	uint32_t number;
	struct err *err = keymap_number(&build->parts, (uint64_t)site << 32 | block->stack,
					&number);

	if (!err && number == build->part_bytes.nr)
		err = vec_push(&build->part_bytes, 0);
	if (!err)
		build->part_bytes.at[number] += bytes;
	return err;
}

static struct err *add_block(struct build *build, struct stack_keys *cache, size_t i)
{
	const struct block *block = &build->blocks->vec.at[i];
	struct sample_share share = block_share(build->mean, block);
	uint64_t key = 0;
	uint32_t number;
	struct site *site;
	struct err *err = block_key(build, cache, block, &key);

	if (!err)
		err = keymap_number(&build->keys, key, &number);
	if (!err && number == build->sites.vec.nr)
		err = vec_push(&build->sites.vec,
			       ((struct site){ .key = key, .stack = block->stack }));
	if (!err && build->spec->by != SITE_STACK)
		err = add_part(build, number, block, share.bytes);
	if (err)
		return err;
	build->site_of[i] = number;
	site = &build->sites.vec.at[number];
	site->bytes += share.bytes;
	site->count += share.blocks;
	build->sites.bytes += share.bytes;
	build->sites.count += share.blocks;
	return NULL;
}

/* Of equal ones the stack with the smaller number. */
static void pick_stacks(struct build *build)
{
	const struct keymap *parts = &build->parts;
	AUTO_FREE uint64_t *best = calloc(build->sites.vec.nr + 1, sizeof(*best));

	/* Without memory each site keeps the stack of its first block. */
	for (uint32_t i = 0; best && i < parts->room; i++) {
		uint32_t site = (uint32_t)(parts->key[i] >> 32), stack = (uint32_t)parts->key[i];
		uint64_t bytes;

		if (!parts->number[i])
			continue;
		bytes = build->part_bytes.at[parts->number[i] - 1] + 1;
		if (bytes > best[site] || (bytes == best[site] &&
					   stack < build->sites.vec.at[site].stack)) {
			best[site] = bytes;
			build->sites.vec.at[site].stack = stack;
		}
	}
}

/* All-time counts of a stack: those in the log, and those on their way. */
static void stack_totals(const struct build *build, uint32_t stack, uint64_t *blocks,
			 uint64_t *bytes)
{
	struct log_stack_view view = log_stack_get(build->log, stack);
	const struct log_pending *pending = build->spec->pending;
	bool more = pending && stack < pending->nr;

	*blocks = view.total + (more ? pending->blocks[stack] : 0);
	*bytes = view.total_bytes + (more ? pending->bytes[stack] : 0);
}

/* Where the process runs on, a block may be live that is not counted yet. */
static uint64_t stack_freed(const struct build *build, uint32_t stack, uint64_t total)
{
	uint64_t live = stack < build->blocks->live.nr ? build->blocks->live.at[stack] : 0;

	return total - MIN(total, live);
}

/* Stacks without a live block count, too. */
static struct err *totals(struct build *build, struct stack_keys *cache)
{
	uint32_t nr = log_stacks(build->log);

	for (uint32_t stack = 1; stack <= nr; stack++) {
		uint64_t key = stack, blocks, bytes;
		struct site *site;
		uint32_t number;

		stack_totals(build, stack, &blocks, &bytes);
		if (!blocks)
			continue;
		if (by_name(build)) {
			struct err *err = named_key(build, cache, stack, &key);

			if (err)
				return err;
		}
		number = keymap_find(&build->keys, key);
		if (number == UINT32_MAX)
			continue;
		site = &build->sites.vec.at[number];
		site->total += blocks;
		site->total_bytes += bytes;
		site->freed += stack_freed(build, stack, blocks);
	}
	return NULL;
}


/*
 * Hoare's FIND: the (k + 1)th smallest goes to at[k], what is not larger before it, what is not
 * smaller behind it.
 */
static void select_nth(uint64_t *at, int64_t nr, int64_t k)
{
	int64_t low = 0, high = nr - 1;

	while (low < high) {
		uint64_t pivot = at[k];
		int64_t i = low, j = high;

		while (i <= j) {
			while (at[i] < pivot)
				i++;
			while (at[j] > pivot)
				j--;
			if (i <= j) {
				uint64_t swap = at[i];

				at[i++] = at[j];
				at[j--] = swap;
			}
		}
		if (j < k)
			low = i;
		if (k < i)
			high = j;
	}
}

static uint64_t age(const struct build *build, uint64_t time)
{
	uint64_t then = log_clock_realtime(build->log, time);

	return build->now_ns > then ? build->now_ns - then : 0;
}

/* Later is younger, so that the order of times is that of ages turned round. */
static void site_ages(const struct build *build, struct site *site, uint64_t *time, size_t nr)
{
	uint64_t oldest = time[0], below = 0, middle;

	for (size_t i = 1; i < nr; i++)
		oldest = MIN(oldest, time[i]);
	site->oldest = age(build, oldest);
	select_nth(time, (int64_t)nr, (int64_t)nr / 2);
	middle = age(build, time[nr / 2]);
	if (nr % 2 == 0) {
		for (size_t i = 0; i < nr / 2; i++)
			below = MAX(below, time[i]);
		middle += (age(build, below) - middle) / 2;
	}
	site->median = middle;
}

/* The times of each site side by side, in one array. */
static struct err *ages(struct build *build)
{
	size_t nr = build->blocks->vec.nr, sites = build->sites.vec.nr;
	AUTO_FREE uint64_t *time = malloc((nr + 1) * sizeof(*time));
	AUTO_FREE size_t *end = calloc(sites + 1, sizeof(*end));
	size_t start = 0;

	if (!time || !end)
		return err_nomem;
	for (size_t i = 0; i < nr; i++)
		end[build->site_of[i] + 1] += build->blocks->vec.at[i].time != 0;
	for (size_t i = 0; i < sites; i++)
		end[i + 1] += end[i];
	/* end[i] is where site i starts, and moves to where it ends. */
	for (size_t i = 0; i < nr; i++)
		if (build->blocks->vec.at[i].time)
			time[end[build->site_of[i]]++] = build->blocks->vec.at[i].time;
	for (size_t i = 0; i < sites; i++) {
		if (end[i] > start)
			site_ages(build, &build->sites.vec.at[i], time + start, end[i] - start);
		start = end[i];
	}
	return NULL;
}

static void rates(struct build *build)
{
	double seconds = (double)age(build, log_start(build->log)) / 1e9;

	for (size_t i = 0; seconds > 0 && i < build->sites.vec.nr; i++)
		build->sites.vec.at[i].rate = (double)build->sites.vec.at[i].bytes / seconds;
}


static int by_key(const struct site *a, const struct site *b)
{
	return a->key < b->key ? -1 : a->key > b->key;
}

static int by_bytes(const void *va, const void *vb)
{
	const struct site *a = va, *b = vb;

	return a->bytes > b->bytes ? -1 : a->bytes < b->bytes ? 1 : by_key(a, b);
}

static int by_count(const void *va, const void *vb)
{
	const struct site *a = va, *b = vb;

	return a->count > b->count ? -1 : a->count < b->count ? 1 : by_key(a, b);
}

static int by_age(const void *va, const void *vb)
{
	const struct site *a = va, *b = vb;

	return a->oldest > b->oldest ? -1 : a->oldest < b->oldest ? 1 : by_key(a, b);
}

/*
 * Without a mark all that is live has grown since recording began, and over the same time at every
 * site: growth and rate are in the order of bytes.
 */
static void order(struct build *build)
{
	static int (*const compare[])(const void *, const void *) = {
		[SITE_SORT_BYTES] = by_bytes, [SITE_SORT_COUNT] = by_count,
			[SITE_SORT_AGE] = by_age,
		[SITE_SORT_GROWTH] = by_bytes, [SITE_SORT_RATE] = by_bytes,
	};
	struct sites *sites = &build->sites;

	if (sites->vec.nr)
		qsort(sites->vec.at, sites->vec.nr, sizeof(*sites->vec.at),
		      compare[build->spec->sort]);
	sites->vec.nr = MIN(sites->vec.nr, build->spec->limit);
}

static struct err *run(struct build *build, struct stack_keys *cache)
{
	struct err *err = NULL;

	build->site_of = calloc(build->blocks->vec.nr + 1, sizeof(*build->site_of));
	if (!build->site_of)
		return err_nomem;
	for (size_t i = 0; i < build->blocks->vec.nr && !err; i++)
		err = add_block(build, cache, i);
	if (!err && (by_name(build) || build->spec->by == SITE_STACK))
		err = totals(build, cache);
	if (!err)
		err = ages(build);
	if (err)
		return err;
	if (build->spec->by != SITE_STACK)
		pick_stacks(build);
	rates(build);
	order(build);
	return NULL;
}

struct err *sites_build(const struct log *log, const struct blocks *blocks,
			const struct site_spec *spec, uint64_t now_ns, struct sites *ret)
{
	struct build build = {
		.log = log, .blocks = blocks, .spec = spec, .now_ns = now_ns,
		.mean = log_config(log).sample,
	};
	struct stack_keys cache = { KEYMAP_INIT, VEC_INIT };
	struct err *err = run(&build, &cache);

	keymap_free(&cache.stacks);
	vec_free(&cache.keys);
	keymap_free(&build.keys);
	keymap_free(&build.parts);
	vec_free(&build.part_bytes);
	free(build.site_of);
	if (err) {
		sites_free(&build.sites);
		return err;
	}
	*ret = build.sites;
	return NULL;
}

void sites_free(struct sites *sites)
{
	vec_free(&sites->vec);
}
