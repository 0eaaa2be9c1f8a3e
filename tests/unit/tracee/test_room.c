/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How large a log may be. */

#include "tracee/room.h"

#include "agent/state.h"
#include "log/log.h"
#include "unit.h"

#define M	(1ull << 20)
#define ANY	UINT64_MAX

static struct room chosen(uint64_t addresses, uint64_t commit, uint32_t threads, uint64_t log)
{
	const struct room_facts facts = { addresses, commit, ANY, M, threads };
	struct room room;

	room_choose(&facts, log, &room);
	CU_ASSERT_TRUE(room.log >= LOG_REGION_MIN && room.log <= log);
	CU_ASSERT_TRUE(room.threads >= AGENT_THREAD_WAYS && room.threads <= AGENT_THREADS);
	CU_ASSERT_FALSE(room.threads & (room.threads - 1));
	return room;
}

static uint64_t taken(const struct room *room)
{
	return room->log + room->threads * sizeof(struct agent_thread) + 4 * M;
}

TEST("as asked for")
{
	static const uint64_t addresses[] = { ANY, 1ull << 40, 4096 * M };

	for (size_t i = 0; i < ARRAY_SIZE(addresses); i++) {
		struct room room = chosen(addresses[i], ANY, 3000, 1024 * M);

		CU_ASSERT_EQUAL(room.log, 1024 * M);
		CU_ASSERT_EQUAL(room.threads, AGENT_THREADS);
		CU_ASSERT_FALSE(room.tight);
	}
}

/* Never more than half, where that is enough; then no more than three quarters; then it is not tried to fit. */
TEST("never all")
{
	bool fitted = false;

	for (uint64_t left = 0; left < 4096 * M; left += left < 128 * M ? M / 4 : 37 * M) {
		for (uint64_t log = 16 * M; log <= 1024 * M; log *= 4) {
			struct room room = chosen(left, ANY, 5, log);

			if (!room.tight) {
				CU_ASSERT_EQUAL(room.log, log);
				CU_ASSERT_TRUE(!fitted || log < 1024 * M || 2 * taken(&room) <= left);
				continue;
			}
			fitted = true;
			CU_ASSERT_TRUE(4 * taken(&room) <= 3 * left);
			CU_ASSERT_TRUE(2 * taken(&room) <= left || room.log == LOG_REGION_MIN);
		}
	}
	CU_ASSERT_TRUE(fitted);
}

/* There is room for 16 MB and little else: it is had. */
TEST("the least")
{
	struct room room = chosen(32 * M, ANY, 2, 16 * M);

	CU_ASSERT_TRUE(room.tight);
	CU_ASSERT_EQUAL(room.log, 16 * M);
	room = chosen(32 * M, ANY, 2, 1024 * M);
	CU_ASSERT_TRUE(room.tight);
	CU_ASSERT_EQUAL(room.log, 16 * M);
	room = chosen(16 * M, ANY, 2, 16 * M);
	CU_ASSERT_FALSE(room.tight);
}

/* Twice as many places as threads come before a large log. */
TEST("threads")
{
	CU_ASSERT_TRUE(chosen(512 * M, ANY, 300, 1024 * M).threads >= 600);
	CU_ASSERT_TRUE(chosen(512 * M, ANY, 3, 1024 * M).threads >= 64);
	CU_ASSERT_TRUE(chosen(64 * M, ANY, 3000, 1024 * M).tight);
}

TEST("promised memory")
{
	struct room room = chosen(ANY, 300 * M, 2, 1024 * M);

	CU_ASSERT_EQUAL(room.log, 300 * M);
	CU_ASSERT_FALSE(room.tight);
	CU_ASSERT_EQUAL(chosen(ANY, 0, 2, 1024 * M).log, 16 * M);
	CU_ASSERT_EQUAL(chosen(ANY, 3000 * M, 2, 1024 * M).log, 1024 * M);
}

/* A region fills half of its addresses: the log is a quarter of the pages that are left. */
TEST("pages")
{
	struct room_facts facts = { ANY, ANY, 300 * M, M, 2 };
	struct room room;

	room_choose(&facts, 1024 * M, &room);
	CU_ASSERT_EQUAL(room.log, 150 * M);
	CU_ASSERT_FALSE(room.tight);
	facts.commit = 100 * M;
	room_choose(&facts, 1024 * M, &room);
	CU_ASSERT_EQUAL(room.log, 100 * M);
	facts.pages = 9 * M;
	room_choose(&facts, 1024 * M, &room);
	CU_ASSERT_EQUAL(room.log, LOG_REGION_MIN);
	facts.pages = ANY - M;
	facts.commit = ANY;
	room_choose(&facts, 1024 * M, &room);
	CU_ASSERT_EQUAL(room.log, 1024 * M);
}

