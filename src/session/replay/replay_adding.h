/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Adds up what the stacks of several recorded samples have. */
#pragma once

#include "base/map.h"
#include "heap/moment.h"

struct replay;

/* The sums so far, by the log's stacks. */
struct replay_adding {
	struct replay *replay;
	unsigned kind;			/* for the caller */
	bool any;			/* a sample has the table, which may be empty */
	uint64_t begin_ns;		/* for the caller */
	struct map sums;		/* stack + 1 -> 1 + index */
	struct moment moment;
};

struct err *replay_adding_sum(struct replay_adding *adding, uint32_t stack, uint64_t bytes,
			      uint64_t count) MUST_CHECK;
/*
 * Returns err; without an error *ret gets the moment. adding is empty then. ERR_NOTFOUND: no sample has
 * the table, which is called `what`: that is not known, and not nothing.
 */
struct err *replay_adding_end(struct replay_adding *adding, uint64_t time_ns, const char *what,
			      struct err *err, struct moment *ret) MUST_CHECK;
