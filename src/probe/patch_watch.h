/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Patches that are not in the text any more.
 *
 * With its untraced mdbg learns of modules that come and go by looking, ten times a second. One
 * that was unloaded and loaded again in between lies where it lay, as a rule, and so does its entry
 * in the loader's list: nothing there tells it from the one before. But its text is the file's,
 * without our jumps, and what it does is recorded by nobody. So the text itself is looked at: all
 * patches that are in, by one process_vm_readv for 64 of them. One that is not as it was written is
 * lost, in one of two ways, which the page tells that it lies in:
 *
 *	the file's, or none	To write a patch gave the page a copy of its own, for as long as the
 *				mapping lasts. So this is another mapping: the module has gone, and
 *				come back, or not. (Or the process has thrown its copies away,
 *				MADV_DONTNEED, which comes to the same.) It is marked `replaced`, so
 *				that to the next reading of the module map it is one that died, and
 *				what lies there now is one that was born: with all that follows from
 *				either, as for any other (probes_modules_changed). The journal's entries
 *				of the old patches are dropped there; until then they name text that is
 *				as it was, which is no harm to who cleans up.
 *	a copy			Somebody has written over it: a debugger's breakpoint, another tool, the
 *				program itself. That is his: nothing is written over it, and the probe
 *				stays ACTIVE, since its entry in the journal must, but it is
 *				`overwritten`, and counts as one that records nothing as long as it is
 *				(probe_records). The user is told once for each probe, at the second
 *				look. Should our bytes be back one day (the debugger has left), it is a
 *				probe like others. (First the module map is asked whether what lies
 *				there is the module's at all.)
 *
 * A jump in which another tool has, or had, its own trap is worse than lost: who calls the function
 * runs into the middle of an instruction. That is what a kernel uprobe on an address inside the
 * patch comes to, which knows the file's instructions alone. So as soon as it is seen, all threads
 * are stopped, and what is ours of it is taken out around that trap (undo_is_ours); the probe is
 * REFUSED from then on and said to be so. A debugger's breakpoint is left alone, since the process
 * cannot be stopped while there is one. (Nobody can keep the process from calling the function
 * before that.)
 *
 * Modules are read by whoever needs them, not only to find new probes: between planning and arming
 * one may die, and be back before its probes are put in. Then these are not put in: its heir's will
 * be.
 *
 * A page that cannot be told is taken for a copy: a patch that is put in again is told for sure, so
 * that there is no going round in circles with a tool that takes out what it does not like.
 *
 * Calls that went by: up to the look that finds a patch lost, calls may have gone unrecorded, and
 * as long as one is overwritten. The log's gap says so when probes go in again, so that no double
 * free is told of a block from before (log/unknown_free.h); for those that were told in the
 * interval itself it is kept here (patch_watch_may_have_missed). Where functions of the C library
 * were lost, or overwritten ones, blocks may have been freed unseen that were recorded, and
 * allocated that were not: patch_watch_takes_records says that once.
 *
 * Costs: a look at the 13 probes of a plain program takes 5 us, one at 64 of as many pages 15 us. A
 * poll takes no more than 128 in turn, 30 us, so that hundreds cost no more than 0.03 % of a
 * processor, and are seen within half a second; who asks for an answer has all looked at.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct probes;

#define PATCH_WATCH_ALL	UINT_MAX

/*
 * Forget the probes of modules that are dead: nothing of them is put in any more, and text that is
 * not mapped any more takes its patch with it. So wherever modules may have been read, before
 * probes are planned and before they are put in. One whose patch is still there stays as it is,
 * whatever the map says: an instruction of ours that neither mdbg nor the journal knows would be
 * the end of the target. If what lies there now is a module with the same code, it becomes that
 * module's when that is planned.
 */
void patch_watch_forget(struct probes *probes);
/*
 * Look at `most` patches, those that were not looked at for longest, or at all; the target may run.
 * True: modules have gone, and probes_modules_changed is to be called.
 */
bool patch_watch_look(struct probes *probes, unsigned most);
/* All threads are stopped: take out what is broken by another tool's trap in it. */
void patch_watch_take_broken(struct probes *probes);
/* Were probes lost at some time in [from, to], so that events may have gone unrecorded? */
bool patch_watch_may_have_missed(const struct probes *probes, uint64_t from, uint64_t to);
/* Has something been lost, since the last time that this was asked, that records depend on? */
bool patch_watch_takes_records(struct probes *probes);
