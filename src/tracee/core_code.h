/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * mdbg's own code in a core file: the core of a process that mdbg was attached to, or had left
 * probes in, has the areas with it (private anonymous memory, which is dumped; the log is not).
 *
 * Nobody says where they are: the journal is not in the core. A slot of an area is known by its head
 * (struct agent_slot), which has what a walk must know. For a PC in a displaced prologue the
 * prologue is made anew from the function's file, and compared. A thread that is in the agent's own
 * code, which has no slots, is walked from the thunk that has called it.
 */
#pragma once

#include "unwind/walk.h"

struct core;
struct regs;

/* How stacks of the core run through such code. core must live as long as the result. */
struct walk_area core_code_area(struct core *core);
/* The registers with which a walk of such a thread begins: its own, or those of that thunk. */
void core_code_start(struct core *core, const struct regs *regs, struct regs *ret);
