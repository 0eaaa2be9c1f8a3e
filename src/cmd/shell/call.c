/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Functions that commands have in common. */

#include "cmd/shell/call.h"

#include <string.h>

#include "cmd/shell/shell.h"
#include "heap/filter.h"

struct err *call_bad_word(const char *word)
{
	return err_create(ERR_USAGE, "'%s' is not expected here", word);
}

int call_word_index(const char *word, const char *const *words)
{
	for (int i = 0; words[i]; i++)
		if (!strcmp(words[i], word))
			return i;
	return -1;
}

struct err *call_not_recorded(const char *what)
{
	return err_hint(err_create(ERR_STATE, "%s", what),
			"a recording answers: malloc, malloc sites, tree, diff, history; memory, account, "
			"system; growth, export, report. `mdbg -p PID` asks the process");
}

static struct err *only_a_recording(void)
{
	return call_not_recorded("there is no process, only its recording");
}

struct err *call_need_target(const struct call *call)
{
	switch (session_state(call->session)) {
	case SESSION_NONE:
		return err_hint(err_create(ERR_STATE, "no process"), "attach PID");
	case SESSION_ENDED:
		return err_hint(
			err_create(ERR_STATE, "process %d is gone", session_pid(call->session)),
			"its log still answers: malloc, malloc allocations, malloc sites");
	case SESSION_CORE:
		return err_hint(err_create(ERR_STATE, "there is no process, only its core file"),
				"a core answers: malloc, malloc allocations, freespace, leaks, "
				"check, find; where, thread, registers, map, proc");
	case SESSION_REPLAY:
		return only_a_recording();
	default:
		return NULL;
	}
}

struct err *call_need_view(const struct call *call)
{
	return session_state(call->session) == SESSION_CORE ? NULL : call_need_target(call);
}

struct err *call_need_log(const struct call *call)
{
	if (session_state(call->session) == SESSION_REPLAY)
		return only_a_recording();
	if (session_log(call->session)) {
		/* This adds the modules that were loaded last, so that their stacks have names. */
		(void)session_symbols(call->session);
		return NULL;
	}
	return err_hint(err_create(ERR_STATE, "no process: nothing is recorded"), "attach PID");
}

struct err *call_need_recording(const struct call *call)
{
	struct err *err = call_need_log(call);

	if (err || session_recorded(call->session))
		return err;
	if (session_state(call->session) == SESSION_CORE)
		err = err_create(ERR_STATE,
				 "nothing was recorded: there is no process, only its core file");
	else
		err = err_create(ERR_STATE, "nothing is recorded: `malloc on` puts the probes in");
	return err_hint(err, "`malloc allocations` and `malloc leaks` walk its heaps");
}

struct err *call_need_replay(const struct call *call)
{
	if (session_state(call->session) == SESSION_REPLAY)
		return NULL;
	return err_hint(err_create(ERR_STATE, "no recording is open"), "mdbg --replay DIR[@TIME]");
}

struct err *call_need_figures(const struct call *call)
{
	return session_state(call->session) == SESSION_REPLAY ? NULL : call_need_view(call);
}

struct err *call_need_moments(const struct call *call)
{
	return session_state(call->session) == SESSION_REPLAY ? NULL : call_need_recording(call);
}

struct err *call_thread(const struct call *call, const char *word, pid_t *ret)
{
	struct session_threads threads = { .vec = VEC_INIT };
	uint64_t number;
	pid_t lwp = 0;
	struct err *err = parse_number(word, &number);

	if (err)
		return err_create(ERR_USAGE, "'%s' is no thread (LWP id or pthread_t)", word);
	err = session_threads(call->session, &threads);
	if (err)
		return err;
	vec_each(thread, &threads.vec)
		if (!lwp && ((uint64_t)thread->lwp == number ||
			     (number && thread->pthread == number)))
			lwp = thread->lwp;
	vec_free(&threads.vec);
	if (!lwp)
		return err_hint(err_create(ERR_NOTFOUND, "no thread %s", word),
				"`thread` lists them");
	*ret = lwp;
	return NULL;
}
