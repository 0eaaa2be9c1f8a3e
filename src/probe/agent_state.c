/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The agent's state in a target (agent_state.h). */

#include "probe/agent_state.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "agent/state.h"
#include "base/trace.h"
#include "probe/area.h"
#include "probe/trap_ledger.h"
#include "probe/probe.h"
#include "probe/free_facts.h"
#include "tracee/region.h"
#include "tracee/remote.h"
#include "tracee/share.h"
#include "tracee/target.h"
#include "tracee/tcb.h"

_Static_assert((int)ALLOC_NEW == AGENT_NEW && (int)ALLOC_RESIZE == AGENT_RESIZE &&
	       (int)ALLOC_FREE == AGENT_FREE && (int)ALLOC_NEW_BY_REF == AGENT_NEW_BY_REF &&
	       (int)ALLOC_GROWTH == AGENT_GROWTH,
	       "roles are handed to the agent as they are");

static struct err *write_part(struct probes *probes, size_t offset, size_t len)
{
	return patch_fill(probes->target, probes->state_address + offset,
			  (const uint8_t *)probes->state + offset, len);
}

#define WRITE_FIELD(probes, field) \
	write_part(probes, offsetof(struct agent_state, field), sizeof((probes)->state->field))

/* The agent reads the time stamp counter: a thread that must not read it would get a SIGSEGV. */
static struct err *check_clock(struct probes *probes, struct remote *remote)
{
	int how = PR_TSC_ENABLE;
	uint64_t at, unused;
	struct err *err = remote_scratch(remote, &how, sizeof(how), &at);

	if (!err)
		err = remote_syscall(remote, &unused, SYS_prctl, PR_GET_TSC, at);
	if (!err)
		err = memory_read(&probes->target->mem.bring, at, &how, sizeof(how));
	if (!err && how == PR_TSC_SIGSEGV)
		err = err_create(ERR_UNSUPPORTED, "the process has forbidden itself to read the "
				 "time stamp counter (PR_SET_TSC)");
	return err;
}

static struct err *fill(struct probes *probes, struct remote *remote)
{
	struct target *target = probes->target;
	struct agent_state *state = probes->state;
	struct tcb tcb = { 0 };
	uint64_t map;
	struct err *err = check_clock(probes, remote);

	if (!err)
		err = share_log(target, remote);
	if (!err)
		err = share_modules(target, remote, true, &map);
	if (err)
		return err;
	if (!log_view_at(&target->region->log, target->region->log_address, &state->log))
		return err_create(ERR_FORMAT, "the log has no place in process %d", target->pid);
	tcb_derive(target, &tcb);
	free_facts_find_main_stack(probes);
	state->main_low = probes->main_low;
	state->main_high = probes->main_high;
	state->ledger.log = (struct log *)(uintptr_t)(probes->state_address +
						      offsetof(struct agent_state, log));
	state->ledger.depth = log_config(probes->log).stack_depth;
	state->ledger.sample = log_config(probes->log).sample;
	state->ledger.history = log_config(probes->log).free_history;
	state->self_offset = tcb.self_offset;
	state->tid_offset = tcb.tid_offset;
	state->stack_offset = tcb.stack_offset;
	state->stacks.asks = !probes->seccomp;
	state->map = (const struct walk_map *)(uintptr_t)map;
	state->setting = cache_setting(target->modules.generation, state->ledger.depth);
	state->threads_shift = 64 - (uint32_t)__builtin_ctz(target->region->threads);
	if (tcb.has_self)
		state->threads =
			(struct agent_thread *)(uintptr_t)share_threads_address(target);
	return NULL;
}

static void forget(struct probes *probes)
{
	free(probes->state);
	probes->state = NULL;
	probes->state_address = 0;
	probes->nr_agent_probes = 0;
	vec_clear(&probes->free_entries);
	known_stacks_free(&probes->stacks);
}

struct err *agent_state_make(struct probes *probes, struct remote *remote)
{
	struct err *err;

	probes->state = calloc(1, sizeof(*probes->state));
	if (!probes->state)
		return err_nomem;
	err = patch_map_data(probes->target, remote, sizeof(*probes->state),
			     &probes->state_address, &probes->state_entry);
	if (err) {
		forget(probes);
		return err;
	}
	err = fill(probes, remote);
	if (err) {
		struct err kept, *also;

		err_copy(&kept, err);
		also = agent_state_remove(probes, remote);
		if (also)
			trace_line("undo the agent's state: %s", also->msg);
		err = err_adopt(&kept);
	}
	return err;
}

struct err *agent_state_add_probe(struct probes *probes, struct probe *probe, bool entered,
				  uint64_t *ret)
{
	const struct alloc_function *fn = probe->fn;
	struct agent_probe *entry;

	if (probes->free_entries.nr) {
		probe->agent_index = probes->free_entries.at[--probes->free_entries.nr];
	} else if (probes->nr_agent_probes == AGENT_PROBES) {
		return err_create(ERR_RANGE, "the agent has no room for more than %d functions",
				  AGENT_PROBES);
	} else {
		probe->agent_index = probes->nr_agent_probes++;
	}
	entry = &probes->state->probe[probe->agent_index];
	*entry = (struct agent_probe){
		.state = (const struct agent_state *)(uintptr_t)probes->state_address,
		.address = probe->address,
		.role = fn->role,
		.size = fn->size,
		.count = fn->count,
		.ptr = fn->ptr,
		.call = fn->call,
		.bytes = fn->bytes,
		.ledger = trap_ledger_function(probes, probe, entered),
	};
	entry->fast = (uint8_t)agent_probe_fast(probes->state, entry);
	*ret = probes->state_address + offsetof(struct agent_state, probe) +
	       probe->agent_index * sizeof(*entry);
	return NULL;
}

/*
 * An array that grows is written before the number that bounds it, and all of them before
 * `enabled`.
 */
struct err *agent_state_publish(struct probes *probes)
{
	struct agent_state *state = probes->state;
	uint32_t nr = (uint32_t)MIN(probes->areas.nr, (size_t)AGENT_AREAS);
	uint64_t enabled = state->enabled;
	struct err *err;

	for (uint32_t i = 0; i < nr; i++) {
		const struct area *area = &probes->areas.at[i];

		state->area[i] = (struct agent_range){
			area->address + (area->agent ? AREA_AGENT : 0),
			area->address + area->len,
		};
	}
	if (enabled) {
		err = WRITE_FIELD(probes, area);
		if (!err)
			err = WRITE_FIELD(probes, probe);
	} else {
		err = write_part(probes, 0, sizeof(*state));
	}
	state->nr_areas = nr;
	if (!err)
		err = WRITE_FIELD(probes, nr_areas);
	state->enabled = 1;
	return err ? err : WRITE_FIELD(probes, enabled);
}

struct err *agent_state_tell_facts(struct probes *probes)
{
	if (!probes->state)
		return NULL;
	probes->state->ledger.facts = probes->ledger.facts;
	return WRITE_FIELD(probes, ledger.facts);
}

/* Only one word is written. */
void agent_state_doubt_facts(struct probes *probes)
{
	struct err *err;

	probes->ledger.facts.complete = 0;
	if (!probes->state)
		return;
	probes->state->ledger.facts.complete = 0;
	err = WRITE_FIELD(probes, ledger.facts.complete);
	if (err)
		trace_line("tell the agent that probes are lost: %s", err->msg);
}

struct err *agent_state_tell_provenance(struct probes *probes)
{
	struct agent_state *state = probes->state;
	struct err *err;

	if (!state)
		return NULL;
	state->ledger.history = log_config(probes->log).free_history;
	for (uint32_t i = 0; i < probes->nr_agent_probes; i++)
		state->probe[i].fast = (uint8_t)agent_probe_fast(state, &state->probe[i]);
	err = WRITE_FIELD(probes, ledger.history);
	return err ? err : WRITE_FIELD(probes, probe);
}

/* A reader that sees another turn, or an odd one, does not use the table (agent/agent_stacks.h). */
struct err *agent_state_tell_stacks(struct probes *probes, bool all)
{
	struct agent_stacks *stacks = &probes->state->stacks;
	struct err *err = NULL;

	stacks->turn += all;
	err = WRITE_FIELD(probes, stacks.asks);
	if (!err && all)
		err = WRITE_FIELD(probes, stacks.turn);
	if (!err && all)
		err = write_part(probes, offsetof(struct agent_state, stacks.at),
				 stacks->nr * sizeof(*stacks->at));
	if (!err && all)
		err = WRITE_FIELD(probes, stacks.nr);
	if (!err)
		err = WRITE_FIELD(probes, stacks.until);
	stacks->turn += all;
	return err || !all ? err : WRITE_FIELD(probes, stacks.turn);
}

struct err *agent_state_follow_modules(struct probes *probes, struct remote *remote, bool quiet)
{
	uint64_t map;
	struct err *err = share_modules(probes->target, remote, quiet, &map);

	if (err)
		return err;
	probes->state->map = (const struct walk_map *)(uintptr_t)map;
	probes->state->setting = cache_setting(probes->target->modules.generation,
					       probes->state->ledger.depth);
	err = WRITE_FIELD(probes, map);
	return err ? err : WRITE_FIELD(probes, setting);
}

struct err *agent_state_remove(struct probes *probes, struct remote *remote)
{
	struct err *err, *also;

	if (!probes->state_address)
		return NULL;
	err = probes->state ? share_withdraw(probes->target, remote) : NULL;
	also = patch_unmap(probes->target, remote, probes->state_entry);
	forget(probes);
	return err ? err : also;
}

void agent_state_abandon(struct probes *probes)
{
	struct err *err;

	if (probes->state) {
		probes->state->enabled = 0;
		err = WRITE_FIELD(probes, enabled);
		if (err)
			trace_line("disable the agent: %s", err->msg);
	}
	forget(probes);
}
