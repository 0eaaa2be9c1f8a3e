/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Running thunks: functions and an agent that note what they see, places where a thunk may lie, and
 * runs of it, one of them step by step.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "execute.h"

/* Words of the frame, lowest address first. */
enum {
	F_BP, F_BX, F_R11, F_R10, F_R9, F_R8, F_DI, F_SI, F_DX, F_CX, F_AX, F_PAD, F_OP, F_UNUSED,
	F_ARG, F_RETURN = F_ARG + 3, F_WORDS = F_RETURN + 5,	/* a wide frame has four more */
};

struct seen {
	uint64_t clock;		/* 0: was not called */
	uint64_t value;
	uint64_t sp, ret;
	uint64_t reg[15];	/* as struct cpu */
};

struct agent_seen {
	uint64_t clock;
	uint64_t value;
	uint64_t sp, ret;
	uint64_t arg[3];
	uint64_t stack[F_WORDS];
};

struct unknown_free_seen {
	struct agent_seen agent;
	uint64_t bp, bx, said;	/* the arguments after the first three */
};

extern uint64_t thunk_entry;	/* SP at the entry of the last run */
extern struct seen seen_callee, seen_nothrow;
extern struct agent_seen seen_enter, seen_leave, seen_release;
extern struct unknown_free_seen seen_unknown_free;

#define THUNK_PROBE	0x7123456789abcdefull

/* Where the thunk lies, and where what it calls; both ways are by a jump there, if not here. */
struct thunk_place {
	unsigned thunk;
	bool function_away, agent_away;		/* not in the thunk's reach */
	uint8_t undo;				/* bytes that the first instruction takes from SP */
	bool counted;				/* its calls are, if it is not THUNK_FREE */
};

#define THUNK_PLACES	8
extern const struct thunk_place thunk_places[THUNK_PLACES];

/* What the called functions return in a run. */
struct thunk_values {
	uint64_t callee, nothrow, enter, release;
};

/* The return address of a call by execute(). */
extern uint64_t thunk_direct_ret;

/* Of a suite: 0, or else the areas cannot be had. */
int thunk_set_up(void);
int thunk_tear_down(void);

/*
 * The thunk of spec is made at a place, and copied there; what it is to call, if not by nothrow, is
 * filled in. The thunk's area is filled with hlt: nothing behind the thunk may run.
 */
const uint8_t *thunk_build(const struct thunk_place *place, struct thunk_spec spec,
			   struct thunk *thunk);

/*
 * Twice, the first time step by step: each return must be from the call that came last, and a
 * function that returns to a thunk that counts must find its own call counted, and nobody
 * afterwards. What is seen, and out, are of the second time.
 */
void thunk_run(const uint8_t *code, struct thunk_values values, struct cpu *in, struct cpu *out);
