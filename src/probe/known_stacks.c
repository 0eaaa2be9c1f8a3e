/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Makes stacks known to the agent (theory in known_stacks.h). */

#include "probe/known_stacks.h"

#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>

#include "agent/state.h"
#include "base/trace.h"
#include "os/procfs.h"
#include "os/tracer.h"
#include "probe/agent_state.h"
#include "probe/probe.h"
#include "tracee/target.h"

#define PACE		50u	/* a look may take one part in so many of the time */
#define LOOK_LEAST_NS	50000000ull
#define LOOK_MOST_NS	(STACKS_GOOD_NS / 2)

static bool is_stack(const struct proc_map *map)
{
	return map && map->read && map->write && !map->shared;
}

static bool is_known(const struct known_stacks *stacks, uint64_t address)
{
	vec_each(stack, &stacks->vec)
		if (address >= stack->start && address < stack->end)
			return true;
	return false;
}

static void drop_oldest(struct known_stacks *stacks)
{
	size_t oldest = 0;

	for (size_t i = 1; i < stacks->vec.nr; i++)
		if (stacks->vec.at[i].since < stacks->vec.at[oldest].since)
			oldest = i;
	memmove(&stacks->vec.at[oldest], &stacks->vec.at[oldest + 1],
		(--stacks->vec.nr - oldest) * sizeof(*stacks->vec.at));
}

/* Keep the order of addresses. */
static struct err *insert(struct known_stacks *stacks, const struct proc_map *map)
{
	struct known_stack stack = { map->start, map->end, stacks->looks };
	size_t at;
	struct err *err;

	if (stacks->vec.nr == AGENT_STACKS)
		drop_oldest(stacks);
	err = vec_push(&stacks->vec, stack);
	for (at = stacks->vec.nr - 1; !err && at && stacks->vec.at[at - 1].start > stack.start; at--)
		stacks->vec.at[at] = stacks->vec.at[at - 1];
	if (!err)
		stacks->vec.at[at] = stack;
	return err;
}

/* Take out the entries whose mappings are not as they were. Returns whether there were any. */
static bool drop_changed(struct known_stacks *stacks, const struct proc_maps *maps)
{
	size_t before = stacks->vec.nr, nr = 0;

	vec_each(stack, &stacks->vec) {
		const struct proc_map *map = procparse_maps_find(maps, stack->start);

		if (is_stack(map) && map->start == stack->start && map->end == stack->end)
			stacks->vec.at[nr++] = *stack;
	}
	stacks->vec.nr = nr;
	return nr != before;
}

/* Returns whether any of the missed addresses was in a stack that was not known yet. */
static bool add_missed(struct known_stacks *stacks, const struct proc_maps *maps,
		       const uint64_t missed[AGENT_MISSED])
{
	bool added = false;

	for (size_t i = 0; i < AGENT_MISSED; i++) {
		const struct proc_map *map = procparse_maps_find(maps, missed[i]);

		if (missed[i] && is_stack(map) && !is_known(stacks, missed[i]))
			added |= !insert(stacks, map);
	}
	return added;
}

/*
 * The time stamp at which STACKS_GOOD_NS from now will be over; 0: the rate of the stamps is not
 * known yet.
 */
static uint64_t good_until(struct known_stacks *stacks, uint64_t now)
{
	uint64_t stamp = log_now(), passed = now - stacks->stamp_ns;
	uint64_t until = 0;

	if (stacks->stamp && passed)
		until = stamp + (uint64_t)((double)(stamp - stacks->stamp) / (double)passed *
					   (double)STACKS_GOOD_NS);
	stacks->stamp = stamp;
	stacks->stamp_ns = now;
	return until;
}

static struct err *publish(struct probes *probes, uint64_t until, bool changed)
{
	const struct known_stacks *stacks = &probes->stacks;
	struct agent_stacks *table = &probes->state->stacks;

	table->until = until;
	if (changed) {
		table->nr = stacks->vec.nr;
		vec_each(stack, &stacks->vec)
			table->at[stack - stacks->vec.at] =
				(struct agent_range){ stack->start, stack->end };
	}
	return agent_state_tell_stacks(probes, changed);
}

/* The agent asks the kernel no more as soon as a thread has a filter of system calls. */
static void check_filters(struct probes *probes)
{
	struct proc_tasks tasks = { VEC_INIT };
	struct proc_status status;

	if (probes->seccomp || procfs_tasks(probes->target->mem.tid, &tasks))
		return;
	vec_each_value(tid, &tasks.vec)
		if (!procfs_status(tid, &status))
			probes->seccomp |= status.seccomp != SECCOMP_MODE_DISABLED;
	vec_free(&tasks.vec);
	probes->state->stacks.asks = !probes->seccomp;
}

static struct err *look(struct probes *probes, uint64_t now, const struct agent_stacks *there)
{
	struct known_stacks *stacks = &probes->stacks;
	struct proc_maps maps = { VEC_INIT };
	struct err *err = procfs_maps(probes->target->mem.tid, &maps);
	bool changed;

	if (err)
		return err;
	changed = drop_changed(stacks, &maps);
	if (there->misses != stacks->misses) {
		check_filters(probes);
		changed |= add_missed(stacks, &maps, there->missed);
	}
	stacks->misses = there->misses;
	procparse_maps_free(&maps);
	return publish(probes, good_until(stacks, now), changed);
}

void known_stacks_look(struct probes *probes, uint64_t now)
{
	struct known_stacks *stacks = &probes->stacks;
	struct agent_stacks there;
	uint64_t took;
	struct err *err;

	if (!probes->state || now < stacks->next_ns ||
	    memory_read(&probes->target->mem.bring,
			probes->state_address + offsetof(struct agent_state, stacks), &there,
			offsetof(struct agent_stacks, asks)) ||
	    (there.misses == stacks->misses && !stacks->vec.nr))
		return;
	stacks->looks++;
	err = look(probes, now, &there);
	if (err)
		trace_line("stacks that the agent does not know: %s", err->msg);
	took = tracer_now() - now;
	stacks->next_ns = now + MIN(MAX(PACE * took, LOOK_LEAST_NS), LOOK_MOST_NS);
}

void known_stacks_free(struct known_stacks *stacks)
{
	vec_free(&stacks->vec);
	*stacks = (struct known_stacks){ .vec = VEC_INIT };
}
