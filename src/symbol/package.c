/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads dpkg's lists: /var/lib/dpkg/info/PACKAGE.list, or PACKAGE:ARCHITECTURE.list, one path a
 * line.
 */

#include "symbol/package.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "os/far_file.h"
#include "os/file.h"

#define LISTS		"/var/lib/dpkg/info"
/* bytes of one list; the list of a kernel's headers has 2 MB */
#define LIST_MOST	(32ull << 20)
#define LISTS_MOST	200000u
#define ALL_MOST	(1ull << 30)	/* bytes of all lists */

/* Open the folder of the lists. Below the root of a container, no link leads out of it. */
static DIR *open_lists(int root_fd)
{
	int fd = file_open_below(root_fd < 0 ? AT_FDCWD : root_fd, LISTS, O_RDONLY | O_DIRECTORY);
	/* The folder is read as often as the kernel likes: not from somebody else. */
	DIR *dir = fd < 0 || far_file_is(fd) ? NULL : fdopendir(fd);

	if (!dir && fd >= 0)
		close(fd);
	return dir;
}

/* If /lib is a link to /usr/lib, dpkg has one name and the kernel the other. */
static const char *bare(const char *path)
{
	return strncmp(path, "/usr/", 5) ? path : path + 4;
}

static int by_path(const void *a, const void *b)
{
	const struct package_file *const *x = a, *const *y = b;

	return strcmp(bare((*x)->path), bare((*y)->path));
}

/*
 * Returns the length of the package's name, in the form of Debian's policy; 0: it is no package's
 * list.
 */
static size_t package_len(const char *name)
{
	size_t len = 0, all = strlen(name);

	if (all < 5 || strcmp(name + all - 5, ".list"))
		return 0;
	while (islower((unsigned char)name[len]) || isdigit((unsigned char)name[len]) ||
	       (name[len] && strchr("+-.", name[len])))
		len++;
	return name[len] == ':' ? len : len == all ? len - 5 : 0;
}

static struct err *add_debug_package(struct str *to, const char *name, size_t len)
{
	bool libc = len == 5 && !memcmp(name, "libc6", 5);

	return str_addf(to, "%.*s-%s", (int)len, name, libc ? "dbg" : "dbgsym");
}

/* Give the package to all files of this path: the paths of two may differ in /usr alone. */
static struct err *take_path(struct package_files *wanted, const char *path, const char *name,
			     size_t len)
{
	struct package_file *key = &(struct package_file){ .path = path }, **found;
	struct err *err = NULL;

	while (!err && wanted->vec.nr &&
	       (found = bsearch(&key, wanted->vec.at, wanted->vec.nr, sizeof(key), by_path))) {
		err = add_debug_package(&(*found)->package, name, len);
		vec_remove(&wanted->vec, (size_t)(found - wanted->vec.at));
	}
	return err;
}

/* The package is named by the first len bytes of name. */
static struct err *read_list(int dir_fd, const char *name, size_t len,
			     struct package_files *wanted, uint64_t *left)
{
	AUTO_CLOSE int fd = -1;
	AUTO_FREE char *text = NULL;
	struct err *err = NULL;
	struct stat st;
	char *end;

	/* A list that cannot be read is skipped. */
	err_ignore(file_open(dir_fd, name, true, LIST_MOST, &fd));
	if (fd < 0 || fstat(fd, &st) || (uint64_t)st.st_size > *left)
		return NULL;
	*left -= (uint64_t)st.st_size;
	text = malloc((size_t)st.st_size + 1);
	if (!text)
		return err_nomem;
	end = text + fd_read_at(fd, 0, text, (size_t)st.st_size);
	for (char *line = text, *next; line < end && !err; line = next + 1) {
		next = memchr(line, '\n', (size_t)(end - line));
		if (!next)
			next = end;
		*next = '\0';
		err = take_path(wanted, line, name, len);
	}
	return err;
}

struct err *packages_of_debug(int root_fd, struct package_files *wanted)
{
	DIR *dir = wanted->vec.nr ? open_lists(root_fd) : NULL;
	struct err *err = NULL;
	uint64_t left = ALL_MOST;
	struct dirent *entry;
	unsigned nr = 0;

	vec_sort(&wanted->vec, by_path);
	while (dir && !err && wanted->vec.nr && (entry = readdir(dir)) && nr++ < LISTS_MOST) {
		size_t len = package_len(entry->d_name);

		if (!len)
			continue;
		err = cancel_check();
		if (!err)
			err = read_list(dirfd(dir), entry->d_name, len, wanted, &left);
	}
	if (dir)
		closedir(dir);
	return err;
}
