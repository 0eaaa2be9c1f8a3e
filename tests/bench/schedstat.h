/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a bench's thread must not take for a pause: that others had the processor. */
#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ns that a thread has waited for a processor, by its /proc/.../schedstat, open for reading. */
static inline uint64_t waited(int schedstat)
{
	char text[128];
	ssize_t n = pread(schedstat, text, sizeof(text) - 1, 0);
	char *second;

	text[n > 0 ? n : 0] = '\0';
	second = strchr(text, ' ');
	return second ? strtoull(second, NULL, 10) : 0;
}
