/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Looks at a heap, one after the other: what is sure, and what may be from before the attach. */

#include "fixture.h"
#include "heap/reconcile.h"
#include "heap/heap_walk.h"

void suite_reconcile(void);

/* One look: chunks of 32 bytes, a letter each: e (early), r (recorded), l (left out), - (free). */
struct look {
	struct heap_walk walk;
	struct word_list left_out;
};

static uint64_t at(size_t chunk)
{
	return 0x1010 + 32 * chunk;
}

static void look_open(struct look *look, const char *chunks)
{
	*look = (struct look){ .walk = HEAP_WALK_INIT };
	for (size_t i = 0; chunks[i]; i++) {
		struct heap_chunk chunk = {
			.address = at(i), .size = 32,
			.kind = chunks[i] == '-' ? CHUNK_FREE : CHUNK_USED,
			.note = chunks[i] == 'e' ? NOTE_EARLY :
				chunks[i] == 'r' ? NOTE_RECORDED : NOTE_NONE,
		};
		bool is_new;

		if (heap_chunks_add(&look->walk.chunks, &chunk, &is_new) ||
		    (chunks[i] == 'l' && vec_push(&look->left_out.vec, at(i))))
			abort();
	}
}

static void look_close(struct look *look)
{
	heap_walk_free(&look->walk);
	vec_free(&look->left_out.vec);
}

/* How many of those that are left out may be from before the attach; the look is kept. */
static uint64_t look_at(struct reconcile_history *looks, const char *chunks, uint64_t damages)
{
	struct look look;
	uint64_t nr;

	look_open(&look, chunks);
	look.walk.damages = damages;
	nr = reconcile_unsure(looks, &look.left_out);
	CU_ASSERT_PTR_NULL(reconcile_keep(looks, &look.walk, &look.left_out));
	look_close(&look);
	return nr;
}

static void test_seen(void)
{
	struct reconcile_history looks = { .any = false };

	/* At first all that are left out may be. */
	CU_ASSERT_EQUAL(look_at(&looks, "lel-r", 0), 2);
	/* The fourth was given out since. */
	CU_ASSERT_EQUAL(look_at(&looks, "eell-", 0), 1);
	/* The third is gone, so that what comes to be in its place later is another. */
	CU_ASSERT_EQUAL(look_at(&looks, "ee-l-", 0), 0);
	CU_ASSERT_EQUAL(look_at(&looks, "lll--", 0), 2);
	reconcile_free(&looks);
}

/* A look at a heap that was torn overlooks some. */
static void test_torn(void)
{
	struct reconcile_history looks = { .any = false };

	CU_ASSERT_EQUAL(look_at(&looks, "l----", 1), 1);
	CU_ASSERT_FALSE(looks.any);
	CU_ASSERT_EQUAL(look_at(&looks, "llrr-", 0), 2);
	CU_ASSERT_EQUAL(look_at(&looks, "l----", 1), 1);
	CU_ASSERT_EQUAL(look_at(&looks, "lll--", 0), 2);
	reconcile_free(&looks);
}

static void test_sure(void)
{
	struct reconcile_history looks = { .any = false };
	struct log log;

	look_at(&looks, "e-e-l", 0);
	look_at(&looks, "-e-re", 1);
	CU_ASSERT_EQUAL_FATAL(looks.sure.vec.nr, 4);
	for (size_t i = 0; i < 4; i++)
		CU_ASSERT_TRUE(word_list_has(&looks.sure, 4, at((size_t[]){ 0, 1, 2, 4 }[i])));
	CU_ASSERT_FALSE(word_list_has(&looks.sure, 4, at(3)));
	reconcile_drop_freed(&looks, NULL, true);
	CU_ASSERT_EQUAL(looks.sure.vec.nr, 4);
	/* One of them may have been freed. */
	fixture_open(&log);
	reconcile_drop_freed(&looks, &log, true);
	CU_ASSERT_EQUAL(looks.sure.vec.nr, 4);
	log_count(&log, 0, LOG_ACCOUNT(unknown_frees), 1);
	reconcile_drop_freed(&looks, &log, true);
	CU_ASSERT_EQUAL(looks.sure.vec.nr, 0);
	look_at(&looks, "e", 0);
	reconcile_drop_freed(&looks, &log, true);
	CU_ASSERT_EQUAL(looks.sure.vec.nr, 1);
	reconcile_drop_freed(&looks, &log, false);
	CU_ASSERT_EQUAL(looks.sure.vec.nr, 0);
	fixture_close(&log);
	reconcile_free(&looks);
}

void suite_reconcile(void)
{
	CU_pSuite suite = CU_add_suite("reconcile", NULL, NULL);

	CU_add_test(suite, "seen at each", test_seen);
	CU_add_test(suite, "at a torn heap", test_torn);
	CU_add_test(suite, "listed at any", test_sure);
}
