/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Waits until something in a target has come to its end (theory in wait.h). */

#include "tracee/wait.h"

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

struct err *target_wait(struct target *target, const struct target_wait *wait, bool *done_ret)
{
	uint64_t step = wait->step, ns;
	bool done = false;
	struct err *err = wait->look(wait->ctx, &done);

	while (!err && !done && (ns = bound_step(wait, step))) {
		if (wait->budget)
			*wait->budget -= ns;
		err = wait->goes ? target_run_some(target, wait->goes, wait->ctx, ns) :
				   target_run_for(target, ns);
		if (!err)
			err = wait->look(wait->ctx, &done);
		step = MIN(2 * step, MAX(step, wait->step_most));
	}
	if (!err)
		*done_ret = done;
	return err;
}
