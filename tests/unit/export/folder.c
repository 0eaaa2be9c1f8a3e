/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A folder of a test's own. */

#include "folder.h"

#include <dirent.h>
#include <fcntl.h>

#include "base/cleanup.h"
#include "unit.h"

static char path[64];
static int before = -1;

int folder_enter(void)
{
	snprintf(path, sizeof(path), "/tmp/mdbg-export-XXXXXX");
	before = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return before < 0 || !mkdtemp(path) || chdir(path);
}

int folder_leave(void)
{
	folder_clear();
	return fchdir(before) || close(take_fd(before)) || rmdir(path);
}

void folder_put(const char *name, const char *text)
{
	AUTO_FCLOSE FILE *file = fopen(name, "we");

	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	CU_ASSERT(fputs(text, file) >= 0);
}

void folder_get(const char *name, struct str *text)
{
	AUTO_FCLOSE FILE *file = fopen(name, "re");
	char buf[4096];
	size_t len;

	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	while ((len = fread(buf, 1, sizeof(buf), file)))
		CU_ASSERT_PTR_NULL_FATAL(str_add_bytes(text, buf, len));
}

bool folder_has(const char *name, const char *text)
{
	AUTO_STR struct str found = STR_INIT;

	folder_get(name, &found);
	if (!strcmp(str_text(&found), text))
		return true;
	fprintf(stderr, "%s has:\n%s\nand not:\n%s\n", name, str_text(&found), text);
	return false;
}

static unsigned each_file(bool away)
{
	DIR *dir = opendir(".");
	const struct dirent *entry;
	unsigned nr = 0;

	while (dir && (entry = readdir(dir))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		nr++;
		if (away && unlink(entry->d_name))
			rmdir(entry->d_name);
	}
	if (dir)
		closedir(dir);
	return nr;
}

unsigned folder_files(void)
{
	return each_file(false);
}

void folder_clear(void)
{
	each_file(true);
}
