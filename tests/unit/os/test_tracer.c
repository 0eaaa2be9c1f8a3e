/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How the tracer thread is scheduled. */

#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "os/tracer.h"
#include "unit.h"

#define NOBODY	65534

static struct tracer *tracer;

/* Of the tracer thread: before, in a hurry, afterwards, and of a child that it makes then. */
struct policies {
	int before, hurried, after, child;
};

static int policy_of_child(void)
{
	int status = -1;
	pid_t pid = fork();

	if (!pid)
		_exit(sched_getscheduler(0));
	if (pid < 0 || waitpid(pid, &status, __WALL) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

static struct err *hurry(void *arg)
{
	struct policies *policies = arg;

	policies->before = sched_getscheduler(0);
	tracer_hurry(tracer, true);
	policies->hurried = sched_getscheduler(0);
	tracer_hurry(tracer, false);
	policies->after = sched_getscheduler(0);
	policies->child = policy_of_child();
	return NULL;
}

static void stopped(void *ctx UNUSED, pid_t tid UNUSED, int status UNUSED)
{
}

static bool get_policies(struct policies *ret)
{
	struct err *err = tracer_create(stopped, NULL, &tracer);

	if (!err)
		err = tracer_call(tracer, hurry, ret);
	tracer_destroy(tracer);
	return !err;
}

TEST("a hurry ends")
{
	struct policies policies;

	CU_ASSERT_EQUAL_FATAL(sched_getscheduler(0), SCHED_OTHER);
	CU_ASSERT_TRUE_FATAL(get_policies(&policies));
	CU_ASSERT_EQUAL(policies.before, SCHED_OTHER);
	/* (Not where a container forbids it.) */
	CU_ASSERT_TRUE(policies.hurried == SCHED_FIFO || policies.hurried == SCHED_OTHER);
	CU_ASSERT_EQUAL(policies.after, SCHED_OTHER);
	CU_ASSERT_EQUAL(policies.child, SCHED_OTHER);
}

/* Exit status 0 of a child: what its body found is as it must be. */
static bool in_child(bool (*body)(void))
{
	int status = -1;
	pid_t pid = fork();

	if (!pid)
		_exit(!body());
	return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
		!WEXITSTATUS(status);
}

/* Who may not is as slow as before, and no more. */
static bool is_refused(void)
{
	struct policies policies;

	return !setrlimit(RLIMIT_RTPRIO, &(struct rlimit){ 0 }) && !setgid(NOBODY) && !setuid(NOBODY) && get_policies(&policies) &&
		policies.hurried == SCHED_OTHER && policies.after == SCHED_OTHER;
}

TEST("a hurry that is refused")
{
	if (geteuid()) {
		unit_skip("only root can become somebody else");
		return;
	}
	CU_ASSERT_TRUE(in_child(is_refused));
}

/* chrt: what somebody else has chosen is left as it is. */
static bool is_left(void)
{
	struct policies policies;

	return !sched_setscheduler(0, SCHED_BATCH, &(struct sched_param){ .sched_priority = 0 }) &&
		get_policies(&policies) && policies.before == SCHED_BATCH &&
		policies.hurried == SCHED_BATCH && policies.after == SCHED_BATCH;
}

TEST("no hurry for who is scheduled otherwise")
{
	CU_ASSERT_TRUE(in_child(is_left));
}
