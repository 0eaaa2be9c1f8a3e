/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The directory: two blocks of 16 bytes in a granule, one of them with its record apart. */

#include <string.h>

#include "one_writer.h"

#define FIRST	(BASE + 64 * STEP)	/* of the blocks that make the page of halves dense */

/* Is its live record that of the lower half alone? */
static bool is_apart(uint64_t address)
{
	struct directory_spot spot, half;
	struct log_record at;
	bool live;

	return directory_find(&log_, address, &spot) &&
	       directory_find_half(&log_, &spot, address, &half) &&
	       directory_read(&log_, &half, address, &at, &live) && live;
}

/* Where the fast path would put a block: the same record as the slow one, or NULL. */
static uint64_t *short_way(uint64_t address, uint64_t size)
{
	struct directory_slot slot;

	return directory_half_is_open(&log_, address, size, &slot) ? slot.who : NULL;
}

/* An allocator with a class of 16 bytes, whose page and page of halves are dense. */
static void open_halves(void)
{
	open_log();
	log_set_near_size(&log_, 16);
	make_dense(BASE);
	for (uint64_t i = 0; i < DIRECTORY_DENSE; i++) {
		CU_ASSERT_PTR_NULL(short_way(BASE, 16));
		insert(FIRST + i * DIRECTORY_GRANULE, 16);
	}
	CU_ASSERT_PTR_NOT_NULL(short_way(BASE, 16));
	CU_ASSERT_FALSE(is_apart(FIRST));
	CU_ASSERT_TRUE(is_apart(FIRST + (DIRECTORY_DENSE - 1) * DIRECTORY_GRANULE));
	CU_ASSERT_EQUAL(directory_pages(&log_), 2);
	region_check_sums(&log_, 2 * DIRECTORY_DENSE);
}

EACH(open_halves, close_log);

struct sum {
	const struct log_record *want;
	unsigned nr, found;
};

static bool find_each(const struct log_record *record, uint64_t number, void *ctx)
{
	struct sum *sum = ctx;
	struct log_record again;

	CU_ASSERT_TRUE(reader_slot(&log_, number, &again));
	CU_ASSERT_TRUE(same_record(record, &again));
	for (unsigned i = 0; i < sum->nr; i++)
		sum->found += same_record(record, &sum->want[i]);
	return false;
}

TEST("two blocks in a granule")
{
	struct log_record in[4];
	struct sum sum = { in, 4, 0 };

	in[0] = insert(BASE, 16);
	in[1] = insert(BASE + 16, 16);
	in[2] = insert(BASE + 32, 9);
	in[3] = insert(BASE + 48, 9);
	for (unsigned i = 0; i < 4; i++) {
		CU_ASSERT_EQUAL(is_apart(in[i].address), i % 2 == 0);
		CU_ASSERT_EQUAL(is_there(in[i].address), i % 2 == 1);
		check_in(&in[i]);
	}
	reader_each(&log_, find_each, &sum);
	CU_ASSERT_EQUAL(sum.found, 4);
	for (unsigned i = 0; i < 4; i++) {
		remove_it(&in[i]);
		for (unsigned j = i + 1; j < 4; j++)
			check_in(&in[j]);
	}
	region_check_sums(&log_, 2 * DIRECTORY_DENSE);
	log_reset(&log_);
	CU_ASSERT_FALSE(log_record_knew(&log_, BASE));
}

/* Who does not have its half for itself is in the tables. */
TEST("not for the half")
{
	struct {
		uint64_t offset, size;
		bool apart;
	} blocks[] = {
		{ 0, 0, false }, { 0, 8, false }, { 0, 9, true }, { 0, 16, true }, { 8, 7, false },
		{ 8, 8, true }, { 16, 8, false }, { 24, 7, false }, { 4, 12, false }, { 0, 17, false },
	};

	for (unsigned i = 0; i < ARRAY_SIZE(blocks); i++) {
		uint64_t address = BASE + i * DIRECTORY_GRANULE + blocks[i].offset;
		struct log_record in;

		if (!blocks[i].apart && address % 8 == 0 && blocks[i].size != 17)
			CU_ASSERT_PTR_NULL(short_way(address, blocks[i].size));
		in = insert(address, blocks[i].size);
		CU_ASSERT_EQUAL(is_apart(address), blocks[i].apart);
		check_in(&in);
		remove_it(&in);
	}
	log_set_near_size(&log_, DIRECTORY_GRANULE);	/* nothing is known of an allocator */
	insert(BASE + 16 * DIRECTORY_GRANULE, 15);
	CU_ASSERT_FALSE(is_apart(BASE + 16 * DIRECTORY_GRANULE));
	insert(BASE + 17 * DIRECTORY_GRANULE, 16);
	CU_ASSERT_TRUE(is_apart(BASE + 17 * DIRECTORY_GRANULE));
}

/* Frees that were not seen: the fast path leaves it to the slow one, which takes the old one out. */
TEST("replaced")
{
	static const uint64_t sizes[] = { 16, 40, 600 };

	for (unsigned i = 0; i < 9; i++) {
		uint64_t address = BASE + i * DIRECTORY_GRANULE, size = sizes[i / 3];
		struct log_record old = insert(address, sizes[i % 3]), in = record(address, size), out;
		struct directory_slot half, granule;
		struct directory_spot spot;

		if (size == 16) {
			bool open = directory_half_is_open(&log_, address, size, &half);

			CU_ASSERT_FALSE(open && directory_slot_is_vacant(&half));
		}
		CU_ASSERT_TRUE_FATAL(directory_spot(&log_, address, &spot));
		granule = directory_slot(&spot);
		CU_ASSERT_FALSE(directory_is_open(&log_, &spot, address) &&
				directory_slot_is_vacant(&granule));
		CU_ASSERT_TRUE(log_record_insert(&log_, &in, &out));
		CU_ASSERT_TRUE(same_record(&old, &out));
		CU_ASSERT_EQUAL(reader_accounts(&log_).replaced, i + 1);
		check_in(&in);
		remove_it(&in);
	}
	region_check_sums(&log_, 2 * DIRECTORY_DENSE);
}

/* Old blocks of other addresses that the new one overlaps, and one that it does not. */
TEST("overlaps")
{
	struct log_record upper, lower;

	insert(BASE + 8, 40);
	lower = insert(BASE, 16);
	CU_ASSERT_FALSE(is_there(BASE + 8));
	insert(BASE + 40, 8);
	CU_ASSERT_TRUE(is_apart(BASE + 40));
	insert(BASE + 32, 40);
	CU_ASSERT_FALSE(is_apart(BASE + 40));
	insert(BASE + 104, 8);
	insert(BASE + 96, 16);
	CU_ASSERT_FALSE(is_apart(BASE + 104));
	CU_ASSERT_EQUAL(reader_accounts(&log_).replaced, 3);
	upper = insert(BASE + 16, 16);
	CU_ASSERT_TRUE(log_record_remove(&log_, BASE, thread_, NULL));
	lower = insert(BASE, 16);
	check_in(&upper);
	check_in(&lower);
	CU_ASSERT_EQUAL(reader_accounts(&log_).replaced, 3);
	region_check_sums(&log_, 2 * DIRECTORY_DENSE + 4);
}

/* Of several retired records the youngest is the last, and the one that lives again. */
TEST("last record")
{
	static const uint64_t sizes[] = { 16, 40, 600, 16, 600, 40, 16 };
	struct log_record out;

	for (unsigned i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct log_record in = insert(BASE, sizes[i]);

		remove_it(&in);
		CU_ASSERT_EQUAL(log_record_past(&log_, BASE, in.time, &out), LOG_PAST);
		CU_ASSERT_TRUE(same_record(&in, &out));
		CU_ASSERT_TRUE(log_record_restore(&log_, &out, thread_));
		CU_ASSERT_EQUAL(is_apart(BASE), sizes[i] == 16);
		check_in(&in);
		remove_it(&in);
	}
	region_check_sums(&log_, 2 * DIRECTORY_DENSE);
}
