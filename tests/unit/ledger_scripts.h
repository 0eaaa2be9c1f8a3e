/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Scripts of events, each with the records and accounts that must come of it. They are played by
 * the tests of the agent and of mdbg's own traps, which must come to the same (log/ledger.h).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "log/ledger.h"

enum script_function {
	MALLOC, CALLOC, REALLOC, REALLOCARRAY, FREE, MEMALIGN_BY_REF, NEW, DELETE, SCRIPT_FUNCTIONS,
};

/* A depth on the stack: the larger, the lower SP. This one is on another stack. */
#define ELSEWHERE	99u

struct script_player {
	/* An empty log, a new thread; bounded: the bounds of its stack are known. */
	void (*restart)(bool bounded, uint64_t sample);
	/* True: the function runs as it is, and does not come back. */
	bool (*enter)(unsigned depth, enum script_function fn, const uint64_t arg[3]);
	void (*leave)(unsigned depth, enum script_function fn, uint64_t block);
	void (*release)(unsigned depth, enum script_function fn, uint64_t block);
	/* What was called at this depth has returned: its return address is overwritten. */
	void (*returned)(unsigned depth);
	struct log *(*log)(void);
	struct ledger_thread *(*thread)(void);
	/* All blocks that were ever counted to stacks. */
	uint64_t (*counted)(void);
};

void scripts_play(const struct script_player *player);

/* All accounts of the log are these; what: whose. */
void scripts_expect(const struct log *log, struct log_accounts want, const char *what);
