/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The places of probes (theory in probe_slot.h). */

#include "probe/probe_slot.h"

#include <stdlib.h>
#include <string.h>

#include "agent/state.h"
#include "base/vec.h"
#include "probe/trap_ledger.h"
#include "probe/area.h"
#include "probe/probe.h"
#include "tracee/module.h"
#include "tracee/share.h"
#include "tracee/backtrace.h"
#include "tracee/target.h"

#define LEFT_MANY	64	/* left places from which on they are collected */
#define RANGES		64u	/* that are looked at, at once */

static bool is_dead(const struct probe *probe)
{
	return probe->module->died != UINT32_MAX;
}

static bool is_left(const struct probe *probe)
{
	return probe->slot && is_dead(probe) && probe->state == PROBE_REFUSED;
}

/* Would both probes have the same contents in their place? */
static bool is_same(const struct probe *a, const struct probe *b)
{
	return a->fn == b->fn && a->engine == b->engine && a->address == b->address &&
	       a->patch == b->patch && a->nothrow == b->nothrow &&
	       a->expect_len == b->expect_len && !memcmp(a->expect, b->expect, a->expect_len);
}

static void forget_place(struct probe *probe)
{
	probe->slot = probe->thunk_at = 0;
	probe->filled = false;
}

static void hand_on(struct probes *probes, struct probe *dead, struct probe *heir)
{
	struct thread *thread;

	heir->slot = dead->slot;
	heir->filled = true;
	heir->prologue = dead->prologue;
	heir->resume = dead->resume;
	heir->stub = dead->stub;
	heir->stub_entry = dead->stub_entry;
	heir->stub_trap = dead->stub_trap;
	heir->stub_frame = dead->stub_frame;
	heir->agent_index = dead->agent_index;
	heir->thunk_at = dead->thunk_at;
	heir->displaced = dead->displaced;
	heir->thunk = dead->thunk;
	/* The entry exists already and is replaced, which cannot fail. */
	if (map_get(&probes->traps, dead->stub_trap) == dead)
		err_ignore(map_put(&probes->traps, dead->stub_trap, heir));
	/* Calls that traced threads have under way become those of the new probe. */
	for_each_thread(thread, probes->target) {
		struct thread_ops *ops = thread->data;

		for (unsigned i = 0; ops && i < ops->nr; i++)
			if (ops->call[i].probe == dead)
				ops->call[i].probe = heir;
		for (unsigned i = 0; ops && i < ops->ledger.nr_ops; i++)
			if (ops->ledger.op[i].function == &dead->ledger)
				ops->ledger.op[i].function = &heir->ledger;
	}
	forget_place(dead);
}

void probe_slot_inherit(struct probes *probes, struct probe *probe)
{
	for (size_t i = probes->all.nr; i-- > 0;) {
		struct probe *dead = probes->all.at[i];

		if (is_left(dead) && dead->filled && is_same(dead, probe)) {
			hand_on(probes, dead, probe);
			return;
		}
	}
}

struct collection {
	struct probes *probes;
	struct probe *probe[AGENT_PROBES];	/* that have left a place, by slot */
	bool used[AGENT_PROBES];		/* a thread may still need it */
	size_t nr;
	struct stack_range range[RANGES];	/* of their slots */
	uint32_t nr_ranges;
	uint64_t in_use;			/* a bit for each range that somebody may be in */
};

_Static_assert(RANGES <= 64, "a bit for each range");

COMPARE_BY(by_slot, struct probe *, x, (*x)->slot)

/* Slots side by side are one range. If no range is left, the other slots wait. */
static void make_ranges(struct collection *collection)
{
	struct stack_range *last = NULL;

	for (size_t i = 0; i < collection->nr; i++) {
		uint64_t slot = collection->probe[i]->slot;

		if (!last || last->end != slot) {
			if (collection->nr_ranges == RANGES) {
				collection->nr = i;
				return;
			}
			last = &collection->range[collection->nr_ranges++];
			last->start = slot;
		}
		last->end = slot + AGENT_SLOT;
	}
}

static void look_at_thread(struct thread *thread, const struct stack_top *top UNUSED, void *ctx)
{
	struct collection *collection = ctx;
	const struct thread_ops *ops = thread->data;

	if (stack_use_of_thread(thread, collection->range, collection->nr_ranges))
		for (uint32_t i = 0; i < collection->nr_ranges; i++)
			if (stack_use_of_thread(thread, &collection->range[i], 1))
				collection->in_use |= 1ull << i;
	for (unsigned i = 0; ops && i < ops->nr; i++)
		for (size_t k = 0; k < collection->nr; k++)
			collection->used[k] |= ops->call[i].probe == collection->probe[k];
}

/* Look at one of the agent's threads, which may have ended. */
static void look_at_agent_ops(struct agent_thread *thread, void *ctx)
{
	struct collection *collection = ctx;
	uint64_t table = collection->probes->state_address + offsetof(struct agent_state, probe);

	uint32_t nr = MIN(__atomic_load_n(&thread->ledger.nr_ops, __ATOMIC_ACQUIRE),
			  (uint32_t)LEDGER_OPS);

	for (uint32_t i = 0; i < nr; i++) {
		uint64_t index = ((uintptr_t)thread->ledger.op[i].function - table) /
				 sizeof(struct agent_probe);

		for (size_t k = 0; k < collection->nr; k++)
			collection->used[k] |= collection->probe[k]->thunk_at &&
					       collection->probe[k]->agent_index == index;
	}
}

static bool in_ranges_in_use(const struct collection *collection, uint64_t slot)
{
	for (uint32_t i = 0; i < collection->nr_ranges; i++)
		if (slot >= collection->range[i].start && slot < collection->range[i].end)
			return collection->in_use >> i & 1;
	return true;
}

static void remove_trap(struct probes *probes, uint64_t pc, const struct probe *probe)
{
	if (map_get(&probes->traps, pc) == probe)
		map_remove(&probes->traps, pc);
}

/* If there is no memory to note it, the place stays unused until everything is taken out. */
static void set_free(struct probes *probes, struct probe *probe)
{
	const struct arch *arch = probes->target->arch;

	remove_trap(probes, probe->patch + arch->trap_pc_bias, probe);
	if (probe->filled)
		remove_trap(probes, probe->stub_trap, probe);
	err_ignore(vec_push(&probes->free_slots, probe->slot));
	if (probe->thunk_at)
		err_ignore(vec_push(&probes->free_entries, probe->agent_index));
	forget_place(probe);
}

static void collect(struct collection *collection)
{
	struct probes *probes = collection->probes;

	vec_each_value(probe, &probes->all)
		if (is_left(probe) && collection->nr < AGENT_PROBES &&
		    !(probe->counted && area_calls(probes, &probes->target->mem.bring)))
			collection->probe[collection->nr++] = probe;
	qsort(collection->probe, collection->nr, sizeof(collection->probe[0]), by_slot);
	make_ranges(collection);
	backtrace_each_top(probes->target, look_at_thread, collection);
	if (probes->state)
		share_each_thread(probes->target->region, look_at_agent_ops, collection);
	for (size_t i = 0; i < collection->nr; i++)
		if (!collection->used[i] &&
		    !in_ranges_in_use(collection, collection->probe[i]->slot))
			set_free(probes, collection->probe[i]);
}

struct count {
	size_t wanted, left;
};

static struct count count_places(const struct probes *probes)
{
	struct count count = { 0 };

	vec_each_value(probe, &probes->all) {
		count.wanted += probe->state == PROBE_PLANNED && !probe->slot;
		count.left += is_left(probe);
	}
	return count;
}

void probe_slot_collect(struct probes *probes)
{
	struct count count = count_places(probes);
	size_t entries = AGENT_PROBES - probes->nr_agent_probes + probes->free_entries.nr;
	struct collection *collection;

	/* More slots can be made as long as there is room for areas. */
	if (!count.left || !count.wanted ||
	    (count.left < LEFT_MANY + 2 * probes->left_before && count.wanted <= entries &&
	     probes->areas.nr < AGENT_AREAS))
		return;
	collection = calloc(1, sizeof(*collection));
	if (!collection)
		return;
	collection->probes = probes;
	collect(collection);
	probes->left_before = count_places(probes).left;
	free(collection);
}

bool probe_slot_came_again(const struct probes *probes, size_t i)
{
	const struct probe *probe = probes->all.at[i];

	if (!is_dead(probe))
		return false;
	for (size_t j = i + 1; j < probes->all.nr; j++)
		if (probes->all.at[j]->fn == probe->fn &&
		    !strcmp(probes->all.at[j]->module->path, probe->module->path))
			return true;
	return false;
}

/*
 * Stacks begin with its address: either another probe at this address has the name, or the name is
 * kept.
 */
static struct err *keep_name(struct probes *probes, const struct probe *probe)
{
	struct past_entry entry = { probe->address, probe->fn ? probe->fn->name : NULL };

	for (size_t i = 0; i < probes->all.nr; i++)
		if (probes->all.at[i] != probe && probes->all.at[i]->address == probe->address &&
		    probes->all.at[i]->fn == probe->fn)
			return NULL;
	return probe->fn ? vec_push(&probes->past_entries, entry) : NULL;
}

void probe_slot_forget(struct probes *probes)
{
	for (size_t i = probes->all.nr; i-- > 0;) {
		struct probe *probe = probes->all.at[i];

		if (probe->state != PROBE_REFUSED || probe->slot || probe->gone ||
		    !probe_slot_came_again(probes, i) || keep_name(probes, probe))
			continue;
		vec_remove(&probes->all, i);
		probes->look_next -= i < probes->look_next;
		free(probe);
	}
}
