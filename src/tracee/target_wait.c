/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Waits until something in a target has come to its end (theory in target_wait.h). */

#include "tracee/target_wait.h"

#include "base/trace.h"
#include "os/tracer.h"
#include "tracee/target.h"

/* How long the next step may be; 0: there is no time left. */
static uint64_t bound_step(const struct target_wait *wait, uint64_t step)
{
	uint64_t now = tracer_now();

	if (now >= wait->deadline)
		return 0;
	step = MIN(step, wait->deadline - now);
	return wait->budget ? MIN(step, *wait->budget) : step;
}

static bool can_move(const struct target *target, const struct target_wait *wait)
{
	return wait->elsewhere || stop_can_move(target, wait->goes, wait->ctx);
}

struct err *target_wait(struct target *target, const struct target_wait *wait, bool *done_ret)
{
	uint64_t step = wait->step, ns;
	unsigned steps = 0;
	bool done = false;
	struct err *err = wait->look(wait->ctx, &done);

	while (!err && !done && can_move(target, wait) && (ns = bound_step(wait, step))) {
		steps++;
		if (wait->budget)
			*wait->budget -= ns;
		err = wait->goes ? target_run_some(target, wait->goes, wait->ctx, ns) :
				   target_run_for(target, ns);
		if (!err)
			err = wait->look(wait->ctx, &done);
		step = MIN(2 * step, MAX(step, wait->step_most));
	}
	if (steps)
		trace_line("waited for process %d in %u steps", target->pid, steps);
	if (!err)
		*done_ret = done;
	return err;
}
