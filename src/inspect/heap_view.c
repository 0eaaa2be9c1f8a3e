/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Walks the heaps of a view (heap_view.h). */

#include "inspect/heap_view.h"

#include <stdio.h>
#include <string.h>

#include "heap/reconcile.h"
#include "inspect/walk_limit.h"
#include "probe/allocators.h"
#include "tracee/target.h"

void heap_view_free(struct heap_view *walk)
{
	vec_free(&walk->maps);
	vec_free(&walk->data);
	vec_free(&walk->threads.vec);
	vec_free(&walk->in_flight_words.vec);
	vec_free(&walk->inside);
	vec_free(&walk->words);
}

/*
 * A heap may consist of several mappings, one behind the other: a forked child grows its heap in a
 * new one, and madvise or mlock splits a mapping.
 */
static struct err *push_map(struct heap_view *walk, const struct heap_map *map)
{
	struct heap_map *last = walk->maps.nr ? &walk->maps.at[walk->maps.nr - 1] : NULL;

	if (!last || last->end != map->start || last->brk != map->brk ||
	    last->anonymous != map->anonymous)
		return vec_push(&walk->maps, *map);
	last->end = map->end;
	return NULL;
}

static bool may_hold_heaps(const struct proc_map *map)
{
	return map->read && map->write && !map->shared;
}

static struct err *add_map(struct heap_view *walk, const struct proc_map *map)
{
	struct heap_map is = {
		.start = map->start,
		.end = map->end,
		.brk = !strcmp(map->path, "[heap]"),
		.anonymous = procparse_map_is_anonymous(map),
	};

	if (!may_hold_heaps(map))
		return NULL;
	if (is.brk) {
		walk->ret->brk_start = walk->ret->brk_start ? walk->ret->brk_start : is.start;
		walk->ret->brk = is.end;
	}
	return push_map(walk, &is);
}

static struct err *add_libc(struct heap_view *walk, const struct memory_view_libc *libc)
{
	size_t before = walk->data.nr;
	struct err *err = NULL;

	for (size_t i = 0; i < walk->view->maps.vec.nr && !err; i++) {
		const struct proc_map *map = &walk->view->maps.vec.at[i];

		/* The kernel makes its bss one with anonymous memory that follows. */
		if (may_hold_heaps(map) && map->start >= libc->start && map->start < libc->end)
			err = vec_push(&walk->data, ((struct heap_map){
				.start = map->start, .end = MIN(map->end, libc->end) }));
	}
	walk->libc[walk->nr_libcs++] = (struct heap_libc){ .nr_data = walk->data.nr - before,
							   .main_arena = libc->main_arena };
	return err;
}

/* The maps of their data do not move any more. */
static void place_data(struct heap_view *walk)
{
	size_t at = 0;

	for (size_t i = 0; i < walk->nr_libcs; i++) {
		walk->libc[i].data = walk->libc[i].nr_data ? &walk->data.at[at] : NULL;
		at += walk->libc[i].nr_data;
	}
}

static void name_libcs(struct heap_view *walk)
{
	struct heaps *heap = walk->ret;

	heap->nr_libcs = walk->nr_libcs;
	for (size_t i = 0; i < walk->nr_libcs; i++) {
		const struct memory_view_libc *libc = &walk->view->libcs.at[i];

		heap->libc[i].start = libc->start;
		snprintf(heap->libc[i].name, sizeof(heap->libc[i].name), "%s", libc->name);
	}
}

static struct err *look_at_maps(struct heap_view *walk)
{
	struct err *err = NULL;

	vec_clear(&walk->maps);
	for (size_t i = 0; i < walk->view->maps.vec.nr && !err; i++)
		err = add_map(walk, &walk->view->maps.vec.at[i]);
	return err;
}

static struct err *look_at_libcs(struct heap_view *walk)
{
	struct err *err = NULL;

	vec_clear(&walk->data);
	walk->nr_libcs = 0;
	for (size_t i = 0; i < walk->view->libcs.nr && i < HEAP_LIBCS_MAX && !err; i++)
		err = add_libc(walk, &walk->view->libcs.at[i]);
	place_data(walk);
	name_libcs(walk);
	return err;
}

static struct err *add_in_flight_word(struct heap_view *walk, uint64_t word)
{
	struct err *err;

	if (!word || word % 8)
		return NULL;
	err = vec_push(&walk->in_flight_words.vec, word);
	return err ? err : vec_push(&walk->words, word);
}

/* A thread that is inside the allocator, or may be: one that could not be stopped has no words. */
static struct err *add_inside(struct heap_view *walk, const struct memory_view_thread *thread)
{
	struct heap_inside inside = {
		.tid = thread->tid,
		.aborts = thread->aborts,
		.tp = thread->tp,
	};
	uint8_t regs = thread->stopped ? walk->view->arch->regs_words : 0;
	uint64_t word[MEMORY_VIEW_STACK_WORDS];
	size_t before = walk->words.nr;
	size_t nr = thread->stopped ? memory_view_stack_words(walk->view, thread, word) : 0;
	struct err *err = NULL;

	for (uint8_t i = 0; i < regs && !err; i++)
		err = add_in_flight_word(walk, regs_get(&thread->regs, i));
	for (size_t i = 0; i < nr && !err; i++)
		err = add_in_flight_word(walk, word[i]);
	inside.nr_words = walk->words.nr - before;
	return err ? err : vec_push(&walk->inside, inside);
}

/* The words do not move any more. */
static void place_words(struct heap_view *walk)
{
	size_t at = 0;

	vec_each(inside, &walk->inside) {
		inside->word = inside->nr_words ? &walk->words.at[at] : NULL;
		at += inside->nr_words;
	}
}

static struct err *look_at_threads(struct heap_view *walk)
{
	struct err *err = NULL;
	bool inside = false;

	vec_clear(&walk->threads.vec);
	vec_clear(&walk->in_flight_words.vec);
	vec_clear(&walk->inside);
	vec_clear(&walk->words);
	walk->all_threads = true;
	for (size_t i = 0; i < walk->view->threads.nr && !err; i++) {
		const struct memory_view_thread *thread = &walk->view->threads.at[i];

		if (!thread->stopped)
			walk->all_threads = false;
		else if (thread->tp)
			err = vec_push(&walk->threads.vec, thread->tp);
		if (!err && (thread->inside || !thread->stopped))
			err = add_inside(walk, thread);
		inside |= thread->inside;
	}
	place_words(walk);
	word_list_sort(&walk->in_flight_words);
	walk->ret->calm = !inside;
	return err;
}

/* The libcs from first on that have the same allocator as that one. */
static size_t same_allocator(const struct heap_view *walk, size_t first)
{
	size_t nr = 1;

	while (first + nr < walk->nr_libcs && walk->view->libcs.at[first + nr].allocator ==
						      walk->view->libcs.at[first].allocator)
		nr++;
	return nr;
}

/* The heaps of one allocator, whose first libc this is, are added to the walk. */
static struct err *walk_allocator(struct heap_view *walk, struct heap_source *source, size_t first)
{
	const struct allocator *allocator = walk->view->libcs.at[first].allocator;
	struct heap_walk found = HEAP_WALK_INIT;
	struct err *err;

	source->libc = &walk->libc[first];
	source->nr_libcs = same_allocator(walk, first);
	err = allocator->walk(source, &found);
	if (err)
		return err;
	vec_each(arena, &found.arenas)
		arena->libc = (uint16_t)(arena->libc + first);
	found.unknown_libcs <<= first;
	if (source->most_chunks && source->most_chunks != UINT64_MAX)
		source->most_chunks -= MIN(source->most_chunks - 1, found.chunks.nr);
	if (walk->ret->walked)
		return heap_walk_join(&walk->ret->walk, &found);
	walk->ret->walk = found;
	walk->ret->walked = true;
	return NULL;
}

/* An error that says more than that an allocator has nothing, as one that is not used. */
static bool says_more(const struct err *err, const struct err *than)
{
	return !than->msg[0] || (than->code == ERR_NOTFOUND && err->code != ERR_NOTFOUND);
}

/* Is it of no use to walk another allocator's heaps? */
static bool ends(const struct err *err)
{
	return err->code != ERR_NOTFOUND && err->code != ERR_UNSUPPORTED;
}

/*
 * Walk the heaps of all allocators. One in which nothing is allocated, or whose data are not laid out
 * as they should, counts as an error only if no other can be walked; then ret->why says so.
 */
static struct err *walk_each(struct heap_view *walk, struct heap_source *source)
{
	struct err *err = NULL, lacks = { .msg = "" };
	size_t nr;

	for (size_t i = 0; i < walk->nr_libcs && !(err && ends(err)); i += nr) {
		nr = same_allocator(walk, i);
		err = walk_allocator(walk, source, i);
		if (err && says_more(err, &lacks))
			err_copy(&lacks, err);
	}
	if (err && ends(err)) {
		if (walk->ret->walked)
			heap_walk_free(&walk->ret->walk);
		walk->ret->walked = false;
		return err;
	}
	if (!walk->ret->walked)
		return err_adopt(&lacks);
	if (lacks.msg[0] && lacks.code != ERR_NOTFOUND)
		snprintf(walk->ret->why, sizeof(walk->ret->why), "%.255s", lacks.msg);
	return NULL;
}

static struct err *walk_heaps(struct heap_view *walk)
{
	struct known known = KNOWN_INIT(walk->view->log, walk->view->process);
	struct heap_source source = {
		.memory = walk->view->memory,
		.map = walk->maps.at, .nr_maps = walk->maps.nr,
		.thread = walk->threads.vec.at, .nr_threads = walk->threads.vec.nr,
		.all_threads = walk->all_threads,
		.known_from = reconcile_known_from, .ctx = &known,
		.in_flight_word = walk->in_flight_words.vec.at, .nr_in_flight =
				     walk->in_flight_words.vec.nr,
		.inside = walk->inside.at, .nr_inside = walk->inside.nr,
		.lockless = walk->view->one_thread,
		.check = walk->check,
		.lists = walk->lists,
	};
	struct walk_limit limit;
	struct err *err;

	walk_limit_find(walk->own_memory, walk->view->pages_of, &limit);
	source.most_chunks = limit.chunks;
	err = walk_each(walk, &source);
	reconcile_known_free(&known);
	return walk_limit_say(&limit, err);
}

/* Chunks that words in flight point to count as in hand, too. */
static struct err *take_loose(struct heap_view *walk)
{
	struct err *err = NULL;

	for (size_t i = 0; i < walk->ret->walk.loose.nr && !err; i++)
		err = vec_push(&walk->in_flight_words.vec, walk->ret->walk.loose.at[i]);
	word_list_sort(&walk->in_flight_words);
	return err;
}

struct err *heap_view_walk(struct heap_view *walk)
{
	struct err *err;

	if (!walk->view->libcs.nr)
		return err_create(ERR_UNSUPPORTED, "no glibc in process %d", walk->view->target->pid);
	walk->ret->walked = false;
	walk->ret->why[0] = '\0';
	err = look_at_maps(walk);
	if (!err)
		err = look_at_libcs(walk);
	if (!err)
		err = look_at_threads(walk);
	if (!err)
		err = walk_heaps(walk);
	return err ? err : take_loose(walk);
}
