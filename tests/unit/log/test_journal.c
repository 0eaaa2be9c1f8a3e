/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The journal: its frozen layout, writing ahead, and what garbage does to it. */

#include "log/journal.h"

#include <stddef.h>

#include "unit.h"

#define SIZE	(16ull << 20)

static struct journal *journal;

static int setup(void)
{
	journal = malloc(JOURNAL_SIZE);
	return !journal;
}

static int teardown(void)
{
	free(journal);
	return 0;
}

FIXTURE(setup, teardown);

TEST("layout")
{
	CU_ASSERT_EQUAL(offsetof(struct journal, version), 8);
	CU_ASSERT_EQUAL(offsetof(struct journal, nr), 16);
	CU_ASSERT_EQUAL(offsetof(struct journal, owner), 24);
	CU_ASSERT_EQUAL(offsetof(struct journal, owner_start), 32);
	CU_ASSERT_EQUAL(offsetof(struct journal, region_size), 40);
	CU_ASSERT_EQUAL(offsetof(struct journal, log_offset), 48);
	CU_ASSERT_EQUAL(offsetof(struct journal, target_start), 56);
	CU_ASSERT_EQUAL(offsetof(struct journal, entry), 64);
	CU_ASSERT_EQUAL(offsetof(struct journal_entry, address), 8);
	CU_ASSERT_EQUAL(offsetof(struct journal_entry, old), 32);
	CU_ASSERT_EQUAL(offsetof(struct journal_entry, new), 64);
	CU_ASSERT_EQUAL(sizeof(struct journal_entry), 96);
}

TEST("entries")
{
	struct journal_entry entry = { .state = 77, .kind = JOURNAL_TEXT, .address = 0x1000,
				      .len = 5,
				       .old = "abcd", .new = "efgh" };
	uint32_t a, b, c;

	memset(journal, 0xee, JOURNAL_SIZE);
	journal_init(journal, SIZE, JOURNAL_SIZE);
	CU_ASSERT_PTR_NULL(journal_check(journal, SIZE));
	CU_ASSERT_PTR_NULL(journal_plan(journal, &entry, &a));
	CU_ASSERT_EQUAL(journal->entry[a].state, JOURNAL_PLANNED);
	CU_ASSERT_EQUAL(journal->entry[a].address, 0x1000);
	CU_ASSERT_STRING_EQUAL((char *)journal->entry[a].old, "abcd");
	CU_ASSERT_STRING_EQUAL((char *)journal->entry[a].new, "efgh");
	CU_ASSERT_EQUAL(journal->nr, 1);
	entry.address = 0x2000;
	CU_ASSERT_PTR_NULL(journal_plan(journal, &entry, &b));
	CU_ASSERT_EQUAL(journal->nr, 2);
	journal_done(journal, a);
	journal_done(journal, b);
	CU_ASSERT_EQUAL(journal->entry[a].state, JOURNAL_DONE);
	journal_undone(journal, a);
	CU_ASSERT_EQUAL(journal->entry[a].state, JOURNAL_UNDONE);
	entry.address = 0x3000;
	CU_ASSERT_PTR_NULL(journal_plan(journal, &entry, &c));
	CU_ASSERT_EQUAL(c, a);
	CU_ASSERT_EQUAL(journal->entry[c].address, 0x3000);
	CU_ASSERT_EQUAL(journal->entry[c].state, JOURNAL_PLANNED);
	CU_ASSERT_EQUAL(journal->entry[b].state, JOURNAL_DONE);
	CU_ASSERT_EQUAL(journal->nr, 2);
}

TEST("full")
{
	struct journal_entry entry = { .kind = JOURNAL_MAPPING };
	uint32_t index, nr;
	struct err *err = NULL;

	journal_init(journal, SIZE, JOURNAL_SIZE);
	for (nr = 0; !err; nr++)
		err = journal_plan(journal, &entry, &index);
	CU_ASSERT_EQUAL(err->code, ERR_RANGE);
	CU_ASSERT_EQUAL(nr - 1, journal->room);
	CU_ASSERT_TRUE(journal->room > 2700);
	journal_undone(journal, 1234);
	CU_ASSERT_PTR_NULL(journal_plan(journal, &entry, &index));
	CU_ASSERT_EQUAL(index, 1234);
}

static void check_fails(const char *why)
{
	struct err *err = journal_check(journal, SIZE);

	CU_ASSERT_FATAL(err && err->code == ERR_FORMAT);
	if (!strstr(err->msg, why))
		CU_FAIL(err->msg);
	journal_init(journal, SIZE, JOURNAL_SIZE);
}

TEST("check")
{
	struct err *err;

	journal_init(journal, SIZE, JOURNAL_SIZE);
	err = journal_check(journal, JOURNAL_SIZE - 1);
	CU_ASSERT_PTR_NOT_NULL(err);
	journal->magic[3] ^= 1;
	check_fails("magic");
	journal->version = 2;
	check_fails("version 2");
	journal->entry_size = 104;
	check_fails("104 bytes");
	journal->nr = journal->room + 1;
	check_fails("entries used");
	journal->room = ~0u;
	check_fails("room for");
	journal->region_size = SIZE + 1;
	check_fails("a region of");
	journal->region_size = 1;
	check_fails("a region of");
	journal->log_offset = SIZE;
	check_fails("outside the region");
	journal->log_offset = 64;
	check_fails("outside the region");
	CU_ASSERT_PTR_NULL(journal_check(journal, SIZE));
}

/* Whatever the target writes into it, nothing leads out of the journal. */
TEST("garbage")
{
	struct journal_entry entry = { .kind = JOURNAL_FD };
	uint32_t index, x = 1;

	for (unsigned round = 0; round < 50; round++) {
		for (size_t i = 0; i < JOURNAL_SIZE / 4; i++) {
			x = x * 1664525 + 1013904223;
			((uint32_t *)journal)[i] = x;
		}
		if (round % 2)
			journal->nr = ~0u;
		if (!journal_plan(journal, &entry, &index))
			CU_ASSERT_TRUE(index < (JOURNAL_SIZE - sizeof(struct journal)) / 96);
		journal_done(journal, x);
		journal_undone(journal, ~0u);
	}
}
