/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Waiting for a target in steps. */

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>

#include "child.h"
#include "os/tracer.h"
#include "tracee/target.h"
#include "tracee/target_wait.h"
#include "unit.h"
#include "victim.h"

#define STEP_NS		1000000ull

static struct victim victim;
static struct child child;
static _Atomic uint64_t *turns;		/* of the first thread, and of the second */

struct waiting {
	struct victim *victim;
	unsigned looks;
	unsigned done_at;	/* the look that finds it done; 0: none */
	unsigned fails_at;
};

static struct err *look(void *ctx, bool *done_ret)
{
	struct waiting *waiting = ctx;

	CU_ASSERT_EQUAL(waiting->victim->target->state, TARGET_STOPPED);
	waiting->looks++;
	*done_ret = waiting->looks == waiting->done_at;
	return waiting->looks == waiting->fails_at ? err_create(ERR_RANGE, "failed") : NULL;
}

/* Where each step depends on how long it may run, no clock is asked for the number of looks. */
static struct err *wait_all(struct victim *v)
{
	static const struct {
		uint64_t step_most, budget, deadline;
		unsigned done_at, looks;
	} wanted[] = {
		{ 0, 10 * STEP_NS, UINT64_MAX, 1, 1 },
		{ 0, 10 * STEP_NS, UINT64_MAX, 3, 3 },
		{ 0, 10 * STEP_NS, UINT64_MAX, 0, 11 },		/* 10 times 1 */
		{ 0, 5 * STEP_NS / 2, UINT64_MAX, 0, 4 },	/* 1, 1, 0.5 */
		{ 2 * STEP_NS, 7 * STEP_NS, UINT64_MAX, 0, 5 },	/* 1, 2, 2, 2 */
		{ 64 * STEP_NS, 7 * STEP_NS, UINT64_MAX, 0, 4 },	/* 1, 2, 4 */
		{ 0, 10 * STEP_NS, 0, 0, 1 },
		{ 0, 0, UINT64_MAX, 0, 1 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
		struct waiting waiting = { .victim = v, .done_at = wanted[i].done_at };
		uint64_t budget = wanted[i].budget, before = turns[0];
		struct target_wait wait = {
			.look = look, .ctx = &waiting, .step = STEP_NS,
			.step_most = wanted[i].step_most,
			.deadline = wanted[i].deadline, .budget = &budget,
		};
		bool done = !wanted[i].done_at;
		struct err *err = target_wait(v->target, &wait, &done);

		if (err)
			return err;
		CU_ASSERT_EQUAL(done, wanted[i].done_at != 0);
		CU_ASSERT_EQUAL(waiting.looks, wanted[i].looks);
		CU_ASSERT_EQUAL(v->target->state, TARGET_STOPPED);
		if (wanted[i].looks == 1)
			CU_ASSERT_EQUAL(turns[0], before);
		if (!done && wanted[i].deadline)
			CU_ASSERT_EQUAL(budget, 0);
	}
	return NULL;
}

static struct err *wait_and_fail(struct victim *v)
{
	struct waiting waiting = { .victim = v, .fails_at = 2 };
	struct target_wait wait = {
		.look = look, .ctx = &waiting, .step = STEP_NS, .deadline = UINT64_MAX,
	};
	bool done = true;
	struct err *err = target_wait(v->target, &wait, &done);

	CU_ASSERT_FATAL(err && err->code == ERR_RANGE);
	CU_ASSERT_EQUAL(waiting.looks, 2);
	CU_ASSERT_TRUE(done);		/* nothing is set */
	CU_ASSERT_EQUAL(v->target->state, TARGET_STOPPED);
	return NULL;
}

/* The deadline alone bounds it, and no step goes on behind it. */
static struct err *wait_in_vain(struct victim *v)
{
	struct waiting waiting = { .victim = v };
	struct target_wait wait = {
		.look = look, .ctx = &waiting,
		.step = 1000 * TARGET_TIMEOUT_NS, .deadline = tracer_now() + STEP_NS,
	};
	bool done = true;
	struct err *err = target_wait(v->target, &wait, &done);

	CU_ASSERT_FALSE(done);
	CU_ASSERT_EQUAL(waiting.looks, 2);
	return err;
}

struct counting {
	struct victim *victim;
	uint64_t first;
};

static struct err *has_counted(void *ctx, bool *done_ret)
{
	const struct counting *counting = ctx;

	*done_ret = turns[0] > counting->first;
	return NULL;
}

static bool is_first(struct thread *thread, void *ctx)
{
	const struct counting *counting = ctx;

	return thread->tid == counting->victim->pid;
}

/* The thread that is waited for goes on, the other stands. */
static struct err *wait_for_one(struct victim *v)
{
	struct counting counting = { .victim = v, .first = turns[0] };
	struct target_wait wait = {
		.look = has_counted, .goes = is_first, .ctx = &counting,
		.step = STEP_NS, .deadline = UINT64_MAX,
	};
	uint64_t second = turns[1];
	bool done;
	struct err *err = target_wait(v->target, &wait, &done);

	CU_ASSERT_TRUE(done);
	CU_ASSERT_EQUAL(turns[1], second);
	return err;
}

static bool any_thread(struct thread *thread UNUSED, void *ctx UNUSED)
{
	return true;
}

/* In a group stop nothing changes: there is one look, unless it is somebody else who is waited for. */
static struct err *wait_stopped(struct victim *v)
{
	static const struct {
		bool some, elsewhere;
		unsigned looks;
	} wanted[] = { { false, false, 1 }, { true, false, 1 }, { false, true, 4 } };

	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
		struct waiting waiting = { .victim = v };
		uint64_t budget = 3 * STEP_NS, before = turns[0];
		struct target_wait wait = {
			.look = look, .goes = wanted[i].some ? any_thread : NULL,
			.ctx = &waiting, .elsewhere = wanted[i].elsewhere,
			.step = STEP_NS, .deadline = UINT64_MAX, .budget = &budget,
		};
		bool done = true;
		struct err *err = target_wait(v->target, &wait, &done);

		if (err)
			return err;
		CU_ASSERT_FALSE(done);
		CU_ASSERT_EQUAL(waiting.looks, wanted[i].looks);
		CU_ASSERT_EQUAL(turns[0], before);
		CU_ASSERT_EQUAL(v->target->state, TARGET_STOPPED);
	}
	return NULL;
}

/* Until the signal has stopped the threads, or has let them go on. */
static struct err *send_and_run(struct victim *v, int signal, bool moves)
{
	struct err *err = NULL;

	kill(v->pid, signal);
	while (!err && stop_can_move(v->target, NULL, NULL) != moves)
		err = target_run_for(v->target, STEP_NS);
	return err;
}

static struct err *stop_group(struct victim *v)
{
	return send_and_run(v, SIGSTOP, false);
}

static struct err *continue_group(struct victim *v)
{
	return send_and_run(v, SIGCONT, true);
}

static void *count_second(void *arg UNUSED)
{
	for (;;)
		++turns[1];
	return NULL;
}

static void count_both(void *arg UNUSED)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, count_second, NULL))
		_exit(1);
	while (!turns[1])
		;
	child_ready(1);
	for (;;)
		++turns[0];
}

TEST("in steps, within its bounds")
{
	turns = child_share(2 * sizeof(*turns));
	CU_ASSERT_PTR_NOT_NULL_FATAL(turns);
	CU_ASSERT_TRUE_FATAL(child_start(&child, count_both, NULL));
	CU_ASSERT_TRUE_FATAL(child_word(&child, &(uint64_t){ 0 }));
	if (victim_seize(&victim, child.pid)) {
		victim_run(&victim, wait_all);
		victim_run(&victim, wait_and_fail);
		victim_run(&victim, wait_in_vain);
		victim_run(&victim, wait_for_one);
		victim_run(&victim, stop_group);
		victim_run(&victim, wait_stopped);
		victim_run(&victim, continue_group);
		victim_run(&victim, wait_for_one);
		victim_release(&victim);
	}
	kill(child.pid, SIGKILL);
	child_end(&child);
	munmap((void *)turns, 2 * sizeof(*turns));
}
