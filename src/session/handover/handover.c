/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Handover: probes and log that `detach -keep` or a killed mdbg has left are taken over by a later
 * mdbg.
 *
 *	handover_take_over		the earlier region is opened (/proc/PID/map_files) and is this mdbg's;
 *				in a short stop its journal is made to tell what is there; its changes
 *				to the target are noted, generations go on. If that cannot be, what is
 *				there is cleaned, and its records are lost
 *	handover_gap_tell		in the stop in which the probes of this mdbg go in: which libraries came
 *				meanwhile, and ran without probes (handover_gap.c)
 *	handover_take_text		in the same stop, just before the probes go in: the old text is put back,
 *				so that no call goes by either. A kill at any point leaves a journal that
 *				tells all
 *	handover_release_old	the earlier agent records in the same log what is still inside it; when
 *				nobody is any more, it is unmapped
 *
 * When old mappings may go. Each mdbg has its own code and its own mappings: areas (thunks and the
 * agent), the agent's state, log and threads (one mapping), module maps. A thread enters this code
 * by a jump in the text, and stays in it until it has returned through the thunk. Meanwhile it
 * reads and writes through the state that its thunk names, and that state has addresses in the same
 * mdbg's mappings only. The file behind all these mappings has only offsets and values, with two
 * exceptions: ledger_op.function, which is compared and never followed, and scratch that each walk
 * fills anew. So all mappings of one mdbg may be unmapped, in any order, once no text leads to its
 * thunks and no thread has a PC, a return address or a PC saved by a signal in its areas. A thread
 * whose stack cannot be examined counts as inside (stack_use_of_thread). If mdbgs were killed in
 * the middle of a handover, there may be mappings of several earlier ones; the next mdbg treats
 * them as those of one.
 *
 * Until then the earlier module maps and rows stay in their places in the file (share_adopt,
 * share_forget_old).
 *
 * An address in the journal is believed only after mdbg has looked at what is mapped there. An mdbg
 * may be killed after a change and before it has noted that change, and the kernel may then use the
 * same addresses for something else, such as a mapping of the next mdbg. So an entry is undone
 * before its mapping is removed (patch_unmap); a mapping that is gone is not unmapped again;
 * mappings of the region's file that the journal does not name are unmapped, too; and a thread that
 * was borrowed by the killed mdbg and must still make its call makes that first
 * (previous_session_settle).
 *
 * Both agents may work at the same time on one table of threads, so share_adopt refuses another
 * layout. A stack that was recorded before is resolved with the modules that have stayed where they
 * were then; modules that came or went while nobody looked give no names.
 */

#include <string.h>

#include "agent/state.h"
#include "base/cleanup.h"
#include "base/trace.h"
#include "os/pagemap.h"
#include "probe/probe.h"
#include "session/private.h"
#include "tracee/previous/previous_session.h"
#include "tracee/region.h"
#include "tracee/share.h"
#include "tracee/target.h"

#define REST_NS			1000000ull	/* the target runs so long between two mappings */

static struct err *note_old(struct session *session)
{
	const struct journal *journal = session->region->journal;
	struct err *err = NULL;

	for (uint32_t i = 0; i < journal_entries(journal) && !err; i++) {
		const struct journal_entry *entry = &journal->entry[i];

		if (entry->state != JOURNAL_DONE || entry->kind == JOURNAL_REGION)
			continue;
		err = entry->kind == JOURNAL_TEXT ? vec_push(&session->old_text, i) :
						    vec_push(&session->old_maps, i);
	}
	return err;
}

static struct err *settle(struct session *session)
{
	struct process *process = session->current;
	struct err *err = target_stop(process->target, NULL);

	if (err)
		return err;
	err = previous_session_settle(process->target);
	target_resume(process->target);
	return err;
}

/* The log has its own setting; use that of the user instead. */
static void ask_history(struct session *session)
{
	uint32_t nr = session->config.free_history;
	struct err *err = nr ? log_set_free_history(&session->region->log, nr) : NULL;

	if (err)
		session_warn(session, err->msg);
}

static struct err *adopt(struct session *session)
{
	struct process *process = session->current;
	struct err *err = region_adopt(process->target, &session->region);
	uint32_t generation;
	uint64_t marks;

	if (err)
		return err;
	err = share_adopt(process->target, &generation, &marks);
	if (!err)
		err = settle(session);
	if (!err)
		err = note_old(session);
	if (!err) {
		session->floor = generation + 1;
		session->records = marks & SHARE_LACKS ? RECORDS_LACK : RECORDS_WHOLE;
		ask_history(session);
		forked_copies_clean(session, &session->region->origin);
		return NULL;
	}
	vec_clear(&session->old_text);
	vec_clear(&session->old_maps);
	err = keeping(err, region_keep(process->target));
	peak_watch_stop(session);
	region_free(session->region);
	session->region = NULL;
	return err;
}

/*
 * The first cleaning comes while the journal still says what they have; few are left for the second
 * one.
 */
static struct err *clean_copies_and_stop(struct session *session)
{
	struct process *process = session->current;
	AUTO_FREE struct journal *journal = NULL;
	struct origin origin;
	struct err *none = previous_session_origin(process->target, &origin, &journal), *err;

	if (none)
		return target_stop(process->target, NULL);
	forked_copies_clean(session, &origin);
	err = target_stop(process->target, NULL);
	if (!err)
		forked_copies_clean(session, &origin);
	origin_free(&origin);
	return err;
}

/* lost: why the log could not be continued; "" if there was nothing. */
static struct err *clean_previous_session(struct session *session, const char *lost)
{
	char text[640];
	char left[256];
	bool found;
	struct err *err = clean_copies_and_stop(session);

	if (err)
		return err;
	err = previous_session_clean(session->current->target, &found, left, sizeof(left));
	snprintf(text, sizeof(text), *lost ? "took out what an earlier mdbg had left, and what it "
		 "recorded is lost: %s" : "took out what an earlier mdbg had left%s", lost);
	if (!err && found)
		session_warn(session, *left ? left : text);
	if (err)
		return err;
	target_resume(session->current->target);
	return NULL;
}

struct err *handover_take_over(struct session *session)
{
	struct err *err = previous_session_to_resume(session->current->target);
	char why[512];

	if (err && err->code == ERR_ATTACH)
		return err;
	if (!session->config.arm)
		err = err_create(ERR_STATE, "--no-arm was asked for");
	else if (session->config.engine == SESSION_ENGINE_BREAKPOINT)
		err = err_create(ERR_STATE, "--engine breakpoint was asked for");
	else if (!err)
		err = adopt(session);
	if (!err || err->code == ERR_ATTACH)
		return err;
	snprintf(why, sizeof(why), "%s", err->msg);
	return clean_previous_session(session, why);
}

/*
 * What probes_disarm had to leave goes when nobody is in it any more. The log is not among it: it is
 * used again if the probes are put in again.
 */
void handover_note_left(struct session *session)
{
	const struct journal *journal = session->region->journal;

	for (uint32_t i = 0; i < journal_entries(journal); i++) {
		const struct journal_entry *entry = &journal->entry[i];
		bool noted = false;

		vec_each(old, &session->old_maps)
			noted |= *old == i;
		if (!noted && entry->state == JOURNAL_DONE &&
		    (entry->kind == JOURNAL_MAPPING || entry->kind == JOURNAL_DATA))
			/* without memory for it, the next mdbg looks */
			err_ignore(vec_push(&session->old_maps, i));
	}
}

/* Clean them while the journal still says what they have inherited. */
static void clean_uncaught(struct session *session)
{
	if (session->uncaught)
		forked_copies_clean(session, &session->region->origin);
	session->uncaught = false;
}

/*
 * Is the code there not the one that was patched? A library that has gone is not worth a warning.
 */
static bool is_another(const struct session *session, uint64_t address)
{
	return !modules_find(&session->current->target->modules, address) ||
	       !pagemap_is_copied(session->current->target->mem.tid, address);
}

void handover_take_text(struct session *session)
{
	struct err *whole = session->old_text.nr ? share_set_marks(session->region, 0) : NULL;

	if (whole)
		trace_line("%s", whole->msg);
	if (session->old_text.nr)
		clean_uncaught(session);
	for (size_t i = session->old_text.nr; i-- > 0;) {
		uint32_t index = session->old_text.at[i];
		struct err *err = patch_text_undo(session->current->target, index);

		if (err && !(err->code == ERR_BUSY &&
			     is_another(session, session->region->journal->entry[index].address)))
			session_warn(session, err->msg);
	}
	vec_clear(&session->old_text);
}

struct old_state {
	struct session *session;
	uint64_t address, len;
};

/*
 * Void the operations that were entered through the old agent and have not returned. No thread is
 * inside any more, so they were left by longjmp. Their probes are about to be unmapped.
 */
static void void_old_ops(struct agent_thread *thread, void *ctx)
{
	struct old_state *old = ctx;
	uint32_t said = __atomic_load_n(&thread->ledger.nr_ops, __ATOMIC_ACQUIRE);
	uint32_t had = MIN(said, (uint32_t)LEDGER_OPS), nr = had;

	while (nr > 0 && (uintptr_t)thread->ledger.op[nr - 1].function - old->address < old->len)
		nr--;
	if (nr < had) {
		registry_count(&old->session->region->log, 0, LOG_ACCOUNT(voided), had - nr);
		thread->ledger.nr_ops = nr;
	}
}

static void forget_ops(struct session *session)
{
	const struct journal *journal = session->region->journal;

	for (size_t i = 0; i < session->old_maps.nr; i++) {
		const struct journal_entry *entry = &journal->entry[session->old_maps.at[i]];
		struct old_state old = { session, entry->address, entry->len };

		if (entry->kind == JOURNAL_DATA)
			share_each_thread(session->region, void_old_ops, &old);
	}
}

/* Forget the mappings that are gone: their entries in the journal may be used again. */
static void drop_undone(struct session *session)
{
	const struct journal *journal = session->region->journal;

	for (size_t i = session->old_maps.nr; i-- > 0;)
		if (journal->entry[session->old_maps.at[i]].state != JOURNAL_DONE)
			vec_remove(&session->old_maps, i);
}

/*
 * No thread is inside, and none can enter any more. So the target may run between two mappings, and
 * no pause is longer than one mapping takes. A child that is forked meanwhile is cleaned before the
 * journal forgets what it has.
 */
static struct err *unmap_old(struct session *session)
{
	struct err *err = NULL;

	while (session->old_maps.nr && !err) {
		err = target_run_for(session->current->target, REST_NS);
		if (err)
			return err;
		clean_uncaught(session);
		err = previous_session_unmap(session->current->target,
					     session->old_maps.at[session->old_maps.nr - 1]);
		drop_undone(session);
	}
	return err;
}

bool handover_release_old(struct session *session)
{
	struct process *process = session->current;
	bool clean = true;
	struct err *err;

	if (!session->old_maps.nr)
		return true;
	/* To look at many threads takes as long as the purpose of this stop. */
	err = target_run_for(process->target, REST_NS);
	if (!err)
		err =
			previous_session_drain(process->target, session->old_maps.at,
					       session->old_maps.nr,
					     &clean);
	if (!err && clean) {
		forget_ops(session);
		err = unmap_old(session);
	}
	if (err)
		trace_line("what an earlier mdbg left: %s", err->msg);
	if (err || !clean)
		return false;
	share_forget_old(process->target);
	return true;
}

/*
 * The next mdbg does not know the functions that the user has named, and would list their blocks
 * for ever.
 */
static bool knows_all(const struct session *session)
{
	const struct probes *probes = session->current->probes;

	for (size_t i = 0; i < probes->all.nr; i++)
		if (probes->all.at[i]->fn && probes->all.at[i]->fn->user)
			return false;
	return true;
}

struct err *handover_set_whole(struct session *session)
{
	const struct probes *probes = session->current->probes;
	uint64_t marks = 0;

	if (probes && probes->armed && knows_all(session) &&
	    session->records != RECORDS_STALE)
		marks = SHARE_WHOLE | (session->records == RECORDS_LACK ? SHARE_LACKS : 0);
	return share_set_marks(session->region, marks);
}

static struct err *cannot_leave(const struct session *session, const char *why)
{
	return err_create(ERR_STATE, "cannot leave the probes in process %d: %s",
			  session->current->pid, why);
}

static struct err *may_leave(const struct session *session)
{
	struct process *process = session->current;

	if (!process->probes || !process->probes->armed)
		return cannot_leave(session, "no probes are in place");
	if (breakpoints_need_tracer(process->probes) || !breakpoints_use_agent(process->probes))
		return err_hint(cannot_leave(session, "breakpoint probes need an mdbg that handles "
					     "them"),
				"`malloc -v` says which function has one, and why");
	if (!knows_all(session))
		return cannot_leave(session,
				    "functions that were named by `probe` are not known to "
				    "the next mdbg");
	if (process_any_followed(session))
		return cannot_leave(session, "forked children are followed");
	if (session->records == RECORDS_STALE)
		return err_hint(cannot_leave(session,
					     "the probes were out for a time, and what was "
					     "freed then is still in the log"),
				"`malloc reset` forgets all that was recorded");
	/*
	 * A page of the log that cannot be had then ends the process (SIGBUS), while its own malloc
	 * would only return NULL. On other machines the kernel finds a page, or kills a process as it
	 * does for any memory.
	 */
	if (memory_limits_never_overcommitted())
		return cannot_leave(session, "memory is never overcommitted here "
				    "(vm.overcommit_memory), and without an mdbg the log could not "
				    "grow safely");
	return NULL;
}

struct err *handover_leave(struct session *session)
{
	struct process *process = session->current;
	struct err *err = may_leave(session);
	bool was;

	if (!err)
		err = target_stop(process->target, &was);
	if (err)
		return err;
	process_settle(session->current);
	err = may_leave(session);	/* a module may have been loaded */
	if (err) {
		session_pause_end(session, was);
		return err;
	}
	/*
	 * A thread is still inside the code that an earlier mdbg left: the next mdbg tries again.
	 */
	(void)handover_release_old(session);
	process->probes->armed = false;
	process->state = PROCESS_KEPT;
	region_keep(process->target);
	seize_release(process->target);
	return NULL;
}
