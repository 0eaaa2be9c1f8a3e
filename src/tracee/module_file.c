/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The file behind a mapping.
 *
 * A path alone is not reliable: the target may live in another mount namespace, may have replaced
 * the file, or may have put a device, a FIFO or a link to a file of ours in its place. So the file
 * is opened as os/file.h says, and must be the mapped one.
 *
 * The mapped file is recognised by device and inode, as /proc/TID/maps has them. With overlayfs and
 * btrfs stat() gives other numbers than maps. There a file counts as the mapped one if its start is
 * equal to the memory at the start of its first mapping (the ELF and program headers, and as a rule
 * the build-id, which nothing writes to).
 */

#include "tracee/module_new.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/sysmacros.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/limits.h"
#include "os/file.h"

#define HEADER_BYTES	4096	/* compared; the first page */

bool module_file_same(const struct proc_map *map, uint32_t dev_major, uint32_t dev_minor,
		      uint64_t inode)
{
	return map->inode && map->inode == inode && map->dev_major == dev_major &&
	       map->dev_minor == dev_minor;
}

/*
 * The mapping of the same file, at or below map, that has the file's start; or NULL. Between the
 * two there may be a hole, or text that was moved to huge pages.
 */
static const struct proc_map *header_map(const struct proc_maps *maps, const struct proc_map *map)
{
	const struct proc_map *below;

	for (below = map;; below--) {
		bool same = module_file_same(below, map->dev_major, map->dev_minor, map->inode);

		if (same && !below->offset && below->read)
			return below;
		if (below == maps->vec.at || (!same && below->inode))
			return NULL;
	}
}

/* Are the bytes of the file's start (got of them) in memory as well? */
static bool in_memory(const struct proc_map *header, struct memory *memory, const uint8_t *file,
		      size_t got)
{
	uint8_t bytes[HEADER_BYTES];
	struct err *err;

	if (!header || got < sizeof(Elf64_Ehdr))
		return false;
	err = memory_read(memory, header->start, bytes, got);
	return !err && !memcmp(bytes, file, got);
}

struct lookup {
	pid_t tid;
	const struct proc_map *map;
	const struct proc_map *header;
	struct memory *memory;
};

static struct err *accept_file(const struct lookup *lookup, int path_fd, int *fd_ret)
{
	AUTO_CLOSE int fd = -1;
	uint8_t file[HEADER_BYTES];
	struct stat st;
	ssize_t got;
	struct err *err = file_reopen(path_fd, LIMIT_FILE, &st, &fd);

	if (err)
		return err;
	got = pread(fd, file, sizeof(file), 0);
	if (got < 0)
		return err_sys("read");
	if (!module_file_same(lookup->map, major(st.st_dev), minor(st.st_dev), st.st_ino) &&
	    !in_memory(lookup->header, lookup->memory, file, (size_t)got))
		return err_create(ERR_NOTFOUND,
				  "not the file that is mapped, but another of the same name");
	if (got < SELFMAG || memcmp(file, ELFMAG, SELFMAG))
		return err_create(ERR_FORMAT, "not an ELF file");
	*fd_ret = take_fd(fd);
	return NULL;
}

/* Each of these ways to the file gives an O_PATH descriptor, or -1 and errno. */

/* The kernel's own link to the mapped file, deleted or not. It needs privilege. */
static int by_map_files(const struct lookup *lookup)
{
	char name[64];

	snprintf(name, sizeof(name), "map_files/%" PRIx64 "-%" PRIx64, lookup->map->start,
		 lookup->map->end);
	return procfs_open(lookup->tid, name, O_PATH);
}

/*
 * The link to the program itself is as good, and every user who may trace the process can open it.
 */
static int by_exe(const struct lookup *lookup)
{
	return procfs_open(lookup->tid, "exe", O_PATH);
}

static int by_path(const struct lookup *lookup)
{
	AUTO_CLOSE int root = procfs_open(lookup->tid, "root", O_PATH | O_DIRECTORY);

	if (lookup->map->path[0] != '/') {
		errno = ENOENT;
		return -1;
	}
	return root < 0 ? -1 : file_open_below(root, lookup->map->path, O_PATH);
}

/* If no file can be opened, the memory may still show that it is no ELF file. */
static bool is_elf_in_memory(const struct lookup *lookup)
{
	uint8_t magic[SELFMAG];
	struct err *err;

	if (!lookup->header)
		return lookup->map->path[0] == '/' && strncmp(lookup->map->path, "/memfd:", 7);
	err = memory_read(lookup->memory, lookup->header->start, magic, sizeof(magic));
	return err || !memcmp(magic, ELFMAG, SELFMAG);
}

struct err *module_file_open(pid_t tid, const struct proc_maps *maps, const struct proc_map *map,
			     struct memory *memory, int *fd_ret)
{
	/* Return the error of the last way, since the user knows the name that it used. */
	static int (*const ways[])(const struct lookup *lookup) = { by_map_files, by_exe, by_path };
	struct lookup lookup = { .tid = tid, .map = map, .memory = memory };
	struct err *err = NULL;

	if (!map->inode)
		return err_create(ERR_FORMAT, "anonymous memory");
	lookup.header = header_map(maps, map);
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		AUTO_CLOSE int path_fd = ways[i](&lookup);

		err = path_fd < 0 ? err_sys("open") : accept_file(&lookup, path_fd, fd_ret);
		if (!err || fd_lacking(err) ||
		    (err->code == ERR_FORMAT && ways[i] == by_map_files))
			return err;
	}
	if (!is_elf_in_memory(&lookup))
		return err_create(ERR_FORMAT, "not an ELF file");
	if (map->deleted)
		err = err_create(ERR_NOTFOUND,
				 "deleted, and /proc/%d/map_files is not open to this user", tid);
	/* Another file of this name may not be an ELF file; that says nothing about this one. */
	return err->code == ERR_FORMAT ? err_recode(err, ERR_NOTFOUND) : err;
}

struct err *module_file_open_exe(pid_t tid, struct proc_map *map_ret, int *fd_ret)
{
	struct lookup lookup = { .tid = tid };
	AUTO_CLOSE int path_fd = by_exe(&lookup);
	struct stat st;
	struct err *err;

	if (path_fd < 0)
		return err_sys("/proc/%d/exe", tid);
	err = file_reopen(path_fd, LIMIT_FILE, &st, fd_ret);
	if (err)
		return err;
	*map_ret = (struct proc_map){
		.dev_major = major(st.st_dev),
		.dev_minor = minor(st.st_dev),
		.inode = st.st_ino,
	};
	return NULL;
}
