/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Numbers, times and widths as text. The first two functions run for every block of a dump of
 * millions, so they are fast.
 */

#include <inttypes.h>
#include <stdio.h>

#include "report/out.h"

size_t number_text_u64(char *text, uint64_t value)
{
	char digits[U64_DIGITS];
	size_t at = sizeof(digits), len;

	do {
		digits[--at] = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	len = sizeof(digits) - at;
	memcpy(text, digits + at, len);
	if (len < U64_DIGITS)
		text[len] = '\0';
	return len;
}

struct size_text number_text_size(const struct out *out, uint64_t bytes)
{
	static const char units[] = "KMGTPE";
	double value = (double)bytes / 1024;
	struct size_text text;
	unsigned unit = 0;

	if (!out->units || bytes < 1024) {
		number_text_u64(text.at, bytes);
		return text;
	}
	/* A value that would be rounded to 1024.0 is printed as 1.0 of the next unit. */
	for (; value >= 1023.95; value /= 1024)
		unit++;
	snprintf(text.at, sizeof(text.at), "%.1f%c", value, units[unit]);
	return text;
}

void number_text_hex16(char *text, uint64_t value)
{
	static const char digits[] = "0123456789abcdef";
	int i;

	for (i = 15; i >= 0; i--) {
		text[i] = digits[value & 15];
		value >>= 4;
	}
}

#define SECOND	1000000000ull

void number_text_duration(char *text, size_t room, uint64_t ns)
{
	uint64_t s = ns / SECOND;

	if (ns < SECOND)
		snprintf(text, room, "%.1f ms", (double)ns / 1e6);
	else if (s < 60)
		snprintf(text, room, "%.1f s", (double)ns / 1e9);
	else if (s < 3600)
		snprintf(text, room, "%" PRIu64 " m %" PRIu64 " s", s / 60,
			 s % 60);
	else if (s < 86400)
		snprintf(text, room, "%" PRIu64 " h %" PRIu64 " m", s / 3600,
			 s % 3600 / 60);
	else
		snprintf(text, room, "%" PRIu64 " d %" PRIu64 " h", s / 86400,
			 s % 86400 / 3600);
}

size_t number_text_width(const char *text)
{
	size_t width = 0;

	for (; *text; text++)
		width += ((unsigned char)*text & 0xc0) != 0x80;
	return width;
}
