/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which files are local (theory in local_files.h). */

#include "os/local_files.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/compiler.h"
#include "os/procfs.h"

static const char *const local_types[] = {
	"bcachefs", "btrfs", "cramfs", "erofs", "exfat", "ext2", "ext3", "ext4", "f2fs", "hfsplus",
	"hugetlbfs", "iso9660", "jffs2", "jfs", "minix", "msdos", "nilfs2", "ntfs3", "ramfs",
	"reiserfs", "rootfs", "romfs", "squashfs", "tmpfs", "ubifs", "udf", "ufs",
	"vfat", "xfs", "zfs",
};

enum file_place local_files_type(const char *type, size_t len)
{
	if (len == strlen("overlay") && !memcmp(type, "overlay", len))
		return FILE_LAYERED;
	for (size_t i = 0; i < ARRAY_SIZE(local_types); i++)
		if (strlen(local_types[i]) == len && !memcmp(local_types[i], type, len))
			return FILE_LOCAL;
	return FILE_UNKNOWN;
}

bool local_files_is_device(const struct proc_map *map)
{
	return !strncmp(map->path, "/dev/", 5) && strncmp(map->path, "/dev/shm/", 9) &&
	       !map->deleted;
}

static void add(struct local_files *files, uint64_t mount, uint32_t dev_major, uint32_t dev_minor,
		enum file_place place)
{
	struct local_device device = { mount, dev_major, dev_minor, place };

	/* If there is no memory for it, the place stays unknown. */
	if (place != FILE_UNKNOWN)
		err_ignore(vec_push(&files->vec, device));
}

/* "36 35 98:0 /root /mount rw,noatime master:1 - ext4 /dev/root rw": in names blanks are \040. */
static void add_line(struct local_files *files, const char *line, bool own)
{
	unsigned mount, dev_major, dev_minor;
	enum file_place place;
	const char *type = strstr(line, " - ");

	if (!type || sscanf(line, "%u %*d %u:%u ", &mount, &dev_major, &dev_minor) != 3)
		return;
	type += strlen(" - ");
	place = local_files_type(type, strcspn(type, " \n"));
	add(files, mount, dev_major, dev_minor, place == FILE_LAYERED && own ? FILE_LOCAL : place);
}

static void add_mounts(struct local_files *files, int fd, bool own)
{
	AUTO_FCLOSE FILE *file = NULL;
	AUTO_FREE char *line = NULL;
	size_t room = 0;
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	if (copy < 0)
		return;
	lseek(copy, 0, SEEK_SET);
	file = fdopen(copy, "r");
	if (!file)
		close(copy);
	while (file && getline(&line, &room, file) > 0)
		add_line(files, line, own);
}

/* The kernel's own mounts of shared memory and huge pages, which no list has. */
static void add_kernels(struct local_files *files)
{
	static const unsigned flags[] = {
		0, MFD_HUGETLB, MFD_HUGETLB | 21u << MAP_HUGE_SHIFT,
		MFD_HUGETLB | 30u << MAP_HUGE_SHIFT,
	};

	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		AUTO_CLOSE int fd = memfd_create("mdbg-look", MFD_CLOEXEC | flags[i]);
		struct stat st;

		if (fd >= 0 && !fstat(fd, &st))
			add(files, 0, major(st.st_dev), minor(st.st_dev), FILE_LOCAL);
	}
}

/* Something was mounted or unmounted since it was read. */
static bool is_old(const struct local_files *files)
{
	struct pollfd fd[ARRAY_SIZE(files->fd)];

	for (size_t i = 0; i < ARRAY_SIZE(files->fd); i++)
		fd[i] = (struct pollfd){ .fd = files->fd[i], .events = POLLPRI };
	return !files->vec.nr || poll(fd, ARRAY_SIZE(fd), 0) != 0;
}

static void look(struct local_files *files, pid_t tid)
{
	vec_clear(&files->vec);
	if (files->fd[0] < 0)
		files->fd[0] = procfs_open(tid, "mountinfo", O_RDONLY);
	if (files->fd[1] < 0)
		files->fd[1] = procfs_open(getpid(), "mountinfo", O_RDONLY);
	add_kernels(files);
	/* The first of several that is found counts. */
	for (size_t i = ARRAY_SIZE(files->fd); i-- > 0;)
		if (files->fd[i] >= 0)
			add_mounts(files, files->fd[i], i);
}

enum file_place local_files_place(struct local_files *files, pid_t tid, uint32_t dev_major,
				  uint32_t dev_minor)
{
	if (is_old(files))
		look(files, tid);
	vec_each(device, &files->vec) {
		if (device->major == dev_major && device->minor == dev_minor)
			return device->place;
	}
	return FILE_UNKNOWN;
}

enum file_place local_files_mounted(const struct local_files *files, uint64_t mount)
{
	vec_each(device, &files->vec) {
		if (mount && device->mount == mount)
			return device->place;
	}
	return FILE_UNKNOWN;
}

void local_files_free(struct local_files *files)
{
	for (size_t i = 0; i < ARRAY_SIZE(files->fd); i++)
		if (files->fd[i] >= 0)
			close(files->fd[i]);
	vec_free(&files->vec);
	*files = (struct local_files)LOCAL_FILES_INIT;
}
