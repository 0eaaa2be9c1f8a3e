/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Stacks that mdbg makes known to the agent: the table that agent/agent_stacks.h has the theory of.
 *
 * An address that a walk has missed is looked up in the mappings of the process. If it lies in
 * private memory that can be read and written, the bounds of that mapping become an entry. With each
 * look the mappings are read again: an entry whose mapping has gone, or has other bounds, is taken
 * out, and what is left is good for known_stacks_look's next STACKS_GOOD_NS. Where the mappings take
 * long to read, looks are rarer; so long as the table is empty and nothing was missed, a look reads
 * 16 bytes of the process.
 *
 * If there are more stacks than the table has room for, the one that has been in it longest makes
 * room, and comes back when it is missed again.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"

struct probes;

struct known_stack {
	uint64_t start, end;
	uint64_t since;			/* number of the look that has added it */
};

struct known_stacks {
	VEC(struct known_stack) vec;	/* as the agent has it: by address */
	uint64_t misses;		/* that were looked at */
	uint64_t looks;
	uint64_t next_ns;		/* tracer_now() from which the next look is due */
	uint64_t stamp, stamp_ns;	/* the log's clock at an earlier look, for its rate */
};

#define STACKS_GOOD_NS	2000000000ull

/*
 * Look for stacks that were missed, and renew the table. The target may run; without an agent
 * nothing is done. For each poll (now: tracer_now()).
 */
void known_stacks_look(struct probes *probes, uint64_t now);
/* Forget all, with the agent's state. */
void known_stacks_free(struct known_stacks *stacks);
