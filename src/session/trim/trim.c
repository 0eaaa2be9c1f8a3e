/* SPDX-License-Identifier: GPL-3.0-or-later */
/* malloc_trim in the target (theory in trim.h). */

#include "session/trim/trim.h"

#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "inspect/memory_view.h"
#include "os/tracer.h"
#include "probe/probe.h"
#include "session/heap.h"
#include "session/look.h"
#include "session/private.h"
#include "session/trim/purge.h"
#include "session/view_take.h"
#include "tracee/backtrace.h"
#include "tracee/gadget.h"
#include "tracee/patch.h"
#include "tracee/remote.h"
#include "tracee/target_wait.h"

/* malloc_trim takes some hundred bytes, a frame up to 16 KB */
#define STACK_ROOM	(32u << 10)
#define LIMIT_NS	600000000000ull	/* without a system call: it merges fastbins, for seconds */
#define TEXT_MAX	65536u
#define FRAMES		48u
#define PATIENCE_NS	1000000000ull	/* no more looks after this time */
/* how long in all others wait for those inside the allocator */
#define DRAIN_NS	100000000ull
#define STEP_NS		100000ull	/* how long the target runs before the second, ... */
#define STEP_MOST_NS	20000000ull	/* ... and at most before a later one */

struct range {
	uint64_t start, end;
};

/* The functions of a C library. */
struct functions {
	struct range trim, brk, sbrk;
};

struct trimmer {
	struct session *session;
	struct session_trim *ret;
	struct memory_view view;
	struct functions libc[WALKABLE_MAX];
	unsigned nr_libcs;
	uint32_t used;			/* bits of those that have heaps */
	bool purges;			/* another allocator than glibc (purge.h) */
	struct purge purge;
	struct thread *thread;		/* which may make the call */
	bool may_run;			/* the target, before it is made */
	uint64_t drain_budget;
	struct err *why_not;		/* why the call cannot be made now */
};

/* Find a function, and check that its text is that of the file, but for our own probe of brk. */
static struct err *find_function(const struct trimmer *trimmer, struct module *module,
				 const char *name, struct range *ret)
{
	AUTO_FREE uint8_t *bytes = malloc(2 * TEXT_MAX);
	uint64_t address, size;
	struct err *err = module_symbol(module, name, &address, &size);

	if (err)
		return err;
	if (!bytes)
		return err_nomem;
	if (!size || size > TEXT_MAX)
		return err_create(ERR_UNSUPPORTED, "%s has %" PRIu64 " bytes", name,
				  size);
	err = elf_file_read(module->elf, address - module->bias, bytes, size);
	if (!err)
		err = memory_read(trimmer->view.memory, address, bytes + TEXT_MAX, size);
	if (!err)
		patch_see_through(trimmer->session->current->target, address, bytes + TEXT_MAX, size);
	if (!err && memcmp(bytes, bytes + TEXT_MAX, size))
		err = err_create(ERR_UNSUPPORTED, "%s is not as its file has it: somebody else's "
				 "probe or breakpoint is there", name);
	if (!err)
		*ret = (struct range){ address, address + size };
	return err;
}

static struct err *find_in(const struct trimmer *trimmer, const struct allocator *allocator,
			   struct module *module, struct functions *ret)
{
	struct range madvise;
	struct err *err = find_function(trimmer, module, allocator->trim, &ret->trim);

	if (!err)
		err = find_function(trimmer, module, "sbrk", &ret->sbrk);
	if (!err)
		err = find_function(trimmer, module, "brk", &ret->brk);
	return err ? err : find_function(trimmer, module, "madvise", &madvise);
}

static struct err *find_functions(struct trimmer *trimmer)
{
	struct walkable walkable;
	struct err *err = NULL;

	trimmer->nr_libcs = 0;
	allocators_to_walk(&trimmer->session->current->target->modules, &walkable);
	for (unsigned i = 0; i < walkable.nr && !err; i++)
		if (walkable.at[i].allocator->trim)
			err = find_in(trimmer, walkable.at[i].allocator, walkable.at[i].module,
				      &trimmer->libc[trimmer->nr_libcs++]);
	if (!trimmer->nr_libcs)
		err = err_create(ERR_UNSUPPORTED, "no glibc in process %d",
				 trimmer->session->current->pid);
	return err;
}

static bool holds(const struct range *range, uint64_t pc)
{
	return pc >= range->start && pc < range->end;
}

/* The frame above a restorer's was interrupted by a signal. */
static bool may_be_under_way(const struct trimmer *trimmer, const struct memory_view_thread *thread)
{
	const struct process *process = trimmer->session->current;
	struct stack_frames frames;
	bool may;

	if (backtrace_frames(process->target, NULL, &thread->regs, &process->probes->walk_area,
			     &frames))
		return true;
	may = frames.end != WALK_COMPLETE;
	for (uint32_t i = 0; i < frames.nr && !may; i++)
		may = gadget_is_restorer(process->target, frames.pc[i]);
	backtrace_frames_free(&frames);
	return may;
}

static size_t room_of(const struct trimmer *trimmer)
{
	return trimmer->purges ? PURGE_ROOM : STACK_ROOM;
}

static bool has_room(const struct trimmer *trimmer, const struct memory_view_thread *thread)
{
	const struct memory_view *view = &trimmer->view;
	uint64_t sp = regs_get(&thread->regs, view->arch->sp), start, end;
	const struct proc_map *map = procparse_maps_find(&view->maps, sp);

	return map && map->write && memory_view_stack(view, thread, &start, &end) &&
	       sp - MAX(start, map->start) >= room_of(trimmer);
}

static bool is_filtered(const struct trimmer *trimmer, const struct memory_view_thread *thread)
{
	struct proc_status status;
	struct err *err = procfs_status(thread->tid, &status);
	bool filtered = err || status.seccomp;
	uint64_t selector;

	if (trimmer->purges)
		return filtered || ptrace_dispatches(thread->tid, trimmer->purge.address, &selector);
	for (unsigned i = 0; i < trimmer->nr_libcs && !filtered; i++)
		filtered = ptrace_dispatches(thread->tid, trimmer->libc[i].trim.start, &selector) ||
			   ptrace_dispatches(thread->tid, trimmer->libc[i].sbrk.start, &selector);
	return filtered;
}

/* NULL: the thread may make the call. */
static const char *why_not(const struct trimmer *trimmer, const struct memory_view_thread *thread)
{
	const struct thread *is = thread_find(trimmer->session->current->target, thread->tid);

	if (!is || is->tgid != trimmer->session->current->pid || !thread->stopped)
		return "cannot be stopped";
	if (is_filtered(trimmer, thread))
		return "has its system calls filtered (seccomp), or dispatched to itself";
	if (thread->inside)
		return "is inside the allocator";
	if (!thread->in_syscall)
		return "is in no system call at the moment";
	if (!has_room(trimmer, thread))
		return "is on a stack that is small, or not known";
	if (may_be_under_way(trimmer, thread))
		return "has a signal handler on its stack, or its stack cannot be walked";
	return NULL;
}

static struct err *choose(struct trimmer *trimmer)
{
	struct session *session = trimmer->session;
	struct process *process = session->current;
	const char *first = "is not there";
	pid_t tid = process->pid;

	for (size_t i = 0; i < trimmer->view.threads.nr; i++) {
		const struct memory_view_thread *thread = &trimmer->view.threads.at[i];
		const char *why = why_not(trimmer, thread);

		if (!why) {
			trimmer->thread = thread_find(process->target, thread->tid);
			return NULL;
		}
		if (!i || thread->tid == process->pid) {
			first = why;
			tid = thread->tid;
		}
	}
	return err_hint(err_create(ERR_BUSY,
				   "no thread of process %d can make the call: thread %d %s",
				   process->pid, tid, first),
			"try again when one waits for something");
}

static bool is_brk(const struct trimmer *trimmer, uint64_t pc)
{
	for (unsigned i = 0; i < trimmer->nr_libcs; i++)
		if (holds(&trimmer->libc[i].brk, pc) || holds(&trimmer->libc[i].sbrk, pc))
			return true;
	return false;
}

static bool in_brk(const struct trimmer *trimmer, const struct memory_view_thread *thread)
{
	const struct process *process = trimmer->session->current;
	uint64_t pc = regs_get(&thread->regs, trimmer->view.arch->pc), pcs[FRAMES] = { pc };
	enum walk_end end;
	uint32_t nr = 1;

	if (!thread->placed)
		return true;	/* not known: assume so */
	if (thread->stopped)
		nr = backtrace_walk(process->target, &thread->regs, &process->probes->walk_area,
				    pcs, FRAMES, &end);
	for (uint32_t i = 0; i < nr; i++)
		if (is_brk(trimmer, pcs[i]))
			return true;
	return false;
}

static struct err *check_others(const struct trimmer *trimmer)
{
	vec_each(thread, &trimmer->view.threads) {
		if (in_brk(trimmer, thread))
			return err_hint(err_create(ERR_BUSY, "thread %d is in brk, or may be",
						   thread->tid), "try again");
	}
	return NULL;
}

static struct err *check_heaps(struct trimmer *trimmer)
{
	struct heaps heap;
	struct err *err = session_heap_checked(trimmer->session, &heap);

	if (err)
		return err;
	if (heap.walk.damages)
		err = err_hint(err_create(ERR_STATE,
					  "the heaps are damaged: malloc_trim would end the "
					  "process"),
			       "malloc check");
	else if (heap.walk.uncertain)
		err = err_hint(err_create(ERR_BUSY, "the heaps may be in change"), "try again");
	trimmer->used = 0;
	for (size_t i = 0; i < heap.walk.arenas.nr && !err; i++) {
		trimmer->used |= 1u << heap.walk.arenas.at[i].libc;
		if (heap.walk.arenas.at[i].locked)
			err = err_hint(err_create(ERR_BUSY, "heap %zu is locked", i), "try again");
	}
	heaps_free(&heap);
	return err;
}

static struct err *look(struct trimmer *trimmer)
{
	struct err *err = trimmer->purges ? NULL : check_heaps(trimmer);

	memory_view_free(&trimmer->view);
	trimmer->view = (struct memory_view)MEMORY_VIEW_INIT;
	if (!err)
		err = view_take(trimmer->session, true, &trimmer->view);
	if (!err && trimmer->purges)
		err = purge_prepare(trimmer->session, &trimmer->view, &trimmer->purge);
	else if (!err)
		err = find_functions(trimmer);
	if (!err && !trimmer->purges)
		err = check_others(trimmer);
	return err ? err : choose(trimmer);
}

/* A heap that seems damaged may be in the middle of a change, as one that is locked is. */
static struct err *look_when_drained(void *ctx, bool *done_ret)
{
	struct trimmer *trimmer = ctx;
	struct err *err = NULL;

	if (trimmer->may_run)
		err = view_take_drain(trimmer->session, &trimmer->drain_budget);
	if (!err)
		err = look(trimmer);
	*done_ret = !err;
	if (!err || (err->code != ERR_BUSY && err->code != ERR_STATE))
		return err;
	trimmer->why_not = err;
	return NULL;
}

static struct err *prepare(struct trimmer *trimmer)
{
	const struct target_wait wait = {
		.look = look_when_drained, .ctx = trimmer,
		.step = STEP_NS, .step_most = STEP_MOST_NS,
		.deadline = trimmer->may_run ? tracer_now() + PATIENCE_NS : 0,
	};
	bool ready;
	struct err *err = target_wait(trimmer->session->current->target, &wait, &ready);

	return err || ready ? err : trimmer->why_not;
}

/* One that has no heaps is left as it is: it would be initialised. */
static struct err *call(const struct trimmer *trimmer)
{
	struct remote *remote;
	struct err *err = remote_borrow_deep(trimmer->thread, room_of(trimmer), &remote);

	if (err)
		return err;
	remote->limit = LIMIT_NS;
	if (trimmer->purges)
		err = purge_call(remote, &trimmer->purge);
	for (unsigned i = 0; i < trimmer->nr_libcs && !err; i++)
		if (trimmer->used & 1u << i)
			err = remote_function(remote, trimmer->libc[i].trim.start,
					      (const uint64_t[]){ 0 }, 1);
	return remote_borrow_give_back(remote, err);
}

static uint64_t resident(const struct session *session)
{
	struct proc_status status;

	return procfs_status(session->current->target->mem.tid, &status) ? 0 : status.rss_kb;
}

static struct err *trim_held(struct session *session, bool stood, void *arg)
{
	struct trimmer *trimmer = arg;
	struct err *err;

	trimmer->may_run = !stood;
	err = prepare(trimmer);
	trimmer->ret->before_kb = resident(session);
	if (!err)
		err = call(trimmer);
	trimmer->ret->after_kb = resident(session);
	return err;
}

static struct err *check_allocator(struct session *session, bool *purges_ret)
{
	const struct session_allocators *is = session_allocators(session);
	struct err *err = NULL;

	*purges_ret = !is->nr || !is->first || !is->first->trim || is->purges ||
		      (is->nr > 1 && is->partly);
	if (*purges_ret)
		err = purge_check(session);
	if (!err && !session_armed(session))
		err = err_hint(err_create(ERR_STATE, "without probes it is not known who is inside "
						     "the allocator"), "malloc on");
	return err;
}

static struct err *purge_job(struct session *session, void *arg)
{
	struct trimmer *trimmer = arg;
	struct err *err = session_pause_sharers(session);

	return err ? err : session_pause_run(session, trim_held, trimmer, &trimmer->ret->pause_ns);
}

struct err *trim_run(struct session *session, struct session_trim *ret)
{
	struct session_trim trim = { .pause_ns = 0 };
	struct trimmer trimmer = { .session = session, .ret = &trim, .view = MEMORY_VIEW_INIT,
				   .drain_budget = DRAIN_NS };
	struct err *err = session_need_target(session);

	if (!err)
		err = check_allocator(session, &trimmer.purges);
	if (!err && trimmer.purges) {
		err = session_call(session, purge_job, &trimmer);
	} else if (!err) {
		err = look_check_walk(session);
		if (!err)
			err = session_pause_call(session, trim_held, &trimmer, &trim.pause_ns);
	}
	memory_view_free(&trimmer.view);
	if (!err)
		*ret = trim;
	return err;
}
