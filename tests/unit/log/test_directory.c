/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The directory, one writer: which records are there, how pages become dense, and that the
 * directory and the tables are one log.
 */

#include <string.h>

#include "one_writer.h"

EACH(open_log, close_log);

TEST("a page becomes dense")
{
	struct log_record in[40];

	for (unsigned i = 0; i < 40; i++)
		in[i] = insert(BASE + i * STEP, 80);
	for (unsigned i = 0; i < 40; i++) {
		CU_ASSERT_EQUAL(is_there(in[i].address), i + 1 >= DIRECTORY_DENSE);
		check_in(&in[i]);
	}
	CU_ASSERT_EQUAL(directory_pages(&log_), 1);
	region_check_sums(&log_, 40);
	for (unsigned i = 0; i < 40; i++)
		remove_it(&in[i]);
	region_check_sums(&log_, 0);
	/* The next blocks there are in the directory, and what the tables have is not in their way. */
	for (unsigned i = 0; i < 40; i++) {
		in[i] = insert(BASE + i * STEP, 90);
		CU_ASSERT_TRUE(is_there(in[i].address));
	}
	for (unsigned i = 0; i < 40; i++)
		remove_it(&in[i]);
	region_check_sums(&log_, 0);
}

/* A heap that grows: the next page is dense at once. One far away is not. */
TEST("a heap that grows")
{
	uint64_t nr = 4 * PAGE / STEP;

	for (uint64_t i = 0; i < nr; i++)
		insert(BASE + i * STEP, 90);
	CU_ASSERT_EQUAL(directory_pages(&log_), 4);
	for (uint64_t i = DIRECTORY_DENSE; i < nr; i++)
		CU_ASSERT_TRUE(is_there(BASE + i * STEP));
	insert(BASE + 40 * DIRECTORY_REACH, 90);
	CU_ASSERT_FALSE(is_there(BASE + 40 * DIRECTORY_REACH));
	CU_ASSERT_EQUAL(directory_pages(&log_), 4);
	region_check_sums(&log_, nr + 1);
}

static bool count_small(const struct log_record *at, uint64_t slot, void *ctx)
{
	(void)slot;
	*(uint64_t *)ctx += at->size < 512;
	return false;
}

/* Pages of the directory that take memory. */
static uint64_t resident_pages(void)
{
	uint64_t bytes = log_.nr_extents * DIRECTORY_BYTES, nr = 0;
	unsigned char *in_core = malloc(bytes / LOG_PAGE);

	CU_ASSERT_EQUAL_FATAL(mincore(log_.directory, bytes, in_core), 0);
	for (uint64_t i = 0; i < bytes / LOG_PAGE; i++)
		nr += in_core[i] & 1;
	free(in_core);
	return nr;
}

/* One small block in each 4 KB, or large ones, never make a page dense, nor take memory for it. */
TEST("a sparse heap")
{
	struct log_record in[2] = { { 0 } }, out;
	uint64_t small = 0;

	for (unsigned round = 0; round < 2; round++)
		for (uint64_t i = 0; i < 2000; i++) {
			in[0] = insert(BASE + i * 4096, 32);
			in[1] = insert(BASE + i * 4096 + 1024, 2000);
			CU_ASSERT_FALSE(log_record_remove(&log_, in[0].address + 512, thread_,
							  &out));
			for (unsigned j = 0; j < 2 && !round; j++)
				remove_it(&in[j]);
		}
	reader_each(&log_, count_small, &small);
	CU_ASSERT_EQUAL(small, 2000);
	CU_ASSERT_EQUAL(directory_pages(&log_), 0);
	CU_ASSERT_EQUAL(resident_pages(), 0);
	region_check_sums(&log_, 4000);
	make_dense(BASE + 1000 * PAGE);
	CU_ASSERT_EQUAL(resident_pages(), 1);
}

struct fit {
	struct log_record in;
	bool fits;
};

/* What does not fit in twelve bytes, or may share its granule, goes to the tables, and is whole. */
TEST("what fits")
{
	const uint64_t far = 1ull << (WHO_TIME_BITS + WHO_TICK_SHIFT);
	struct fit fits[] = {
		{ { 0, 0, 0, 1, 5, LOG_HEAP_UNKNOWN, 0 }, false },
		{ { 0, 1, 0, 1, 5, LOG_HEAP_UNKNOWN, 0 }, true },
		{ { 0, 511, 0, 1, 5, LOG_HEAP_UNKNOWN, 0 }, true },
		{ { 0, 512, 0, 1, 5, LOG_HEAP_UNKNOWN, 0 }, false },
		{ { 0, 100, 0, 1, (1u << WHAT_STACK_BITS) - 1, LOG_HEAP_UNKNOWN, 0 }, true },
		{ { 0, 100, 0, 1, 1u << WHAT_STACK_BITS, LOG_HEAP_UNKNOWN, 0 }, false },
		{ { 0, 100, 0, 1, 5, LOG_HEAP_USER, 0 }, false },
		{ { 0, 100, 0, 1u << WHO_THREAD_BITS | 1, 5, LOG_HEAP_UNKNOWN, 0 }, false },
		{ { 4, 100, 0, 1, 5, LOG_HEAP_UNKNOWN, 0 }, false },
		{ { 8, 100, 0, 1, 5, LOG_HEAP_UNKNOWN, 0 }, true },
		{ { 24, 100, 0, 1, 5, LOG_HEAP_UNKNOWN, 0 }, true },
		{ { 0, 100, 1, 1, 5, LOG_HEAP_UNKNOWN, 0 }, false },
		{ { 0, 100, -(int64_t)TIME_STEP * 1000000, 1, 5, LOG_HEAP_UNKNOWN, 0 }, false },
		{ { 0, 100, far - TIME_STEP * 1000000, 1, 5, LOG_HEAP_UNKNOWN, 0 }, true },
		{ { 0, 100, far, 1, 5, LOG_HEAP_UNKNOWN, 0 }, false },
	};

	make_dense(BASE);
	for (unsigned i = 0; i < ARRAY_SIZE(fits); i++) {
		struct log_record in = fits[i].in;
		struct slot_words words;

		in.address += BASE + i * 160;
		in.time += tick();
		words = (struct slot_words){ in.time, in.size,
					     slot_stack(in.stack, in.thread, in.heap) };
		CU_ASSERT_EQUAL(directory_fits(&log_, in.address, words) &&
				directory_has_granule(&log_, in.address, in.size), fits[i].fits);
		if (in.thread != thread_ || in.stack > 8192)
			continue;	/* no such thread or stack is in this log */
		CU_ASSERT_TRUE(log_record_insert(&log_, &in, NULL));
		CU_ASSERT_EQUAL(is_there(in.address), fits[i].fits);
		check_in(&in);
		remove_it(&in);
	}
}

/* Two small blocks in 32 bytes are two records. */
TEST("two blocks in a granule")
{
	struct log_record a, b, c;

	make_dense(BASE);
	log_set_near_size(&log_, 16);
	a = insert(BASE, 16);
	b = insert(BASE + 16, 16);
	c = insert(BASE + 64, 17);
	CU_ASSERT_FALSE(is_there(BASE));
	CU_ASSERT_TRUE(is_there(BASE + 16));	/* it reaches to the end */
	CU_ASSERT_TRUE(is_there(BASE + 64));
	check_in(&a);
	check_in(&b);
	remove_it(&a);
	check_in(&b);
	remove_it(&b);
	remove_it(&c);
	log_set_near_size(&log_, 8);	/* the largest counts */
	insert(BASE, 16);
	CU_ASSERT_FALSE(is_there(BASE));
}

/*
 * Frees that were not seen: whatever has the old record and gets the new one, the old one is out.
 */
TEST("replaced")
{
	static const uint64_t sizes[] = { 40, 600 };

	make_dense(BASE);
	for (unsigned i = 0; i < 4; i++) {
		uint64_t address = BASE + i * STEP, before = reader_accounts(&log_).replaced;
		struct log_record old = insert(address, sizes[i / 2]), out;
		struct log_record in = record(address, sizes[i % 2]);

		CU_ASSERT_TRUE(log_record_insert(&log_, &in, &out));
		CU_ASSERT_TRUE(same_record(&old, &out));
		CU_ASSERT_EQUAL(reader_accounts(&log_).replaced, before + 1);
		check_in(&in);
		remove_it(&in);
	}
	/* The old block began elsewhere in the granule. */
	insert(BASE + 960, 40);
	insert(BASE + 976, 40);
	CU_ASSERT_FALSE(is_there(BASE + 960));
	CU_ASSERT_TRUE(is_there(BASE + 976));
	CU_ASSERT_EQUAL(reader_accounts(&log_).replaced, 5);
	region_check_sums(&log_, DIRECTORY_DENSE + 1);
}

/* Of two retired records the younger is the last. */
TEST("last record")
{
	struct log_record in, out;
	uint64_t between;

	make_dense(BASE);
	for (unsigned i = 0; i < 2; i++) {
		in = insert(BASE, i ? 40 : 600);
		remove_it(&in);
		between = tick();
		in = insert(BASE, i ? 600 : 40);
		CU_ASSERT_EQUAL(log_record_past(&log_, BASE, between, &out), LOG_SINCE);
		remove_it(&in);
		CU_ASSERT_EQUAL(log_record_past(&log_, BASE, in.time, &out), LOG_PAST);
		CU_ASSERT_TRUE(same_record(&in, &out));
	}
	CU_ASSERT_TRUE(log_record_knew(&log_, BASE));
	CU_ASSERT_FALSE(log_record_knew(&log_, BASE + STEP));
	CU_ASSERT_EQUAL(log_record_past(&log_, BASE + STEP, between, &out), LOG_NEVER);
}

TEST("restore")
{
	static const uint64_t sizes[] = { 40, 600 };

	make_dense(BASE);
	for (unsigned i = 0; i < 2; i++) {
		struct log_record in = insert(BASE, sizes[i]), out;

		CU_ASSERT_TRUE(log_record_remove(&log_, BASE, thread_, &out));
		CU_ASSERT_TRUE(log_record_restore(&log_, &out, thread_));
		CU_ASSERT_EQUAL(is_there(BASE), !i);
		check_in(&in);
		remove_it(&in);
	}
	region_check_sums(&log_, DIRECTORY_DENSE);
}

/* A free of a block from before the attach, near recorded ones and far from any. */
TEST("unknown frees")
{
	struct log_record out;

	make_dense(BASE);
	CU_ASSERT_FALSE(log_record_remove(&log_, BASE, thread_, &out));
	CU_ASSERT_EQUAL(out.address, 0);
	CU_ASSERT_FALSE(log_record_remove(&log_, BASE + PAGE, thread_, &out));
	CU_ASSERT_FALSE(log_record_remove(&log_, BASE + 100 * DIRECTORY_REACH, thread_, &out));
	CU_ASSERT_EQUAL(reader_accounts(&log_).unknown_frees, 3);
	CU_ASSERT_EQUAL(log_.header->extents, 1);
	out = insert(BASE, 40);
	remove_it(&out);
	CU_ASSERT_FALSE(log_record_remove(&log_, BASE, thread_, &out));
	CU_ASSERT_EQUAL(out.address, BASE);
}

/* More extents than there is room for, many of them at one entry of the map: nothing is lost. */
TEST("no room for extents")
{
	uint64_t nr, apart;
	struct log_record out;

	nr = 2 * log_.nr_extents;
	apart = (log_.extent_mask + 1) * DIRECTORY_REACH;
	for (uint64_t i = 0; i < nr; i++)
		for (uint64_t j = 0; j < 40; j++)
			insert(BASE + i * apart + j * STEP, 80);
	CU_ASSERT_TRUE(log_.header->uncovered);
	CU_ASSERT_TRUE(directory_pages(&log_) > 1);
	region_check_sums(&log_, nr * 40);
	CU_ASSERT_FALSE(log_record_remove(&log_, BASE + nr * apart, thread_, &out));
	for (uint64_t i = 0; i < nr; i++)
		for (uint64_t j = 0; j < 40; j++)
			CU_ASSERT_TRUE(log_record_remove(&log_, BASE + i * apart + j * STEP,
							 thread_, &out));
	region_check_sums(&log_, 0);
	log_reset(&log_);
	CU_ASSERT_EQUAL(directory_pages(&log_), 0);
	CU_ASSERT_FALSE(log_.header->uncovered);
	CU_ASSERT_FALSE(log_record_knew(&log_, BASE + 39 * STEP));
	for (uint64_t j = 0; j < 40; j++)
		insert(BASE + j * STEP, 80);
	CU_ASSERT_TRUE(is_there(BASE + 39 * STEP));
}

static uint64_t taken(void)
{
	return directory_pages(&log_) * LOG_PAGE + tables_bytes(&log_, block_table_count(&log_));
}

/* Insert blocks of one size, apart bytes from each other, until there is no room. How many? */
static uint64_t fill_with(uint64_t at, uint64_t size, uint64_t apart)
{
	for (uint64_t nr = 0;; nr++) {
		struct log_record in = record(at + nr * apart, size);

		if (!log_record_insert(&log_, &in, NULL))
			return nr;
	}
}

/* Small blocks alone, or large ones alone, may have nearly all of the memory; both never more. */
TEST("memory is shared with the tables")
{
	uint64_t nr, more;

	nr = fill_with(BASE, 32, 32);
	CU_ASSERT_TRUE(directory_pages(&log_) * LOG_PAGE > log_.share / 2);
	CU_ASSERT_TRUE(taken() <= log_.share);
	CU_ASSERT_TRUE(taken() > log_.share - LOG_PAGE);
	more = fill_with(BASE + (1ull << 40), 1000, 1024);
	CU_ASSERT_TRUE(taken() <= log_.share);
	region_check_sums(&log_, nr + more);
	CU_ASSERT_TRUE(reader_accounts(&log_).table_full == 2);
	for (uint64_t i = 0; i < nr; i++)
		CU_ASSERT_TRUE_FATAL(log_record_remove(&log_, BASE + i * 32, thread_, NULL));
	region_check_sums(&log_, more);

	log_reset(&log_);
	CU_ASSERT_EQUAL(taken(), TABLE_BYTES_FIRST);
	nr = fill_with(BASE, 1000, 1024);
	CU_ASSERT_EQUAL(directory_pages(&log_), 0);
	CU_ASSERT_TRUE(taken() <= log_.share);
	CU_ASSERT_TRUE(nr * sizeof(struct log_slot) > log_.share / 10 * 7);
	region_check_sums(&log_, nr);
}

struct found {
	struct log_record record[8];
	uint64_t slot[8];
	unsigned nr;
};

static bool note(const struct log_record *at, uint64_t slot, void *ctx)
{
	struct found *found = ctx;

	if (at->size != 40 && found->nr < ARRAY_SIZE(found->slot)) {
		found->record[found->nr] = *at;
		found->slot[found->nr++] = slot;
	}
	return false;
}

/* A scan's numbers lead back to the records, in both places; damaged words lead nowhere. */
TEST("numbers")
{
	struct found found = { .nr = 0 };
	struct log_record out;

	make_dense(BASE);
	insert(BASE, 50);
	insert(BASE + STEP, 600);
	insert(BASE + 8, 50);			/* replaces the first one */
	reader_each(&log_, note, &found);
	CU_ASSERT_EQUAL_FATAL(found.nr, 2);
	for (unsigned i = 0; i < 2; i++) {
		CU_ASSERT_TRUE(reader_slot(&log_, found.slot[i], &out));
		CU_ASSERT_TRUE(same_record(&found.record[i], &out));
	}
	CU_ASSERT_FALSE(reader_slot(&log_, 0, &out));
	CU_ASSERT_FALSE(reader_slot(&log_, found.slot[0] + DIRECTORY_RECORDS, &out));
	CU_ASSERT_FALSE(reader_slot(&log_, UINT64_MAX, &out));
	log_.extent[0].number = UINT64_MAX;
	CU_ASSERT_FALSE(reader_slot(&log_, found.slot[0], &out));
	for (uint64_t i = 0; i <= log_.extent_mask; i++)
		if (log_.extent_map[i])
			log_.extent_map[i] |= DIRECTORY_PLACE;
	CU_ASSERT_FALSE(log_record_lookup(&log_, BASE + 8, &out));
	log_.header->extents = UINT64_MAX;
	found.nr = 0;
	reader_each(&log_, note, &found);
	CU_ASSERT_EQUAL(found.nr, 1);
}

/* Of the addresses beside one that was in the tables, each is searched for once. */
TEST("what the tables lack")
{
	const uint64_t address = BASE + 320, other = address + 8;
	struct directory_spot spot;
	struct log_record in;

	make_dense(BASE);
	CU_ASSERT_TRUE_FATAL(directory_find(&log_, address, &spot));
	CU_ASSERT_FALSE(directory_present(&spot, address));
	in = insert(address, 600);
	remove_it(&in);
	CU_ASSERT_TRUE(directory_present(&spot, address));
	CU_ASSERT_TRUE(directory_present(&spot, other));
	in = insert(other, 40);
	CU_ASSERT_TRUE(is_there(other));
	CU_ASSERT_TRUE(directory_present(&spot, address));
	CU_ASSERT_FALSE(directory_present(&spot, other));
	remove_it(&in);
	in = insert(other, 600);
	CU_ASSERT_TRUE(directory_present(&spot, other));
	check_in(&in);
	remove_it(&in);
	/* A record from before the page was dense, whose free was not seen. */
	insert(BASE + PAGE, 40);
	insert(BASE + PAGE + 64, 600);
	make_dense(BASE + PAGE);
	in = record(BASE + PAGE + 64, 40);
	CU_ASSERT_TRUE(log_record_insert(&log_, &in, NULL));
	CU_ASSERT_TRUE(is_there(in.address));
	CU_ASSERT_EQUAL(reader_accounts(&log_).replaced, 1);
	remove_it(&in);
}

/* The directory's pages of a place that take memory. */
static uint64_t place_resident(uint64_t place)
{
	unsigned char in_core[DIRECTORY_PAGES];
	uint64_t nr = 0;

	CU_ASSERT_EQUAL_FATAL(mincore(&log_.directory[place * DIRECTORY_LINES], DIRECTORY_BYTES,
				      in_core), 0);
	for (unsigned i = 0; i < DIRECTORY_PAGES; i++)
		nr += in_core[i] & 1;
	return nr;
}

static void fill_places(uint64_t from, uint64_t to, uint64_t step)
{
	for (uint64_t at = from * DIRECTORY_REACH; at < to * DIRECTORY_REACH; at += step)
		insert(BASE + at, 40);
	CU_ASSERT_EQUAL_FATAL(directory_places(&log_), to);
	CU_ASSERT_PTR_NULL_FATAL(log_reserve(&log_, LOG_PAGE));
}

/* What a heap that grows will fill before the next call is there; of a sparse one nothing is. */
TEST("places ahead of a heap that grows")
{
	fill_places(0, 8, 320);
	fill_places(8, 12, 320);
	for (uint64_t place = 12; place < 18; place++)
		CU_ASSERT_EQUAL(place_resident(place), DIRECTORY_PAGES);
	CU_ASSERT_EQUAL(place_resident(19), 0);
	CU_ASSERT_TRUE(log_.reserved.extents >= 18 * sizeof(struct directory_extent));
	/* It does not grow now. */
	CU_ASSERT_PTR_NULL(log_reserve(&log_, LOG_PAGE));
	CU_ASSERT_EQUAL(place_resident(19), 0);
	region_close(&log_);
	open_log();
	fill_places(0, 4, PAGE);
	fill_places(4, 8, PAGE);
	CU_ASSERT_EQUAL(resident_pages(), 0);
}

/* A pool that the user has named puts its blocks as near as it likes: they are in the tables. */
TEST("a pool of the user's")
{
	const uint64_t pool = LOG_DOMAIN_USER | BASE;
	struct log_record in[200];

	for (unsigned i = 0; i < ARRAY_SIZE(in); i++)
		in[i] = insert(pool + i * 8, 40);
	CU_ASSERT_EQUAL(directory_pages(&log_), 0);
	region_check_sums(&log_, ARRAY_SIZE(in));
	for (unsigned i = 0; i < ARRAY_SIZE(in); i++)
		remove_it(&in[i]);
	CU_ASSERT_EQUAL(reader_accounts(&log_).unknown_frees, 0);
	region_check_sums(&log_, 0);
}

/* An address inside a block's first eight bytes is not the block. */
TEST("an address inside of a block")
{
	struct log_record in, out;

	make_dense(BASE);
	in = insert(BASE, 40);
	CU_ASSERT_TRUE(is_there(BASE));
	for (unsigned i = 1; i < 8; i++) {
		CU_ASSERT_FALSE(log_record_lookup(&log_, BASE + i, &out));
		CU_ASSERT_FALSE(log_record_remove(&log_, BASE + i, thread_, &out));
		check_in(&in);
	}
	CU_ASSERT_EQUAL(reader_accounts(&log_).unknown_frees, 7);
	remove_it(&in);
	for (unsigned i = 1; i < 8; i++)
		CU_ASSERT_FALSE(log_record_retired(&log_, BASE + i, &out));
}

/* Somebody has the last place, and puts it into the map after others have found no room. */
TEST("the last place")
{
	const uint64_t address = BASE + 10 * DIRECTORY_REACH;
	const uint64_t number = directory_extent_number(address);
	uint64_t place;
	struct log_record in;

	place = log_.nr_extents - 1;
	log_.header->extents = log_.nr_extents;
	in = insert(address, 40);
	log_.extent[place].number = number + 1;
	log_.extent_map[number & log_.extent_mask] = (number + 1) << DIRECTORY_PLACE_BITS | place;
	check_in(&in);
	remove_it(&in);
	region_check_sums(&log_, 0);
}

/* A realloc that fails, of a thread without a state: its entry keeps no more than the size. */
TEST("put back without a state")
{
	static const struct ledger_function resize = { .resize = 1 };
	const struct ledger ledger = { .log = &log_, .depth = 32 };
	const struct ledger_call call = { .ledger = &ledger, .function = &resize, .block = BASE };
	struct ledger_words words = { .how = LEDGER_ALONE };
	struct log_record in, old;

	in = insert(BASE, 200000);		/* an older block there, in the tables */
	remove_it(&in);
	make_dense(BASE);
	in = insert(BASE, 40);
	CU_ASSERT_TRUE(is_there(BASE));
	CU_ASSERT_TRUE_FATAL(log_record_remove(&log_, BASE, 0, &old));
	words.what = LEDGER_TOOK | old.size;
	ledger_put_back(call, &words, NULL);
	check_in(&in);
	remove_it(&in);
	region_check_sums(&log_, DIRECTORY_DENSE);
}
