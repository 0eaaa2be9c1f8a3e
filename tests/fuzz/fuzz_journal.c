/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A journal that the target has written over: is it one, how many entries has it, where is the next
 * one put, and what of a text is seen through. The input is a list of writes over a good journal with
 * three patches in a text.
 */

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "log/journal.h"
#include "tracee/patch.h"
#include "tracee/region.h"
#include "tracee/target.h"
#include "writes.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

#define PAGE		4096u
#define REGION		(JOURNAL_SIZE + PAGE)
#define TEXT		0x555555554000ull
#define TEXT_LEN	128u
#define PATCH_LEN	5u

static struct journal *journal;

/* Pages that cannot be read on both sides show a read outside. */
static void make_journal(void)
{
	uint8_t *around = mmap(NULL, REGION + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (around == MAP_FAILED || mprotect(around + PAGE, JOURNAL_SIZE, PROT_READ | PROT_WRITE))
		abort();
	journal = (struct journal *)(around + PAGE);
}

/* The text as it is with its patches. */
static void fill(uint8_t *text)
{
	journal_init(journal, REGION, JOURNAL_SIZE);
	memset(text, 0x90, TEXT_LEN);
	for (uint32_t i = 0; i < 3; i++) {
		struct journal_entry entry = { .kind = JOURNAL_TEXT, .address = TEXT + 32 * i,
					       .len = PATCH_LEN };
		uint32_t index;

		memset(entry.old, 0x90, PATCH_LEN);
		memset(entry.new, 0xe9, PATCH_LEN);
		memcpy(text + 32 * i, entry.new, PATCH_LEN);
		if (journal_plan(journal, &entry, &index))
			abort();
		journal_done(journal, index);
	}
}

/* Could an entry have made a byte of the text what it is now? */
static bool is_told(uint64_t address, uint8_t byte)
{
	for (uint32_t i = 0; i < journal_entries(journal); i++) {
		const struct journal_entry *entry = &journal->entry[i];
		uint64_t at = address - entry->address;

		if (entry->kind == JOURNAL_TEXT && entry->state == JOURNAL_DONE &&
		    entry->len <= JOURNAL_BYTES && at < entry->len && entry->old[at] == byte)
			return true;
	}
	return false;
}

/* All of the text, or a part of it that begins and ends inside of patches. */
static void see_through(const uint8_t *text, size_t from, size_t to)
{
	struct region region = { .journal = journal };
	struct target target = { .region = &region };
	uint8_t *seen = malloc(to - from);

	if (!seen)
		abort();
	memcpy(seen, text + from, to - from);
	patch_see_through(&target, TEXT + from, seen, to - from);
	for (size_t i = from; i < to; i++)
		if (seen[i - from] != text[i] && !is_told(TEXT + i, seen[i - from]))
			abort();
	free(seen);
}

/* A free entry is found, or there is none. */
static void plan(void)
{
	const struct journal_entry entry = { .kind = JOURNAL_MAPPING, .address = 0x1000, .len = PAGE };
	uint32_t index;

	if (journal_plan(journal, &entry, &index))
		return;
	if (index >= journal_entries(journal) ||
	    memcmp(&journal->entry[index].kind, &entry.kind, sizeof(entry) - sizeof(entry.state)) ||
	    journal->entry[index].state != JOURNAL_PLANNED)
		abort();
	journal_done(journal, index);
	journal_undone(journal, index);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct input input = { bytes, len };
	uint8_t text[TEXT_LEN];
	struct write write;

	if (!journal)
		make_journal();
	fill(text);
	while (input_write(&input, &write)) {
		size_t room = write.area & 1 ? JOURNAL_SIZE : 1024;

		if (write.area & 2)
			write_apply(&write, text, sizeof(text));
		else
			write_apply(&write, journal, room);
	}
	if (!journal_check(journal, REGION) &&
	    (journal->region_size > REGION || journal->log_offset >= journal->region_size))
		abort();
	see_through(text, 0, TEXT_LEN);
	see_through(text, 2, 35);
	plan();
	for (uint32_t i = 0; i < journal_entries(journal); i += 64)
		journal_undone(journal, i);
	return 0;
}
