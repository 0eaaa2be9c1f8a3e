/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Changes to a target, each through the journal: the entry is written ahead, then the change is
 * made; undoing compares first. This is the only place that writes to a target's text or changes
 * its mappings and dispositions (except for the stack of a borrowed thread, tracee/remote.h).
 *
 *	verb		undone by		journal
 *	patch_text	patch_text_undo		JOURNAL_TEXT
 *	patch_map	patch_unmap		JOURNAL_MAPPING
 *	patch_map_data	patch_unmap		JOURNAL_DATA
 *	patch_map_log	patch_unmap		JOURNAL_LOG
 *	patch_sigaction	patch_sigaction_undo	JOURNAL_SIGACTION
 *
 * Text is written while all threads are stopped, through /proc/PID/mem, which holds mmap_lock for
 * reading. Kernels before 6.18 hold the lock in the same way when they take a uprobe out, and
 * kernels before 6.15 do it by replacing the page with a copy, so that a write to the page in
 * between is lost. But they do that in a thread that hits a uprobe which is not for this process
 * (uprobes.c, handler_chain), and this thread finishes before it stops. Everything else that puts
 * uprobes in or takes them out holds the lock for writing.
 */
#pragma once

#include "tracee/undo.h"

struct procmem;
struct region;
struct remote;
struct target;

/*
 * Write new to len (at most JOURNAL_BYTES) bytes of text at address. The old bytes must be equal to
 * expect (as the file has them), else ERR_BUSY: somebody else's patch is there. ERR_RANGE: they lie
 * in two pages; the kernel writes page by page, and an mdbg that is killed in between would leave
 * half a patch in a running process. *entry_ret is the entry of the change.
 */
struct err *patch_text(struct target *target, uint64_t address, const void *expect, const void *new,
		       size_t len, uint32_t *entry_ret) MUST_CHECK;
/*
 * ERR_BUSY: the bytes are not ours any more; they stay as they are. A module that is gone is no
 * error.
 */
struct err *patch_text_undo(struct target *target, uint32_t entry) MUST_CHECK;

/*
 * A private anonymous r-x mapping of len bytes at address exactly, where nothing may lie yet. aux:
 * as in log/journal.h.
 */
struct err *patch_map(struct target *target, struct remote *remote, uint64_t address, uint64_t len,
		      uint64_t aux, uint32_t *entry_ret) MUST_CHECK;
/*
 * The same rw-, and not in core dumps: it counts the calls in the area (an entry of patch_map), and
 * the area's entry says so.
 */
struct err *patch_map_counts(struct target *target, struct remote *remote, uint64_t address,
			     uint32_t area, uint32_t *entry_ret) MUST_CHECK;
/*
 * A private anonymous rw- mapping of len bytes, wherever there is room: not in core dumps, and its
 * first page is zeros in a forked child (MADV_WIPEONFORK; ERR_UNSUPPORTED where the kernel has
 * none).
 */
struct err *patch_map_data(struct target *target, struct remote *remote, uint64_t len,
			   uint64_t *address_ret, uint32_t *entry_ret) MUST_CHECK;
/*
 * A shared mapping of the region's file, len bytes from offset (a multiple of the page) on,
 * wherever there is room; read-only unless write. Not in core dumps; a forked child inherits it. It
 * is made from one that has the file's page at offset or the one in front of it, which must be
 * writable if write (ERR_STATE: there is none). ERR_UNSUPPORTED: no room for it.
 */
struct err *patch_map_log(struct remote *remote, uint64_t offset, uint64_t len, bool write,
			  uint64_t *address_ret, uint32_t *entry_ret) MUST_CHECK;
/*
 * Replace len bytes that were read at address by the bytes that would be there without our own
 * patches.
 */
void patch_see_through(const struct target *target, uint64_t address, uint8_t *bytes, size_t len);
/*
 * The mapping is looked at first. If it is not there any more as it was made, something of the
 * target's may be there: nothing is unmapped, and that is no error.
 */
struct err *patch_unmap(struct target *target, struct remote *remote, uint32_t entry) MUST_CHECK;
/*
 * The same in the process of remote, which is a forked copy of the target of region, or says so: the
 * mapping of an entry of the region's journal is unmapped if it is there.
 */
struct err *patch_unmap_copy(struct remote *remote, const struct region *region,
			     uint32_t entry) MUST_CHECK;
/*
 * Is all that the journal has mapped in the target still there? Asked when the target was untraced:
 * another mdbg may have been at work, or the target itself. If not, target->lost is set, and from
 * then on nothing is put into the target or written there any more (ERR_STATE): only taken out, entry
 * by entry, as each is looked at.
 */
void patch_look(struct target *target);
/*
 * Before a private mapping of ours is unmapped, a mapping of the region's file replaces it, which
 * is recognised by its name. Otherwise, if mdbg is killed before it changes the entry of the
 * journal, the entry would name whatever the target has put there since. journal is the journal's
 * address in the target.
 */
struct err *patch_cover(struct remote *remote, uint64_t journal, uint64_t address,
			uint64_t len) MUST_CHECK;
/* Write into a mapping of ours. */
struct err *patch_fill(struct target *target, uint64_t address, const void *bytes,
		       size_t len) MUST_CHECK;

/*
 * Write len bytes of text, except those that must stay (undo_is_ours): another tool may take its
 * trap out at any moment, and must not find it put back.
 */
struct err *patch_write_around(struct procmem *mem, uint64_t address, const uint8_t *bytes,
			       size_t len, uint32_t kept) MUST_CHECK;

/* Set a disposition; the old one goes to *old_ret. */
struct err *patch_sigaction(struct target *target, struct remote *remote, int signal,
			    const struct patch_sigaction *new, struct patch_sigaction *old_ret,
			    uint32_t *entry_ret) MUST_CHECK;
/* rt_sigaction in the target, past the journal; new and old may be NULL. */
struct err *patch_sigaction_call(struct remote *remote, int signal,
				 const struct patch_sigaction *new,
				 struct patch_sigaction *old) MUST_CHECK;
/* Put the old disposition back, unless the target has set another one meanwhile. */
struct err *patch_sigaction_undo(struct target *target, struct remote *remote,
				 uint32_t entry) MUST_CHECK;

/*
 * Write an entry ahead in the target's own journal without making a change: the target is a forked
 * child that has inherited the change.
 */
struct err *patch_plan(struct target *target, const struct journal_entry *entry,
		       uint32_t *entry_ret) MUST_CHECK;
/*
 * Find the place of the text at address in its file, and the len bytes that the file has there, by
 * the target's modules. False: that is not known.
 */
bool patch_text_of_file(const struct target *target, uint64_t address, struct text_place *place_ret,
			uint8_t *bytes_ret, size_t len);

/*
 * Undo an entry of this mdbg's own, or one that was checked (tracee/undo.h), in the memory and
 * threads of a forked child or of an earlier mdbg's target. entry does not change meanwhile.
 */
struct err *patch_undo_text_entry(struct procmem *mem,
				  const struct journal_entry *entry) MUST_CHECK;
struct err *patch_undo_sigaction_entry(struct remote *remote,
				       const struct journal_entry *entry) MUST_CHECK;
