/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A core file as the target of a session (tracee/core_target.h).
 *
 * It gets an empty log, so that questions to the log show that nothing was recorded. There are no
 * probes. A command that needs a process calls session_need_target; one that only looks at memory
 * calls session_need_view.
 */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "session/private.h"
#include "tracee/core_target.h"
#include "tracee/region.h"
#include "tracee/target.h"

#define TOLD_MAX	8u	/* files named in warnings */

struct job {
	const char *path, *exe;
};

/*
 * The last target's log still answers, so it is forgotten only when all of the core is open: a
 * wrong name costs nothing.
 */
static struct err *open_job(struct session *session, void *arg)
{
	const struct job *job = arg;
	AUTO_FREE char *path = strdup(job->path);
	struct region *region;
	struct target *target;
	struct err *err = path ? region_create_empty(NULL, &region) : err_nomem;

	if (err)
		return err;
	err = core_target_open(session->tracer, path, job->exe, session->cache_dir, &target);
	if (err) {
		region_free(region);
		return err;
	}
	release_forget_last(session);
	session->region = region;
	session->core_path = take(path);
	session->records = RECORDS_LACK;
	session->current->target = target;
	session->current->started = false;
	session->current->pid = session->pids[0] = target->pid;
	return NULL;
}

static bool lacks_file(const struct module *module)
{
	return !module->elf && *module->why;
}

static unsigned lacking(const struct session *session)
{
	const struct modules *modules = &session->current->target->modules;
	unsigned nr = 0;

	for (size_t i = 0; i < modules->live.nr; i++)
		nr += lacks_file(modules->live.at[i]);
	return nr;
}

static void tell_lacking(struct session *session)
{
	const struct modules *modules = &session->current->target->modules;
	unsigned told = 0, nr = lacking(session);

	for (size_t i = 0; i < modules->live.nr && told < TOLD_MAX; i++) {
		const struct module *module = modules->live.at[i];

		if (!lacks_file(module))
			continue;
		session_warn_f(session, "%.120s: %.100s", module->path, module->why);
		told++;
	}
	if (nr)
		session_warn_f(
			session,
			"%u files could not be had: there are no names for their code, and "
			"no way through its frames but by frame pointers (--core CORE EXE names the "
			"program's)",
			nr);
}

/* The user is told at once what is missing, since all later answers depend on it. */
static void tell_doubts(struct session *session)
{
	const struct core *core = session->current->target->core;

	if (core->file->missing)
		session_warn_f(session,
			       "%.100s is cut off: %" PRIu64 " bytes of memory are missing, and "
			       "what they held is not known (ulimit -c, or a full disk?)",
			       path_base(session->core_path), core->file->missing);
	if (!core->file->has_mapped)
		session_warn(session,
			     "the core does not say which files were mapped (NT_FILE): only "
			     "the program is known");
	tell_lacking(session);
	if (core->unchecked)
		session_warn_f(session,
			       "%u files are taken for those that were mapped, as the core has "
			       "nothing to compare them with",
			       core->unchecked);
}

struct err *session_core_open(struct session *session, const char *path, const char *exe)
{
	struct job job = { path, exe };
	struct err *err = session_need_none(session);

	if (!err)
		err = session_call(session, open_job, &job);
	if (err)
		return err;
	session->state = SESSION_CORE;
	tell_doubts(session);
	return session_symbols_sync(session);
}

bool session_core(const struct session *session, struct session_core *ret)
{
	const struct core *core;
	const struct core_process *process;

	if (session->state != SESSION_CORE)
		return false;
	core = session->current->target->core;
	process = &core->file->process;
	*ret = (struct session_core){
		.path = { session->core_path },
		.program = { core_target_program(core) },
		.name = { process->name }, .args = { process->args },
		.parent = process->ppid, .user = process->uid, .group = process->gid,
		.state = process->state,
		.threads = core->file->threads.nr,
		.first = core->file->threads.at[0].tid,
		.signal = process->signal, .code = process->code,
		.missing = core->file->missing,
		.lacking = lacking(session), .unchecked = core->unchecked,
	};
	return true;
}
