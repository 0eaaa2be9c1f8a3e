/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Starting a program under mdbg.
 *
 *	fork; the child waits for a byte	parent: PTRACE_SEIZE, then the byte
 *	execvp					stop at PTRACE_EVENT_EXEC: the program's first
 *						instruction is the loader's
 *	the loader maps the libraries		a trap at its debugger hook (_dl_debug_state), where
 *						it says that all are mapped and relocated, before
 *						the first constructor of the program's (those of
 *						LD_AUDIT's libraries have run); a static program:
 *						at its entry
 *
 * In between, for some milliseconds, the program has a trap that nobody else knows. If mdbg is
 * killed then, the program that it was starting ends, too. After that it is like a process that was
 * attached to.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

struct target;
struct tracer;

struct start_spec {
	char *const *argv;	/* ends with NULL; argv[0] is looked for in PATH */
	bool keep_stdin;	/* else /dev/null */
	bool own_group;		/* a process group of its own */
};

/* A traced child in PTRACE_EVENT_EXEC. ERR_NOTFOUND and the like if it cannot be executed. */
struct err *start_program(struct tracer *tracer, const struct start_spec *spec,
			  pid_t *pid_ret) MUST_CHECK;
/*
 * Let it (just adopted by target) run until its libraries are mapped; STOPPED then. ERR_GONE: it
 * ended before, its wait status is in
 * *status_ret.
 */
struct err *start_to_loaded(struct target *target, int *status_ret) MUST_CHECK;
