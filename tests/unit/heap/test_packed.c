/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lists of blocks for the search for leaks: sorted, merged with a walk, from the log. */

#include "fixture.h"
#include "base/limits.h"
#include "heap/packed.h"
#include "heap/heap_walk.h"

#define NR	5000u
#define SORTED	40000u	/* more than are sorted at once */

static void add(struct packed_list *list, uint64_t address, uint64_t size, bool user, uint64_t time)
{
	struct block block = { .address = address, .size = size, .time = time,
			       .stack = (uint32_t)(address ^ time), .thread = (uint32_t)time,
			       .heap = user ? LOG_HEAP_USER : LOG_HEAP_UNKNOWN };

	CU_ASSERT_PTR_NULL_FATAL(packed_add(list, &block));
}

/* In order, and each with what was added. */
static void check_sorted(const struct packed_list *list)
{
	for (size_t i = 0; i < list->nr; i++) {
		struct block is = packed_block(list, i), before = packed_block(list, i ? i - 1 : 0);
		bool user = is.heap == LOG_HEAP_USER;

		CU_ASSERT_EQUAL_FATAL(user, i >= list->nr_outer);
		CU_ASSERT_TRUE_FATAL(!i || i == list->nr_outer || before.address < is.address);
		CU_ASSERT_EQUAL_FATAL(is.size, (is.address & 7) == 3 ? is.address << 8 : is.address & 4095);
		CU_ASSERT_EQUAL_FATAL(is.stack, (uint32_t)(is.address ^ (list->timed ? is.time : 0)));
		CU_ASSERT_EQUAL_FATAL(is.thread, (uint32_t)is.time);
	}
}

/* Addresses of all kinds: near each other, far from each other, few and many; sizes that do not fit. */
TEST("sort")
{
	static const unsigned bits[] = { 12, 20, 33, 48 };

	for (unsigned round = 0; round < 64; round++) {
		struct packed_list list = { .timed = round & 1 };
		uint64_t state = round + 1, mask = (1ull << bits[round / 2 % 4]) - 1;
		unsigned nr = round % 8 == 7 ? round % 5 : SORTED >> round % 7;

		for (unsigned i = 0; i < nr; i++) {
			uint64_t address = unit_random(&state) >> 8 & mask;

			add(&list, address, (address & 7) == 3 ? address << 8 : address & 4095,
			    unit_random(&state) % 4 == 0, list.timed ? i + 1 : 0);
		}
		CU_ASSERT_PTR_NULL_FATAL(packed_sort(&list, NULL));
		check_sorted(&list);
		packed_free(&list);
	}
}

/* More blocks of 4 GB than any process has room for are no answer, but an error. */
static bool is_even(const void *ctx, uint64_t address)
{
	return address % 32 == *(const uint64_t *)ctx;
}

/* Of the user's own some go, of malloc's none; the rest stays in order, with all that it has. */
TEST("dropped")
{
	for (unsigned timed = 0; timed < 2; timed++) {
		CLEANUP(packed_free) struct packed_list list = { .timed = timed };
		const uint64_t rest = 0;

		for (unsigned i = 1; i <= NR; i++) {
			add(&list, i * 16, i * 16 & 4095, false, timed ? i : 0);
			add(&list, i * 16, i * 16 & 4095, true, timed ? i : 0);
		}
		CU_ASSERT_PTR_NULL_FATAL(packed_sort(&list, NULL));
		packed_drop_user(&list, is_even, &rest);
		CU_ASSERT_EQUAL(list.nr_outer, NR);
		CU_ASSERT_EQUAL_FATAL(list.nr, NR + NR / 2);
		check_sorted(&list);
		for (size_t i = NR; i < list.nr; i++)
			CU_ASSERT_EQUAL(packed_at(&list, i)->address, 16 + (i - NR) * 32);
	}
}

TEST("too many that are large")
{
	CLEANUP(packed_free) struct packed_list list = PACKED_INIT;
	struct block block = { .address = 16, .size = 1ull << 32, .heap = LOG_HEAP_UNKNOWN };

	for (uint64_t i = 0; i < LIMIT_LARGE_BLOCKS; i++)
		CU_ASSERT_PTR_NULL_FATAL(packed_add(&list, &block));
	CU_ASSERT_EQUAL_FATAL(packed_add(&list, &block)->code, ERR_RANGE);
	CU_ASSERT_EQUAL(list.nr, LIMIT_LARGE_BLOCKS);
	block.size--;
	CU_ASSERT_PTR_NULL(packed_add(&list, &block));
}

TEST("doubles")
{
	CLEANUP(packed_free) struct packed_list list = { .timed = true };

	add(&list, 100, 100, false, 1);
	add(&list, 100, 100, true, 5);
	add(&list, 100, 100, false, 3);
	add(&list, 100, 100, false, 2);
	CU_ASSERT_PTR_NULL_FATAL(packed_sort(&list, NULL));
	CU_ASSERT_EQUAL_FATAL(list.nr, 2);
	CU_ASSERT_EQUAL(packed_block(&list, 0).time, 3);
	CU_ASSERT_EQUAL(packed_block(&list, 1).time, 5);
}

static void record(struct log *log, uint64_t address, uint64_t time, uint32_t stack)
{
	CU_ASSERT_TRUE(log_record_insert(log, &(struct log_record){
		.address = address, .size = address % 100, .time = time, .stack = stack,
		.heap = LOG_HEAP_UNKNOWN }, NULL));
}

/* What is in hand counts, and of two at one address the younger, with or without times. */
TEST("from the log")
{
	struct packed_source source = { .until = 40, .process = 1 };
	struct in_hand in_hand = { VEC_INIT };
	CLEANUP(fixture_close) struct log log;

	fixture_open(&log);
	for (uint64_t i = 1; i <= 50; i++)
		record(&log, i * 16 | 1ull << LOG_PROCESS_SHIFT, i, 0);
	record(&log, 0x5000, 60, 0);
	CU_ASSERT_PTR_NULL_FATAL(vec_push(&in_hand.vec, ((struct log_record){
		.address = 0x100000ull | 1ull << LOG_PROCESS_SHIFT, .size = 5, .time = 7 })));
	CU_ASSERT_PTR_NULL_FATAL(vec_push(&in_hand.vec, ((struct log_record){
		.address = 0x100000ull | 1ull << LOG_PROCESS_SHIFT, .size = 6, .time = 8 })));
	source.log = &log;
	source.in_hand = &in_hand;
	for (unsigned timed = 0; timed < 2; timed++) {
		struct packed_list list;
		struct block last;

		source.timed = timed;
		CU_ASSERT_PTR_NULL_FATAL(packed_from_log(&source, &list));
		CU_ASSERT_EQUAL_FATAL(list.nr, 41);
		CU_ASSERT_EQUAL(list.others, 1);
		CU_ASSERT_EQUAL(list.timed, timed);
		last = packed_block(&list, 40);
		CU_ASSERT_EQUAL(last.size, 6);
		CU_ASSERT_EQUAL(last.time, timed ? 8 : 0);
		CU_ASSERT_EQUAL(packed_block(&list, 3).address, 64);
		CU_ASSERT_EQUAL(packed_block(&list, 3).process, 1);
		packed_free(&list);
	}
	vec_free(&in_hand.vec);
}

/* Some chunks have a block of the log, some are new; some blocks are in no chunk. */
static void merge(unsigned new_in, unsigned had_in)
{
	struct heap_walk walk = HEAP_WALK_INIT;
	struct packed_list list = PACKED_INIT;
	unsigned had = 0, fresh = 0;
	bool new_run;

	for (unsigned i = 0; i < NR; i++) {
		struct heap_chunk chunk = { .address = 0x10000 + 32ull * i, .size = 32,
					    .heap = (uint16_t)(i / 1000), .kind = CHUNK_USED };

		if (i % had_in == 0) {
			add(&list, chunk.address, i, false, 0);
			chunk.note = NOTE_RECORDED;
			had++;
		} else if (i % new_in == 0) {
			chunk.note = NOTE_EARLY;
			fresh++;
		} else if (i % 7 == 0) {
			continue;	/* of no chunk, and no block */
		}
		CU_ASSERT_PTR_NULL_FATAL(heap_chunks_add(&walk.chunks, &chunk, &new_run));
	}
	add(&list, 0x10000 + 32 * 1500 + 8, 1, false, 0);	/* inside of a chunk */
	add(&list, 0x8000, 2, false, 0);
	add(&list, 0x10000000, 3, false, 0);
	add(&list, 0x10040, 4, true, 0);
	CU_ASSERT_PTR_NULL_FATAL(packed_sort(&list, NULL));
	CU_ASSERT_PTR_NULL_FATAL(packed_merge_walk(&list, &walk, true));
	CU_ASSERT_EQUAL_FATAL(list.nr, had + fresh + 4);
	CU_ASSERT_EQUAL_FATAL(list.nr_outer, list.nr - 1);
	for (size_t i = 0; i < list.nr_outer; i++) {
		struct block block = packed_block(&list, i);
		uint64_t nth = (block.address - 0x10000) / 32;

		CU_ASSERT_TRUE_FATAL(!i || packed_block(&list, i - 1).address < block.address);
		if (block.address % 32 || block.address < 0x10000 || nth >= NR) {
			CU_ASSERT_EQUAL(block.heap, LOG_HEAP_UNKNOWN);
			continue;
		}
		CU_ASSERT_EQUAL_FATAL(block.heap, nth / 1000);
		CU_ASSERT_EQUAL_FATAL(block.preattach, nth % had_in != 0);
		CU_ASSERT_EQUAL_FATAL(block.size, block.preattach ? 24 : nth);
	}
	CU_ASSERT_EQUAL(packed_block(&list, list.nr_outer).heap, LOG_HEAP_USER);
	CU_ASSERT_EQUAL(packed_behind(&list, 0x7fff), 0);
	CU_ASSERT_EQUAL(packed_behind(&list, 0x8000), 1);
	CU_ASSERT_EQUAL(packed_behind(&list, UINT64_MAX), list.nr_outer);
	heap_walk_free(&walk);
	packed_free(&list);
}

/* More that is new, less that is new, nothing. */
TEST("merge")
{
	merge(2, 3);
	merge(1, 50);
	merge(50, 2);
	merge(NR + 1, 1);
	merge(1, NR);
}
