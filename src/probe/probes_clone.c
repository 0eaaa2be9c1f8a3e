/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The probes of a forked child. Its memory is a copy of its parent's with patches, areas and
 * handler; only the agent is off there, so a thunk lets every call pass. So jumps become
 * breakpoints on the same slots. Nothing else is changed in the child; mdbg only notes what is
 * there, in its own memory and, for a later mdbg, in the child's own journal.
 */

#include <stdlib.h>
#include <string.h>

#include "probe/area.h"
#include "probe/probe.h"
#include "probe/sigtrap.h"
#include "tracee/backtrace.h"
#include "tracee/region.h"
#include "tracee/remote.h"
#include "tracee/share.h"
#include "tracee/target.h"

/* Copy an entry to the child's journal, as a change that was made. */
static struct err *copy_entry(const struct probes *parent, const struct probes *child,
			      uint32_t entry, uint32_t *ret)
{
	struct err *err = patch_plan(child->target, &parent->target->region->journal->entry[entry],
				     ret);

	if (!err)
		journal_writer_done(&child->target->region->writer, *ret);
	return err;
}

static struct err *copy_areas(const struct probes *parent, struct probes *child)
{
	struct err *err = vec_reserve(&child->areas, parent->areas.nr);

	for (size_t i = 0; i < parent->areas.nr && !err; i++) {
		struct area area = parent->areas.at[i];

		err = copy_entry(parent, child, parent->areas.at[i].entry, &area.entry);
		if (!err && area.counts)
			err = copy_entry(parent, child, area.counts_entry, &area.counts_entry);
		if (!err)
			child->areas.at[child->areas.nr++] = area;
	}
	return err;
}

/*
 * Put an int3 in place of a jump, and the function's own bytes behind it, so that only the int3
 * must be taken out later (agent/trap_handler.c). Until that is done the journal keeps the entry of
 * the jump, so that a later mdbg finds one or the other.
 */
static struct err *make_breakpoint(struct probes *child, struct probe *probe)
{
	const struct arch *arch = child->target->arch;
	struct journal_writer *writer = &child->target->region->writer;
	struct journal_entry entry = writer->own->entry[probe->text_entry];
	uint32_t jump = probe->text_entry;
	struct err *err;

	memcpy(probe->put, probe_original(probe), probe->put_len);
	memcpy(probe->put, arch->trap, arch->trap_len);
	memcpy(entry.new, probe->put, probe->put_len);
	err = patch_plan(child->target, &entry, &probe->text_entry);
	if (!err)
		err = patch_fill(child->target, probe->patch, probe->put, probe->put_len);
	if (err)
		return err;
	journal_writer_done(writer, probe->text_entry);
	journal_writer_undone(writer, jump);
	return NULL;
}

static struct err *copy_probe(const struct probes *parent, struct probes *child,
			      const struct probe *from)
{
	struct module *module = modules_find(&child->target->modules, from->address);
	struct probe *probe;
	struct err *err = vec_reserve(&child->all, 1);

	/* What a child maps is not recorded; so the text of these is as in its file again. */
	if (!err && probe_is_growth(from) && from->state == PROBE_ACTIVE)
		return patch_undo_text_entry(
			&child->target->mem,
			&parent->target->region->journal->entry[from->text_entry]);
	if (err || !module || probe_is_growth(from))
		return err;
	probe = malloc(sizeof(*probe));
	if (!probe)
		return err_nomem;
	*probe = *from;
	probe->module = module;
	probe->engine = PROBE_BREAKPOINT;
	child->all.at[child->all.nr++] = probe;
	if (probe->state != PROBE_ACTIVE)
		return NULL;
	err = copy_entry(parent, child, from->text_entry, &probe->text_entry);
	return err ? err : probes_add_traps(child, probe);
}

/* Make breakpoints of the jumps that the child has from its parent. */
static struct err *make_breakpoints(const struct probes *parent, struct probes *child)
{
	struct err *err = NULL;

	for (size_t i = 0, at = 0; i < parent->all.nr && at < child->all.nr && !err; i++) {
		const struct probe *from = parent->all.at[i];
		struct probe *probe = child->all.at[at];

		if (probe->address != from->address)
			continue;	/* of a module that the child does not have */
		at++;
		if (probe->state == PROBE_ACTIVE && from->engine == PROBE_JUMP)
			err = make_breakpoint(child, probe);
	}
	return err;
}

/* Was the child forked by a handler that has interrupted the agent? Then it goes on there. */
static bool is_in_agent(const struct probes *parent, const struct probes *child)
{
	const struct thread *thread = thread_any_stopped(child->target);
	struct stack_range range[AGENT_PC_RANGES];
	uint32_t nr = area_pc_ranges(parent, range);

	return thread && stack_uses(child->target, &thread->regs, range, nr);
}

/*
 * The handler must know where the jumps were. The agent does not need its log any more, unless it
 * is at work.
 */
static struct err *settle_in(const struct probes *parent, struct probes *child)
{
	bool in_agent = is_in_agent(parent, child);
	struct remote *remote;
	struct err *err = remote_borrow(child->target, NULL, &remote);

	if (err)
		return err;
	err = sigtrap_install(child, remote);
	if (!err && !in_agent)
		err = share_withdraw_forked_copy(parent->target, remote);
	return remote_borrow_give_back(remote, err);
}

struct err *probes_clone(const struct probes *parent, struct target *target, uint8_t process,
			 struct probes **ret)
{
	struct probes *child;
	struct err *err = probes_create(target, parent->log, &child);

	if (err)
		return err;
	child->process = process;
	child->ledger.facts = parent->ledger.facts;
	child->stack_offset = parent->stack_offset;
	child->main_low = parent->main_low;
	child->main_high = parent->main_high;
	child->agent = parent->agent;
	child->agent_written = true;
	child->policy = PROBE_ONLY_BREAKPOINT;
	child->text_stays = parent->text_stays;
	child->ours = parent->ours;
	child->old = parent->old;
	child->has_sigaction = parent->has_sigaction;
	child->armed = parent->armed;
	child->planned_generation = target->modules.generation;
	child->table_generation = parent->table_generation;
	child->warn = parent->warn;
	child->ctx = parent->ctx;
	child->walk_area.start = parent->walk_area.start;
	child->walk_area.end = parent->walk_area.end;
	err = copy_areas(parent, child);
	if (!err && child->has_sigaction)
		err = copy_entry(parent, child, parent->sigaction_entry, &child->sigaction_entry);
	child->state_address = parent->state_address;
	if (!err && parent->state_address)
		err = copy_entry(parent, child, parent->state_entry, &child->state_entry);
	for (size_t i = 0; i < parent->all.nr && !err; i++)
		err = copy_probe(parent, child, parent->all.at[i]);
	/* The handler comes first: mdbg may be killed between any two steps. */
	if (!err && parent->state)
		err = settle_in(parent, child);
	else if (!err && child->has_sigaction)
		err = sigtrap_install(child, NULL);	/* its table names the parent's region */
	if (!err)
		err = make_breakpoints(parent, child);
	if (err)
		probes_destroy(child);
	else
		*ret = child;
	return err;
}
