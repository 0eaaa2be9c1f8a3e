/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The steps of attach and detach, `malloc on` and `malloc off`. Each step that builds has one that
 * undoes it:
 *
 *	build						undo
 *	target, its modules, its rows; the plan		(nothing in the target yet)
 *	  what an earlier mdbg left is taken out
 *	all threads seized				released
 *	region (journal, log)		(a short stop)	unmapped last
 *	areas, the agent's state	(a short stop)	after all threads have left them
 *	SIGTRAP handler, text		(a short stop)	text first
 *							before it: forked children (forked_copies_clean.c)
 */

#include "base/trace.h"
#include "os/tracer.h"
#include "probe/probe.h"
#include "session/deferred.h"
#include "session/lacks.h"
#include "session/private.h"
#include "tracee/gadget.h"
#include "tracee/region.h"
#include "tracee/remote.h"
#include "tracee/room.h"
#include "tracee/share.h"
#include "tracee/target.h"

#define REST	5	/* times the length of a stop, before the next one */

static enum probe_policy probe_policy(enum session_engine engine)
{
	switch (engine) {
	case SESSION_ENGINE_JUMP:
		return PROBE_ONLY_JUMP;
	case SESSION_ENGINE_BREAKPOINT:
		return PROBE_ONLY_BREAKPOINT;
	case SESSION_ENGINE_AUTO:
		break;
	}
	return PROBE_AUTO;
}

/*
 * The engine setting was changed: make a new plan, if nothing of the old one is in the target. A
 * followed child keeps the probes that it has inherited.
 */
static void drop_old_plan(struct session *session)
{
	struct probes *probes = session->current->probes;

	if (!probes || probes->armed || probes->areas.nr || probes->process ||
	    probes->policy == probe_policy(session->config.engine))
		return;
	probes_destroy(probes);
	session->current->probes = NULL;
}

struct err *arm_target_plan(struct session *session)
{
	struct process *process = session->current;
	struct err *err;

	drop_old_plan(session);
	if (!process->probes) {
		err = probes_create(process->target, NULL, &process->probes);
		if (err)
			return err;
		process->probes->warn = session_warn;
		process->probes->ctx = session;
		process->probes->users = &session->users;
		process->probes->policy = probe_policy(session->config.engine);
		process->probes->watch_loader =
			session->config.engine == SESSION_ENGINE_BREAKPOINT ||
			session_needs_tracer(session);
		process->probes->growth = session_growth_kept(session);
	}
	return plan_probes(process->probes);
}

/*
 * Call fn, which makes remote calls, in a stop of its own, unless the target is stopped anyway. If
 * all processors are busy, a thread that was held must wait for one afterwards. If the next stop
 * came before it has run, the two would add up to one long pause; so the target runs for REST times
 * as long as it was stopped.
 */
static struct err *in_stop(struct session *session,
			   struct err *(*fn)(struct session *session, struct remote *remote))
{
	struct target *target = session->current->target;
	struct gadgets unused;
	uint64_t start;
	struct err *err;
	bool was;

	/* Search for it now, so that it is known during the stop. */
	err = gadget_find(target, &unused);
	if (err)
		return err;
	start = tracer_now();
	err = target_stop(target, &was);
	if (!err) {
		err = calling(target, NULL, remote, fn(session, remote));
		if (!was)
			target_resume(target);
	}
	if (!err && !was)
		stop_attend(target, REST * (tracer_now() - start));
	return err;
}

static struct log_config log_config_of(const struct session *session)
{
	return (struct log_config){
		.region_size = 2 * session->config.log_limit,
		.stack_depth = session->config.stack_depth,
		.sample = session->config.sample,
		.cost = session->config.cost,
		.free_history = session->config.sample || session->config.cost ?
			0 : session->config.free_history,
	};
}

static struct err *make_region(struct session *session, struct remote *remote)
{
	struct log_config config = log_config_of(session);

	return region_create(session->current->target, remote, &config, &session->room,
			     &session->region);
}

static struct err *make_log(struct session *session)
{
	struct log_config config = log_config_of(session);
	struct err *err;

	log_budget_open(session);
	err = room_find(session->current->target, &session->budget.limits, config.region_size,
			&session->room);
	if (!err)
		err = in_stop(session, make_region);
	if (!err)
		err = region_format(session->region, &config);
	if (!err)
		log_budget_look(session);
	return err;
}

static struct err *make_room(struct session *session, struct remote *remote)
{
	return probes_prepare(session->current->probes, remote);
}

/* Write the rows for the agent if there may be one. */
static struct err *share(struct session *session)
{
	const struct process *process = session->current;

	return process->probes->policy == PROBE_ONLY_BREAKPOINT ? NULL :
								  share_prepare(process->target);
}

struct err *arm_target_prepare(struct session *session)
{
	struct process *process = session->current;
	struct err *err = NULL;
	bool changed = false;

	if (session->region && session->region->empty) {
		peak_watch_stop(session);
		region_free(session->region);
		session->region = NULL;
	}
	if (!session->region)
		err = make_log(session);
	else if (!session->budget.open)
		log_budget_open(session);	/* an earlier mdbg has made it */
	if (err)
		return err;
	process->probes->log = &session->region->log;
	err = share(session);
	if (!err)
		err = target_refresh(process->target, &changed);
	if (!err && changed)
		err = arm_target_plan(session);
	if (!err && changed)
		err = share(session);
	if (!err)
		err = area_read_maps(process->probes);
	if (!err)
		err = in_stop(session, make_room);
	return err ? err : probes_fill(process->probes);
}

struct err *arm_target_undo(struct session *session, bool *left)
{
	struct process *process = session->current;
	bool has_region = process->target->region;
	struct err *err;

	*left = false;
	err = share_set_marks(process->target->region, 0);
	if (err)
		trace_line("%s", err->msg);
	err = NULL;
	if (process->probes)
		err = probes_disarm(process->probes, !session->old_maps.nr, left);
	if (err || !has_region)
		return err;
	deferred_settle(session);
	if (!process->target->region)
		return NULL;	/* it went with the rest */
	if (*left || !handover_release_old(session)) {
		*left = true;
		vec_clear(&session->old_maps);	/* the next mdbg will look */
		region_keep(process->target);
		return NULL;
	}
	return process_withdraw(process);
}

struct err *arm_target_put_in(struct session *session)
{
	struct err *err, *refused;

	handover_gap_tell(session);
	handover_take_text(session);
	err = probes_arm(session->current->probes, NULL);
	if (!err || err->code == ERR_UNSUPPORTED) {
		refused = lacks_refuse(session);
		err = refused ? refused : err;
	}
	if (!err)
		err = handover_set_whole(session);
	if (err)
		return err;
	/* a thread stays inside: the detach tries again */
	(void)handover_release_old(session);
	lacks_tell_probes(session, session->current->probes);
	lacks_tell_log(session);
	return NULL;
}

struct err *arm_target_take_out(struct session *session)
{
	bool was, left;
	struct err *err;

	forked_copies_clean_own(session);
	err = session_pause_sharers(session);
	if (!err)
		err = session_pause(session, &was);
	if (err)
		return err;
	session_growth_end(session);
	err = share_set_marks(session->current->target->region, 0);
	if (err)
		trace_line("%s", err->msg);
	session->records = RECORDS_STALE;
	err = probes_disarm(session->current->probes, false, &left);
	if (!err && left)
		handover_note_left(session);
	session_pause_end(session, was);
	return err;
}
