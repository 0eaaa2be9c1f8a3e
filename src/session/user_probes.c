/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Puts in and takes out the probes that the user names (`probe`) while the target is attached. */

#include <stdio.h>
#include <string.h>

#include "log/ledger.h"
#include "probe/probe.h"
#include "session/private.h"
#include "symbol/symbol.h"
#include "tracee/share.h"
#include "tracee/target.h"

#define NEAR_NAMES	5

/* "libfoo.so`pool_alloc" → "pool_alloc" */
static const char *plain_name(const char *function)
{
	const char *mark = strchr(function, '`');

	return mark ? mark + 1 : function;
}

struct near {
	struct str list;
	unsigned nr;
	struct err *err;
};

static bool add_near(const char *name, void *ctx)
{
	struct near *near = ctx;

	near->err = str_addf(&near->list, "%s%s", near->nr ? ", " : "", name);
	return near->err || ++near->nr == NEAR_NAMES;
}

/*
 * There is no such function: compilers append to the names of functions that they have split or
 * cloned.
 */
static struct err *unknown(struct session *session, const char *function, struct err *cause)
{
	struct near near = { STR_INIT, 0, NULL };
	struct err *err;

	err = keeping(cause, symbol_complete(session_symbols(session), plain_name(function),
					     add_near, &near));
	if (!near.err && near.nr)
		err = err_hint(err, "near it: %s", str_text(&near.list));
	else if (err->code == ERR_NOTFOUND)
		err = err_hint(err,
			       "a function that was inlined everywhere has no code of its own");
	str_free(&near.list);
	return err;
}

struct add_job {
	const struct session_probe_spec *spec;
	uint64_t address;
};

static struct alloc_function function_of(const struct session_probe_spec *spec)
{
	struct alloc_function fn = {
		.role = ALLOC_NEW,
		.size = (int8_t)(spec->size - 1),	/* 0: ALLOC_NO_ARG */
		.count = (int8_t)(spec->count - 1),
		.bytes = spec->bytes,
		.ptr = (int8_t)(spec->ptr - 1),	/* 0, the result: ALLOC_NO_ARG */
	};

	if (spec->what != SESSION_PROBE_ALLOC)
		fn.role = ALLOC_FREE;
	else if (spec->ptr)
		fn.role = ALLOC_NEW_BY_REF;
	if (spec->old) {
		fn.role = ALLOC_RESIZE;
		fn.ptr = (int8_t)(spec->old - 1);
	}
	if (spec->next) {
		fn.call = USER_CALL_CHAIN;
		fn.count = (int8_t)(spec->next - 1);
	}
	if (spec->what == SESSION_PROBE_REF)
		fn.call = USER_CALL_REF;
	else if (spec->what == SESSION_PROBE_UNREF)
		fn.call = USER_CALL_UNREF;
	return fn;
}

static struct err *settle(struct session *session, bool stood UNUSED, void *arg UNUSED)
{
	return breakpoints_settle(session->current->probes);
}

/* The target is held for it if there are other probes in it. */
static struct err *put_in(struct session *session, struct probe *probe)
{
	struct err *err;

	/* If this mdbg is killed, the next one does not know this probe. */
	err = share_set_marks(session->region, 0);
	if (err)
		return err;
	if (session->current->probes->armed && probe->state == PROBE_PLANNED)
		err = session_pause_change(session, settle, NULL);
	if (!err && probe->state == PROBE_REFUSED)
		err = err_create(ERR_UNSUPPORTED, "%s", probe->why);
	return err;
}

/*
 * An exception cannot pass the frame of a stub or thunk: the unwinder would call std::terminate.
 * Nothing in its module says whether a function lets exceptions pass. (A free has no frame.)
 */
static struct err *check_exceptions(struct session *session, const struct session_probe_spec *spec)
{
	if (spec->what != SESSION_PROBE_ALLOC || spec->nothrow ||
	    !modules_symbol(&session->current->target->modules, "__cxa_throw"))
		return NULL;
	return err_hint(err_create(ERR_UNSUPPORTED, "this program has C++ exceptions, and one that "
				   "passes a probed function ends it"),
			"if %s never lets one pass: the same with `nothrow`", spec->function);
}

static struct err *add_job(struct session *session, void *arg)
{
	struct add_job *job = arg;
	struct process *process = session->current;
	const struct module *module = modules_find(&process->target->modules, job->address);
	struct alloc_function fn = function_of(job->spec);
	struct user_function *user;
	struct probe *probe = NULL;
	struct err *err;

	if (!module || !module->elf)
		return err_create(ERR_NOTFOUND, "it is in no module");
	err = check_exceptions(session, job->spec);
	if (err)
		return err;
	if (fn.call == USER_CALL_REF || fn.call == USER_CALL_UNREF)
		session_refs_begin(session);
	err = user_functions_add(&session->users, &fn, plain_name(job->spec->function),
				 module->path, job->address - module->bias, &user);
	if (err || !process->probes)
		return err;
	err = plan_user_probes(process->probes, user, &probe);
	if (!err)
		err = put_in(session, probe);
	if (!err)
		return NULL;
	user->deleted = true;
	if (probe) {
		probe->gone = true;
		if (probe->state == PROBE_PLANNED)
			probe->state = PROBE_REFUSED;
	}
	return err;
}

struct err *session_user_probe_add(struct session *session, const struct session_probe_spec *spec)
{
	struct add_job job = { .spec = spec };
	struct err *err = session_need_target(session);
	uint64_t size;

	if (err)
		return err;
	err = symbols_find(session_symbols(session), spec->function, &job.address, &size);
	if (err)
		return unknown(session, spec->function, err);
	err = session_call(session, add_job, &job);
	if (err)
		return err_wrap(err, "probe %s", spec->function);
	session->known_generation = UINT64_MAX;		/* entry names must be made again */
	return session_symbols_sync(session);
}

static struct err *take_out(struct session *session, bool stood UNUSED, void *arg)
{
	struct process *process = session->current;
	struct user_function *user = arg;
	struct err *err = NULL;

	for (size_t i = 0; process->probes && i < process->probes->all.nr; i++) {
		struct probe *probe = process->probes->all.at[i];

		if (probe->fn == &user->fn && !probe->gone && !err)
			err = user_functions_drop(process->probes, probe);
	}
	user->deleted = !err;
	return err;
}

static struct err *delete_job(struct session *session, void *function)
{
	vec_each_value(user, &session->users.vec) {
		if (!user->deleted && !strcmp(user->name, plain_name(function)))
			return session_pause_change(session, take_out, user);
	}
	return err_hint(err_create(ERR_NOTFOUND, "no such probe"), "`probe` lists them");
}

struct err *session_user_probe_delete(struct session *session, const char *function)
{
	struct err *err = session_need_target(session);

	if (!err)
		err = session_call(session, delete_job, (void *)function);
	return err ? err_wrap(err, "probe delete %s", function) : NULL;
}
