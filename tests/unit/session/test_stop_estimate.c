/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For how long a target would stand still, and whether that is too long. */

#include "session/private.h"
#include "session/stop_estimate.h"
#include "unit.h"

#define MB	(1ull << 20)

TEST("blocks of the log are counted, and the rest of the heaps is as long as a sample says")
{
	struct stop_facts facts = { .own_bytes = 200 * MB, .heap_bytes = 100 * MB };
	struct stop_estimate usual = stop_estimate_of(&facts), is;

	CU_ASSERT_TRUE(usual.chunks > 500000 && usual.chunks < 2000000);
	facts.sampled = 10;
	facts.sampled_bytes = 10 * 4096;
	is = stop_estimate_of(&facts);
	CU_ASSERT_EQUAL(is.chunks, 100 * MB / 4096);
	facts.blocks = 1000;
	facts.block_bytes = 50 * MB;
	is = stop_estimate_of(&facts);
	CU_ASSERT_EQUAL(is.chunks, 1000 + 50 * MB / 4096);
	/* Heaps are not longer than what is in memory, and blocks may be elsewhere. */
	facts.own_bytes = 60 * MB;
	CU_ASSERT_EQUAL(stop_estimate_of(&facts).chunks, 1000 + 10 * MB / 4096);
	facts.block_bytes = 500 * MB;
	CU_ASSERT_EQUAL(stop_estimate_of(&facts).chunks, 1000);
	/* A sample that was in change. */
	facts.block_bytes = 0;
	facts.sampled_bytes = 1;
	CU_ASSERT_TRUE(stop_estimate_of(&facts).chunks <= 1000 + 60 * MB / 32);
}

TEST("pages outside of the heaps count if mapped chunks are looked for there")
{
	struct stop_facts facts = { .own_bytes = 200 * MB, .heap_bytes = 100 * MB, .blocks = 1000,
				    .block_bytes = 100 * MB };
	struct stop_estimate usual = stop_estimate_of(&facts), is;

	facts.looks_at_pages = true;
	is = stop_estimate_of(&facts);
	CU_ASSERT_TRUE(usual.walk_ns < 1000000 && is.walk_ns > 20000000 && is.walk_ns < 100000000);
	CU_ASSERT_EQUAL(is.search_ns - usual.search_ns, is.walk_ns - usual.walk_ns);
	/* A walk ends that after a while. */
	facts.own_bytes = UINT64_MAX / 2;
	CU_ASSERT_TRUE(stop_estimate_of(&facts).walk_ns < 500000000);
	facts.heap_bytes = UINT64_MAX;
	facts.block_bytes = UINT64_MAX;
	CU_ASSERT_TRUE(stop_estimate_of(&facts).walk_ns < 1000000);
}

TEST("a search takes longer than a walk, and a fork less but for a process of large blocks")
{
	struct stop_facts small_blocks = {
		.own_bytes = 1400 * MB, .heap_bytes = 1400 * MB, .blocks = 10000000, .maps = 50,
	};
	struct stop_facts large_blocks = {
		.own_bytes = 1400 * MB, .heap_bytes = MB, .blocks = 100, .maps = 50,
	};
	struct stop_estimate is = stop_estimate_of(&small_blocks);

	CU_ASSERT_TRUE(is.fork_ns < 100000000 && is.walk_ns > 1000000000);
	CU_ASSERT_TRUE(is.search_ns > 2 * is.walk_ns);
	is = stop_estimate_of(&large_blocks);
	CU_ASSERT_TRUE(is.walk_ns < is.fork_ns);
	large_blocks.maps = 60000;
	CU_ASSERT_TRUE(stop_estimate_of(&large_blocks).fork_ns > 100000000);
}

TEST("a stop that is longer than max-pause is refused, with the way out")
{
	static struct session session;
	struct err *err;

	session.config.max_pause_ns = 500000000;
	CU_ASSERT_PTR_NULL(stop_estimate_check(&session, 500000000, NULL));
	err = stop_estimate_check(&session, 1300000000, "no snapshot: it is a test");
	CU_ASSERT_FATAL(err && err->code == ERR_STATE);
	CU_ASSERT_STRING_EQUAL(err->msg, "the process would stand still for some 1300 ms, and max-pause "
					 "is 500 ms (no snapshot: it is a test)");
	CU_ASSERT_PTR_NOT_NULL(strstr(err->hint, "set max-pause none"));
	session.config.max_pause_ns = 0;
	CU_ASSERT_PTR_NULL(stop_estimate_check(&session, UINT64_MAX, NULL));
}
