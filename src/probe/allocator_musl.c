/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The allocator of musl: all its functions are those of ISO C and POSIX. */

#include "probe/allocators.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "heap/heap_walk.h"

/* The length of a version, with a zero byte at both ends, at `at`; 0: there is none. */
static size_t version_at(const char *at, size_t len)
{
	size_t nr = 1, points = 0;

	while (nr < len && (isdigit((unsigned char)at[nr]) || (at[nr] == '.' && nr > 1))) {
		points += at[nr] == '.';
		nr++;
	}
	return !at[0] && nr < len && !at[nr] && points == 2 ? nr - 1 : 0;
}

/*
 * "1.2.3" from libc's constants, which has its usage text as a program ("musl libc
 * (x86_64)\nVersion %s\n"), or "".
 */
static void find_version(const struct module *module, char *ret, size_t room)
{
	static const char banner[] = "musl libc (";
	size_t len;

	*ret = '\0';
	for (size_t i = 0; i < ALLOCATOR_CONSTANTS; i++) {
		AUTO_FREE char *bytes = allocator_constants(module, i, &len);

		if (!bytes || !memmem(bytes, len, banner, sizeof(banner) - 1))
			continue;
		for (size_t at = 0; at < len && !*ret; at++) {
			size_t nr = version_at(bytes + at, len - at);

			if (nr)
				snprintf(ret, room, "%.*s", (int)nr, bytes + at + 1);
		}
		return;
	}
}

const struct allocator allocator_musl = {
	.name		= "musl",		/* mallocng, or what was there before 1.2.1: both can be built */
	/* Debian's is libc.so, of which only the version tells whose it is */
	.files		= { "libc.musl", "ld-musl" },
	.version	= find_version,
	.walk		= musl_walk,
	.arena		= "__malloc_context",
};
