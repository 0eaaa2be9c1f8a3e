/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The journal in private memory and in the region. */

#include "log/journal_writer.h"

#include "base/cleanup.h"
#include "unit.h"

#define SIZE	(16ull << 20)

static const struct journal_entry entry = { .kind = JOURNAL_TEXT, .address = 0x1000, .len = 5,
					    .old = "abcde", .new = "fghij" };

/* Both have each entry at the same place; a later mdbg reads what this one has written. */
TEST("both have the same")
{
	AUTO_FREE struct journal *shared = calloc(1, JOURNAL_SIZE);
	struct journal_writer writer, later;
	uint32_t a, b;

	CU_ASSERT_PTR_NULL_FATAL(journal_writer_begin(&writer, shared, SIZE));
	journal_writer_own(&writer, 1, 2, 3);
	CU_ASSERT_PTR_NULL(journal_writer_plan(&writer, &entry, &a));
	CU_ASSERT_EQUAL(shared->entry[a].state, JOURNAL_PLANNED);
	journal_writer_done(&writer, a);
	CU_ASSERT_PTR_NULL(journal_writer_plan(&writer, &entry, &b));
	journal_writer_set_aux(&writer, b, 99);
	journal_writer_undone(&writer, a);
	CU_ASSERT_EQUAL(memcmp(shared, writer.own, JOURNAL_SIZE), 0);
	CU_ASSERT_EQUAL(shared->owner, 1);
	CU_ASSERT_EQUAL(shared->nr, 2);
	CU_ASSERT_EQUAL(shared->entry[a].state, JOURNAL_UNDONE);
	CU_ASSERT_EQUAL(shared->entry[b].aux, 99);
	CU_ASSERT_PTR_NULL_FATAL(journal_writer_adopt(&later, shared, SIZE));
	CU_ASSERT_EQUAL(memcmp(later.own, writer.own, JOURNAL_SIZE), 0);
	journal_writer_free(&later);
	journal_writer_free(&writer);
}

/* What others write into the shared one changes nothing. */
TEST("a shared one that others write to")
{
	AUTO_FREE struct journal *shared = calloc(1, JOURNAL_SIZE);
	struct journal_writer writer, later;
	uint32_t a, b;

	CU_ASSERT_PTR_NULL_FATAL(journal_writer_begin(&writer, shared, SIZE));
	CU_ASSERT_PTR_NULL(journal_writer_plan(&writer, &entry, &a));
	memset(shared, 0xff, JOURNAL_SIZE);
	CU_ASSERT_PTR_NULL(journal_writer_plan(&writer, &entry, &b));
	journal_writer_done(&writer, b);
	CU_ASSERT_EQUAL(journal_entries(writer.own), 2);
	CU_ASSERT_EQUAL(b, a + 1);
	CU_ASSERT_EQUAL(writer.own->entry[a].len, 5);
	CU_ASSERT_EQUAL(shared->entry[b].state, JOURNAL_DONE);
	CU_ASSERT_PTR_NOT_NULL(journal_writer_adopt(&later, shared, SIZE));
	journal_writer_free(&writer);
}
