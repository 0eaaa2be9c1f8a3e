/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Numbers, sizes, durations and times. */

#include <time.h>

#include "heap/filter.h"
#include "unit.h"

struct example {
	const char *text;
	uint64_t value;
};

static void check(struct err *(*parse)(const char *, uint64_t *), const struct example *good,
		  size_t nr_good, const char *const *bad, size_t nr_bad, const char *why)
{
	uint64_t value;

	for (size_t i = 0; i < nr_good; i++) {
		value = ~good[i].value;
		if (parse(good[i].text, &value) || value != good[i].value)
			CU_FAIL(good[i].text);
	}
	for (size_t i = 0; i < nr_bad; i++) {
		struct err *err;

		value = 4711;
		err = parse(bad[i], &value);
		if (!err || err->code != ERR_USAGE || value != 4711 || !strstr(err->msg, why) ||
		    !strstr(err->msg, bad[i]))
			CU_FAIL(bad[i]);
	}
}

#define CHECK(parse, good, bad, why) check(parse, good, ARRAY_SIZE(good), bad, ARRAY_SIZE(bad), why)

#define CHECK_LARGE(parse, large) check(parse, NULL, 0, large, ARRAY_SIZE(large), "is too large: at most")

TEST("number")
{
	static const struct example good[] = {
		{ "0", 0 }, { "17", 17 }, { "007", 7 }, { "0x1000", 4096 }, { "0XfF", 255 },
		{ "18446744073709551615", UINT64_MAX }, { "0xffffffffffffffff", UINT64_MAX },
		{ "0x00000000000000000012", 18 },
	};
	static const char *const bad[] = {
		"", "x", "0x", "-1", "+1", " 1", "1 ", "1.5", "1.0", "0xg", "12a", "1e3",
		"18446744073709551616.", "0x1ffffffffffffffffg",
	};
	static const char *const large[] = { "18446744073709551616", "99999999999999999999999999",
					    "0x1ffffffffffffffff", "0x10000000000000000" };

	CHECK(parse_number, good, bad, "is not a number");
	CHECK_LARGE(parse_number, large);
}

TEST("size")
{
	static const struct example good[] = {
		{ "0", 0 }, { "17", 17 }, { "0x10", 16 }, { "4K", 4096 }, { "4k", 4096 },
			{ "1.5M", 3 << 19 },
		{ "2G", 2ull << 30 }, { "1T", 1ull << 40 }, { "8KB", 8192 }, { "8KiB", 8192 },
			{ "0.5K", 512 },
		{ "18446744073709551615", UINT64_MAX },
	};
	static const char *const bad[] = {
		"", "K", "1.5", "4 K", "4X", "4KX", "4K ", "-4K", "1..5K",
			"1.K", ".5K",
		"4KiBB", "4\xcb", "99999999999999999999X",
	};
	static const char *const large[] = { "18446744073709551616", "20000000000000000G",
					    "16777216T", "0x10000000000000000",
					    "99999999999999999999K" };

	CHECK(parse_size, good, bad, "is not a size");
	CHECK_LARGE(parse_size, large);
}

TEST("duration")
{
	static const struct example good[] = {
		{ "0", 0 }, { "5", 5000000000 }, { "90s", 90000000000 }, { "250ms", 250000000 },
		{ "7us", 7000 }, { "9ns", 9 }, { "5m", 300000000000 }, { "5min", 300000000000 },
		{ "2h", 7200000000000 }, { "1d", 86400000000000 }, { "1.5h", 5400000000000 },
		{ "0.25", 250000000 },
	};
	static const char *const bad[] = { "", "s", "5x", "5 m", "-5m", "5mm" };
	static const char *const large[] = { "30000000000", "999999999d", "213504d",
					    "99999999999999999999" };

	CHECK(parse_duration, good, bad, "is not a duration");
	CHECK_LARGE(parse_duration, large);
}

TEST("time")
{
	static const struct example good[] = {
		{ "0", 0 }, { "1732104402", 1732104402000000000 },
			{ "1732104402.25", 1732104402250000000 },
		{ "2026-11-20 10:00:00", 1795168800000000000 },
			{ "2026-11-20 10:00", 1795168800000000000 },
		{ "2026-11-20T10:00:01", 1795168801000000000 },
			{ "2026-11-20", 1795132800000000000 },
		{ "2024-02-29 00:00:00", 1709164800000000000 },
			{ "1970-01-01 00:00:01", 1000000000 },
	};
	static const char *const bad[] = {
		"", "now", "-5", "2026-13-01", "2026-02-30", "2025-02-29", "2026-11-20 25:00",
			"2026-11-20 10:60",
		"2026-11-20 10:00:61", "2026-11-20 10", "2026-11-20  10:00",
			"2026-11-20 10:00:00x", "2026-11",
		"1960-01-01", "2026-11-20 10:00:", " 2026-11-20", "2026-11-20 -1:00",
	};

	static const char *const large[] = { "99999999999", "99999999999999999999" };

	setenv("TZ", "UTC", 1);
	tzset();
	CHECK(parse_time, good, bad, "is not a time");
	CHECK_LARGE(parse_time, large);
}
