/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A traced process for tests. */

#include "victim.h"

#include "os/tracer.h"
#include "unit.h"

static void on_fork_child(void *ctx, pid_t child)
{
	struct victim *victim = ctx;

	victim->forked = child;
}

static void on_status(void *ctx, pid_t tid, int status)
{
	struct victim *victim = ctx;

	victim->reports++;
	if (victim->target)
		thread_dispatch(victim->target, tid, status);
}

/* The new program is let go. */
static void on_exec(void *ctx UNUSED, struct thread *thread)
{
	struct target *target = thread->target;

	err_ignore(tracer_detach(thread->tid, 0));
	thread_forget(target);
}

static bool on_trap(void *ctx, struct thread *thread)
{
	struct victim *victim = ctx;

	return victim->trap && victim->trap(thread);
}

static bool on_dies(void *ctx)
{
	return ((struct victim *)ctx)->holds;
}

static void on_dies_held(void *ctx, struct thread *thread UNUSED, const siginfo_t *info)
{
	((struct victim *)ctx)->held = info->si_signo;
}

static void on_ended(void *ctx, int status, bool known UNUSED)
{
	((struct victim *)ctx)->status = status;
}

static const struct target_ops ops = {
	.ended		= on_ended,
	.dies		= on_dies,
	.dies_held	= on_dies_held,
	.trap		= on_trap,
	.exec		= on_exec,
	.fork_child	= on_fork_child,
	.route		= on_status,
};

struct job {
	struct victim *victim;
	struct err *(*fn)(struct victim *victim);
	uint64_t limit;
};

static struct err *seize(void *arg)
{
	struct victim *victim = arg;
	struct target *target;
	struct err *err = target_create(victim->tracer, victim->pid, NULL, &ops, victim,
					&victim->target);

	if (err)
		return err;
	target = victim->target;
	err = modules_refresh(&target->modules, victim->pid, &target->mem.bring, NULL);
	if (!err)
		err = seize_all(target);
	return err ? err : target_stop(target, NULL);
}

bool victim_seize(struct victim *victim, pid_t pid)
{
	struct err *err;

	memset(victim, 0, sizeof(*victim));
	victim->pid = pid;
	victim->status = -1;
	CU_ASSERT_PTR_NULL_FATAL(tracer_create(on_status, victim, &victim->tracer));
	err = tracer_call(victim->tracer, seize, victim);
	if (!err)
		return true;
	CU_ASSERT_EQUAL(err->code, ERR_PERM);
	unit_skip("tracing is not allowed");
	tracer_destroy(victim->tracer);
	target_destroy(victim->target);
	return false;
}

static struct err *run(void *arg)
{
	struct job *job = arg;

	return job->fn(job->victim);
}

static struct err *begin_remote(struct victim *victim)
{
	if (!victim->room)
		return remote_borrow_begin_any(victim->target, &victim->remote);
	return remote_begin_at(thread_any_stopped(victim->target), FRAME_SPARE, victim->room,
			       &victim->remote);
}

static struct err *run_remote(void *arg)
{
	struct job *job = arg;
	struct err *err = begin_remote(job->victim), *also;

	if (err)
		return err;
	err = job->fn(job->victim);
	also = remote_end(&job->victim->remote);
	return err ? err : also;
}

struct err *victim_try(struct victim *victim, struct err *(*fn)(struct victim *victim))
{
	struct job job = { .victim = victim, .fn = fn };

	return tracer_call(victim->tracer, run_remote, &job);
}

static void must(struct err *err)
{
	if (err)
		printf("%s ", err->msg);
	CU_ASSERT_PTR_NULL_FATAL(err);
}

void victim_run(struct victim *victim, struct err *(*fn)(struct victim *victim))
{
	struct job job = { .victim = victim, .fn = fn };

	must(tracer_call(victim->tracer, run, &job));
}

void victim_remote(struct victim *victim, struct err *(*fn)(struct victim *victim))
{
	must(victim_try(victim, fn));
}

static uint64_t region_limit;
static const struct room *region_room;

static struct err *make_region(struct victim *victim)
{
	struct log_config config = { .region_size = region_limit, .stack_depth = 32 };
	struct err *err = region_create(victim->target, &victim->remote, &config, region_room,
					&victim->region);

	return err ? err : region_format(victim->region, &config);
}

void victim_region(struct victim *victim, uint64_t limit)
{
	region_limit = limit;
	region_room = NULL;
	victim_remote(victim, make_region);
}

void victim_region_in(struct victim *victim, const struct room *room)
{
	region_limit = room->log;
	region_room = room;
	victim_remote(victim, make_region);
}

static struct err *resume(struct victim *victim)
{
	target_resume(victim->target);
	return NULL;
}

static struct err *stop(struct victim *victim)
{
	return target_stop(victim->target, NULL);
}

static struct err *let_go(struct victim *victim)
{
	struct err *err = target_stop(victim->target, NULL);

	if (!err)
		seize_release(victim->target);
	return err;
}

void victim_resume(struct victim *victim)
{
	victim_run(victim, resume);
}

void victim_stop(struct victim *victim)
{
	victim_run(victim, stop);
}

void victim_forget(struct victim *victim)
{
	tracer_destroy(victim->tracer);
	target_destroy(victim->target);
	region_free(victim->region);
}

void victim_release(struct victim *victim)
{
	victim_run(victim, let_go);
	tracer_destroy(victim->tracer);
	target_destroy(victim->target);
	region_free(victim->region);
}
