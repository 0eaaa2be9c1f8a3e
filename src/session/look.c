/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Looking at a target: probes, symbols, threads, stacks, registers. */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "probe/area.h"
#include "probe/place.h"
#include "probe/probe.h"
#include "session/follow.h"
#include "session/hands.h"
#include "session/private.h"
#include "symbol/symbol.h"
#include "target/core.h"
#include "target/region.h"
#include "target/stack.h"
#include "target/target.h"

/* --- names --- */

static void warn_of_names(void *ctx, const char *text)
{
	struct session *session = ctx;

	session->names_warned = true;
	session_warn(session, text);
}

bool session_names_warned(struct session *session)
{
	bool warned = session->names_warned;

	session->names_warned = false;
	return warned;
}

static struct err *know_module(struct session *session, const struct module *module,
			       struct known_modules *known)
{
	struct symbol_module symbol = {
		.path = module->path,
		.fd = module->fd,
		.bytes = module->image,
		.bytes_len = module->image_len,
		.start = module->start,
		.end = module->end,
		.bias = module->bias,
		.born = module->born,
		.died = module->died,
	};
	struct known_module now = {
		.start = module->start,
		.serial = module->serial,
		.born = module->born,
		.died = module->died,
	};
	struct err *err = vec_reserve(&known->vec, 1);

	if (!err)
		err = symbols_add(session->symbols, &symbol);
	if (err)
		return err;
	known->vec.at[known->vec.nr++] = now;
	if (module->over_limit)
		warn_of_names(session, module->why);
	return NULL;
}

/* Merged with one that came before (modules_merge), whose time has gone on since. */
static void forget_module(struct session *session, struct known_modules *known, size_t at)
{
	const struct known_module *gone = &known->vec.at[at];

	symbols_end(session->symbols, gone->start, gone->born, gone->born);
	vec_remove(&known->vec, at);
}

static void follow_module(struct session *session, const struct module *module,
			  struct known_module *was)
{
	if (was->died == module->died)
		return;
	symbols_end(session->symbols, was->start, was->born, module->died);
	was->died = module->died;
}

/* What has come to, or gone from, a module map since the last time. Both are in order of serials. */
static struct err *know_modules(struct session *session, const struct modules *modules,
				struct known_modules *known)
{
	struct err *err = NULL;
	size_t at = 0;

	for (size_t i = 0; i < modules->all.nr && !err; i++, at++) {
		const struct module *module = modules->all.at[i];

		while (at < known->vec.nr && known->vec.at[at].serial < module->serial)
			forget_module(session, known, at);
		if (at < known->vec.nr)
			follow_module(session, module, &known->vec.at[at]);
		else
			err = know_module(session, module, known);
	}
	while (!err && at < known->vec.nr)
		forget_module(session, known, at);
	return err;
}

static struct err *know_entry(struct session *session, uint64_t address, const char *known_as)
{
	char *name;
	struct err *err;

	if (map_get(&session->entry_names, address))
		return NULL;
	name = strdup(known_as);
	err = name ? map_put(&session->entry_names, address, name) : err_nomem;
	if (err)
		free(name);
	return err;
}

static struct err *know_entries(struct session *session)
{
	struct probes *probes = session->probes;
	struct err *err = NULL;

	for (size_t i = 0; probes && i < probes->past_entries.nr && !err; i++)
		err = know_entry(session, probes->past_entries.at[i].address,
				 probes->past_entries.at[i].name);
	if (probes && !err)
		vec_clear(&probes->past_entries);
	for (size_t i = 0; probes && i < probes->all.nr && !err; i++)
		if (probes->all.at[i]->fn)
			err = know_entry(session, probes->all.at[i]->address,
					 probes->all.at[i]->fn->name);
	return err;
}

/* Changes whenever the module map of any process does. */
static uint64_t map_generations(const struct session *session)
{
	uint64_t sum = session->target->modules.generation;

	for (size_t i = 0; i < session->followers.nr; i++)
		sum += session->followers.at[i]->target->modules.generation;
	return sum;
}

/*
 * Runs on the tracer thread while the main thread waits, so that neither sees the other's halves.
 */
static struct err *sync_job(void *arg)
{
	struct session *session = arg;
	struct err *err = NULL;

	if (!session->symbols)
		err = symbols_create(session->target->core ? 0 : session->pid,
				     &session->symbols);
	if (!err)
		symbols_set_warn(session->symbols, warn_of_names, session);
	if (!err)
		symbols_floor(session->symbols, session->floor);
	if (!err)
		err = know_modules(session, &session->target->modules, &session->known);
	for (size_t i = 0; i < session->followers.nr && !err; i++)
		err = know_modules(session, &session->followers.at[i]->target->modules,
				   &session->followers.at[i]->known);
	if (!err)
		err = know_entries(session);
	if (!err)
		session->known_generation = map_generations(session);
	return err;
}

struct err *session_sync_modules(struct session *session)
{
	struct err *err = session->target ? hands_look(session) : NULL;

	if (err || !session->target ||
	    (session->symbols && session->known_generation == map_generations(session)))
		return err;
	return session_call(session, sync_job, session);
}

struct symbols *session_symbols(struct session *session)
{
	err_ignore(session_sync_modules(session));	/* then what is new has no name yet */
	return session->symbols;
}

const char *session_entry_name(struct session *session, uint64_t pc)
{
	return map_get(&session->entry_names, pc);
}

/* --- probes --- */

struct probes_job {
	struct session *session;
	struct session_probes *ret;
};

static const char *why(const struct session *session, const struct probe *probe)
{
	if (probe->overwritten)
		return "another tool has written over its patch";
	switch (probe->state) {
	case PROBE_REFUSED:
		return probe->why;
	case PROBE_PLANNED:
		return "not armed";
	default:
		return session->config.engine == SESSION_ENGINE_BREAKPOINT
			? "as asked for by --engine"
			: probe->why;
	}
}

static void describe_user(const struct alloc_function *fn, struct session_probe *ret)
{
	if (!fn->user)
		return;
	if (fn->role == ALLOC_FREE)
		snprintf(ret->user, sizeof(ret->user), "free ptr=%d", fn->ptr + 1);
	else if (fn->role == ALLOC_NEW)
		snprintf(ret->user, sizeof(ret->user), "alloc size=%d ptr=ret", fn->size + 1);
	else
		snprintf(ret->user, sizeof(ret->user), "alloc size=%d ptr=%d", fn->size + 1,
			 fn->ptr + 1);
}

static void describe(const struct session *session, const struct probe *probe,
		     struct session_probe *ret)
{
	memset(ret, 0, sizeof(*ret));
	snprintf(ret->function, sizeof(ret->function), "%s", probe->fn->name);
	snprintf(ret->symbol, sizeof(ret->symbol), "%s", probe->fn->symbol);
	snprintf(ret->module, sizeof(ret->module), "%.63s", path_base(probe->module->path));
	ret->address = probe->address;
	ret->patch = probe->patch;
	describe_user(probe->fn, ret);
	ret->active = probe_records(probe);
	if (ret->active)
		snprintf(ret->engine, sizeof(ret->engine),
			 probe->engine == PROBE_JUMP ? "jump" : "breakpoint");
	snprintf(ret->why, sizeof(ret->why), "%.191s", why(session, probe));
}

static struct err *probes_job(void *arg)
{
	struct probes_job *job = arg;
	struct probes *probes = job->session->probes;

	for (size_t i = 0; probes && i < probes->all.nr; i++) {
		struct session_probe described;
		struct err *err;

		if (!probes->all.at[i]->fn || probes->all.at[i]->gone || place_came_again(probes, i))
			continue;
		describe(job->session, probes->all.at[i], &described);
		err = vec_push(&job->ret->vec, described);
		if (err)
			return err;
	}
	return NULL;
}

struct err *session_probes(struct session *session, struct session_probes *ret)
{
	struct session_probes probes = { VEC_INIT };
	struct probes_job job = { session, &probes };
	struct err *err = session_call(session, probes_job, &job);

	if (err)
		vec_free(&probes.vec);
	else
		*ret = probes;
	return err;
}

/*
 * "2.36" from the banner in libc's constants ("GNU C Library (...) stable release version 2.36."),
 * or "".
 */
static void glibc_version(struct module *module, char *ret, size_t room)
{
	static const char banner[] = "release version ";
	const struct elf_segment *segment;
	size_t nr;

	*ret = '\0';
	segment = elf_file_segments(module->elf, &nr);
	for (size_t i = 0; i < nr; i++) {
		AUTO_FREE char *bytes = NULL;
		char *found;

		if (segment[i].write || segment[i].exec || segment[i].filesz > (16u << 20))
			continue;
		bytes = calloc(1, segment[i].filesz + 16);
		if (!bytes ||
		    elf_file_read(module->elf, segment[i].vaddr, bytes, segment[i].filesz))
			continue;
		found = memmem(bytes, segment[i].filesz, banner, sizeof(banner) - 1);
		if (found) {
			found += sizeof(banner) - 1;
			snprintf(ret, room, "%.*s", (int)strspn(found, "0123456789."), found);
			/* the sentence's full stop */
			ret[strlen(ret) ? strlen(ret) - 1 : 0] = '\0';
			return;
		}
	}
}

struct module *session_glibc(const struct session *session)
{
	const struct modules *modules = &session->target->modules;
	char version[16];

	for (size_t i = 0; i < modules->live.nr; i++) {
		struct module *module = modules->live.at[i];
		const char *name = path_base(module->path);

		if (module->elf && (!strncmp(name, "libc.so", 7) || !strncmp(name, "libc-2.", 7))) {
			glibc_version(module, version, sizeof(version));
			if (*version)
				return module;
		}
	}
	/* A static program seldom has the banner: whether its malloc is glibc's, the walk finds out. */
	for (size_t i = 0; i < modules->live.nr; i++) {
		struct module *module = modules->live.at[i];
		struct elf_symbol symbol;

		if (module->elf && !elf_file_symbol(module->elf, "malloc", &symbol) &&
		    !alloc_module_is_private(path_base(module->path)))
			return module;
	}
	return NULL;
}

static void describe_allocator(struct module *module, char *ret, size_t room)
{
	static const char *const known[][2] = {
		{ "libjemalloc", "jemalloc" }, { "libtcmalloc", "tcmalloc" },
		{ "libmimalloc", "mimalloc" }, { "libc.musl", "musl" },
		{ "ld-musl", "musl" },
	};
	const char *name = path_base(module->path);
	char version[16];

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (!strncmp(name, known[i][0], strlen(known[i][0]))) {
			snprintf(ret, room, "%s", known[i][1]);
			return;
		}
	glibc_version(module, version, sizeof(version));
	if (*version)
		snprintf(ret, room, "glibc %s (ptmalloc)", version);
	else
		snprintf(ret, room, "%.40s's own", name);
}

static void name_allocator(struct session *session, struct module *module)
{
	size_t len = strlen(session->allocator);
	char text[64];

	describe_allocator(module, text, sizeof(text));
	snprintf(session->allocator + len, sizeof(session->allocator) - len, "%s%s",
		 len ? ", " : "", text);
}

/* A core has no probes: whoever has a malloc. */
static struct err *allocator_job(void *arg)
{
	struct session *session = arg;
	struct probes *probes = session->probes;

	session->allocator[0] = '\0';
	for (size_t i = 0; session->target->core && i < session->target->modules.live.nr; i++) {
		struct module *module = session->target->modules.live.at[i];
		struct elf_symbol symbol;

		if (module->elf && !elf_file_symbol(module->elf, "malloc", &symbol) &&
		    !alloc_module_is_private(path_base(module->path)))
			name_allocator(session, module);
	}
	for (size_t i = 0; probes && i < probes->all.nr; i++) {
		const struct probe *probe = probes->all.at[i];

		if (probe->fn && !strcmp(probe->fn->symbol, "malloc") &&
		    probe->module->died == UINT32_MAX)
			name_allocator(session, probe->module);
	}
	return NULL;
}

const char *session_allocator(struct session *session)
{
	if (!session->allocator[0])
		err_ignore(session_call(session, allocator_job, session));
	return session->allocator[0] ? session->allocator : "unknown";
}

/* --- threads --- */

struct threads_job {
	struct session *session;
	struct session_threads *ret;
	struct err *err;
};

/* What /proc says of it, while it does what it does. */
static struct err *add_thread(struct session *session, pid_t tid, struct session_threads *ret)
{
	struct session_thread described = { .lwp = tid, .main = tid == session->pid };
	struct proc_status status;

	if (procfs_status(tid, &status))
		return NULL;
	described.name = status.name;
	described.state = status.state;
	described.blocks_sigtrap = status.sig_blocked >> 4 & 1;
	return vec_push(&ret->vec, described);
}

/* And what only its registers say. */
static void add_registers(struct session *session, struct session_thread *described, bool stopped)
{
	const struct thread *thread = target_thread(session->target, described->lwp);
	const struct arch *arch = session->target->arch;

	if (!thread)
		return;
	described->pthread = regs_get(&thread->regs, arch->tp);
	described->blocks_sigtrap |= thread->blocks_sigtrap;
	if (stopped && thread->state == THREAD_STOPPED)
		described->pc = regs_get(&thread->regs, arch->pc);
}

static struct err *threads_job(void *arg)
{
	struct threads_job *job = arg;
	struct session *session = job->session;
	bool stopped = session->target->stopped, held = session->target->hands_off, was;
	struct proc_tasks tasks = { VEC_INIT };
	struct err *err = procfs_tasks(session->target->mem.tid, &tasks);

	for (size_t i = 0; i < tasks.vec.nr && !err; i++)
		err = add_thread(session, tasks.vec.at[i], job->ret);
	vec_free(&tasks.vec);
	job->ret->traced = !held;
	if (!err && held)
		err = session_hold(session, &was);
	if (err)
		return err;
	for (size_t i = 0; i < job->ret->vec.nr; i++)
		add_registers(session, &job->ret->vec.at[i], stopped);
	if (held)
		session_let_go(session, was);
	return NULL;
}

static void add_core_thread(struct thread *thread, void *ctx)
{
	struct threads_job *job = ctx;
	struct session_thread described = {
		.lwp = thread->tid, .state = '-', .main = thread->tid == job->session->pid,
	};

	add_registers(job->session, &described, true);
	/* The kernel writes down the name of the process alone. */
	if (described.main)
		snprintf(described.name.bytes, sizeof(described.name.bytes), "%s",
			 thread->target->core->file->process.name);
	if (!job->err)
		job->err = vec_push(&job->ret->vec, described);
}

static int by_lwp(const void *left, const void *right)
{
	const struct session_thread *a = left, *b = right;

	return (a->lwp > b->lwp) - (a->lwp < b->lwp);
}

static struct err *core_threads_job(void *arg)
{
	struct threads_job *job = arg;

	target_each_thread(job->session->target, add_core_thread, job);
	if (job->ret->vec.nr)
		qsort(job->ret->vec.at, job->ret->vec.nr, sizeof(*job->ret->vec.at), by_lwp);
	return job->err;
}

struct err *session_threads(struct session *session, struct session_threads *ret)
{
	struct session_threads threads = { .vec = VEC_INIT };
	struct threads_job job = { .session = session, .ret = &threads };
	struct err *err = session_need_view(session);

	if (!err)
		err = session_call(session, session->target->core ? core_threads_job : threads_job,
				   &job);
	if (err)
		vec_free(&threads.vec);
	else
		*ret = threads;
	return err;
}

struct where_job {
	struct session *session;
	pid_t lwp;		/* 0: all */
	uint32_t max;
	struct session_stacks *ret;
	struct regs *regs;
	struct err *err;
	bool found;
};

static void where_one(struct thread *thread, void *ctx)
{
	struct where_job *job = ctx;
	struct probes *probes = job->session->probes;
	struct session_stack stack = { .lwp = thread->tid, .pcs = VEC_INIT };
	struct regs regs;

	if (job->err || thread->state != THREAD_STOPPED || (job->lwp && thread->tid != job->lwp))
		return;
	job->found = true;
	job->err = vec_reserve(&stack.pcs, job->max);
	if (!job->err)
		job->err = vec_reserve(&job->ret->vec, 1);
	if (job->err) {
		vec_free(&stack.pcs);
		return;
	}
	regs = thread->regs;
	if (probes)
		area_walk_regs(probes, &thread->regs, &regs);
	stack.pcs.nr = stack_walk(thread->target, &regs, probes ? &probes->walk_area : NULL,
				  stack.pcs.at, job->max, &stack.end);
	job->ret->vec.at[job->ret->vec.nr++] = stack;
}

static struct err *not_found(const struct where_job *job)
{
	const struct thread *thread = target_thread(job->session->target, job->lwp);

	if (thread && thread->stuck)
		return err_create(ERR_BUSY,
				  "thread %d is in an uninterruptible sleep: it cannot be stopped",
				  job->lwp);
	return err_hint(err_create(ERR_NOTFOUND, "process %d has no thread %d", job->session->pid,
				   job->lwp),
			"`thread` lists them");
}

static struct err *where_job(void *arg)
{
	struct where_job *job = arg;
	struct session *session = job->session;
	bool was;
	struct err *err = session_hold(session, &was);

	if (err)
		return err;
	err = target_refresh(session->target, NULL);
	if (!err)
		target_each_thread(session->target, where_one, job);
	session_let_go(session, was);
	if (!err)
		err = job->err;
	return !err && job->lwp && !job->found ? not_found(job) : err;
}

void session_stacks_free(struct session_stacks *stacks)
{
	for (size_t i = 0; i < stacks->vec.nr; i++)
		vec_free(&stacks->vec.at[i].pcs);
	vec_free(&stacks->vec);
}

struct err *session_where(struct session *session, pid_t lwp, uint32_t max,
			  struct session_stacks *ret)
{
	struct session_stacks stacks = { VEC_INIT };
	struct where_job job = { .session = session, .lwp = lwp, .max = max, .ret = &stacks };
	struct err *err = session_need_view(session);

	if (!err)
		err = session_call(session, where_job, &job);
	if (!err)
		err = session_sync_modules(session);
	if (err)
		session_stacks_free(&stacks);
	else
		*ret = stacks;
	return err;
}

static struct err *registers_job(void *arg)
{
	struct where_job *job = arg;
	struct thread *thread;
	bool was;
	struct err *err = session_hold(job->session, &was);

	if (err)
		return err;
	thread = target_thread(job->session->target, job->lwp);
	if (thread && thread->state == THREAD_STOPPED)
		*job->regs = thread->regs;
	else
		err = not_found(job);
	session_let_go(job->session, was);
	return err;
}

struct err *session_registers(struct session *session, pid_t lwp, struct regs *ret)
{
	struct where_job job = { .session = session, .lwp = lwp, .regs = ret };
	struct err *err = session_need_view(session);

	return err ? err : session_call(session, registers_job, &job);
}

struct err *session_maps(struct session *session, struct proc_maps *ret)
{
	struct err *err = session_need_view(session);

	if (!err)
		err = target_maps(session->target, ret);
	/* The numbers that a core's mappings have are mdbg's own. */
	for (size_t i = 0; !err && session->target->core && i < ret->vec.nr; i++)
		ret->vec.at[i].inode = 0;
	return err;
}
