/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The stacks of a session's log as a recording has them: by module, build-id and names as they are
 * known now (record/record.h).
 */
#pragma once

#include "answer/stack.h"
#include "record/names.h"

struct recorder_stacks {
	struct session *session;
	struct record_names *names;
	struct symbols *symbols;
	uint64_t log;			/* whose stacks they are; 0: none yet */
	struct stack_numbers numbers;	/* of places in code */
	struct stack_ends ends;
	VEC(uint32_t) locations;	/* by number of the place: that of the recording, or 0 */
	VEC(uint32_t) stacks;		/* by id: the same */
};

/* What was known is dropped: the names have begun anew, or there is another log or process. */
void recorder_stacks_begin(struct recorder_stacks *stacks, struct session *session,
			   struct record_names *names);
/* The log is the session's, and must exist. A stack that the log does not have is "(no stack)". */
struct err *recorder_stacks_number(struct recorder_stacks *stacks, uint32_t stack,
				   uint32_t *ret) MUST_CHECK;
void recorder_stacks_free(struct recorder_stacks *stacks);
