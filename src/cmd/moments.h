/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * MOMENT, as users write it: the name of a mark; `now`; `peak`, the moment with the most bytes
 * (session/peak_watch.h); -N with s, m, h or d, the sample that is nearest to so long ago; or a time
 * (heap/filter.h, parse_time), for which the nearest sample stands, too. Of a recording, `now` is a
 * sample like others, and a time at which nothing was recorded is an error.
 */
#pragma once

#include "heap/moment.h"
#include "report/moment_text.h"

struct call;
struct session;

struct chosen_moment {
	const char *word;	/* the caller or the session owns it; NULL: none was chosen */
	bool now;		/* `now`: the caller must take the moment itself */
	bool watched;		/* the peak that was watched, and no sample of the history */
	struct moment moment;
	bool has_totals;	/* a mark */
	struct moment totals;	/* what each stack had had in all by then */
};

/*
 * Find the moment that word means. There must be a log or a recording. now_ns is the time now.
 * ERR_NOTFOUND: there is no such mark; ERR_STATE: the mark is from before a reset; ERR_RANGE: the
 * history begins later; ERR_USAGE: word is no moment.
 */
struct err *moments_choose(const struct call *call, const char *word, uint64_t now_ns,
			   struct chosen_moment *ret) MUST_CHECK;
/* `since MOMENT`, if these words stand at *at: *ret gets its time. Without them both stay as they are. */
struct err *moments_since(const struct call *call, int argc, char *const *argv, uint64_t now_ns,
			  int *at, uint64_t *ret) MUST_CHECK;
/*
 * `at MOMENT` at the end of the call's words, for figures of which only a recording has an earlier
 * moment: it is cut off, and the cursor of the recording is there until moments_leave is called, also
 * after an error. ERR_STATE: there is no recording, and an earlier moment was asked for.
 */
struct moments_visit {
	struct session *session;	/* NULL: the cursor is where it was */
	uint64_t back_ns;
};

struct err *moments_visit(struct call *call, struct moments_visit *ret) MUST_CHECK;
void moments_leave(struct moments_visit *visit);
/* Is there a mark of that name? */
bool moments_is_mark(const struct call *call, const char *word);
void moments_chosen_free(struct chosen_moment *chosen);
/* Returns the moment as the functions of report take it. */
struct moment_name moments_chosen_name(const struct chosen_moment *chosen, uint64_t now_ns);
