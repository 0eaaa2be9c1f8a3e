/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Takes probes out (theory in probe.h): the text first, so that no thread enters our code any more;
 * then the threads run for moments until all have left it; then the rest.
 *
 * All stacks are examined: any thread may have entered a thunk unseen; and a thread may have got a
 * signal while its PC was in a slot, so that the signal's handler returns there.
 *
 * Stacks of gigabytes in all are not read in one stop. A thread that has left our code never comes
 * back, as no text leads there any more, so each look goes on where the last one had no time left:
 * first the threads that were not looked at yet, and only when there are none those that were
 * inside. Only our handler of SIGTRAP is entered without any text (somebody may send that signal).
 * Where that is in, all threads are traced, so the tracer passes the signal on: what is known of the
 * thread that gets it is forgotten (thread_resume).
 */

#include "probe/probe.h"

#include <stdlib.h>

#include "os/tracer.h"
#include "probe/area.h"
#include "probe/trap_ledger.h"
#include "probe/sigtrap.h"
#include "probe/agent_state.h"
#include "tracee/region.h"
#include "tracee/remote.h"
#include "tracee/share.h"
#include "tracee/backtrace.h"
#include "tracee/target.h"
#include "tracee/target_wait.h"

#define DRAIN_NS	3000000000ull	/* the longest wait for threads inside, ... */
#define DRAIN_STEP_NS	1000000ull	/* ... in steps of so long, ... */
#define DRAIN_STEP_MOST	16000000ull	/* ... and then of so long */
#define LOOK_NS		20000000ull	/* the longest look, but for the last of its threads */
#define DRAIN_MOST_NS	30000000000ull	/* the wait, where some were not looked at yet */
#define CALLS_NS	20000000ull	/* ... and, where no thread is, for calls that are counted */

static void restore_text(struct probes *probes)
{
	for (size_t i = probes->all.nr; i-- > 0;) {
		struct probe *probe = probes->all.at[i];
		struct err *err;

		if (probe->state != PROBE_ACTIVE)
			continue;
		err = patch_text_undo(probes->target, probe->text_entry);
		if (err && probes->warn)
			probes->warn(probes->ctx, err->msg);
		probe->state = PROBE_PLANNED;
		probe->overwritten = false;
	}
}

struct inside {
	struct probes *probes;
	struct stack_range range[AGENT_PC_RANGES];
	uint32_t nr;
	uint64_t look_end;
	uint64_t *deadline, most;	/* of the wait */
	uint32_t looked;	/* threads that this look has looked at */
	uint32_t unknown;	/* threads that there was no time for yet */
	uint32_t threads;
	uint64_t calls;		/* that are counted, and have not returned */
	/*
	 * until when they are waited for; 0: no look has yet found such calls without a thread
	 * inside
	 */
	uint64_t calls_end;
};

/* Let the thread return: it goes on at the address in the word at sp, as after `ret`. */
static void return_from(struct thread *thread, uint64_t sp)
{
	const struct arch *arch = thread->target->arch;
	uint64_t ra;

	if (memory_read_u64(&thread->target->mem.memory, sp, &ra))
		return;
	regs_set(&thread->regs, arch->sp, sp + sizeof(uint64_t));
	regs_set(&thread->regs, arch->pc, ra);
}

/*
 * If a thread's PC is on an instruction of ours whose original is known, move it there; otherwise
 * let the thread run. So it does from a stub that must still count the end of its call. It is not single-stepped: signals would have to be blocked for that, and
 * would stay blocked if mdbg were killed meanwhile.
 */
static void move_out(struct probes *probes, struct thread *thread)
{
	const struct arch *arch = probes->target->arch;
	uint64_t pc = regs_get(&thread->regs, arch->pc), sp = regs_get(&thread->regs, arch->sp);
	const struct probe *probe = area_probe(probes, pc);

	if (!probe)
		return;
	for (size_t i = 0; i <= probe->displaced.nr; i++)
		if (pc == probe->prologue + probe->displaced.insn[i].to)
			regs_set(&thread->regs, arch->pc,
				 probe->address + probe->displaced.insn[i].from);
	if (pc == probe->stub || (probe->thunk_at && pc == probe->thunk_at))
		regs_set(&thread->regs, arch->pc, probe->patch);
	else if (pc == probe->stub_entry ||
		 (probe->thunk_at && pc == probe->thunk_at + probe->thunk.entry))
		regs_set(&thread->regs, arch->pc, probe->address);
	/* A stub that has its result, and does not go on to a throwing form, would only return. */
	if (pc == probe->stub_trap && !probe->counted && !(probe->nothrow && !regs_get(&thread->regs, arch->ret)))
		return_from(thread, sp + probe->stub_frame - sizeof(uint64_t));
	if (probe->thunk_at && probe->thunk.ret && pc == probe->thunk_at + probe->thunk.ret)
		return_from(thread, sp);
	thread->regs_changed = true;
	/* Write them at once: mdbg may be killed after the handler or the area is gone. */
	err_ignore(thread_flush_regs(thread));	/* fails only if the thread was killed */
}

static bool is_inside(struct inside *inside, struct thread *thread)
{
	struct probes *probes = inside->probes;
	struct thread_ops *ops = thread->data;
	bool stopped = thread_is_stopped(thread);
	bool has_ops = ops && (ops->nr > 0 || ops->lost);

	if (stopped && area_holds(probes, regs_get(&thread->regs, thread->target->arch->pc)))
		move_out(probes, thread);
	/* It is stuck, perhaps on a page of a slow disk, and will come back to its caller. */
	return (has_ops && !stopped) || stack_use_of_thread(thread, inside->range, inside->nr);
}

/* Look at the threads of which that is known, while there is time. */
static void look_at_those(struct inside *inside, enum thread_inside known)
{
	struct target *target = inside->probes->target;
	struct thread *thread;

	for_each_thread(thread, target) {
		if (thread->inside != known)
			continue;
		if (inside->looked && tracer_now() > inside->look_end)
			return;
		inside->looked++;
		thread->inside = is_inside(inside, thread) ? INSIDE_YES : INSIDE_NO;
	}
}

static void count_threads(struct inside *inside)
{
	struct thread *thread;

	inside->unknown = inside->threads = 0;
	for_each_thread(thread, inside->probes->target) {
		inside->unknown += thread->inside == INSIDE_UNKNOWN;
		inside->threads += thread->inside == INSIDE_YES;
	}
}

static void forget_inside(struct target *target)
{
	struct thread *thread;

	for_each_thread(thread, target)
		thread->inside = INSIDE_UNKNOWN;
}

static void look_at_threads(struct inside *inside)
{
	struct probes *probes = inside->probes;
	struct target *target = probes->target;
	bool whole = !stop_can_move(target, NULL, NULL);

	inside->look_end = whole ? UINT64_MAX : tracer_now() + LOOK_NS;
	inside->looked = 0;
	/* Those that were inside come last: one that stays must not take the time of the others. */
	count_threads(inside);
	if (!inside->unknown)
		look_at_those(inside, INSIDE_YES);
	look_at_those(inside, INSIDE_UNKNOWN);
	stack_use_forget(target);
	count_threads(inside);
}

/* Calls in which no thread is may be suspended for long (tracee/call_count.h). */
static struct err *nobody_inside(void *ctx, bool *done_ret)
{
	struct inside *inside = ctx;
	uint64_t now = tracer_now();

	look_at_threads(inside);
	if (inside->unknown)
		*inside->deadline = MIN(now + DRAIN_NS, inside->most);
	inside->calls = area_calls(inside->probes, &inside->probes->target->mem.bring);
	if (!inside->threads && !inside->unknown && !inside->calls_end)
		inside->calls_end = now + CALLS_NS;
	*done_ret = !inside->threads && !inside->unknown && (!inside->calls || now >= inside->calls_end);
	return NULL;
}

/*
 * Let the target run for moments until no thread is inside, and nobody can come back. Stopped
 * before and after.
 */
static struct err *drain(struct probes *probes, bool *clean)
{
	uint64_t now = tracer_now();
	struct inside inside = { .probes = probes, .most = now + DRAIN_MOST_NS };
	struct target_wait wait = {
		.look = nobody_inside, .ctx = &inside,
		.step = DRAIN_STEP_NS, .step_most = DRAIN_STEP_MOST, .deadline = now + DRAIN_NS,
	};
	struct err *err;

	inside.deadline = &wait.deadline;
	forget_inside(probes->target);
	inside.nr = area_pc_ranges(probes, inside.range);
	err = target_wait(probes->target, &wait, clean);
	probes->calls_left = inside.threads || inside.unknown ? 0 : inside.calls;
	*clean = *clean && !inside.calls;
	return err;
}

/*
 * A thread stays inside. So no-ops replace the traps in the stubs: these would end the process when
 * mdbg is gone.
 */
static void defuse(struct probes *probes)
{
	const struct arch *arch = probes->target->arch;

	vec_each_value(probe, &probes->all) {
		if (probe->slot)
			err_ignore(patch_fill(probes->target,
					      probe->stub_trap - arch->trap_pc_bias, arch->nop,
					      arch->trap_len));
	}
}

static void forget_code(struct probes *probes)
{
	for (size_t i = 0; i < probes->all.nr; i++) {
		probes->all.at[i]->slot = 0;
		probes->all.at[i]->thunk_at = 0;
		probes->all.at[i]->filled = false;
	}
	map_free(&probes->traps, NULL);
	probes->traps = (struct map)MAP_INIT;
	vec_clear(&probes->areas);
	vec_clear(&probes->free_slots);
	area_bound(probes);
	probes->agent = 0;
	probes->agent_written = false;
	probes->armed = false;
}

/* Unmap all that mdbg has mapped. No thread is inside. */
static struct err *unmap_all(struct probes *probes, struct remote *remote)
{
	struct err *err = agent_state_remove(probes, remote);

	for (size_t i = probes->areas.nr; i-- > 0 && !err;) {
		const struct area *area = &probes->areas.at[i];

		err = patch_unmap(probes->target, remote, area->entry);
		if (!err && area->counts)
			err = patch_unmap(probes->target, remote, area->counts_entry);
	}
	return err;
}

/*
 * A thread will still return into a stub or a thunk. The agent is told to let all calls pass; it
 * does not need the log any more, unless it was interrupted in the middle of its work.
 */
static struct err *leave(struct probes *probes, struct remote *remote)
{
	bool quiet = probes->state && !area_has_thread(probes);

	agent_state_abandon(probes);
	return quiet ? share_withdraw(probes->target, remote) : NULL;
}

struct err *probes_disarm(struct probes *probes, bool with_region, bool *left_ret)
{
	struct remote *remote;
	struct thread *thread;
	bool clean = true;
	struct err *err;

	*left_ret = false;
	if (!probes->areas.nr)
		return NULL;
	restore_text(probes);
	err = probes->has_sigaction ? sigtrap_await(probes) : NULL;
	if (!err)
		err = drain(probes, &clean);
	if (err)
		return err;
	for_each_thread(thread, probes->target)
		trap_ledger_void(probes, thread);
	if (!clean)
		defuse(probes);		/* while the handler is still there */
	err = remote_borrow(probes->target, NULL, &remote);
	if (err)
		return err;
	err = sigtrap_remove(probes, remote);
	if (!err)
		err = clean ? unmap_all(probes, remote) : leave(probes, remote);
	else if (clean)
		defuse(probes);
	if (!err && clean && with_region)
		err = region_withdraw(probes->target, remote);
	err = remote_borrow_give_back(remote, err);
	*left_ret = !clean;
	if (!err)
		forget_code(probes);
	return err;
}

static struct err *clean_text(struct probes *probes, struct target *child,
			      const struct journal *journal)
{
	struct err *err = NULL;

	vec_each_value(probe, &probes->all) {
		struct err *also;

		if (probe->state != PROBE_ACTIVE)
			continue;
		also = patch_undo_text_entry(&child->mem, &journal->entry[probe->text_entry]);
		err = err ? err : also;
	}
	return err;
}

struct err *probes_disarm_child(struct probes *probes, struct target *child)
{
	const struct region *region = probes->target->region;
	struct remote *remote;
	struct thread *thread = thread_any_stopped(child);
	struct stack_range range[AGENT_PC_RANGES];
	uint32_t nr = area_pc_ranges(probes, range);
	struct err *err;

	if (!region || !thread)
		return NULL;
	err = clean_text(probes, child, region->journal);
	/*
	 * The child was forked inside an allocator, or by a handler that has interrupted the agent,
	 * or has a copy of a coroutine that is suspended in a probed function: it returns through
	 * our code, so this, the handler, the state and the log must stay.
	 */
	if (err || stack_uses(child, &thread->regs, range, nr) ||
	    area_calls(probes, &child->mem.bring))
		return err;
	err = remote_borrow(child, thread, &remote);
	if (err)
		return err;
	if (probes->has_sigaction)
		err = patch_undo_sigaction_entry(remote,
						 &region->journal->entry[probes->sigaction_entry]);
	for (size_t i = 0; i < probes->areas.nr && !err; i++) {
		const struct area *area = &probes->areas.at[i];

		err = patch_unmap_copy(remote, region, area->entry);
		if (!err && area->counts)
			err = patch_unmap_copy(remote, region, area->counts_entry);
	}
	if (!err && probes->state_address)
		err = patch_unmap_copy(remote, region, probes->state_entry);
	if (!err)
		err = share_withdraw_forked_copy(probes->target, remote);
	if (!err)
		err = region_withdraw_forked_copy(region, remote);
	return remote_borrow_give_back(remote, err);
}
