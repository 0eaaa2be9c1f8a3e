/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Paths as text. */

#include "base/path.h"

#include <stddef.h>
#include <string.h>

#include "base/compiler.h"

const char *path_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Returns the start of the part before the one at `part`; part itself, if there is none. */
static const char *part_before(const char *path, const char *part)
{
	if (part - path < 2)
		return part;
	for (part--; part > path && part[-1] != '/'; part--)
		;
	return part;
}

const char *path_source(const char *path)
{
	static const char *const alike[] = { "mod.rs", "lib.rs", "main.rs" };
	const char *base = path_base(path), *before;

	for (size_t i = 0; i < ARRAY_SIZE(alike); i++) {
		if (strcmp(base, alike[i]))
			continue;
		before = part_before(path, base);
		return strncmp(before, "src/", 4) ? before : part_before(path, before);
	}
	return base;
}

bool path_cut_deleted(char *path)
{
	static const char word[] = " (deleted)";
	size_t len = strlen(path), by = sizeof(word) - 1;

	if (len <= by || strcmp(path + len - by, word))
		return false;
	path[len - by] = '\0';
	return true;
}
