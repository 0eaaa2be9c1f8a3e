/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What happens to the target: seen by the tracer thread, told to the main thread. */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/trace.h"
#include "os/tracer.h"
#include "probe/probe.h"
#include "session/children.h"
#include "session/follow.h"
#include "session/hands.h"
#include "session/lacks.h"
#include "session/private.h"
#include "target/target.h"

#define EVENTS_MAX	65536

static bool wanted(const struct session *session, enum session_event_kind kind)
{
	if (kind == SESSION_EVENT_FORK && session->config.follow_fork != SESSION_FOLLOW_PARENT)
		return true;
	return kind == SESSION_EVENT_EXIT || kind == SESSION_EVENT_EXEC ||
		kind == SESSION_EVENT_WARNING || session->wanted >> kind & 1;
}

/* Once they are half of all, so that each is moved once at most. */
static void drop_taken(struct session *session)
{
	size_t left = session->events.nr - session->first_event;

	if (!session->first_event || session->first_event < left)
		return;
	memmove(session->events.at, session->events.at + session->first_event,
		left * sizeof(*session->events.at));
	session->events.nr = left;
	session->first_event = 0;
}

void session_push_event(struct session *session, const struct session_event *event)
{
	uint64_t one = 1;
	bool pushed = false;

	if (!wanted(session, event->kind))
		return;
	pthread_mutex_lock(&session->lock);
	/*
	 * Of what somebody merely wants to see there may be too much; an end must not be lost for
	 * that.
	 */
	drop_taken(session);
	if (session->events.nr - session->first_event < EVENTS_MAX ||
	    event->kind == SESSION_EVENT_EXIT || event->kind == SESSION_EVENT_EXEC)
		pushed = !vec_push(&session->events, *event);
	pthread_mutex_unlock(&session->lock);
	if (!pushed)
		trace_line("event %d lost", event->kind);
	if (write(session->event_fd, &one, sizeof(one)) < 0)
		trace_line("event fd");
}

int session_event_fd(const struct session *session)
{
	return session->event_fd;
}

void session_want_events(struct session *session, uint32_t kinds)
{
	struct err *err;

	session->wanted = kinds;
	err = hands_update(session);
	if (err)
		session_warn(session, err->msg);
}

static bool pop(struct session *session, struct session_event *ret)
{
	uint64_t count;
	bool have;

	pthread_mutex_lock(&session->lock);
	have = session->first_event < session->events.nr;
	if (have)
		*ret = session->events.at[session->first_event++];
	/* The descriptor is readable as long as there are more. */
	while (session->first_event == session->events.nr &&
	       read(session->event_fd, &count, sizeof(count)) > 0)
		continue;
	pthread_mutex_unlock(&session->lock);
	return have;
}

/* The end of a parent whose place a child has taken. */
static bool is_of_another(const struct session *session, const struct session_event *event)
{
	return (event->kind == SESSION_EVENT_EXIT || event->kind == SESSION_EVENT_EXEC) &&
		event->pid != session->pid;
}

bool session_next_event(struct session *session, struct session_event *ret)
{
	do
		if (!pop(session, ret))
			return false;
	while (is_of_another(session, ret));
	if (ret->kind == SESSION_EVENT_EXIT)
		session_note_end(session);
	if (ret->kind == SESSION_EVENT_EXEC)
		session_note_exec(session);
	if (ret->kind == SESSION_EVENT_FORK)
		session_note_fork(session, ret->pid);
	return true;
}

void session_note_end(struct session *session)
{
	session->state = SESSION_ENDED;
	children_clean_orphans(session);
}

/* --- tracer thread --- */

void session_warn(void *ctx, const char *text)
{
	session_warn_hint(ctx, text, "");
}

void session_warn_hint(struct session *session, const char *text, const char *hint)
{
	struct session_event event = { .kind = SESSION_EVENT_WARNING };

	snprintf(event.text, sizeof(event.text), "%s", text);
	snprintf(event.hint, sizeof(event.hint), "%s", hint);
	session_push_event(session, &event);
}

void session_warn_left(struct session *session, pid_t pid)
{
	char text[160];

	snprintf(text, sizeof(text),
		 "a thread of process %d is still inside the code of a probe: its pages stay in "
		 "the process, harmless, until it ends",
		 pid);
	session_warn(session, text);
}

void session_warn_gap(struct session *session)
{
	session_warn(session, "blocks that were freed while the probes were out are still listed: "
		     "`malloc reset` forgets all that was recorded");
}

static bool on_trap(void *ctx, struct thread *thread)
{
	struct session *session = ctx;

	return session->probes && probes_trap(session->probes, thread);
}

static bool on_is_trap(void *ctx, uint64_t pc)
{
	struct session *session = ctx;

	return session->probes && probes_is_trap(session->probes, pc);
}

static void on_thread_new(void *ctx, struct thread *thread)
{
	struct session *session = ctx;
	struct session_event event = { .kind = SESSION_EVENT_THREAD,
				       .pid = session->pid,
				       .tid = thread->tid,
				       .created = true };

	session_push_event(session, &event);
}

static void on_thread_gone(void *ctx, struct thread *thread)
{
	struct session *session = ctx;
	struct session_event event = { .kind = SESSION_EVENT_THREAD,
				       .pid = session->pid,
				       .tid = thread->tid };

	if (session->probes)
		probes_thread_gone(session->probes, thread);
	session_push_event(session, &event);
}

static void on_signal(void *ctx, struct thread *thread, int signal)
{
	struct session *session = ctx;
	struct session_event event = { .kind = SESSION_EVENT_SIGNAL,
				       .pid = session->pid,
				       .tid = thread->tid,
				       .signal = signal };

	if (signal == SIGTRAP)
		probes_foreign_trap(thread);
	session_push_event(session, &event);
}

static void on_at_end(void *ctx)
{
	struct session *session = ctx;

	if (session->config.leaks_at_end)
		session_look_at_end(session);
}

static void on_ended(void *ctx, int status, bool known)
{
	struct session *session = ctx;
	struct session_event event = { .kind = SESSION_EVENT_EXIT,
				       .pid = session->pid,
				       .status = status };

	session->status = status;
	session->status_known = known;
	session->ended = true;
	follow_resume_all(session);	/* nobody could continue them any more */
	session_push_event(session, &event);
}

/* The memory, and with it all of ours, is gone. */
void session_execed(struct session *session, pid_t tid)
{
	struct session_event event = { .kind = SESSION_EVENT_EXEC, .pid = session->pid };
	AUTO_FREE char *exe = NULL;

	err_ignore(procfs_link(tid, "exe", &exe));	/* the text stays empty */
	snprintf(event.text, sizeof(event.text), "%s", exe ? exe : "");
	session->execed = true;
	target_forget(session->target);
	session_push_event(session, &event);
}

/*
 * With follow-exec it is held where it is until the main thread follows it. What is set by then makes no
 * difference: who was let go cannot be followed, and who is held must be.
 */
static void on_exec(void *ctx, struct thread *thread)
{
	struct session *session = ctx;
	bool follow = session->config.follow_exec;

	session->held = follow;
	if (!follow)
		session->ended = !session->started;
	session_execed(session, thread->tid);
	if (!follow) {
		tracer_count(session->tracer, session->started);
		err_ignore(tracer_detach(session->pid, 0));	/* fails only if it was killed */
	}
}

static void on_fork_child(void *ctx, pid_t pid)
{
	struct session *session = ctx;

	follow_fork_child(session, session->target, session->probes, pid);
}

const struct target_ops session_target_ops = {
	.trap		= on_trap,
	.is_trap	= on_is_trap,
	.thread_new	= on_thread_new,
	.thread_gone	= on_thread_gone,
	.fork_child	= on_fork_child,
	.route		= session_route,
	.exec		= on_exec,
	.signal		= on_signal,
	.at_end		= on_at_end,
	.ended		= on_ended,
};

/* New functions that came with new modules are armed before anybody runs on. */
void session_settle(struct session *session, struct probes *probes)
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

struct err *session_hold(struct session *session, bool *was_ret)
{
	return target_stop(session->target, was_ret);
}

void session_let_go(struct session *session, bool was)
{
	if (was)
		return;
	if (!session->ended) {
		session_settle(session, session->probes);
		hands_let_go(session);
	}
	follow_resume_all(session);	/* those that were forked meanwhile */
}

void session_route(void *ctx, pid_t tid, int status)
{
	struct session *session = ctx;
	struct target *target = follow_owner(session, tid);

	if (target && target_dispatch(target, tid, status))
		return;
	/* Somebody who could not be let go earlier (a vfork parent), or whom we only wait for. */
	if (WIFSTOPPED(status))
		err_ignore(tracer_detach(tid, status >> 16 ? 0 : WSTOPSIG(status)));
	else if (session->execed && tid == session->pid && session->started)
		on_ended(session, status, true);
}

static void add_turn(struct thread *thread, void *ctx)
{
	struct session *session = ctx;

	/* Without memory it has its turn when the kernel gives it. */
	if (thread->state == THREAD_RUNNING)
		err_ignore(vec_push(&session->turns, thread->tid));
}

/*
 * Where several threads have stopped the kernel reports the same one first each time: one that stops
 * again at once has all others wait (with eight threads, two were served and six stood still for
 * seconds). So now and then each is asked for.
 */
static void each_in_turn(struct session *session)
{
	unsigned threads = (unsigned)map_count(&session->target->threads);
	int status;

	if (threads < 3 || ++session->since_turns < MAX(threads, 16u))
		return;
	session->since_turns = 0;
	session->turns.nr = 0;
	target_each_thread(session->target, add_turn, session);
	for (size_t i = 0; i < session->turns.nr && !session->ended; i++)
		if (tracer_poll(session->turns.at[i], &status))
			session_route(session, session->turns.at[i], status);
}

void session_stopped(void *ctx, pid_t tid, int status)
{
	struct session *session = ctx;
	bool was;

	session_route(session, tid, status);
	/* To wait for the others, to look, and to let them end: the error says that it has. */
	if (session->target && session->target->at_end)
		err_ignore(target_stop(session->target, NULL));
	if (session->target)
		each_in_turn(session);
	if (session->probes && probes_unsettled(session->probes) && !session_hold(session, &was))
		session_let_go(session, was);
	follow_settle_all(session);
}
