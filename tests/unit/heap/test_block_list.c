/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lists that are too long for one piece: in any order, while the log changes. */

#include "fixture.h"
#include "heap/reconcile.h"
#include "heap/block_list.h"
#include "heap/heap_walk.h"

#define RECORDS		300000u
#define EARLY		100000u
#define ALL		(RECORDS + EARLY)
#define FIRST		0x10000010ull

/* Every fourth chunk is from before the attach, the others are recorded. */
static struct log log_;
static struct heap_walk walk;
static uint8_t *seen;		/* by chunk */
static const pid_t pids[LOG_PROCESSES] = { 1234 };

static bool no_names(void *ctx, uint32_t stack, enum filter_attr attr, const char *glob)
{
	(void)ctx;
	(void)attr;
	(void)glob;
	return stack % 2;
}

static bool is_early(unsigned i)
{
	return i % 4 == 3;
}

static uint64_t address_of(unsigned i)
{
	return FIRST + 32ull * i;
}

/* Times go up and down with the address; there are few sizes, and one of them is most. */
static bool record_of(unsigned i)
{
	return log_record_insert(&log_, &(struct log_record){
		.address = address_of(i), .size = i % 16 ? 24 : i % 20, .time = 1 + i * 7919ull % ALL,
		.stack = i % 5, .heap = LOG_HEAP_UNKNOWN }, NULL);
}

static int setup(void)
{
	const struct walk_merge merge = { .log = &log_, .complete = true };
	struct word_list left_out = { VEC_INIT };
	bool new_run;

	fixture_open(&log_);
	walk = (struct heap_walk)HEAP_WALK_INIT;
	for (unsigned i = 0; i < ALL; i++) {
		const struct heap_chunk chunk = { address_of(i), 32, (uint16_t)(i / (ALL / 3)),
						  CHUNK_USED, NOTE_NONE, false };

		if (heap_chunks_add(&walk.chunks, &chunk, &new_run) ||
		    (!is_early(i) && !record_of(i)))
			return 1;
	}
	seen = malloc(ALL);
	return !seen || reconcile_merge(&walk, &merge, &left_out) || left_out.vec.nr;
}

static int teardown(void)
{
	free(seen);
	heap_walk_free(&walk);
	fixture_close(&log_);
	return 0;
}

FIXTURE(setup, teardown);

static struct list *list_of(enum list_of of, const struct filter *filter,
			    const struct filter_order *order, const struct in_hand *in_hand)
{
	struct list *list = NULL;
	const struct list_source source = {
		.of = of, .log = &log_, .in_hand = in_hand, .walk = &walk, .complete = true,
		.filter = filter, .order = order,
		.env = { .log = &log_, .pids = pids, .now_ns = EPOCH + SECOND,
			 .stack_matches = no_names },
	};

	CU_ASSERT_PTR_NULL_FATAL(block_list_create(&source, &list));
	return list;
}

static const struct filter all = { VEC_INIT };

/* Each block once, in order; returns how many. */
static unsigned read_all(struct list *list, const struct filter_order *order)
{
	const struct filter_env env = { .log = &log_, .pids = pids, .now_ns = EPOCH + SECOND };
	const struct block *block;
	uint64_t last = 0, last_key = 0;
	bool known = true;
	unsigned nr = 0;

	memset(seen, 0, ALL);
	for (;;) {
		uint64_t key = 0, n;
		bool has;

		CU_ASSERT_PTR_NULL_FATAL(block_list_next(list, &block));
		if (!block)
			return nr;
		n = (block->address - FIRST) / 32;
		CU_ASSERT_TRUE_FATAL(n < ALL && block->address == address_of((unsigned)n));
		CU_ASSERT_FALSE_FATAL(seen[n]++);
		CU_ASSERT_EQUAL_FATAL(block->heap, n / (ALL / 3));
		CU_ASSERT_EQUAL_FATAL(block->preattach, is_early((unsigned)n));
		has = !order->sorted || filter_key(order, &env, block, &key);
		CU_ASSERT_TRUE_FATAL(known || !has);
		if (nr && known == has)
			CU_ASSERT_TRUE_FATAL(last_key < key ||
					     (last_key == key && last < block->address));
		last = block->address;
		last_key = key;
		known = has;
		nr++;
	}
}

TEST("in any order")
{
	static const enum filter_attr attrs[] = { FILTER_ADDRESS, FILTER_SIZE, FILTER_HEAP,
						  FILTER_PID, FILTER_TIME, FILTER_AGE, FILTER_SEQ };

	for (unsigned i = 0; i <= 2 * ARRAY_SIZE(attrs); i++) {
		struct filter_order order = { .sorted = i, .attr = attrs[i / 2 % ARRAY_SIZE(attrs)],
					      .dir = i % 2 ? SORT_UP : SORT_DOWN,
					      .limit = UINT64_MAX };
		struct list *list = list_of(LIST_BLOCKS, &all, &order, NULL);

		CU_ASSERT_EQUAL(block_list_sums(list).nr, ALL);
		CU_ASSERT_EQUAL(block_list_sums(list).time, ALL);
		CU_ASSERT_EQUAL(read_all(list, &order), ALL);
		CU_ASSERT_EQUAL(block_list_gone(list), 0);
		block_list_free(list);
	}
}

TEST("filtered and cut")
{
	struct filter_order order = { .limit = UINT64_MAX };
	CLEANUP(filter_free) struct filter filter = { VEC_INIT };
	struct list *list;
	unsigned odd = 0;

	/* Names are asked for when it is read. */
	CU_ASSERT_PTR_NULL(vec_push(&filter.conds, ((struct filter_cond){
		.attr = FILTER_SIZE, .relop = FILTER_EQ, .number = 24 })));
	CU_ASSERT_PTR_NULL(vec_push(&filter.conds, ((struct filter_cond){
		.attr = FILTER_FUNCTION, .relop = FILTER_EQ, .glob = strdup("*") })));
	for (unsigned i = 0; i < ALL; i++)
		odd += !is_early(i) && i % 16 && i % 5 % 2;
	list = list_of(LIST_BLOCKS, &filter, &order, NULL);
	CU_ASSERT_EQUAL(read_all(list, &order), odd);
	block_list_free(list);
	order.limit = 200000;
	list = list_of(LIST_BLOCKS, &all, &order, NULL);
	CU_ASSERT_EQUAL(read_all(list, &order), 200000);
	block_list_free(list);
	order = (struct filter_order){ .limit = UINT64_MAX };
	list = list_of(LIST_FREE, &all, &order, NULL);
	CU_ASSERT_EQUAL(read_all(list, &order), 0);
	block_list_free(list);
}

/*
 * Behind the first piece every third record is freed, and half of these addresses are given out
 * again; of what stays nothing is lost, of what comes nothing is seen, what went is counted.
 */
TEST("while the log changes")
{
	for (unsigned sorted = 0; sorted < 2; sorted++) {
		struct filter_order order = { .sorted = sorted, .attr = FILTER_SEQ, .dir = SORT_UP,
					      .limit = UINT64_MAX };
		struct list *list = list_of(LIST_BLOCKS, &all, &order, NULL);
		struct log_record record;
		unsigned nr, kept = 0, freed = 0;

		for (unsigned i = 0; i < ALL; i++) {
			if (is_early(i) || i % 3)
				continue;
			CU_ASSERT_TRUE(log_record_remove(&log_, address_of(i), 0, &record));
			freed++;
			record.time = log_now();
			if (i % 2)
				CU_ASSERT_TRUE(log_record_insert(&log_, &record, NULL));
		}
		nr = read_all(list, &order);
		for (unsigned i = 0; i < ALL; i++)
			kept += (is_early(i) || i % 3) && seen[i];
		CU_ASSERT_EQUAL(kept, ALL - freed);
		CU_ASSERT_EQUAL(nr + block_list_gone(list), ALL);
		CU_ASSERT_TRUE(nr > kept && block_list_gone(list) > freed / 2);
		block_list_free(list);
		for (unsigned i = 0; i < ALL; i += 3)
			if (!is_early(i))
				CU_ASSERT_TRUE(record_of(i));
	}
}

/* What a realloc has in hand is in the list, in its place. */
TEST("in hand")
{
	struct filter_order order = { .sorted = true, .attr = FILTER_TIME, .limit = UINT64_MAX };
	struct in_hand hand = { VEC_INIT };
	struct log_record record;
	struct list *list;

	for (unsigned i = 0; i < 100; i++) {
		CU_ASSERT_TRUE(log_record_remove(&log_, address_of(4 * i), 0, &record));
		CU_ASSERT_PTR_NULL(vec_push(&hand.vec, record));
		/* Some are back in the table when it is read. */
		if (i % 2)
			CU_ASSERT_TRUE(log_record_restore(&log_, &record, 0));
	}
	list = list_of(LIST_BLOCKS, &all, &order, &hand);
	CU_ASSERT_EQUAL(read_all(list, &order), ALL);
	block_list_free(list);
	for (unsigned i = 0; i < 100; i += 2)
		CU_ASSERT_TRUE(log_record_restore(&log_, &hand.vec.at[i], 0));
	vec_free(&hand.vec);
}

/* The next block that the log knows, from any address, with more of them than are kept. */
TEST("knows the next")
{
	struct known known = KNOWN_INIT(&log_, 0), other = KNOWN_INIT(&log_, 1);
	struct known none = KNOWN_INIT(NULL, 0);

	for (unsigned i = 0; i < ALL; i += 97) {
		unsigned next = is_early(i) ? i + 1 : i;

		CU_ASSERT_EQUAL(reconcile_known_from(&known, address_of(i) - 15), address_of(next));
		CU_ASSERT_TRUE(known.address.nr <= KNOWN_MOST);
	}
	CU_ASSERT_EQUAL(reconcile_known_from(&known, 0), address_of(0));
	CU_ASSERT_EQUAL(reconcile_known_from(&known, address_of(ALL - 1)), UINT64_MAX);
	CU_ASSERT_EQUAL(reconcile_known_from(&other, 0), UINT64_MAX);
	CU_ASSERT_EQUAL(reconcile_known_from(&none, 0), UINT64_MAX);
	reconcile_known_free(&known);
	reconcile_known_free(&other);
}
