/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * References to objects: who took them and who gave them back (`probe ref`, `probe unref`, `malloc
 * refs`).
 *
 * Theory of operation
 *
 * The calls are events of a ring in the region (log/ref_ring.h). The tracer thread reads it at each
 * of its polls and when somebody asks, and adds the events up by object and stack. If the ring has
 * gone round before it was read, events are lost: they are counted, and the answer says so.
 *
 * An object is known by its address. A block that was freed, and another one at the same address,
 * are two objects: an event that is older than the record of the block that is there now belongs to
 * an earlier one, and is not counted; and what was counted before that record is forgotten. The
 * record is that of a function named by `probe alloc`, or else malloc's. An object without a record
 * (it is older than the log, or is a part of a block) keeps all of its events.
 *
 * Memory. There are at most REFS_MOST sums of an object and a stack. When there are so many, those
 * of objects whose record is gone are forgotten, at most once a poll; if that gives no room, events
 * of new stacks and objects are only counted (`unkept`).
 *
 * `malloc reset` forgets all, since the records that objects are told apart by are gone.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "base/map.h"
#include "base/vec.h"

struct session;

#define REFS_MOST	(1u << 19)

/* What one stack did with one object. */
struct session_ref {
	uint32_t stack;		/* begins with the function that was called */
	uint64_t taken, given;
	uint64_t last;		/* time stamp */
};

/* The state, from the first `probe ref` or `probe unref` on. Tracer thread. */
struct session_refs {
	struct map objects;	/* object's key in the log → struct ref_object */
	uint64_t nr;		/* struct session_ref in all of them */
	uint64_t next;		/* number of the event that is read next */
	uint64_t since;		/* time stamp; 0: there was none */
	uint64_t lost, unkept;
	uint64_t waiting;	/* since when, in time stamps, for a writer to finish; 0: not */
};

/* An answer. */
struct session_refs_of {
	VEC(struct session_ref) refs;	/* what was taken first, then what was given, largest first */
	uint64_t taken, given;
	uint64_t since;		/* time stamp from which on they were seen; 0: nobody has asked */
	uint64_t born;		/* time stamp of the object's record; 0: it has none */
	uint64_t lost, unkept;	/* events of any object */
};

/* Main thread. The caller frees ret->refs, also after an error. */
struct err *session_refs_of(struct session *session, uint64_t address,
			    struct session_refs_of *ret) MUST_CHECK;

/* These run on the tracer thread. */

/* A function was named: references are seen from now on. */
void session_refs_begin(struct session *session);
void session_refs_poll(struct session *session);
/* Forget all events so far; those of functions that are watched still count. */
void session_refs_forget(struct session *session);
void session_refs_free(struct session_refs *refs);
