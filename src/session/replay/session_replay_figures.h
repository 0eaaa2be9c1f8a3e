/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Figures of the process and of the machine that a recording has at its cursor, in the structs that
 * those of a live process are in. Of a view of several processes the figures of a process are sums;
 * those of the machine are of the first recording that has some. Each table was taken at a time of its
 * own, at or before the cursor.
 */
#pragma once

#include "base/outside.h"
#include "base/vec.h"
#include "growth/machine_look.h"
#include "growth/memory_use.h"
#include "heap/moment.h"
#include "record/record.h"

struct session;

/*
 * ERR_NOTFOUND: the recording has none at this time. The caller calls memory_use_free. What blocks held
 * is that of the sample nearest to when the figures were taken.
 */
struct err *session_replay_figures_memory(struct session *session,
					  struct memory_use *ret) MUST_CHECK;
/* When they were taken, since the epoch; of several processes the earliest. */
uint64_t session_replay_figures_taken(const struct session *session);

/* A part of `memory account` as it was recorded. The session owns the texts. */
struct session_replay_part {
	const char *part, *note;
	uint64_t where;			/* 1 in, 2 sum, 3 of, 4 beside */
	uint64_t order;
	uint64_t bytes;			/* UINT64_MAX: not known */
};

struct session_replay_account {
	uint64_t time_ns;		/* when it was taken; of several processes the earliest */
	VEC(struct session_replay_part) vec;	/* in their order */
};

/* ERR_NOTFOUND. The caller frees the vector. */
struct err *session_replay_figures_account(struct session *session,
					   struct session_replay_account *ret) MUST_CHECK;
/* The kinds of enum record_growth_kind that were recorded at the cursor: bits 1 << kind. */
unsigned session_replay_figures_growth_kinds(const struct session *session);
/* The sums of the stacks of one kind at a time of the history. The caller calls moment_free. */
struct err *session_replay_figures_growth(struct session *session, unsigned kind,
					  uint64_t time_ns, struct moment *ret) MUST_CHECK;
/* The children of all processes of the view that have ended by a time, of one program. */
struct session_replay_child {
	const char *name;		/* the session owns it; text from outside */
	uint64_t value[RECORD_CHILD_COLUMNS];
};

struct session_replay_children {
	VEC(struct session_replay_child) vec;
};

/* Where none has ended there are none. The caller frees the vector, also after an error. */
struct err *session_replay_figures_children(struct session *session, uint64_t time_ns,
					    struct session_replay_children *ret) MUST_CHECK;
/*
 * ERR_NOTFOUND. before: that before the one at the cursor; there may be none. lists: processes and
 * caches, too. The caller calls machine_look_free.
 */
struct err *session_replay_figures_machine(struct session *session, bool before, bool lists,
					   struct machine_look *ret) MUST_CHECK;
