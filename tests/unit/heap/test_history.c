/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The history: which samples are kept, within which memory, and which one is found for a moment. */

#include "fixture.h"
#include "heap/history.h"

/* A moment of nr stacks that hold bytes each. */
static void add(struct history *history, uint64_t time_ns, uint32_t nr, uint64_t bytes)
{
	struct moment moment = { .time_ns = time_ns };

	for (uint32_t i = 0; i < nr; i++)
		CU_ASSERT_PTR_NULL_FATAL(vec_push(&moment.vec,
						  ((struct moment_sum){ i + 1, bytes, 1 })));
	CU_ASSERT_PTR_NULL_FATAL(history_add(history, &moment, 4096));
	moment_free(&moment);
}

static uint64_t taken(const struct history *history)
{
	uint64_t bytes = 0;

	vec_each(sample, &history->samples)
		bytes += sizeof(*sample) + sample->moment.len;
	return bytes;
}

static void check_order(const struct history *history)
{
	for (size_t i = 1; i < history->samples.nr; i++)
		CU_ASSERT_FATAL(history->samples.at[i - 1].time_ns < history->samples.at[i].time_ns);
}

/* A day of samples, one a second, of which 250 fit: any age is met to 5 %, or to a second or two. */
TEST("thinning")
{
	struct history history = HISTORY_INIT;
	uint64_t now = EPOCH;
	double worst = 0;

	history.most_samples = 250;
	CU_ASSERT_PTR_NULL_FATAL(history_begin(&history, EPOCH, 0));
	for (uint32_t s = 1; s <= 86400; s++) {
		now = EPOCH + s * SECOND;
		add(&history, now, 1, 100 + s % 7);
		CU_ASSERT_FATAL(history.samples.nr <= 250);
	}
	CU_ASSERT_EQUAL(history.samples.nr, 250);
	check_order(&history);
	CU_ASSERT(history.samples.at[0].time_ns == EPOCH && history.samples.at[0].origin);
	CU_ASSERT_EQUAL(history.samples.at[249].time_ns, now);
	for (double age = 1; age < 86400; age *= 1.01) {
		uint64_t then = now - (uint64_t)(age * 1e9);
		const struct history_sample *sample = history_nearest(&history, then);
		double off;

		CU_ASSERT_PTR_NOT_NULL_FATAL(sample);
		off = sample->time_ns > then ? (double)(sample->time_ns - then) :
					       (double)(then - sample->time_ns);
		if (off > 1e9)
			worst = MAX(worst, off / 1e9 / age);
	}
	CU_ASSERT(worst <= 0.05);
	if (worst > 0.05)
		fprintf(stderr, "    the worst age is off by %.1f %%\n", 100 * worst);
	history_clear(&history);
}

/* A budget of bytes, with moments of changing size; what is added up is what there is. */
TEST("budget")
{
	struct history history = HISTORY_INIT;

	history.most_bytes = 100000;
	for (uint32_t s = 1; s <= 3000; s++) {
		add(&history, EPOCH + s * SECOND, s % 500, 1000000 + s);
		CU_ASSERT_FATAL(history.bytes <= history.most_bytes);
		CU_ASSERT_FATAL(taken(&history) <= history.bytes);
	}
	check_order(&history);
	CU_ASSERT(history.samples.nr >= 20);
	CU_ASSERT_EQUAL(history.samples.at[0].time_ns, EPOCH + SECOND);
	CU_ASSERT_EQUAL(history_peak(&history)->count, 499);
	history_clear(&history);
	CU_ASSERT(!history.bytes && !history.samples.nr);
}

/* The real budget: sixteen megabytes, whatever comes, of 10,000 sites and of a million. */
TEST("sixteen megabytes")
{
	struct history history = HISTORY_INIT;

	for (uint32_t s = 1; s <= 600; s++)
		add(&history, EPOCH + s * SECOND, 10000, 100000 + s);
	CU_ASSERT(history.bytes <= 16u << 20 && taken(&history) <= history.bytes);
	CU_ASSERT(history.samples.nr >= 200);
	history_clear(&history);
	/* The last one and the peak stay, and nothing else has room. */
	add(&history, EPOCH + SECOND, 10, 1);
	add(&history, EPOCH + 2 * SECOND, 3000000, 1);
	add(&history, EPOCH + 3 * SECOND, 20, 1);
	CU_ASSERT_EQUAL_FATAL(history.samples.nr, 3);
	add(&history, EPOCH + 4 * SECOND, 3000000, 100);
	add(&history, EPOCH + 5 * SECOND, 2900000, 100);
	CU_ASSERT_EQUAL_FATAL(history.samples.nr, 2);
	CU_ASSERT_EQUAL(history.samples.at[0].count, 3000000);
	CU_ASSERT_EQUAL(history.samples.at[1].count, 2900000);
	history_clear(&history);
}

/* The highest one keeps its breakdown as long as none is higher, however old it is. */
TEST("peak")
{
	struct history history = HISTORY_INIT;
	const struct history_sample *peak;
	struct moment moment;

	CU_ASSERT_PTR_NULL(history_peak(&history));
	history.most_samples = 20;
	for (uint32_t s = 1; s <= 10000; s++)
		add(&history, EPOCH + s * SECOND, 3, s == 4321 ? 5000 : 1000 + s % 1000);
	peak = history_peak(&history);
	CU_ASSERT_PTR_NOT_NULL_FATAL(peak);
	CU_ASSERT(peak->time_ns == EPOCH + 4321 * SECOND && peak->bytes == 15000 && peak->rss == 4096);
	CU_ASSERT_PTR_NULL_FATAL(moment_unpack(&peak->moment, peak->time_ns, &moment));
	CU_ASSERT(moment.vec.nr == 3 && moment.vec.at[2].bytes == 5000);
	moment_free(&moment);
	/* It goes as others do when there is a higher one. */
	add(&history, EPOCH + 10001 * SECOND, 3, 6000);
	CU_ASSERT_EQUAL(history_peak(&history)->bytes, 18000);
	for (uint32_t s = 10002; s <= 20000; s++)
		add(&history, EPOCH + s * SECOND, 3, 1);
	vec_each(sample, &history.samples)
		CU_ASSERT_NOT_EQUAL(sample->time_ns, EPOCH + 4321 * SECOND);
	CU_ASSERT_EQUAL(history_peak(&history)->time_ns, EPOCH + 10001 * SECOND);
	history_clear(&history);
}

/* A gap stays between the samples at its edges, which stay, and its time is known. */
TEST("gaps")
{
	struct history history = HISTORY_INIT;
	unsigned gaps = 0;

	history.most_samples = 20;
	CU_ASSERT_EQUAL(history_unrecorded(&history, 0, UINT64_MAX), 0);
	for (uint32_t s = 1; s <= 100; s++)
		add(&history, EPOCH + s * SECOND, 1, 1);
	CU_ASSERT_PTR_NULL_FATAL(history_gap_begin(&history, EPOCH + 100 * SECOND + 1, false));
	CU_ASSERT_PTR_NULL_FATAL(history_gap_begin(&history, EPOCH + 150 * SECOND, true));
	CU_ASSERT_TRUE(history_gap_before(&history, history.samples.nr));
	history_gap_end(&history, EPOCH + 200 * SECOND - 1);
	history_gap_end(&history, EPOCH + 300 * SECOND);
	for (uint32_t s = 200; s <= 5000; s++)
		add(&history, EPOCH + s * SECOND, 1, 1);
	for (size_t i = 0; i <= history.samples.nr; i++) {
		if (!history_gap_before(&history, i))
			continue;
		gaps++;
		CU_ASSERT_EQUAL(history.samples.at[i - 1].time_ns, EPOCH + 100 * SECOND);
		CU_ASSERT_EQUAL(history.samples.at[i].time_ns, EPOCH + 200 * SECOND);
	}
	CU_ASSERT_EQUAL(gaps, 1);
	CU_ASSERT_EQUAL(history_unrecorded(&history, 0, UINT64_MAX), 100 * SECOND - 2);
	CU_ASSERT_EQUAL(history_unrecorded(&history, EPOCH + 150 * SECOND, EPOCH + 160 * SECOND),
			10 * SECOND);
	CU_ASSERT_EQUAL(history_unrecorded(&history, EPOCH + 200 * SECOND, UINT64_MAX), 0);
	history_clear(&history);
	/* The log that went on by itself has recorded all. */
	add(&history, EPOCH, 1, 1);
	CU_ASSERT_PTR_NULL_FATAL(history_gap_begin(&history, EPOCH + SECOND, true));
	history_gap_end(&history, EPOCH + 3 * SECOND);
	add(&history, EPOCH + 4 * SECOND, 1, 1);
	CU_ASSERT_TRUE(history_gap_before(&history, 1));
	CU_ASSERT_EQUAL(history_unrecorded(&history, 0, UINT64_MAX), 0);
	history_clear(&history);
}

/* Thousands of gaps: neither they nor the samples at their edges take more than there is room for. */
TEST("many gaps")
{
	struct history history = HISTORY_INIT;

	history.most_samples = 50;
	for (uint32_t s = 1; s <= 5000; s++) {
		add(&history, EPOCH + 2 * s * SECOND, 1, 1);
		CU_ASSERT_PTR_NULL_FATAL(history_gap_begin(&history, EPOCH + 2 * s * SECOND + 1, false));
		history_gap_end(&history, EPOCH + (2 * s + 1) * SECOND);
		CU_ASSERT_FATAL(history.gaps.nr <= HISTORY_GAPS && history.samples.nr <= 50);
	}
	CU_ASSERT(history_unrecorded(&history, 0, UINT64_MAX) >= 5000 * (SECOND - 1));
	for (size_t i = 1; i < history.gaps.nr; i++)
		CU_ASSERT_FATAL(history.gaps.at[i - 1].end_ns < history.gaps.at[i].begin_ns);
	history_clear(&history);
}

TEST("nearest")
{
	struct history history = HISTORY_INIT;
	static const struct {
		uint64_t at, want;	/* halves of a second after EPOCH; 0: none */
	} asked[] = { { 19, 0 }, { 20, 20 }, { 21, 20 }, { 24, 20 }, { 26, 30 }, { 30, 30 },
		      { 35, 30 }, { 36, 40 }, { 40, 40 }, { 1000, 40 } };

	CU_ASSERT_PTR_NULL(history_nearest(&history, EPOCH));
	for (uint32_t s = 10; s <= 20; s += 5)
		add(&history, EPOCH + s * SECOND, 1, s);
	for (size_t i = 0; i < ARRAY_SIZE(asked); i++) {
		const struct history_sample *sample =
			history_nearest(&history, EPOCH + asked[i].at * SECOND / 2);

		CU_ASSERT_EQUAL_FATAL(!sample, !asked[i].want);
		if (sample)
			CU_ASSERT_EQUAL(sample->time_ns, EPOCH + asked[i].want * SECOND / 2);
	}
	/* What is not younger than the last is passed over. */
	add(&history, EPOCH + 20 * SECOND, 1, 9);
	add(&history, EPOCH + 12 * SECOND, 1, 9);
	CU_ASSERT_EQUAL(history.samples.nr, 3);
	history_clear(&history);
}

static uint64_t growth_age(const struct history *history, uint64_t now)
{
	const struct history_sample *sample = history_growth(history, now);

	return sample ? now - sample->time_ns : 0;
}

/*
 * Ten seconds; as long as there are no ten, the oldest that is two; and never over a gap, or since
 * the beginning, of which nobody has looked at the log.
 */
TEST("growth")
{
	struct history history = HISTORY_INIT;

	CU_ASSERT_PTR_NULL_FATAL(history_begin(&history, EPOCH, 0));
	CU_ASSERT_EQUAL(growth_age(&history, EPOCH + 100 * SECOND), 0);
	for (uint32_t s = 1; s <= 30; s++) {
		uint64_t now = EPOCH + s * SECOND, age = s < 3 ? 0 : MIN(s - 1, 10u) * SECOND;

		CU_ASSERT_EQUAL(growth_age(&history, now), age);
		add(&history, now, 1, s);
		CU_ASSERT_EQUAL(growth_age(&history, now), age);
	}
	CU_ASSERT_EQUAL(growth_age(&history, EPOCH + 100 * SECOND), 70 * SECOND);
	CU_ASSERT_PTR_NULL_FATAL(history_gap_begin(&history, EPOCH + 31 * SECOND, false));
	CU_ASSERT_EQUAL(growth_age(&history, EPOCH + 50 * SECOND), 0);
	history_gap_end(&history, EPOCH + 40 * SECOND);
	CU_ASSERT_EQUAL(growth_age(&history, EPOCH + 50 * SECOND), 0);
	add(&history, EPOCH + 41 * SECOND, 1, 1);
	CU_ASSERT_EQUAL(growth_age(&history, EPOCH + 42 * SECOND), 0);
	CU_ASSERT_EQUAL(growth_age(&history, EPOCH + 43 * SECOND), 2 * SECOND);
	history_clear(&history);
}
