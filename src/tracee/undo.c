/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Decides from bytes what may be undone (theory in undo.h). */

#include "tracee/undo.h"

#include <signal.h>

#include "agent/state.h"
#include "arch/arch.h"
#include "base/page.h"

#define PID_MAX		(4ull << 20)	/* the kernel's PID_MAX_LIMIT */
#define AREA_LEN	(256ull << 10)	/* as probe/area.h has it */

/*
 * The sizes of a count of calls, and of the agent's state in all builds that may have left one. A
 * change of the size adds the new one here, and removes none.
 */
static const uint64_t data_len[] = { COUNT_BYTES, 20480, 24576, 32768 };

_Static_assert(ALIGN_UP(sizeof(struct agent_state), PAGE) == 32768,
	       "a new size of the state: add it to data_len, and here");

static bool is_one_of(uint64_t len, const uint64_t *lens, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (lens[i] == len)
			return true;
	return false;
}

static bool wraps(const struct journal_entry *entry)
{
	return entry->address + entry->len < entry->address;
}

static const char *malformed_mapping(const struct journal_entry *entry, bool right_len)
{
	if (!right_len)
		return "a mapping of a length that none of ours has";
	return wraps(entry) || entry->address % PAGE ? "a mapping where there can be none" : NULL;
}

const char *undo_malformed(const struct journal_entry *entry)
{
	if (entry->state != JOURNAL_PLANNED && entry->state != JOURNAL_DONE)
		return NULL;
	switch (entry->kind) {
	case JOURNAL_TEXT:
		return !entry->len || entry->len > JOURNAL_BYTES || wraps(entry) ?
			"a patch of a length that none of ours has" : NULL;
	case JOURNAL_MAPPING:
		return malformed_mapping(entry, entry->len == AREA_LEN);
	case JOURNAL_DATA:
		return malformed_mapping(entry, is_one_of(entry->len, data_len,
							  ARRAY_SIZE(data_len)));
	case JOURNAL_REGION:
		return malformed_mapping(entry, entry->len == JOURNAL_SIZE);
	case JOURNAL_LOG:
		return malformed_mapping(entry, entry->len && !(entry->len % PAGE) &&
					 !(entry->aux % PAGE));
	case JOURNAL_SIGACTION:
		return entry->aux != SIGTRAP ? "a signal that is not SIGTRAP" : NULL;
	case JOURNAL_SNAPSHOT:
		return entry->aux > PID_MAX ? "a process id that there cannot be" : NULL;
	default:
		return NULL;
	}
}

const char *undo_malformed_any(const struct journal *journal)
{
	const char *what = NULL;

	for (uint32_t i = 0; i < journal_entries(journal) && !what; i++)
		what = undo_malformed(&journal->entry[i]);
	return what;
}

/* Text */

static struct undo leave(const struct journal_entry *entry, const char *why, bool stands)
{
	return (struct undo){ .action = UNDO_LEAVE, .why = why, .stands = stands,
			      .address = entry->address, .len = entry->len };
}

/* Is the entry's text mapped from its own place in the module's file? */
static bool is_in_place(const struct journal_entry *entry, const struct undo_text *text)
{
	const struct proc_map *map = text->map;
	struct file_id file = file_id_of_map(map);

	if (!map->exec || map->write || map->shared || entry->len > map->end - entry->address)
		return false;
	if (!map->inode)	/* moved to huge pages, say; the file is its module's */
		return !*map->path || !strncmp(map->path, "[anon:", 6);
	return file_id_same(&file, &text->place.file) &&
	       map->offset + (entry->address - map->start) == text->place.offset;
}

_Static_assert(JOURNAL_BYTES <= 32, "a bit for each byte");

bool undo_is_ours(const uint8_t *now, const uint8_t *old, const uint8_t *new, size_t len,
		  uint32_t *kept_ret)
{
	const struct arch *arch = arch_host();
	uint32_t kept = 0;

	for (size_t i = 0; i < len; i++) {
		if (kept >> i & 1 || now[i] == old[i] || now[i] == new[i])
			continue;
		if (len - i < arch->trap_len || memcmp(now + i, arch->trap, arch->trap_len))
			return false;
		kept |= ((1u << arch->trap_len) - 1) << i;
	}
	*kept_ret = kept;
	return true;
}

static bool is_put_back(const struct undo_text *text, uint64_t len, uint32_t kept)
{
	for (uint64_t i = 0; i < len; i++)
		if (!(kept >> i & 1) && text->now[i] != text->file[i])
			return false;
	return true;
}

struct undo undo_text(const struct journal_entry *entry, const struct undo_text *text)
{
	struct undo undo = { .action = UNDO_WRITE, .address = entry->address, .len = entry->len };

	if (!entry->len || entry->len > JOURNAL_BYTES || wraps(entry))
		return leave(entry, "is named with a length that none of ours has", false);
	if (!text->map || !text->readable)
		return (struct undo){ .action = UNDO_NOTHING };	/* the module is gone */
	if (!text->place.file.inode)
		return leave(entry, "is of a file that cannot be read",
			     !memcmp(text->now, entry->new, entry->len));
	if (!undo_is_ours(text->now, text->file, entry->new, entry->len, &undo.kept))
		return leave(entry, "was changed by somebody else", false);
	if (is_put_back(text, entry->len, undo.kept))
		return (struct undo){ .action = UNDO_NOTHING };
	if (!is_in_place(entry, text))
		return leave(entry, "is not where its file has it", true);
	memcpy(undo.bytes, text->file, entry->len);
	return undo;
}

/* Mappings */

bool undo_is_of_file(const struct proc_map *map, const struct file_id *file)
{
	struct file_id own = file_id_of_map(map);

	return file_id_same(&own, file) && !strcmp(map->path, JOURNAL_MEMFD_PATH) && map->shared &&
	       !proc_map_is_exec(map);
}

bool undo_is_journal(const struct proc_map *map)
{
	return !map->offset && map->end - map->start == JOURNAL_SIZE && map->read && map->write &&
	       !proc_map_is_exec(map) && map->shared && !strcmp(map->path, JOURNAL_MEMFD_PATH);
}

/* The private anonymous mapping of an entry, with the rights that ours have. */
static bool is_private(const struct journal_entry *entry, const struct proc_map *map)
{
	bool data = entry->kind == JOURNAL_DATA;

	return map->read && (data ? !proc_map_is_exec(map) : map->exec) && map->write == data &&
	       !map->shared && !map->inode && !*map->path;
}

/* The kernel may have them as several: one page of JOURNAL_DATA is wiped by a fork (patch.c). */
static bool are_private(const struct journal_entry *entry, const struct proc_maps *maps)
{
	uint64_t at = entry->address, end = at + entry->len;
	const struct proc_map *map;

	do {
		map = procparse_maps_find(maps, at);
		if (!map || !is_private(entry, map))
			return false;
		at = map->end;
	} while (at < end);
	return !wraps(entry);
}

static bool is_of_region(const struct journal_entry *entry, const struct proc_maps *maps,
			 const struct file_id *file)
{
	uint64_t at = entry->address, end = at + entry->len;
	uint64_t offset = entry->kind == JOURNAL_LOG ? entry->aux : 0;
	const struct proc_map *map;

	/* The kernel has several where the process has changed a part (mlock, madvise). */
	do {
		map = procparse_maps_find(maps, at);
		if (!map || !undo_is_of_file(map, file) ||
		    map->offset + (at - map->start) != offset)
			return false;
		offset += map->end - at;
		at = map->end;
	} while (at < end);
	return !wraps(entry);
}

bool undo_is_mapping(const struct journal_entry *entry)
{
	return entry->kind == JOURNAL_MAPPING || entry->kind == JOURNAL_DATA ||
	       entry->kind == JOURNAL_REGION || entry->kind == JOURNAL_LOG;
}

bool undo_is_mapped(const struct journal_entry *entry, const struct proc_maps *maps,
		    const struct file_id *file)
{
	switch (entry->kind) {
	case JOURNAL_MAPPING:
	case JOURNAL_DATA:
		return are_private(entry, maps);
	case JOURNAL_REGION:
	case JOURNAL_LOG:
		return is_of_region(entry, maps, file);
	default:
		return false;
	}
}

const char *undo_missing_any(const struct journal *journal, const struct proc_maps *maps,
			     const struct file_id *file)
{
	for_each_entry(entry, journal) {
		const struct proc_map *map = procparse_maps_find(maps, entry->address);

		if (entry->state == JOURNAL_DONE &&
		    (entry->kind == JOURNAL_MAPPING || entry->kind == JOURNAL_DATA) &&
		    !are_private(entry, maps) && !(map && undo_is_of_file(map, file)))
			return "a mapping that is not there";
	}
	return NULL;
}

/* The disposition of SIGTRAP */

static bool is_in_this(const struct journal_entry *area, const struct proc_maps *maps,
		       uint64_t address)
{
	static const struct file_id none;

	/*
	 * For a forked copy the handler may have been removed from its parent since: what is mapped
	 * there decides.
	 */
	return area->kind == JOURNAL_MAPPING && area->len == AREA_LEN &&
	       address - area->address < area->len && undo_is_mapped(area, maps, &none);
}

bool undo_is_in_area(const struct journal *journal, const struct proc_maps *maps, uint64_t address)
{
	for_each_entry(entry, journal)
		if (is_in_this(entry, maps, address))
			return true;
	return false;
}

bool undo_sigaction(const struct journal_entry *entry, const struct patch_sigaction *now,
		    const struct journal *journal, const struct proc_maps *maps)
{
	return !undo_malformed(entry) && undo_is_in_area(journal, maps, now->handler);
}
