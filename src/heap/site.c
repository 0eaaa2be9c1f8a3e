/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sites: blocks added up by what they have in common. */

#include "heap/site.h"

#include "base/cleanup.h"
#include "heap/interner.h"
#include "heap/u32_lists.h"
#include "heap/site_rank.h"

/* Programs have far fewer; a damaged log can have one for each record, of 200 bytes each here. */
#define SITES_MOST	(1u << 20)
#define PARTS_MOST	(1u << 22)

/* The times of one site's blocks, as far as they are known. */
struct times {
	uint64_t oldest, youngest;
	struct u32_list list;	/* in the units of sums */
};

/* The key of a stack is asked for once a stack, not once a block. */
struct stack_keys {
	struct interner stacks;
	VEC(uint64_t) keys;
};

/*
 * The sums, which are made block by block; no block is kept. Only its time is kept, for the median
 * of its site, in 32 bits: if the recorded time is longer than 2^32 ticks, it is divided into that
 * many moments. So the median is exact to a part in 4 * 10^9 of the time for which the log has been
 * recording, all else to the last bit.
 */
struct site_sums {
	const struct log *log;
	const struct site_spec *spec;
	uint64_t now_ns;
	uint64_t mean;			/* of sampling; 0 */
	struct interner keys;		/* site's key -> its place in sites */
	struct interner parts;		/* site << 32 | stack */
	VEC(uint64_t) part_bytes;	/* by number in parts */
	struct stack_keys cache;
	/* Times, from `start` on (`end` at most), in units of 2^shift ticks. */
	uint64_t start, end;
	unsigned shift;
	struct u32_lists numbers;
	VEC(struct times) times;	/* by site */
	struct log_older older;
	/* For sites that hold nothing; NULL: these are not listed. */
	const struct filter *filter;
	const struct filter_env *env;
	struct sites sites;
};

static bool by_name(const struct site_sums *sums)
{
	return sums->spec->by == SITE_FUNCTION || sums->spec->by == SITE_LINE ||
	       sums->spec->by == SITE_MODULE;
}

static struct err *named_key(struct site_sums *sums, uint32_t stack, uint64_t *ret)
{
	struct stack_keys *cache = &sums->cache;
	uint32_t number;
	struct err *err = interner_number(&cache->stacks, stack, &number);

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
	case SITE_LINE:
	case SITE_MODULE:
		return named_key(sums, block->stack, ret);
	case SITE_THREAD:
		*ret = block->thread;
		return NULL;
	case SITE_SIZE:
		*ret = block->size;
		return NULL;
	case SITE_HEAP:
		*ret = block->heap;
		return NULL;
	case SITE_PROCESS:
		*ret = block->process;
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
			"use a filter, or add up `by` something else, to get fewer");
}

/* The stack with most bytes of a site is known when all blocks are added up. */
static struct err *find_part(struct site_sums *sums, uint32_t site, uint32_t stack, uint64_t **ret)
{
	uint32_t number;
	struct err *err = interner_number(&sums->parts, (uint64_t)site << 32 | stack, &number);

	if (!err && number == PARTS_MOST)
		return too_many("stacks of sites", PARTS_MOST);
	if (!err && number == sums->part_bytes.nr)
		err = vec_push(&sums->part_bytes, 0);
	if (!err)
		*ret = &sums->part_bytes.at[number];
	return err;
}

static struct err *add_part(struct site_sums *sums, uint32_t site, uint32_t stack, uint64_t bytes)
{
	uint64_t *part;
	struct err *err = find_part(sums, site, stack, &part);

	if (!err)
		*part += bytes;
	return err;
}

/* A time as one of 2^32 moments; they get longer when this one is beyond the last. */
static uint32_t moment_of(struct site_sums *sums, uint64_t time)
{
	uint64_t since = MIN(time, sums->end);
	unsigned more = 0;

	since = since > sums->start ? (since - sums->start) >> sums->shift : 0;
	while (since >> more > UINT32_MAX)
		more++;
	if (more) {
		u32_lists_shift(&sums->numbers, more);
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
	return u32_lists_push(&sums->numbers, &times->list, moment_of(sums, time));
}

static struct err *add_site(struct site_sums *sums, uint64_t key, uint32_t stack)
{
	struct err *err = sums->sites.vec.nr == SITES_MOST ? too_many("sites", SITES_MOST) :
		vec_push(&sums->times, ((struct times){ .list = U32_LIST_INIT }));

	return err ? err :
		     vec_push(&sums->sites.vec, ((struct site){ .key = key, .stack = stack }));
}

/* Add a block that has passed the filter; share is what it stands for. */
static struct err *sums_add(struct site_sums *sums, const struct block *block,
			    struct sample_share share)
{
	uint64_t key = 0;
	uint32_t number;
	struct site *site;
	struct err *err = site_key(sums, block, &key);

	if (!err)
		err = interner_number(&sums->keys, key, &number);
	if (!err && number == sums->sites.vec.nr)
		err = add_site(sums, key, block->stack);
	if (!err && sums->spec->by != SITE_STACK)
		err = add_part(sums, number, block->stack, share.bytes);
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

/* Returns the stack with most bytes; of equal ones, the one with the smaller number. */
static void pick_stacks(struct site_sums *sums)
{
	const struct interner *parts = &sums->parts;
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

static struct sample_share stack_live(const struct live_counts *live, uint32_t stack)
{
	return stack < live->nr ? live->at[stack] : (struct sample_share){ 0, 0 };
}

/* Returns the all-time counts of a stack, which are never less than its live blocks (log/log_totals.h). */
static struct sample_share stack_totals(const struct site_sums *sums, uint32_t stack,
					struct sample_share live)
{
	const struct log_totals *totals = sums->spec->totals;
	struct sample_share all = { 0, 0 };

	if (!totals) {
		struct log_stack_view view = reader_stack(sums->log, stack);

		all = (struct sample_share){ view.total, view.total_bytes };
	} else if (stack < totals->nr) {
		all = totals->at[stack];
	}
	if (all.blocks <= live.blocks)
		return live;
	all.bytes = MAX(all.bytes, live.bytes);
	return all;
}

/*
 * Returns the site that a stack's blocks belong to, by stack or by a name; NULL: no block of it is
 * listed.
 */
static struct err *site_of_stack(struct site_sums *sums, uint32_t stack, struct site **ret)
{
	uint64_t key = stack;
	struct err *err = by_name(sums) ? named_key(sums, stack, &key) : NULL;
	uint32_t number = err ? UINT32_MAX : interner_find(&sums->keys, key);

	*ret = number == UINT32_MAX ? NULL : &sums->sites.vec.at[number];
	return err;
}

/* Add the site of a stack of which no block is listed, if the filter keeps the stack. */
static struct err *add_idle(struct site_sums *sums, uint32_t stack, struct site **ret)
{
	const struct block block = { .stack = stack };
	uint64_t key = 0;
	uint32_t number;
	struct err *err = NULL;

	*ret = NULL;
	if (!sums->filter || !filter_matches(sums->filter, sums->env, &block))
		return NULL;
	err = site_key(sums, &block, &key);
	if (!err)
		err = interner_number(&sums->keys, key, &number);
	if (!err)
		err = add_site(sums, key, stack);
	if (!err)
		*ret = &sums->sites.vec.at[number];
	return err;
}

/* Among sites that may hold nothing, the largest stack of a site is that of all time. */
static struct err *set_part(struct site_sums *sums, const struct site *site, uint32_t stack,
			    uint64_t bytes)
{
	uint64_t *part;
	struct err *err = NULL;

	if (sums->spec->by == SITE_STACK)
		return NULL;
	err = find_part(sums, (uint32_t)(site - sums->sites.vec.at), stack, &part);
	if (!err)
		*part = bytes;
	return err;
}

static void add_totals(struct site_sums *sums, struct site *site, struct sample_share all,
		       struct sample_share held)
{
	site->total += all.blocks;
	site->total_bytes += all.bytes;
	site->freed += all.blocks - held.blocks;
	site->freed_bytes += all.bytes - held.bytes;
	sums->sites.total += all.blocks;
	sums->sites.total_bytes += all.bytes;
}

/* stacks without a live block count, too */
static struct err *totals(struct site_sums *sums, const struct live_counts *live)
{
	uint32_t nr = reader_stacks(sums->log);
	struct err *err = NULL;

	for (uint32_t stack = 1; stack <= nr && !err; stack++) {
		struct sample_share held = stack_live(live, stack);
		struct sample_share all = stack_totals(sums, stack, held);
		struct site *site;

		if (!all.blocks)
			continue;
		err = site_of_stack(sums, stack, &site);
		if (!err && !site)
			err = add_idle(sums, stack, &site);
		if (!err && site && sums->filter)
			err = set_part(sums, site, stack, all.bytes);
		if (!err && site)
			add_totals(sums, site, all, held);
	}
	return err;
}

/* How often a site allocates, on the average since the log began. */
static void call_rates(struct site_sums *sums)
{
	const struct log_totals *totals = sums->spec->totals;
	uint64_t start = totals && totals->begin_ns ? totals->begin_ns :
						      log_clock_realtime(sums->log, sums->start);
	double seconds = sums->now_ns > start ? (double)(sums->now_ns - start) / 1e9 : 0;

	for (size_t i = 0; seconds > 0 && i < sums->sites.vec.nr; i++) {
		struct site *site = &sums->sites.vec.at[i];

		site->call_rate = (double)site->total / seconds;
	}
}

static struct err *add_growth(struct site_sums *sums, uint32_t stack, uint64_t bytes)
{
	struct site *site;
	struct err *err = site_of_stack(sums, stack, &site);

	if (!err && site)
		site->growth += (int64_t)bytes;
	return err;
}

/*
 * Add the sums of a moment to growth, multiplied by `sign`. A deferred stack may have become
 * complete since that moment.
 */
static struct err *add_growths(struct site_sums *sums, const struct moment *moment, uint64_t sign)
{
	struct err *err = NULL;

	vec_each_while(sum, &moment->vec, !err)
		err = add_growth(sums, log_deferred_whole(sums->log, sum->stack),
				 sign * sum->bytes);
	return err;
}

/* Compute the growth of each site: its bytes at this moment, less those at the earlier moment. */
static struct err *growths(struct site_sums *sums, const struct moment *now)
{
	const struct moment *since = sums->spec->since;
	struct err *err;

	if (!since || since->time_ns >= sums->now_ns)
		return NULL;
	sums->sites.growth_ns = sums->now_ns - since->time_ns;
	err = add_growths(sums, now, 1);
	if (!err)
		err = add_growths(sums, since, UINT64_MAX);
	for (size_t i = 0; i < sums->sites.vec.nr && !err; i++) {
		struct site *site = &sums->sites.vec.at[i];

		site->rate = (double)site->growth * 1e9 / (double)sums->sites.growth_ns;
	}
	return err;
}

static uint64_t age(const struct site_sums *sums, uint64_t time)
{
	uint64_t then = log_clock_realtime(sums->log, time);

	return sums->now_ns > then ? sums->now_ns - then : 0;
}

/* The age of the (k + 1)th oldest block of a site; in the middle of its moment. */
static uint64_t nth_age(struct site_sums *sums, const struct times *times, uint64_t k)
{
	uint64_t time = sums->start + ((uint64_t)u32_lists_nth(&sums->numbers, &times->list, k) << sums->shift) +
			(1ull << sums->shift >> 1);

	return age(sums, MIN(MAX(time, times->oldest), times->youngest));
}

/* A later time is a smaller age, so the order of times is the reverse of that of ages. */
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

static struct site_sums sums_begin(const struct log *log, const struct site_spec *spec,
				   uint64_t now_ns)
{
	return (struct site_sums){
		.log = log, .spec = spec, .now_ns = now_ns,
		.mean = log_config(log).sample,
		.start = log_clock_begin(log), .end = log_now(),
		.older = log_older(log),
		.sites = { .all_time = true },
	};
}

static bool by_stacks(const struct site_sums *sums)
{
	return by_name(sums) || sums->spec->by == SITE_STACK;
}

/* Finish the sites when all blocks are added up. */
static void finish(struct site_sums *sums, struct sites *ret)
{
	struct sites *sites = &sums->sites;
	enum site_sort sort = sums->spec->sort;

	ages(sums);
	if (sums->spec->by != SITE_STACK)
		pick_stacks(sums);
	if (sites->vec.nr)
		qsort_r(sites->vec.at, sites->vec.nr, sizeof(*sites->vec.at), site_rank_compare,
			&sort);
	sites->vec.nr = MIN(sites->vec.nr, sums->spec->limit);
	*ret = *sites;
	*sites = (struct sites)SITES_INIT;
}

/* live has all blocks, also those that the filter drops: the rest of the all-time counts was freed. */
static struct err *sums_end(struct site_sums *sums, const struct live_counts *live,
			    struct sites *ret)
{
	struct moment now = MOMENT_INIT;
	struct err *err = by_stacks(sums) ? totals(sums, live) : NULL;

	call_rates(sums);
	if (!err && (sums->spec->taken || sums->spec->since))
		err = moment_take(live, sums->now_ns, &now);
	now.older = sums->older;
	if (!err && by_stacks(sums))
		err = growths(sums, &now);
	if (!err)
		finish(sums, ret);
	if (err || !sums->spec->taken)
		moment_free(&now);
	else
		*sums->spec->taken = now;
	return err;
}

static void sums_free(struct site_sums *sums)
{
	interner_free(&sums->cache.stacks);
	vec_free(&sums->cache.keys);
	interner_free(&sums->keys);
	interner_free(&sums->parts);
	vec_free(&sums->part_bytes);
	u32_lists_free(&sums->numbers);
	vec_free(&sums->times);
	sites_free(&sums->sites);
}

struct err *sites_build(const struct log *log, const struct blocks *blocks,
			const struct site_spec *spec, uint64_t now_ns, struct sites *ret)
{
	struct site_sums sums CLEANUP(sums_free) = sums_begin(log, spec, now_ns);
	struct err *err = NULL;

	vec_each_while(block, &blocks->vec, !err)
		err = sums_add(&sums, block, block_share(sums.mean, block));
	return err ? err : sums_end(&sums, &blocks->live, ret);
}

struct err *sites_from_list(const struct log *log, struct list *list, const struct site_spec *spec,
			    uint64_t now_ns, struct sites *ret)
{
	struct site_sums sums CLEANUP(sums_free) = sums_begin(log, spec, now_ns);
	const struct block *block;
	struct err *err;

	while (!(err = block_list_next(list, &block)) && block) {
		struct sample_share share = block_share(sums.mean, block);

		/* In a log that samples, the records stand for these, too. */
		if (block->preattach && sums.mean)
			continue;
		err = sums_add(&sums, block, share);
		if (err)
			break;
		if (block->preattach) {
			sums.sites.early_bytes += share.bytes;
			sums.sites.early_count += share.blocks;
		}
	}
	if (!err)
		finish(&sums, ret);
	return err;
}

struct adding {
	const struct filter *filter;
	const struct filter_env *env;
	struct site_sums *sums;
	struct live_counts live;
};

static struct err *add(const struct block *block, uint64_t slot UNUSED, void *ctx)
{
	struct adding *adding = ctx;
	uint64_t mean = adding->sums->mean;
	struct err *err = live_counts_meet(adding->sums->log, &adding->live, mean, block);

	if (err || !filter_matches(adding->filter, adding->env, block))
		return err;
	return sums_add(adding->sums, block, block_share(mean, block));
}

struct err *sites_from_log(const struct filter_env *env, const struct filter *filter,
			   const struct in_hand *in_hand, const struct site_spec *spec,
			   struct sites *ret)
{
	struct site_sums sums CLEANUP(sums_free) = sums_begin(env->log, spec, env->now_ns);
	struct adding adding = { .filter = filter, .env = env, .sums = &sums };
	struct err *err = block_live_counts_init(env->log, &adding.live);

	sums.sites.idle = spec->idle && by_stacks(&sums) && filter_is_by_stack(filter);
	sums.filter = sums.sites.idle ? filter : NULL;
	sums.env = env;
	if (!err)
		err = blocks_each(env->log, in_hand, add, &adding);
	if (!err)
		err = sums_end(&sums, &adding.live, ret);
	vec_free(&adding.live);
	return err;
}

struct err *sites_from_moment(const struct filter_env *env, const struct filter *filter,
			      const struct moment *moment, const struct site_spec *spec,
			      struct sites *ret)
{
	struct site_sums sums CLEANUP(sums_free) = sums_begin(env->log, spec, moment->time_ns);
	struct live_counts live = VEC_INIT;
	struct err *err = NULL;

	sums.sites = (struct sites){ .past = true, .all_time = spec->totals,
				     .idle = spec->totals && spec->idle };
	sums.filter = sums.sites.idle ? filter : NULL;
	sums.env = env;
	for (size_t i = 0; i < moment->vec.nr && !err; i++) {
		const struct moment_sum *sum = &moment->vec.at[i];
		const struct sample_share share = { .bytes = sum->bytes, .blocks = sum->count };
		struct block block = { .stack = log_deferred_whole(env->log, sum->stack) };
		struct sample_share *held = vec_slot(&live, block.stack);

		err = held ? NULL : err_nomem;
		if (held)
			*held = share;
		if (held && filter_matches(filter, env, &block))
			err = sums_add(&sums, &block, share);
	}
	if (!err && sums.sites.all_time)
		err = totals(&sums, &live);
	vec_free(&live);
	call_rates(&sums);
	if (!err)
		err = growths(&sums, moment);
	if (!err)
		finish(&sums, ret);
	return err;
}

void sites_free(struct sites *sites)
{
	vec_free(&sites->vec);
}
