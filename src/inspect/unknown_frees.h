/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Double frees, and frees of what is no block, among the unknown frees of the log
 * (log/log_unknown_free.h).
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

enum unknown_free_kind {
	UNKNOWN_FREE_DOUBLE,		/* free.block is what it was */
	UNKNOWN_FREE_STACK,
	UNKNOWN_FREE_INSIDE,		/* of `around` */
	UNKNOWN_FREE_MODULE,		/* named `module` */
	UNKNOWN_FREE_NONE,
};

struct unknown_free {
	enum unknown_free_kind kind;
	struct log_unknown_free free;
	uint64_t address;		/* in its process */
	uint8_t process;
	struct block around;
	char module[64];
};

struct unknown_frees {
	VEC(struct unknown_free) vec;	/* double ones first; each kind by time */
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
				struct unknown_frees *ret) MUST_CHECK;
void unknown_frees_free(struct unknown_frees *unknown_frees);
/* "double", "stack", "inside", "module" */
const char *unknown_frees_word(enum unknown_free_kind kind);
