/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Scripts of events, and what comes of them. */

#include "ledger_scripts.h"

#include "unit.h"

#define A	0x10000ull
#define B	0x20000ull
#define C	0x30000ull
#define FAR	(1 << 20)	/* more bytes than any script asks for */

enum what { END, ENTER, AS_IT_IS, LEAVE, RELEASE, RETURNED, UNDER_WAY, GAP, GAP_IS };

struct step {
	enum what what;
	enum script_function fn;
	unsigned depth;
	uint64_t arg[3];
};

#define STEPS	40

struct script {
	const char *name;
	bool bounded;
	uint64_t sample;		/* with the next sample far away */
	struct step step[STEPS];
	struct log_accounts want;
	/* What is recorded in the end: block, size. */
	uint64_t record[4][2];
};

#define E(fn, depth, ...)	{ ENTER, fn, depth, { __VA_ARGS__ } }
#define T(fn, depth, ...)	{ AS_IT_IS, fn, depth, { __VA_ARGS__ } }
#define L(fn, depth, block)	{ LEAVE, fn, depth, { block } }
#define F(fn, depth, block)	{ RELEASE, fn, depth, { block } }
/* A call with nothing inside. */
#define M(depth, size, block)	E(MALLOC, depth, size), L(MALLOC, depth, block)
#define K(depth, size, block)	E(CALLOC, depth, 1, size), L(CALLOC, depth, block)
#define N(depth, size, block)	E(NEW, depth, size), L(NEW, depth, block)
#define R(depth, from, size, to) E(REALLOC, depth, from, size), L(REALLOC, depth, to)
/* An outer function, with malloc inside, gives a block. */
#define NM(size, inner, block)	E(NEW, 7, size), M(9, inner, block), L(NEW, 7, block)
#define KM(size, inner, block)	E(CALLOC, 7, 1, size), M(9, inner, block), L(CALLOC, 7, block)
#define GONE(depth)		{ RETURNED, 0, depth, { 0 } }
#define OPS(nr)			{ UNDER_WAY, 0, 0, { nr } }
#define GAP_TO(bytes)		{ GAP, 0, 0, { bytes } }
#define GAP_AT(bytes)		{ GAP_IS, 0, 0, { bytes } }

static const struct script scripts[] = {
	{ "plain", .step = { M(3, 100, A), K(3, 30, B), F(FREE, 2, A), F(FREE, 2, 0),
			     F(FREE, 2, C), M(3, 5, 0) },
	  .want = { .allocs = 2, .alloc_bytes = 130, .frees = 1, .free_bytes = 100,
		    .unknown_frees = 1, .null_frees = 1, .failed = 1 },
	  .record = { { B, 30 } } },
	{ "sizes", .step = { E(CALLOC, 1, 7, 6), L(CALLOC, 1, A),
			     E(CALLOC, 1, 1ull << 40, 1ull << 40), L(CALLOC, 1, B) },
	  .want = { .allocs = 2, .alloc_bytes = 42 + LOG_SIZE_MAX },
	  .record = { { A, 42 }, { B, LOG_SIZE_MAX } } },

	/* The same address again and again, each time higher up: one call. */
	{ "nested", .step = { E(NEW, 5, 49), E(CALLOC, 7, 1, 50), M(9, 64, A), L(CALLOC, 7, A),
			      L(NEW, 5, A) },
	  .want = { .allocs = 1, .alloc_bytes = 49, .nested = 2 }, .record = { { A, 49 } } },
	{ "inner block of its own", .step = { E(CALLOC, 1, 1, 10), M(2, 77, B), L(CALLOC, 1, C) },
	  .want = { .allocs = 2, .alloc_bytes = 87 }, .record = { { B, 77 }, { C, 10 } } },
	/* A block that is found at the address of a new one is no part of it. */
	{ "replaced", .step = { M(5, 10, A), M(5, 20, A), M(7, 30, A), M(9, 40, B), M(4, 50, A),
				F(FREE, 4, A), M(9, 60, A), F(FREE, 9, A), M(4, 70, A) },
	  .want = { .allocs = 7, .alloc_bytes = 280, .frees = 2, .free_bytes = 170, .replaced = 3 },
	  .record = { { A, 70 }, { B, 40 } } },

	{ "resize", .step = { R(3, 0, 10, A),			/* as malloc */
			      E(REALLOC, 3, A, 20), OPS(1), L(REALLOC, 3, A), OPS(0),
			      R(3, A, 30, B),			/* elsewhere */
			      R(3, B, 0, 0),			/* freed */
			      R(3, C, 40, A),			/* of a block from before */
			      R(3, 0, 40, 0) },
	  .want = { .allocs = 4, .alloc_bytes = 100, .frees = 3, .free_bytes = 60,
		    .unknown_frees = 1, .failed = 1 },
	  .record = { { A, 40 } } },
	{ "resize that fails", .step = { M(3, 10, A), R(3, A, 1ull << 50, 0) },
	  .want = { .allocs = 1, .alloc_bytes = 10, .failed = 1 }, .record = { { A, 10 } } },
	/* realloc calls malloc and free; a block that is not in hand is freed as any other. */
	{ "resize by malloc and free", .bounded = true,
	  .step = { M(3, 10, A), E(REALLOC, 3, A, 20), M(5, 24, B), F(FREE, 5, A),
		    L(REALLOC, 3, B), M(3, 1, C), E(REALLOC, 3, B, 30), F(FREE, 5, C),
		    L(REALLOC, 3, B) },
	  .want = { .allocs = 4, .alloc_bytes = 61, .frees = 3, .free_bytes = 31, .nested = 2 },
	  .record = { { B, 30 } } },
	/* reallocarray calls realloc: the inner one is not recorded, however it ends. */
	{ "resize in a resize",
	  .step = { M(3, 10, A), E(REALLOCARRAY, 3, A, 5, 6), R(5, A, 30, B),
		    L(REALLOCARRAY, 3, B), E(REALLOCARRAY, 3, B, 5, 7), R(5, B, 35, 0),
		    L(REALLOCARRAY, 3, 0) },
	  .want = { .allocs = 2, .alloc_bytes = 40, .frees = 1, .free_bytes = 10, .nested = 2,
		    .failed = 1 },
	  .record = { { B, 30 } } },

	/* By its nothrow twin; and under way no more. */
	{ "throwing", .step = { E(NEW, 3, 10), T(NEW, 5, 10), M(7, 10, A), L(NEW, 3, A),
				N(5, 10, 0) },
	  .want = { .allocs = 1, .alloc_bytes = 10, .nested = 1, .failed = 1 },
	  .record = { { A, 10 } } },

	/* operator delete jumps to free, or calls it. */
	{ "free by a free", .step = { M(3, 10, A), F(DELETE, 3, A), F(FREE, 3, A), M(3, 20, B),
				      F(DELETE, 3, B), F(FREE, 6, B) },
	  .want = { .allocs = 2, .alloc_bytes = 30, .frees = 2, .free_bytes = 30, .nested = 2 } },
	/* From higher up, or behind its return: twice freed. And free leads to no other. */
	{ "free behind a free", .bounded = true,
	  .step = { M(3, 10, A), F(DELETE, 3, A), F(FREE, 2, A), GONE(3), F(FREE, 6, A),
		    M(3, 20, B), F(FREE, 3, B), F(FREE, 3, B) },
	  .want = { .allocs = 2, .alloc_bytes = 30, .frees = 2, .free_bytes = 30,
		    .double_frees = 3 } },
	{ "given again behind a free", .step = { M(3, 30, C), F(DELETE, 3, C), M(6, 5, C),
						 F(FREE, 6, C) },
	  .want = { .allocs = 2, .alloc_bytes = 35, .frees = 2, .free_bytes = 35 } },

	/* Left by longjmp: another one is at the same SP. A block in hand is gone. */
	{ "voided", .step = { M(3, 10, A), E(REALLOC, 3, A, 20), R(3, 0, 30, B) },
	  .want = { .allocs = 2, .alloc_bytes = 40, .frees = 1, .free_bytes = 10, .voided = 1 },
	  .record = { { B, 30 } } },
	{ "voided by the outer one's return",
	  .step = { E(REALLOC, 3, 0, 40), E(REALLOC, 5, C, 50), E(NEW, 7, 50), L(REALLOC, 3, B),
		    OPS(0) },
	  .want = { .allocs = 1, .alloc_bytes = 40, .unknown_frees = 1, .voided = 2 },
	  .record = { { B, 40 } } },
	/* A higher SP says nothing where it is not known whether that is the same stack. */
	{ "not voided by height",
	  .step = { E(REALLOC, 8, A, 10), E(REALLOC, 6, B, 10), F(FREE, 4, B), M(4, 1, C),
		    L(REALLOC, 6, B), L(REALLOC, 8, A), E(NEW, 8, 10), E(NEW, 4, 10),
		    L(NEW, 4, 0), L(NEW, 8, 0) },
	  .want = { .allocs = 3, .alloc_bytes = 21, .unknown_frees = 3, .failed = 2 },
	  .record = { { A, 10 }, { B, 10 }, { C, 1 } } },
	{ "voided by height", .bounded = true,
	  .step = { E(REALLOC, 8, 0, 10), E(REALLOC, 6, 0, 10), F(FREE, ELSEWHERE, B), OPS(1),
		    F(FREE, 4, B), OPS(0), E(REALLOC, 6, 0, 10), F(FREE, 4, B), OPS(0),
		    E(REALLOC, 8, 0, 10), E(NEW, 4, 10), OPS(1), L(NEW, 4, 0) },
	  .want = { .unknown_frees = 3, .voided = 4, .failed = 1 } },
	/* Left by longjmp, it must not hide what comes later at a lower SP. */
	{ "voided, and no other is part of it", .bounded = true,
	  .step = { E(NEW, 4, 10), E(REALLOC, 6, A, 10), F(FREE, 3, B), N(8, 20, B),
		    F(FREE, 8, A) },
	  .want = { .allocs = 1, .alloc_bytes = 20, .unknown_frees = 3, .voided = 2 },
	  .record = { { B, 20 } } },
	/* What was taken for void, and returns: it was not void, and its block counts. */
	{ "back after all", .bounded = true,
	  .step = { M(3, 10, B), E(REALLOC, 8, B, 20), F(FREE, 4, C), OPS(0), L(REALLOC, 8, A),
		    E(REALLOC, 8, A, 20), F(FREE, 4, C), L(REALLOC, 8, 0) },
	  .want = { .allocs = 2, .alloc_bytes = 30, .frees = 2, .free_bytes = 30,
		    .unknown_frees = 2, .failed = 1 } },
	/* One more than the list has room for. */
	{ "a full list",
	  .step = { E(REALLOC, 0, 0, 10), E(REALLOC, 1, 0, 10), E(REALLOC, 2, 0, 10),
		    E(REALLOC, 3, 0, 10), E(REALLOC, 4, 0, 10), E(REALLOC, 5, 0, 10),
		    E(REALLOC, 6, 0, 10), E(REALLOC, 7, 0, 10), E(REALLOC, 8, 0, 10), OPS(8),
		    L(REALLOC, 8, A), L(REALLOC, 7, 0), L(REALLOC, 6, 0), L(REALLOC, 5, 0),
		    L(REALLOC, 4, 0), L(REALLOC, 3, 0), L(REALLOC, 2, 0), L(REALLOC, 1, 0),
		    OPS(0), L(REALLOC, 0, B) },
	  .want = { .allocs = 2, .alloc_bytes = 20, .failed = 7 },
	  .record = { { A, 10 }, { B, 10 } } },

	{ "sampled", .sample = FAR,
	  .step = { GAP_TO(250), M(3, 100, A), M(3, 150, B), GAP_AT(0), K(3, 1, C), F(FREE, 3, A),
		    F(FREE, 3, C), F(FREE, 3, 0) },
	  .want = { .allocs = 1, .alloc_bytes = 1, .frees = 1, .free_bytes = 1, .unsampled = 2,
		    .unsampled_frees = 1, .null_frees = 1 } },
	/* Of one block that two functions give the outer one is drawn for in any case. */
	{ "sampled, nested: no, no", .sample = FAR,
	  .step = { GAP_TO(50), NM(45, 40, A), GAP_AT(5) },
	  .want = { .unsampled = 1, .nested = 1 } },
	{ "sampled, nested: no, yes", .sample = FAR, .step = { GAP_TO(5), NM(6, 4, B) },
	  .want = { .allocs = 1, .alloc_bytes = 6, .nested = 1 }, .record = { { B, 6 } } },
	{ "sampled, nested: yes, yes", .sample = FAR, .step = { GAP_TO(10), NM(19, 20, C) },
	  .want = { .allocs = 1, .alloc_bytes = 19, .nested = 1 }, .record = { { C, 19 } } },
	{ "sampled, nested: yes, no", .sample = FAR,
	  .step = { GAP_TO(10), NM(8, 20, A), GAP_AT(2) },
	  .want = { .unsampled = 1, .nested = 1 } },
	/* A plain function with an entry knows what was inside, one within the other. */
	{ "sampled, entered", .sample = FAR,
	  .step = { KM(10, 10, A), E(NEW, 7, 20), E(CALLOC, 8, 20, 1), M(9, 30, B),
		    L(CALLOC, 8, B), L(NEW, 7, B), GAP_AT(FAR - 30), K(7, 1, C), GAP_TO(10),
		    KM(8, 20, A), GAP_AT(2), E(CALLOC, 7, 1, 1), M(9, 1, B), L(CALLOC, 7, 0) },
	  .want = { .unsampled = 5, .nested = 4, .failed = 1 } },
	/* A block that was freed, or resized, and given again is another one. */
	{ "sampled, given again", .sample = FAR,
	  .step = { M(9, 10, A), F(FREE, 8, A), M(7, 10, A), R(5, A, 30, A), GAP_AT(FAR - 50),
		    GAP_TO(0), R(3, A, 40, B) },
	  .want = { .allocs = 1, .alloc_bytes = 40, .unsampled = 3, .unsampled_frees = 3 },
	  .record = { { B, 40 } } },
	{ "sampled, resize that fails", .sample = FAR,
	  .step = { M(9, 10, A), R(5, A, 30, 0), R(5, A, 0, 0) },
	  .want = { .unsampled = 1, .unsampled_frees = 1, .failed = 1 } },
	{ "sampled, free by a free", .sample = FAR,
	  .step = { M(9, 10, A), F(DELETE, 7, A), F(FREE, 7, A), M(9, 10, A), F(FREE, 7, A),
		    M(9, 10, A), F(DELETE, 7, A), F(FREE, 7, A), GAP_TO(0), M(9, 10, A),
		    F(DELETE, 7, A), F(FREE, 7, A) },
	  .want = { .allocs = 1, .alloc_bytes = 10, .frees = 1, .free_bytes = 10, .unsampled = 3,
		    .unsampled_frees = 3, .nested = 3 } },
	/* Neighbours of a block that is sampled share its counter in the counting filter. */
	{ "sampled, neighbours", .sample = FAR,
	  .step = { GAP_TO(10), M(9, 20, A), GAP_TO(1000), M(9, 10, A + 32), F(FREE, 8, A + 32),
		    F(FREE, 8, A + 64), F(FREE, 8, A), F(FREE, 8, A) },
	  .want = { .allocs = 1, .alloc_bytes = 20, .frees = 1, .free_bytes = 20, .unsampled = 1,
		    .unsampled_frees = 3 } },
};

static const char *const accounts[] = {
	"allocs", "alloc_bytes", "frees", "free_bytes", "table_full", "replaced", "unknown_frees",
	"null_frees", "failed", "nested", "unstacked", "voided", "unsampled", "unsampled_frees",
	"double_frees", "own_frees", "undeferred",
};

void scripts_expect(const struct log *log, struct log_accounts want, const char *what)
{
	struct log_accounts is = reader_accounts(log);
	const uint64_t *a = (const uint64_t *)&is, *b = (const uint64_t *)&want;

	/* Made-up calls come from no module, which no script is about. */
	is.undeferred = want.undeferred;
	/* Times. */
	is.slow_ticks = is.timed_ticks = is.timed_calls = 0;
	for (unsigned i = 0; i < ARRAY_SIZE(accounts); i++)
		if (a[i] != b[i])
			printf("%s: %s is %lld, not %lld\n", what, accounts[i], (long long)a[i],
			       (long long)b[i]);
	CU_ASSERT(!memcmp(&is, &want, sizeof(is)));
	CU_ASSERT_EQUAL(reader_live(log), is.allocs - is.frees - is.replaced);
}

static bool play(const struct script_player *player, const struct step *step)
{
	switch (step->what) {
	case END:
		break;
	case ENTER:
		return !player->enter(step->depth, step->fn, step->arg);
	case AS_IT_IS:
		return player->enter(step->depth, step->fn, step->arg);
	case LEAVE:
		player->leave(step->depth, step->fn, step->arg[0]);
		break;
	case RELEASE:
		player->release(step->depth, step->fn, step->arg[0]);
		break;
	case RETURNED:
		player->returned(step->depth);
		break;
	case UNDER_WAY:
		return player->thread()->nr_ops == step->arg[0];
	case GAP:
		player->thread()->gap = step->arg[0];
		break;
	case GAP_IS:
		return player->thread()->gap == step->arg[0];
	}
	return true;
}

static void check_records(const struct log *log, const struct script *script)
{
	uint64_t nr = 0;

	for (unsigned i = 0; i < ARRAY_SIZE(script->record); i++) {
		uint64_t block = script->record[i][0];
		struct log_record record;

		if (!block)
			continue;
		nr++;
		CU_ASSERT_FATAL(log_record_lookup(log, block, &record));
		CU_ASSERT_EQUAL(record.size, script->record[i][1]);
		CU_ASSERT(record.time && record.time < log_now());
		CU_ASSERT_NOT_EQUAL(record.stack, LOG_STACK_NONE);
		CU_ASSERT_EQUAL(record.heap, LOG_HEAP_UNKNOWN);
	}
	CU_ASSERT_EQUAL(reader_live(log), nr);
}

void scripts_play(const struct script_player *player)
{
	static const struct step first[] = { M(3, 1, C), F(FREE, 3, C), GAP_TO(FAR) };

	for (unsigned i = 0; i < ARRAY_SIZE(scripts); i++) {
		const struct script *script = &scripts[i];

		player->restart(script->bounded, script->sample);
		for (unsigned s = 0; script->sample && s < ARRAY_SIZE(first); s++)
			play(player, &first[s]);
		if (script->sample)
			log_reset(player->log());
		for (unsigned s = 0; s < STEPS; s++) {
			bool ok = play(player, &script->step[s]);

			if (!ok)
				printf("%s: step %u\n", script->name, s);
			CU_ASSERT(ok);
		}
		scripts_expect(player->log(), script->want, script->name);
		check_records(player->log(), script);
		if (!script->sample)
			CU_ASSERT_EQUAL(player->counted(), script->want.allocs);
	}
}
