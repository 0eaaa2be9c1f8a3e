/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Adds up references by object and stack (session_refs.h). */

#include "session/pool/session_refs.h"

#include <stdlib.h>

#include "base/trace.h"
#include "log/ref_ring.h"
#include "session/private.h"
#include "tracee/region.h"

/* A writer that does not finish for so long (in time stamps, a second or so) has ended. */
#define PATIENCE	(1ull << 32)

struct ref_object {
	VEC(struct session_ref) refs;
	uint64_t last;		/* time stamp of the newest event */
	bool had_record;
};

static void object_free(void *arg)
{
	struct ref_object *object = arg;

	vec_free(&object->refs);
	free(object);
}

/* The time of the record of the block that is there now; 0: there is none. */
static uint64_t birth(const struct log *log, uint64_t key)
{
	struct log_record record;

	if (log_record_lookup(log, key | LOG_DOMAIN_USER, &record) ||
	    log_record_lookup(log, key, &record))
		return record.time;
	return 0;
}

static void drop_object(struct session_refs *refs, uint64_t key)
{
	struct ref_object *object = map_remove(&refs->objects, key);

	if (!object)
		return;
	refs->nr -= object->refs.nr;
	object_free(object);
}

/* Forget the objects whose block was freed. */
static void sweep(struct session_refs *refs, const struct log *log)
{
	struct map_at at = map_begin(&refs->objects);
	struct ref_object *object;

	while ((object = map_next(&at))) {
		uint64_t born = birth(log, at.key);

		if (born ? born > object->last : object->had_record)
			drop_object(refs, at.key);
	}
}

static struct session_ref *ref_of(struct session_refs *refs, struct ref_object *object,
				  uint32_t stack)
{
	vec_each(ref, &object->refs)
		if (ref->stack == stack)
			return ref;
	if (refs->nr >= REFS_MOST ||
	    vec_push(&object->refs, ((struct session_ref){ .stack = stack })))
		return NULL;
	refs->nr++;
	return &object->refs.at[object->refs.nr - 1];
}

static struct ref_object *object_of(struct session_refs *refs, uint64_t key)
{
	struct ref_object *object = map_get(&refs->objects, key);

	if (object || refs->nr >= REFS_MOST)
		return object;
	object = calloc(1, sizeof(*object));
	if (object && map_put(&refs->objects, key, object)) {
		free(object);
		object = NULL;
	}
	return object;
}

static void add(struct session_refs *refs, const struct log *log, const struct ref_event *event)
{
	uint64_t born = birth(log, event->object);
	struct ref_object *object = map_get(&refs->objects, event->object);
	struct session_ref *ref;

	if (born > event->time)
		return;
	if (object && born > object->last)
		drop_object(refs, event->object);
	object = object_of(refs, event->object);
	ref = object ? ref_of(refs, object, event->stack) : NULL;
	if (!ref) {
		refs->unkept++;
		return;
	}
	ref->taken += !event->gives;
	ref->given += event->gives;
	ref->last = object->last = event->time;
	object->had_record |= born != 0;
}

/* Wait for the writer of the next event? Only for a while, since it may have ended. */
static bool has_patience(struct session_refs *refs)
{
	uint64_t now = log_now();

	if (!refs->waiting)
		refs->waiting = now;
	if (now - refs->waiting < PATIENCE)
		return true;
	refs->waiting = 0;
	return false;
}

static void lose(struct session_refs *refs, uint64_t events)
{
	refs->lost += events;
	refs->next += events;
}

/* Add up all events that were published by now. */
static void drain(struct session_refs *refs, const struct log *log)
{
	uint64_t next = ref_ring_next(log);
	struct ref_event event;

	/* The target may have written any number there. */
	if (next - refs->next > INT64_MAX)
		return;
	if (next - refs->next > log->nr_refs)
		lose(refs, next - refs->next - log->nr_refs);
	while (refs->next != next) {
		enum ref_read read = ref_ring_get(log, refs->next, &event);

		if (read == REF_NOT_YET && has_patience(refs))
			return;
		if (read != REF_READ) {
			lose(refs, 1);
			continue;
		}
		event.time = MIN(event.time, log_now());
		add(refs, log, &event);
		refs->next++;
		refs->waiting = 0;
	}
}

void session_refs_poll(struct session *session)
{
	struct session_refs *refs = &session->refs;

	if (!refs->since || !session->region)
		return;
	if (refs->nr >= REFS_MOST)
		sweep(refs, &session->region->log);
	drain(refs, &session->region->log);
}

void session_refs_begin(struct session *session)
{
	struct session_refs *refs = &session->refs;

	if (refs->since || !session->region)
		return;
	refs->next = ref_ring_next(&session->region->log);
	refs->since = log_now();
}

void session_refs_free(struct session_refs *refs)
{
	map_free(&refs->objects, object_free);
	*refs = (struct session_refs){ .since = 0 };
}

void session_refs_forget(struct session *session)
{
	struct session_refs *refs = &session->refs;
	bool on = refs->since;

	session_refs_free(refs);
	if (on)
		session_refs_begin(session);
}

struct refs_job {
	uint64_t address;
	struct session_refs_of *ret;
};

/* What was taken first, then what was given back; the most first. */
static int by_use(const void *a, const void *b)
{
	const struct session_ref *one = a, *two = b;

	if (one->taken != two->taken)
		return one->taken < two->taken ? 1 : -1;
	if (one->given != two->given)
		return one->given < two->given ? 1 : -1;
	return one->last < two->last ? 1 : -1;
}

static struct err *refs_job(struct session *session, void *arg)
{
	const struct refs_job *job = arg;
	struct session_refs_of *ret = job->ret;
	const struct log *log = &session->region->log;
	uint64_t key = (job->address & ((1ull << LOG_PROCESS_SHIFT) - 1)) |
		       (uint64_t)(session->current - session->process) << LOG_PROCESS_SHIFT;
	const struct ref_object *object;
	struct err *err = NULL;

	session_refs_poll(session);
	ret->since = session->refs.since;
	ret->lost = session->refs.lost;
	ret->unkept = session->refs.unkept;
	ret->born = birth(log, key);
	object = map_get(&session->refs.objects, key);
	if (!object || ret->born > object->last)
		return NULL;
	for (size_t i = 0; !err && i < object->refs.nr; i++) {
		err = vec_push(&ret->refs, object->refs.at[i]);
		ret->taken += object->refs.at[i].taken;
		ret->given += object->refs.at[i].given;
	}
	return err;
}

struct err *session_refs_of(struct session *session, uint64_t address,
			    struct session_refs_of *ret)
{
	struct refs_job job = { address, ret };
	struct err *err;

	*ret = (struct session_refs_of){ .taken = 0 };
	err = session_call(session, refs_job, &job);
	if (!err)
		vec_sort(&ret->refs, by_use);
	return err;
}
