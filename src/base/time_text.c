/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Times as users read and write them. */

#include "base/time_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#define SECOND	1000000000ull

void time_text(char *text, size_t room, uint64_t ns)
{
	time_t seconds = (time_t)(ns / SECOND);
	struct tm tm;

	if (!localtime_r(&seconds, &tm) || !strftime(text, room, "%Y-%m-%d %H:%M:%S", &tm))
		snprintf(text, room, "%" PRIu64, seconds);
}
