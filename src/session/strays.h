/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Double frees, and frees of what is no block, among the stray frees of the log (log/stray.h). For
 * the main thread.
 *
 * A double free was told when it happened. What is no block is told now, where it is sure that it was
 * none then: the address was on the caller's own stack, or in a module's segments, or inside of a
 * recorded block that was allocated before, and is live still. All other stray frees may have been of blocks
 * from before the attach, and are not listed.
 */
#pragma once

#include "heap/block.h"

struct session;

enum session_stray_kind {
	SESSION_STRAY_DOUBLE,		/* free.block is what it was */
	SESSION_STRAY_STACK,
	SESSION_STRAY_INSIDE,		/* of `around` */
	SESSION_STRAY_MODULE,		/* named `module` */
	SESSION_STRAY_NONE,
};

struct session_stray {
	enum session_stray_kind kind;
	struct log_stray free;
	uint64_t address;		/* in its process */
	uint8_t process;
	struct block around;
	char module[64];
};

struct session_strays {
	VEC(struct session_stray) vec;	/* double ones first; each kind by time */
	uint64_t doubles;		/* that there ever were; the oldest are forgotten */
	uint64_t invalid;		/* in vec */
	char untold[192];		/* why double frees are not told; "" */
	char doubt[192];		/* why those in vec may be none; "" */
};

/* There is a log. */
struct err *session_strays(struct session *session, struct session_strays *ret) MUST_CHECK;
void session_strays_free(struct session_strays *strays);
/* "double", "stack", "inside", "module" */
const char *session_stray_word(enum session_stray_kind kind);
