/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The pieces of growth/held.h against an array that has an entry for each page. */

#include "growth/held.h"
#include "unit.h"

#define PAGES	6000u
#define ROUNDS	60000u
#define STEP	0x1000ull

/* Of each page: whose it is (the stack of its piece), and since when. 0: nobody's. */
struct page {
	uint32_t stack;
	uint64_t since;
};

static struct page page[PAGES];

static uint64_t random_number(void)
{
	static uint64_t state = 88172645463325252ull;

	return unit_random(&state);
}

static void model_insert(unsigned from, unsigned to, uint64_t since, uint32_t stack)
{
	for (unsigned i = from; i < to; i++)
		if (!page[i].stack || page[i].since < since)
			page[i] = (struct page){ stack, since };
}

static uint64_t model_remove(unsigned from, unsigned to, uint64_t before)
{
	uint64_t removed = 0;

	for (unsigned i = from; i < to; i++) {
		if (!page[i].stack || page[i].since >= before)
			continue;
		page[i].stack = 0;
		removed++;
	}
	return removed;
}

static void check_same(const struct held *held)
{
	uint64_t at = 0, bytes[HELD_KINDS] = { 0 };
	size_t nr = 0, pages = 0;

	held_each(piece, held) {
		CU_ASSERT_FATAL(piece->start >= at && piece->start < piece->end);
		for (uint64_t i = piece->start / STEP; i < piece->end / STEP; i++) {
			CU_ASSERT_EQUAL_FATAL(page[i].stack, piece->stack);
			CU_ASSERT_EQUAL_FATAL(page[i].since, piece->since);
			pages++;
		}
		at = piece->end;
		bytes[piece->kind] += piece->end - piece->start;
		nr++;
	}
	CU_ASSERT_EQUAL(nr, held->nr);
	CU_ASSERT(!memcmp(bytes, held->bytes, sizeof(bytes)));
	for (unsigned i = 0; i < PAGES; i++)
		pages -= page[i].stack != 0;
	CU_ASSERT_EQUAL(pages, 0);
}

static uint64_t bytes_of(const struct held_pieces *pieces)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < pieces->vec.nr; i++)
		bytes += pieces->vec.at[i].end - pieces->vec.at[i].start;
	return bytes;
}

/* Short ones leave many pieces, and now and then a long one takes most of them. */
static void one_round(struct held *held, uint32_t round)
{
	unsigned from = (unsigned)(random_number() % (PAGES - 1));
	unsigned most = random_number() % 2000 ? 3 : PAGES;
	unsigned to = from + 1 + (unsigned)(random_number() % MIN(most, PAGES - from));
	uint64_t when = 1 + round + random_number() % 20;	/* events come out of order */
	struct held_piece piece = {
		.start = from * STEP, .end = to * STEP, .since = when, .base = from * STEP,
		.stack = round + 1, .kind = (enum held_kind)(round % HELD_KINDS),
	};
	struct held_pieces taken = { VEC_INIT };

	if (random_number() % 3) {
		CU_ASSERT_PTR_NULL_FATAL(held_insert(held, &piece));
		model_insert(from, to, when, round + 1);
		return;
	}
	CU_ASSERT_PTR_NULL_FATAL(held_remove(held, from * STEP, to * STEP, when, &taken));
	CU_ASSERT_EQUAL(bytes_of(&taken), model_remove(from, to, when) * STEP);
	vec_free(&taken.vec);
}

TEST("as by pages")
{
	struct held held = HELD_INIT;
	size_t most = 0;

	memset(page, 0, sizeof(page));
	for (uint32_t round = 0; round < ROUNDS; round++) {
		one_round(&held, round);
		most = MAX(most, held.nr);
		if (round % 500 == 0)
			check_same(&held);
	}
	check_same(&held);
	CU_ASSERT(most > 4 * HELD_CHUNK);	/* chunks were split */
	CU_ASSERT_PTR_NULL(held_remove(&held, 0, UINT64_MAX, UINT64_MAX, NULL));
	CU_ASSERT(held.nr == 0 && held.chunks.nr == 0);
	CU_ASSERT(!(held.bytes[HELD_BRK] | held.bytes[HELD_MMAP] | held.bytes[HELD_SHM]));
	held_clear(&held);
}

/* What an event says may be nonsense. */
TEST("bounds")
{
	struct held held = HELD_INIT;
	struct held_piece piece = { .start = STEP, .end = UINT64_MAX, .since = UINT64_MAX };

	CU_ASSERT_PTR_NULL(held_insert(&held, &piece));
	CU_ASSERT_PTR_NULL(held_remove(&held, 0, UINT64_MAX, UINT64_MAX, NULL));
	CU_ASSERT_EQUAL(held.nr, 1);
	piece.since = 3;
	CU_ASSERT_PTR_NULL(held_insert(&held, &piece));
	CU_ASSERT_EQUAL(held.nr, 1);
	piece.start = piece.end;
	CU_ASSERT_PTR_NULL(held_insert(&held, &piece));
	CU_ASSERT_EQUAL(held.nr, 1);
	held_clear(&held);
}

TEST("full")
{
	struct held held = HELD_INIT;
	struct held_piece piece = { .since = 1 };
	struct err *err = NULL;
	uint64_t nr = 0;

	for (; !err && nr <= HELD_MAX; nr++) {
		piece.start = nr * 2 * STEP;
		piece.end = piece.start + STEP;
		err = held_insert(&held, &piece);
	}
	CU_ASSERT(err && err->code == ERR_RANGE);
	CU_ASSERT_EQUAL(held.nr, HELD_MAX);
	CU_ASSERT_EQUAL(held.bytes[piece.kind], HELD_MAX * STEP);
	held_clear(&held);
}
