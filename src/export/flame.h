/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The layout of a flame graph: stacks in, rectangles out. It knows nothing of files and of names
 * but their numbers.
 *
 * Stacks that begin with the same functions share these frames. The whole is frame 0; what is
 * called from a frame stands above it, the largest on the left. A frame is as wide as all that was
 * allocated in it and in what it has called:
 *
 *	weight of a frame	>= the weights of those above it, added up; the rest is its own
 *	[begin, begin + weight)	lies in that of the frame below, and apart from those beside it
 *
 * Of a difference the weight is what has changed, up and down. (Up less down is no width: it may be
 * nothing where much has changed.)
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"
#include "heap/interner.h"

enum flame_of { FLAME_BYTES, FLAME_COUNT, FLAME_GROWTH };

struct flame_sums {
	uint64_t bytes, count;
	uint64_t grown, shrunk;		/* bytes */
};

#define FLAME_ROOT	0u

struct flame_frame {
	uint32_t name;			/* number; none of the whole */
	uint32_t parent;		/* below it, with a smaller number; of the whole itself */
	uint32_t depth;			/* the row, from 0 */
	bool drawn;			/* flame_choose; then all below it are drawn, too */
	struct flame_sums sums;
	uint64_t begin;			/* flame_place */
};

struct flame {
	enum flame_of of;
	VEC(struct flame_frame) frames;
	VEC(uint32_t) order;		/* flame_place: by row, each from the left to the right */
	struct interner children;	/* frame less one, by parent << 32 | name */
	size_t drawn;			/* flame_choose: how many frames, in how many rows */
	uint32_t rows;
};

struct err *flame_init(struct flame *flame, enum flame_of of) MUST_CHECK;
void flame_free(struct flame *flame);
/* Names of functions, outermost first. ERR_RANGE: there are too many frames, or bytes. */
struct err *flame_add(struct flame *flame, const uint32_t *names, size_t nr,
		      const struct flame_sums *sums) MUST_CHECK;
uint64_t flame_weight(const struct flame *flame, const struct flame_frame *frame);
/* Place the frames. Call this when all stacks are added. */
struct err *flame_place(struct flame *flame) MUST_CHECK;
/*
 * Choose the frames that are drawn: those that are at least as wide as one in `parts` of the whole,
 * the widest first, as long as there is room. cost says how much room a name takes.
 */
struct err *flame_choose(struct flame *flame, uint64_t parts, uint64_t room,
			 uint64_t (*cost)(void *ctx, uint32_t name), void *ctx) MUST_CHECK;
/*
 * Where an offset is on a line of `width` units, rounded down. Edges that are equal stay so, and
 * what lies in something lies in it there, too.
 */
uint64_t flame_edge(const struct flame *flame, uint64_t offset, uint64_t width);
