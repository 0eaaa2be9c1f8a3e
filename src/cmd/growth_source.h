/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The kinds of growth, and where each comes from. A source records one kind or several; it is one
 * file (growth_calls.c: brk, mmap, shm) and one line in the table of growth.c, which parses the
 * words and knows nothing of what is recorded, or how.
 */
#pragma once

#include <tcl.h>

#include "cmd/query/query.h"

struct call;
struct session;

enum growth_kind { GROWTH_BRK, GROWTH_MMAP, GROWTH_SHM, GROWTH_FAULT, GROWTH_KERNEL, GROWTH_KINDS };

/* FILTER, limit and since of `growth`, which all kinds have in common. */
struct growth_ask {
	enum growth_kind kind;
	bool alone;		/* no other kind is shown: show_end is not called */
	bool by_process;	/* of `kernel` alone: also by process, and the stack of its code */
	struct query query;	/* filter, order.limit, since, names and now_ns are set */
};

struct growth_source {
	unsigned kinds;		/* 1 << kind of those that it records */
	unsigned unasked;	/* those that `growth start` without a kind means */
	unsigned logged;	/* those that `growth log` has */
	uint32_t attrs;		/* 1 << attribute, of those that a filter may have */
	const char *lacks;	/* what to say to a filter with others, or to `since`; NULL: has all */
	bool logless;		/* its answer takes no log, so no process */
	/*
	 * Record these kinds, which are not recorded yet, beside those that are. What cannot be
	 * watched though the rest is may be printed to out.
	 */
	struct err *(*start)(struct session *session, unsigned kinds, struct out *out);
	/* Stop all kinds; called only if `running` is not 0. */
	struct err *(*stop)(struct session *session);
	/* The kinds that are recorded now. */
	unsigned (*running)(const struct session *session);
	/* Print the paragraphs of one kind, which is recorded. */
	struct err *(*show)(struct call *call, struct growth_ask *ask);
	/* What `growth` without a kind prints after all kinds of this source; NULL: nothing. */
	struct err *(*show_end)(struct call *call);
	/* The same for scripts and files: rows with bytes, count and stack. */
	struct err *(*rows)(struct call *call, struct growth_ask *ask, struct answer *ret);
	/*
	 * The same for exports: the bytes and the count of each stack of the log. unit is what is
	 * counted; NULL: its stacks are not of the log.
	 */
	struct err *(*sites)(struct call *call, struct growth_ask *ask, struct sites *ret);
	const char *unit;
	/* Print the events of these kinds, oldest first, perhaps with stacks; NULL: no log. */
	struct err *(*log)(struct call *call, unsigned kinds, bool stacks);
};

extern const struct growth_source growth_calls, growth_faults, growth_kernel;
/* Of a recording; it records nothing itself. */
extern const struct growth_source growth_recorded;
