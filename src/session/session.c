/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A session: its making and end, its configuration, its state. */

#include "session/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "os/tracer.h"
#include "probe/probe.h"
#include "session/follow.h"
#include "session/hands.h"
#include "session/leaks.h"
#include "session/private.h"
#include "symbol/symbol.h"
#include "target/region.h"
#include "target/target.h"

const struct session_config session_config_default = {
	.engine		= SESSION_ENGINE_AUTO,
	.stack_depth	= 32,
	.log_limit	= 1ull << 30,
	.arm		= true,
	.follow_fork	= SESSION_FOLLOW_PARENT,
};

static struct err *no_memory(struct memory *memory UNUSED, uint64_t addr UNUSED, void *buf UNUSED,
			     size_t len UNUSED, size_t *len_ret UNUSED)
{
	return err_create(ERR_STATE, "no process to read memory of");
}

/* Where compiled rows are kept; NULL without a home. */
static char *find_cache_dir(void)
{
	const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	char *dir;

	if (base && *base == '/')
		return asprintf(&dir, "%s/mdbg", base) < 0 ? NULL : dir;
	if (home && *home == '/')
		return asprintf(&dir, "%s/.cache/mdbg", home) < 0 ? NULL : dir;
	return NULL;
}

struct err *session_create(struct session **ret)
{
	struct session *session = calloc(1, sizeof(*session));
	struct err *err;

	if (!session)
		return err_nomem;
	session->config = session_config_default;
	session->no_memory.read = no_memory;
	session->cache_dir = find_cache_dir();
	pthread_mutex_init(&session->lock, NULL);
	session->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (session->event_fd < 0)
		err = err_sys("eventfd");
	else	/* all at once: the main thread reads the list while it grows */
		err = vec_reserve(&session->followers, LOG_PROCESSES);
	if (!err)
		err = tracer_create(session_stopped, session, &session->tracer);
	if (err) {
		session_destroy(session, NULL);
		return err;
	}
	*ret = session;
	return NULL;
}

void session_destroy(struct session *session, struct err **err_ret)
{
	struct err *err = NULL;

	if (!session)
		return;
	if (!session_need_target(session) || follow_any(session))
		err = session_detach(session);
	else if (session->ended && session->state != SESSION_ENDED &&
		 session->state != SESSION_NONE)
		session_note_end(session);	/* nobody has read the event */
	if (err_ret)
		*err_ret = err;
	tracer_destroy(session->tracer);
	session_forget(session);
	if (session->event_fd >= 0)
		close(session->event_fd);
	vec_free(&session->turns);
	vec_free(&session->followers);
	vec_free(&session->events);
	pthread_mutex_destroy(&session->lock);
	free(session->cache_dir);
	free(session);
}

void session_forget(struct session *session)
{
	hands_forget(session);
	follow_forget(session);
	region_free(session->spare);
	session->spare = NULL;
	probes_destroy(session->probes);
	session->probes = NULL;
	user_functions_free(&session->users);
	target_destroy(session->target);
	session->target = NULL;
	region_free(session->region);
	session->region = NULL;
	symbols_destroy(session->symbols);
	session->symbols = NULL;
	vec_free(&session->known.vec);
	session->known_generation = 0;
	map_free(&session->entry_names, free);
	session->entry_names = (struct map)MAP_INIT;
	session->allocator[0] = '\0';
	vec_free(&session->old_text);
	vec_free(&session->old_maps);
	vec_free(&session->named);
	free(session->core_path);
	session->core_path = NULL;
	session->floor = 0;
	session->kept = session->uncaught = session->gap = false;
	session->told_sampling = session->told_full = session->told_stackless = false;
	session->told_room = false;
	session->blind = (struct blind){ .known = false };
	session->room = (struct room){ .log = 0 };
	session->status_known = false;
	session->ended = false;
	if (session->end_leaks)
		session_leaks_free(session->end_leaks);
	free(session->end_leaks);
	session->end_leaks = NULL;
	session->end_err.msg[0] = '\0';
	session->lacks_records = false;
}

struct session_config *session_config(struct session *session)
{
	return &session->config;
}

enum session_state session_state(const struct session *session)
{
	if (session->ended && session->state != SESSION_NONE)
		return SESSION_ENDED;
	return session->state;
}

struct err *session_configured(struct session *session)
{
	return hands_update(session);
}

pid_t session_pid(const struct session *session)
{
	return session->pid;
}

const pid_t *session_pids(const struct session *session)
{
	return session->pids;
}

bool session_started(const struct session *session)
{
	return session->started;
}

int session_exit_status(const struct session *session, bool *known)
{
	*known = session->status_known;
	return session->status;
}

struct err *session_need_view(const struct session *session)
{
	return session->state == SESSION_CORE ? NULL : session_need_target(session);
}

struct err *session_need_target(const struct session *session)
{
	switch (session_state(session)) {
	case SESSION_CORE:
		return err_create(ERR_STATE, "there is no process, only its core file");
	case SESSION_RUNNING:
	case SESSION_STOPPED:
		if (session->execed)
			return err_hint(err_create(ERR_STATE, "process %d runs another program now",
						   session->pid), "`set follow-exec on` follows");
		return NULL;
	case SESSION_ENDED:
		return err_create(ERR_STATE, "process %d has ended", session->pid);
	default:
		return err_hint(err_create(ERR_STATE, "no process"), "attach PID");
	}
}

struct err *session_call(struct session *session, struct err *(*fn)(void *arg), void *arg)
{
	return tracer_call(session->tracer, fn, arg);
}

struct log *session_log(struct session *session)
{
	return session->region ? &session->region->log : NULL;
}

struct memory *session_memory(struct session *session)
{
	return session->target && !session_need_view(session) ?
		session->target->memory : &session->no_memory;
}

uint32_t session_generation(const struct session *session)
{
	return session->target ? session->target->modules.generation : 0;
}

const struct arch *session_arch(const struct session *session)
{
	return session->target ? session->target->arch : arch_host();
}
