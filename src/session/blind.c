/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Probes that see nothing (theory in blind.h). */

#include "session/blind.h"

#include <string.h>

#include "base/cancel.h"
#include "heap/heap_walk.h"
#include "probe/probe.h"
#include "session/private.h"
#include "tracee/region.h"
#include "tracee/target.h"

#define POLLS	50u
#define POLL_NS	10000000ull
#define QUIET	10u	/* looks without a change that end the search */
#define SPARE	3u

/* The functions below run on the tracer thread. */

/* All probes are in, and no event of any kind was counted. */
static bool is_silent(const struct session *session)
{
	struct process *process = session->current;
	static const struct log_accounts none;
	struct log_accounts now;

	if (!process->probes || !process->probes->armed || process->state != PROCESS_LIVE ||
	    session->records == RECORDS_STALE || process->target->state == TARGET_STOPPED)
		return false;
	vec_each_value(probe, &process->probes->all) {
		if (probe_of_allocator(probe) && probe->module->died == UINT32_MAX &&
		    !probe->elsewhere &&
		    !probe_records(probe))
			return false;
	}
	now = reader_accounts(&session->region->log);
	return !memcmp(&now, &none, sizeof(now));
}

void blind_begin(struct session *session)
{
	struct blind blind = { .threads = 1 };
	struct proc_status status;

	if (!procfs_status(session->current->target->mem.tid, &status))
		blind.threads = status.threads;
	blind.known = !allocator_libcs_pulse(session->current->target, &blind.pulse);
	session->blind = blind;
}

struct look {
	bool silent, changed;
};

static struct err *look_job(struct session *session, void *arg)
{
	struct blind *blind = &session->blind;
	struct look *look = arg;
	struct heap_pulse pulse;

	look->changed = false;
	look->silent = blind->known && is_silent(session);
	if (!look->silent || allocator_libcs_pulse(session->current->target, &pulse))
		return NULL;	/* what cannot be read proves nothing */
	look->changed = pulse.sum != blind->pulse.sum;
	blind->changes += look->changed;
	blind->pulse = pulse;
	look->silent = is_silent(session);
	return NULL;
}

static struct err *tell_job(struct session *session, void *arg UNUSED)
{
	if (!session->blind.told)
		session_warn_hint(
			session, "start it without what executes its code, and attach again",
			"warning: no call of the allocator is seen, though its heaps change: "
			"the process may execute a translation or a copy of its code");
	session->blind.told = true;
	return NULL;
}

/* The functions below run on the main thread. */

struct err *blind_check(struct session *session, bool *ret)
{
	const struct timespec nap = { .tv_nsec = POLL_NS };
	const struct blind *blind = &session->blind;
	struct look look;
	unsigned quiet = QUIET - 1;	/* no wait before the first look */
	struct err *err = NULL;

	*ret = false;
	for (unsigned i = 0; i < POLLS && !err; i++) {
		err = session_call(session, look_job, &look);
		quiet = look.changed ? 0 : quiet + 1;
		if (err || !look.silent)
			return err;
		if (blind->changes >= blind->threads + SPARE) {
			*ret = true;
			return session_call(session, tell_job, NULL);
		}
		if (quiet == QUIET)
			return NULL;
		nanosleep(&nap, NULL);
		err = cancel_check();
	}
	return err;
}
