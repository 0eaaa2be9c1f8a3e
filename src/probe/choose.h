/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Chooses the place of a probe's patch, and the engine that it is for: the first of these ways that
 * is safe.
 *
 *	way			the patch	why it comes there
 *	jump behind		5 bytes behind the first instruction, which stays in place (arch.h,
 *				struct entry_insn): a kernel uprobe or a debugger's breakpoint on the
 *				function, before or after ours, runs that instruction and arrives at
 *				the patch
 *	jump at the entry	5 bytes from the first on. A uprobe that is put there later makes the
 *				kernel run the file's first instruction and go on in the middle of the
 *				jump: the process dies. So `malloc -v` says that the function has it
 *	breakpoint behind	1 byte behind the first instruction
 *	breakpoint at the entry	1 byte. A uprobe that is put there later takes the traps
 *
 * PROBE_ONLY_BREAKPOINT knows the last two, PROBE_ONLY_JUMP the first two. A way is safe if the
 * instructions under the patch, and in front of it, can be displaced; if no branch of the function,
 * as its file has it, and no other function's symbol goes to a byte of the patch but the first one
 * of the function itself; and, for a jump, if it lies in one page and the agent can be told of the
 * arguments. Behind the first instruction a branch to the patch itself counts, too: a thread that
 * comes by it has not run that instruction, but the thunk would undo it.
 *
 * Text is compared with the file before it is believed. In front of the patch there may be a trap
 * of another tool (the kernel's, for a uprobe): it replaces the file's instruction, which stays in
 * place.
 *
 * If a jump becomes a breakpoint later (choose_no_jump), that is put where the jump would have
 * been.
 */
#pragma once

#include <stddef.h>

#include "base/err.h"

struct module;
struct probes;

/*
 * Decide for the probes of a module, from the index `first` on, all of them PLANNED: each gets its
 * code, place and engine, or is REFUSED with its reason. The target may run.
 */
void choose_ways(struct probes *probes, struct module *module, size_t first);
