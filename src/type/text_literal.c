/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Characters, strings and numbers as text (text_literal.h). */

#include "type/text_literal.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "base/outside.h"

static struct err *add_escaped(uint32_t c, char quote, struct str *to)
{
	static const char from[] = "\a\b\f\n\r\t\v\033", letters[] = "abfnrtv";
	const char *at = c && c < 128 ? strchr(from, (int)c) : NULL;

	if (c == (uint32_t)quote || c == '\\')
		return str_addf(to, "\\%c", (int)c);
	if (at && at - from < 7)
		return str_addf(to, "\\%c", letters[at - from]);
	if (c >= ' ' && c < 127)
		return str_addf(to, "%c", (int)c);
	return str_addf(to, "\\%03o", c & 0xff);
}

struct err *text_literal_char(uint32_t c, struct str *to)
{
	struct err *err = str_add(to, "'");

	if (!err)
		err = add_escaped(c, '\'', to);
	return err ? err : str_add(to, "'");
}

/* How many bytes at the start are a character of text that is not ASCII; 0: they are none. */
static size_t wide_char(const uint8_t *bytes, size_t len)
{
	size_t size = bytes[0] >= 0xf0 ? 4 : bytes[0] >= 0xe0 ? 3 : 2;

	if (bytes[0] < 0xc0 || size > len ||
	    outside_plain((const char *)bytes, size, OUTSIDE_ONE_LINE) != size)
		return 0;
	return size;
}

static struct err *add_text(const uint8_t *bytes, size_t len, struct str *to)
{
	struct err *err = NULL;

	for (size_t i = 0; i < len && !err;) {
		size_t wide = wide_char(bytes + i, len - i);

		err = wide ? str_add_bytes(to, bytes + i, wide) : add_escaped(bytes[i], '"', to);
		i += wide ? wide : 1;
	}
	return err;
}

static size_t run_of(const uint8_t *bytes, size_t len)
{
	size_t run = 1;

	while (run < len && bytes[run] == bytes[0])
		run++;
	return run;
}

size_t text_literal_len(const uint8_t *bytes, size_t len)
{
	size_t shown = 0;

	while (shown < len && shown < LITERAL_MOST)
		shown += run_of(bytes + shown, len - shown);
	return shown;
}

struct err *text_literal_string(const uint8_t *bytes, size_t len, bool more, struct str *to)
{
	struct err *err = NULL;
	const char *comma = "";

	if (!len)
		err = str_add(to, "\"\"");
	for (size_t i = 0; i < len && !err; comma = ", ") {
		size_t end = i, run = 0;

		/* Up to the next long run. */
		while (end < len && (run = run_of(bytes + end, len - end)) <= LITERAL_REPEATS)
			end += run;
		if (end > i) {
			err = str_addf(to, "%s\"", comma);
			if (!err)
				err = add_text(bytes + i, end - i, to);
			if (!err)
				err = str_add(to, "\"");
			i = end;
			continue;
		}
		err = str_add(to, comma);
		if (!err)
			err = text_literal_char(bytes[i], to);
		if (!err)
			err = str_addf(to, " <repeats %zu times>", run);
		i += run;
	}
	return err || !more ? err : str_add(to, "...");
}

struct err *text_literal_float(long double real, uint32_t size, const uint8_t bytes[16],
			       struct str *to)
{
	uint64_t mantissa = 0;

	memcpy(&mantissa, bytes, size == 4 ? 4 : 8);
	if (size == 4)
		mantissa &= 0x7fffff;
	else if (size == 8)
		mantissa &= 0xfffffffffffff;
	if (isnan(real))
		return str_addf(to, "%snan(0x%" PRIx64 ")", signbit(real) ? "-" : "", mantissa);
	if (isinf(real))
		return str_add(to, signbit(real) ? "-inf" : "inf");
	return str_addf(to, "%.*Lg", size == 4 ? 9 : size == 8 ? 17 : 18, real);
}
