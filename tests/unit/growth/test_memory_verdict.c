/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is said to grow, by two looks. */

#include "growth/memory_verdict.h"

#include "unit.h"

#define MB	(1ull << 20)

/* A process with 10 MB in each kind, and 8 MB in blocks. */
static struct memory_look look_at(uint64_t seconds)
{
	struct memory_look look = { .time_ns = seconds * 1000000000, .by_kind = true,
				    .divided = true, .held = 8 * MB,
				    .shared_there = MEMORY_UNKNOWN };

	for (unsigned kind = 0; kind < MEMORY_KINDS; kind++)
		for (unsigned i = 0; i < MEMORY_FIGURES; i++)
			look.kind[kind].at[i] = i == MEMORY_SWAP || i == MEMORY_LAZY ? 0 : 10 * MB;
	for (unsigned i = 0; i < MEMORY_FIGURES; i++)
		look.all.at[i] = MEMORY_KINDS * look.kind[0].at[i];
	return look;
}

static void grow(struct memory_look *look, enum memory_kind kind, int64_t virtual, int64_t resident)
{
	look->kind[kind].at[MEMORY_VSIZE] += (uint64_t)virtual;
	look->kind[kind].at[MEMORY_RSIZE] += (uint64_t)resident;
	look->all.at[MEMORY_VSIZE] += (uint64_t)virtual;
	look->all.at[MEMORY_RSIZE] += (uint64_t)resident;
}

static void check(const struct memory_look *before, const struct memory_look *now,
		  enum memory_verdict_kind kind, const char *ask)
{
	struct memory_verdict verdict;

	memory_verdict(before, now, &verdict);
	CU_ASSERT_EQUAL(verdict.kind, kind);
	CU_ASSERT_STRING_EQUAL(verdict.ask, ask);
	CU_ASSERT_TRUE(strlen(verdict.text) > 10);
}

TEST("the first look")
{
	struct memory_look now = look_at(20);

	check(NULL, &now, MEMORY_SECOND_LOOK, "memory");
	now.held = MEMORY_UNKNOWN;
	check(NULL, &now, MEMORY_SECOND_LOOK, "memory");
}

TEST("nothing grows")
{
	struct memory_look before = look_at(10), now = look_at(20);
	struct memory_verdict verdict;

	check(&before, &now, MEMORY_NOTHING_GROWS, "memory system");
	grow(&now, MEMORY_HEAP, 60 << 10, 60 << 10);
	check(&before, &now, MEMORY_NOTHING_GROWS, "memory system");
	grow(&now, MEMORY_ANONYMOUS, -5 * (int64_t)MB, -5 * (int64_t)MB);
	check(&before, &now, MEMORY_NOTHING_GROWS, "memory system");
	/* mdbg's own log is not the process' growth. */
	grow(&now, MEMORY_OWN, 50 * MB, 50 * MB);
	memory_verdict(&before, &now, &verdict);
	CU_ASSERT_EQUAL(verdict.kind, MEMORY_NOTHING_GROWS);
	CU_ASSERT_EQUAL(verdict.ns, 10000000000ull);
	/* What is little of much is nothing. */
	CU_ASSERT_EQUAL(memory_verdict_least(0), 64 << 10);
	CU_ASSERT_EQUAL(memory_verdict_least(8ull << 30), 2 * MB);
	CU_ASSERT_EQUAL(memory_verdict_least(MEMORY_UNKNOWN), 64 << 10);
}

TEST("the heap")
{
	struct memory_look before = look_at(10), now = look_at(20);

	grow(&now, MEMORY_HEAP, 4 * MB, 4 * MB);
	grow(&now, MEMORY_STACKS, 0, MB);
	now.held += 3 * MB;
	check(&before, &now, MEMORY_HEAP_GROWS, "malloc sites sort growth");
	/* A burst: blocks hold no more than before, and the heap has been extended for it. */
	now.held = before.held + MB;
	check(&before, &now, MEMORY_HEAP_FREE, "malloc trim");
	now.held = before.held - MB;
	check(&before, &now, MEMORY_HEAP_FREE, "malloc trim");
	/* What blocks that are mapped on their own hold is not held in the heap. */
	now.held = before.held + 4 * MB;
	now.kind[MEMORY_MAPPED].at[MEMORY_VSIZE] += 4 * MB;
	check(&before, &now, MEMORY_HEAP_FREE, "malloc trim");
	now.kind[MEMORY_MAPPED].at[MEMORY_VSIZE] -= 4 * MB;
	/* A log that is full, or that is not there, decides nothing. */
	now.unrecorded = 1;
	check(&before, &now, MEMORY_HEAP_UNCLEAR, "malloc");
	now.unrecorded = 0;
	now.log = 1;		/* `malloc reset`, or another attach */
	check(&before, &now, MEMORY_HEAP_UNCLEAR, "malloc");
	now.log = 0;
	before.held = MEMORY_UNKNOWN;
	check(&before, &now, MEMORY_HEAP_UNCLEAR, "malloc");
	/* Blocks that were there before are written to for the first time. */
	before = look_at(10);
	now = look_at(20);
	grow(&now, MEMORY_HEAP, 0, 4 * MB);
	check(&before, &now, MEMORY_HEAP_TOUCHED, "malloc sites sort bytes");
}

TEST("other kinds")
{
	static const struct {
		enum memory_kind kind;
		const char *ask;
	} expected[] = {
		{ MEMORY_MAPPED, "malloc sites heap == mmap sort growth" },
		{ MEMORY_ANONYMOUS, "growth mmap" }, { MEMORY_STACKS, "thread" },
		{ MEMORY_MAIN_STACK, "where" }, { MEMORY_FILES, "memory maps" },
		{ MEMORY_SHARED, "growth" }, { MEMORY_DEVICE, "memory maps" },
		{ MEMORY_KERNEL, "memory maps" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		struct memory_look before = look_at(10), now = look_at(20);
		struct memory_verdict verdict;

		grow(&now, expected[i].kind, MB, MB);
		grow(&now, MEMORY_HEAP, MB / 2, MB / 2);
		memory_verdict(&before, &now, &verdict);
		CU_ASSERT_EQUAL(verdict.kind, MEMORY_KIND_GROWS);
		CU_ASSERT_EQUAL(verdict.which, expected[i].kind);
		CU_ASSERT_EQUAL(verdict.bytes, MB);
		CU_ASSERT_STRING_EQUAL(verdict.ask, expected[i].ask);
	}
}

/* Threads that hardly use their stacks take as much for page tables. */
TEST("page tables")
{
	struct memory_look before = look_at(10), now = look_at(20);

	grow(&now, MEMORY_STACKS, 8 * MB, MB);
	grow(&now, MEMORY_KERNEL, 0, MB + MB / 2);
	check(&before, &now, MEMORY_KIND_GROWS, "thread");
	grow(&now, MEMORY_KERNEL, 0, MB / 2);
	check(&before, &now, MEMORY_KIND_GROWS, "memory maps");
}

/* A mapping that was anonymous and is heap now has not grown. */
TEST("heaps that are not known")
{
	struct memory_look before = look_at(10), now = look_at(20);

	now.divided = false;
	grow(&now, MEMORY_HEAP, 5 * MB, 5 * MB);
	grow(&now, MEMORY_ANONYMOUS, -5 * (int64_t)MB, -5 * (int64_t)MB);
	check(&before, &now, MEMORY_NOTHING_GROWS, "memory system");
	grow(&now, MEMORY_ANONYMOUS, 4 * MB, 4 * MB);
	check(&before, &now, MEMORY_HEAP_UNCLEAR, "growth mmap");
	now.held += 3 * MB;
	check(&before, &now, MEMORY_HEAP_GROWS, "malloc sites sort growth");
	now.held = MEMORY_UNKNOWN;
	check(&before, &now, MEMORY_HEAP_UNCLEAR, "malloc");
}

/* Pages that are swapped out have not gone; what is only mapped counts if nothing else does. */
TEST("swapped out, or only mapped")
{
	struct memory_look before = look_at(10), now = look_at(20);
	struct memory_verdict verdict;

	grow(&now, MEMORY_ANONYMOUS, 0, -2 * (int64_t)MB);
	now.kind[MEMORY_ANONYMOUS].at[MEMORY_SWAP] += 5 * MB;
	grow(&now, MEMORY_STACKS, 80 * MB, 0);
	memory_verdict(&before, &now, &verdict);
	CU_ASSERT_EQUAL(verdict.which, MEMORY_ANONYMOUS);
	CU_ASSERT_EQUAL(verdict.bytes, 3 * MB);
	now.kind[MEMORY_ANONYMOUS].at[MEMORY_SWAP] -= 5 * MB;
	memory_verdict(&before, &now, &verdict);
	CU_ASSERT_EQUAL(verdict.kind, MEMORY_KIND_GROWS);
	CU_ASSERT_EQUAL(verdict.which, MEMORY_STACKS);
	CU_ASSERT_EQUAL(verdict.bytes, 80 * MB);
}

/* A sample of the history is a look without kinds. */
TEST("the history alone")
{
	struct memory_look before = { .time_ns = 10000000000, .held = 8 * MB,
				      .all = memory_sum_unknown };
	struct memory_look now = look_at(20);

	before.all.at[MEMORY_RSIZE] = now.all.at[MEMORY_RSIZE];
	check(&before, &now, MEMORY_SECOND_LOOK, "memory");
	now.all.at[MEMORY_RSIZE] += 4 * MB;
	check(&before, &now, MEMORY_SECOND_LOOK, "memory");
	now.held += 3 * MB;
	check(&before, &now, MEMORY_HEAP_GROWS, "malloc sites sort growth");
	now.older = MB;		/* blocks that nobody has seen being made were freed meanwhile */
	check(&before, &now, MEMORY_HEAP_GROWS, "malloc sites sort growth");
	now.older = 3 * MB;
	check(&before, &now, MEMORY_SECOND_LOOK, "memory");
	now.older = 0;
	now.unsized = 1;	/* of one that was freed the size is not known */
	check(&before, &now, MEMORY_SECOND_LOOK, "memory");
	now.unsized = before.unsized = MEMORY_UNKNOWN;
	check(&before, &now, MEMORY_SECOND_LOOK, "memory");
	now.unsized = before.unsized = 0;
	now.unrecorded = 3;
	check(&before, &now, MEMORY_SECOND_LOOK, "memory");
}

/* What is free of a heap of 10 MB, and what malloc_trim does about it. */
TEST("what a burst has left")
{
	struct memory_look before = look_at(10), now = look_at(20);
	struct memory_verdict verdict;

	memory_verdict(&before, &now, &verdict);
	CU_ASSERT_TRUE(memory_verdict_wants_free(&now, &verdict) == false);
	now.kind[MEMORY_HEAP].at[MEMORY_RSIZE] = before.kind[MEMORY_HEAP].at[MEMORY_RSIZE] = 40 * MB;
	memory_verdict(&before, &now, &verdict);
	CU_ASSERT_TRUE(memory_verdict_wants_free(&now, &verdict));
	now.free = (struct heap_free){ .known = true, .whole = true, .listed = 30 * MB,
				       .main_top = 2 * MB, .trimmed = 25 * MB };
	CU_ASSERT_FALSE(memory_verdict_wants_free(&now, &verdict));
	memory_verdict(NULL, &now, &verdict);
	CU_ASSERT_EQUAL(verdict.kind, MEMORY_HEAP_FREE);
	CU_ASSERT_EQUAL(verdict.bytes, 32 * MB);
	CU_ASSERT_EQUAL(verdict.gives, 25 * MB);
	CU_ASSERT_STRING_EQUAL(verdict.ask, "malloc trim");
	check(&before, &now, MEMORY_HEAP_FREE, "malloc trim");
	/* Live blocks keep the pages. */
	now.free.trimmed = 2 * MB;
	check(&before, &now, MEMORY_HEAP_FREE, "malloc pins");
	now.free.trimmed = 0;
	memory_verdict(&before, &now, &verdict);
	CU_ASSERT_STRING_EQUAL(verdict.ask, "malloc pins");
	CU_ASSERT_PTR_NOT_NULL(strstr(verdict.text, "their pages, and a trim gives back nothing"));
	/* It lies where malloc_trim does not look. */
	now.free = (struct heap_free){ .known = true, .whole = true, .listed = MB,
				       .other_top = 30 * MB, .other_tops = 12, .trimmed = 2 * MB };
	memory_verdict(&before, &now, &verdict);
	CU_ASSERT_STRING_EQUAL(verdict.ask, "memory account");
	CU_ASSERT_PTR_NOT_NULL(strstr(verdict.text, "ends of 12 arenas"));
	/* It is not much of what is resident, ... */
	now.free.other_top = 10 * MB;
	check(&before, &now, MEMORY_NOTHING_GROWS, "memory system");
	/* ... unless there is more, and nobody had the time to look at all of it. */
	now.free.whole = false;
	memory_verdict(&before, &now, &verdict);
	CU_ASSERT_EQUAL(verdict.kind, MEMORY_HEAP_FREE);
	CU_ASSERT_STRING_EQUAL(verdict.ask, "memory account");
	CU_ASSERT_EQUAL(verdict.gives, MEMORY_UNKNOWN);
	CU_ASSERT_PTR_NOT_NULL(strstr(verdict.text, "at least 11534336 bytes"));
}

TEST("memory that was given back, and files that nobody maps")
{
	struct memory_look before = look_at(10), now = look_at(20);

	now.all.at[MEMORY_LAZY] = 60 * MB;
	check(&before, &now, MEMORY_GIVEN_BACK, "memory account");
	check(NULL, &now, MEMORY_GIVEN_BACK, "memory account");
	now.descriptors = 70 * MB;
	check(NULL, &now, MEMORY_DESCRIPTORS, "memory account");
	before.descriptors = 70 * MB;
	check(&before, &now, MEMORY_DESCRIPTORS, "memory account");
	before.descriptors = MEMORY_UNKNOWN;
	now.all.at[MEMORY_LAZY] = 0;
	now.descriptors = 3 * MB;
	check(&before, &now, MEMORY_NOTHING_GROWS, "memory system");
	before.descriptors = 0;
	check(&before, &now, MEMORY_DESCRIPTORS, "memory account");
	grow(&now, MEMORY_ANONYMOUS, 4 * MB, 4 * MB);
	check(&before, &now, MEMORY_KIND_GROWS, "growth mmap");
}

/* Pages that both had are in each of them after a write; nobody's resident size shows it. */
TEST("copied since a fork")
{
	struct memory_look before = look_at(10), now = look_at(20);
	struct memory_verdict verdict;

	now.kind[MEMORY_HEAP].at[MEMORY_OTHERS] -= 5 * MB;
	now.kind[MEMORY_ANONYMOUS].at[MEMORY_OTHERS] -= 2 * MB;
	memory_verdict(&before, &now, &verdict);
	CU_ASSERT_EQUAL(verdict.kind, MEMORY_COPIED);
	CU_ASSERT_EQUAL(verdict.bytes, 7 * MB);
	/* The other process has ended: all that was shared is this one's, and nothing was copied. */
	now.family = 1;
	check(&before, &now, MEMORY_NOTHING_GROWS, "memory system");
	now.family = 0;
	/* It has given that memory back. */
	grow(&now, MEMORY_HEAP, 0, -5 * (int64_t)MB);
	grow(&now, MEMORY_ANONYMOUS, 0, -2 * (int64_t)MB);
	check(&before, &now, MEMORY_NOTHING_GROWS, "memory system");
	now.kind[MEMORY_HEAP].at[MEMORY_OTHERS] = MEMORY_UNKNOWN;
	check(&before, &now, MEMORY_NOTHING_GROWS, "memory system");
}

TEST("shared memory that was there")
{
	struct memory_look before = look_at(10), now = look_at(20);

	before.shared_there = now.shared_there = 80 * MB;
	grow(&now, MEMORY_SHARED, 0, 4 * MB);
	check(&before, &now, MEMORY_SHARED_TOUCHED, "memory maps");
	now.shared_there += 4 * MB;
	check(&before, &now, MEMORY_KIND_GROWS, "growth fault");
	/* Not known: memory that others have mapped as well is theirs. */
	now.shared_there = MEMORY_UNKNOWN;
	check(&before, &now, MEMORY_KIND_GROWS, "growth fault");
	now.kind[MEMORY_SHARED].at[MEMORY_OTHERS] += 3 * MB;
	check(&before, &now, MEMORY_SHARED_TOUCHED, "memory maps");
}

/* Who has mapped it may never have been recorded: who touches it can be. */
TEST("memory that was mapped before is touched")
{
	static const enum memory_kind which[] = { MEMORY_ANONYMOUS, MEMORY_SHARED };

	for (size_t i = 0; i < ARRAY_SIZE(which); i++) {
		struct memory_look before = look_at(10), now = look_at(20);
		struct memory_verdict verdict;

		grow(&now, which[i], 0, 4 * MB);
		memory_verdict(&before, &now, &verdict);
		CU_ASSERT_EQUAL(verdict.bytes, 4 * MB);
		CU_ASSERT_STRING_EQUAL(verdict.ask, "growth fault");
		CU_ASSERT_PTR_NOT_NULL(strstr(verdict.text, "was mapped before"));
		grow(&now, which[i], 4 * MB, 0);
		check(&before, &now, MEMORY_KIND_GROWS,
		      which[i] == MEMORY_SHARED ? "growth" : "growth mmap");
	}
}

/* Code that runs for the first time is no growth. */
TEST("pages of files")
{
	struct memory_look before = look_at(10), now = look_at(20);
	struct memory_verdict verdict;

	grow(&now, MEMORY_FILES, 0, 600 << 10);
	check(&before, &now, MEMORY_NOTHING_GROWS, "memory system");
	now.kind[MEMORY_FILES].at[MEMORY_PRIVATE] += 500 << 10;
	memory_verdict(&before, &now, &verdict);
	CU_ASSERT_EQUAL(verdict.kind, MEMORY_KIND_GROWS);
	CU_ASSERT_EQUAL(verdict.bytes, 500 << 10);
	CU_ASSERT_PTR_NOT_NULL(strstr(verdict.text, "private copies"));
	now.kind[MEMORY_FILES].at[MEMORY_PRIVATE] -= 500 << 10;
	grow(&now, MEMORY_FILES, 0, MB);
	memory_verdict(&before, &now, &verdict);
	CU_ASSERT_PTR_NOT_NULL(strstr(verdict.text, "page cache"));
}

TEST("memory that was mapped before")
{
	struct memory_look before = look_at(10), now = look_at(20);
	struct memory_verdict verdict;

	grow(&now, MEMORY_MAPPED, 0, 4 * MB);
	check(&before, &now, MEMORY_KIND_GROWS, "malloc sites heap == mmap sort bytes");
	now.kind[MEMORY_MAPPED].at[MEMORY_HUGE] += 4 * MB;
	memory_verdict(&before, &now, &verdict);
	CU_ASSERT_PTR_NOT_NULL(strstr(verdict.text, "huge pages"));
	/* No call of mmap would be seen. */
	grow(&now, MEMORY_ANONYMOUS, 0, 6 * MB);
	check(&before, &now, MEMORY_KIND_GROWS, "growth fault");
	memory_verdict(&before, &now, &verdict);
	CU_ASSERT_PTR_NULL(strstr(verdict.text, "huge pages"));
	CU_ASSERT_PTR_NOT_NULL(strstr(verdict.text, "first time"));
}
