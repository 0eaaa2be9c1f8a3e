/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What each stack holds, allocates and frees from one reading of the log to the next. */

#include "heap/rates.h"

#include "base/cleanup.h"

struct reading {
	const struct log *log;
	uint64_t mean;			/* of sampling; 0 */
	struct live_counts live;
	struct log_older older;
};

static struct err *add_block(const struct block *block, uint64_t slot UNUSED, void *ctx)
{
	struct reading *reading = ctx;

	/* A stack may have come since the scan began. */
	if (UNLIKELY(block->stack >= reading->live.nr) &&
	    block->stack <= reader_stacks(reading->log) && !vec_slot(&reading->live, block->stack))
		return err_nomem;
	live_counts_add(&reading->live, reading->mean, block);
	return NULL;
}

static void rate_add(struct rate *to, const struct rate *rate)
{
	to->bytes += rate->bytes;
	to->count += rate->count;
	to->allocs += rate->allocs;
	to->frees += rate->frees;
	for (unsigned i = 0; i < RATES_PAST; i++)
		to->past[i] += rate->past[i];
}

/* A deferred stack (log/log_deferred.h) may be whole now: its counts are added to the whole one. */
static void add_to_whole(struct rates *rates, const struct log *log)
{
	for (uint32_t stack = 1; stack < rates->vec.nr; stack++) {
		struct rate *rate = &rates->vec.at[stack];
		uint32_t whole = rate->allocs ? log_deferred_whole(log, stack) : stack;

		if (whole == stack || whole >= rates->vec.nr)
			continue;
		rate_add(&rates->vec.at[whole], rate);
		memset(rate, 0, sizeof(*rate));
	}
}

/*
 * There are three counts of what was ever allocated: that of the reading before, the total of the
 * log, and what was freed before plus what is held now. None of them is too large, so the largest
 * is nearest to the truth.
 */
static void rate_read(struct rate *rate, struct sample_share held, uint64_t total, unsigned slot)
{
	struct rate before = *rate;
	uint64_t seen = MAX(total, held.blocks + before.frees);

	rate->bytes = held.bytes;
	rate->count = held.blocks;
	rate->allocs = MAX(before.allocs, seen);
	rate->frees = rate->allocs - held.blocks;
	rate->growth = (int64_t)(held.bytes - before.bytes);
	rate->new_allocs = rate->allocs - before.allocs;
	rate->new_frees = rate->frees - before.frees;
	rate->past[slot] = (float)held.bytes;
}

static void forget_new(struct rate *rate)
{
	rate->growth = 0;
	rate->new_allocs = rate->new_frees = 0;
}

static void add_up(struct rates *rates, unsigned slot)
{
	struct rate *all = &rates->all;

	all->bytes = all->count = all->allocs = all->frees = 0;
	forget_new(all);
	vec_each(rate, &rates->vec) {
		all->bytes += rate->bytes;
		all->count += rate->count;
		all->allocs += rate->allocs;
		all->frees += rate->frees;
		all->growth += rate->growth;
		all->new_allocs += rate->new_allocs;
		all->new_frees += rate->new_frees;
	}
	all->past[slot] = (float)all->bytes;
}

static struct log_older older_since(const struct log_older *from, const struct log_older *to)
{
	return (struct log_older){
		.known = from->known && to->known,
		.bytes = to->bytes - from->bytes,
		.frees = to->frees - from->frees,
		.unsized = to->unsized - from->unsized,
	};
}

static void take_reading(struct rates *rates, const struct reading *reading,
			 const struct log_totals *totals, uint64_t now_ns)
{
	const struct live_counts *live = &reading->live;
	unsigned slot = rates->nr % RATES_PAST;

	rates->over_ns = rates->nr && now_ns > rates->time_ns ? now_ns - rates->time_ns : 0;
	for (size_t stack = 0; stack < rates->vec.nr; stack++) {
		struct rate *rate = &rates->vec.at[stack];
		struct sample_share held = stack < live->nr ? live->at[stack] :
							      (struct sample_share){ 0, 0 };

		rate_read(rate, held, stack < totals->nr ? totals->at[stack].blocks : 0, slot);
		if (!rates->over_ns)
			forget_new(rate);
	}
	add_up(rates, slot);
	rates->new_older = older_since(rates->over_ns ? &rates->older : &reading->older,
				       &reading->older);
	rates->older = reading->older;
	rates->time_ns = now_ns;
	rates->nr++;
}

struct err *rates_read(struct rates *rates, const struct log *log, const struct in_hand *in_hand,
		       const struct log_totals *totals, uint64_t now_ns)
{
	struct reading reading = { .log = log, .mean = log_config(log).sample, .live = VEC_INIT,
				   .older = log_older(log) };
	struct err *err;

	if (reader_stacks(log) > RATES_STACKS)
		return err_create(ERR_RANGE, "more than %u stacks", RATES_STACKS);
	err = block_live_counts_init(log, &reading.live);
	if (!err)
		err = blocks_each(log, in_hand, add_block, &reading);
	if (!err && !vec_slot(&rates->vec, MAX(reading.live.nr, (size_t)totals->nr) - 1))
		err = err_nomem;
	if (!err && rates->start != log_clock_begin(log)) {
		rates->start = log_clock_begin(log);
		rates->nr = 0;
		memset(rates->vec.at, 0, rates->vec.nr * sizeof(*rates->vec.at));
	}
	if (!err) {
		add_to_whole(rates, log);
		take_reading(rates, &reading, totals, now_ns);
	}
	vec_free(&reading.live);
	return err;
}

static int64_t rank_of(const struct rate *rate, enum rates_sort sort)
{
	return sort == RATES_GROWTH ? rate->growth :
	       sort == RATES_ALLOCS ? (int64_t)rate->new_allocs :
	       sort == RATES_FREES ? (int64_t)rate->new_frees : (int64_t)rate->bytes;
}

struct ranking {
	const struct rates *rates;
	enum rates_sort sort;
};

static int by_rank(const void *va, const void *vb, void *ctx)
{
	const struct ranking *ranking = ctx;
	uint32_t a = *(const uint32_t *)va, b = *(const uint32_t *)vb;
	const struct rate *one = &ranking->rates->vec.at[a], *other = &ranking->rates->vec.at[b];
	int64_t x = rank_of(one, ranking->sort), y = rank_of(other, ranking->sort);

	if (x != y)
		return x > y ? -1 : 1;
	if (one->bytes != other->bytes)
		return one->bytes > other->bytes ? -1 : 1;
	return a < b ? -1 : a > b;
}

struct err *rates_top(const struct rates *rates, enum rates_sort sort, size_t limit,
		      struct rates_top *ret)
{
	struct ranking ranking = { rates, sort };
	struct err *err = NULL;

	vec_clear(&ret->vec);
	for (size_t stack = 0; stack < rates->vec.nr && !err; stack++) {
		const struct rate *rate = &rates->vec.at[stack];

		if (rate->count || rate->new_allocs || rate->new_frees)
			err = vec_push(&ret->vec, (uint32_t)stack);
	}
	if (ret->vec.nr)
		qsort_r(ret->vec.at, ret->vec.nr, sizeof(*ret->vec.at), by_rank, &ranking);
	ret->vec.nr = MIN(ret->vec.nr, limit);
	return err;
}

size_t rates_past(const struct rates *rates, const struct rate *rate, float ret[RATES_PAST])
{
	size_t nr = MIN(rates->nr, (uint64_t)RATES_PAST);

	for (size_t i = 0; i < nr; i++)
		ret[i] = rate->past[(rates->nr - nr + i) % RATES_PAST];
	return nr;
}

const struct rate *rates_of(const struct rates *rates, uint32_t stack)
{
	return stack < rates->vec.nr ? &rates->vec.at[stack] : NULL;
}

void rates_free(struct rates *rates)
{
	vec_free(&rates->vec);
}
