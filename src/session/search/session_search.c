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

/* Does the process alone have it, so that a snapshot has it as it was? */
static bool is_private(const struct session *session UNUSED, const struct proc_map *map)
{
	return map->read && !map->shared && (map->write || *map->path != '/');
}

/* memory: of what the process alone has; the rest is the target's. */
static struct err *search_maps(struct job *job, struct memory *memory, const struct proc_maps *maps)
{
	struct session_search *search = job->search;
	struct memory *live = job->session->current->target->memory;
	struct err *err = NULL;

	search->mapped = search->of.nr = search->of.searched = 0;
	vec_clear(&search->of.places);
	vec_each_while(map, &maps->vec, !err) {
		uint64_t start = MAX(map->start, search->start), end = MIN(map->end, search->end);

		if (start >= end || !(map->read || map->unknown_protection) ||
		    leak_search_is_own(job->session->region, map))
			continue;
		search->mapped += end - start;
		err = memory_search_range(&search->of, is_private(NULL, map) ? memory : live, start, end);
	}
	return err;
}

/* As it is now. */
static struct err *search_live(struct job *job)
{
	CLEANUP(procparse_maps_free) struct proc_maps maps = { VEC_INIT };
	struct target *target = job->session->current->target;
	struct err *err = target_maps(target, &maps);

	return err ? err : search_maps(job, target->memory, &maps);
}

static struct err *stopped(struct session *session UNUSED, bool stood UNUSED, void *ctx)
{
	return search_live(ctx);
}

static struct err *walked(void *ctx, enum look_sure *sure_ret)
{
	struct job *job = ctx;

	*sure_ret = LOOK_SURE;
	return search_maps(job, job->look.view.memory, &job->look.view.maps);
}

static struct err *in_snapshot(struct job *job)
{
	struct look *look = &job->look;
	struct err *err;

	look->session = job->session;
	look->how = LOOK_SNAPSHOT;
	look->wants = is_private;
	look->stopped = stopped;
	look->walked = walked;
	look->ctx = job;
	err = look_run(look);
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
		in_snapshot(&job) : search_live(&job);
}
