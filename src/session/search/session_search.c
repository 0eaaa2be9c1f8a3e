/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Searches the target's memory (session_search.h). */

#include "session/search/session_search.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "inspect/leak_search.h"
#include "session/look.h"
#include "session/private.h"
#include "tracee/target.h"

struct job {
	struct session *session;
	struct session_search *search;
	struct look look;
};

enum part { ALL, OWN, OTHERS };

/* Does the process alone have it, so that a snapshot has it as it was? */
static bool is_private(const struct session *session UNUSED, const struct proc_map *map)
{
	return map->read && !map->shared && (map->write || *map->path != '/');
}

static bool is_searched(const struct job *job, enum part part, const struct proc_map *map)
{
	return (map->read || map->unknown_protection) &&
	       !leak_search_is_own(job->session->region, map) &&
	       (part == ALL || is_private(NULL, map) == (part == OWN));
}

static struct err *search_maps(struct job *job, enum part part, struct memory *memory,
			       const struct proc_maps *maps)
{
	struct session_search *search = job->search;
	struct err *err = NULL;

	vec_each_while(map, &maps->vec, !err) {
		uint64_t start = MAX(map->start, search->start), end = MIN(map->end, search->end);

		if (start >= end || !is_searched(job, part, map))
			continue;
		search->mapped += end - start;
		err = memory_search_range(&search->of, memory, start, end);
	}
	return err;
}

/* As it is now. */
static struct err *search_live(struct job *job, enum part part)
{
	CLEANUP(procparse_maps_free) struct proc_maps maps = { VEC_INIT };
	struct target *target = job->session->current->target;
	struct err *err = target_maps(target, &maps);

	return err ? err : search_maps(job, part, target->memory, &maps);
}

/* What another snapshot had is of no use. */
static void forget(struct session_search *search)
{
	search->mapped = search->of.nr = search->of.searched = 0;
	vec_clear(&search->of.places);
}

static struct err *stopped(struct session *session UNUSED, bool stood UNUSED, void *ctx)
{
	struct job *job = ctx;

	forget(job->search);
	return search_live(job, OWN);
}

static struct err *walked(void *ctx, enum look_sure *sure_ret)
{
	struct job *job = ctx;

	*sure_ret = LOOK_SURE;
	forget(job->search);
	return search_maps(job, OWN, job->look.view.memory, &job->look.view.maps);
}

COMPARE_BY(by_address, uint64_t, place, *place)

/* The process runs again, or still, when what is not its own is searched. */
static struct err *in_snapshot(struct job *job)
{
	struct look *look = &job->look;
	struct err *err;

	look->session = job->session;
	look->how = LOOK_SNAPSHOT;
	look->bytes = true;
	look->wants = is_private;
	look->stopped = stopped;
	look->walked = walked;
	look->ctx = job;
	err = look_run(look);
	if (!err)
		err = search_live(job, OTHERS);
	vec_sort(&job->search->of.places, by_address);
	job->search->pause_ns = look->pause_ns;
	snprintf(job->search->no_snapshot, sizeof(job->search->no_snapshot), "%s", look->no_snapshot);
	look_free(look);
	return err;
}

struct err *session_search(struct session *session, struct session_search *search)
{
	struct job job = { .session = session, .search = search, .look = { LOOK_INIT } };
	struct err *err = session_need_view(session);

	if (err)
		return err;
	return search->snapshot && session_state(session) == SESSION_RUNNING ?
		in_snapshot(&job) : search_live(&job, ALL);
}
