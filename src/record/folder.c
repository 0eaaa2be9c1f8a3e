/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The files of a recording. */

#include "record/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "os/file.h"

struct record_file_name record_folder_name(uint64_t number)
{
	struct record_file_name name;

	snprintf(name.text, sizeof(name.text), "%08" PRIu64 ".mrec", number);
	return name;
}

/* Is this the name of a segment, as it is written? */
static bool parse_name(const char *name, uint64_t *ret)
{
	char *end;

	if (*name < '0' || *name > '9')
		return false;
	errno = 0;
	*ret = strtoull(name, &end, 10);
	return !errno && *ret && !strcmp(record_folder_name(*ret).text, name);
}

COMPARE_BY(by_number, struct record_file, file, file->number)

static struct err *add_file(int dir_fd, const char *name, struct record_files *ret)
{
	struct record_file file;

	if (!parse_name(name, &file.number) ||
	    fstatat(dir_fd, name, &file.st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(file.st.st_mode))
		return NULL;
	if (ret->vec.nr >= RECORD_FOLDER_FILES)
		return err_create(ERR_RANGE, "the recording has more than %u files",
				  RECORD_FOLDER_FILES);
	return vec_push(&ret->vec, file);
}

struct err *record_folder_list(int dir_fd, struct record_files *ret)
{
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	struct err *err = NULL;

	vec_clear(&ret->vec);
	if (!dir) {
		err = err_sys("list the folder");
		if (fd >= 0)
			close(fd);
		return err;
	}
	while (!err && (entry = readdir(dir)))
		err = add_file(dir_fd, entry->d_name, ret);
	closedir(dir);
	vec_sort(&ret->vec, by_number);
	return err;
}

struct err *record_folder_open(int dir_fd, uint64_t number, struct stat *st_ret, int *fd_ret)
{
	const struct record_file_name name = record_folder_name(number);
	AUTO_CLOSE int path_fd = openat(dir_fd, name.text, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	if (path_fd < 0 && errno == ENOENT)
		return err_create(ERR_NOTFOUND, "%s is not there", name.text);
	if (path_fd < 0)
		return err_sys("%s", name.text);
	return file_reopen_named(path_fd, LIMIT_FILE, st_ret, fd_ret);
}

bool record_folder_is_locked(int dir_fd)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	AUTO_CLOSE int path_fd = openat(dir_fd, RECORD_FOLDER_LOCK, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	AUTO_CLOSE int fd = -1;
	struct stat st;

	if (path_fd < 0)
		return false;
	if (file_reopen_named(path_fd, LIMIT_FILE, &st, &fd))
		return false;
	return !fcntl(fd, F_OFD_GETLK, &lock) && lock.l_type != F_UNLCK;
}
