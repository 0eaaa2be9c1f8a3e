/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The result of a leak search (leak_marks.h). */

#include "inspect/leak_marks.h"

#include <stdio.h>

void leak_marks_free(struct leak_marks *leaks)
{
	if (leaks->lent) {
		vec_free(&leaks->held.live);
		return;
	}
	packed_free(&leaks->held);
	reach_free(&leaks->mark);
	vec_free(&leaks->holders);
	heaps_free(&leaks->heap);
}

struct err *leak_marks_lend(const struct leak_marks *found, struct leak_marks *ret)
{
	struct leak_marks lent = *found;
	struct err *err;

	lent.lent = true;
	lent.held.live.at = NULL;
	lent.held.live.nr = lent.held.live.room = 0;
	err = vec_reserve(&lent.held.live, found->held.live.nr);
	if (err)
		return err;
	vec_each(live, &found->held.live)
		lent.held.live.at[lent.held.live.nr++] = *live;
	*ret = lent;
	return NULL;
}

void leak_marks_forget(struct leak_marks *leaks)
{
	packed_free(&leaks->held);
	reach_free(&leaks->mark);
	vec_free(&leaks->holders);
	heaps_free(&leaks->heap);
	leaks->walked = false;
	leaks->blind_threads = leaks->under_way = 0;
	leaks->unread = (struct search_unread){ 0, 0 };
}

struct err *leak_marks_take_walk(struct leak_marks *leaks, struct err *err)
{
	if (err && (err->code == ERR_NOMEM || err->code == ERR_GONE))
		return err;
	if (err) {
		snprintf(leaks->why, sizeof(leaks->why), "%.255s", err->msg);
		return NULL;
	}
	leaks->walked = true;
	leaks->damages = leaks->heap.walk.damages;
	leaks->uncertain = leaks->heap.walk.uncertain;
	leaks->caches_known = leaks->heap.walk.caches_known;
	return NULL;
}

bool leak_marks_torn(const struct leak_marks *leaks)
{
	return leaks->walked && (leaks->damages || leaks->uncertain || !leaks->caches_known);
}
