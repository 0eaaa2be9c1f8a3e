/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Makes trees of files. */

#include "tree.h"

#include <sys/stat.h>

#include "unit.h"

void tree_make(struct tree *tree)
{
	snprintf(tree->at, sizeof(tree->at), "/tmp/mdbg-tree-XXXXXX");
	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(tree->at));
}

void tree_folder(const struct tree *tree, const char *name)
{
	char path[2 * TREE_PATH];
	size_t root = strlen(tree->at);

	snprintf(path, sizeof(path), "%s/%s", tree->at, name);
	for (char *at = path + root + 1; *at; at++) {
		if (*at != '/')
			continue;
		*at = '\0';
		mkdir(path, 0700);
		*at = '/';
	}
	mkdir(path, 0700);
	CU_ASSERT_EQUAL_FATAL(access(path, X_OK), 0);
}

void tree_put(const struct tree *tree, const char *name, const char *text)
{
	char path[2 * TREE_PATH], folder[TREE_PATH];
	const char *last = strrchr(name, '/');
	FILE *file;

	if (last) {
		snprintf(folder, sizeof(folder), "%.*s", (int)(last - name), name);
		tree_folder(tree, folder);
	}
	snprintf(path, sizeof(path), "%s/%s", tree->at, name);
	file = fopen(path, "w");
	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	fputs(text, file);
	CU_ASSERT_EQUAL_FATAL(fclose(file), 0);
}

void tree_drop(const struct tree *tree, const char *name)
{
	char path[2 * TREE_PATH];

	snprintf(path, sizeof(path), "%s/%s", tree->at, name);
	CU_ASSERT_EQUAL_FATAL(unlink(path), 0);
}

void tree_remove(const struct tree *tree)
{
	char command[2 * TREE_PATH];

	snprintf(command, sizeof(command), "rm -r '%s'", tree->at);
	CU_ASSERT_EQUAL(system(command), 0);
}
