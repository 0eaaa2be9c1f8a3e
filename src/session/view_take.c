/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Takes a view of a target that is stopped.
 *
 * The stack of a thread shows whether it is inside the allocator: it has a return address in one of
 * our areas (all functions but free keep one there), or in a probed function, or in a function to
 * which free jumps at its end (free is recorded first and keeps no frame of ours:
 * probe/tail_call.c). One of these alone is not enough: aligned_alloc and others jump to their last
 * part and are no longer on the stack, while malloc_consolidate, which they call, has a fastbin's
 * chunks in hand. Walks leave out our frames, so a hook of the walk notes that it has passed one.
 * Threads inside an earlier mdbg's code cannot be recognised by this one's areas: as long as that
 * code is there, all threads count as inside.
 *
 * In a library that is an allocator and nothing else (allocator.all_inside), all code counts.
 *
 * Where there are no probes (`--no-arm`, a core), the allocator's functions are known by their
 * symbols. If one of them has called abort, its thread is inside as well; but it changes nothing
 * any more: it has found damage.
 */

#include "session/view_take.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "probe/allocators.h"
#include "probe/area.h"
#include "probe/probe.h"
#include "session/private.h"
#include "tracee/backtrace.h"
#include "tracee/region.h"
#include "tracee/target.h"
#include "tracee/target_wait.h"
#include "tracee/tcb.h"

#define STEP_NS		50000ull	/* how long those inside run alone at first */
#define FRAMES		48u
#define XSTATE_MAX	16384u

static bool in_function(const struct probe *probe, uint64_t pc)
{
	uint64_t size;

	return pc >= probe->address && probe->module->elf &&
	       !elf_symbol_function_extent(probe->module->elf,
					   probe->address - probe->module->bias, &size) &&
	       pc - probe->address < size;
}

static bool in_code(const struct probe_code *code, uint64_t pc)
{
	return pc - code->start < code->len;
}

static bool in_tail(const struct probe *probe, uint64_t pc)
{
	for (uint32_t i = 0; i < probe->nr_tails; i++)
		if (in_code(&probe->tail[i], pc))
			return true;
	return false;
}

static bool in_probed(const struct probes *probes, uint64_t pc)
{
	vec_each_value(probe, &probes->all) {
		/*
		 * Functions are short: the extent of a function that is farther away is not read.
		 */
		if (probe_of_allocator(probe) && probe->state != PROBE_REFUSED &&
		    (in_tail(probe, pc) || allocator_is_inside(probe->module, pc) ||
		     (pc - probe->address < 65536 && in_function(probe, pc))))
			return true;
	}
	return false;
}

struct passing {
	const struct probes *probes;
	bool met;			/* the walk has passed a frame of an area */
};

/* The hook of struct walk_area. */
static bool pass_area(void *ctx, uint64_t *pc, int32_t *cfa_offset)
{
	struct passing *passing = ctx;
	const struct walk_area *area = &passing->probes->walk_area;

	passing->met |= area_holds(passing->probes, *pc);
	return area->translate(area->ctx, pc, cfa_offset);
}

static bool in_allocator(const struct memory_view *view, const struct probes *probes, uint64_t pc)
{
	if (probes)
		return in_probed(probes, pc);
	vec_each(code, &view->code) {
		if (in_code(code, pc))
			return true;
	}
	return false;
}

/* Get the PCs of its stack. *met_ret: the walk has met a frame of ours, which is not among them. */
static uint32_t walk_thread(const struct thread *thread, struct probes *probes, uint64_t *pcs,
			    bool *met_ret)
{
	struct passing passing = { .probes = probes };
	struct regs regs = thread->regs;
	struct walk_area area;
	enum walk_end end;
	uint32_t nr;

	*met_ret = false;
	if (!probes)
		return backtrace_walk(thread->target, &regs, NULL, pcs, FRAMES, &end);
	area = (struct walk_area){ probes->walk_area.start, probes->walk_area.end, pass_area,
				   &passing };
	area_walk_regs(probes, thread->target->memory, &thread->regs, &regs);
	nr = backtrace_walk(thread->target, &regs, &area, pcs, FRAMES, &end);
	*met_ret = passing.met || area_holds(probes, regs_get(&thread->regs,
							      thread->target->arch->pc));
	return nr;
}

static bool in_abort(const struct memory_view *view, uint64_t pc)
{
	vec_each(libc, &view->libcs) {
		if (in_code(&libc->abort, pc))
			return true;
	}
	return false;
}

/*
 * Is the thread inside the allocator? *aborts_ret: has the allocator called abort? view may be NULL
 * if there are probes and *aborts_ret is not needed.
 */
static bool is_inside(const struct memory_view *view, const struct thread *thread,
		      struct probes *probes, bool *aborts_ret)
{
	bool inside = false, aborts = false;
	uint64_t pcs[FRAMES];
	uint32_t nr = 0;

	if (probes || view->code.nr)
		nr = walk_thread(thread, probes, pcs, &inside);
	for (uint32_t i = 0; i < nr && !inside; i++)
		inside = in_allocator(view, probes, pcs[i]);
	for (uint32_t i = 0; i < nr && inside && view; i++)
		aborts |= in_abort(view, pcs[i]);
	*aborts_ret = aborts;
	return inside;
}

struct inside {
	const struct session *session;
	VEC(pid_t) vec;
};

static struct err *nobody_inside(void *ctx, bool *done_ret)
{
	struct inside *inside = ctx;
	struct thread *thread;
	struct err *err = NULL;
	bool aborts;

	vec_clear(&inside->vec);
	for_each_thread(thread, inside->session->current->target)
		if (!err && thread_is_stopped(thread) &&
		    is_inside(NULL, thread, inside->session->current->probes, &aborts))
			err = vec_push(&inside->vec, thread->tid);
	*done_ret = !inside->vec.nr;
	return err;
}

static bool goes_on(struct thread *thread, void *ctx)
{
	const struct inside *inside = ctx;

	for (size_t i = 0; i < inside->vec.nr; i++)
		if (inside->vec.at[i] == thread->tid)
			return true;
	return false;
}

/*
 * Threads that wait for an arena wait for another thread that is inside, so all of them come out
 * sooner or later. A thread that stays (its call asks a slow kernel for memory) is looked at as it
 * is. If all threads count as inside, all would run.
 */
struct err *view_take_drain(struct session *session, uint64_t *budget)
{
	struct inside inside = { .session = session };
	const struct target_wait wait = {
		.look = nobody_inside, .goes = goes_on, .ctx = &inside,
		.step = STEP_NS, .step_most = *budget, .deadline = UINT64_MAX, .budget = budget,
	};
	struct err *err;
	bool out;

	if (!session->current->probes || session->old_maps.nr)
		return NULL;
	err = target_wait(session->current->target, &wait, &out);
	vec_free(&inside.vec);
	return err;
}

/* System calls do not preserve vector registers, so those of a thread in one do not count. */
static struct err *take_vectors(const struct thread *thread, struct memory_view *view,
				struct memory_view_thread *ret)
{
	AUTO_FREE uint64_t *state = malloc(XSTATE_MAX);
	struct err *err = NULL;
	size_t len;

	if (!state)
		return err_nomem;
	if (target_vector(thread, state, XSTATE_MAX, &len)) {
		ret->blind = true;
		return NULL;
	}
	ret->vector = view->vectors.nr;
	ret->nr_vectors = len / sizeof(*state);
	for (size_t i = 0; i < ret->nr_vectors && !err; i++)
		err = vec_push(&view->vectors, state[i]);
	return err;
}

static struct err *take_thread(struct session *session, struct thread *thread, bool deep,
			       struct memory_view *view)
{
	struct memory_view_thread is = { .tid = thread->tid };
	struct err *err = NULL;

	is.stopped = is.placed = thread_is_stopped(thread);
	if (is.stopped) {
		is.regs = thread->regs;
		is.tp = regs_get(&is.regs, view->arch->tp);
		is.in_syscall = (int64_t)regs_get(&is.regs, view->arch->orig_syscall) != -1;
		is.inside = is_inside(view, thread, session->current->probes, &is.aborts) ||
			    session->old_maps.nr;
		if (deep && !is.in_syscall)
			err = take_vectors(thread, view, &is);
	} else {
		is.placed = stack_use_stuck_regs(thread, &is.regs);
	}
	return err ? err : vec_push(&view->threads, is);
}

static struct err *take_threads(struct session *session, bool deep, struct memory_view *view)
{
	struct target *target = session->current->target;
	struct thread *thread;
	struct err *err = NULL;
	unsigned own = 0;
	struct tcb tcb;

	for_each_thread(thread, target) {
		own += thread->tgid == target->pid;
		if (!err)
			err = take_thread(session, thread, deep, view);
	}
	view->one_thread = own <= 1;
	if (!err && deep) {
		tcb_derive(target, &tcb);
		view->stack_offset = tcb.stack_offset;
	}
	return err;
}

/* Are all functions of this allocator's modules recorded? */
static bool all_probed(const struct session *session, const struct walkable *walkable)
{
	const struct probes *probes = session->current->probes;

	for (size_t i = 0; probes && i < probes->all.nr; i++) {
		const struct probe *probe = probes->all.at[i];

		if (probe_of_allocator(probe) && allocators_walkable_has(walkable, probe->module) &&
		    !probe->gone && !probe_records(probe))
			return false;
	}
	return probes && probes->armed;
}

static bool is_complete(const struct session *session, const struct memory_view *view,
			const struct walkable *walkable)
{
	struct log_accounts accounts;

	if (!view->log || session->records != RECORDS_WHOLE || view->process ||
	    log_config(view->log).sample || !all_probed(session, walkable))
		return false;
	accounts = reader_accounts(view->log);
	return !accounts.table_full && !accounts.voided;
}

/* Its functions, for where there are no probes. */
static struct err *take_code(const struct allocator *allocator, struct module *module,
			     struct memory_view *view)
{
	struct err *err = NULL;

	if (allocator_is_inside(module, module->exec_start))
		return vec_push(&view->code, ((struct probe_code){
			module->exec_start, module->exec_end - module->exec_start }));
	for (size_t i = 0; i < allocator->nr_functions && !err; i++) {
		struct probe probe = { .module = module };
		uint64_t size;

		if (module_symbol(module, allocator->functions[i].symbol, &probe.address, &size))
			continue;
		tail_call_find(view->arch, &probe);
		for (uint32_t j = 0; j < probe.nr_tails && !err; j++)
			err = vec_push(&view->code, probe.tail[j]);
	}
	return err;
}

static struct err *take_libc(const struct session *session, const struct walkable_module *of,
			     struct memory_view *view)
{
	struct module *module = of->module;
	struct memory_view_libc libc = {
		.allocator = of->allocator,
		.start = module->start,
		.end = module->end,
		.main_arena = allocator_libcs_main_arena(of->allocator, module),
	};
	struct err *err;

	snprintf(libc.name, sizeof(libc.name), "%s", path_base(module->path));
	if (module_symbol(module, "abort", &libc.abort.start, &libc.abort.len))
		libc.abort.len = 0;
	err = vec_push(&view->libcs, libc);
	return err || session->current->probes ? err :
							 take_code(of->allocator, module, view);
}

static struct err *take_allocator(const struct session *session, struct memory_view *view)
{
	struct walkable walkable;
	struct err *err = NULL;

	allocators_to_walk(&session->current->target->modules, &walkable);
	view->complete = walkable.nr && is_complete(session, view, &walkable);
	for (unsigned i = 0; i < walkable.nr && !err; i++) {
		view->has_glibc |= walkable.at[i].allocator == &allocator_glibc;
		err = take_libc(session, &walkable.at[i], view);
	}
	return err;
}

static struct err *take_log(const struct session *session, struct memory_view *view)
{
	if (!session->region)
		return NULL;
	view->log = &session->region->log;
	view->accounts = reader_accounts(view->log);
	return session_agent_in_hand(session, &view->in_hand);
}

struct err *view_take_unmapped(struct session *session, bool deep, struct memory_view *ret)
{
	struct target *target = session->current->target;
	struct memory_view view = MEMORY_VIEW_INIT;
	struct err *err;

	view.target = target;
	view.probes = session->current->probes;
	view.region = session->region;
	view.arch = target->arch;
	view.memory = target->memory;
	view.pages_of = target->kind->live ? target->mem.tid : 0;
	view.process = session->current->probes ? session->current->probes->process : 0;
	err = take_log(session, &view);
	if (!err)
		err = take_allocator(session, &view);
	if (!err)
		err = take_threads(session, deep, &view);
	if (err)
		memory_view_free(&view);
	else
		*ret = view;
	return err;
}

struct err *view_take(struct session *session, bool deep, struct memory_view *ret)
{
	struct memory_view view;
	struct err *err = view_take_unmapped(session, deep, &view);

	if (err)
		return err;
	err = target_maps(session->current->target, &view.maps);
	if (err)
		memory_view_free(&view);
	else
		*ret = view;
	return err;
}

struct err *session_maps(struct session *session, struct proc_maps *ret)
{
	struct err *err = session_need_view(session);

	if (!err)
		err = target_maps(session->current->target, ret);
	/* The inode numbers of a core's mappings are mdbg's own. */
	for (size_t i = 0; !err && !session->current->target->kind->live && i < ret->vec.nr; i++)
		ret->vec.at[i].inode = 0;
	return err;
}
