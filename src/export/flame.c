/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The layout of a flame graph (flame.h). */

#include "export/flame.h"

#include <string.h>

#include "base/cleanup.h"

#define FRAMES_MOST	(1u << 24)	/* 64 bytes each */

struct err *flame_init(struct flame *flame, enum flame_of of)
{
	memset(flame, 0, sizeof(*flame));
	flame->of = of;
	return vec_push(&flame->frames, ((struct flame_frame){ .parent = FLAME_ROOT }));
}

void flame_free(struct flame *flame)
{
	vec_free(&flame->frames);
	vec_free(&flame->order);
	interner_free(&flame->children);
}

uint64_t flame_weight(const struct flame *flame, const struct flame_frame *frame)
{
	switch (flame->of) {
	case FLAME_COUNT: return frame->sums.count;
	case FLAME_GROWTH: return frame->sums.grown + frame->sums.shrunk;
	default: return frame->sums.bytes;
	}
}

/* The frame of that name above another. */
static struct err *child(struct flame *flame, uint32_t parent, uint32_t name, uint32_t *ret)
{
	struct flame_frame frame = { .name = name, .parent = parent,
				     .depth = flame->frames.at[parent].depth + 1 };
	uint32_t number;
	struct err *err = interner_number(&flame->children, (uint64_t)parent << 32 | name, &number);

	if (err)
		return err;
	*ret = number + 1;	/* the frame before the first child is the root */
	if (*ret < flame->frames.nr)
		return NULL;
	if (flame->frames.nr == FRAMES_MOST)
		return err_hint(err_create(ERR_RANGE, "more than %u frames", FRAMES_MOST),
				"a filter, or a limit, makes them fewer");
	return vec_push(&flame->frames, frame);
}

/* Add sums. False: they would be too large for their type, and nothing was added. */
static bool add_sums(struct flame_sums *to, const struct flame_sums *more)
{
	struct flame_sums sums;
	uint64_t changed;

	if (__builtin_add_overflow(to->bytes, more->bytes, &sums.bytes) ||
	    __builtin_add_overflow(to->count, more->count, &sums.count) ||
	    __builtin_add_overflow(to->grown, more->grown, &sums.grown) ||
	    __builtin_add_overflow(to->shrunk, more->shrunk, &sums.shrunk) ||
	    __builtin_add_overflow(sums.grown, sums.shrunk, &changed))
		return false;
	*to = sums;
	return true;
}

struct err *flame_add(struct flame *flame, const uint32_t *names, size_t nr,
		      const struct flame_sums *sums)
{
	struct err *err = NULL;
	uint32_t at = FLAME_ROOT;

	/* If the whole has room for them, each frame has. */
	if (!add_sums(&flame->frames.at[at].sums, sums))
		return err_create(ERR_RANGE, "the sums of the sites are too large: the log is damaged");
	for (size_t i = 0; !err && i < nr; i++) {
		err = child(flame, at, names[i], &at);
		if (!err)
			add_sums(&flame->frames.at[at].sums, sums);
	}
	return err;
}

/* Order by row; within a row frames of one parent are together, the heaviest first. */
static int by_place(const void *va, const void *vb, void *ctx)
{
	const struct flame *flame = ctx;
	uint32_t i = *(const uint32_t *)va, j = *(const uint32_t *)vb;
	const struct flame_frame *a = &flame->frames.at[i], *b = &flame->frames.at[j];
	uint64_t weight_a, weight_b;

	if (a->depth != b->depth)
		return a->depth < b->depth ? -1 : 1;
	if (a->parent != b->parent)
		return a->parent < b->parent ? -1 : 1;
	weight_a = flame_weight(flame, a);
	weight_b = flame_weight(flame, b);
	if (weight_a != weight_b)
		return weight_a > weight_b ? -1 : 1;
	return i < j ? -1 : i > j;
}

/* Order by row, from the left. Of two frames that begin at one place the first has no width. */
static int by_begin(const void *va, const void *vb, void *ctx)
{
	const struct flame *flame = ctx;
	uint32_t i = *(const uint32_t *)va, j = *(const uint32_t *)vb;
	const struct flame_frame *a = &flame->frames.at[i], *b = &flame->frames.at[j];
	uint64_t weight_a = flame_weight(flame, a), weight_b = flame_weight(flame, b);

	if (a->depth != b->depth)
		return a->depth < b->depth ? -1 : 1;
	if (a->begin != b->begin)
		return a->begin < b->begin ? -1 : 1;
	if (weight_a != weight_b)
		return weight_a < weight_b ? -1 : 1;
	return i < j ? -1 : i > j;
}

static void sort_order(struct flame *flame, int (*compare)(const void *, const void *, void *))
{
	qsort_r(flame->order.at, flame->order.nr, sizeof(*flame->order.at), compare, flame);
}

struct err *flame_place(struct flame *flame)
{
	struct flame_frame *frames = flame->frames.at;
	struct err *err = vec_reserve(&flame->order, flame->frames.nr);
	uint64_t begin = 0;

	if (err)
		return err;
	for (uint32_t i = 0; i < flame->frames.nr; i++)
		flame->order.at[flame->order.nr++] = i;
	sort_order(flame, by_place);
	for (size_t i = 1; i < flame->order.nr; i++) {
		struct flame_frame *frame = &frames[flame->order.at[i]];

		/* A parent is in the row below, and has its place by now. */
		if (i == 1 || frame->parent != frames[flame->order.at[i - 1]].parent)
			begin = frames[frame->parent].begin;
		frame->begin = begin;
		begin += flame_weight(flame, frame);
	}
	sort_order(flame, by_begin);
	return NULL;
}

/* The heaviest first. A frame has a larger number than the one below it, which weighs as much. */
static int by_weight(const void *va, const void *vb, void *ctx)
{
	const struct flame *flame = ctx;
	uint32_t i = *(const uint32_t *)va, j = *(const uint32_t *)vb;
	uint64_t a = flame_weight(flame, &flame->frames.at[i]);
	uint64_t b = flame_weight(flame, &flame->frames.at[j]);

	if (a != b)
		return a > b ? -1 : 1;
	return i < j ? -1 : i > j;
}

struct err *flame_choose(struct flame *flame, uint64_t parts, uint64_t room,
			 uint64_t (*cost)(void *ctx, uint32_t name), void *ctx)
{
	AUTO_FREE uint32_t *rank = calloc(flame->frames.nr, sizeof(*rank));
	uint64_t all = flame_weight(flame, &flame->frames.at[FLAME_ROOT]);

	if (!rank)
		return err_nomem;
	for (uint32_t i = 0; i < flame->frames.nr; i++)
		rank[i] = i;
	qsort_r(rank, flame->frames.nr, sizeof(*rank), by_weight, flame);
	flame->drawn = flame->rows = 0;
	for (size_t i = 0; i < flame->frames.nr; i++) {
		struct flame_frame *frame = &flame->frames.at[rank[i]];
		uint64_t needs = rank[i] == FLAME_ROOT ? 0 : cost(ctx, frame->name);
		uint64_t weight = flame_weight(flame, frame);

		if (rank[i] != FLAME_ROOT && (!weight || weight < all / parts || needs > room))
			break;
		room -= needs;
		frame->drawn = true;
		flame->drawn++;
		flame->rows = MAX(flame->rows, frame->depth + 1);
	}
	return NULL;
}

uint64_t flame_edge(const struct flame *flame, uint64_t offset, uint64_t width)
{
	uint64_t all = flame_weight(flame, &flame->frames.at[FLAME_ROOT]);

	return all ? (uint64_t)((unsigned __int128)offset * width / all) : 0;
}
