/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Handles our traps: finds the probe, and where the thread goes on; and the loader's hook, which
 * reports new modules.
 */

#include <stdio.h>
#include <stdlib.h>

#include "os/tracer.h"
#include "probe/area.h"
#include "probe/trap_ledger.h"
#include "probe/patch_watch.h"
#include "probe/probe_slot.h"
#include "probe/probe.h"
#include "probe/sigtrap.h"
#include "probe/agent_state.h"
#include "tracee/remote.h"
#include "tracee/target.h"

bool breakpoints_is_trap(const struct probes *probes, uint64_t pc)
{
	return map_get(&probes->traps, pc) != NULL;
}

static bool has_work(const struct probes *probes)
{
	return probes_any(probes, PROBE_PLANNED, PROBE_JUMP) ||
	       probes_any(probes, PROBE_PLANNED, PROBE_BREAKPOINT);
}

bool breakpoints_need_tracer(const struct probes *probes)
{
	return probes_any(probes, PROBE_ACTIVE, PROBE_BREAKPOINT);
}

bool breakpoints_use_agent(const struct probes *probes)
{
	return probes->state != NULL;
}

/* Is any probe of this module's left? */
static bool is_needed(const struct module *module, void *ctx)
{
	const struct probes *probes = ctx;

	for (size_t i = 0; i < probes->all.nr; i++)
		if (probes->all.at[i]->module == module)
			return true;
	return false;
}

/* All threads must be stopped to give the new rows to the agent, and to arm new allocators. */
void breakpoints_modules_changed(struct probes *probes)
{
	struct target *target = probes->target;
	struct err *err = target_refresh(target, NULL);
	/* Modules may have been read again since the probes were planned. */
	bool changed = target->modules.generation != probes->planned_generation;

	if (!err && changed) {
		target->gadgets = (struct gadgets){ 0 };
		err = plan_probes(probes);
		if (err && err->code == ERR_NOTFOUND)
			err = NULL;
		probe_slot_forget(probes);
		modules_merge(&target->modules, is_needed, probes);
	}
	/* The end of the target, or an exec, has its own event. */
	if (err && err->code != ERR_GONE && probes->warn)
		probes->warn(probes->ctx, err->msg);
	if (!err && probes->armed && (has_work(probes) || (changed && probes->state)))
		probes->unsettled = true;
}

bool breakpoints_unsettled(const struct probes *probes)
{
	return probes->unsettled;
}

struct err *breakpoints_settle(struct probes *probes)
{
	struct remote *remote;
	struct err *err;

	probes->unsettled = false;
	patch_watch_take_broken(probes);
	err = remote_borrow(probes->target, NULL, &remote);
	if (err)
		return err;
	if (probes->state)
		err = agent_state_follow_modules(probes, remote, !area_has_thread(probes));
	if (!err && has_work(probes))
		err = probes_arm(probes, remote);
	if (!err && probes->facts_changed)
		probes_learn_facts(probes);
	return remote_borrow_give_back(remote, err);
}

/*
 * If PC is behind a trap of ours, that trap was just hit, with one exception: a thread has returned
 * from a stub's trap and, before its next instruction, got a SIGTRAP that a process has sent. Only
 * in that case the origin of the signal is read.
 */
static bool is_instruction_trap(const struct thread *thread)
{
	siginfo_t info;

	return ptrace_siginfo(thread->tid, &info) || info.si_code > 0;
}

/*
 * The ledger gets the registers as at the function's entry. The code where the thread goes on
 * restores the others.
 */
static uint64_t entry(struct probes *probes, struct probe *probe, struct thread *thread)
{
	uint8_t sp_word = thread->target->arch->sp;
	uint64_t sp = regs_get(&thread->regs, sp_word), to;

	regs_set(&thread->regs, sp_word, sp + probe->stays.sp);
	to = trap_ledger_entry(probes, probe, thread);
	regs_set(&thread->regs, sp_word, sp);
	return to;
}

bool breakpoints_trap(struct probes *probes, struct thread *thread)
{
	const struct arch *arch = thread->target->arch;
	uint64_t pc = regs_get(&thread->regs, arch->pc), to;
	struct probe *probe = map_get(&probes->traps, pc);

	if (!probe)
		return false;
	if (!sigtrap_repair(probes, thread))
		return true;
	if (pc == probe->stub_trap)
		return trap_ledger_return(probes, probe, thread) || is_instruction_trap(thread);
	if (probe->fn) {
		to = entry(probes, probe, thread);
	} else {
		/*
		 * The loader has mapped or unmapped modules. The thread is held, and
		 * breakpoints_settle does what there is to do before anything runs on.
		 */
		to = probe->resume;
		breakpoints_modules_changed(probes);
		if (probes->unsettled && probes->target->state == TARGET_RUNNING)
			probes->target->state = TARGET_STOPPING;
	}
	regs_set(&thread->regs, arch->pc, to);
	thread->pc_changed = true;
	return true;
}

void breakpoints_thread_gone(struct probes *probes, struct thread *thread)
{
	trap_ledger_void(probes, thread);
}

void breakpoints_foreign_trap(struct thread *thread)
{
	struct thread_ops *ops = thread->data;

	if (ops)
		ops->lost = true;
}
