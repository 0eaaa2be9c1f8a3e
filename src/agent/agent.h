/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The agent as mdbg sees it: a flat image of position-independent code, copied as it is into memory
 * that the target can read and execute, at any address divisible by AGENT_ALIGN. The build writes
 * agent_offsets.h, with the offsets in it:
 *
 *	AGENT_SIGTRAP		the SIGTRAP handler
 *	AGENT_SIGTRAP_RESET	the same after the replaced handler, one with SA_RESETHAND, has been
 *				called: a thread installs it
 *	AGENT_RESTORER		the handler's sa_restorer: rt_sigreturn, in the bytes by which
 *				unwinders know a signal frame
 *	AGENT_SYSCALL		`syscall; ret`
 *	AGENT_TABLE		end of the image, where struct agent_table (agent/probe_table.h) goes
 *
 * The disposition found in the target at the end is ours if its handler is AGENT_SIGTRAP or
 * AGENT_SIGTRAP_RESET. In the latter case the one to put back is `old` with SIG_DFL for its
 * handler. Any other disposition was set by the target meanwhile, and it stays.
 */
#pragma once

#include <signal.h>

#include "agent/probe_table.h"

#define AGENT_ALIGN	64

extern const uint8_t agent_image[];
extern const uint64_t agent_image_len;

#define AGENT_SA_RESTORER	0x04000000u	/* <asm/signal.h>; libcs hide it */

/*
 * The disposition to install in place of `old`; sigtrap and restorer are addresses in the target.
 * All signals are blocked while the handler runs. The stack that it runs on, and whether system
 * calls start again, are the same as with `old`. If old is no handler, it runs on the alternate
 * stack (the thread may be on a small one) and system calls start again.
 */
static inline struct agent_sigaction agent_sigaction(uint64_t sigtrap, uint64_t restorer,
						     const struct agent_sigaction *old)
{
	uint64_t seen = SA_ONSTACK | SA_RESTART;
	/* SIG_DFL and SIG_IGN are 0 and 1. */
	uint64_t flags = old->handler > 1 ? old->flags & seen : seen;

	return (struct agent_sigaction){
		.handler = sigtrap,
		.flags = flags | SA_SIGINFO | AGENT_SA_RESTORER,
		.restorer = restorer,
		.mask = UINT64_MAX,
	};
}
