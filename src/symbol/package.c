/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads dpkg's lists: /var/lib/dpkg/info/PACKAGE.list, or PACKAGE:ARCHITECTURE.list, one path a
 * line.
 */

#include "symbol/package.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/cleanup.h"
#include "base/compiler.h"
#include "base/fd.h"
#include "os/file.h"

#define LISTS		"/var/lib/dpkg/info"
/* bytes of one list; the list of a kernel's headers has 2 MB */
#define LIST_MOST	(32ull << 20)
#define LISTS_MOST	200000u
#define ALL_MOST	(1ull << 30)	/* bytes of all lists */

/* Open the folder of the lists. Below the root of a container, no link leads out of it. */
static DIR *open_lists(int root_fd)
{
	struct open_how how = {
		.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	int fd = root_fd < 0 ? open(LISTS, O_RDONLY | O_DIRECTORY | O_CLOEXEC) :
			       (int)syscall(SYS_openat2, root_fd, LISTS, &how, sizeof(how));
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir && fd >= 0)
		close(fd);
	return dir;
}

/*
 * Is path one of the lines? path begins without /usr: if /lib is a link to /usr/lib, dpkg has one
 * name and the kernel the other.
 */
static bool has_line(const char *text, size_t len, const char *path)
{
	static const char usr[] = "/usr";
	size_t path_len = strlen(path), usr_len = sizeof(usr) - 1;
	const char *at = text, *end = text + len;

	while ((at = memmem(at, (size_t)(end - at), path, path_len))) {
		const char *begin = at, *behind = at + path_len;

		if ((size_t)(at - text) >= usr_len && !memcmp(at - usr_len, usr, usr_len))
			begin = at - usr_len;
		if ((begin == text || begin[-1] == '\n') && (behind == end || *behind == '\n'))
			return true;
		at = behind;
	}
	return false;
}

static bool list_has(int dir_fd, const char *name, const char *path, uint64_t *left)
{
	AUTO_CLOSE int fd = -1;
	AUTO_FREE char *text = NULL;
	struct stat st;
	size_t len;

	/* A list that cannot be read is skipped. */
	err_ignore(file_open(dir_fd, name, true, LIST_MOST, &fd));
	if (fd < 0 || fstat(fd, &st) || !st.st_size || (uint64_t)st.st_size > *left)
		return false;
	*left -= (uint64_t)st.st_size;
	text = malloc((size_t)st.st_size);
	len = text ? fd_read_at(fd, 0, text, (size_t)st.st_size) : 0;
	return len && has_line(text, len, path);
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

struct err *package_of_debug(int root_fd, const char *path, struct str *ret)
{
	const char *bare = strncmp(path, "/usr/", 5) ? path : path + 4;
	struct err *err = NULL;
	uint64_t left = ALL_MOST;
	struct dirent *entry;
	unsigned nr = 0;
	DIR *dir;

	if (path[0] != '/' || strchr(path, '\n'))
		return NULL;
	dir = open_lists(root_fd);
	while (dir && !err && (entry = readdir(dir)) && nr++ < LISTS_MOST) {
		size_t len = package_len(entry->d_name);

		if (!len)
			continue;
		err = cancel_check();
		if (!err && list_has(dirfd(dir), entry->d_name, bare, &left)) {
			err = add_debug_package(ret, entry->d_name, len);
			break;
		}
	}
	if (dir)
		closedir(dir);
	return err;
}
