/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sites, against a sum made the slow way. */

#include "fixture.h"
#include "heap/site.h"

#define NOW	(EPOCH + 1000 * SECOND)	/* all blocks are older */

static struct log log_;
static uint32_t ids[64];
static const struct log_totals *totals_;
static const struct moment *since_;
static struct moment *taken_;

static uint64_t key_of(void *ctx, uint32_t stack, enum site_by by)
{
	++*(unsigned *)ctx;
	return by == SITE_FUNCTION ? stack % 7 : by == SITE_LINE ? stack % 11 : stack % 3;
}

static int setup(void)
{
	fixture_open(&log_);
	for (uint64_t i = 0; i < ARRAY_SIZE(ids); i++) {
		uint64_t pcs[2] = { i + 1, 2 };

		ids[i] = stack_table_insert(&log_, pcs, 2, 0, 0);
		stack_table_count(&log_, ids[i], 10 * (i + 1), 1000 * (i + 1));
	}
	return !ids[63];
}

static int teardown(void)
{
	fixture_close(&log_);
	return 0;
}

FIXTURE(setup, teardown);

static struct sites build(const struct blocks *blocks, enum site_by by, enum site_sort sort,
			  uint64_t limit)
{
	unsigned asked = 0;
	struct site_spec spec = { by, sort, limit, key_of, &asked, totals_, since_, taken_, false };
	struct sites sites = SITES_INIT;

	CU_ASSERT_PTR_NULL_FATAL(sites_build(&log_, blocks, &spec, NOW, &sites));
	CU_ASSERT_TRUE(asked <= reader_stacks(&log_) + 1);
	return sites;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static uint64_t key(const struct block *block, enum site_by by)
{
	unsigned asked;

	switch (by) {
	case SITE_STACK:
		return block->stack;
	case SITE_THREAD:
		return block->thread;
	case SITE_SIZE:
		return block->size;
	default:
		return key_of(&asked, block->stack, by);
	}
}

static void check_ages(const struct site *site, uint64_t *ages, size_t nr)
{
	qsort(ages, nr, sizeof(*ages), compare);
	CU_ASSERT_EQUAL(site->oldest, nr ? ages[nr - 1] : 0);
	CU_ASSERT_EQUAL(site->median, !nr ? 0 : nr % 2 ? ages[nr / 2] :
			ages[nr / 2 - 1] + (ages[nr / 2] - ages[nr / 2 - 1]) / 2);
}

static void check_site(const struct blocks *blocks, enum site_by by, const struct site *site)
{
	uint64_t *ages = malloc((blocks->vec.nr + 1) * sizeof(*ages)), bytes = 0, count = 0;
	uint64_t by_stack[65] = { 0 }, total = 0;
	size_t nr = 0;

	for (size_t i = 0; i < blocks->vec.nr; i++) {
		const struct block *block = &blocks->vec.at[i];

		if (key(block, by) != site->key)
			continue;
		bytes += block->size;
		count++;
		by_stack[block->stack] += block->size + 1;
		if (block->time)
			ages[nr++] = NOW - EPOCH - block->time;
	}
	CU_ASSERT_EQUAL(site->bytes, bytes);
	CU_ASSERT_EQUAL(site->count, count);
	for (uint32_t i = 0; i < 65; i++)
		CU_ASSERT_TRUE(by_stack[i] == 0 || by_stack[i] <= by_stack[site->stack] + count);
	for (uint32_t i = 1; i <= 64; i++)
		if (by == SITE_STACK ? i == site->key : by < SITE_THREAD &&
		    key(&(struct block){ .stack = i }, by) == site->key)
			total += 10 * i;
	CU_ASSERT_EQUAL(site->total, total);
	CU_ASSERT(!site->growth && !site->rate);
	check_ages(site, ages, nr);
	free(ages);
}

static void check_order(const struct sites *sites, enum site_sort sort)
{
	for (size_t i = 1; i < sites->vec.nr; i++) {
		const struct site *a = &sites->vec.at[i - 1], *b = &sites->vec.at[i];
		uint64_t x = sort == SITE_SORT_COUNT ? a->count : sort == SITE_SORT_AGE ? a->oldest
			: a->bytes;
		uint64_t y = sort == SITE_SORT_COUNT ? b->count : sort == SITE_SORT_AGE ? b->oldest
			: b->bytes;

		CU_ASSERT_TRUE_FATAL(x > y || (x == y && a->key < b->key));
	}
}

TEST("against an oracle")
{
	struct blocks blocks = BLOCKS_INIT;
	uint64_t bytes = 0;
	uint32_t x = 1;

	for (uint64_t i = 0; i < 3000; i++) {
		x = x * 1664525 + 1013904223;
		fixture_push(&blocks, (struct block){ .address = i * 16, .size = x >> 27,
						     .time = (x >> 12) * 1000ull,
						      .thread = x >> 10 & 3,
							.stack = ids[(x >> 16) % 64] });
		bytes += x >> 27;
	}
	for (uint64_t i = 0; i < 50; i++)
		fixture_push(&blocks, (struct block){ .address = i + 1, .size = 3,
						     .preattach = true });
	for (enum site_by by = SITE_STACK; by <= SITE_SIZE; by++) {
		for (enum site_sort sort = SITE_SORT_BYTES; sort <= SITE_SORT_RATE; sort++) {
			struct sites sites = build(&blocks, by, sort, UINT64_MAX);

			CU_ASSERT_EQUAL(sites.bytes, bytes + 150);
			CU_ASSERT_EQUAL(sites.count, 3050);
			for (size_t i = 0; i < sites.vec.nr; i++)
				check_site(&blocks, by, &sites.vec.at[i]);
			check_order(&sites, sort);
			sites_free(&sites);
		}
	}
	blocks_free(&blocks);
}

/*
 * Of many blocks: the median is exact while recording takes 2^32 ticks, and to one part in 2^32 of it
 * from then on.
 */
TEST("many")
{
	enum { NR = 30001 };

	for (unsigned shift = 0; shift <= 10; shift += 5) {
		for (uint64_t nr = NR; nr < NR + 2; nr++) {
			struct blocks blocks = BLOCKS_INIT;
			struct sites sites;
			uint64_t want;

			/* Eleven has no divisor in common with either number: all times but 0 come once. */
			for (uint64_t i = 0; i < nr; i++)
				fixture_push(&blocks, (struct block){ .address = i + 1, .size = 1,
					.time = (i * 11 % nr + 1) * 30000 << shift, .stack = ids[0] });
			sites = build(&blocks, SITE_STACK, SITE_SORT_BYTES, UINT64_MAX);
			CU_ASSERT_EQUAL_FATAL(sites.vec.nr, 1);
			want = NOW - EPOCH - ((nr + 1) * 30000 << shift) / 2;
			CU_ASSERT_EQUAL(sites.vec.at[0].oldest, NOW - EPOCH - (30000ull << shift));
			CU_ASSERT_TRUE(sites.vec.at[0].median - want + (1u << shift) <= 2u << shift);
			CU_ASSERT_TRUE(shift || sites.vec.at[0].median == want);
			sites_free(&sites);
			blocks_free(&blocks);
		}
	}
}

TEST("limit")
{
	struct blocks blocks = BLOCKS_INIT;
	struct sites sites;

	sites = build(&blocks, SITE_STACK, SITE_SORT_BYTES, UINT64_MAX);
	CU_ASSERT_EQUAL(sites.vec.nr, 0);
	sites_free(&sites);
	for (uint32_t i = 0; i < 64; i++)
		fixture_push(&blocks, (struct block){ .address = i + 1, .size = 10, .time = 5,
						     .stack = ids[i] });
	sites = build(&blocks, SITE_STACK, SITE_SORT_BYTES, 5);
	CU_ASSERT_EQUAL(sites.vec.nr, 5);
	CU_ASSERT_EQUAL(sites.bytes, 640);
	CU_ASSERT_EQUAL(sites.count, 64);
	for (uint32_t i = 0; i < 5; i++)
		CU_ASSERT_EQUAL(sites.vec.at[i].key, i + 1);
	CU_ASSERT_EQUAL(sites.vec.at[2].total, 30);
	CU_ASSERT_EQUAL(sites.vec.at[2].total_bytes, 3000);
	CU_ASSERT_EQUAL(sites.vec.at[2].freed, 30);	/* the scan is said to have seen none */
	CU_ASSERT_EQUAL(sites.vec.at[2].stack, 3);
	sites_free(&sites);
	blocks_free(&blocks);
}

static void push_live(struct blocks *blocks, uint64_t nr, uint64_t bytes)
{
	CU_ASSERT_PTR_NULL_FATAL(vec_push(&blocks->live, ((struct sample_share){ nr, bytes })));
}

/* Freed is all that the scan has not seen live, whatever a filter has left of it. */
TEST("freed")
{
	struct blocks blocks = BLOCKS_INIT;
	struct sites sites;

	for (uint64_t i = 0; i <= 64; i++)
		push_live(&blocks, 2 * i, 20 * i);
	blocks.live.at[ids[5]] = (struct sample_share){ 1000, 5000 };	/* more than are counted */
	fixture_push(&blocks, (struct block){ .address = 1, .size = 10, .time = 5,
					     .stack = ids[2] });
	fixture_push(&blocks, (struct block){ .address = 2, .size = 10, .time = 5,
					     .stack = ids[5] });
	fixture_push(&blocks, (struct block){ .address = 3, .size = 10, .time = 5 });
	sites = build(&blocks, SITE_STACK, SITE_SORT_BYTES, UINT64_MAX);
	CU_ASSERT_EQUAL_FATAL(sites.vec.nr, 3);
	CU_ASSERT_EQUAL(sites.vec.at[0].freed, 0);
	CU_ASSERT_EQUAL(sites.vec.at[1].total, 30);
	CU_ASSERT_EQUAL(sites.vec.at[1].freed, 30 - 6);
	CU_ASSERT_EQUAL(sites.vec.at[1].freed_bytes, 3000 - 60);
	CU_ASSERT_EQUAL(sites.vec.at[2].total, 1000);
	CU_ASSERT_EQUAL(sites.vec.at[2].total_bytes, 5000);
	CU_ASSERT(!sites.vec.at[2].freed && !sites.vec.at[2].freed_bytes);
	sites_free(&sites);
	/* Of all stacks of a site, those without a block in the list, too. */
	sites = build(&blocks, SITE_MODULE, SITE_SORT_BYTES, UINT64_MAX);
	for (size_t i = 0; i < sites.vec.nr; i++) {
		uint64_t freed = 0, bytes = 0;

		for (uint32_t id = 1; id <= 64; id++) {
			if (id % 3 != sites.vec.at[i].key || id == ids[5])
				continue;
			freed += 10 * id - 2 * id;
			bytes += 1000 * id - 20 * id;
		}
		CU_ASSERT_EQUAL(sites.vec.at[i].freed, freed);
		CU_ASSERT_EQUAL(sites.vec.at[i].freed_bytes, bytes);
	}
	sites_free(&sites);
	blocks_free(&blocks);
}

/* What the agent's threads still keep is part of the totals; of two readings the larger one counts. */
TEST("totals")
{
	struct blocks blocks = BLOCKS_INIT;
	struct log_totals all;
	struct sites sites;

	CU_ASSERT_PTR_NULL_FATAL(log_totals_init(&log_, &all));
	for (unsigned reading = 0; reading < 3; reading++) {
		log_totals_begin(&log_, &all);
		if (reading == 1) {
			log_totals_add(&all, ids[2], 7, 70);
			log_totals_add(&all, ids[2], 1, 5);
			log_totals_add(&all, ids[3], 100, 1);
			log_totals_add(&all, 65, 1, 1);
			log_totals_add(&all, UINT32_MAX, 1, 1);
		}
		if (reading == 2)	/* taken back from what is elsewhere */
			log_totals_add(&all, ids[4], -1000ull, -1000ull);
		log_totals_end(&all);
	}
	fixture_push(&blocks, (struct block){ .address = 1, .size = 10, .time = 5,
					     .stack = ids[2] });
	fixture_push(&blocks, (struct block){ .address = 2, .size = 5, .time = 5,
					     .stack = ids[4] });
	totals_ = &all;
	sites = build(&blocks, SITE_STACK, SITE_SORT_BYTES, UINT64_MAX);
	totals_ = NULL;
	CU_ASSERT_EQUAL_FATAL(sites.vec.nr, 2);
	CU_ASSERT_EQUAL(sites.vec.at[0].total, 38);
	CU_ASSERT_EQUAL(sites.vec.at[0].total_bytes, 3075);
	CU_ASSERT_EQUAL(sites.vec.at[0].freed, 38);
	CU_ASSERT_EQUAL(sites.vec.at[1].total, 50);
	sites_free(&sites);
	log_totals_free(&all);
	CU_ASSERT_PTR_NULL(all.at);
	blocks_free(&blocks);
}

/* Stacks that have come since the totals were read, and counts that have grown: the sums hold. */
TEST("sums hold")
{
	struct blocks blocks = BLOCKS_INIT;
	struct log_totals early = { .at = NULL };
	struct sites sites;

	for (uint64_t i = 0; i <= 64; i++)
		push_live(&blocks, 3 * i, 300 * i);
	fixture_push(&blocks, (struct block){ .address = 1, .size = 10, .time = 5,
					     .stack = ids[40] });
	for (unsigned known = 0; known < 2; known++) {
		if (known)
			CU_ASSERT_PTR_NULL_FATAL(log_totals_init(&log_, &early));
		totals_ = &early;
		sites = build(&blocks, SITE_STACK, SITE_SORT_BYTES, UINT64_MAX);
		totals_ = NULL;
		CU_ASSERT_EQUAL_FATAL(sites.vec.nr, 1);
		CU_ASSERT_EQUAL(sites.vec.at[0].total, 3 * ids[40]);
		CU_ASSERT_EQUAL(sites.vec.at[0].total_bytes, 300 * ids[40]);
		CU_ASSERT(!sites.vec.at[0].freed && !sites.vec.at[0].freed_bytes);
		sites_free(&sites);
	}
	log_totals_free(&early);
	blocks_free(&blocks);
}

static struct blocks live_of(uint64_t first, uint64_t second, uint64_t third)
{
	struct blocks blocks = BLOCKS_INIT;

	push_live(&blocks, 0, 0);
	push_live(&blocks, !!first, first);
	push_live(&blocks, !!second, second);
	push_live(&blocks, !!third, third);
	for (uint32_t i = 0; i < 2; i++)
		fixture_push(&blocks, (struct block){ .address = i + 1, .size = 1, .time = 5,
						     .stack = ids[i] });
	return blocks;
}

/*
 * What is live now, less what was at the earlier moment; of all stacks of a site, those that hold
 * nothing now, too.
 */
TEST("growth")
{
	struct moment before = { .time_ns = NOW - 10 * SECOND }, now = MOMENT_INIT;
	struct blocks blocks = live_of(1000, 500, 0);
	struct sites sites;

	/* A table that stays; one that shrinks; a site that was left. */
	CU_ASSERT_PTR_NULL_FATAL(vec_push(&before.vec, ((struct moment_sum){ ids[0], 1000, 1 })));
	CU_ASSERT_PTR_NULL_FATAL(vec_push(&before.vec, ((struct moment_sum){ ids[1], 700, 1 })));
	CU_ASSERT_PTR_NULL_FATAL(vec_push(&before.vec, ((struct moment_sum){ ids[3], 99, 1 })));
	since_ = &before;
	taken_ = &now;
	sites = build(&blocks, SITE_STACK, SITE_SORT_GROWTH, UINT64_MAX);
	CU_ASSERT_EQUAL(sites.growth_ns, 10 * SECOND);
	CU_ASSERT_EQUAL_FATAL(sites.vec.nr, 2);
	CU_ASSERT(sites.vec.at[0].stack == ids[0] && sites.vec.at[0].growth == 0);
	CU_ASSERT(sites.vec.at[1].stack == ids[1] && sites.vec.at[1].growth == -200);
	CU_ASSERT_DOUBLE_EQUAL(sites.vec.at[1].rate, -20.0, 1e-9);
	CU_ASSERT_EQUAL(now.time_ns, NOW);
	CU_ASSERT_EQUAL_FATAL(now.vec.nr, 2);
	CU_ASSERT(now.vec.at[1].stack == ids[1] && now.vec.at[1].bytes == 500);
	sites_free(&sites);
	moment_free(&now);
	/* Three sites by module: 1, 2, and 0, which has no block listed. ids[3] is of site 1. */
	sites = build(&blocks, SITE_MODULE, SITE_SORT_RATE, UINT64_MAX);
	CU_ASSERT_EQUAL_FATAL(sites.vec.nr, 2);
	CU_ASSERT(sites.vec.at[0].key == 1 && sites.vec.at[0].growth == -99);
	CU_ASSERT(sites.vec.at[1].key == 2 && sites.vec.at[1].growth == -200);
	sites_free(&sites);
	moment_free(&now);
	/* By thread and size it is not known; nor with a moment that is not before. */
	sites = build(&blocks, SITE_SIZE, SITE_SORT_GROWTH, UINT64_MAX);
	CU_ASSERT(!sites.growth_ns && sites.vec.nr == 1 && !sites.vec.at[0].growth);
	sites_free(&sites);
	moment_free(&now);
	before.time_ns = NOW;
	sites = build(&blocks, SITE_STACK, SITE_SORT_GROWTH, UINT64_MAX);
	CU_ASSERT(!sites.growth_ns && sites.vec.nr == 2 && !sites.vec.at[0].growth);
	since_ = NULL;
	taken_ = NULL;
	sites_free(&sites);
	moment_free(&now);
	moment_free(&before);
	blocks_free(&blocks);
}

/* The all-time sorts, and sites that hold nothing now. */
TEST("idle")
{
	struct sample_share at[64] = { [0] = { 0, 0 } };
	struct log_totals totals = { .at = at, .nr = 64 };
	struct filter filter = { VEC_INIT };
	const struct filter_env env = { .log = &log_, .now_ns = NOW };
	const struct in_hand none = { VEC_INIT };
	unsigned asked = 0;
	struct site_spec spec = { .limit = UINT64_MAX, .key_of = key_of, .ctx = &asked,
				  .totals = &totals };
	struct sites sites;

	CU_ASSERT_FATAL(ids[2] < 64);
	at[ids[0]] = (struct sample_share){ .blocks = 10, .bytes = 4000 };
	at[ids[1]] = (struct sample_share){ .blocks = 300, .bytes = 900 };
	at[ids[2]] = (struct sample_share){ .blocks = 20, .bytes = 100 };
	CU_ASSERT_PTR_NULL_FATAL(sites_from_log(&env, &filter, &none, &spec, &sites));
	CU_ASSERT(!sites.idle && !sites.vec.nr);
	sites_free(&sites);
	spec.idle = true;
	for (spec.sort = SITE_SORT_TOTAL; spec.sort <= SITE_SORT_TEMPORARY; spec.sort++) {
		bool first = spec.sort == SITE_SORT_TOTAL;

		CU_ASSERT_PTR_NULL_FATAL(sites_from_log(&env, &filter, &none, &spec, &sites));
		CU_ASSERT_FATAL(sites.idle && sites.vec.nr == 3 && !sites.bytes);
		CU_ASSERT(sites.total == 330 && sites.total_bytes == 5000);
		CU_ASSERT_EQUAL(sites.vec.at[0].key, ids[first ? 0 : 1]);
		CU_ASSERT_EQUAL(sites.vec.at[1].key, ids[first ? 1 : 2]);
		CU_ASSERT_EQUAL(sites.vec.at[!first].freed, first ? 10 : 20);
		CU_ASSERT(sites.vec.at[0].call_rate > 0);
		sites_free(&sites);
	}
	/* By module the stack with most of all time stands for the site. */
	spec.by = SITE_MODULE;
	CU_ASSERT_PTR_NULL_FATAL(sites_from_log(&env, &filter, &none, &spec, &sites));
	for (size_t i = 0; i < sites.vec.nr; i++)
		for (uint32_t id = 1; id < 64; id++)
			if (at[id].blocks && key_of(&asked, id, SITE_MODULE) == sites.vec.at[i].key)
				CU_ASSERT(at[sites.vec.at[i].stack].bytes >= at[id].bytes);
	sites_free(&sites);
	/* A block that was freed has no size any more. */
	CU_ASSERT_PTR_NULL_FATAL(vec_push(&filter.conds, ((struct filter_cond){
		.attr = FILTER_SIZE, .relop = FILTER_GT })));
	CU_ASSERT_PTR_NULL_FATAL(sites_from_log(&env, &filter, &none, &spec, &sites));
	CU_ASSERT(!sites.idle && !sites.vec.nr);
	sites_free(&sites);
	filter_free(&filter);
}

static bool is_odd(void *ctx UNUSED, uint32_t stack, enum filter_attr attr UNUSED,
		   const char *glob UNUSED)
{
	return stack % 2;
}

static struct sites at_moment(const struct moment *moment, enum site_by by,
			      const struct filter *filter)
{
	const struct filter_env env = { .log = &log_, .now_ns = NOW, .stack_matches = is_odd };
	unsigned asked = 0;
	struct site_spec spec = { by, SITE_SORT_BYTES, UINT64_MAX, key_of, &asked, NULL, since_, NULL,
				  false };
	struct sites sites = SITES_INIT;

	CU_ASSERT_PTR_NULL_FATAL(sites_from_moment(&env, filter, moment, &spec, &sites));
	CU_ASSERT_TRUE(sites.past);
	return sites;
}

/* What there had been by then is known of a recording: also of sites that are not asked for with what they hold. */
TEST("of a moment, with what there had been in all")
{
	struct moment_sum sums[] = { { 2, 50, 1 }, { 5, 700, 3 } };
	const struct moment then = { .time_ns = NOW, .vec = { sums, 2, 2 } };
	const struct filter_env env = { .log = &log_, .now_ns = NOW };
	const struct filter none = { VEC_INIT };
	struct sample_share at[64] = { [2] = { .blocks = 40, .bytes = 2000 }, [5] = { .blocks = 3, .bytes = 700 },
				       [8] = { .blocks = 90, .bytes = 90 } };
	struct log_totals totals = { .at = at, .nr = 64, .begin_ns = NOW - 20 * SECOND };
	struct site_spec spec = { .limit = UINT64_MAX, .sort = SITE_SORT_CALLRATE, .totals = &totals };
	struct sites sites;

	CU_ASSERT_FATAL(reader_stacks(&log_) >= 8);
	CU_ASSERT_PTR_NULL_FATAL(sites_from_moment(&env, &none, &then, &spec, &sites));
	CU_ASSERT_FATAL(sites.past && sites.all_time && !sites.idle && sites.vec.nr == 2);
	CU_ASSERT(sites.vec.at[0].key == 2 && sites.vec.at[0].freed == 39 && sites.vec.at[0].call_rate == 2);
	CU_ASSERT(sites.vec.at[1].key == 5 && !sites.vec.at[1].freed);
	sites_free(&sites);
	spec.idle = true;
	CU_ASSERT_PTR_NULL_FATAL(sites_from_moment(&env, &none, &then, &spec, &sites));
	CU_ASSERT_FATAL(sites.idle && sites.vec.nr == 3);
	CU_ASSERT(sites.vec.at[0].key == 8 && !sites.vec.at[0].bytes && sites.vec.at[0].call_rate == 4.5);
	sites_free(&sites);
	spec.totals = NULL;
	CU_ASSERT_PTR_NULL_FATAL(sites_from_moment(&env, &none, &then, &spec, &sites));
	CU_ASSERT(!sites.all_time && sites.vec.nr == 2 && !sites.vec.at[0].call_rate);
	sites_free(&sites);
}

/* Of a moment: its sums, by stack and by name, filtered by names, and growth up to it. */
TEST("of a moment")
{
	struct moment_sum sums[] = { { 2, 50, 1 }, { 5, 700, 3 }, { 8, 20, 2 } };
	const struct moment then = { .time_ns = NOW - 60 * SECOND, .vec = { sums, 3, 3 } };
	struct moment_sum earlier[] = { { 5, 800, 4 }, { 11, 9, 1 } };
	const struct moment before = { .time_ns = NOW - 70 * SECOND, .vec = { earlier, 2, 2 } };
	struct filter none = { VEC_INIT }, odd = { VEC_INIT };
	struct sites sites = at_moment(&then, SITE_STACK, &none);

	CU_ASSERT(sites.vec.nr == 3 && sites.bytes == 770 && sites.count == 6 && !sites.growth_ns);
	CU_ASSERT(sites.vec.at[0].stack == 5 && sites.vec.at[0].bytes == 700 &&
		  sites.vec.at[0].count == 3 && !sites.vec.at[0].total);
	sites_free(&sites);
	/* All four stacks leave 2 when they are divided by three; 8 and 11 are of the site, too. */
	since_ = &before;
	sites = at_moment(&then, SITE_MODULE, &none);
	since_ = NULL;
	CU_ASSERT_EQUAL_FATAL(sites.vec.nr, 1);
	CU_ASSERT(sites.vec.at[0].bytes == 770 && sites.vec.at[0].stack == 5);
	CU_ASSERT(sites.growth_ns == 10 * SECOND && sites.vec.at[0].growth == 770 - 809);
	sites_free(&sites);
	CU_ASSERT_PTR_NULL_FATAL(vec_push(&odd.conds, ((struct filter_cond){
		.attr = FILTER_FUNCTION, .relop = FILTER_EQ })));
	sites = at_moment(&then, SITE_STACK, &odd);
	CU_ASSERT(sites.vec.nr == 1 && sites.bytes == 700);
	sites_free(&sites);
	vec_free(&odd.conds);
}
