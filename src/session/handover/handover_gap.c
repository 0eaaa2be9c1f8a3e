/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Finds libraries whose blocks the probes of an earlier mdbg have missed, and tells the user at a
 * handover (handover.c). A library that is loaded while no mdbg watches has no jumps. Nor has one
 * that is loaded again, even at its old address, where only its text shows it (as in
 * probe/patch_watch.h):
 *
 *	its code is as before the patch, in a page of the file's	it was loaded again (or the process has
 *								discarded its copies)
 *	the same, in a copy of the process' own			somebody has taken the jumps out: another
 *								tool, or an mdbg that was killed before
 *								the journal had it
 *	it is younger than the log's last module map, and has		it was loaded
 *	functions to be probed
 *
 * If it is the C library, or if somebody has taken jumps out, blocks that are in the log may have
 * been freed unseen: then the log is marked as having a gap, as after `malloc off`. For any other
 * library only its own allocations and frees are missing, as they are when a live mdbg sees it
 * late.
 */

#include <stdio.h>
#include <string.h>

#include "base/path.h"
#include "base/trace.h"
#include "os/pagemap.h"
#include "probe/probe.h"
#include "probe/free_facts.h"
#include "session/private.h"
#include "tracee/region.h"
#include "tracee/target.h"

struct handover_gap {
	struct session *session;
	VEC(const struct module *) told;
	bool gap;
};

/* Does the user not know of this module yet? From now on it counts as known. */
static bool is_first(struct handover_gap *unwatched, const struct module *module)
{
	for (size_t i = 0; i < unwatched->told.nr; i++)
		if (unwatched->told.at[i] == module)
			return false;
	if (vec_push(&unwatched->told, module))
		trace_line("no memory to note that %s was told of", module->path);
	return true;
}

static void tell(struct handover_gap *unwatched, const char *before, const struct module *module,
		 const char *behind)
{
	session_warn_f(unwatched->session,
		       "%s%.80s%s while no mdbg watched: calls of its allocator since "
		       "then were not recorded",
		       before, path_base(module->path), behind);
}

/* Does the text have the bytes from before the patch? */
static bool is_lost(struct target *target, const struct journal_entry *entry)
{
	uint8_t now[JOURNAL_BYTES];

	return entry->len <= sizeof(now) &&
	       !memory_read(&target->mem.bring, entry->address, now, entry->len) &&
	       !memcmp(now, entry->old, entry->len);
}

static void look_at_patch(struct handover_gap *unwatched, const struct journal_entry *entry)
{
	struct target *target = unwatched->session->current->target;
	const struct module *module = modules_find(&target->modules, entry->address);
	bool copied;

	if (!module || !is_lost(target, entry) || !is_first(unwatched, module))
		return;
	copied = pagemap_is_copied(target->mem.tid, entry->address);
	unwatched->gap |= copied || free_facts_is_libc(module);
	if (copied)
		tell(unwatched, "the probes were taken out of ", module, "");
	else
		tell(unwatched, "", module, " was loaded again, or its code discarded,");
}

static void look_at_new(struct handover_gap *unwatched, const struct probe *probe)
{
	if (probe->state == PROBE_PLANNED && probe_of_allocator(probe) &&
	    probe->module->died == UINT32_MAX &&
	    probe->module->born >= unwatched->session->floor && is_first(unwatched, probe->module))
		tell(unwatched, "", probe->module, " was loaded");
}

void handover_gap_tell(struct session *session)
{
	struct handover_gap unwatched = { .session = session, .told = VEC_INIT };
	const struct probes *probes = session->current->probes;

	if (!session->old_text.nr)
		return;
	for (size_t i = 0; i < session->old_text.nr; i++)
		look_at_patch(&unwatched,
			      &session->region->journal->entry[session->old_text.at[i]]);
	for (size_t i = 0; i < probes->all.nr; i++)
		look_at_new(&unwatched, probes->all.at[i]);
	vec_free(&unwatched.told);
	if (!unwatched.gap)
		return;
	session->records = RECORDS_STALE;
	session_warn_gap(session);
}
