/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Executable memory of ours in the target. */

#include "probe/area.h"

#include <inttypes.h>
#include <string.h>

#include "agent/agent.h"
#include "arch/arch.h"
#include "base/page.h"
#include "probe/probe.h"
#include "tracee/call_count.h"
#include "tracee/module.h"
#include "tracee/remote.h"
#include "tracee/target.h"

#define REACH		(0x7f000000ull)	/* a little less than a rel32 */
#define LOWEST		0x10000ull	/* vm.mmap_min_addr's default */
#define GUARD		(16 * PAGE)	/* kept free between an area and its neighbours */
#define HEAP_ROOM	(1ull << 37)	/* kept free above the heap */
/* Kept free below the stack: the kernel leaves the stack at least 128 MiB, whatever its limit. */
#define STACK_ROOM	(120ull << 20)

static bool in_reach(uint64_t area, uint64_t len, uint64_t start, uint64_t end)
{
	uint64_t low = MIN(area, start), high = MAX(area + len, end);

	return high - low < REACH;
}

/* The heap grows up from its mapping, the stack down. */
static uint64_t high_end(const struct proc_map *above)
{
	uint64_t room = strcmp(above->path, "[stack]") ? GUARD : STACK_ROOM;

	return above->start > room ? above->start - room : 0;
}

static uint64_t low_end(const struct proc_map *below)
{
	if (!below)
		return LOWEST;
	return below->end + (strcmp(below->path, "[heap]") ? GUARD : HEAP_ROOM);
}

/*
 * Take the nearest gap below the module; the kernel places later mappings below ours. If there is
 * none in reach (the stacks of 300 threads may fill it), take the nearest gap above.
 */
uint64_t area_place(const struct proc_maps *maps, uint64_t start, uint64_t end, uint64_t len)
{
	uint64_t best = 0, best_distance = UINT64_MAX;

	for (size_t i = 0; i <= maps->vec.nr; i++) {
		const struct proc_map *below = i ? &maps->vec.at[i - 1] : NULL;
		const struct proc_map *above = i < maps->vec.nr ? &maps->vec.at[i] : NULL;
		uint64_t low = low_end(below), at, distance;

		if (!above || high_end(above) < low + len)
			continue;
		if (above->start <= start) {	/* at the top of the gap */
			at = high_end(above) - len;
			distance = start - at;
		} else {			/* at the bottom */
			at = low;
			distance = at - start + REACH;
		}
		if (distance < best_distance && in_reach(at, len, start, end)) {
			best = at;
			best_distance = distance;
		}
	}
	return best;
}

static struct err *map_near(struct probes *probes, const struct module *module,
			    struct remote *remote, struct area *area)
{
	/* with a page for a count behind it */
	area->address = area_place(&probes->maps, module->start, module->end,
				   area->len + COUNT_BYTES);
	if (!area->address)
		return err_create(ERR_UNSUPPORTED, "no free memory within 2 GiB of the module");
	return patch_map(probes->target, remote, area->address, area->len,
			 probes->agent ? 0 : JOURNAL_AREA_AGENT, &area->entry);
}

/* If a mapping that is newer than the maps is in the way, the maps are read again. */
static struct err *map_area(struct probes *probes, const struct module *module,
			    struct remote *remote, struct area **ret)
{
	bool was_read = probes->maps.vec.nr > 0;
	struct area area = { .len = AREA_LEN };
	struct err *err = vec_reserve(&probes->areas, 1);

	if (!err && probes->areas.nr == AGENT_AREAS)
		err = err_create(ERR_RANGE, "there are %d areas for probes already", AGENT_AREAS);
	if (err)
		return err;
	if (was_read)
		err = map_near(probes, module, remote, &area);
	if (!was_read || (err && err->code != ERR_GONE)) {
		err = area_read_maps(probes);
		if (!err)
			err = map_near(probes, module, remote, &area);
	}
	if (err)
		return err;
	if (!probes->agent) {
		area.agent = true;
		area.used = AREA_AGENT;
		probes->agent = area.address;
	}
	probes->areas.at[probes->areas.nr++] = area;
	*ret = &probes->areas.at[probes->areas.nr - 1];
	return NULL;
}

struct err *area_read_maps(struct probes *probes)
{
	procparse_maps_free(&probes->maps);
	return procfs_maps(probes->target->mem.tid, &probes->maps);
}

/* Can calls be counted in this area, from now on at the latest? */
static struct err *need_counts(struct probes *probes, struct area *area, struct remote *remote)
{
	uint64_t at = area->address + area->len;
	struct err *err;

	if (area->counts)
		return NULL;
	err = patch_map_counts(probes->target, remote, at, area->entry, &area->counts_entry);
	if (!err)
		area->counts = at;
	return err;
}

/* Can the area that has this slot count the calls of probe? Not if the page behind it is taken. */
static bool counts_for(struct probes *probes, const struct probe *probe, uint64_t slot,
		       struct remote *remote)
{
	vec_each(area, &probes->areas)
		if (slot - area->address < area->len)
			return !probe->counted || !need_counts(probes, area, remote);
	return false;
}

struct err *area_slot(struct probes *probes, struct probe *probe, struct remote *remote,
		      uint64_t *ret)
{
	const struct module *module = probe->module;
	struct area *area = NULL;

	for (size_t i = probes->free_slots.nr; i-- > 0;) {
		uint64_t slot = probes->free_slots.at[i];

		if (!in_reach(slot, AGENT_SLOT, module->start, module->end) ||
		    !counts_for(probes, probe, slot, remote))
			continue;
		vec_remove(&probes->free_slots, i);
		*ret = slot;
		return NULL;
	}
	for (size_t i = 0; i < probes->areas.nr && !area; i++) {
		struct area *have = &probes->areas.at[i];

		if (have->used + AGENT_SLOT <= have->len &&
		    in_reach(have->address, have->len, module->start, module->end) &&
		    counts_for(probes, probe, have->address, remote))
			area = have;
	}
	if (!area) {
		struct err *err = map_area(probes, module, remote, &area);

		if (!err && probe->counted)
			err = need_counts(probes, area, remote);
		if (err)
			return err;
	}
	*ret = area->address + area->used;
	area->used += AGENT_SLOT;
	return NULL;
}

bool area_holds(const struct probes *probes, uint64_t address)
{
	vec_each(area, &probes->areas)
		if (address - area->address < area->len)
			return true;
	return false;
}

uint64_t area_counts(const struct probes *probes, uint64_t slot)
{
	vec_each(area, &probes->areas)
		if (slot - area->address < area->len)
			return area->counts;
	return 0;
}

uint64_t area_calls(const struct probes *probes, struct memory *memory)
{
	uint64_t calls = 0;

	vec_each(area, &probes->areas)
		calls += call_count(memory, area->counts);
	return calls;
}

void area_bound(struct probes *probes)
{
	probes->walk_area.start = probes->areas.nr ? UINT64_MAX : 0;
	probes->walk_area.end = 0;
	vec_each(area, &probes->areas) {
		probes->walk_area.start = MIN(probes->walk_area.start, area->address);
		probes->walk_area.end = MAX(probes->walk_area.end, area->address + area->len);
	}
}

struct probe *area_probe(const struct probes *probes, uint64_t address)
{
	vec_each_value(probe, &probes->all)
		if (probe->slot && address - probe->slot < AGENT_SLOT)
			return probe;
	return NULL;
}

/* Returns the address of the original of a displaced instruction. */
static uint64_t original(const struct probe *probe, uint64_t pc)
{
	uint64_t offset = pc - probe->prologue;

	for (size_t i = probe->displaced.nr + 1; i-- > 0;)
		if (offset >= probe->displaced.insn[i].to)
			return probe->address + probe->displaced.insn[i].from;
	return probe->address;
}

bool area_translate(void *ctx, uint64_t *pc, int32_t *cfa_offset)
{
	struct probes *probes = ctx;
	const struct probe *probe;

	/* The range of all areas has the modules between them in it. */
	if (!area_holds(probes, *pc))
		return true;
	*cfa_offset = 8;
	probe = area_probe(probes, *pc);
	if (!probe)
		return false;
	if (*pc < probe->slot + AGENT_SLOT_THUNK) {
		*pc = original(probe, *pc);
		return true;
	}
	if (*pc >= probe->stub)
		*cfa_offset = (int32_t)probes->target->arch->stub_cfa(&probe->made,
								      *pc - probe->stub);
	else if (probe->thunk_at)
		*cfa_offset = (int32_t)probes->target->arch->thunk_cfa(&probe->thunk,
								       *pc - probe->thunk_at);
	return false;
}

/* Is pc just behind a thunk's call of the agent? */
static bool is_agent_return(void *ctx, uint64_t pc)
{
	const struct probe *probe = area_probe(ctx, pc);
	uint64_t offset;

	if (!probe || !probe->thunk_at || pc <= probe->thunk_at)
		return false;
	offset = pc - probe->thunk_at;
	return offset == probe->thunk.enter_ret || offset == probe->thunk.leave_ret ||
	       offset == probe->thunk.release_ret || offset == probe->thunk.unknown_free_ret;
}

/*
 * A thunk that makes a frame for the agent keeps in it the registers that the agent's C code may
 * change.
 */
void area_walk_regs(struct probes *probes, struct memory *memory, const struct regs *regs,
		    struct regs *ret)
{
	struct target *target = probes->target;
	const struct arch *arch = target->arch;
	uint64_t pc = regs_get(regs, arch->pc), at;
	const struct probe *probe;
	struct agent_frame frame;

	*ret = *regs;
	if (!probes->agent || pc - probes->agent >= AREA_AGENT)
		return;
	at = stack_use_thunk_frame(target, memory, regs_get(regs, arch->sp), is_agent_return,
				   probes);
	if (!at || memory_read_u64(memory, at, &pc))
		return;
	/*
	 * Check the word, since it was read anew: a thread that cannot be stopped may have written
	 * there.
	 */
	probe = area_probe(probes, pc);
	if (!probe)
		return;
	regs_set(ret, arch->pc, pc);
	regs_set(ret, arch->sp, at + sizeof(uint64_t));
	if (probe->fn->role != ALLOC_FREE &&
	    !memory_read(memory, at + sizeof(uint64_t), &frame, sizeof(frame)))
		regs_set(ret, arch->fp, frame.bp);
}

uint32_t area_pc_ranges(const struct probes *probes, struct stack_range range[AGENT_PC_RANGES])
{
	uint32_t nr = 0;

	vec_each(area, &probes->areas) {
		uint64_t start = area->address;

		if (area->agent) {
			range[nr++] = (struct stack_range){ start, start + AREA_AGENT, true };
			start += AREA_AGENT;
		}
		range[nr++] = (struct stack_range){ start, area->address + area->len, false };
	}
	return nr;
}

struct look {
	struct stack_range range;
	bool found;
};

static void look(struct thread *thread, const struct stack_top *top UNUSED, void *ctx)
{
	struct look *at = ctx;

	at->found = at->found || stack_use_of_thread(thread, &at->range, 1);
}

bool area_has_thread(struct probes *probes)
{
	struct look at = { .range = { probes->agent, probes->agent + agent_image_len, true } };

	backtrace_each_top(probes->target, look, &at);
	return at.found;
}

_Static_assert(AGENT_SLOT_THUNK - AGENT_SLOT_DISPLACED >= DISPLACED_MAX, "displaced prologue");
_Static_assert(AGENT_SLOT_STUB - AGENT_SLOT_THUNK >= THUNK_MAX, "thunk");
_Static_assert(AGENT_SLOT - AGENT_SLOT_STUB >= STUB_MAX, "stub");
_Static_assert(AREA_AGENT % AGENT_SLOT == 0, "slots lie at multiples of their size");
_Static_assert(AGENT_SLOT_DISPLACED >= sizeof(struct agent_slot), "head of a slot");
