/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The journal: format, check, write ahead. The bytes are the target's, too: every number in them is
 * bounded before use.
 */

#include "log/journal.h"

#include <inttypes.h>
#include <string.h>

#define VERSION		1
#define ROOM		((size_t)JOURNAL_ROOM)

_Static_assert(sizeof(struct journal_entry) == 96, "frozen format");
_Static_assert(sizeof(struct journal) == 64, "frozen format");

void journal_init(struct journal *journal, uint64_t region_size, uint64_t log_offset)
{
	memset(journal, 0, JOURNAL_SIZE);
	journal_init_zeroed(journal, region_size, log_offset);
}

void journal_init_zeroed(struct journal *journal, uint64_t region_size, uint64_t log_offset)
{
	uint64_t magic;

	journal->version = VERSION;
	journal->entry_size = sizeof(struct journal_entry);
	journal->room = ROOM;
	journal->region_size = region_size;
	journal->log_offset = log_offset;
	/* The magic is written last: a journal that has it is complete. */
	memcpy(&magic, JOURNAL_MAGIC, sizeof(magic));
	__atomic_store_n((uint64_t __attribute__((may_alias)) *)journal->magic, magic,
			 __ATOMIC_RELEASE);
}

struct err *journal_check(const struct journal *journal, uint64_t size)
{
	if (size < JOURNAL_SIZE)
		return err_create(ERR_FORMAT, "journal: the region has only %" PRIu64 " bytes",
				  size);
	if (memcmp(journal->magic, JOURNAL_MAGIC, sizeof(journal->magic)))
		return err_create(ERR_FORMAT, "journal: no magic number");
	if (journal->version != VERSION)
		return err_create(ERR_FORMAT, "journal: version %u, not %u", journal->version,
				  VERSION);
	if (journal->entry_size != sizeof(struct journal_entry))
		return err_create(ERR_FORMAT, "journal: entries of %u bytes", journal->entry_size);
	if (journal->room > ROOM || journal->nr > journal->room)
		return err_create(ERR_FORMAT, "journal: %u of %u entries used, room for %zu",
				  journal->nr, journal->room, ROOM);
	if (journal->region_size < JOURNAL_SIZE || journal->region_size > size)
		return err_create(ERR_FORMAT, "journal: a region of %" PRIu64 " bytes in %" PRIu64,
				  journal->region_size,
					size);
	if (journal->log_offset < JOURNAL_SIZE || journal->log_offset >= journal->region_size)
		return err_create(ERR_FORMAT,
				  "journal: the log at offset %" PRIu64 " is outside the region",
				  journal->log_offset);
	return NULL;
}

uint32_t journal_entries(const struct journal *journal)
{
	uint32_t nr = __atomic_load_n(&journal->nr, __ATOMIC_ACQUIRE);

	return MIN(nr, (uint32_t)ROOM);
}

bool journal_owner_locks(const struct journal *journal)
{
	for (uint32_t i = 0; i < journal_entries(journal); i++) {
		const struct journal_entry *entry = &journal->entry[i];

		if (entry->state == JOURNAL_UNDONE && entry->kind == JOURNAL_LOCK &&
		    entry->address == journal->owner && entry->len == journal->owner_start)
			return true;
	}
	return false;
}

static void state_set(struct journal *journal, uint32_t index, enum journal_state state)
{
	if (index < ROOM)
		__atomic_store_n(&journal->entry[index].state, state, __ATOMIC_RELEASE);
}

void journal_put(struct journal *journal, uint32_t index, const struct journal_entry *entry,
		 uint32_t nr)
{
	struct journal_entry *at = &journal->entry[index];

	/*
	 * All but the state is written first; a cleaner ignores the entry until its state is set.
	 */
	memcpy((uint8_t *)at + sizeof(at->state), (const uint8_t *)entry + sizeof(entry->state),
	       sizeof(*at) - sizeof(at->state));
	__atomic_store_n(&journal->nr, nr, __ATOMIC_RELEASE);
	state_set(journal, index, JOURNAL_PLANNED);
}

static bool is_free(const struct journal_entry *entry, enum journal_kind wanted)
{
	if (entry->state == JOURNAL_UNDONE)
		return entry->kind != JOURNAL_LOCK || wanted == JOURNAL_LOCK;
	return entry->state == JOURNAL_FREE;
}

struct err *journal_plan(struct journal *journal, const struct journal_entry *entry, uint32_t *ret)
{
	uint32_t nr = journal_entries(journal), index = 0;

	while (index < nr && !is_free(&journal->entry[index], entry->kind))
		index++;
	if (index == ROOM)
		return err_create(ERR_RANGE, "journal: all %zu entries are in use", ROOM);
	journal_put(journal, index, entry, MAX(nr, index + 1));
	*ret = index;
	return NULL;
}

void journal_done(struct journal *journal, uint32_t index)
{
	state_set(journal, index, JOURNAL_DONE);
}

void journal_undone(struct journal *journal, uint32_t index)
{
	state_set(journal, index, JOURNAL_UNDONE);
}
