/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Double frees, and frees of what is no block, among the unknown frees of the log
 * (log/unknown_free.h).
 *
 * A double free was recognised when it happened. A free of something that is no block is recognised
 * now, if it is certain that it was none then: the address was on the caller's own stack, in a
 * module's segments, or inside a recorded block that was allocated before and is still live. All
 * other unknown frees may have been of blocks from before the attach, and are not listed.
 */
#pragma once

#include "heap/block.h"

struct modules;
struct probes;

enum session_unknown_free_kind {
	SESSION_UNKNOWN_FREE_DOUBLE,		/* free.block is what it was */
	SESSION_UNKNOWN_FREE_STACK,
	SESSION_UNKNOWN_FREE_INSIDE,		/* of `around` */
	SESSION_UNKNOWN_FREE_MODULE,		/* named `module` */
	SESSION_UNKNOWN_FREE_NONE,
};

struct session_unknown_free {
	enum session_unknown_free_kind kind;
	struct log_unknown_free free;
	uint64_t address;		/* in its process */
	uint8_t process;
	struct block around;
	char module[64];
};

struct session_unknown_frees {
	VEC(struct session_unknown_free) vec;	/* double ones first; each kind by time */
	uint64_t doubles;		/* in all; the oldest may not be listed */
	uint64_t invalid;		/* in vec */
	char untold[192];		/* why double frees are not reported; "" */
	char doubt[192];		/* why those in vec may be correct frees; "" */
};

/* By what they are judged. */
struct unknown_frees_by {
	const struct log *log;
	struct blocks *blocks;		/* of the log, in order */
	const struct modules *modules;	/* NULL: none are known */
	const struct probes *probes;	/* NULL: there are none */
};

/* Tracer thread, which owns the modules. */
struct err *unknown_frees_judge(const struct unknown_frees_by *by,
				struct session_unknown_frees *ret) MUST_CHECK;
void session_unknown_frees_free(struct session_unknown_frees *unknown_frees);
/* "double", "stack", "inside", "module" */
const char *session_unknown_free_word(enum session_unknown_free_kind kind);
