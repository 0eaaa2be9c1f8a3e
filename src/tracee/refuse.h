/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Finds out why a process cannot be attached to, before an attach and after PTRACE_SEIZE was
 * refused, so that the user gets one clear line and a hint. All errors are ERR_ATTACH with a hint.
 */
#pragma once

#include <sys/types.h>

#include "base/err.h"

/*
 * Before anything else, and before a program is started: is /proc of another PID namespace than
 * mdbg? Then what is read there would be of another process than the one that is stopped and
 * changed. Or is it not mounted?
 */
struct err *refuse_check_proc(void) MUST_CHECK;
/*
 * Before: what refuse_check_proc says; no such process (or a thread's id: names the process),
 * zombie, kernel thread, mdbg itself (or one of its own threads), already traced (by whom: pid and
 * name; one that was killed is waited for), a program of another processor or word size (32-bit, x32) as its ELF header
 * says, one that runs under valgrind, qemu-user, rr, DynamoRIO or Pin (translator.h). NULL: go
 * on.
 */
struct err *refuse_check(pid_t pid) MUST_CHECK;
/*
 * One of its threads was seen to have this tracer, which may have let go of it since. (refuse_explain
 * would then look for another reason.)
 */
struct err *refuse_traced(pid_t pid, pid_t tracer) MUST_CHECK;
/*
 * After PTRACE_SEIZE of pid failed with errnum: somebody else's process (names the user), not
 * dumpable, yama's ptrace_scope (its value, and what to do), a missing capability, a container's
 * or user namespace's border, seccomp or an LSM, a tracer that came meanwhile. Never NULL.
 */
struct err *refuse_explain(pid_t pid, int errnum) MUST_CHECK;
