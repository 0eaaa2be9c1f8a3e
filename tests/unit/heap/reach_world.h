/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Words of memory (words.h) with blocks in them, to be marked. */
#pragma once

#include <stdio.h>
#include <string.h>

#include "fixture.h"
#include "heap/reach/reach.h"
#include "words.h"

#define WIDE_WORDS	9000u	/* of a block whose pointers reach.c does not keep: it is too large */

struct world {
	struct words in;
	struct packed_list held;
	struct reach_result result;
	struct reach_range code[1];
	struct reach_range stack[1];	/* none, if it is empty */
};

/* Stack i + 1 comes from function i / 4 by its function i: two return addresses. */
static inline uint32_t world_frames(void *ctx UNUSED, uint32_t stack, uint64_t *pcs, uint32_t most)
{
	pcs[0] = 0x1000 + stack / 4;
	pcs[most > 1] = most > 1 ? 0x2000 + stack : pcs[0];
	return MIN(most, 2u);
}

static inline void world_open(struct world *world)
{
	memset(world, 0, sizeof(*world));
	words_open(&world->in);
}

static inline void world_close(struct world *world)
{
	free(world->in.word);
	packed_free(&world->held);
	reach_free(&world->result);
}

static inline void push(struct world *world, struct block block)
{
	if (packed_add(&world->held, &block))
		abort();
}

static inline void add(struct world *world, size_t word, uint64_t size)
{
	push(world, (struct block){ .address = at(word), .size = size });
}

static inline void add_user(struct world *world, size_t word, uint64_t size)
{
	push(world, (struct block){ .address = at(word), .size = size, .heap = LOG_HEAP_USER });
}

/* They are in order of address; the user's come after the others. */
static inline enum leak_kind kind_of(const struct world *world, size_t i)
{
	return reach_kind(packed_at(&world->held, i));
}

static inline uint32_t leader(const struct world *world, size_t i)
{
	return reach_leader(&world->result, i);
}

static inline void run(struct world *world)
{
	const struct reach_range root = { BASE, world->stack->end ? world->stack->start : at(ROOT) };
	const struct reach_source source = {
		.unasked = UINT64_MAX,
		.memory = &world->in.memory,
		.list = &world->held,
		.root = &root, .nr_roots = 1,
		.code = world->code, .nr_code = world->code->end ? 1 : 0,
		.stack = world->stack, .nr_stacks = world->stack->end ? 1 : 0,
		.frames = world_frames,
	};

	reach_free(&world->result);
	CU_ASSERT_PTR_NULL_FATAL(packed_sort(&world->held, NULL));
	CU_ASSERT_PTR_NULL_FATAL(reach_run(&source, &world->result));
}

/* The kinds of all blocks, a letter each: d i p r. */
static inline void check_kinds(struct world *world, const char *want)
{
	char got[64] = "";

	run(world);
	for (size_t i = 0; i < world->held.nr && i < sizeof(got) - 1; i++)
		got[i] = "dipr"[kind_of(world, i)];
	if (strcmp(got, want))
		fprintf(stderr, "got %s, want %s\n", got, want);
	CU_ASSERT_STRING_EQUAL(got, want);
}
