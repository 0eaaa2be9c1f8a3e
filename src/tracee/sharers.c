/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Processes that share a target's memory, wherever they hang in the tree of processes.
 *
 * A process that was made by clone(CLONE_VM) runs the target's text: a patch is its patch, and what
 * is unmapped is unmapped for it. It must be held as the target's own threads are. As a child of one
 * of these it is found with them (seize.c). But it may be a child of the target's parent
 * (CLONE_PARENT), or of whoever took it over when its own parent ended or executed a program, and
 * nothing that the kernel shows leads from a memory to those that use it. So all processes are
 * asked, one by one, whether they have it (task_sharers).
 *
 * With 2,000 processes that takes some 10 ms, so it is never done in a stop. It is needed only
 * before text is changed or anything is unmapped: at the attach, where a thread of mdbg's own looks
 * while probes are planned and the log is made, at the detach, and when probes come or go. The
 * target's threads are traced before a look begins, and so are the sharers that it finds: what these
 * make from then on the kernel attaches for us. After a look that has found some there is another
 * one, for what they had made before they were held.
 */

#include "tracee/sharers.h"

#include <pthread.h>

#include "base/trace.h"
#include "os/task.h"
#include "os/tracer.h"
#include "tracee/target.h"

struct sharers_look {
	pthread_t thread;
	pid_t pid, tid;
	struct proc_tasks found;
};

static void *run(void *arg)
{
	struct sharers_look *look = arg;
	struct err *err = task_sharers(look->pid, look->tid, &look->found);

	if (err)
		trace_line("processes that share memory: %s", err->msg);
	return NULL;
}

void sharers_begin(struct target *target)
{
	struct sharers_look *look = calloc(1, sizeof(*look));

	if (!look || target->look) {
		free(look);
		return;
	}
	look->pid = target->pid;
	look->tid = target->mem.tid;
	if (pthread_create(&look->thread, NULL, run, look)) {
		free(look);		/* then the look is made when it is waited for */
		return;
	}
	target->look = look;
}

/* *ret becomes what the look that is under way has found. False: there is none. */
static bool take_look(struct target *target, struct proc_tasks *ret)
{
	struct sharers_look *look = target->look;

	if (!look)
		return false;
	target->look = NULL;
	pthread_join(look->thread, NULL);
	*ret = look->found;
	free(look);
	return true;
}

void sharers_end(struct target *target)
{
	struct proc_tasks found = { VEC_INIT };

	if (take_look(target, &found))
		vec_free(&found.vec);
}

static struct err *hold_found(struct target *target, const struct proc_tasks *found, unsigned *nr)
{
	struct err *err = NULL;

	vec_each_while(pid, &found->vec, !err) {
		err = seize_process(target, *pid, nr);
		if (err)
			err = err_hint(err_recode(err_wrap(err, "process %d shares the memory of "
							   "process %d, and must be held with it",
							   *pid, target->pid), ERR_ATTACH),
				       "see `cat /proc/%d/status`: who traces it, whose is it?",
				       *pid);
	}
	return err;
}

struct err *sharers_hold(struct target *target)
{
	uint64_t end = tracer_now() + TARGET_TIMEOUT_NS;
	struct err *err = seize_retrace(target);
	bool any = false;
	unsigned nr = 1;

	while (!err && nr > 0 && tracer_now() < end) {
		struct proc_tasks found = { VEC_INIT };

		nr = 0;
		if (!take_look(target, &found))
			err = task_sharers(target->pid, target->mem.tid, &found);
		if (!err)
			err = hold_found(target, &found, &nr);
		vec_free(&found.vec);
		any |= nr > 0;
	}
	/* It stood still, and those that were found must, too. */
	if (!err && any && target->state == TARGET_STOPPED) {
		target->state = TARGET_STOPPING;
		err = target_stop(target, NULL);
	}
	return err;
}
