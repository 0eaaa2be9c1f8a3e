/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sampling: the distribution of the gaps, and what a block stands for, against real numbers. */

#include "log/sample.h"

#include "region.h"

#define GAPS	1000000
#define MEAN	65536

/* 1 - exp(-x): the series at x / 1024, and ten times q (2 - q). */
static double inside(double x)
{
	double y = x / 1024, q = y - y * y / 2 + y * y * y / 6 - y * y * y * y / 24;

	for (int i = 0; i < 10; i++)
		q = q * (2 - q);
	return q;
}

static bool near(double is, double want, double part)
{
	double off = is > want ? is - want : want - is;

	return off <= part * want;
}

/* Standard deviations are those of GAPS gaps; the seed is always the same. */
TEST("gaps")
{
	static const double at[] = { 0.001, 0.01, 0.1, 0.5, 1, 2, 4 };
	uint64_t random = 1, below[ARRAY_SIZE(at)] = { 0 };
	double sum = 0, squares = 0;

	for (unsigned i = 0; i < GAPS; i++) {
		double gap = (double)sample_gap(&random, MEAN) / MEAN;

		sum += gap;
		squares += gap * gap;
		for (unsigned j = 0; j < ARRAY_SIZE(at); j++)
			below[j] += gap < at[j];
	}
	CU_ASSERT(near(sum / GAPS, 1, 0.005));
	CU_ASSERT(near(squares / GAPS, 2, 0.02));
	for (unsigned j = 0; j < ARRAY_SIZE(at); j++)
		CU_ASSERT(near((double)below[j] / GAPS, inside(at[j]), j ? 0.05 : 0.15));
}

TEST("seed")
{
	uint64_t a = 7, b = 7, c = 8;
	unsigned same = 0;

	for (unsigned i = 0; i < 1000; i++) {
		uint64_t gap = sample_gap(&a, MEAN);

		CU_ASSERT_EQUAL(gap, sample_gap(&b, MEAN));
		same += gap == sample_gap(&c, MEAN);
	}
	CU_ASSERT(same < 10);
}

TEST("weights")
{
	static const uint64_t means[] = { 1, 2, 1000, MEAN, 1 << 20, SAMPLE_MEAN_MAX };

	for (unsigned i = 0; i < ARRAY_SIZE(means); i++)
		for (uint64_t size = 1; size < 1ull << 48; size += size / 7 + 1) {
			double x = (double)size / (double)means[i];
			double want = x > 60 ? 1 : 1 / inside(x);

			CU_ASSERT(near((double)sample_weight(size, means[i]) / SAMPLE_ONE, want,
				       2e-6));
		}
	CU_ASSERT_EQUAL(sample_weight(0, MEAN), sample_weight(1, MEAN));
}

/* Rounded by chance, right on average, the same for the same record; without sampling itself. */
TEST("shares")
{
	double blocks = 0, bytes = 0;
	struct sample_share share = sample_share(0, 123, 5), again;

	CU_ASSERT(share.blocks == 1 && share.bytes == 123);
	share = sample_share(MEAN, 1ull << 47, 5);
	CU_ASSERT(share.blocks == 1 && share.bytes == 1ull << 47);
	for (uint64_t time = 0; time < GAPS; time++) {
		share = sample_share(MEAN, 40000, time);
		again = sample_share(MEAN, 40000, time);
		CU_ASSERT(share.blocks == again.blocks && share.bytes == again.bytes);
		blocks += (double)share.blocks;
		bytes += (double)share.bytes;
	}
	CU_ASSERT(near(blocks / GAPS, 1 / inside(40000.0 / MEAN), 0.002));
	CU_ASSERT(near(bytes / GAPS, 40000 / inside(40000.0 / MEAN), 1e-5));
}

/* A log that samples, and whose records the test puts in. */
static void open_sampling(uint64_t bytes, struct log *ret)
{
	region_open(bytes, ret);
	ret->header->sample = MEAN;
}

/* Frees that find nothing are no unknown ones. */
TEST("frees")
{
	struct log_record record = { .address = 0x1000, .size = 8, .time = 1 };
	struct log_accounts accounts;
	CLEANUP(region_close) struct log log;

	open_sampling(LOG_REGION_MIN, &log);
	CU_ASSERT_TRUE(log_record_insert(&log, &record, NULL));
	for (uint64_t address = 0x1000; address < 0x101000; address += 16)
		CU_ASSERT_EQUAL(log_record_remove(&log, address, 0, NULL), address == 0x1000);
	CU_ASSERT_FALSE(log_record_remove(&log, 0x2000, 0, NULL));
	accounts = reader_accounts(&log);
	CU_ASSERT_EQUAL(accounts.frees, 1);
	CU_ASSERT_EQUAL(accounts.unsampled_frees, 0x10000);
	CU_ASSERT_EQUAL(accounts.unknown_frees, 0);
}

/* Each record is found, in windows that are full and in tables that were added. */
TEST("frees that are found")
{
	struct log_record record = { .size = 8 };
	unsigned missed = 0;
	CLEANUP(region_close) struct log log;

	open_sampling(LOG_REGION_MIN * 4, &log);
	for (uint64_t nr = 1000; nr < 200000; nr *= 2) {
		for (uint64_t i = 1; i <= nr; i++) {
			record.address = i * 16;
			record.time++;
			CU_ASSERT_TRUE_FATAL(log_record_insert(&log, &record, NULL));
		}
		for (uint64_t i = 1; i <= nr; i++)
			missed += !log_record_remove(&log, i * 16, 0, NULL);
	}
	CU_ASSERT_EQUAL(missed, 0);
	CU_ASSERT_EQUAL(reader_live(&log), 0);
}
