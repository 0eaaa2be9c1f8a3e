/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Moments: what is kept of sums, and that packing keeps all of it. */

#include "fixture.h"
#include "heap/moment.h"

TEST("take")
{
	struct sample_share live[] = { { 1, 10 }, { 0, 0 }, { 3, 0 }, { 0, 0 }, { 2, 500 } };
	struct live_counts counts = { live, ARRAY_SIZE(live), ARRAY_SIZE(live) };
	struct sample_share total;
	struct moment moment;

	CU_ASSERT_PTR_NULL_FATAL(moment_take(&counts, 77, &moment));
	CU_ASSERT_EQUAL(moment.time_ns, 77);
	CU_ASSERT_EQUAL_FATAL(moment.vec.nr, 3);
	CU_ASSERT(moment.vec.at[0].stack == 0 && moment.vec.at[0].bytes == 10);
	CU_ASSERT(moment.vec.at[1].stack == 2 && moment.vec.at[1].count == 3);
	CU_ASSERT(moment.vec.at[2].stack == 4 && moment.vec.at[2].bytes == 500);
	total = moment_total(&moment);
	CU_ASSERT(total.bytes == 510 && total.blocks == 6);
	moment_free(&moment);
}

/* Of a log: its records and those in hand, each once, by stack. */
TEST("from a log")
{
	struct in_hand in_hand = { VEC_INIT };
	struct log_record record = { .address = 0x1000, .size = 100, .time = 1 };
	struct moment moment;
	struct log log;
	const uint64_t pc = 0x400000;

	fixture_open(&log);
	record.stack = stack_table_insert(&log, &pc, 1, 0, 0);
	log_record_insert(&log, &record, NULL);
	record.address = 0x2000;
	record.stack = LOG_STACK_NONE;
	log_record_insert(&log, &record, NULL);
	record.address = 0x3000;
	CU_ASSERT_PTR_NULL_FATAL(vec_push(&in_hand.vec, record));
	CU_ASSERT_PTR_NULL_FATAL(moment_from_log(&log, &in_hand, EPOCH, &moment));
	CU_ASSERT_EQUAL_FATAL(moment.vec.nr, 2);
	CU_ASSERT(moment.vec.at[0].stack == LOG_STACK_NONE && moment.vec.at[0].bytes == 200);
	CU_ASSERT(moment.vec.at[1].stack == 1 && moment.vec.at[1].count == 1);
	moment_free(&moment);
	vec_free(&in_hand.vec);
	fixture_close(&log);
}

/* Packed, unpacked, and as before; ret gets how long it was. */
static void round_trip(const struct moment *moment, size_t *len_ret)
{
	struct packed_moment packed;
	struct moment again;

	CU_ASSERT_PTR_NULL_FATAL(moment_pack(moment, &packed));
	CU_ASSERT_PTR_NULL_FATAL(moment_unpack(&packed, moment->time_ns, &again));
	CU_ASSERT_EQUAL(again.time_ns, moment->time_ns);
	CU_ASSERT_EQUAL_FATAL(again.vec.nr, moment->vec.nr);
	for (size_t i = 0; i < moment->vec.nr; i++) {
		const struct moment_sum *a = &moment->vec.at[i], *b = &again.vec.at[i];

		CU_ASSERT(a->stack == b->stack && a->bytes == b->bytes && a->count == b->count);
	}
	CU_ASSERT_EQUAL(memcmp(&again.older, &moment->older, sizeof(again.older)), 0);
	*len_ret = packed.len;
	moment_free_packed(&packed);
	moment_free(&again);
}

TEST("pack")
{
	static const uint64_t numbers[] = { 0, 1, 127, 128, 16383, 16384, UINT32_MAX, 1ull << 63,
					    UINT64_MAX };
	struct moment moment = { .time_ns = EPOCH, .older = { true, 100, 3, 2 } };
	size_t len;

	round_trip(&moment, &len);
	CU_ASSERT_EQUAL(len, 0);
	for (uint32_t i = 0; i < ARRAY_SIZE(numbers); i++)
		CU_ASSERT_PTR_NULL_FATAL(vec_push(&moment.vec, ((struct moment_sum){
			(uint32_t)(1ull << 32 >> (ARRAY_SIZE(numbers) - i)), numbers[i],
			numbers[ARRAY_SIZE(numbers) - 1 - i] })));
	CU_ASSERT_PTR_NULL_FATAL(vec_push(&moment.vec, ((struct moment_sum){ UINT32_MAX, 1, 1 })));
	round_trip(&moment, &len);
	moment_free(&moment);
}

/* Sites as programs have them take six bytes each. */
TEST("size")
{
	struct moment moment = { .time_ns = EPOCH, .older = { true, 100, 3, 2 } };
	size_t len;

	for (uint32_t i = 0; i < 10000; i++)
		CU_ASSERT_PTR_NULL_FATAL(vec_push(&moment.vec, ((struct moment_sum){
			i + 1, i * 6400ull % 100000, i % 200 + 1 })));
	round_trip(&moment, &len);
	CU_ASSERT(len <= 60000);
	moment_free(&moment);
}
