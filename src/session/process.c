/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The processes of a session: the target and the children that are followed (theory in process.h). */

#include "session/process.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "probe/probe.h"
#include "probe/sigtrap.h"
#include "session/lacks.h"
#include "target/region.h"
#include "target/remote.h"
#include "target/target.h"

void process_free(struct follower *follower)
{
	probes_destroy(follower->probes);
	target_destroy(follower->target);
	region_free(follower->region);
	vec_free(&follower->known.vec);
	free(follower);
}

void process_settle(struct session *session, struct probes *probes)
{
	struct err *err;

	if (!probes || !probes_unsettled(probes))
		return;
	err = probes_settle(probes);
	if (err && err->code != ERR_GONE)
		session_warn(session, err->msg);
	if (!err)
		lacks_tell_probes(session, probes);
}

bool process_any_followed(const struct session *session)
{
	for (size_t i = 0; i < session->followers.nr; i++)
		if (session->followers.at[i]->state == PROCESS_LIVE)
			return true;
	return false;
}

void processes_look(const struct session *session)
{
	for (size_t i = 0; i < session->followers.nr; i++)
		if (session->followers.at[i]->state == PROCESS_LIVE)
			sigtrap_look(session->followers.at[i]->probes);
}

struct target *process_owner(struct session *session, pid_t tid)
{
	struct target *first = process_has_execed(session->life) ? NULL : session->target;
	struct proc_status status;

	if ((first && target_thread(first, tid)) || !session->followers.nr)
		return first;
	for (size_t i = 0; i < session->followers.nr; i++)
		if (target_thread(session->followers.at[i]->target, tid))
			return session->followers.at[i]->target;
	if (first && target_expects(first, tid))
		return first;
	for (size_t i = 0; i < session->followers.nr; i++)
		if (target_expects(session->followers.at[i]->target, tid))
			return session->followers.at[i]->target;
	if (procfs_status(tid, &status))
		return first;
	for (size_t i = 0; i < session->followers.nr; i++) {
		struct target *target = session->followers.at[i]->target;

		if (status.tgid == target->pid || status.ppid == target->pid)
			return target;
	}
	return first;
}

struct err *processes_stop(struct session *session)
{
	struct err *first = NULL;

	for (size_t i = 0; i < session->followers.nr; i++) {
		struct follower *follower = session->followers.at[i];
		struct err *err = NULL;

		if (follower->state == PROCESS_LIVE)
			err = target_stop(follower->target, NULL);

		if (err && err->code != ERR_GONE && !first)
			first = err;
	}
	return first;
}

void processes_resume(struct session *session)
{
	for (size_t i = 0; i < session->followers.nr; i++) {
		struct follower *follower = session->followers.at[i];

		if (follower->state != PROCESS_LIVE || !follower->target->stopped)
			continue;
		process_settle(session, follower->probes);
		target_resume(follower->target);
	}
}

struct err *process_withdraw(struct follower *follower)
{
	AUTO_FREE struct remote *remote = malloc(sizeof(*remote));
	struct err *err = remote ? remote_begin_any(follower->target, remote) : err_nomem, *also;

	if (err)
		return err;
	err = region_withdraw(follower->target, remote);
	also = remote_end(remote);
	return err ? err : also;
}

static struct err *undo(struct follower *follower)
{
	bool left = false;
	struct err *err = target_stop(follower->target, NULL);

	if (!err)
		err = probes_disarm(follower->probes, &left);
	if (!err)
		err = process_withdraw(follower);
	if (follower->state == PROCESS_LIVE) {
		target_release(follower->target);
		follower->state = PROCESS_LEFT;
	}
	if (left)
		session_warn_left(follower->session, follower->target->pid);
	return err;
}

/* The list may grow meanwhile: who is followed forks. */
struct err *processes_undo(struct session *session)
{
	struct err first;
	bool failed = false;

	for (size_t i = 0; i < session->followers.nr; i++) {
		struct follower *follower = session->followers.at[i];
		struct err *err = follower->state == PROCESS_LIVE ? undo(follower) : NULL;

		if (!err || err->code == ERR_GONE || failed)
			continue;
		err_copy(&first, err_wrap(err, "followed process %d", follower->target->pid));
		failed = true;
	}
	return failed ? err_adopt(&first) : NULL;
}

void processes_settle(struct session *session)
{
	for (size_t i = 0; i < session->followers.nr; i++) {
		struct follower *follower = session->followers.at[i];
		bool was;

		if (follower->state != PROCESS_LIVE || !probes_unsettled(follower->probes) ||
		    target_stop(follower->target, &was))
			continue;
		process_settle(session, follower->probes);
		if (!was)
			target_resume(follower->target);
	}
}

void process_take_place(struct session *session, struct follower *follower, size_t at)
{
	probes_destroy(session->probes);
	target_destroy(session->target);
	region_free(session->spare);
	session->target = follower->target;
	session->probes = follower->probes;
	session->spare = follower->region;
	session->pid = follower->target->pid;
	session->started = false;
	session->life = follower->state;
	vec_free(&session->known.vec);
	session->known = follower->known;
	session->known_generation = 0;
	vec_remove(&session->followers, at);
	free(follower);
}

void processes_forget(struct session *session)
{
	for (size_t i = 0; i < session->followers.nr; i++)
		process_free(session->followers.at[i]);
	vec_clear(&session->followers);
	session->nr_processes = 0;
	memset(session->pids, 0, sizeof(session->pids));
}
