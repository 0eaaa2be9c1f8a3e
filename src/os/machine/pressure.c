/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parses the kernel's figures of pressure. */

#include "os/machine/pressure.h"

#include <string.h>

#include "os/kernel_text.h"

/* "12.34" in hundredths, at the start of text. */
static uint64_t hundredths(const char *text)
{
	size_t whole = strspn(text, "0123456789");
	unsigned long value = 0;

	if (!whole || whole > 3 || text[whole] != '.' ||
	    strspn(text + whole + 1, "0123456789") != 2)
		return KERNEL_UNKNOWN;
	for (size_t i = 0; i < whole + 3; i++)
		if (i != whole)
			value = value * 10 + (unsigned long)(text[i] - '0');
	return value;
}

static uint64_t average(const char *line, size_t len, const char *word)
{
	const char *at = memmem(line, len, word, strlen(word));

	return at ? hundredths(at + strlen(word)) : KERNEL_UNKNOWN;
}

/* "some avg10=0.00 avg60=0.12 avg300=0.05 total=1234" */
void pressure_parse(const char *text, struct pressure *pressure)
{
	while (*text) {
		size_t len = strcspn(text, "\n");

		if (!strncmp(text, "some ", 5)) {
			pressure->some_10 = average(text, len, " avg10=");
			pressure->some_60 = average(text, len, " avg60=");
		} else if (!strncmp(text, "full ", 5)) {
			pressure->full_10 = average(text, len, " avg10=");
			pressure->full_60 = average(text, len, " avg60=");
		}
		text += len + (text[len] == '\n');
	}
}
