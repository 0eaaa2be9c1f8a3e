/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Probes on brk, mmap and shared memory, for `growth`.
 *
 * Theory of operation
 *
 * They share all of a probe's machinery with the functions of allocators, except for the agent's
 * two entry points (agent/agent_growth.c) and the engine, which can only be a jump: what a
 * breakpoint costs would change the order in which threads map and unmap.
 *
 * Which functions. The wrappers of the C library: its malloc, pthread_create, fopen and so on call
 * the same bodies, so that a patched body sees them. sbrk has no probe, since it calls brk for all
 * that it changes: one event for each system call. The loader has bodies of its own for mmap and
 * munmap, by which it maps libraries, and where it is stripped they have no names: the function is
 * then the one in its CFI whose code has one system call, that of this number, in its first bytes.
 * If there are two such functions, or none, it is not watched.
 *
 * A patch never covers a system call, nor the instruction behind one: a thread that waits in the
 * kernel, perhaps where it cannot be stopped, must find the code that it left. So a body that
 * begins with `mov $NR, %eax; syscall` gets its jump in place of the first of the two.
 *
 * States. A probe of growth is planned when it is first asked for (or with its module, if that
 * comes later), and it stays in the list:
 *
 *	PLANNED -> ACTIVE	growth_functions_plan, then breakpoints_settle or probes_arm
 *	ACTIVE -> REFUSED	growth_functions_stop; its slot stays, since a thread may be in it
 *	PLANNED -> REFUSED	a thread may stand inside the patch: the caller tries again
 *	REFUSED -> PLANNED	growth_functions_plan, in the same slot
 *
 * So a thousand starts need no more memory in the target than one. All else that counts or lists
 * functions of allocators leaves these out (probe_of_allocator).
 *
 * All of this runs on the tracer thread.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"

struct module;
struct probes;

/* Bits of probes->growth, and of a function: the kinds that it is watched for. */
#define GROWTH_FUNCTIONS_BRK	1u
#define GROWTH_FUNCTIONS_MMAP	2u
#define GROWTH_FUNCTIONS_SHM	4u

/* Does the process have a C library or a loader, whose functions might be watched? */
bool growth_functions_exist(const struct probes *probes);
/*
 * Plan probes of these kinds, and of no others from now on, in all modules that are known. The
 * caller puts them in (breakpoints_settle). ERR_NOTFOUND: no function of one of the kinds was
 * found; ERR_UNSUPPORTED: one was, but none of that kind can have a jump. Then nothing was planned.
 */
struct err *growth_functions_plan(struct probes *probes, unsigned kinds) MUST_CHECK;
/*
 * Take out the patches of all of them. The target is stopped. A patch that another tool has
 * overwritten stays; the first error is returned and the rest is done all the same.
 */
struct err *growth_functions_stop(struct probes *probes) MUST_CHECK;
/* Has a probe of these kinds been refused for something that may be over soon? */
bool growth_functions_wait(const struct probes *probes);
/* For plan.c: the functions of a new module, as probes->growth says. */
struct err *growth_functions_find(struct probes *probes, struct module *module) MUST_CHECK;
