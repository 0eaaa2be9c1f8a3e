/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Page faults of a session (session_faults.h). */

#include "session/growth/session_faults.h"

#include "growth/faults.h"
#include "probe/probe.h"
#include "session/private.h"
#include "tracee/region.h"
#include "tracee/target.h"

bool session_faults_on(const struct session *session)
{
	return session->faults != NULL;
}

/* The threads must not change while events are opened for each. */
static struct err *start_job(struct session *session, bool stood UNUSED, void *arg UNUSED)
{
	struct process *process = session->current;
	struct err *err;

	err = faults_open(process->target, &session->region->log,
			  process->probes ? &process->probes->walk_area : NULL,
			  session->config.log_limit, session->config.fault_stack,
			  &session->faults);
	return err ? err : untraced_pace(session);
}

struct err *session_faults_start(struct session *session)
{
	struct err *err = session_need_target(session);

	if (err)
		return err;
	if (!session_recorded(session))
		return err_hint(err_create(ERR_STATE, "page faults: there is no log for their stacks"),
				"`malloc on` makes one");
	return session_pause_call(session, start_job, NULL, NULL);
}

static struct err *stop_job(struct session *session, void *arg UNUSED)
{
	faults_close(session->faults);
	session->faults = NULL;
	return untraced_pace(session);
}

struct err *session_faults_stop(struct session *session)
{
	return session_call(session, stop_job, NULL);
}

static struct err *copy_files(const struct fault_sums *sums, struct session_faults *ret)
{
	vec_each_value(name, &sums->files.vec) {
		char *copy = strdup(name);

		if (!copy || vec_push(&ret->files, copy)) {
			free(copy);
			return err_nomem;
		}
	}
	return NULL;
}

static struct err *copy_job(struct session *session, void *arg)
{
	struct session_faults *ret = arg;
	struct faults *faults = session->faults;
	const struct fault_sums *sums = &faults->sums;
	struct err *err;

	ret->lost = faults_settle(faults);
	err = copy_files(sums, ret);
	for (size_t i = 0; !err && i < sums->sums.nr; i++)
		err = vec_push(&ret->sums, sums->sums.at[i]);
	ret->minor = sums->minor;
	ret->major = sums->major;
	ret->pages = sums->nr_pages;
	ret->unsummed = sums->unsummed;
	ret->unpaged = sums->unpaged;
	ret->unstacked = faults->unstacked;
	ret->own = faults->own;
	ret->sizeless = faults->sizeless;
	ret->user_only = faults->user_only;
	return err;
}

COMPARE_BY(by_faults, struct fault_sum, sum, ~(sum->minor + sum->major))

struct err *session_faults(struct session *session, struct session_faults *ret)
{
	struct err *err;

	*ret = (struct session_faults){ .minor = 0 };
	err = session_call(session, copy_job, ret);
	if (!err)
		vec_sort(&ret->sums, by_faults);
	return err;
}

void session_faults_free(struct session_faults *faults)
{
	vec_each_value(name, &faults->files)
		free(name);
	vec_free(&faults->files);
	vec_free(&faults->sums);
}
