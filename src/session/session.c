/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The state of a session, and the answers to simple questions about it. */

#include "os/tracer.h"
#include "probe/probe.h"
#include "session/private.h"
#include "tracee/region.h"
#include "tracee/target.h"

struct session_naming *session_naming(struct session *session)
{
	return &session->naming;
}

struct session_config *session_config(struct session *session)
{
	return &session->config;
}

enum session_state session_state(const struct session *session)
{
	if (process_has_ended(session->current->state) && session->state != SESSION_NONE)
		return SESSION_ENDED;
	return session->state;
}

uint64_t session_stood(struct session *session)
{
	uint64_t ns = session->stood_ns;

	session->stood_ns = 0;
	return ns;
}

pid_t session_pid(const struct session *session)
{
	return session->current->pid;
}

const pid_t *session_pids(const struct session *session)
{
	return session->pids;
}

bool session_started(const struct session *session)
{
	return session->current->started;
}

int session_exit_status(const struct session *session, bool *known)
{
	*known = session->current->status_known;
	return session->current->status;
}

static struct err *dying_job(struct session *session, void *dying)
{
	*(bool *)dying = session->current->state == PROCESS_LIVE && session->current->target->dying;
	return NULL;
}

/* The event may be old: the process has been let go since, or was killed. */
bool session_dying(struct session *session, struct session_event *ret)
{
	bool dying = false;

	if (!session->death.pid)
		return false;
	err_ignore(session_call(session, dying_job, &dying));
	if (dying)
		*ret = session->death;
	else
		session->death.pid = 0;
	return dying;
}

struct err *session_need_view(const struct session *session)
{
	return session->state == SESSION_CORE ? NULL : session_need_target(session);
}

struct err *session_need_target(const struct session *session)
{
	struct process *process = session->current;

	switch (session_state(session)) {
	case SESSION_CORE:
		return err_create(ERR_STATE, "there is no process, only its core file");
	case SESSION_REPLAY:
		return err_create(ERR_STATE, "there is no process, only its recording");
	case SESSION_RUNNING:
	case SESSION_STOPPED:
		if (process_has_execed(process->state))
			return err_hint(err_create(ERR_STATE, "process %d runs another program now",
						   process->pid), "`set follow-exec on` follows");
		return NULL;
	case SESSION_ENDED:
		return err_create(ERR_STATE, "process %d has ended", process->pid);
	default:
		return err_hint(err_create(ERR_STATE, "no process"), "attach PID");
	}
}

struct err *session_need_none(const struct session *session)
{
	if (session->state == SESSION_CORE || session->state == SESSION_REPLAY)
		return err_hint(err_create(ERR_STATE, "a %s is open", session->state == SESSION_CORE ?
					   "core file" : "recording"), "`detach` closes it");
	if (!session_need_target(session))
		return err_hint(err_create(ERR_STATE, "process %d is attached",
					   session->current->pid),
				"detach it first");
	return NULL;
}

bool session_armed(const struct session *session)
{
	return session->current->probes && session->current->probes->armed &&
		session_state(session) != SESSION_ENDED && session_state(session) != SESSION_NONE;
}

struct request {
	struct session *session;
	struct err *(*fn)(struct session *session, void *arg);
	void *arg;
};

static struct err *serve(void *arg)
{
	const struct request *request = arg;

	return request->fn(request->session, request->arg);
}

struct err *session_call(struct session *session,
			 struct err *(*fn)(struct session *session, void *arg), void *arg)
{
	struct request request = { session, fn, arg };

	return tracer_call(session->tracer, serve, &request);
}

bool session_recorded(const struct session *session)
{
	return session->region && !session->region->empty;
}

struct log *session_log(struct session *session)
{
	return session->region ? &session->region->log : NULL;
}

static struct err *no_memory(struct memory *memory UNUSED, uint64_t addr UNUSED, void *buf UNUSED,
			     size_t len UNUSED, size_t *len_ret UNUSED)
{
	return err_create(ERR_STATE, "no process to read memory of");
}

struct memory *session_memory(struct session *session)
{
	static struct memory none = { .read = no_memory };
	struct target *target = session->current->target;

	return target && !session_need_view(session) ? target->memory : &none;
}

uint32_t session_generation(const struct session *session)
{
	return session->current->target ? session->current->target->modules.generation : 0;
}

const struct arch *session_arch(const struct session *session)
{
	return session->current->target ? session->current->target->arch : arch_host();
}
