/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Unknown frees: what they are taken for, and the rings. */

#include <sys/mman.h>

#include "log/log_layout.h"
#include "log/log_unknown_free.h"
#include "log/ring.h"
#include "region.h"
#include "unit.h"
#include "unwind/walk.h"

#define SIZE	LOG_REGION_MIN
#define A	0x10000ull
#define B	0x20000ull

static struct log log_;
static const struct free_facts facts = {
	.complete = 1, .library = { { 0x7000, 0x8000 }, { 0x9000, 0xa000 } },
};

static void begin(void)
{
	region_open(SIZE, &log_);
}

static void end(void)
{
	munmap(log_.base, SIZE);
}

EACH(begin, end);

static void put(uint64_t address)
{
	struct log_record record = {
		.address = address, .size = 10, .time = log_now(), .heap = LOG_HEAP_UNKNOWN,
	};

	CU_ASSERT(log_record_insert(&log_, &record, NULL));
}

/* A free from there, which the table does not know; caller: as of log_unknown_free. */
static void unknown_free_by(uint64_t address, const uint64_t *pcs, uint32_t nr, enum walk_end how,
			    uint64_t caller)
{
	struct log_unknown_free free = {
		.address = address, .time = log_now(),
		.stack = stack_table_insert(&log_, pcs, nr, (uint8_t)how, 1),
	};

	CU_ASSERT_FALSE(log_record_remove(&log_, address, 0, NULL));
	log_unknown_free(&log_, &free, &facts, caller, true);
}

static void unknown(uint64_t address, const uint64_t *pcs, uint32_t nr, enum walk_end how)
{
	unknown_free_by(address, pcs, nr, how, 0);
}

static void expect(uint64_t doubles, uint64_t own, uint64_t unknown)
{
	struct log_accounts accounts = reader_accounts(&log_);

	CU_ASSERT_EQUAL(accounts.double_frees, doubles);
	CU_ASSERT_EQUAL(accounts.own_frees, own);
	CU_ASSERT_EQUAL(accounts.unknown_frees, unknown);
}

/* Free is in the C library itself; what counts is who called it. */
TEST("told by their callers")
{
	static const uint64_t program[] = { 0x7100, 0x7200, 0x1000, 0x7300 };
	static const uint64_t library[] = { 0x7100, 0x7200, 0x9200 };

	put(A);
	CU_ASSERT(log_record_remove(&log_, A, 0, NULL));
	unknown(A, program, 4, WALK_COMPLETE);
	expect(1, 0, 0);
	unknown(A, program, 4, WALK_MEMORY);
	expect(2, 0, 0);
	unknown(A, library, 3, WALK_COMPLETE);
	expect(2, 1, 0);
	unknown(A, library, 3, WALK_DEPTH);	/* who knows who comes behind */
	expect(2, 1, 1);
	unknown(A, library, 1, WALK_COMPLETE);
	expect(2, 1, 2);
	unknown(B, program, 4, WALK_COMPLETE);
	expect(2, 1, 3);
	unknown_free_by(A, program, 1, WALK_MEMORY, 0x1000);	/* the walk has come to nothing */
	expect(3, 1, 3);
	unknown_free_by(A, library, 3, WALK_COMPLETE, 0x7200);
	expect(3, 2, 3);
	log_reset(&log_);
	expect(0, 0, 0);
	CU_ASSERT_EQUAL(log_.header->unknown_frees[LOG_UNKNOWN_FREE_DOUBLE], 0);
	unknown(A, program, 4, WALK_COMPLETE);	/* its retired record is gone */
	expect(0, 0, 1);
}

/* The retired record says what the block was, until another one has its place. */
TEST("ghosts")
{
	struct log_record record;

	CU_ASSERT_FALSE(log_record_retired(&log_, A, &record));
	put(A);
	CU_ASSERT_FALSE(log_record_retired(&log_, A, &record));
	CU_ASSERT(log_record_remove(&log_, A, 0, NULL));
	CU_ASSERT(log_record_retired(&log_, A, &record));
	CU_ASSERT(record.address == A && record.size == 10);
	CU_ASSERT_FALSE(log_record_retired(&log_, A + 16, &record));
	CU_ASSERT_FALSE(log_record_retired(&log_, 0, &record));
	put(A);
	CU_ASSERT_FALSE(log_record_retired(&log_, A, &record));
}

static bool note(const struct log_unknown_free *unknown, void *ctx)
{
	uint64_t **at = ctx;

	*(*at)++ = unknown->address;
	return false;
}

static bool stop(const struct log_unknown_free *unknown, void *ctx)
{
	(void)unknown;
	++*(unsigned *)ctx;
	return true;
}

/* The newest are kept, oldest first; a slot whose writer has died is passed by. */
TEST("the newest are kept")
{
	static const uint64_t program[] = { 0x7100, 0x1000 };
	static uint64_t seen[LOG_UNKNOWN_FREES];
	uint64_t *at = seen;
	unsigned calls = 0;

	for (uint64_t i = 0; i < LOG_UNKNOWN_FREES + 10; i++)
		unknown(A + 16 * i, program, 2, WALK_COMPLETE);
	reader_each_unknown_free(&log_, LOG_UNKNOWN_FREE_OTHER, note, &at);
	CU_ASSERT_EQUAL(at - seen, LOG_UNKNOWN_FREES);
	CU_ASSERT_EQUAL(seen[0], A + 16 * 10);
	CU_ASSERT_EQUAL(seen[LOG_UNKNOWN_FREES - 1], A + 16 * (LOG_UNKNOWN_FREES + 9));
	reader_each_unknown_free(&log_, LOG_UNKNOWN_FREE_OTHER, stop, &calls);
	CU_ASSERT_EQUAL(calls, 1);

	log_.unknown[LOG_UNKNOWN_FREE_OTHER][10].ticket |= RING_BUSY;
	unknown(B, program, 2, WALK_COMPLETE);
	unknown(B + 16, program, 2, WALK_COMPLETE);
	at = seen;
	reader_each_unknown_free(&log_, LOG_UNKNOWN_FREE_OTHER, note, &at);
	CU_ASSERT_EQUAL(at - seen, LOG_UNKNOWN_FREES - 1);
	CU_ASSERT_EQUAL(at[-1], B + 16);
	CU_ASSERT_EQUAL(at[-2], A + 16 * (LOG_UNKNOWN_FREES + 9));
}

/* What the target writes there leads nobody astray. */
TEST("nonsense")
{
	unsigned calls = 0;

	memset(log_.unknown[0], 0xff, LOG_UNKNOWN_FREES * sizeof(struct log_unknown_free_slot));
	log_.header->unknown_frees[0] = UINT64_MAX;
	reader_each_unknown_free(&log_, 0, stop, &calls);
	CU_ASSERT_EQUAL(calls, 0);
	log_.header->unknown_frees[0] = 5;
	reader_each_unknown_free(&log_, 0, stop, &calls);
	CU_ASSERT_EQUAL(calls, 0);
}
