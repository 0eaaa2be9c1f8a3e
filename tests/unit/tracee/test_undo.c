/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What may be undone of a journal that somebody else may have written. */

#include "tracee/undo.h"

#include <signal.h>

#include "base/cleanup.h"
#include "unit.h"

#define AREA	(256ull << 10)
#define DATA	20480ull
#define TEXT	0x401000ull

static struct file_id file = { .inode = 7, .dev_major = 0, .dev_minor = 1 };
static char memfd[] = JOURNAL_MEMFD_PATH, library[] = "/lib/x.so", none[] = "";

/* In order of address. */
static struct proc_map map[] = {
	{ .start = 0x400000, .end = 0x500000, .offset = 0x2000, .inode = 9, .dev_major = 8,
	  .read = true, .exec = true, .path = library },
	{ .start = 0x1000000, .end = 0x1000000 + AREA, .read = true, .exec = true, .path = none },
	{ .start = 0x2000000, .end = 0x2000000 + DATA, .read = true, .write = true, .path = none },
	{ .start = 0x3000000, .end = 0x3000000 + JOURNAL_SIZE, .inode = 7, .dev_minor = 1,
	  .read = true, .write = true, .shared = true, .path = memfd },
};
static const struct proc_maps maps = { .vec = { map, ARRAY_SIZE(map), ARRAY_SIZE(map) } };

static const struct journal_entry jump = { .state = JOURNAL_DONE, .kind = JOURNAL_TEXT,
					   .address = TEXT, .len = 5, .old = "wrong",
					   .new = "\xe9" "1234" };

static struct undo_text text_of(const char *now)
{
	struct undo_text text = { .map = &map[0], .readable = true, .file = "right",
				  .place = { .file = { 9, 8, 0 }, .offset = 0x3000 } };

	memcpy(text.now, now, 5);
	return text;
}

static struct undo undo(const struct undo_text *text)
{
	return undo_text(&jump, text);
}

/* What is written is what the file has, never what the journal says. */
TEST("text becomes what its file has")
{
	struct undo_text text = text_of("\xe9" "1234");
	struct undo got = undo(&text);

	CU_ASSERT_EQUAL_FATAL(got.action, UNDO_WRITE);
	CU_ASSERT_EQUAL(got.address, TEXT);
	CU_ASSERT_EQUAL(got.len, 5);
	CU_ASSERT_EQUAL(memcmp(got.bytes, "right", 5), 0);
	text = text_of("right");
	CU_ASSERT_EQUAL(undo(&text).action, UNDO_NOTHING);
	text = text_of("other");
	CU_ASSERT_EQUAL(undo(&text).action, UNDO_LEAVE);
	CU_ASSERT_FALSE(undo(&text).stands);
	text = text_of("wrong");
	CU_ASSERT_EQUAL(undo(&text).action, UNDO_LEAVE);
	text.readable = false;
	CU_ASSERT_EQUAL(undo(&text).action, UNDO_NOTHING);
}

/* By another tool inside the patch, which is there or has left: only its own trap stays. */
TEST("text with traps")
{
	static const struct {
		char now[6];
		enum undo_action action;
		uint32_t kept;
	} cases[] = {
		{ "\xcc" "1234", UNDO_WRITE, 1 },
		{ "\xe9" "1\xcc" "34", UNDO_WRITE, 4 },
		{ "\xe9" "123\xcc", UNDO_WRITE, 16 },
		{ "r1234", UNDO_WRITE, 0 },
		{ "\xe9" "ig34", UNDO_WRITE, 0 },
		{ "\xcc" "ight", UNDO_NOTHING, 0 },
		{ "ri\xcc" "ht", UNDO_NOTHING, 0 },
		{ "\xcc" "12x4", UNDO_LEAVE, 0 },
		{ "x1234", UNDO_LEAVE, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct undo_text text = text_of(cases[i].now);
		struct undo got = undo(&text);

		CU_ASSERT_EQUAL(got.action, cases[i].action);
		if (got.action != UNDO_WRITE)
			continue;
		CU_ASSERT_EQUAL(got.kept, cases[i].kept);
		CU_ASSERT_EQUAL(memcmp(got.bytes, "right", 5), 0);
	}
}

static void left_standing(const struct undo_text *text)
{
	struct undo got = undo(text);

	CU_ASSERT_EQUAL(got.action, UNDO_LEAVE);
	CU_ASSERT_TRUE(got.stands);
}

/* The right bytes in the wrong mapping. */
TEST("text that is not where its file has it")
{
	static bool *const rights[] = { &map[0].write, &map[0].shared };
	struct undo_text text = text_of("\xe9" "1234");

	for (size_t i = 0; i < ARRAY_SIZE(rights); i++) {
		*rights[i] = true;
		left_standing(&text);
		*rights[i] = false;
	}
	map[0].exec = false;
	left_standing(&text);
	map[0].exec = true;
	text.place.offset++;
	left_standing(&text);
	text = text_of("\xe9" "1234");
	text.place.file.dev_minor++;
	left_standing(&text);
	text.place.file = (struct file_id){ .inode = 0 };
	left_standing(&text);
	text = text_of("\xe9" "1234");
	text.map = &map[1];	/* moved to huge pages */
	CU_ASSERT_EQUAL(undo_text(&(struct journal_entry){ .address = map[1].start, .len = 5,
							   .new = "\xe9" "1234" }, &text).action, UNDO_WRITE);
}

TEST("text of wrong lengths")
{
	static const uint64_t wrong[] = { 0, JOURNAL_BYTES + 1, 1ull << 32, UINT64_MAX };
	struct undo_text text = text_of("\xe9" "1234");
	struct journal_entry entry = jump;

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		entry.len = wrong[i];
		CU_ASSERT_EQUAL(undo_text(&entry, &text).action, UNDO_LEAVE);
		CU_ASSERT_PTR_NOT_NULL(undo_malformed(&entry));
	}
	entry.len = 5;
	entry.address = UINT64_MAX - 2;
	CU_ASSERT_EQUAL(undo_text(&entry, &text).action, UNDO_LEAVE);
}

static bool is_mapped(enum journal_kind kind, uint64_t address, uint64_t len)
{
	struct journal_entry entry = { .state = JOURNAL_DONE, .kind = kind, .address = address, .len = len };

	return !undo_malformed(&entry) && undo_is_mapped(&entry, &maps, &file);
}

TEST("mappings")
{
	struct file_id other = file;

	CU_ASSERT_TRUE(is_mapped(JOURNAL_MAPPING, map[1].start, AREA));
	CU_ASSERT_TRUE(is_mapped(JOURNAL_DATA, map[2].start, DATA));
	CU_ASSERT_TRUE(is_mapped(JOURNAL_REGION, map[3].start, JOURNAL_SIZE));
	/* Other lengths, rights, kinds. */
	CU_ASSERT_FALSE(is_mapped(JOURNAL_MAPPING, map[1].start, 4096));
	CU_ASSERT_FALSE(is_mapped(JOURNAL_MAPPING, map[1].start + 4096, AREA));
	CU_ASSERT_FALSE(is_mapped(JOURNAL_MAPPING, map[2].start, DATA));
	CU_ASSERT_FALSE(is_mapped(JOURNAL_DATA, map[1].start, DATA));
	CU_ASSERT_FALSE(is_mapped(JOURNAL_DATA, map[2].start, 8192));
	CU_ASSERT_FALSE(is_mapped(JOURNAL_MAPPING, map[0].start, AREA));
	CU_ASSERT_FALSE(is_mapped(JOURNAL_LOG, map[1].start, 4096));
	CU_ASSERT_FALSE(is_mapped(JOURNAL_LOG, map[3].start + 4096, 4096));	/* of offset 0 */
	CU_ASSERT_FALSE(is_mapped(JOURNAL_MAPPING, UINT64_MAX - 4095, AREA));
	other.dev_minor++;
	CU_ASSERT_FALSE(undo_is_of_file(&map[3], &other));
	CU_ASSERT_TRUE(undo_is_of_file(&map[3], &file));
	CU_ASSERT_TRUE(undo_is_journal(&map[3]));
	map[3].exec = true;
	CU_ASSERT_FALSE(undo_is_journal(&map[3]));
	CU_ASSERT_FALSE(undo_is_of_file(&map[3], &file));
	map[3].exec = false;
	map[3].write = false;
	CU_ASSERT_FALSE(undo_is_journal(&map[3]));
	map[3].write = true;
}

/* The kernel has made all that can be read executable, and ours is known all the same. */
TEST("mappings of READ_IMPLIES_EXEC")
{
	map[2].exec = true;
	CU_ASSERT_FALSE(is_mapped(JOURNAL_DATA, map[2].start, DATA));
	for (size_t i = 0; i < ARRAY_SIZE(map); i++)
		map[i].exec = map[i].exec_implied = true;
	CU_ASSERT_TRUE(is_mapped(JOURNAL_MAPPING, map[1].start, AREA));
	CU_ASSERT_TRUE(is_mapped(JOURNAL_DATA, map[2].start, DATA));
	CU_ASSERT_TRUE(is_mapped(JOURNAL_REGION, map[3].start, JOURNAL_SIZE));
	CU_ASSERT_TRUE(undo_is_journal(&map[3]));
	CU_ASSERT_FALSE(is_mapped(JOURNAL_MAPPING, map[2].start, DATA));
	CU_ASSERT_FALSE(is_mapped(JOURNAL_DATA, map[1].start, DATA));
	for (size_t i = 0; i < ARRAY_SIZE(map); i++)
		map[i].exec_implied = false;
	map[2].exec = map[3].exec = false;
}

TEST("mappings that are not there")
{
	AUTO_FREE struct journal *journal = calloc(1, JOURNAL_SIZE);
	struct journal_entry area = { .kind = JOURNAL_MAPPING, .address = map[1].start, .len = AREA };
	uint32_t index;

	CU_ASSERT_PTR_NOT_NULL_FATAL(journal);
	journal_init(journal, JOURNAL_SIZE * 2, JOURNAL_SIZE);
	CU_ASSERT_PTR_NULL(journal_plan(journal, &area, &index));
	journal->entry[index].state = JOURNAL_DONE;
	CU_ASSERT_PTR_NULL(undo_missing_any(journal, &maps, &file));
	journal->entry[index].address ^= 1ull << 63;
	CU_ASSERT_PTR_NOT_NULL(undo_missing_any(journal, &maps, &file));
	journal->entry[index].address = map[2].start;	/* data is there, and no code */
	CU_ASSERT_PTR_NOT_NULL(undo_missing_any(journal, &maps, &file));
	/* An mdbg was killed before it could note that it had taken it away, or that it was there. */
	journal->entry[index].address = map[3].start;
	CU_ASSERT_PTR_NULL(undo_missing_any(journal, &maps, &file));
	journal->entry[index].address = 0;
	journal->entry[index].state = JOURNAL_PLANNED;
	CU_ASSERT_PTR_NULL(undo_missing_any(journal, &maps, &file));
}

TEST("handlers")
{
	AUTO_FREE struct journal *journal = calloc(1, JOURNAL_SIZE);
	struct journal_entry entry = { .state = JOURNAL_DONE, .kind = JOURNAL_SIGACTION,
				       .aux = SIGTRAP, .len = 32 };
	const struct journal_entry area = { .kind = JOURNAL_MAPPING, .address = map[1].start,
					    .len = AREA };
	struct patch_sigaction now = { .handler = map[1].start + 64 };
	uint32_t index;

	CU_ASSERT_PTR_NOT_NULL_FATAL(journal);
	journal_init(journal, JOURNAL_SIZE * 2, JOURNAL_SIZE);
	CU_ASSERT_FALSE(undo_sigaction(&entry, &now, journal, &maps));
	CU_ASSERT_PTR_NULL(journal_plan(journal, &area, &index));
	CU_ASSERT_TRUE(undo_sigaction(&entry, &now, journal, &maps));
	entry.aux = SIGUSR1;
	CU_ASSERT_FALSE(undo_sigaction(&entry, &now, journal, &maps));
	entry.aux = SIGTRAP;
	now.handler = map[0].start;
	CU_ASSERT_FALSE(undo_sigaction(&entry, &now, journal, &maps));
}

TEST("numbers that none writes")
{
	struct journal_entry entry = { .state = JOURNAL_DONE, .kind = JOURNAL_SNAPSHOT, .aux = 77 };

	CU_ASSERT_PTR_NULL(undo_malformed(&entry));
	entry.aux = UINT32_MAX;		/* wait4 would take it for any child */
	CU_ASSERT_PTR_NOT_NULL(undo_malformed(&entry));
	entry.state = JOURNAL_UNDONE;
	CU_ASSERT_PTR_NULL(undo_malformed(&entry));
}
