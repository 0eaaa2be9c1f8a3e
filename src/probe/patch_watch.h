/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Finds patches that are not in the text any more.
 *
 * While the target is untraced, mdbg looks for modules that come and go ten times a second. A
 * module that was unloaded and loaded again in between mostly has its old address, and the same
 * entry in the loader's list, so nothing there shows the change. But its text is the file's,
 * without our jumps, and its events are not recorded. So mdbg compares the text itself: all patches
 * that are in, by one process_vm_readv for 64 of them. A patch that is not as it was written is
 * lost in one of two ways; its page shows in which:
 *
 *	the file's, or none	A patch that is written gives the page a copy of its own, for as
 *				long as the mapping lasts. So this is another mapping: the module
 *				has gone, and may have come back. (Or the process has discarded its
 *				copies, MADV_DONTNEED, which has the same effect.) The module is
 *				marked `replaced`. The next reading of the module map then takes it
 *				for one that has gone, and the module that is there now for a new
 *				one, with all consequences (breakpoints_modules_changed). That also
 *				drops the journal's entries of the old patches; until then these
 *				name text that is as it was, which does no harm in a clean-up.
 *	a copy			Another party has written over the patch: a debugger with a
 *				breakpoint, another tool, the program itself. Its bytes are left
 *				alone, and the probe stays ACTIVE, since its entry in the journal
 *				must stay. But it is `overwritten`, and counts as a probe that
 *				records nothing as long as that lasts (probe_records). The user is
 *				told once for each probe, at the second look. If our bytes come back
 *				(the debugger has left), it is a probe like others. (Before all
 *				that, mdbg checks in the module map whether the page belongs to the
 *				module at all.)
 *
 * A jump in which another tool has, or had, its own trap is worse than a lost one: a thread that
 * calls the function goes on in the middle of an instruction. A kernel uprobe on an address inside
 * the patch does that, because it knows only the file's instructions. So as soon as mdbg sees it,
 * it stops all threads and takes its own bytes out around that trap (undo_is_ours); the probe is
 * REFUSED from then on, and the user is warned. A debugger's breakpoint is left alone, since mdbg
 * cannot stop the process while a debugger traces it. (Nothing can keep the process from calling
 * the function before that.)
 *
 * A module may go between the reading of the map and the planning of its probes: then their code
 * cannot be read, and they are REFUSED. If it has come back before the map is read again, nothing
 * shows that. So the code of such probes is looked at as well (`unread`), and as soon as it can be
 * read, the module is marked `replaced`.
 *
 * Modules are read at several points, not only to find new probes: between planning and arming a
 * module may go and come back. Then its old probes are not put in, but those of the new module.
 *
 * A page whose kind cannot be found out counts as a copy. So mdbg never puts a patch in again and
 * again while another tool takes it out.
 *
 * Calls that were missed: before the look that finds a patch lost, and as long as one is
 * overwritten, calls may have gone unrecorded. When probes go in again, the log notes a gap, so
 * that no double free of a block from before is reported (log/log_unknown_free.h). For double frees
 * that were reported in the interval itself, the interval is kept here
 * (patch_watch_may_have_missed). If patches of the C library were lost, or patches overwritten,
 * recorded blocks may have been freed unseen, and others allocated: patch_watch_takes_records says
 * that once. This is not so where a C library has gone with its namespace (dlmopen): nobody can
 * free its blocks any more. It is one that is not mapped at its place any more.
 *
 * Costs: a look at the 13 probes of a plain program takes 5 us, one at 64 of as many pages 15 us. A
 * poll looks at no more than 128 in turn, 30 us, so that hundreds of probes cost no more than 0.03
 * % of a processor, and are seen within half a second. Before an answer all of them are compared.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct probes;

#define PATCH_WATCH_ALL	UINT_MAX

/*
 * Forget the probes of dead modules: they are not put in any more, and text that is not mapped any
 * more has lost its patch. Call this wherever modules may have been read, before probes are planned
 * and before they are put in. A probe whose patch is still there stays as it is, whatever the map
 * says: an instruction of ours that neither mdbg nor the journal knows would end the target. If a
 * module with the same code is there now, the probe becomes that module's when that is planned.
 */
void patch_watch_forget(struct probes *probes);
/*
 * Compare `most` patches, those first that were not compared for the longest time; the target may
 * run. True: modules have gone, and breakpoints_modules_changed must be called.
 */
bool patch_watch_look(struct probes *probes, unsigned most);
/* All threads are stopped: take out patches that are broken by another tool's trap inside. */
void patch_watch_take_broken(struct probes *probes);
/* Were probes lost at some time in [from, to], so that events may be missing? */
bool patch_watch_may_have_missed(const struct probes *probes, uint64_t from, uint64_t to);
/* Since the last call of this: was a patch lost on which the records depend? */
bool patch_watch_takes_records(struct probes *probes);
