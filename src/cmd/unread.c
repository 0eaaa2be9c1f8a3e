/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Why a file cannot be read. */

#include "cmd/unread.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/str.h"
#include "cmd/near.h"

#define NEAR_MAX	8u	/* names that are told */

/* How much of path, component by component, leads to the first that cannot be had; 0: all can. */
static size_t first_bad(const char *path)
{
	size_t len = strspn(path, "/");

	while (path[len]) {
		char start[PATH_MAX];
		struct stat st;

		len += strcspn(path + len, "/");
		if (len >= sizeof(start))
			return 0;
		memcpy(start, path, len);
		start[len] = '\0';
		if (stat(start, &st))
			return len;
		len += strspn(path + len, "/");
	}
	return 0;
}

/* The folder that a path is in, as a path of its own. */
static void folder_of(const char *path, char ret[PATH_MAX])
{
	size_t len = (size_t)(path_base(path) - path);

	while (len > 1 && path[len - 1] == '/')
		len--;
	if (len) {
		memcpy(ret, path, len);
		ret[len] = '\0';
	} else if (!getcwd(ret, PATH_MAX)) {
		strcpy(ret, ".");
	}
}

static struct err *missing(const char *path, struct str *ret)
{
	const char *name = path_base(path);
	char folder[PATH_MAX];
	struct err *err = NULL;
	const struct dirent *entry;
	unsigned nr = 0;
	DIR *dir;

	folder_of(path, folder);
	dir = opendir(folder);
	while (dir && !err && nr < NEAR_MAX && (entry = readdir(dir)))
		if ((*entry->d_name != '.' || *name == '.') && near_word(name, entry->d_name))
			err = str_addf(ret, "%s%s", nr++ ? ", " : "near it: ", entry->d_name);
	if (dir)
		closedir(dir);
	return err || nr ? err : str_addf(ret, "%s has no file of that name", folder);
}

/* path ends with the component that cannot be had. */
static struct err *bad(const char *path, bool is_last, struct str *ret)
{
	char folder[PATH_MAX], link[PATH_MAX];
	struct stat st;
	ssize_t len;
	int why = stat(path, &st) ? errno : 0;

	folder_of(path, folder);
	if (why == EACCES)
		return str_addf(ret, "user %u may not look into %s", geteuid(), folder);
	if (why == ENOTDIR)
		return str_addf(ret, "%s is no folder", folder);
	if (why != ENOENT)
		return NULL;
	len = readlink(path, link, sizeof(link));
	if (len > 0)
		return str_addf(ret, "%s is a link to %.*s, which is not there", path, (int)len, link);
	return is_last ? missing(path, ret) : str_addf(ret, "there is no folder %s", path);
}

struct err *unread_why(const char *path, struct str *ret)
{
	size_t len = strlen(path), bad_len;
	char start[PATH_MAX];
	struct stat st;

	if (!len)
		return str_add(ret, "the name is empty");
	if (len >= sizeof(start))
		return NULL;
	bad_len = first_bad(path);
	if (bad_len) {
		memcpy(start, path, bad_len);
		start[bad_len] = '\0';
		return bad(start, !path[bad_len + strspn(path + bad_len, "/")], ret);
	}
	if (stat(path, &st))
		return NULL;
	if (S_ISDIR(st.st_mode))
		return str_add(ret, "it is a folder: name a file in it");
	if (access(path, R_OK))
		return str_addf(ret, "it is user %u's, and user %u may not read it", st.st_uid,
				geteuid());
	return NULL;
}

struct err *unread_hint(struct err *err, const char *path)
{
	AUTO_STR struct str why = STR_INIT;

	if (*err->hint || unread_why(path, &why))
		return err;
	return why.len ? err_hint(err, "%s", str_text(&why)) : err;
}
