/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Recorded stacks in the log of a session, with their names.
 *
 * A recorded location is a module, its build-id and an address in its file. The log has addresses of a
 * process, so each module of a build gets a place of its own, above all addresses that a process can
 * have. Then equal code has equal addresses, whichever process and recording it is from, and the
 * stack table of the log makes one stack of it. Code of no module keeps its address.
 */
#pragma once

#include "base/map.h"
#include "base/vec.h"
#include "record/reader.h"

struct log;
struct symbols;

#define REPLAY_GENERATION	1u	/* of all stacks and modules */

struct replay_module {
	const char *path, *build_id;	/* the symbols' */
	uint64_t bias;
};

struct replay_stacks {
	struct log *log;
	struct symbols *symbols;
	struct map *entries;		/* address -> name of the allocator's function there */
	VEC(struct replay_module) modules;
	bool rebuilt;			/* there are several builds of one path */
	bool full;			/* there was no room for a stack: its blocks have none */
};

/* The stacks of one reader by its numbers: those of the log; 0: not known yet. */
struct replay_numbers {
	VEC(uint32_t) vec;
};

/* Get the log's stack for one of a reader's; it is added if it is new. */
struct err *replay_stacks_get(struct replay_stacks *stacks, const struct record_reader *reader,
			      struct replay_numbers *numbers, uint32_t number,
			      uint32_t *ret) MUST_CHECK;
void replay_stacks_free(struct replay_stacks *stacks);
