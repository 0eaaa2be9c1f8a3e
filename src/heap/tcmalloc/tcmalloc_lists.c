/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Follows the lists of tcmalloc's free objects (theory in tcmalloc.h). */

#include <inttypes.h>
#include <string.h>

#include "base/compiler.h"
#include "heap/tcmalloc/tcmalloc.h"

#define LOOSE_MOST	1024u	/* blocks of a chain that is on its way: 512, unless that is set */

/* States of an object, in 2 bits: */
enum { STATE_USED, STATE_CACHED, STATE_FREE };

static unsigned state_of(const struct tcmalloc *tc, uint64_t object)
{
	return tc->state[object / 4] >> object % 4 * 2 & 3;
}

static void set_state(struct tcmalloc *tc, uint64_t object, unsigned state)
{
	tc->state[object / 4] |= (uint8_t)(state << object % 4 * 2);
}

enum chunk_kind tcmalloc_lists_kind(const struct tcmalloc *tc, uint64_t object)
{
	static const enum chunk_kind kind[] = { CHUNK_USED, CHUNK_CACHED, CHUNK_FREE, CHUNK_FREE };

	return kind[state_of(tc, object)];
}

/* The span that address is in; NULL: none. *near is a guess, and is where it is then. */
static const struct tcmalloc_span *span_of(const struct tcmalloc *tc, size_t *near,
					   uint64_t address)
{
	const struct tcmalloc_span *span = tc->spans.at;

	if (*near >= tc->spans.nr || address - span[*near].start >= span[*near].bytes) {
		*near = LOWER_BOUND(i, 0, tc->spans.nr, span[i].start <= address) - 1;
		if (*near >= tc->spans.nr || address - span[*near].start >= span[*near].bytes)
			return NULL;
	}
	return &span[*near];
}

/* The object at address exactly; false: there is none. */
static bool find_object(const struct tcmalloc *tc, size_t *near, uint64_t address,
			const struct tcmalloc_span **span_ret, uint64_t *object_ret)
{
	const struct tcmalloc_span *span = span_of(tc, near, address);
	uint64_t size;

	if (!span || !span->class)
		return false;
	size = tc->class[span->class].size;
	if ((address - span->start) % size || (address - span->start) / size >= span->nr)
		return false;
	*span_ret = span;
	*object_ret = span->first + (address - span->start) / size;
	return true;
}

/* Why a list leads to no object of its own; NULL: it does, and the object is marked. */
static const char *mark(struct tcmalloc *tc, const struct tcmalloc_list *list, size_t *near,
			uint64_t address)
{
	const struct tcmalloc_span *span;
	uint64_t object;

	if (!find_object(tc, near, address, &span, &object))
		return "no block";
	if (span->class != list->class)
		return "a block of another size";
	if (list->span && span != list->span)
		return "a block of another span";
	if (state_of(tc, object))
		return "a block that is in a list already";
	set_state(tc, object, list->kind == CHUNK_CACHED ? STATE_CACHED : STATE_FREE);
	return NULL;
}

struct err *tcmalloc_lists_follow(struct tcmalloc *tc, const struct tcmalloc_list *list)
{
	struct heap_damage damage = { .address = list->where };
	uint64_t at = list->head, nr = 0;
	size_t near = list->span ? (size_t)(list->span - tc->spans.at) : 0;

	/* It ends, since each step marks another object. */
	for (; at; nr++) {
		const char *why = mark(tc, list, &near, at);

		if (why)
			return bare_walk_damage(&tc->bare, damage,
						"a list of free blocks of %" PRIu64
						" bytes leads to %s: 0x%" PRIx64,
						tc->class[list->class].size, why, at);
		damage.address = damage.before = at;
		if (!tcmalloc_word(tc, at, &at))
			return bare_walk_damage(&tc->bare, damage, "a free block cannot be read");
	}
	if (!list->count_at || nr == list->count)
		return NULL;
	return bare_walk_damage(&tc->bare, (struct heap_damage){ .address = list->count_at },
				"%" PRIu64 " blocks of %" PRIu64 " bytes are in a list, which "
				"should have %" PRIu64, nr, tc->class[list->class].size,
				list->count);
}

/*
 * The objects that are in a span's own list. One that has lent none is just being made, or given
 * back.
 */
static struct err *mark_span(struct tcmalloc *tc, const struct tcmalloc_span *span)
{
	const struct tcmalloc_list list = {
		.where = span->at + SPAN_OBJECTS, .head = span->objects, .class = span->class,
		.kind = CHUNK_FREE, .span = span, .count = span->nr - (uint64_t)span->refs,
		.count_at = span->at + SPAN_BITS,
	};

	if (!span->refs)
		for (uint64_t i = 0; i < span->nr; i++)
			set_state(tc, span->first + i, STATE_FREE);
	tc->class[span->class].free += list.count;
	return span->refs ? tcmalloc_lists_follow(tc, &list) : NULL;
}

/* The chains of a class's transfer cache. */
static struct err *mark_slots(struct tcmalloc *tc, unsigned class)
{
	uint64_t slots = tc->class[class].at + CENTRAL_SLOTS, where;
	struct err *err = NULL;
	int32_t used;

	if (!tc->slots || !tcmalloc_read(tc, slots + tc->slots * SLOT_SIZE, &used, sizeof(used)))
		return NULL;
	if (used < 0 || (uint64_t)used > tc->slots)
		return bare_walk_damage(&tc->bare, (struct heap_damage){
					.address = slots + tc->slots * SLOT_SIZE },
					"a transfer cache has %d chains", used);
	for (int32_t i = 0; i < used && !err; i++) {
		struct tcmalloc_list list = { .where = where = slots + (uint64_t)i * SLOT_SIZE,
					      .class = class, .kind = CHUNK_CACHED };

		if (tcmalloc_word(tc, where, &list.head))
			err = tcmalloc_lists_follow(tc, &list);
	}
	return err;
}

/* Are the spans of a class, and their free objects, as many as it says? */
static struct err *check_class(struct tcmalloc *tc, const struct tcmalloc_class *class)
{
	uint64_t says[2];

	if (!tcmalloc_read(tc, class->at + CENTRAL_SPANS, says, sizeof(says)) ||
	    (says[0] == class->spans && says[1] == class->free))
		return NULL;
	return bare_walk_damage(&tc->bare,
				(struct heap_damage){ .address = class->at + CENTRAL_SPANS },
				"%" PRIu64 " spans with %" PRIu64 " free blocks of %" PRIu64
				" bytes, and %" PRIu64 " with %" PRIu64 " are noted",
				class->spans, class->free, class->size, says[0], says[1]);
}

/*
 * A chain that is on its way, from one of its blocks on: none but free blocks are linked up to a
 * 0.
 */
static struct err *follow_loose(struct tcmalloc *tc, uint64_t address)
{
	const struct tcmalloc_span *span, *first = NULL;
	size_t before = tc->bare.walk->loose.nr, near = 0;
	struct err *err = NULL;
	uint64_t object;

	for (unsigned i = 0; i < LOOSE_MOST && address && !err; i++) {
		if (!find_object(tc, &near, address, &span, &object) || state_of(tc, object) ||
		    (first && span->class != first->class))
			break;
		first = first ? first : span;
		if (i)
			err = vec_push(&tc->bare.walk->loose, address);
		if (!tcmalloc_word(tc, address, &address))
			break;
	}
	if (address)
		tc->bare.walk->loose.nr = before;
	return err;
}

struct err *tcmalloc_lists_mark(struct tcmalloc *tc)
{
	const struct heap_source *source = tc->bare.source;
	struct err *err = NULL;

	vec_each_while(span, &tc->spans, !err)
		if (span->nr && span->refs > span->nr)
			err = bare_walk_damage(&tc->bare, (struct heap_damage){
					.address = span->at + SPAN_BITS, .after = span->start },
					"%u blocks of a span that has %" PRIu32 " are in use",
					span->refs, span->nr);
		else if (span->nr && span->refs < span->nr)
			err = mark_span(tc, span);
	for (unsigned i = 1; i < tc->classes && !err; i++)
		err = mark_slots(tc, i);
	if (!err)
		err = tcmalloc_caches_mark(tc);
	for (unsigned i = 1; i < tc->classes && !err; i++)
		err = check_class(tc, &tc->class[i]);
	for (size_t i = 0; i < source->nr_in_flight && !err; i++)
		err = follow_loose(tc, source->in_flight_word[i]);
	return err;
}
