/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A session: its making and end, its configuration. */

#include "session/session.h"

#include <stdio.h>
#include <sys/eventfd.h>

#include "os/tracer.h"
#include "os/trust.h"
#include "session/growth/session_kernel.h"
#include "session/private.h"

const struct session_config session_config_default = {
	.engine		= SESSION_ENGINE_AUTO,
	.stack_depth	= 32,
	.log_limit	= 1ull << 30,
	.kernel_sampling = true,
	.fault_stack	= 4096,
	.history_seconds = 1,
	.max_pause_ns	= 500000000,
	.arm		= true,
	.follow_fork	= SESSION_FOLLOW_PARENT,
};

struct err *session_create(struct session **ret)
{
	struct session *session = calloc(1, sizeof(*session));
	struct err *err;

	if (!session)
		return err_nomem;
	session->config = session_config_default;
	session->history = (struct log_history)LOG_HISTORY_INIT;
	session->current = session->process;
	session->current->session = session;
	session->nr_processes = 1;
	session->pidfd = -1;
	session->cache_dir = trust_user_folder("XDG_CACHE_HOME", ".cache");
	pthread_mutex_init(&session->lock, NULL);
	pthread_mutex_init(&session->forwards, NULL);
	peak_watch_init(session);
	session->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (session->event_fd < 0)
		err = err_sys("eventfd");
	else
		err = tracer_create(route_stopped, session, &session->tracer);
	if (err) {
		session_destroy(session);
		return err;
	}
	*ret = session;
	return NULL;
}

struct err *session_release(struct session *session)
{
	if (!session_need_target(session) || process_any_followed(session))
		return session_detach(session);
	if (process_has_ended(session->current->state) && session->state != SESSION_ENDED &&
	    session->state != SESSION_NONE)
		next_event_note_end(session);	/* nobody has read the event */
	return NULL;
}

void session_destroy(struct session *session)
{
	if (!session)
		return;
	tracer_destroy(session->tracer);
	release_forget(session);
	peak_watch_free(session);
	session_history_free(session);
	session_memory_forget(session);
	session_kernel_stop(session);
	name_globs_free(&session->naming.skip);
	if (session->event_fd >= 0)
		close(session->event_fd);
	vec_free(&session->turns);
	vec_free(&session->events);
	pthread_mutex_destroy(&session->lock);
	pthread_mutex_destroy(&session->forwards);
	free(session->cache_dir);
	free(session);
}

void session_want_events(struct session *session, uint32_t kinds)
{
	struct err *err;

	session->wanted = kinds;
	err = session_untraced_configured(session);
	if (err)
		session_warn(session, err->msg);
}
