/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The sentences that a report begins with: no more than the figures say. */

#include "export/verdict.h"
#include "unit.h"

static void says(const struct verdict_facts *facts, const char *first, const char *second,
		 const char *third)
{
	const char *const wanted[VERDICT_SENTENCES] = { first, second, third };
	struct str sentences[VERDICT_SENTENCES] = { STR_INIT, STR_INIT, STR_INIT };

	CU_ASSERT_PTR_NULL_FATAL(verdict_write(facts, sentences));
	for (unsigned i = 0; i < VERDICT_SENTENCES; i++) {
		CU_ASSERT_STRING_EQUAL(str_text(&sentences[i]), wanted[i]);
		str_free(&sentences[i]);
	}
}

TEST("knows nothing of nothing")
{
	struct verdict_facts facts = { .no_leaks = "the heap is damaged" };

	says(&facts, "The process holds no memory that was recorded.",
	     "Whether it grows is not known yet, and leaks could not be looked for (the heap is "
	     "damaged).",
	     "Let the program work for a while, and make the report again: then it says what has "
	     "grown.");
	facts.ended = true;
	says(&facts, "The process held, when it ended, no memory that was recorded.",
	     "Whether it grows is not known yet, and leaks could not be looked for (the heap is "
	     "damaged).",
	     "Make a report while the program is at work: then it says what grows, and what is lost.");
}

TEST("speaks of the end")
{
	const struct verdict_facts facts = {
		.bytes = 16, .count = 1, .sampled = true, .ended = true, .lost_bytes = 16,
		.lost_blocks = 1,
	};

	says(&facts, "The process held, when it ended, by estimate 16 bytes in 1 block.",
	     "Whether it grows is not known yet, and 16 bytes in 1 block are definitely lost.",
	     "Look first at the leaks: nothing points to these blocks any more, so the code that made "
	     "them forgets to free them.");
}

TEST("names what is lost")
{
	const struct verdict_facts facts = {
		.bytes = 4096, .count = 3, .top = "load", .top_bytes = 3072, .over_ns = 60000000000,
		.then_bytes = 1024, .now_bytes = 4096, .grower = "load", .grower_bytes = 2048,
		.grower_ns = 10000000000, .then_rss = 1 << 20, .now_rss = 3 << 20, .lost_bytes = 64, .lost_blocks = 2, .loser = "forget",
	};

	says(&facts, "The process holds 4.0 KiB in 3 blocks; the largest part, 3.0 KiB (75 %), was "
	     "allocated in load.",
	     "In the last 1 m 0 s its recorded blocks have grown by 3.0 KiB, and its resident memory "
	     "has grown by 2.0 MiB; load has grown most, by 2.0 KiB in 10.0 s, "
	     "and 64 bytes in 2 blocks are definitely lost.",
	     "Look first at the leaks, above all those of forget: nothing points to these blocks any "
	     "more, so the code that made them forgets to free them.");
}

TEST("names what grows")
{
	struct verdict_facts facts = {
		.bytes = 100000, .count = 3, .top = "load", .top_bytes = 100000,
		.over_ns = 2000000000, .then_bytes = 90000, .now_bytes = 100000, .grower = "fill",
		.grower_bytes = 10000, .grower_ns = 2000000000,
	};

	says(&facts, "The process holds 97.7 KiB in 3 blocks; the largest part, 97.7 KiB (100 %), was "
	     "allocated in load.",
	     "In the last 2.0 s its recorded blocks have grown by 9.8 KiB; fill has grown most, "
	     "by 9.8 KiB in 2.0 s, and "
	     "no block is definitely lost.",
	     "Look first at fill: see whether it goes on growing, and who keeps its blocks (`malloc "
	     "find ADDRESS`).");
	/* A few bytes that come and go are nothing to look at. */
	facts.grower_bytes = 999;
	facts.now_bytes = 90000;
	says(&facts, "The process holds 97.7 KiB in 3 blocks; the largest part, 97.7 KiB (100 %), was "
	     "allocated in load.",
	     "In the last 2.0 s its recorded blocks have neither grown nor shrunk, and no block is "
	     "definitely lost.",
	     "Nothing that is known here asks for a repair; to save memory, begin with load.");
}

/* Another allocator's blocks from before the attach may have been freed meanwhile. */
TEST("what may turn over does not grow unless the process does")
{
	struct verdict_facts facts = {
		.bytes = 100000, .count = 3, .top = "load", .top_bytes = 100000,
		.over_ns = 2000000000, .then_bytes = 90000, .now_bytes = 100000, .grower = "fill",
		.grower_bytes = 10000, .grower_ns = 2000000000, .older_unknown = true,
		.then_rss = 1 << 20, .now_rss = 1 << 20,
	};

	says(&facts, "The process holds 97.7 KiB in 3 blocks; the largest part, 97.7 KiB (100 %), was "
	     "allocated in load.",
	     "In the last 2.0 s its recorded blocks have grown by 9.8 KiB, less what was freed of "
	     "blocks from before the attach, which is not known, and its resident memory has not "
	     "changed; fill has grown most, by 9.8 KiB in 2.0 s, and no block is definitely "
	     "lost.",
	     "Nothing that is known here asks for a repair; to save memory, begin with load.");
	facts.now_rss += 5000;
	says(&facts, "The process holds 97.7 KiB in 3 blocks; the largest part, 97.7 KiB (100 %), was "
	     "allocated in load.",
	     "In the last 2.0 s its recorded blocks have grown by 9.8 KiB, less what was freed of "
	     "blocks from before the attach, which is not known, and its resident memory has grown by "
	     "4.9 KiB; fill has grown most, by 9.8 KiB in 2.0 s, and no block is definitely lost.",
	     "Look first at fill: see whether it goes on growing, and who keeps its blocks (`malloc "
	     "find ADDRESS`).");
}

TEST("says where nothing was recorded")
{
	const struct verdict_facts facts = {
		.bytes = 1000, .count = 10, .top = "load", .top_bytes = 400, .early_bytes = 600,
		.sampled = true, .over_ns = 1000000, .then_bytes = 2000, .now_bytes = 1000,
	};

	says(&facts, "The process holds by estimate 1000 bytes in 10 blocks; the largest part, 600 "
	     "bytes (60 %), is from before the attach, and where it was allocated is not known.",
	     "In the last 1.0 ms its recorded blocks have shrunk by 1000 bytes, and no block is "
	     "definitely lost.",
	     "Nothing that is known here asks for a repair; to save memory, begin with load.");
}

TEST("says what is in memory, and what of it could go")
{
	struct verdict_facts facts = {
		.resident = 200 << 20,
		.part = { { "free, at the ends of other arenas", 190 << 20 },
			  { "mapped files: page cache", 8 << 20 }, { "stacks of threads", 1 << 20 } },
		.judged = "the heap keeps 199229440 bytes", .ask = "memory account",
		.judged_bytes = 199229440, .bytes = 4096, .count = 1, .top = "load",
		.top_bytes = 4096, .over_ns = 1000000, .then_bytes = 4096, .now_bytes = 4096,
		.lost_bytes = 22, .lost_blocks = 1, .loser = "forget",
	};

	says(&facts, "200.0 MiB are in memory: 190.0 MiB (95 %) free, at the ends of other arenas; "
	     "8.0 MiB (4 %) mapped files: page cache. The process holds 4.0 KiB in 1 block; the "
	     "largest part, 4.0 KiB (100 %), was allocated in load.",
	     "In the last 1.0 ms its recorded blocks have neither grown nor shrunk, and next to "
	     "nothing is definitely lost.",
	     "The verdict of `memory`: the heap keeps 199229440 bytes. Ask `memory account`.");
	/* Nothing could go, and no place has a tenth of what is resident. */
	facts.judged = NULL;
	facts.part[0].bytes = 0;
	says(&facts, "200.0 MiB are in memory. The process holds 4.0 KiB in 1 block; the largest part, "
	     "4.0 KiB (100 %), was allocated in load.",
	     "In the last 1.0 ms its recorded blocks have neither grown nor shrunk, and next to "
	     "nothing is definitely lost.",
	     "Nothing that is known here asks for a repair.");
}

/* The largest of what is lost, what grows and what could go is what to do next. */
TEST("begins with the largest")
{
	struct verdict_facts facts = {
		.bytes = 100000, .count = 3, .top = "load", .top_bytes = 100000,
		.lost_bytes = 50000, .lost_blocks = 3, .loser = "forget",
		.judged = "a part could go", .ask = "malloc trim", .judged_bytes = 40000,
	};

	says(&facts, "The process holds 97.7 KiB in 3 blocks; the largest part, 97.7 KiB (100 %), was "
	     "allocated in load.",
	     "Whether it grows is not known yet, and 48.8 KiB in 3 blocks are definitely lost.",
	     "Look first at the leaks, above all those of forget: nothing points to these blocks any "
	     "more, so the code that made them forgets to free them.");
	facts.judged_bytes = 60000;
	says(&facts, "The process holds 97.7 KiB in 3 blocks; the largest part, 97.7 KiB (100 %), was "
	     "allocated in load.",
	     "Whether it grows is not known yet, and 48.8 KiB in 3 blocks are definitely lost.",
	     "The verdict of `memory`: a part could go. Ask `malloc trim`.");
	/* What it has seen grow is of a longer time than the growth that is told before. */
	facts.judged_ns = 3500000000;
	says(&facts, "The process holds 97.7 KiB in 3 blocks; the largest part, 97.7 KiB (100 %), was "
	     "allocated in load.",
	     "Whether it grows is not known yet, and 48.8 KiB in 3 blocks are definitely lost.",
	     "The verdict of `memory`, compared over 3.5 s: a part could go. Ask `malloc trim`.");
}
