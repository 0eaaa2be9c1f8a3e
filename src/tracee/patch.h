/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Changes to a target, each through the journal: the entry is written ahead, then the change is
 * made; undoing compares first. The only place that writes to a target's text or changes its
 * mappings and dispositions (but for the stack of a borrowed thread, tracee/remote.h).
 *
 *	verb		undone by		journal
 *	patch_text	patch_text_undo		JOURNAL_TEXT
 *	patch_map	patch_unmap		JOURNAL_MAPPING
 *	patch_map_data	patch_unmap		JOURNAL_DATA
 *	patch_map_log	patch_unmap		JOURNAL_LOG
 *	patch_sigaction	patch_sigaction_undo	JOURNAL_SIGACTION
 *
 * Text is written while all threads stand, by /proc/PID/mem, which holds mmap_lock for reading.
 * Kernels before 6.18 take a uprobe out under the same, and before 6.15 by replacing the page
 * with a copy: what is written to the page meanwhile is lost. But they do so in a thread that
 * hits a uprobe which is not for this process (uprobes.c, handler_chain), and that one has
 * finished before it stops. All else that puts uprobes in or takes them out holds the lock for
 * writing.
 */
#pragma once

#include "tracee/undo.h"

struct procmem;
struct remote;
struct target;

/*
 * len (at most JOURNAL_BYTES) bytes of text at address become new. The old bytes must equal expect
 * (as the file has them), else ERR_BUSY: somebody else's patch is there. ERR_RANGE: they lie in two
 * pages; the kernel writes page by page, and an mdbg that is killed between two of them would leave
 * half a patch in a process that runs on. *entry_ret names the change.
 */
struct err *patch_text(struct target *target, uint64_t address, const void *expect, const void *new,
		       size_t len, uint32_t *entry_ret) MUST_CHECK;
/* ERR_BUSY if the bytes are not ours any more: they are left. A module that is gone is no error. */
struct err *patch_text_undo(struct target *target, uint32_t entry) MUST_CHECK;

/* A private anonymous r-x mapping of len bytes at address exactly, where nothing may lie yet. */
struct err *patch_map(struct target *target, struct remote *remote, uint64_t address, uint64_t len,
		      uint32_t *entry_ret) MUST_CHECK;
/*
 * A private anonymous rw- mapping of len bytes, wherever there is room: not in core dumps, zeros in
 * a forked child (MADV_WIPEONFORK; ERR_UNSUPPORTED where the kernel has none).
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
/* bytes, len of them, were read at address: as they would be without our own patches. */
void patch_see_through(const struct target *target, uint64_t address, uint8_t *bytes, size_t len);
struct err *patch_unmap(struct target *target, struct remote *remote, uint32_t entry) MUST_CHECK;
/*
 * Before a private mapping of ours goes, one of the region's file takes its place, which is known
 * by its name. An entry of the journal that was not changed yet when mdbg was killed would else
 * name what the target has put there since. journal is where it lies in the target.
 */
struct err *patch_cover(struct remote *remote, uint64_t journal, uint64_t address,
			uint64_t len) MUST_CHECK;
/* Write into a mapping of ours. */
struct err *patch_fill(struct target *target, uint64_t address, const void *bytes,
		       size_t len) MUST_CHECK;

/*
 * Write len bytes of text, but for those that stay (undo_is_ours): whose trap it is may take it
 * out at any moment, and must not find it there again.
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
/* Put the old one back, unless the target has set another meanwhile. */
struct err *patch_sigaction_undo(struct target *target, struct remote *remote,
				 uint32_t entry) MUST_CHECK;

/*
 * Write an entry ahead, in the target's own journal, without making a change: that of a forked
 * child which has the change already.
 */
struct err *patch_plan(struct target *target, const struct journal_entry *entry,
		       uint32_t *entry_ret) MUST_CHECK;
/*
 * Where in its file the text at address lies, and (len bytes) what the file has there, by the
 * target's modules. False: that is not known.
 */
bool patch_text_of_file(const struct target *target, uint64_t address, struct text_place *place_ret,
			uint8_t *bytes_ret, size_t len);

/*
 * The same for an entry of this mdbg's own, or one that was found right (tracee/undo.h), and the
 * memory and threads of a forked child or of an earlier mdbg's target. entry does not change
 * meanwhile.
 */
struct err *patch_undo_text_entry(struct procmem *mem,
				  const struct journal_entry *entry) MUST_CHECK;
struct err *patch_undo_sigaction_entry(struct remote *remote,
				       const struct journal_entry *entry) MUST_CHECK;
