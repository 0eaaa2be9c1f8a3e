/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Recording: switches it on and off, resets the log, and sets how many frees are remembered. */

#include "base/trace.h"
#include "probe/probe.h"
#include "probe/agent_state.h"
#include "session/private.h"
#include "tracee/region.h"
#include "tracee/share.h"
#include "tracee/target.h"

/*
 * With --engine jump either all probes are in or none: take out those that are in. The target stays
 * stopped.
 */
static void take_back(struct session *session)
{
	struct probes *probes = session->current->probes;
	bool left;
	struct err *err = probes->armed ? probes_disarm(probes, false, &left) : NULL;

	if (err)
		trace_line("take the probes back: %s", err->msg);
}

static struct err *arm_job(struct session *session, void *arg UNUSED)
{
	bool was = session->current->target->state == TARGET_STOPPED;
	struct err *err = target_refresh(session->current->target, NULL), *also;

	if (!err)
		err = arm_target_plan(session);
	if (err)
		return err;
	err = session_pause_sharers(session);
	if (!err)
		err = arm_target_prepare(session);
	also = session_pause(session, NULL);
	if (also)
		return err ? err : also;
	session_doubt(session, RECORDS_LACK);
	if (!err)
		err = arm_target_put_in(session);
	if (err)
		err = keeping(err, take_back(session));
	session_pause_end(session, was);
	if (!err)
		blind_begin(session);
	if (session->region)
		log_clock_update(&session->region->log);
	return err;
}

struct err *session_recording_arm(struct session *session)
{
	struct err *err = session_need_target(session);

	if (err || session_armed(session))
		return err;
	err = session_call(session, arm_job, NULL);
	if (!err) {
		session_history_resume(session);
		peak_watch_start(session);
	}
	if (!err && session->region && reader_live(&session->region->log))
		session_warn_gap(session);
	return err ? err : session_symbols_sync(session);
}

static struct err *disarm_job(struct session *session, void *arg UNUSED)
{
	return arm_target_take_out(session);
}

struct err *session_recording_disarm(struct session *session)
{
	struct err *err = session_need_target(session);

	if (err || !session_armed(session))
		return err;
	err = session_call(session, disarm_job, NULL);
	if (!session_armed(session)) {
		peak_watch_stop(session);
		session_history_pause(session, false);
	}
	return err;
}

static struct err *reset_job(struct session *session, void *arg UNUSED)
{
	struct err *err = share_set_marks(session->region, 0);

	if (!err)
		err = session_agent_forget(session);
	if (err)
		return err;
	session->records = RECORDS_LACK;
	if (session->current->probes)
		blind_begin(session);
	return handover_set_whole(session);
}

struct err *session_recording_reset(struct session *session)
{
	struct err *err;

	if (!session->region)
		return err_create(ERR_STATE, "nothing was recorded");
	if (session->current->state == PROCESS_KEPT)
		return err_hint(err_create(ERR_STATE, "process %d goes on recording",
					   session->current->pid),
				"attach to it again");
	peak_watch_stop(session);
	err = session_call(session, reset_job, NULL);
	if (!err)
		session_history_reset(session);
	peak_watch_start(session);
	return err;
}

/* All threads are stopped. */
static struct err *change_history(struct session *session, uint32_t nr)
{
	struct process *process = session->current;
	struct err *err = log_set_free_history(&session->region->log, nr);

	if (!err)
		err = share_reserve(process->target);
	if (!err && process->probes)
		err = agent_state_tell_provenance(process->probes);
	return err;
}

static struct err *history_held(struct session *session, bool stood UNUSED, void *arg)
{
	uint32_t before = log_config(&session->region->log).free_history, *nr = arg;
	struct err *err = change_history(session, *nr);

	return err ? keeping(err, err_ignore(change_history(session, before))) : NULL;
}

static bool has_log(const struct session *session)
{
	return session->region && !session_need_target(session);
}

struct err *session_recording_set_free_history(struct session *session, uint32_t nr)
{
	struct err *err = NULL;

	if (nr > LOG_FREES_MAX)
		err = err_create(ERR_USAGE, "free-history: %u is more than %u", nr, LOG_FREES_MAX);
	else if (has_log(session))
		err = session_pause_call(session, history_held, &nr, NULL);
	if (!err)
		session->config.free_history = nr;
	return err;
}

uint32_t session_recording_free_history(const struct session *session)
{
	return has_log(session) ? log_config(&session->region->log).free_history :
				  session->config.free_history;
}
