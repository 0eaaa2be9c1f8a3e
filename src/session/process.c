/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The processes of a session: the target, and the children that are followed (theory in process.h).
 */

#include "session/process.h"

#include <string.h>

#include "probe/probe.h"
#include "probe/sigtrap.h"
#include "session/lacks.h"
#include "session/private.h"
#include "tracee/region.h"
#include "tracee/remote.h"

/* All processes that live, except the current one; a process that forks may add some meanwhile. */
#define for_each_followed(process, session)	\
	for_each_process(process, session)	\
		if (is_followed(process))

static bool is_followed(const struct process *process)
{
	return process != process->session->current && process->state == PROCESS_LIVE;
}

void process_free(struct process *process)
{
	probes_destroy(process->probes);
	target_destroy(process->target);
	region_free(process->region);
	vec_free(&process->known.vec);
	process->probes = NULL;
	process->target = NULL;
	process->region = NULL;
}

void process_settle(struct process *process)
{
	struct session *session = process->session;
	struct err *err;

	if (!process->probes || !breakpoints_unsettled(process->probes))
		return;
	err = breakpoints_settle(process->probes);
	if (err && err->code != ERR_GONE)
		session_warn(session, err->msg);
	if (!err)
		lacks_tell_probes(session, process->probes);
}

bool process_any_followed(const struct session *session)
{
	for_each_followed(process, session)
		return true;
	return false;
}

void processes_poll(struct session *session)
{
	for_each_followed(process, session)
		sigtrap_check(process->probes);
}

static struct target *find_owner(struct session *session,
				 bool (*owns)(const struct target *target, pid_t tid), pid_t tid)
{
	for_each_process(process, session)
		/*
		 * The current process has executed another program: nothing is known about it any
		 * more.
		 */
		if (process->target && owns(process->target, tid) &&
		    (process != session->current || !process_has_execed(process->state)))
			return process->target;
	return NULL;
}

static bool has_thread(const struct target *target, pid_t tid)
{
	return thread_find(target, tid);
}

struct target *process_owner(struct session *session, pid_t tid)
{
	struct process *current = session->current;
	struct target *first = process_has_execed(current->state) ? NULL : current->target, *owner;
	struct proc_status status;

	if (session->nr_processes == 1)
		return first;
	owner = find_owner(session, has_thread, tid);
	if (!owner)
		owner = find_owner(session, thread_expects, tid);
	if (owner || procfs_status(tid, &status))
		return owner ? owner : first;
	for_each_process(process, session) {
		struct target *target = process->target;

		if (target && target != current->target &&
		    (status.tgid == target->pid || status.ppid == target->pid))
			return target;
	}
	return first;
}

struct err *processes_stop(struct session *session)
{
	struct err *first = NULL;

	for_each_followed(process, session) {
		struct err *err = target_stop(process->target, NULL);

		if (err && err->code != ERR_GONE && !first)
			first = err;
	}
	return first;
}

void processes_resume(struct session *session)
{
	for_each_followed(process, session) {
		if (process->target->state != TARGET_STOPPED)
			continue;
		process_settle(process);
		target_resume(process->target);
	}
}

struct err *process_withdraw(struct process *process)
{
	return calling(process->target, NULL, remote, region_withdraw(process->target, remote));
}

static struct err *undo(struct process *process)
{
	bool left = false;
	struct err *err = target_stop(process->target, NULL);

	if (!err)
		err = probes_disarm(process->probes, false, &left);
	if (!err)
		err = process_withdraw(process);
	if (left)
		session_warn_left(process->session, process);
	if (process->state == PROCESS_LIVE) {
		seize_release(process->target);
		process->state = PROCESS_LEFT;
	}
	return err;
}

struct err *processes_undo(struct session *session)
{
	bool failed = false;
	struct err first;

	for_each_followed(process, session) {
		struct err *err = undo(process);

		if (!err || err->code == ERR_GONE || failed)
			continue;
		err_copy(&first, err_wrap(err, "followed process %d", process->pid));
		failed = true;
	}
	return failed ? err_adopt(&first) : NULL;
}

void processes_settle(struct session *session)
{
	for_each_followed(process, session) {
		bool was;

		if (!breakpoints_unsettled(process->probes) || target_stop(process->target, &was))
			continue;
		process_settle(process);
		if (!was)
			target_resume(process->target);
	}
}

void process_take_place(struct process *process)
{
	struct session *session = process->session;

	process_free(session->current);
	process->target->end = TARGET_END_UNSEEN;
	session->current = process;
	session->known_generation = 0;
}

void processes_forget(struct session *session)
{
	const struct process *current = session->current;
	struct process first = {
		.session = session, .pid = current->pid, .started = current->started,
	};

	for_each_process(process, session)
		process_free(process);
	session->process[0] = first;
	session->current = session->process;
	session->nr_processes = 1;
	memset(session->pids, 0, sizeof(session->pids));
}
