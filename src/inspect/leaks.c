/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The result of a leak search (leaks.h). */

#include "inspect/leaks.h"

#include <stdio.h>

void session_leaks_free(struct session_leaks *leaks)
{
	if (leaks->lent) {
		vec_free(&leaks->held.live);
		return;
	}
	packed_free(&leaks->held);
	reach_free(&leaks->mark);
	vec_free(&leaks->holders);
	session_heap_free(&leaks->heap);
}

struct err *leaks_lend(const struct session_leaks *found, struct session_leaks *ret)
{
	struct session_leaks lent = *found;
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

void leaks_forget(struct session_leaks *leaks)
{
	packed_free(&leaks->held);
	reach_free(&leaks->mark);
	vec_free(&leaks->holders);
	session_heap_free(&leaks->heap);
	leaks->walked = false;
	leaks->blind_threads = leaks->under_way = 0;
	leaks->unread = (struct search_unread){ 0, 0 };
}

struct err *leaks_take_walk(struct session_leaks *leaks, struct err *err)
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

bool leaks_torn(const struct session_leaks *leaks)
{
	return leaks->walked && (leaks->damages || leaks->uncertain || !leaks->caches_known);
}
