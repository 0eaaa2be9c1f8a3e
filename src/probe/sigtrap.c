/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The target's SIGTRAP while breakpoints are in place (theory in sigtrap.h). */

#include "probe/sigtrap.h"

#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "agent_offsets.h"
#include "base/cleanup.h"
#include "base/trace.h"
#include "base/vec.h"
#include "os/memory_limits.h"
#include "os/procfs.h"
#include "os/robust.h"
#include "os/tracer.h"
#include "probe/area.h"
#include "probe/probe.h"
#include "tracee/region.h"
#include "tracee/remote.h"
#include "tracee/target.h"
#include "tracee/target_wait.h"

#define TRAPS_CLOSE	16
#define TRAPS_EVERY	16
#define CHECK_EVERY	256
#define LOOK_AT		2	/* threads, with each poll: 80 us */
#define AWAIT_NS	3000000000ull
#define AWAIT_STEP_NS	1000000ull
#define SIGTRAP_BIT	(1ull << (SIGTRAP - 1))
#define SIGNALS_ALL	0xfffffffe7ffbfeffull	/* all that sigfillset and sigprocmask can block */

COMPARE_BY(by_pc, struct agent_trap, x, x->pc)

/*
 * The handler's way to change a mapping leaves it as it was only if it is private, of a file, and
 * r-x.
 */
static bool is_text(const struct proc_map *map)
{
	return map && map->read && map->exec && !map->write && !map->shared && map->inode;
}

/* The number of the mapping that contains address; it is added if it is new. */
static uint32_t number_text(const struct proc_maps *maps, uint64_t address,
			    struct agent_range *text, uint32_t *nr)
{
	const struct proc_map *map = procparse_maps_find(maps, address);

	if (!is_text(map))
		return AGENT_NO_TEXT;
	for (uint32_t i = 0; i < *nr; i++)
		if (text[i].start == map->start)
			return i;
	text[*nr] = (struct agent_range){ map->start, map->end };
	return (*nr)++;
}

static uint32_t collect_traps(const struct probes *probes, struct agent_trap *trap)
{
	const struct arch *arch = probes->target->arch;
	uint32_t nr = 0;

	vec_each_value(probe, &probes->all) {
		/* If the text is not mapped any more, other text may be there. */
		if (probe->module->died != UINT32_MAX && probe->state == PROBE_REFUSED)
			continue;
		if (probe->slot && probe->engine == PROBE_BREAKPOINT)
			trap[nr++] = (struct agent_trap){
				.pc = probe->patch + arch->trap_pc_bias,
				.displaced = probe->resume,
				.text = AGENT_NO_TEXT,
				.old = probe_original(probe)[0],
			};
	}
	qsort(trap, nr, sizeof(*trap), by_pc);
	return nr;
}

/* These come behind the traps and areas of the table. */
static struct err *collect_texts(const struct probes *probes, struct agent_table *table)
{
	struct agent_range *text = agent_table_texts(table, table->nr_traps, table->nr_areas);
	struct proc_maps maps = { VEC_INIT };
	struct err *err = procfs_maps(probes->target->mem.tid, &maps);

	for (uint32_t i = 0; i < table->nr_traps && !err; i++)
		table->trap[i].text = number_text(&maps, table->trap[i].pc - 1, text,
						  &table->nr_texts);
	procparse_maps_free(&maps);
	return err;
}

void sigtrap_forget(struct probes *probes)
{
	robust_drop(probes->owner);
	probes->owner = NULL;
}

/* Note that the handler's system calls could do harm in such a thread. */
static void heed(struct probes *probes, const struct proc_status *status)
{
	if (!status->seccomp && !status->locked_kb)
		return;
	probes->text_stays = true;
	sigtrap_forget(probes);
}

/*
 * Examine the threads from number `from` up to `to`, in the order of the map. Returns how many
 * there are.
 */
static uint32_t look_at(struct probes *probes, uint32_t from, uint32_t to)
{
	struct proc_status status;
	struct thread *thread;
	uint32_t at = 0;

	for_each_thread(thread, probes->target) {
		if (at >= from && at < to && !procfs_status(thread->tid, &status))
			heed(probes, &status);
		at++;
	}
	return at;
}

void sigtrap_check(struct probes *probes)
{
	uint32_t to = probes->look_at_thread + LOOK_AT;

	if (probes->owner)
		probes->look_at_thread = to < look_at(probes, to - LOOK_AT, to) ? to : 0;
}

/* Have the handler take the breakpoints out if this mdbg is killed, wherever that is allowed. */
static void sign(struct probes *probes)
{
	struct target *target = probes->target;
	struct err *err;

	probes->text_stays |= memory_limits_never_overcommitted();
	look_at(probes, 0, UINT32_MAX);
	if (probes->owner || probes->text_stays)
		return;
	err = robust_add(tracer_robust(target->tracer), target->region->fd,
			 offsetof(struct journal, tracer), &probes->owner);
	if (err)
		trace_line("breakpoints would stay behind a killed mdbg: %s", err->msg);
}

static struct err *write_table(struct probes *probes)
{
	AUTO_FREE struct agent_table *table = calloc(1, AREA_AGENT);
	uint32_t most = (uint32_t)probes->all.nr;
	struct agent_range *range;
	size_t room = AREA_AGENT - AGENT_TABLE;
	struct err *err;

	if (!table)
		return err_nomem;
	if (agent_table_size(most, (uint32_t)probes->areas.nr, most) > room)
		return err_create(ERR_RANGE, "%zu probes are more than the agent's table holds",
				  probes->all.nr);
	table->generation = ++probes->table_generation;
	memcpy(&table->old, &probes->old, sizeof(table->old));
	table->nr_traps = collect_traps(probes, table->trap);
	table->nr_areas = (uint32_t)probes->areas.nr;
	range = agent_table_areas(table, table->nr_traps);
	for (size_t i = 0; i < probes->areas.nr; i++)
		range[i] = (struct agent_range){ probes->areas.at[i].address,
						 probes->areas.at[i].address +
							 probes->areas.at[i].len };
	err = collect_texts(probes, table);
	if (err)
		return err;
	table->owner = probes->target->region->address + offsetof(struct journal, tracer);
	err = patch_fill(probes->target, probes->agent + AGENT_TABLE, table,
			 agent_table_size(table->nr_traps, table->nr_areas, table->nr_texts));
	if (!err)
		sign(probes);
	return err;
}

static bool is_foreign(const struct thread *thread)
{
	return !thread || thread->tgid != thread->target->pid;
}

/* No thread of the process can be borrowed. Where its vfork child is held, that is the reason. */
static struct err *busy(const struct target *target)
{
	struct thread *thread;
	bool vfork = false;

	for_each_thread(thread, target)
		vfork |= is_foreign(thread);
	if (vfork)
		return err_hint(err_create(ERR_BUSY, "process %d sits in a vfork: its signals cannot "
					   "be reached", target->pid), "try again");
	return err_hint(err_create(ERR_BUSY, "no thread of process %d can be stopped: its signals "
				   "cannot be reached", target->pid),
			"is its control group frozen (docker pause), or a disk not ready? try again "
			"when it goes on");
}

static struct err *reaches_signals(void *target, bool *done_ret)
{
	*done_ret = !is_foreign(thread_any_stopped(target));
	return NULL;
}

struct err *sigtrap_await(struct probes *probes)
{
	const struct target_wait wait = {
		.look = reaches_signals, .ctx = probes->target,
		.step = AWAIT_STEP_NS, .deadline = tracer_now() + AWAIT_NS,
	};
	bool reached;
	struct err *err = target_wait(probes->target, &wait, &reached);

	return err || reached ? err : busy(probes->target);
}

struct err *sigtrap_install(struct probes *probes, struct remote *remote)
{
	struct agent_sigaction old, ours;
	struct err *err;

	if (probes->has_sigaction)
		return write_table(probes);
	if (is_foreign(remote->thread))
		return busy(probes->target);
	err = patch_sigaction_call(remote, SIGTRAP, NULL, &probes->old);
	if (!err)
		err = write_table(probes);
	if (err)
		return err;
	memcpy(&old, &probes->old, sizeof(old));
	ours = agent_sigaction(probes->agent + AGENT_SIGTRAP, probes->agent + AGENT_RESTORER, &old);
	memcpy(&probes->ours, &ours, sizeof(probes->ours));
	err = patch_sigaction(probes->target, remote, SIGTRAP, &probes->ours, &probes->old,
			      &probes->sigaction_entry);
	probes->has_sigaction = !err;
	return err;
}

struct err *sigtrap_remove(struct probes *probes, struct remote *remote)
{
	struct err *err;

	if (!probes->has_sigaction)
		return NULL;
	if (is_foreign(remote->thread))
		return busy(probes->target);
	err = patch_sigaction_undo(probes->target, remote, probes->sigaction_entry);
	if (err)
		return err;
	probes->has_sigaction = false;
	sigtrap_forget(probes);
	return NULL;
}

static bool worth_a_look(struct probes *probes, struct thread *thread, uint64_t repairs_seen,
			 uint64_t *mask)
{
	bool always = thread->blocks_sigtrap || repairs_seen != probes->sigtrap_repairs ||
		      ++probes->sigtrap_checks % CHECK_EVERY == 0;

	if (!always && ++thread->traps > TRAPS_CLOSE && thread->traps % TRAPS_EVERY)
		return false;
	return !ptrace_get_sigmask(thread->tid, mask) && (always || *mask);
}

/*
 * Our handler is installed, and thread does not block SIGTRAP now. Did it block it before this
 * trap? Another thread's repair may have put the handler back since. If there was no repair after
 * this thread's last trap, the kernel has changed nothing.
 */
static bool lost_mask(const struct probes *probes, struct thread *thread, uint64_t mask,
		      uint64_t repairs_seen)
{
	if (repairs_seen == probes->sigtrap_repairs) {
		thread->blocks_sigtrap = false;
		return false;
	}
	return thread->blocks_sigtrap || (mask | SIGTRAP_BIT) == SIGNALS_ALL;
}

/* Other threads run meanwhile: one may end the process, or execute another program. */
static bool put_handler_back(struct probes *probes, struct thread *thread, uint64_t mask)
{
	AUTO_FREE struct remote *remote = malloc(sizeof(*remote));
	struct err *err = remote ? ptrace_set_sigmask(thread->tid, mask | SIGTRAP_BIT) : err_nomem;
	struct err *also;
	pid_t tid = thread->tid;
	bool lost = false;

	if (!err)
		err = remote_borrow_begin(thread, remote);
	if (!err) {
		err = patch_sigaction_call(remote, SIGTRAP, &probes->ours, NULL);
		also = remote_end(remote);
		err = err ? err : also;
		lost = remote->lost;
	}
	if (err)
		trace_line("repair SIGTRAP of thread %d: %s", tid, err->msg);
	return !lost;
}

bool sigtrap_repair(struct probes *probes, struct thread *thread)
{
	uint64_t repairs_seen = thread->repairs_seen, mask;
	struct proc_status status;
	struct err *err;

	thread->repairs_seen = probes->sigtrap_repairs;
	if (!probes->has_sigaction || !worth_a_look(probes, thread, repairs_seen, &mask) ||
	    procfs_status(thread->tid, &status))
		return true;
	heed(probes, &status);
	if (status.sig_caught & SIGTRAP_BIT) {
		if (lost_mask(probes, thread, mask, repairs_seen) &&
		    (err = ptrace_set_sigmask(thread->tid, mask | SIGTRAP_BIT)))
			trace_line("repair the mask of thread %d: %s", thread->tid, err->msg);
		return true;
	}
	thread->blocks_sigtrap = true;
	thread->repairs_seen = ++probes->sigtrap_repairs;
	return put_handler_back(probes, thread, mask);
}
