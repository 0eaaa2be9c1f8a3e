/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Decides whether a contradiction is certainly damage, or whether a thread may be in the middle of
 * a change.
 *
 * glibc changes an arena with its lock held, but for a push to a fastbin, which is one word; in a
 * process with one thread it takes no lock (SINGLE_THREAD_P). A thread's cache is changed by that
 * thread alone, without a lock. One that no thread's pointer leads to any more may be in the middle
 * of a change for ever: a thread that ends takes its cache apart, and a forked child has those of
 * its parent's other threads as they were.
 */

#include "heap/glibc/glibc.h"

static const struct heap_doubt no_heap_doubt = { .why = HEAP_DOUBT_NONE };
static const struct heap_doubt locked = { .why = HEAP_DOUBT_LOCKED };

static bool has_word(const struct heap_inside *inside, uint64_t word)
{
	for (size_t i = 0; i < inside->nr_words; i++)
		if (inside->word[i] == word)
			return true;
	return false;
}

/* If the allocator itself has found damage, it is damage. */
static struct heap_doubt doubt_by(const struct heap_inside *inside)
{
	return (struct heap_doubt){ inside->aborts ? HEAP_DOUBT_NONE : HEAP_DOUBT_INSIDE,
				    inside->tid };
}

/*
 * Returns the doubt of a locked arena. If only one thread inside has the arena in hand, it holds
 * the lock.
 */
static struct heap_doubt doubt_by_holder(const struct heap_source *source, uint64_t arena)
{
	struct heap_doubt doubt = locked;
	unsigned holders = 0;

	for (size_t i = 0; i < source->nr_inside; i++)
		if (has_word(&source->inside[i], arena) && !holders++)
			doubt = doubt_by(&source->inside[i]);
	return holders == 1 ? doubt : locked;
}

struct heap_doubt glibc_doubt_any(const struct glibc *glibc)
{
	const struct heap_source *source = glibc->source;

	for (size_t i = 0; i < source->nr_inside; i++)
		if (!source->inside[i].aborts)
			return doubt_by(&source->inside[i]);
	return no_heap_doubt;
}

void glibc_doubt_arenas(struct glibc *glibc)
{
	const struct heap_source *source = glibc->source;

	vec_each(arena, &glibc->walk->arenas) {
		if (arena->locked)
			arena->doubt = doubt_by_holder(source, arena->address);
		else if (source->lockless)
			arena->doubt = glibc_doubt_any(glibc);
	}
}

struct heap_doubt glibc_doubt_heap(const struct glibc *glibc, uint16_t heap)
{
	const struct heap_walk *walk = glibc->walk;

	return heap < walk->arenas.nr ? walk->arenas.at[heap].doubt : no_heap_doubt;
}

struct heap_doubt glibc_doubt_address(const struct glibc *glibc, uint64_t address)
{
	const struct heap_walk *walk = glibc->walk;
	size_t low = LOWER_BOUND(i, 0, walk->spans.nr, walk->spans.at[i].end <= address);

	if (low == walk->spans.nr || address < walk->spans.at[low].start)
		return no_heap_doubt;
	return glibc_doubt_heap(glibc, walk->spans.at[low].heap);
}

struct heap_doubt glibc_doubt_cache(const struct glibc *glibc, uint64_t tp)
{
	const struct heap_source *source = glibc->source;

	for (size_t i = 0; i < source->nr_inside; i++)
		if (source->inside[i].tp == tp)
			return doubt_by(&source->inside[i]);
	return no_heap_doubt;
}
