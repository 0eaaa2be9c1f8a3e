/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Numbers, sizes, durations and times as users write them. */

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "heap/filter.h"

#define NS	1000000000ull

/* A number as it is written: whole and a multiple of 1/NS. */
struct written {
	uint64_t whole, fraction;
	bool large;			/* whole does not fit */
};

/* Decimal digits, then a fraction. False: there is none. */
static bool decimal(const char **text, struct written *ret)
{
	const char *at = *text;
	uint64_t unit = NS / 10;

	*ret = (struct written){ .large = false };
	if (*at < '0' || *at > '9')
		return false;
	for (; *at >= '0' && *at <= '9'; at++)
		if (__builtin_mul_overflow(ret->whole, 10, &ret->whole) ||
		    __builtin_add_overflow(ret->whole, (uint64_t)(*at - '0'), &ret->whole))
			ret->large = true;
	if (*at == '.') {
		if (at[1] < '0' || at[1] > '9')
			return false;
		for (at++; *at >= '0' && *at <= '9'; at++, unit /= 10)
			ret->fraction += (uint64_t)(*at - '0') * unit;
	}
	*text = at;
	return true;
}

/* (whole + fraction / NS) * unit; false: it is too large. */
static bool multiply(const struct written *number, uint64_t unit, uint64_t *ret)
{
	uint64_t product, rest = (uint64_t)((unsigned __int128)number->fraction * unit / NS);

	if (number->large || __builtin_mul_overflow(number->whole, unit, &product) ||
	    __builtin_add_overflow(product, rest, &product))
		return false;
	*ret = product;
	return true;
}

/* Hexadecimal digits to the end, at least one. */
static bool hexadecimal(const char *text, struct written *ret)
{
	size_t len = strspn(text, "0123456789abcdefABCDEF");

	*ret = (struct written){ .large = false };
	if (!len || text[len])
		return false;
	for (; *text; text++) {
		ret->large |= ret->whole >> 60;
		ret->whole = ret->whole << 4 | (uint64_t)(*text <= '9' ? *text - '0'
							  : (*text | 0x20) - 'a' + 10);
	}
	return true;
}

static bool is_hexadecimal(const char *text)
{
	return !strncmp(text, "0x", 2) || !strncmp(text, "0X", 2);
}

static struct err *too_large(const char *text, const char *most)
{
	return err_create(ERR_USAGE, "'%s' is too large: at most %s", text, most);
}

struct err *parse_number(const char *text, uint64_t *ret)
{
	struct written number;
	const char *at = text;

	if (is_hexadecimal(text) ? !hexadecimal(text + 2, &number) :
				   !decimal(&at, &number) || *at || strchr(text, '.'))
		return err_create(ERR_USAGE,
				  "'%s' is not a number (decimal, or hexadecimal with 0x)", text);
	return multiply(&number, 1, ret) ? NULL :
		too_large(text, "18446744073709551615 (0xffffffffffffffff)");
}

/* A unit and what may follow it, to the end. */
static bool size_unit(const char *text, uint64_t *ret)
{
	static const char units[] = "KMGT";
	const char *found = *text >= 'A' ? strchr(units, *text & ~0x20) : NULL;

	if (!found)
		return false;
	text++;
	text += *text == 'i';
	text += *text == 'B';
	*ret = 1ull << 10 * (found - units + 1);
	return !*text;
}

struct err *parse_size(const char *text, uint64_t *ret)
{
	struct written number;
	uint64_t unit = 1;
	const char *at = text;

	if (is_hexadecimal(text) ? !hexadecimal(text + 2, &number) :
				   !decimal(&at, &number) ||
				   (*at ? !size_unit(at, &unit) : strchr(text, '.') != NULL))
		return err_create(ERR_USAGE, "'%s' is not a size (bytes, or with K, M, G, T)",
				  text);
	return multiply(&number, unit, ret) ? NULL : too_large(text, "18446744073709551615");
}

static bool time_unit(const char *text, uint64_t *ret)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {
		{ "", NS }, { "s", NS }, { "ms", NS / 1000 }, { "us", NS / 1000000 }, { "ns", 1 },
		{ "m", 60 * NS }, { "min", 60 * NS }, { "h", 3600 * NS }, { "d", 86400 * NS },
	};

	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		if (!strcmp(text, units[i].name)) {
			*ret = units[i].ns;
			return true;
		}
	}
	return false;
}

struct err *parse_duration(const char *text, uint64_t *ret)
{
	struct written number;
	uint64_t unit;
	const char *at = text;

	if (!decimal(&at, &number) || !time_unit(at, &unit))
		return err_create(ERR_USAGE, "'%s' is not a duration (90s, 5m, 2h, 1d, 250ms)",
				  text);
	return multiply(&number, unit, ret) ? NULL : too_large(text, "213503d");
}

/* YYYY-MM-DD, then hh:mm and :ss if they are there. */
static bool calendar(const char *text, struct tm *tm)
{
	static const char *const clocks[] = { "%H:%M", "%H:%M:%S" };

	*tm = (struct tm){ .tm_isdst = -1 };
	text = strptime(text, "%Y-%m-%d", tm);
	if (!text || !*text)
		return text;
	if ((*text != ' ' && *text != 'T') || text[1] < '0' || text[1] > '9')
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(clocks); i++) {
		const char *end = strptime(text + 1, clocks[i], tm);

		if (end && !*end)
			return true;
	}
	return false;
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
	return multiply(&(struct written){ .whole = (uint64_t)seconds }, NS, ret);
}

struct err *parse_time(const char *text, uint64_t *ret)
{
	struct written number;
	const char *at = text;
	struct tm tm;

	if (decimal(&at, &number) && !*at)
		return multiply(&number, NS, ret) ? NULL :
			too_large(text, "18446744073 (seconds; in the year 2554)");
	if (*text >= '0' && *text <= '9' && calendar(text, &tm) && moment(&tm, ret))
		return NULL;
	return err_create(ERR_USAGE,
			  "'%s' is not a time (seconds since the epoch, or 'YYYY-MM-DD hh:mm:ss')",
				text);
}
