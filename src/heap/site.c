/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sites: blocks added up by what they have in common. */

#include "heap/site.h"

#include "base/cleanup.h"
#include "heap/keymap.h"
#include "heap/numbers.h"

#define NEAR		4096u		/* so many times are put side by side to find the median */
#define DIGIT_BITS	11u
#define DIGITS		(1u << DIGIT_BITS)
/* What programs have is far below; a damaged log can have as many as records, of 200 bytes each here. */
#define SITES_MOST	(1u << 20)
#define PARTS_MOST	(1u << 22)

/* Of the blocks of one site whose time is known. */
struct times {
	uint64_t oldest, youngest;
	struct number_list list;	/* in the units of sums */
};

/* The key of a stack is asked for once a stack, not once a block. */
struct stack_keys {
	struct keymap stacks;
	VEC(uint64_t) keys;
};

struct site_sums {
	const struct log *log;
	const struct site_spec *spec;
	uint64_t now_ns;
	uint64_t mean;			/* of sampling; 0 */
	struct keymap keys;		/* site's key -> its place in sites */
	struct keymap parts;		/* site << 32 | stack */
	VEC(uint64_t) part_bytes;	/* by number in parts */
	struct stack_keys cache;
	/* Times, from `start` on (`end` at most), in units of 2^shift ticks. */
	uint64_t start, end;
	unsigned shift;
	struct numbers numbers;
	VEC(struct times) times;	/* by site */
	uint32_t near[NEAR];
	struct sites sites;
};

static bool by_name(const struct site_sums *sums)
{
	return sums->spec->by == SITE_FUNCTION || sums->spec->by == SITE_MODULE;
}

static struct err *named_key(struct site_sums *sums, uint32_t stack, uint64_t *ret)
{
	struct stack_keys *cache = &sums->cache;
	uint32_t number;
	struct err *err = keymap_number(&cache->stacks, stack, &number);

	if (!err && number == cache->keys.nr)
		err = vec_push(&cache->keys,
			       sums->spec->key_of(sums->spec->ctx, stack, sums->spec->by));
	if (!err)
		*ret = cache->keys.at[number];
	return err;
}

static struct err *site_key(struct site_sums *sums, const struct block *block, uint64_t *ret)
{
	switch (sums->spec->by) {
	case SITE_FUNCTION:
	case SITE_MODULE:
		return named_key(sums, block->stack, ret);
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

static struct err *too_many(const char *what, uint32_t most)
{
	return err_hint(err_create(ERR_RANGE, "more than %u %s", most, what),
			"a filter, or to add up `by` something else, makes them fewer");
}

/* Which of a site's stacks has most bytes is known when all are added up. */
static struct err *add_part(struct site_sums *sums, uint32_t site, const struct block *block,
			    uint64_t bytes)
{
	uint32_t number;
	struct err *err = keymap_number(&sums->parts, (uint64_t)site << 32 | block->stack,
					&number);

	if (!err && number == PARTS_MOST)
		return too_many("stacks of sites", PARTS_MOST);
	if (!err && number == sums->part_bytes.nr)
		err = vec_push(&sums->part_bytes, 0);
	if (!err)
		sums->part_bytes.at[number] += bytes;
	return err;
}

/* As one of 2^32 moments; they get longer when this one is beyond the last. */
static uint32_t moment_of(struct site_sums *sums, uint64_t time)
{
	uint64_t since = MIN(time, sums->end);
	unsigned more = 0;

	since = since > sums->start ? (since - sums->start) >> sums->shift : 0;
	while (since >> more > UINT32_MAX)
		more++;
	if (more) {
		numbers_shift(&sums->numbers, more);
		sums->shift += more;
	}
	return (uint32_t)(since >> more);
}

static struct err *add_time(struct site_sums *sums, uint32_t site, uint64_t time)
{
	struct times *times = &sums->times.at[site];

	if (!time)
		return NULL;
	times->oldest = times->list.nr ? MIN(times->oldest, time) : time;
	times->youngest = MAX(times->youngest, time);
	return numbers_push(&sums->numbers, &times->list, moment_of(sums, time));
}

static struct err *add_site(struct site_sums *sums, uint64_t key, uint32_t stack)
{
	struct err *err = sums->sites.vec.nr == SITES_MOST ? too_many("sites", SITES_MOST) :
		vec_push(&sums->times, ((struct times){ .list = NUMBER_LIST_INIT }));

	return err ? err : vec_push(&sums->sites.vec, ((struct site){ .key = key, .stack = stack }));
}

struct err *site_sums_add(struct site_sums *sums, const struct block *block)
{
	struct sample_share share = block_share(sums->mean, block);
	uint64_t key = 0;
	uint32_t number;
	struct site *site;
	struct err *err = site_key(sums, block, &key);

	if (!err)
		err = keymap_number(&sums->keys, key, &number);
	if (!err && number == sums->sites.vec.nr)
		err = add_site(sums, key, block->stack);
	if (!err && sums->spec->by != SITE_STACK)
		err = add_part(sums, number, block, share.bytes);
	if (!err)
		err = add_time(sums, number, block->time);
	if (err)
		return err;
	site = &sums->sites.vec.at[number];
	site->bytes += share.bytes;
	site->count += share.blocks;
	sums->sites.bytes += share.bytes;
	sums->sites.count += share.blocks;
	return NULL;
}

/* Of equal ones the stack with the smaller number. */
static void pick_stacks(struct site_sums *sums)
{
	const struct keymap *parts = &sums->parts;
	AUTO_FREE uint64_t *best = calloc(sums->sites.vec.nr + 1, sizeof(*best));

	/* Without memory each site keeps the stack of its first block. */
	for (uint32_t i = 0; best && i < parts->room; i++) {
		uint32_t site = (uint32_t)(parts->key[i] >> 32), stack = (uint32_t)parts->key[i];
		uint64_t bytes;

		if (!parts->number[i])
			continue;
		bytes = sums->part_bytes.at[parts->number[i] - 1] + 1;
		if (bytes > best[site] || (bytes == best[site] &&
					   stack < sums->sites.vec.at[site].stack)) {
			best[site] = bytes;
			sums->sites.vec.at[site].stack = stack;
		}
	}
}

/* All-time counts of a stack: those in the log, and those on their way. */
static void stack_totals(const struct site_sums *sums, uint32_t stack, uint64_t *blocks,
			 uint64_t *bytes)
{
	struct log_stack_view view = log_stack_get(sums->log, stack);
	const struct log_pending *pending = sums->spec->pending;
	bool more = pending && stack < pending->nr;

	*blocks = view.total + (more ? pending->blocks[stack] : 0);
	*bytes = view.total_bytes + (more ? pending->bytes[stack] : 0);
}

/* Where the process runs on, a block may be live that is not counted yet. */
static uint64_t stack_freed(const struct live_counts *live, uint32_t stack, uint64_t total)
{
	return total - MIN(total, stack < live->nr ? live->at[stack] : 0);
}

/* Stacks without a live block count, too. */
static struct err *totals(struct site_sums *sums, const struct live_counts *live)
{
	uint32_t nr = log_stacks(sums->log);

	for (uint32_t stack = 1; stack <= nr; stack++) {
		uint64_t key = stack, blocks, bytes;
		struct site *site;
		uint32_t number;

		stack_totals(sums, stack, &blocks, &bytes);
		if (!blocks)
			continue;
		if (by_name(sums)) {
			struct err *err = named_key(sums, stack, &key);

			if (err)
				return err;
		}
		number = keymap_find(&sums->keys, key);
		if (number == UINT32_MAX)
			continue;
		site = &sums->sites.vec.at[number];
		site->total += blocks;
		site->total_bytes += bytes;
		site->freed += stack_freed(live, stack, blocks);
	}
	return NULL;
}

/*
 * Hoare's FIND: the (k + 1)th smallest goes to at[k], what is not larger before it, what is not
 * smaller behind it.
 */
static void select_nth(uint32_t *at, int64_t nr, int64_t k)
{
	int64_t low = 0, high = nr - 1;

	while (low < high) {
		uint32_t pivot = at[k];
		int64_t i = low, j = high;

		while (i <= j) {
			while (at[i] < pivot)
				i++;
			while (at[j] > pivot)
				j--;
			if (i <= j) {
				uint32_t swap = at[i];

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

static uint64_t age(const struct site_sums *sums, uint64_t time)
{
	uint64_t then = log_clock_realtime(sums->log, time);

	return sums->now_ns > then ? sums->now_ns - then : 0;
}

/* The (k + 1)th smallest of many, digit by digit: those that begin as it does are counted. */
static uint32_t nth_of_many(const struct site_sums *sums, const struct number_list *list, uint64_t k)
{
	uint32_t found = 0, number;
	unsigned low = 32;

	while (low) {
		uint64_t count[DIGITS] = { 0 };
		unsigned high = low, digit = 0;
		struct number_at at = numbers_start(&sums->numbers, list);

		low = low > DIGIT_BITS ? low - DIGIT_BITS : 0;
		while (numbers_next(&sums->numbers, &at, &number))
			if (!(((uint64_t)number ^ found) >> high))
				count[number >> low & (DIGITS - 1)]++;
		for (; k >= count[digit]; digit++)
			k -= count[digit];
		found |= digit << low;
	}
	return found;
}

static uint32_t nth_of(struct site_sums *sums, const struct number_list *list, uint64_t k)
{
	struct number_at at = numbers_start(&sums->numbers, list);

	if (list->nr > NEAR)
		return nth_of_many(sums, list, k);
	for (uint32_t i = 0; numbers_next(&sums->numbers, &at, &sums->near[i]); i++)
		;
	select_nth(sums->near, (int64_t)list->nr, (int64_t)k);
	return sums->near[k];
}

/* The age of the (k + 1)th oldest block of a site; in the middle of its moment. */
static uint64_t nth_age(struct site_sums *sums, const struct times *times, uint64_t k)
{
	uint64_t time = sums->start + ((uint64_t)nth_of(sums, &times->list, k) << sums->shift) +
			(1ull << sums->shift >> 1);

	return age(sums, MIN(MAX(time, times->oldest), times->youngest));
}

/* Later is younger, so that the order of times is that of ages turned round. */
static void ages(struct site_sums *sums)
{
	for (size_t i = 0; i < sums->sites.vec.nr; i++) {
		const struct times *times = &sums->times.at[i];
		struct site *site = &sums->sites.vec.at[i];
		uint64_t nr = times->list.nr;

		if (!nr)
			continue;
		site->oldest = age(sums, times->oldest);
		site->median = nth_age(sums, times, nr / 2);
		if (nr % 2 == 0)
			site->median += (nth_age(sums, times, nr / 2 - 1) - site->median) / 2;
	}
}

static void rates(struct site_sums *sums)
{
	double seconds = (double)age(sums, log_start(sums->log)) / 1e9;

	for (size_t i = 0; seconds > 0 && i < sums->sites.vec.nr; i++)
		sums->sites.vec.at[i].rate = (double)sums->sites.vec.at[i].bytes / seconds;
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
static void order(struct site_sums *sums)
{
	static int (*const compare[])(const void *, const void *) = {
		[SITE_SORT_BYTES] = by_bytes, [SITE_SORT_COUNT] = by_count,
			[SITE_SORT_AGE] = by_age,
		[SITE_SORT_GROWTH] = by_bytes, [SITE_SORT_RATE] = by_bytes,
	};
	struct sites *sites = &sums->sites;

	vec_sort(&sites->vec, compare[sums->spec->sort]);
	sites->vec.nr = MIN(sites->vec.nr, sums->spec->limit);
}

struct err *site_sums_create(const struct log *log, const struct site_spec *spec, uint64_t now_ns,
			     struct site_sums **ret)
{
	struct site_sums *sums = calloc(1, sizeof(*sums));

	if (!sums)
		return err_nomem;
	*sums = (struct site_sums){
		.log = log, .spec = spec, .now_ns = now_ns,
		.mean = log_config(log).sample,
		.start = log_start(log), .end = log_now(),
	};
	*ret = sums;
	return NULL;
}

struct err *site_sums_end(struct site_sums *sums, const struct live_counts *live,
			  struct sites *ret)
{
	if (by_name(sums) || sums->spec->by == SITE_STACK) {
		struct err *err = totals(sums, live);

		if (err)
			return err;
	}
	ages(sums);
	if (sums->spec->by != SITE_STACK)
		pick_stacks(sums);
	rates(sums);
	order(sums);
	*ret = sums->sites;
	sums->sites = (struct sites){ VEC_INIT, 0, 0 };
	return NULL;
}

void site_sums_free(struct site_sums *sums)
{
	if (!sums)
		return;
	keymap_free(&sums->cache.stacks);
	vec_free(&sums->cache.keys);
	keymap_free(&sums->keys);
	keymap_free(&sums->parts);
	vec_free(&sums->part_bytes);
	numbers_free(&sums->numbers);
	vec_free(&sums->times);
	sites_free(&sums->sites);
	free(sums);
}

struct err *sites_build(const struct log *log, const struct blocks *blocks,
			const struct site_spec *spec, uint64_t now_ns, struct sites *ret)
{
	struct site_sums *sums;
	struct err *err = site_sums_create(log, spec, now_ns, &sums);

	if (err)
		return err;
	for (size_t i = 0; i < blocks->vec.nr && !err; i++)
		err = site_sums_add(sums, &blocks->vec.at[i]);
	if (!err)
		err = site_sums_end(sums, &blocks->live, ret);
	site_sums_free(sums);
	return err;
}

void sites_free(struct sites *sites)
{
	vec_free(&sites->vec);
}
