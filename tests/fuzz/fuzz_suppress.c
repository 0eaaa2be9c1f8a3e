/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Any bytes as a file of suppressions, and a name that its patterns are compared with: up to the
 * first NUL. The matching is compared with a plain one. The file is made in the current folder.
 */

#include "heap/suppression.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

/* The plain one takes as long as stars to the power of the name's length. */
#define STARS_MAX	3
#define NAME_LEN	64

static bool matches_here(const char *pattern, const char *name)
{
	if (!*pattern)
		return true;
	if (*pattern == '$')
		return !*name;
	if (*pattern != '*')
		return *pattern == *name && matches_here(pattern + 1, name + 1);
	do {
		if (matches_here(pattern + 1, name))
			return true;
	} while (*name++);
	return false;
}

static bool matches(const char *pattern, const char *name)
{
	if (!*name)
		return false;
	if (*pattern == '^')
		return matches_here(pattern + 1, name);
	do {
		if (matches_here(pattern, name))
			return true;
	} while (*name++);
	return false;
}

static void check(const char *pattern, const char *name)
{
	bool found = suppression_matches(pattern, name);
	unsigned stars = 0;

	for (const char *at = pattern; *at; at++)
		stars += *at == '*';
	if (stars <= STARS_MAX && strlen(name) <= NAME_LEN && found != matches(pattern, name))
		abort();
}

static void make_file(const uint8_t *bytes, size_t len)
{
	int fd = open("suppressions", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || write(fd, bytes, len) != (ssize_t)len)
		abort();
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	size_t name_len = strnlen((const char *)bytes, len), built_in;
	struct suppressions suppressions;
	char *name;

	if (name_len == len)
		return 0;
	name = strdup((const char *)bytes);
	if (!name || suppressions_init(&suppressions))
		abort();
	built_in = suppressions.vec.nr;
	make_file(bytes + name_len + 1, len - name_len - 1);
	if (suppressions_read(&suppressions, "suppressions") && suppressions.vec.nr != built_in)
		abort();
	for (size_t i = 0; i < suppressions.vec.nr; i++)
		check(suppressions.vec.at[i].pattern, name);
	suppressions_free(&suppressions);
	free(name);
	return 0;
}
