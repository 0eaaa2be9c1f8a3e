/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Looks at a target, in a stop or in a snapshot (theory in look.h). */

#include "session/look.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/page.h"
#include "base/trace.h"
#include "os/tracer.h"
#include "session/private.h"
#include "session/view_take.h"
#include "tracee/forkable.h"
#include "tracee/target.h"
#include "tracee/target_wait.h"

#define STEP_NS		50000ull	/* how long the target runs before the second look, ... */
#define STEP_MOST_NS	1000000000ull	/* ... and at most before a later one */
#define SNAPSHOTS	6u		/* one more if the last is of no use, ... */
#define UNSURE		3u		/* ... or if it is not the best */
#define QUIET_NS	100000000ull	/* how long to wait for calls before a snapshot ... */
/* ... in which only threads inside the allocator run; twice that after a snapshot of no use */
#define DRAIN_NS	10000000ull
/* A stop may be so much longer than a fork: the child is made and ended, and pages are copied. */
#define SNAPSHOT_NS	20000000ull

/* The bytes of a mapping that are there to be read. */
static uint64_t present_bytes(const struct look *look, const struct proc_map *map)
{
	struct memory *memory = look->session->current->target->memory;
	uint64_t sum = 0, start, end;

	for (uint64_t at = map->start; memory_next(memory, at, map->end, &start, &end); at = end)
		sum += end - start;
	return sum;
}

/* Does a fork leave this mapping out, or share it so that it changes? */
static bool is_unforked(const struct look *look, const struct proc_map *map)
{
	return look->wants(look->session, map) &&
	       (map->shared || smaps_unforked(&look->smaps, map->start, map->end));
}

static struct err *check_copies(const struct look *look, const struct proc_maps *maps)
{
	uint64_t sum = 0;

	vec_each(map, &maps->vec)
		sum += is_unforked(look, map) ? present_bytes(look, map) : 0;
	return sum <= FORKABLE_COPY_MAX ? NULL :
		err_create(ERR_UNSUPPORTED, "no snapshot: a fork does not copy %" PRIu64
			   " MB of memory that is shared", sum >> 20);
}

/* The mappings are those of a moment ago: reading them may take longer than a fork. */
static struct err *make_copies(struct look *look, struct snapshot_copies *copies)
{
	const struct proc_maps *maps = &look->smaps.maps;
	struct err *err = check_copies(look, maps);

	for (size_t i = 0; i < maps->vec.nr && !err; i++) {
		const struct proc_map *map = &maps->vec.at[i];

		if (is_unforked(look, map))
			err = snapshot_copy(look->session->current->target, map->start, map->end,
					    copies);
	}
	return err;
}

static struct err *has_calmed_down(void *ctx, bool *done_ret)
{
	struct look *look = ctx;
	struct err *err = view_take_drain(look->session, &look->drain);

	*done_ret = !look->settled;
	return err || !look->settled ? err : look->settled(look->ctx, done_ret);
}

static struct err *await_calm(struct look *look)
{
	const struct target_wait wait = {
		.look = has_calmed_down, .ctx = look,
		.step = STEP_NS, .step_most = STEP_MOST_NS, .deadline = look->deadline,
	};
	bool done;

	return target_wait(look->session->current->target, &wait, &done);
}

/* The target is stopped. */
static struct err *take_snapshot(struct session *session, bool stood UNUSED, void *arg)
{
	struct snapshot_copies copies = { VEC_INIT };
	struct look *look = arg;
	struct err *err = await_calm(look);

	look->cannot_move = !stop_can_move(session->current->target, NULL, NULL);
	if (!err)
		err = view_take_unmapped(session, look->deep, &look->view);
	if (!err)
		err = make_copies(look, &copies);
	if (!err) {
		look->view.until = log_now();
		err = snapshot_take(session->current->target, &copies, &look->child);
	}
	snapshot_copies_free(&copies);
	if (err)
		return err;
	look->has_child = true;
	look->view.memory = &look->child.memory;
	look->view.pages_of = look->child.pid;
	return NULL;
}

static struct err *insert_map(struct proc_maps *maps, const struct proc_map *map)
{
	struct proc_map copy = *map;
	size_t at = LOWER_BOUND(i, 0, maps->vec.nr, maps->vec.at[i].start < map->start);
	struct err *err;

	copy.path = strdup(map->path);
	if (!copy.path)
		return err_nomem;
	err = vec_push(&maps->vec, copy);
	if (err) {
		free(copy.path);
		return err;
	}
	memmove(&maps->vec.at[at + 1], &maps->vec.at[at],
		(maps->vec.nr - 1 - at) * sizeof(*maps->vec.at));
	maps->vec.at[at] = copy;
	return NULL;
}

/* Was it there before the stop, so that what a fork does not copy of it was read? */
static bool was_known(const struct look *look, const struct proc_map *map)
{
	const struct proc_map *before = procparse_maps_find(&look->smaps.maps, map->start);

	return before && before->shared == map->shared && before->end >= map->end;
}

/*
 * The mappings of the moment are those of the child, and those that a fork leaves out. *whole_ret:
 * all that changes and is needed was copied.
 */
static struct err *take_maps(struct look *look, bool *whole_ret)
{
	struct proc_maps *maps = &look->view.maps;
	struct err *err = procfs_maps(look->child.pid, maps);

	*whole_ret = true;
	if (err)
		return err;
	procmem_take_maps(&look->child.mem, maps);
	vec_each(map, &maps->vec)
		*whole_ret &= !map->shared || !look->wants(look->session, map) || was_known(look, map);
	vec_each_while(before, &look->smaps.maps.vec, !err) {
		if (smaps_unforked(&look->smaps, before->start, before->end) &&
		    !procparse_maps_find(maps, before->start))
			err = insert_map(maps, before);
	}
	return err;
}

static void end_snapshot(struct look *look)
{
	uint64_t pause = 0;

	if (!look->has_child)
		return;
	session_snapshot_end(look->session, &look->child, &pause);
	look->pause_ns = MAX(look->pause_ns, pause);
	snapshot_free(&look->child);
	look->has_child = false;
}

static void forget_view(struct look *look)
{
	memory_view_free(&look->view);
	look->view = (struct memory_view)MEMORY_VIEW_INIT;
}

/*
 * The child is the first to be killed where memory is short. Whatever was found in it then is not
 * true.
 */
static struct err *check_child(const struct look *look, struct err *err)
{
	if (!look->has_child || procmem_lives(&look->child.mem))
		return err;
	return err_create(ERR_UNSUPPORTED, "no snapshot: it was killed (out of memory?)");
}

/* Asked before the target is stopped for nothing. */
static struct err *check_fork(struct look *look)
{
	struct err *err;

	smaps_free(&look->smaps);
	look->smaps = (struct smaps)SMAPS_INIT;
	err = forkable_check(look->session->current->pid, &look->smaps);
	return err ? err : check_copies(look, &look->smaps.maps);
}

static struct err *walk_child(struct look *look, enum look_sure *sure_ret)
{
	bool whole = true;
	struct err *err = take_maps(look, &whole);

	if (!err)
		err = look->walked(look->ctx, sure_ret);
	if (!whole && *sure_ret == LOOK_SURE)
		*sure_ret = LOOK_UNSURE;
	look->stale = !whole;
	return check_child(look, err);
}

static struct err *take_one(struct look *look, enum look_sure *sure_ret)
{
	struct err *err = look->stale ? check_fork(look) : NULL;
	uint64_t pause = 0;

	forget_view(look);
	look->deadline = tracer_now() + QUIET_NS;
	if (!err)
		err = session_pause_call(look->session, take_snapshot, look, &pause);
	look->pause_ns = MAX(look->pause_ns, pause);
	return err ? err : walk_child(look, sure_ret);
}

static struct err *take_until_sure(struct look *look, enum look_sure *sure_ret)
{
	uint64_t drain = DRAIN_NS;
	struct err *err = NULL;

	for (unsigned i = 1; !err && !look->has_child; i++) {
		look->drain = drain;
		err = take_one(look, sure_ret);
		if (err || *sure_ret == LOOK_SURE || look->cannot_move ||
		    i >= (*sure_ret == LOOK_TORN ? SNAPSHOTS : UNSURE))
			break;
		end_snapshot(look);
		drain <<= *sure_ret == LOOK_TORN;
	}
	return err;
}

static struct err *by_snapshot(struct look *look)
{
	enum look_sure sure = LOOK_SURE;
	struct err *err = take_until_sure(look, &sure);

	/*
	 * A look in a stop can be repeated as often as necessary. Where the target stands anyhow, it
	 * would find the same.
	 */
	if (!err && sure == LOOK_TORN && !look->cannot_move)
		err = err_create(ERR_BUSY, "no snapshot: the heaps were in change, or damaged, "
				 "in each of %u", SNAPSHOTS);
	if (!err && look->found)
		err = check_child(look, look->found(look->ctx));
	look->snapshot = !err;
	trace_line("process %d was looked at in a snapshot: %s", look->session->current->pid,
		   err ? err->msg : "done");
	if (err)
		return keeping(err, end_snapshot(look));
	end_snapshot(look);
	return NULL;
}

/* Where the target stood before, the look makes no pause of its own. */
struct stop {
	struct look *look;
	bool stood;
};

static struct err *look_stopped(struct session *session, bool stood, void *arg)
{
	struct stop *stop = arg;

	stop->stood = stood;
	return stop->look->stopped(session, stood, stop->look->ctx);
}

static struct err *in_stop(struct look *look)
{
	struct stop stop = { look, false };
	uint64_t pause = 0;
	struct err *err = session_pause_call(look->session, look_stopped, &stop, &pause);

	if (!stop.stood)
		look->pause_ns = MAX(look->pause_ns, pause);
	return err;
}

/* Is it an error of by_snapshot after which a stop would fail, too? */
static bool is_final(const struct err *err)
{
	return err->code == ERR_GONE || err->code == ERR_CANCELLED || err->code == ERR_NOMEM;
}

static struct err *check_pause(struct look *look, uint64_t ns, const char *why_not)
{
	struct err *err = stop_estimate_check(look->session, ns, why_not);

	look->refused = err;
	return err;
}

static struct err *look_large(struct look *look, uint64_t fork_ns, uint64_t stop_ns)
{
	struct err *err = check_fork(look);

	if (!err) {
		err = check_pause(look, fork_ns, NULL);
		if (!err)
			err = by_snapshot(look);
	}
	if (!err || look->refused || is_final(err))
		return err;
	snprintf(look->no_snapshot, sizeof(look->no_snapshot), "%.255s", err->msg);
	forget_view(look);
	err = check_pause(look, stop_ns, look->no_snapshot);
	return err ? err : in_stop(look);
}

static bool is_too_long(const struct session *session, uint64_t ns)
{
	return session->config.max_pause_ns && ns > session->config.max_pause_ns;
}

/*
 * How long it would take in a stop. The estimate knows the process's own memory; a search reads what
 * it shares, too, which may be many times that.
 */
static struct err *estimate_stop(const struct look *look, const struct stop_estimate *estimate,
				 uint64_t *ret)
{
	CLEANUP(procparse_maps_free) struct proc_maps maps = { VEC_INIT };
	struct err *err;

	*ret = look->deep ? estimate->search_ns : look->bytes ? estimate->read_ns : estimate->walk_ns;
	*ret += estimate->pages * look->page_ns;
	if (!look->deep && !look->bytes)
		return NULL;
	err = procfs_maps(look->session->current->pid, &maps);
	vec_each(map, &maps.vec)
		if ((map->shared || *map->path == '/') && look->wants(look->session, map))
			*ret += present_bytes(look, map) / PAGE * STOP_ESTIMATE_SHARED_NS;
	return err;
}

struct err *look_run(struct look *look)
{
	struct stop_estimate estimate;
	uint64_t stop_ns;
	struct err *err;

	/* Before the stop: it takes a millisecond. */
	memory_limits_of(0, MEMORY_LIMITS_OWN, &look->session->own_memory);
	if (look->how == LOOK_STOP || session_state(look->session) != SESSION_RUNNING)
		return in_stop(look);
	err = stop_estimate_get(look->session, &estimate);
	if (!err)
		err = estimate_stop(look, &estimate, &stop_ns);
	if (err)
		return err;
	if (look->how == LOOK_SNAPSHOT || stop_ns > estimate.fork_ns + SNAPSHOT_NS ||
	    is_too_long(look->session, stop_ns))
		return look_large(look, estimate.fork_ns, stop_ns);
	return in_stop(look);
}

void look_free(struct look *look)
{
	memory_view_free(&look->view);
	smaps_free(&look->smaps);
}

struct err *look_check_walk(struct session *session)
{
	struct stop_estimate estimate;
	struct err *err;

	if (session_state(session) != SESSION_RUNNING)
		return NULL;
	err = stop_estimate_get(session, &estimate);
	return err ? err : stop_estimate_check(session, estimate.walk_ns,
					       "it cannot be done in a snapshot");
}
