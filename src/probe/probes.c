/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Puts probes in (theory in probe.h). */

#include "probe/probe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/state.h"
#include "agent_offsets.h"
#include "base/path.h"
#include "base/trace.h"
#include "probe/area.h"
#include "probe/evacuate.h"
#include "probe/trap_ledger.h"
#include "probe/patch_watch.h"
#include "probe/probe_slot.h"
#include "probe/sigtrap.h"
#include "probe/agent_state.h"
#include "probe/free_facts.h"
#include "tracee/module.h"
#include "tracee/remote.h"
#include "tracee/target.h"

struct err *probes_create(struct target *target, struct log *log, struct probes **ret)
{
	struct probes *probes = calloc(1, sizeof(*probes));

	if (!probes)
		return err_nomem;
	probes->target = target;
	probes->log = log;
	probes->plain_free = alloc_function_find("free");
	probes->walk_area = (struct walk_area){ .translate = area_translate, .ctx = probes };
	*ret = probes;
	return NULL;
}

void probes_destroy(struct probes *probes)
{
	struct thread *thread;

	if (!probes)
		return;
	for_each_thread(thread, probes->target)
		trap_ledger_void(probes, thread);
	sigtrap_forget(probes);
	for (size_t i = 0; i < probes->all.nr; i++)
		free(probes->all.at[i]);
	vec_free(&probes->all);
	vec_free(&probes->areas);
	vec_free(&probes->free_slots);
	vec_free(&probes->free_entries);
	vec_free(&probes->past_entries);
	vec_free(&probes->lost);
	procparse_maps_free(&probes->maps);
	map_free(&probes->traps, NULL);
	free(probes->state);
	free(probes);
}

/* Where its slot has the address of the count; 0: its calls are not counted. */
static uint64_t counts_word(const struct probe *probe)
{
	return probe->counted ? probe->slot + offsetof(struct agent_slot, counts) : 0;
}

/* Make displaced prologue and stub for the place where they will run. */
static struct err *build_code(const struct probes *probes, struct probe *probe, uint8_t *slot)
{
	const struct arch *arch = probes->target->arch;
	struct agent_slot *head = (struct agent_slot *)slot;
	struct stub_spec spec = {
		.at = probe->slot + AGENT_SLOT_STUB,
		.undo = probe->stays.sp,
		.call = probe->prologue,
		.counts = counts_word(probe),
	};
	struct stub *stub = &probe->made;
	struct err *err;

	err = arch->displace(probe->expect, probe->expect_len, probe->address, probe->prologue,
			     probe->stays.len +
				     (probe->engine == PROBE_JUMP ? arch->jump_len : arch->trap_len),
			     &probe->displaced);
	if (err)
		return err;
	probe->resume = probe->prologue + probe->displaced.insn[probe->stays.len ? 1 : 0].to;
	memcpy(slot + AGENT_SLOT_DISPLACED, probe->displaced.code, probe->displaced.len);
	if (probe->nothrow) {
		spec.call = probe->nothrow;
		spec.retry = probe->prologue;
		/* nothrow_t has no content, so any address will do */
		spec.nothrow = probe->slot;
		spec.nr_args = probe->fn->nr_args;
	}
	err = arch->stub(&spec, stub);
	if (err)
		return err;
	memcpy(slot + AGENT_SLOT_STUB, stub->code, stub->len);
	head->stub_cfa = (uint32_t)stub->frame;
	head->counts = area_counts(probes, probe->slot);
	head->mark = agent_slot_mark(probe->address, probe->stays.sp);
	probe->stub = spec.at;
	probe->stub_entry = spec.at + stub->entry;
	probe->stub_trap = spec.at + stub->trap + arch->trap_pc_bias;
	probe->stub_frame = (uint32_t)stub->frame;
	return NULL;
}

/*
 * May this function get its block from another probed one? Not malloc and calloc of glibc if there
 * are no hooks, which is so since 2.34 (its file has this name since then), nor those of jemalloc.
 * (glibc's memalign does: it calls malloc if the alignment is malloc's.)
 */
static bool may_lead_on(const struct probe *probe)
{
	static const char *const alone[] = { "libc.so.6", "libjemalloc.so.2" };
	const char *name = probe->fn->name, *file = path_base(probe->module->path);

	if (probe->fn->user || (strcmp(name, "malloc") && strcmp(name, "calloc")))
		return true;
	for (unsigned i = 0; i < ARRAY_SIZE(alone); i++)
		if (!strcmp(file, alone[i]))
			return false;
	return true;
}

static enum thunk_kind thunk_kind(const struct probes *probes, const struct probe *probe)
{
	if (probe->fn->role == ALLOC_FREE)
		return probe->fn->call == USER_CALL_CHAIN ? THUNK_ENTER : THUNK_FREE;
	if (probe->fn->role == ALLOC_GROWTH)
		return THUNK_ENTER;
	if (probe->nothrow || probe->fn->role == ALLOC_RESIZE ||
	    (probes->state->ledger.sample && may_lead_on(probe)))
		return THUNK_ENTER;
	return THUNK_NEW;
}

static struct err *build_thunk(struct probes *probes, struct probe *probe, uint8_t *slot)
{
	struct agent_slot *head = (struct agent_slot *)slot;
	struct thunk_spec spec = {
		.kind = thunk_kind(probes, probe),
		.at = probe->slot + AGENT_SLOT_THUNK,
		.undo = probe->stays.sp,
		.displaced = probe->prologue,
		.enter = probes->agent + AGENT_ENTER,
		.leave = probes->agent + AGENT_LEAVE,
		.release = probes->agent + AGENT_RELEASE,
		.unknown = probes->agent + AGENT_UNKNOWN_FREE,
		.ptr_arg = probe->fn->role == ALLOC_FREE ? (uint8_t)probe->fn->ptr : 0,
		.nothrow_call = probe->nothrow,
		.nothrow = probe->slot,
		.nr_args = probe->fn->nr_args,
		.args = (uint8_t)alloc_function_arguments(probe->fn),
		.changed = probe->changed,
		.counts = counts_word(probe),
	};
	struct err *err;

	if (probe_is_growth(probe)) {
		spec.enter = probes->agent + AGENT_GROWTH_ENTER;
		spec.leave = probes->agent + AGENT_GROWTH_LEAVE;
		spec.wide = true;
	}
	if (probe->nothrow && !probes->state->threads)
		return err_create(ERR_UNSUPPORTED,
				  "it throws, and threads of this program cannot be told apart");
	err = agent_state_add_probe(probes, probe, spec.kind == THUNK_ENTER, &spec.probe);
	if (!err)
		err = probes->target->arch->thunk(&spec, &probe->thunk);
	if (err)
		return err;
	memcpy(slot + AGENT_SLOT_THUNK, probe->thunk.code, probe->thunk.len);
	head->thunk_cfa = (uint32_t)probe->thunk.call_cfa;
	probe->thunk_at = spec.at;
	return NULL;
}

/* Make the slot's content; a jump that is not possible may become a breakpoint. */
static void fill(struct probes *probes, struct probe *probe)
{
	uint8_t slot[AGENT_SLOT] __attribute__((aligned(8)));
	struct err *err;

	memset(slot, probes->target->arch->trap[0], sizeof(slot));
	memset(slot, 0, sizeof(struct agent_slot));
	err = build_code(probes, probe, slot);
	if (!err && probe->engine == PROBE_JUMP) {
		err = build_thunk(probes, probe, slot);
		if (err)
			choose_no_jump(probes, probe, err->msg);
		err = NULL;
	} else if (err && probe->engine == PROBE_JUMP) {
		choose_no_jump(probes, probe, err->msg);
		err = probe->state == PROBE_PLANNED ? build_code(probes, probe, slot) : NULL;
	}
	if (!err && probe->state == PROBE_PLANNED)
		err = patch_fill(probes->target, probe->slot, slot, sizeof(slot));
	if (err)
		choose_refuse(probe, err->msg, err->hint);
}

struct err *probes_add_traps(struct probes *probes, struct probe *probe)
{
	/*
	 * If a probe was taken out alone, its traps have stayed for threads that were on their way.
	 */
	struct err *err = map_put(&probes->traps,
				  probe->patch + probes->target->arch->trap_pc_bias, probe);

	return err ? err : map_put(&probes->traps, probe->stub_trap, probe);
}

static struct err *put_in(struct probes *probes, struct probe *probe)
{
	const struct arch *arch = probes->target->arch;
	bool jump = probe->engine == PROBE_JUMP;
	uint8_t bytes[JOURNAL_BYTES];
	size_t len = arch->trap_len;
	struct err *err;

	memcpy(bytes, arch->trap, len);
	err = jump ? arch->jump(probe->patch, probe->thunk_at, bytes, &len) :
		     probes_add_traps(probes, probe);
	if (!err)
		err = patch_text(probes->target, probe->patch, probe_original(probe), bytes, len,
				 &probe->text_entry);
	if (err && !jump) {
		map_remove(&probes->traps, probe->patch + arch->trap_pc_bias);
		map_remove(&probes->traps, probe->stub_trap);
	}
	if (err)
		return err;
	memcpy(probe->put, bytes, len);
	probe->put_len = (uint32_t)len;
	probe->overwritten = false;
	probe->state = PROBE_ACTIVE;
	return NULL;
}

bool probes_any(const struct probes *probes, enum probe_state state, enum probe_engine engine)
{
	vec_each_value(probe, &probes->all)
		if (probe->state == state && probe->engine == engine)
			return true;
	return false;
}

/* If this target cannot have the agent's state, no function gets a jump. */
static struct err *need_state(struct probes *probes, struct remote *remote)
{
	struct err *err;

	if (probes->state || !probes_any(probes, PROBE_PLANNED, PROBE_JUMP))
		return NULL;
	err = agent_state_make(probes, remote);
	if (!err || err->code == ERR_GONE)
		return err;
	vec_each_value(probe, &probes->all) {
		if (probe->state != PROBE_PLANNED || probe->engine != PROBE_JUMP)
			continue;
		choose_no_jump(probes, probe, err->msg);
		snprintf(probe->hint, sizeof(probe->hint), "%.159s", err->hint);
	}
	return NULL;
}

/* Are remote calls needed, for areas, state or log? */
struct err *probes_prepare(struct probes *probes, struct remote *remote)
{
	struct err *err;

	probe_slot_collect(probes);
	vec_each_value(probe, &probes->all) {
		struct err *refused;

		if (probe->state != PROBE_PLANNED || probe->slot)
			continue;
		refused = area_slot(probes, probe, remote, &probe->slot);
		probe->prologue = probe->slot + AGENT_SLOT_DISPLACED;
		if (refused)
			choose_refuse(probe, refused->msg, refused->hint);
	}
	area_bound(probes);
	err = NULL;
	if (agent_image_len > AREA_AGENT)
		err = err_create(ERR_RANGE, "the agent has no room");
	else if (probes->agent && !probes->agent_written)
		err = patch_fill(probes->target, probes->agent, agent_image, agent_image_len);
	probes->agent_written = probes->agent && !err;
	if (!err)
		err = need_state(probes, remote);
	procparse_maps_free(&probes->maps);
	return err;
}

struct err *probes_fill(struct probes *probes)
{
	bool any = false;

	vec_each_value(probe, &probes->all) {
		if (probe->state != PROBE_PLANNED || !probe->slot || probe->filled)
			continue;
		fill(probes, probe);
		probe->filled = any = true;
	}
	return probes->state && any ? agent_state_publish(probes) : NULL;
}

/* Call fn with remote; if that is NULL, borrow a thread for it. */
static struct err *borrowed(struct probes *probes, struct remote *remote,
			    struct err *(*fn)(struct probes *probes, struct remote *remote))
{
	struct remote *own;
	struct err *err;

	if (remote)
		return fn(probes, remote);
	err = remote_borrow(probes->target, NULL, &own);
	return err ? err : remote_borrow_give_back(own, fn(probes, own));
}

static struct err *get_ready(struct probes *probes, struct remote *remote)
{
	bool prepared = true;
	struct err *err = NULL;

	vec_each_value(probe, &probes->all)
		prepared &= probe->state != PROBE_PLANNED || probe->slot;
	if (!remote && !probes->has_sigaction &&
	    probes_any(probes, PROBE_PLANNED, PROBE_BREAKPOINT))
		err = sigtrap_await(probes);
	if (!err && !prepared)
		err = borrowed(probes, remote, probes_prepare);
	if (!err)
		err = probes_fill(probes);
	if (err)
		return err;
	if (probes_any(probes, PROBE_PLANNED, PROBE_JUMP))
		evacuate(probes, remote ? remote->thread : NULL);
	if (!probes_any(probes, PROBE_PLANNED, PROBE_BREAKPOINT))
		return NULL;
	return borrowed(probes, remote, sigtrap_install);
}

void probes_learn_facts(struct probes *probes)
{
	struct err *err;

	free_facts_learn(probes);
	err = agent_state_tell_facts(probes);
	if (err)
		trace_line("tell the agent what is known of frees: %s", err->msg);
	log_note_gap(probes->log);
	if (!probes->looked)
		probes->looked = log_now();
	probes->facts_changed = false;
}

struct err *probes_arm(struct probes *probes, struct remote *remote)
{
	uint32_t active = 0;
	struct err *err;

	/* The modules may have been read again since the probes were planned. */
	patch_watch_forget(probes);
	err = get_ready(probes, remote);
	if (err)
		return err;
	log_set_near_size(probes->log, probes->near_size);
	vec_each_value(probe, &probes->all) {
		err = probe->state == PROBE_PLANNED ? put_in(probes, probe) : NULL;
		if (err)
			choose_refuse(probe, err->msg, err->hint);
		active += probe->state == PROBE_ACTIVE && probe_of_allocator(probe);
	}
	if (!active)
		return err_hint(
			err_create(ERR_UNSUPPORTED,
				   "no function of an allocator in process %d can be probed",
				   probes->target->pid),
			"`malloc -v` says why, function by function");
	/* Probes that were refused just now count, too. */
	probes_learn_facts(probes);
	probes->armed = true;
	return NULL;
}
