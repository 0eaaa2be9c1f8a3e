/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What targets that forge mdbg's journal know of it: src/log/journal.h, whose format is frozen. */
#pragma once

#include "target.h"

#include <sys/mman.h>

#define JOURNAL_MEMFD_NAME	"mdbg"
#define JOURNAL_MEMFD_PATH	"/memfd:" JOURNAL_MEMFD_NAME
#define JOURNAL_SIZE		(256 * 1024)
#define JOURNAL_TEXT		1
#define JOURNAL_MAPPING		2
#define JOURNAL_SIGACTION	4
#define JOURNAL_DATA		6
#define JOURNAL_SNAPSHOT	8
#define JOURNAL_DONE		2
#define JOURNAL_ROOM		((JOURNAL_SIZE - sizeof(struct journal)) / sizeof(struct journal_entry))

struct journal_entry {
	uint32_t state, kind;
	uint64_t address, len, aux;
	uint8_t old[32], new[32];
};

struct journal {
	char magic[8];
	uint32_t version, entry_size, nr, room, owner, reserved;
	uint64_t owner_start, region_size, log_offset, target_start;
	struct journal_entry entry[];
};

/* The first mapping of mdbg's memory file. */
static UNUSED struct journal *find_journal(char *link, size_t room)
{
	char line[512];
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned long start = 0, end;

	while (maps && fgets(line, sizeof(line), maps)) {
		if (!strstr(line, JOURNAL_MEMFD_PATH) || sscanf(line, "%lx-%lx", &start, &end) != 2 ||
		    end - start != JOURNAL_SIZE)
			continue;
		if (link)
			snprintf(link, room, "/proc/self/map_files/%lx-%lx", start, end);
		fclose(maps);
		return (struct journal *)start;
	}
	if (maps)
		fclose(maps);
	return NULL;
}

static UNUSED void add(struct journal *journal, const struct journal_entry *entry)
{
	journal->entry[journal->nr] = *entry;
	journal->entry[journal->nr++].state = JOURNAL_DONE;
}
