/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which thread is borrowed for remote calls, and where its frame lies (theory in remote.h). */

#include "tracee/remote.h"

#include <limits.h>

#include "base/cleanup.h"
#include "base/trace.h"

/* Threads that are asked for a good place, after the first one. */
#define OTHERS_MOST	4u

static void say_if_below(const struct remote *remote)
{
	if (remote->place.rank != FRAME_SPARE)
		trace_line("a frame lies below SP of thread %d, on a stack that is %s",
			   remote->thread->tid,
			   remote->place.rank == FRAME_BELOW ? "its own" : "not known");
}

/* The best place that there is, if none is worse than this rank. */
static struct err *begin_at_best(struct thread *thread, enum frame_rank worst, size_t room,
				 struct remote *ret)
{
	enum frame_rank rank = FRAME_SPARE;
	struct err *err;

	do
		err = remote_begin_at(thread, rank, room, ret);
	while (err && err->code == ERR_MEMORY && rank++ < worst);
	if (!err)
		say_if_below(ret);
	return err;
}

struct err *remote_borrow_begin(struct thread *thread, struct remote *ret)
{
	return begin_at_best(thread, FRAME_ANYWHERE, 0, ret);
}

/* The thread's stack has no room of this rank, or it cannot make a call now. */
static bool is_unsuited(const struct err *err)
{
	return err && (err->code == ERR_MEMORY || err->code == ERR_UNSUPPORTED);
}

static struct err *begin_any(struct target *target, struct thread *first, enum frame_rank rank,
			     struct remote *ret)
{
	unsigned others = rank == FRAME_ANYWHERE ? UINT_MAX : OTHERS_MOST;
	struct err *err = remote_begin_at(first, rank, 0, ret);
	struct thread *thread;

	for_each_thread(thread, target) {
		if (!is_unsuited(err) || !others)
			break;
		if (thread == first || thread->state != THREAD_STOPPED)
			continue;
		err = remote_begin_at(thread, rank, 0, ret);
		others--;
	}
	return err;
}

struct err *remote_borrow_begin_any(struct target *target, struct remote *ret)
{
	struct thread *first = thread_any_stopped(target);
	enum frame_rank rank = FRAME_SPARE;
	struct err *err;

	if (!first)
		return err_create(ERR_BUSY, "no thread of process %d can be borrowed", target->pid);
	if (target->no_spare_ns && target->no_spare_ns == target->stop_begun_ns)
		rank++;
	do {
		err = begin_any(target, first, rank, ret);
		if (is_unsuited(err) && rank == FRAME_SPARE)
			target->no_spare_ns = target->stop_begun_ns;
	} while (is_unsuited(err) && rank++ < FRAME_ANYWHERE);
	if (!err)
		say_if_below(ret);
	return err;
}

static struct err *hand_over(struct remote *remote, struct err *err, struct remote **ret)
{
	if (err)
		free(remote);
	else
		*ret = remote;
	return err;
}

struct err *remote_borrow(struct target *target, struct thread *thread, struct remote **ret)
{
	struct remote *remote = malloc(sizeof(*remote));

	if (!remote)
		return err_nomem;
	return hand_over(remote, thread ? remote_borrow_begin(thread, remote) :
					  remote_borrow_begin_any(target, remote), ret);
}

struct err *remote_borrow_deep(struct thread *thread, size_t room, struct remote **ret)
{
	struct remote *remote = malloc(sizeof(*remote));

	if (!remote)
		return err_nomem;
	return hand_over(remote, begin_at_best(thread, FRAME_BELOW, room, remote), ret);
}

struct err *remote_borrow_give_back(struct remote *remote, struct err *err)
{
	err = err_first(err, remote_end(remote));
	free(remote);
	return err;
}
