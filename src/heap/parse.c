/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Numbers, sizes, durations and times as users write them. */

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "heap/filter.h"

#define NS	1000000000ull

/*
 * Decimal digits, then a fraction; both as a multiple of 1/NS. False: no digit, or too large for 64
 * bits of whole.
 */
static bool decimal(const char **text, uint64_t *whole, uint64_t *fraction)
{
	const char *at = *text;
	uint64_t unit = NS / 10;

	*whole = *fraction = 0;
	if (*at < '0' || *at > '9')
		return false;
	for (; *at >= '0' && *at <= '9'; at++)
		if (__builtin_mul_overflow(*whole, 10, whole) ||
		    __builtin_add_overflow(*whole, (uint64_t)(*at - '0'), whole))
			return false;
	if (*at == '.') {
		if (at[1] < '0' || at[1] > '9')
			return false;
		for (at++; *at >= '0' && *at <= '9'; at++, unit /= 10)
			*fraction += (uint64_t)(*at - '0') * unit;
	}
	*text = at;
	return true;
}

/* (whole + fraction / NS) * unit. */
static bool multiply(uint64_t whole, uint64_t fraction, uint64_t unit, uint64_t *ret)
{
	uint64_t product, rest = (uint64_t)((unsigned __int128)fraction * unit / NS);

	if (__builtin_mul_overflow(whole, unit, &product) ||
	    __builtin_add_overflow(product, rest, &product))
		return false;
	*ret = product;
	return true;
}

static bool hexadecimal(const char *text, uint64_t *ret)
{
	uint64_t value = 0;
	size_t len = strspn(text, "0123456789abcdefABCDEF");

	if (!len || len > 16 || text[len])
		return false;
	for (; *text; text++)
		value = value << 4 | (uint64_t)(*text <= '9' ? *text - '0'
						: (*text | 0x20) - 'a' + 10);
	*ret = value;
	return true;
}

struct err *parse_number(const char *text, uint64_t *ret)
{
	uint64_t whole, fraction;
	const char *at = text;

	if (!strncmp(text, "0x", 2) || !strncmp(text, "0X", 2)) {
		if (hexadecimal(text + 2, ret))
			return NULL;
	} else if (decimal(&at, &whole, &fraction) && !*at && !strchr(text, '.')) {
		*ret = whole;
		return NULL;
	}
	return err_create(ERR_USAGE, "`%s` is not a number (decimal, or hexadecimal with 0x)",
			  text);
}

struct err *parse_size(const char *text, uint64_t *ret)
{
	static const char units[] = "KMGT";
	uint64_t whole, fraction, unit = 1;
	const char *at = text, *found;

	if (!strncmp(text, "0x", 2) || !strncmp(text, "0X", 2)) {
		if (hexadecimal(text + 2, ret))
			return NULL;
	} else if (decimal(&at, &whole, &fraction)) {
		found = *at >= 'A' ? strchr(units, *at & ~0x20) : NULL;
		if (found) {
			unit <<= 10 * (found - units + 1);
			at++;
			at += *at == 'i';
			at += *at == 'B';
		}
		if (!*at && (found || !strchr(text, '.')) && multiply(whole, fraction, unit, ret))
			return NULL;
	}
	return err_create(ERR_USAGE, "`%s` is not a size (bytes, or with K, M, G, T)", text);
}

struct err *parse_duration(const char *text, uint64_t *ret)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {
		{ "", NS }, { "s", NS }, { "ms", NS / 1000 }, { "us", NS / 1000000 }, { "ns", 1 },
		{ "m", 60 * NS }, { "min", 60 * NS }, { "h", 3600 * NS }, { "d", 86400 * NS },
	};
	uint64_t whole, fraction;
	const char *at = text;

	if (decimal(&at, &whole, &fraction))
		for (size_t i = 0; i < ARRAY_SIZE(units); i++)
			if (!strcmp(at, units[i].name) &&
			    multiply(whole, fraction, units[i].ns, ret))
				return NULL;
	return err_create(ERR_USAGE, "`%s` is not a duration (90s, 5m, 2h, 1d, 250ms)", text);
}

/* YYYY-MM-DD, then hh:mm and :ss if they are there. */
static bool calendar(const char *text, struct tm *tm)
{
	int used = 0, fields;

	memset(tm, 0, sizeof(*tm));
	tm->tm_isdst = -1;
	fields = sscanf(text, "%4d-%2d-%2d%n", &tm->tm_year, &tm->tm_mon, &tm->tm_mday, &used);
	if (fields != 3)
		return false;
	tm->tm_year -= 1900;
	tm->tm_mon -= 1;
	text += used;
	if (*text) {
		if ((*text != ' ' && *text != 'T') || text[1] < '0' || text[1] > '9' ||
		    sscanf(text + 1, "%2d:%2d%n", &tm->tm_hour, &tm->tm_min, &used) != 2)
			return false;
		text += 1 + used;
	}
	if (*text) {
		if (*text != ':' || text[1] < '0' || text[1] > '9' ||
		    sscanf(text + 1, "%2d%n", &tm->tm_sec, &used) != 1)
			return false;
		text += 1 + used;
	}
	return !*text;
}

/* Is it a moment that there is: no 30th of February, no 25 o'clock? */
static bool moment(const struct tm *tm, uint64_t *ret)
{
	struct tm made = *tm;
	time_t seconds;

	if (tm->tm_hour > 23 || tm->tm_min > 59 || tm->tm_sec > 60)
		return false;
	seconds = mktime(&made);
	if (seconds < 0 || made.tm_year != tm->tm_year || made.tm_mon != tm->tm_mon ||
	    made.tm_mday != tm->tm_mday)
		return false;
	return multiply((uint64_t)seconds, 0, NS, ret);
}

struct err *parse_time(const char *text, uint64_t *ret)
{
	uint64_t whole, fraction;
	const char *at = text;
	struct tm tm;

	if (decimal(&at, &whole, &fraction) && !*at && multiply(whole, fraction, NS, ret))
		return NULL;
	if (*text >= '0' && *text <= '9' && calendar(text, &tm) && moment(&tm, ret))
		return NULL;
	return err_create(ERR_USAGE,
			  "`%s` is not a time (seconds since the epoch, or 'YYYY-MM-DD hh:mm:ss')",
				text);
}
