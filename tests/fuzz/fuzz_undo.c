/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What may be undone by a journal that a stranger wrote, in a process whose mappings and text may be
 * anything: whatever the decision is, nothing is written but what the file has, to private text that
 * differs from it, no trap of somebody else's is written over, and nothing is taken for ours that has not our rights. The input is the bytes of an
 * entry, of what is known of its text and of three mappings, and then of the journal's own entries.
 */

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "tracee/undo.h"
#include "writes.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

#define MAPS		3u
#define ENTRIES		4u
#define PAGE		0x1000ull
#define TRAP		0xcc
#define BASE		0x10000ull	/* of the first mapping */

static const char *const paths[] = {
	"", JOURNAL_MEMFD_PATH, "[anon:x]", "/lib/libc.so.6", JOURNAL_MEMFD_PATH " (deleted)", "[heap]",
};

static void take(struct input *input, void *to, size_t len)
{
	size_t nr = len < input->len ? len : input->len;

	memset(to, 0, len);
	memcpy(to, input->at, nr);
	input->at += nr;
	input->len -= nr;
}

/* Near each other, so that entries meet them; sorted, and they do not overlap. */
static void take_maps(struct input *input, struct proc_map *map)
{
	uint64_t at = BASE;

	for (unsigned i = 0; i < MAPS; i++) {
		uint8_t rights = input_byte(input);

		at += PAGE * (input_byte(input) % 4);
		map[i] = (struct proc_map){
			.start = at, .read = rights & 1, .write = rights & 2, .exec = rights & 4,
			.shared = rights & 8, .inode = rights >> 4 & 3, .offset = PAGE * (rights >> 6),
			.path = (char *)paths[input_byte(input) % ARRAY_SIZE(paths)],
		};
		at += PAGE * (1 + input_byte(input));
		map[i].end = at;
	}
}

static bool holds(const struct proc_map *map, const struct journal_entry *entry)
{
	return map && entry->address >= map->start && entry->address < map->end &&
	       entry->len <= map->end - entry->address;
}

static void check_text(const struct journal_entry *entry, const struct undo_text *text)
{
	struct undo undo = undo_text(entry, text);
	const struct proc_map *map = text->map;

	if (undo.action != UNDO_WRITE)
		return;
	if (!undo.len || undo.len > JOURNAL_BYTES || undo.address != entry->address ||
	    undo.len != entry->len || !holds(map, entry) || !text->readable ||
	    !map->exec || map->write || map->shared || !text->place.file.inode)
		abort();
	if (memcmp(undo.bytes, text->file, undo.len) || !memcmp(text->now, text->file, undo.len))
		abort();
	if (map->inode && (map->inode != text->place.file.inode ||
			   map->offset + (entry->address - map->start) != text->place.offset))
		abort();
	for (uint64_t i = 0; i < undo.len; i++) {
		bool ours = text->now[i] == text->file[i] || text->now[i] == entry->new[i];

		if (ours == (undo.kept >> i & 1) || (!ours && text->now[i] != TRAP))
			abort();
	}
}

/* All of it is private, anonymous, and has the rights of the entry's kind, in however many mappings. */
static void check_private(const struct journal_entry *entry, const struct proc_maps *maps)
{
	uint64_t end = entry->address + entry->len;
	bool data = entry->kind == JOURNAL_DATA;

	if (end < entry->address || (!data && entry->kind != JOURNAL_MAPPING))
		abort();
	for (uint64_t at = entry->address; at < end; at++) {
		const struct proc_map *map = procparse_maps_find(maps, at);

		if (!map || map->shared || *map->path || map->inode || map->write != data ||
		    map->exec == data)
			abort();
		at = MIN(map->end, end) - 1;
	}
}

static void check_mapped(const struct journal_entry *entry, const struct proc_maps *maps,
			 const struct file_id *file)
{
	const struct proc_map *map = procparse_maps_find(maps, entry->address);

	if (!undo_is_mapped(entry, maps, file))
		return;
	if (!map)
		abort();
	if (entry->kind != JOURNAL_LOG && entry->kind != JOURNAL_REGION)
		check_private(entry, maps);
	else if (!holds(map, entry) || !map->shared || strcmp(map->path, JOURNAL_MEMFD_PATH) || map->exec ||
		 map->inode != file->inode)
		abort();
}

static void check_sigaction(const struct journal_entry *entry, const struct journal *journal,
			    const struct proc_maps *maps, uint64_t handler)
{
	const struct patch_sigaction now = { .handler = handler };
	const struct proc_map *map;

	if (!undo_sigaction(entry, &now, journal, maps))
		return;
	map = procparse_maps_find(maps, handler);
	if (!map || !map->exec || map->write || map->shared || map->inode)
		abort();
	if (entry->kind == JOURNAL_SIGACTION && entry->aux != SIGTRAP &&
	    (entry->state == JOURNAL_PLANNED || entry->state == JOURNAL_DONE))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	static uint64_t region[JOURNAL_SIZE / 8];
	struct journal *journal = (struct journal *)region;
	struct input input = { bytes, len };
	struct proc_map map[MAPS];
	struct proc_maps maps = { { map, MAPS, MAPS } };
	struct journal_entry entry;
	struct undo_text text = { .readable = input_byte(&input) & 1 };

	take(&input, &entry, sizeof(entry));
	take_maps(&input, map);
	take(&input, text.now, sizeof(text.now));
	take(&input, text.file, sizeof(text.file));
	text.place.file.inode = input_byte(&input) & 3;
	text.place.offset = PAGE * (input_byte(&input) % 4) + entry.address % PAGE;
	text.map = procparse_maps_find(&maps, entry.address);
	check_text(&entry, &text);
	check_mapped(&entry, &maps, &text.place.file);
	journal_init(journal, JOURNAL_SIZE + PAGE, JOURNAL_SIZE);
	take(&input, journal->entry, ENTRIES * sizeof(journal->entry[0]));
	journal->nr = ENTRIES;
	undo_malformed_any(journal);
	check_sigaction(&entry, journal, &maps, entry.address);
	return 0;
}
