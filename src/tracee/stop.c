/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Stops all threads of a target, and lets them go on (theory in target.h).
 *
 * How long each of many threads is stopped depends on the order, and on which threads have the
 * processors:
 *
 * - A thread that waits in a system call is not disturbed by a stop as long as nothing wakes it. So
 *   such threads are stopped first, and the busy ones after them. But each waiting thread needs a
 *   processor to reach its stop, and the busy threads may have all of them: when no more threads
 *   stop, or not soon, the busy ones are stopped as well, which frees the processors.
 * - Some threads wake all the time, and wait at the moment when they are looked at. They are
 *   stopped as late as the busy ones, and resumed before all others: they run for a very short
 *   time. If they were stopped among the waiting threads, they would stand as long as it takes to
 *   go through all of them (300: 1.5 to 3 ms, of which their own part is 0.1). They are recognized
 *   by how often they had a processor (procfs_runs).
 * - Before a stop the tracer sleeps for a moment. Otherwise its time slice may be used up, and it
 *   would give way to the busy threads for a whole poll (4 ms) in the middle.
 * - Then the thread that was stopped first is resumed first, the busy ones last. If these came
 *   earlier, they would take the processor from the tracer while all other threads are still
 *   stopped (seen: a thread that was to wake stood for 3 to 8 ms). A waiting thread takes a few
 *   microseconds to wait again.
 * - While it resumes them, the tracer has precedence over all other threads (tracer_hurry): 300
 *   threads then take 0.3 ms, and 1 to 4 if it gives way to each that it wakes. It does not do so
 *   while it stops them: a thread that it waits for may need its processor (a stop then took some
 *   ten ms now and then).
 * - The sleep and the precedence are only for many threads: with a few, a sleep and a change of its
 *   own scheduling take longer than to go through them (after a sleep the tracer may be on another
 *   processor than the thread that it then borrows: a detach took 0.7 ms instead of 0.3).
 *
 * A thread that sleeps uninterruptibly stops before it runs user code again, so that the target
 * counts as stopped without it. The exception is a thread in execve, which waits for its file, or
 * for a permission (fanotify). Without running user code it can kill all other threads of its
 * process, stopped or not, and go on under the id of the first one. Whatever mdbg does to that id
 * then happens to the new program (seen: it went on with registers of the old one). So the target
 * does not count as stopped while there is such a thread: mdbg waits until its exec succeeds or
 * fails, and if neither comes soon it resumes the target.
 */

#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <time.h>

#include "base/trace.h"
#include "os/memory_lock.h"
#include "os/tracer.h"
#include "tracee/target.h"

#define NS_PER_MS	1000000ull
/*
 * A new child stops before its first instruction. This is how long to wait for it when all others
 * have stopped.
 */
#define NEWBORN_NS	(1000 * NS_PER_MS)
/* How long to wait for a thread that can be borrowed, if all are in uninterruptible sleeps. */
#define STUCK_NS	(1000 * NS_PER_MS)
/* How long to wait for a thread that executes another program. */
#define EXECUTE_NS	(50 * NS_PER_MS)
/* How long to wait for one thread before the stops of others are handled. */
#define IN_TURN_NS	NS_PER_MS
/* How long to wait for one thread while busy threads run, and how long these may run at most. */
#define AT_ONCE_NS	200000ull
#define BUSY_NS		(4 * NS_PER_MS)
/* The tracer's sleep before a stop. */
#define REST_NS		100000
/*
 * A thread that gets a processor less often than once in this time does not wake all the time; ...
 */
#define SELDOM_NS	(10 * NS_PER_MS)
/* ... nor who has it for a stop, and to go on, and whatever else mdbg made it do. */
#define OWN_RUNS	4
/* With at least so many threads it takes a while to go through them. */
#define MANY		16

/* The activity of a thread, seen before or at the last stop. */
enum does { WAITS, WAKES, WORKS };

static enum does what_does(const struct thread *thread)
{
	if (thread->busy)
		return WORKS;
	return thread->wakes ? WAKES : WAITS;
}

static void each_that(struct target *target, enum does does, void (*fn)(struct thread *thread))
{
	struct thread *thread;

	for_each_thread(thread, target)
		if (what_does(thread) == does)
			fn(thread);
}

static bool has_many(const struct target *target)
{
	return map_count(&target->threads) >= MANY;
}

void stop_each_to_go_on(struct target *target, void (*fn)(struct thread *thread))
{
	bool hurry = has_many(target);

	if (hurry)
		tracer_hurry(target->tracer, true);
	each_that(target, WAKES, fn);
	each_that(target, WAITS, fn);
	each_that(target, WORKS, fn);
	if (hurry)
		tracer_hurry(target->tracer, false);
}

/* It is stopped, or runs no user code any more. */
static bool stands(const struct thread *thread)
{
	return thread->state != THREAD_RUNNING && thread->state != THREAD_ASKED;
}

/*
 * A thread is not asked twice: if it has stopped, but its stop was not handled yet, it would stop
 * again as soon as it is resumed, and stay stopped until the tracer has gone through all threads
 * (300 threads: 10 ms more).
 */
static void interrupt_one(struct thread *thread)
{
	if (thread->state != THREAD_RUNNING && thread->state != THREAD_STUCK)
		return;
	if (thread->state == THREAD_RUNNING)
		thread->state = THREAD_ASKED;
	/* fails only if it was killed: its exit follows */
	err_ignore(tracer_interrupt(thread->tid));
}

static unsigned running(struct target *target)
{
	struct thread *thread;
	unsigned count = 0;

	for_each_thread(thread, target)
		count += !stands(thread);
	return count;
}

/* Is the thread about to execute a program (see the top of this file)? */
static bool takes_over(struct thread *thread)
{
	struct thread *other;
	long nr;

	for_each_thread(other, thread->target)
		if (other != thread && other->tgid == thread->tgid)
			return !procfs_syscall(thread->tid, &nr) &&
			       (nr == SYS_execve || nr == SYS_execveat);
	return false;
}

/* A thread that still runs: is it in an uninterruptible sleep, or is it gone? */
static void look_at_late(struct thread *thread, pid_t *executer)
{
	struct proc_stat stat;

	if (stands(thread) || procfs_stat(thread->tid, &stat))
		return;
	if (stat.state == 'D' && takes_over(thread)) {
		*executer = thread->tid;
		return;
	}
	/* The end of a first thread is reported only when all others are gone. */
	if (stat.state == 'D' || stat.state == 'Z') {
		thread->state = THREAD_STUCK;
		trace_line("thread %d does not stop: state %c", thread->tid, stat.state);
	}
}

/* Children that did not come in time are not waited for any more. */
static bool awaits_child(struct target *target, uint64_t end)
{
	if (target->expected && tracer_now() > end) {
		trace_line("%u children of process %d do not stop", target->expected, target->pid);
		/* If they stop later, they must be released, so somebody must wait for them. */
		tracer_count(target->tracer, (int)target->expected);
		map_free(&target->newborn, NULL);
		target->expected = 0;
	}
	return target->expected;
}

/*
 * Most threads stop soon, in the order in which they were asked to, so wait for this one: to wait
 * for any of many would make the kernel, and this file, look at all of them each time. If this one
 * does not stop soon, handle the stops of others. True: a stop was handled.
 */
static bool wait_in_turn(struct target *target, bool with_all, uint64_t each_ns)
{
	VEC(pid_t) tids = VEC_INIT;
	bool patient = true, any = false;
	struct thread *thread;

	/* A thread that cannot be noted is waited for with the rest. */
	for_each_thread(thread, target)
		if (!stands(thread) && (with_all || what_does(thread) == WAITS))
			err_ignore(vec_push(&tids, thread->tid));
	vec_each_while(tid, &tids, target->state != TARGET_ENDED) {
		struct err *err = NULL;
		int status;

		if (!thread_find(target, *tid))
			continue;
		if (patient)
			err = tracer_wait_for(*tid, tracer_now() + each_ns, &status);
		else if (!tracer_poll(*tid, &status))
			continue;
		if (!err) {
			target->ops->route(target->ctx, *tid, status);
			any = true;
		} else if (err->code == ERR_TIMEOUT) {
			patient = false;
		}
	}
	vec_free(&tids);
	return any;
}

/*
 * Every thread is stuck, most likely for a moment: it is the only thread, and its vfork child has
 * just executed another program, so that it does not share the memory any more.
 */
static bool awaits_any(struct target *target, uint64_t end)
{
	return !thread_any_stopped(target) && target->end != TARGET_END_HELD && tracer_now() < end;
}

static struct err *gone(const struct target *target)
{
	return err_create(ERR_GONE, "process %d has ended, or runs another program", target->pid);
}

/* Look at the late threads: which of them need not be waited for, and has it taken too long? */
static struct err *look_at_all_late(struct target *target, uint64_t start)
{
	struct thread *thread;
	pid_t executer = 0;

	for_each_thread(thread, target)
		look_at_late(thread, &executer);
	if (!executer || tracer_now() < start + EXECUTE_NS)
		return NULL;
	return err_hint(err_create(ERR_BUSY, "thread %d of process %d is about to execute another "
				   "program", executer, target->pid),
			"its file is waited for, or a permission to execute it (/proc/%d/stack)",
			executer);
}

static struct err *wait_stopped(struct target *target)
{
	uint64_t start = tracer_now(), end = start + TARGET_TIMEOUT_NS;

	while (target->state != TARGET_ENDED &&
	       (running(target) > 0 || awaits_child(target, start + NEWBORN_NS) ||
		awaits_any(target, start + STUCK_NS))) {
		int status;
		pid_t tid;
		struct err *err;

		/* Checked first: events may come all the time, of this target or of another one. */
		if (tracer_now() > end)
			return err_create(ERR_TIMEOUT, "stop process %d: it does not stop in time",
					  target->pid);
		if (wait_in_turn(target, true, IN_TURN_NS))
			continue;
		err = tracer_wait(target->tracer, tracer_now() + 10 * NS_PER_MS, &tid, &status);
		if (!err)
			target->ops->route(target->ctx, tid, status);
		else if (err->code == ERR_TIMEOUT)
			err = look_at_all_late(target, start);
		if (err)
			return err;
	}
	return target->state == TARGET_ENDED ? gone(target) : NULL;
}

static struct err *stop_all(struct target *target)
{
	uint64_t end;

	each_that(target, WAITS, interrupt_one);
	end = tracer_now() + BUSY_NS;
	while (wait_in_turn(target, false, AT_ONCE_NS) && tracer_now() < end)
		;
	/* Ask the rest: a thread that was busy may be seen otherwise by now. */
	each_that(target, WORKS, interrupt_one);
	each_that(target, WAKES, interrupt_one);
	each_that(target, WAITS, interrupt_one);
	return wait_stopped(target);
}

/* See which of many threads wake all the time, and rest. */
static void prepare(struct target *target)
{
	static const struct timespec rest = { .tv_nsec = REST_NS };
	struct thread *thread;

	/* Since the last look: at the stop before, or when the thread was seized. */
	for_each_thread(thread, target) {
		uint64_t runs = thread->runs, since = thread->runs_seen;

		seize_note_runs(thread);
		thread->wakes = since && thread->runs - runs >
					 OWN_RUNS + (thread->runs_seen - since) / SELDOM_NS;
	}
	/* For the thread that was seized last this time was too short. */
	for_each_thread(thread, target) {
		uint64_t runs = thread->runs;

		seize_note_runs(thread);
		thread->wakes |= thread->runs != runs;
	}
	nanosleep(&rest, NULL);
}

/* A thread that waits in the kernel may keep what everybody needs who looks at the memory. */
static struct err *check_stuck(const struct target *target)
{
	struct thread *thread;

	for_each_thread(thread, target)
		if (thread->state == THREAD_STUCK)
			return memory_lock_check(target->mem.tid);
	return NULL;
}

struct err *target_stop(struct target *target, bool *was_ret)
{
	uint64_t entered = tracer_now(), end = entered + TARGET_TIMEOUT_NS;
	unsigned missed;
	struct err *err;

	if (was_ret)
		*was_ret = target->state == TARGET_STOPPED;
	if (target->state == TARGET_STOPPED)
		return NULL;
	if (target->state == TARGET_ENDED)
		return gone(target);
	err = seize_retrace(target);
	if (err)
		return err;
	target->state = TARGET_STOPPING;
	if (has_many(target))
		prepare(target);
	/* A thread that got a signal as soon as it was seized stands since then. */
	target->stop_begun_ns = tracer_any_stops() ? entered : tracer_now();
	do {
		err = stop_all(target);
		if (!err)
			err = seize_missed(target, &missed);
		if (!err && missed && tracer_now() > end)
			err = err_create(ERR_TIMEOUT, "stop process %d: its threads make others "
					 "faster than they can be traced", target->pid);
	} while (!err && missed);
	if (!err)
		err = check_stuck(target);
	if (err) {
		target_resume(target);
		return err;
	}
	target->state = TARGET_STOPPED;
	return target->end == TARGET_END_HELD ? target_end(target) : NULL;
}

static void resume_one(struct thread *thread)
{
	if (thread->state == THREAD_ASKED || thread->state == THREAD_STUCK)
		thread->state = THREAD_RUNNING;
	if (thread->state != THREAD_STOPPED || death_holds(thread))
		return;
	if (!thread->group_signal)
		thread_restart_syscall(thread, 0);
	thread_resume(thread, 0);
}

void target_resume(struct target *target)
{
	if (target->state != TARGET_ENDED)
		target->state = TARGET_RUNNING;
	stop_each_to_go_on(target, resume_one);
}

void stop_attend(struct target *target, uint64_t ns)
{
	uint64_t until = tracer_now() + ns;
	int status;
	pid_t tid;

	/* A wait that finds an event does not look at the time. */
	while (tracer_now() < until && !tracer_wait(target->tracer, until, &tid, &status))
		target->ops->route(target->ctx, tid, status);
}

struct err *target_run_for(struct target *target, uint64_t ns)
{
	uint64_t begun = tracer_now();

	target_resume(target);
	stop_attend(target, ns);
	target->ran_ns += tracer_now() - begun;
	return target_stop(target, NULL);
}

bool stop_can_move(const struct target *target, bool (*goes)(struct thread *thread, void *ctx),
		   void *ctx)
{
	struct thread *thread;

	for_each_thread(thread, target)
		if ((thread->state == THREAD_STUCK ||
		     (thread->state == THREAD_STOPPED && !thread->group_signal &&
		      !death_holds(thread))) &&
		    (!goes || goes(thread, ctx)))
			return true;
	return false;
}

struct err *target_run_some(struct target *target, bool (*goes)(struct thread *thread, void *ctx),
			    void *ctx, uint64_t ns)
{
	struct thread *thread;

	/* A thread that stops meanwhile, for any reason, need not go on. */
	if (target->state == TARGET_STOPPED)
		target->state = TARGET_STOPPING;
	for_each_thread(thread, target)
		if (goes(thread, ctx))
			resume_one(thread);
	stop_attend(target, ns);
	return target_stop(target, NULL);
}
