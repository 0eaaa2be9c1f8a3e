/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whose blocks keep free memory resident: the free bytes of pinned pages (heap/free_space.h),
 * charged to the live blocks on them.
 *
 * Each of the live blocks on a page keeps it as much as the others do, however small it is. So they
 * share the free bytes of a page in equal parts. (What cannot be divided goes to the first ones.)
 * The sum of all charges is therefore the sum of the free bytes of all pinned pages.
 *
 * Where objects of a pool lie in a block, which `probe` has named, it is these that keep the block:
 * they share its part in the same way. Objects from before that are not known.
 *
 * A block that has no record has no site: it counts under its size, but by heap and by type.
 */
#pragma once

#include "heap/filter.h"
#include "heap/free_space.h"
#include "heap/interner.h"
#include "heap/packed.h"
#include "heap/reconcile.h"
#include "heap/site.h"

/* The first ones are those of enum site_by. */
enum pin_by {
	PIN_STACK = SITE_STACK, PIN_FUNCTION = SITE_FUNCTION, PIN_LINE = SITE_LINE,
	PIN_MODULE = SITE_MODULE, PIN_THREAD = SITE_THREAD, PIN_SIZE = SITE_SIZE,
	PIN_HEAP, PIN_TYPE,
};

/* Some blocks, or objects of pools, that keep pages. All sums are of those pages, and of the blocks on them. */
struct pin {
	/* as of struct site; by heap or type its number; without a record the size */
	uint64_t key;
	uint64_t bytes;		/* free ones, that are charged to them */
	uint64_t pages;		/* that at least one of them is on */
	uint64_t count, held;	/* how many they are, and their own bytes */
	uint32_t stack;		/* of most of the bytes; LOG_STACK_NONE: there is none */
	uint32_t number;	/* in the order of address */
	bool preattach;		/* they are in no record: key is their size ... */
	bool unrecorded;	/* ... and they may not be from before the attach */
};

struct pins_source {
	const struct heap_walk *walk;	/* with the notes of reconcile_merge */
	const struct page_runs *pages;
	uint64_t brk;			/* as in struct free_space_source */
	const struct packed_list *held;	/* the log's, with objects of pools; timed if they are added by thread */
	/*
	 * log (may be NULL), process, complete, and until: the moment of the walk, UINT64_MAX if
	 * held is of that moment, too. Blocks that were freed since are asked for in the log.
	 */
	struct walk_merge moment;
	/* The charges of other blocks are in `others`. NULL: all match. */
	const struct filter *filter;
	const struct filter_env *env;
	enum pin_by by;
	/* As in struct site_spec. */
	uint64_t (*key_of)(void *ctx, uint32_t stack, enum site_by by);
	void *ctx;
	/* The number of the block's type, for PIN_TYPE. */
	uint64_t (*type_of)(void *types, const struct block *block);
	void *types;
};

struct pins {
	VEC(struct pin) vec;		/* most bytes first; ties by number */
	uint64_t bytes;			/* of vec, before any limit */
	uint64_t others;		/* charged to blocks that the filter does not keep */
	struct free_space space;
	struct interner keys;		/* of vec, by number */
};

#define PINS_INIT	{ .vec = VEC_INIT, .space = FREE_SPACE_INIT }

/* *ret is empty before, and the caller frees it, also after an error. ERR_NOMEM, ERR_RANGE. */
struct err *pins_build(const struct pins_source *source, struct pins *ret) MUST_CHECK;
/*
 * The sums as they would be if all blocks of the first nr of vec were free, those on other pages,
 * too. source is that of pins_build. *ret is empty before, and the caller frees it.
 */
struct err *pins_without(const struct pins_source *source, const struct pins *pins, size_t nr,
			 struct free_space *ret) MUST_CHECK;
void pins_free(struct pins *pins);
