/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Has an allocator beside glibc give free pages back (theory in purge.h). */

#include "session/trim/purge.h"

#include <inttypes.h>
#include <string.h>

#include "base/page.h"
#include "base/path.h"
#include "inspect/memory_view.h"
#include "probe/probe.h"
#include "session/private.h"
#include "tracee/backtrace.h"
#include "tracee/patch.h"
#include "tracee/remote.h"

#define LIMIT_NS	2000000000ull	/* without a system call's end: it waits for a lock */

static struct err *unsupported(const struct session *session, const char *why)
{
	return err_create(ERR_UNSUPPORTED, "%s of process %d %s",
			  session->allocators.purges->name,
			  session->current->pid, why);
}

struct err *purge_check(struct session *session)
{
	const struct session_allocators *is = session_allocators(session);

	/* Beside it there is libc's own malloc, which nobody calls as a rule. */
	if (!is->purges || is->nr > 2 || is->others)
		return err_hint(err_create(ERR_UNSUPPORTED, "process %d %s %s, which cannot be asked to "
					   "give pages back", session->current->pid,
					   is->nr + is->others > 1 ? "has several allocators:" :
								     "allocates by",
					   session_allocator(session)),
				"most allocators give free pages back by themselves");
	return NULL;
}

/* The library that defines the function. One that is in the program has no text of its own. */
static struct err *find_library(const struct session *session, struct purge *ret)
{
	const struct modules *modules = &session->current->target->modules;

	for (size_t i = 0; i < modules->live.nr; i++) {
		struct module *module = modules->live.at[i];
		char text[64];
		uint64_t size;

		if (!module->elf || allocator_by_file(path_base(module->path)) != ret->allocator ||
		    allocator_of(module, text, sizeof(text)) != ret->allocator)
			continue;
		ret->module = module;
		return module_symbol(module, ret->allocator->purge, &ret->address, &size) ?
			       unsupported(session, "does not export the function for it") : NULL;
	}
	return unsupported(session, "is no library of its own");
}

/*
 * Is a page of text that of the file, but for our own patches? One that is not there was written to
 * by nobody.
 */
static struct err *check_page(const struct session *session, const struct module *module,
			      uint64_t address, size_t len)
{
	struct target *target = session->current->target;
	uint8_t file[PAGE], is[PAGE];
	size_t got;
	struct err *err = memory_read_some(target->memory, address, is, len, &got);

	if (err)
		return err->code == ERR_MEMORY ? NULL : err;
	err = elf_file_read(module->elf, address - module->bias, file, got);
	if (err)
		return err;
	patch_see_through(target, address, is, got);
	return memcmp(file, is, got) ?
		err_create(ERR_UNSUPPORTED, "%s is not as its file has it: somebody else's probe or "
			   "breakpoint is there", path_base(module->path)) : NULL;
}

static struct err *check_text(const struct session *session, const struct module *module)
{
	const struct elf_segment *segment;
	struct err *err = NULL;
	size_t nr;

	segment = elf_file_segments(module->elf, &nr);
	for (size_t i = 0; i < nr && !err; i++)
		for (uint64_t at = 0; segment[i].exec && at < segment[i].filesz && !err; at += PAGE)
			err = check_page(session, module, segment[i].vaddr + module->bias + at,
					 MIN(segment[i].filesz - at, PAGE));
	return err;
}

static struct err *check_probes(const struct session *session)
{
	const struct probes *probes = session->current->probes;

	/* The loader's hook, which is one, is not called. */
	for (size_t i = 0; probes && i < probes->all.nr; i++)
		if (probes->all.at[i]->fn && probes->all.at[i]->state == PROBE_ACTIVE &&
		    probes->all.at[i]->engine != PROBE_JUMP)
			return err_hint(unsupported(session, "cannot be called past breakpoint probes"),
					"`malloc -v` lists the probes");
	return NULL;
}

/* Libraries whose fork runs the handlers, and that the function calls: there is one as a rule. */
static bool is_libc(struct module *module, struct probe_code *fork_ret)
{
	uint64_t address;

	return module->elf && !module_symbol(module, "madvise", &address, &fork_ret->len) &&
	       !module_symbol(module, "fork", &fork_ret->start, &fork_ret->len) && fork_ret->len;
}

/* Is it in pthread_cond_wait, or one of the others? (There are several versions of some.) */
static bool waits_in(const struct module *libc, uint64_t pc)
{
	struct elf_symbols all;
	struct elf_symbol symbol;

	if (elf_symbols_begin(libc->elf, &all))
		return false;
	while (elf_symbols_next(&all, &symbol))
		if (pc - libc->bias - symbol.value <= symbol.size &&
		    !strncmp(symbol.name, "pthread_cond_", strlen("pthread_cond_")))
			return true;
	return false;
}

static bool holds(const struct module *module, uint64_t pc)
{
	return pc >= module->start && pc < module->end;
}

/*
 * Is it a thread of the library's own that waits for a condition, as jemalloc's background threads do
 * nearly always? It has given its lock back while it waits. Its stack has frames of libc, one of them
 * of the wait, and further out frames of the library and of libc alone, as libc has started it.
 */
static bool sleeps(const struct session *session, const struct purge *purge,
		   const struct memory_view_thread *thread, const struct stack_frames *frames)
{
	const struct modules *modules = &session->current->target->modules;
	bool waits = false, own = false;

	if (!thread->in_syscall || thread->inside)
		return false;
	for (uint32_t i = 0; i < frames->nr; i++) {
		struct module *module = modules_find(modules, frames->pc[i]);
		struct probe_code fork;

		if (!module || (module != purge->module && !is_libc(module, &fork)))
			return false;
		own |= module == purge->module;
		waits |= !own && waits_in(module, frames->pc[i]);
	}
	return waits && own;
}

static struct err *check_stack(const struct session *session, const struct purge *purge,
			       const struct memory_view_thread *thread, const struct probe_code *fork)
{
	const struct process *process = session->current;
	struct stack_frames frames;
	const char *why = NULL;
	bool asleep;
	struct err *err = !thread->stopped ? err_create(ERR_BUSY, "thread %d cannot be stopped",
							thread->tid) :
		backtrace_frames(process->target, NULL, &thread->regs, &process->probes->walk_area,
				 &frames);

	if (err)
		return err;
	if (frames.end != WALK_COMPLETE)
		why = "has a stack that cannot be walked to its end";
	asleep = sleeps(session, purge, thread, &frames);
	for (uint32_t i = 0; i < frames.nr && !why && !asleep; i++) {
		if (holds(purge->module, frames.pc[i]))
			why = "is inside the allocator";
		else if (frames.pc[i] - fork->start <= fork->len)
			why = "is in fork";
	}
	backtrace_frames_free(&frames);
	if (!why && thread->inside)
		why = "is inside the allocator, or may be";
	return why ? err_hint(err_create(ERR_BUSY, "thread %d %s", thread->tid, why), "try again") : NULL;
}

static struct err *check_stacks(const struct session *session, const struct purge *purge,
				const struct memory_view *view, const struct probe_code *fork)
{
	struct err *err = NULL;

	vec_each_while(thread, &view->threads, !err)
		err = check_stack(session, purge, thread, fork);
	return err;
}

struct err *purge_prepare(struct session *session, const struct memory_view *view,
			  struct purge *ret)
{
	const struct modules *modules = &session->current->target->modules;
	struct probe_code fork = { .len = 0 };
	unsigned libcs = 0;
	struct err *err;

	ret->allocator = session->allocators.purges;
	err = find_library(session, ret);
	if (!err)
		err = check_probes(session);
	for (size_t i = 0; i < modules->live.nr && !err; i++) {
		if (!is_libc(modules->live.at[i], &fork))
			continue;
		libcs++;
		err = check_stacks(session, ret, view, &fork);
		if (!err)
			err = check_text(session, modules->live.at[i]);
	}
	if (!err && !libcs)
		err = unsupported(session, "has no C library that is known beside it");
	return err ? err : check_text(session, ret->module);
}

struct err *purge_call(struct remote *remote, const struct purge *purge)
{
	const char *name = purge->allocator->purge_name;
	uint64_t args[] = { purge->allocator->purge_arg, 0, 0, 0, 0 };
	struct err *err = name ? remote_deep_bytes(remote, name, strlen(name) + 1, &args[0]) : NULL;

	remote->limit = LIMIT_NS;
	return err ? err : remote_function(remote, purge->address, args, ARRAY_SIZE(args));
}
