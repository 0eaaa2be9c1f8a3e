/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Paths as text. */

#include "base/path.h"

#include <string.h>

const char *path_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
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
