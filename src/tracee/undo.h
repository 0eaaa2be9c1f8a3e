/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * May an entry of a journal be undone in a process, and how?
 *
 * A journal that this mdbg did not write, and a process that only seems to be a forked copy of its
 * target, cannot be trusted. So the code here decides what may be done because of them, from bytes
 * alone: the entry, the mappings of the process, the text that is there, and the bytes of its file
 * in that place. Nothing is read or changed here, and every number may have any value.
 *
 *	TEXT		is written only where the bytes are `new` (see undo_is_ours), the mapping is
 *			private, executable and not writable, and shows that very place of the module's
 *			file, or is a module's text that was moved to anonymous memory. The bytes
 *			written are those of the file, never the entry's `old`
 *	MAPPING, DATA	are unmapped only if a private anonymous mapping lies there with the rights
 *			that ours have, and the entry has exactly a length that ours have
 *	LOG, REGION	only what is mapped of the region's file, from that offset on
 *	SIGACTION	only SIGTRAP's, and only while its handler lies in one of our areas
 *	SNAPSHOT	reaped by the process itself, only a child that is one (tracee/snapshot.h)
 *	FD, others	nothing
 *
 * If text that leads into an area may not be put back, all mappings there stay: the process would
 * otherwise jump to unmapped memory (`stands`).
 */
#pragma once

#include "log/journal.h"
#include "os/memfd.h"
#include "os/procfs.h"

/* For each entry of a journal that was ever used; entry is declared here and points to it. */
#define for_each_entry(entry_at, journal)	for_each_entry_while(entry_at, journal, true)
#define for_each_entry_while(entry_at, journal, condition) \
	for (const struct journal_entry *entry_at = (journal)->entry; \
	     entry_at < (journal)->entry + journal_entries(journal) && (condition); entry_at++)

/* The kernel's struct sigaction. */
struct patch_sigaction {
	uint64_t handler, flags, restorer, mask;
};

/* The file and the place in it that some text comes from; inode 0: not known. */
struct text_place {
	struct file_id file;
	uint64_t offset;
};

enum undo_action {
	UNDO_NOTHING,		/* there is nothing to be undone (any more) */
	UNDO_WRITE,		/* len bytes to address */
	UNDO_LEAVE,		/* it must not be done */
};

struct undo {
	enum undo_action action;
	bool stands;		/* LEAVE: our bytes are still there */
	uint64_t address, len;
	uint8_t bytes[JOURNAL_BYTES];
	uint32_t kept;		/* WRITE: bit i: byte i stays, as undo_is_ours says */
	const char *why;	/* LEAVE: of the code at address ("was changed ...") */
};

/* Facts about the text that a TEXT entry names. */
struct undo_text {
	const struct proc_map *map;	/* that holds the entry's address, or NULL */
	bool readable;
	uint8_t now[JOURNAL_BYTES];	/* if readable: len bytes from the address on */
	struct text_place place;	/* where the module's file has it ... */
	uint8_t file[JOURNAL_BYTES];	/* ... and what, if that is known */
};

/*
 * Could an mdbg have written each number of an entry that is PLANNED or DONE? Returns NULL if so;
 * else the text says what is wrong. Unknown kinds are not checked.
 */
const char *undo_malformed(const struct journal_entry *entry);
/* undo_malformed for a whole journal that has passed journal_check. */
const char *undo_malformed_any(const struct journal *journal);
/*
 * May len bytes (at most JOURNAL_BYTES) of text, which were changed from old to new, become old
 * again? Each byte must be the old or the new one. Some may be old already, because an mdbg was
 * killed in the middle, or because another tool had its trap inside the patch and has taken it out.
 * A trap that is still there belongs to such a tool and stays (*kept_ret: bit i for byte i), while
 * the bytes around it are put back. A kernel uprobe needs that: it executes the file's instruction
 * and goes on behind it, and when it is removed the kernel puts the file's byte there. (A debugger
 * would put back our byte, which it has seen. But it traces the process while its breakpoint is in,
 * so this code never meets one in a process that mdbg has stopped.)
 */
bool undo_is_ours(const uint8_t *now, const uint8_t *old, const uint8_t *new, size_t len,
		  uint32_t *kept_ret);
struct undo undo_text(const struct journal_entry *entry, const struct undo_text *text);
/* Is the entry that of a mapping? */
bool undo_is_mapping(const struct journal_entry *entry);
/* Does the mapping of this MAPPING, DATA, LOG or REGION entry exist? file is the region's. */
bool undo_is_mapped(const struct journal_entry *entry, const struct proc_maps *maps,
		    const struct file_id *file);
/*
 * Does a journal, which has passed journal_check, tell of memory of the target's own that is not there?
 * The text is as in undo_malformed. Such memory becomes a mapping of the region's file before it is
 * taken away, or that is noted first. So the address is a wrong one, and what was mapped is still
 * mapped elsewhere. (What is of the file is found by the file.)
 */
const char *undo_missing_any(const struct journal *journal, const struct proc_maps *maps,
			     const struct file_id *file);
/* Is it a mapping of the region's file that has a name and rights as ours have? */
bool undo_is_of_file(const struct proc_map *map, const struct file_id *file);
/*
 * Is it also the journal's mapping, as a target has it? (An mdbg has the log in the same mapping.)
 */
bool undo_is_journal(const struct proc_map *map);
/* Does the address lie in an area that is in the journal, and that exists? */
bool undo_is_in_area(const struct journal *journal, const struct proc_maps *maps, uint64_t address);
/*
 * May the present disposition be replaced by the entry's old one? Its handler must lie in an area
 * of the journal's.
 */
bool undo_sigaction(const struct journal_entry *entry, const struct patch_sigaction *now,
		    const struct journal *journal, const struct proc_maps *maps);
