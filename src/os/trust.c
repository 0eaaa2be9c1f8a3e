/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whose files mdbg trusts (theory in trust.h). */

#include "os/trust.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"

static bool is_ours(const struct stat *st)
{
	return !st->st_uid || st->st_uid == geteuid();
}

/* May others than its owner write to it? */
static bool is_open(const struct stat *st)
{
	return st->st_mode & (S_IWGRP | S_IWOTH);
}

bool trust_stat(const struct stat *st)
{
	return is_ours(st) && !is_open(st);
}

static struct err *others_may(const char *path, const struct stat *st, bool ours)
{
	struct err *err;

	if (!ours)
		err = err_create(ERR_PERM, "%s: it belongs to user %u", path, (unsigned)st->st_uid);
	else
		err = err_create(ERR_PERM, "%s: %s may write to it", path,
				 st->st_mode & S_IWOTH ? "others" : "its group");
	return err_hint(err, "make it your own, and run `chmod go-w %s`", path);
}

/* The folder must be trusted before what it says of a name is. */
static struct err *check_folder(const struct path_step *step, bool ours)
{
	const struct stat *dir = step->dir;

	if (ours && (!is_open(dir) || (dir->st_mode & S_ISVTX && !step->missing)))
		return NULL;
	return err_wrap(others_may("its folder", dir, ours), "%s", step->path);
}

static struct err *trusted(const struct path_step *step)
{
	const uid_t *also = step->ctx;
	bool folder_ours = is_ours(step->dir) || (also && step->dir->st_uid == *also);
	struct err *err = check_folder(step, folder_ours);

	/*
	 * Of a name that was found only a link is checked here: a folder is checked when its first
	 * name is looked up.
	 */
	if (err || !step->entry || is_ours(step->entry) || (also && step->entry->st_uid == *also))
		return err;
	return others_may(step->path, step->entry, false);
}

static struct err *check_end(const struct path_end *end, const char *path, const uid_t *also)
{
	bool ours = is_ours(&end->st) || (also && end->st.st_uid == *also);

	return ours && !is_open(&end->st) ? NULL : others_may(path, &end->st, ours);
}

/* What another path means depends on the current folder. */
static struct err *needs_root(const char *path)
{
	return *path == '/' ? NULL : err_create(ERR_PERM, "%s: it does not begin with /", path);
}

static struct err *find(const char *path, const uid_t *also, int type, bool make, int *fd_ret)
{
	CLEANUP(path_walk_end_free) struct path_end end = PATH_END_INIT;
	struct err *err = path_walk(path, trusted, also, make, &end);

	if (err)
		return err;
	if (end.fd < 0) {
		errno = ENOENT;
		return err_sys("%s", end.name);
	}
	if ((end.st.st_mode & S_IFMT) != (mode_t)type)
		return err_create(ERR_FORMAT, "%s: not a %s", path,
				  type == S_IFDIR ? "folder" : "regular file");
	err = check_end(&end, path, also);
	if (!err && fd_ret)
		*fd_ret = take_fd(end.fd);
	return err;
}

struct err *trust_file(const char *path, int *fd_ret)
{
	return find(path, NULL, S_IFREG, false, fd_ret);
}

struct err *trust_file_of(const char *path, uid_t owner, int *fd_ret)
{
	return find(path, &owner, S_IFREG, false, fd_ret);
}

struct err *trust_folder(const char *path, bool make, int *fd_ret)
{
	return find(path, NULL, S_IFDIR, make, fd_ret);
}

struct err *trust_path(const char *path)
{
	CLEANUP(path_walk_end_free) struct path_end end = PATH_END_INIT;
	struct err *err = needs_root(path);

	if (!err)
		err = path_walk(path, trusted, NULL, false, &end);
	/* Nobody else can make the folder that is missing. */
	if (err && err->errnum == ENOENT)
		return NULL;
	return err || end.fd < 0 ? err : check_end(&end, path, NULL);
}

struct err *trust_shared_folder(const char *path)
{
	CLEANUP(path_walk_end_free) struct path_end end = PATH_END_INIT;
	struct err *err = needs_root(path);

	if (!err)
		err = path_walk(path, trusted, NULL, false, &end);
	if (err || end.fd < 0)
		return err;
	return is_ours(&end.st) && end.st.st_mode & S_ISVTX ? NULL : check_end(&end, path, NULL);
}

struct err *trust_home(const char **ret)
{
	const char *home = getenv("HOME");
	struct err *err;

	if (!home || *home != '/')
		return err_create(ERR_NOTFOUND, "HOME names no folder");
	err = trust_folder(home, false, NULL);
	if (!err)
		*ret = home;
	return err ? err_wrap(err, "HOME") : NULL;
}

bool trust_below_home(const char *home, const char *name)
{
	AUTO_STR struct str path = STR_INIT;

	return !str_addf(&path, "%s/%s", home, name) && !trust_path(path.at);
}

char *trust_user_folder(const char *variable, const char *below_home)
{
	const char *base = getenv(variable), *home = getenv("HOME");
	char *dir;

	if (base && *base == '/')
		return asprintf(&dir, "%s/mdbg", base) < 0 ? NULL : dir;
	if (home && *home == '/')
		return asprintf(&dir, "%s/%s/mdbg", home, below_home) < 0 ? NULL : dir;
	return NULL;
}

bool trust_is_planted(const struct stat *dir, const struct stat *entry)
{
	if (!is_open(dir))
		return false;
	if (S_ISREG(entry->st_mode) && entry->st_nlink > 1)
		return true;
	return !is_ours(entry) && entry->st_uid != dir->st_uid;
}

struct err *trust_named(const struct path_step *step)
{
	if (!step->entry || !trust_is_planted(step->dir, step->entry))
		return NULL;
	return err_hint(err_create(ERR_PERM, "a link on the way belongs to user %u, in a folder "
				   "that others may write to", (unsigned)step->entry->st_uid),
			"name the file itself, or one in a folder of your own");
}
