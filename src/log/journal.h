/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The journal: all that was done to a target, in the target's own shared region, so that any later
 * mdbg, of any version, can take out what any earlier one left. THE FORMAT IS FROZEN: fields are
 * never moved, never reused; kinds are added at the end, and an mdbg that meets a kind it does not
 * know leaves that entry alone and says so.
 *
 * It lies at offset 0 of the region (a memfd named JOURNAL_MEMFD_NAME; it is found through
 * /proc/PID/maps by that name). All numbers are little-endian. One writer at a time: the mdbg whose
 * pid stands in `owner`.
 *
 * An entry is written whole with state PLANNED before the change is made (write-ahead), becomes
 * DONE when it is made and UNDONE when it is taken back. A cleaner treats PLANNED like DONE but
 * compares first: bytes that are not `new` are left alone.
 *
 * Whoever has the file mapped can write here. An mdbg that wrote a journal goes by its own copy of
 * it (journal_writer.h); a later one believes it no more than tracee/undo.h says.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define JOURNAL_MEMFD_NAME	"mdbg"
#define JOURNAL_MEMFD_PATH	"/memfd:" JOURNAL_MEMFD_NAME	/* in /proc/PID/maps */
#define JOURNAL_MAGIC		"mdbgjrnl"
#define JOURNAL_SIZE		(256 * 1024)	/* bytes of the region that the journal takes */
#define JOURNAL_BYTES		32
#define JOURNAL_AREA_AGENT	1

enum journal_kind {
	JOURNAL_TEXT = 1,	/* len bytes at address: old[] became new[] */
	/*
	 * a private anonymous mapping of len bytes at address; aux: where the calls under way in it
	 * are counted (tracee/call_count.h), 0: nowhere; and JOURNAL_AREA_AGENT, if it begins with
	 * the agent's image
	 */
	JOURNAL_MAPPING = 2,
	JOURNAL_REGION = 3,	/* the mapping of the region itself: undone last */
	/*
	 * disposition of signal aux; old[] and new[] are the kernel's struct sigaction (32 bytes)
	 */
	JOURNAL_SIGACTION = 4,
	/* descriptor aux, open in the target; never written, and nothing is closed by it */
	JOURNAL_FD = 5,
	JOURNAL_DATA = 6,	/* a private anonymous mapping of len bytes at address, writable */
	JOURNAL_LOG = 7,	/* a mapping of part of the region's file, from offset aux on */
	/*
	 * a forked child that never runs, without an exit signal; aux: its id in the target's pid
	 * namespace, 0: not made
	 */
	JOURNAL_SNAPSHOT = 8,
	/*
	 * No change: the owner whose pid is address and whose start time is len holds a lock on the
	 * file for as long as it lives (os/memfd.h). It is UNDONE from the start, so that an mdbg
	 * that does not know the kind, and takes no lock, ignores it and may use the entry again;
	 * and it says nothing about another owner.
	 */
	JOURNAL_LOCK = 9,
};

enum journal_state {
	JOURNAL_FREE = 0,
	JOURNAL_PLANNED = 1,
	JOURNAL_DONE = 2,
	JOURNAL_UNDONE = 3,
};

struct journal_entry {			/* 96 bytes */
	/* enum journal_state; written last when an entry is added */
	uint32_t state;
	uint32_t kind;
	uint64_t address;
	uint64_t len;
	uint64_t aux;
	uint8_t old[JOURNAL_BYTES];
	uint8_t new[JOURNAL_BYTES];
};

struct journal {			/* the first bytes of the region */
	char magic[8];
	uint32_t version;		/* 1, for ever */
	uint32_t entry_size;		/* 96 */
	uint32_t nr;			/* entries ever used */
	uint32_t room;			/* entries that fit */
	/* pid of the mdbg that writes, in its own pid namespace; 0: none */
	uint32_t owner;
	/* a robust futex: the tracer thread's id; FUTEX_OWNER_DIED when that has ended; 0: none */
	uint32_t tracer;
	/* that mdbg's start time (/proc/PID/stat, field 22), against pid reuse */
	uint64_t owner_start;
	uint64_t region_size;		/* bytes of the whole region */
	uint64_t log_offset;		/* where the log's header lies in the region */
	/* start time of the target that this was done to; its forked children may share this */
	uint64_t target_start;
	struct journal_entry entry[];
};

/* How many entries there is room for. */
#define JOURNAL_ROOM	((JOURNAL_SIZE - sizeof(struct journal)) / sizeof(struct journal_entry))

/* Format the first JOURNAL_SIZE bytes at base. */
void journal_init(struct journal *journal, uint64_t region_size, uint64_t log_offset);
/* Format bytes that are zeros, as in a new file: only the first of them are touched. */
void journal_init_zeroed(struct journal *journal, uint64_t region_size, uint64_t log_offset);
/* Is this a journal, of this format, that lies within size bytes? ERR_FORMAT says what is wrong. */
struct err *journal_check(const struct journal *journal, uint64_t size) MUST_CHECK;
/* Is its owner one that holds a lock as long as it lives? */
bool journal_owner_locks(const struct journal *journal);
/* Entries ever used, at most as many as there is room for, whatever the target has made of it. */
uint32_t journal_entries(const struct journal *journal);
/*
 * Write an entry ahead; it is PLANNED. UNDONE entries are used again. ERR_RANGE: full. *ret is its
 * index.
 */
struct err *journal_plan(struct journal *journal, const struct journal_entry *entry,
			 uint32_t *ret) MUST_CHECK;
/*
 * Write an entry ahead at an index below JOURNAL_ROOM, of nr entries: for a journal that is written
 * twice.
 */
void journal_put(struct journal *journal, uint32_t index, const struct journal_entry *entry,
		 uint32_t nr);
void journal_done(struct journal *journal, uint32_t index);
void journal_undone(struct journal *journal, uint32_t index);
