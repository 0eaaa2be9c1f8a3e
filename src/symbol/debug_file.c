/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Separate debug files, as gdb finds them. */

#include "symbol/debug_file.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <elfutils/libdwelf.h>
#include <zlib.h>

#include "base/cleanup.h"
#include "base/compiler.h"
#include "base/fd.h"
#include "base/str.h"

struct build_id {
	const void *bytes;
	size_t len;		/* 0: none */
};

int debug_open_below(int root_fd, const char *path)
{
	struct open_how how = {
		.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	struct stat st;
	int fd;

	if (root_fd == AT_FDCWD)
		fd = open(path, (int)how.flags);
	else
		fd = (int)syscall(SYS_openat2, root_fd, path, &how, sizeof(how));
	if (fd >= 0 && (fstat(fd, &st) || !S_ISREG(st.st_mode))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* True if the ELF file has this build-id; *none_ret, if it has none at all. */
static bool has_build_id(int fd, struct build_id id, bool *none_ret)
{
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
	const void *bytes;
	ssize_t len = elf ? dwelf_elf_gnu_build_id(elf, &bytes) : -1;
	bool same = len > 0 && (size_t)len == id.len && !memcmp(bytes, id.bytes, id.len);

	*none_ret = elf && len <= 0;
	elf_end(elf);
	return same;
}

static bool has_crc(int fd, uint32_t crc)
{
	uLong sum = crc32(0, Z_NULL, 0);
	unsigned char buf[16384];
	off_t at = 0;
	ssize_t len;

	while ((len = pread(fd, buf, sizeof(buf), at)) > 0) {
		sum = crc32(sum, buf, (uInt)len);
		at += len;
	}
	return !len && sum == crc;
}

/* What a candidate must agree with: the build-id, or the CRC where one side has no build-id. */
struct wanted {
	struct build_id id;
	bool has_crc;
	uint32_t crc;
};

static bool is_wanted(int fd, const struct wanted *wanted)
{
	bool none = true;

	if (wanted->id.len && has_build_id(fd, wanted->id, &none))
		return true;
	return none && wanted->has_crc && has_crc(fd, wanted->crc);
}

/* Try a path on both file systems. */
static int try_path(const struct debug_search *search, const char *path,
		    const struct wanted *wanted)
{
	const int roots[] = { AT_FDCWD, search->root_fd };

	for (size_t i = 0; i < ARRAY_SIZE(roots); i++) {
		int fd = roots[i] == -1 ? -1 : debug_open_below(roots[i], path);

		if (fd >= 0 && is_wanted(fd, wanted))
			return fd;
		if (fd >= 0)
			close(fd);
	}
	return -1;
}

/* Try each directory of the search path with a path below it. */
static int try_below(const struct debug_search *search, const char *below,
		     const struct wanted *wanted)
{
	const char *dir = search->path;

	while (*dir) {
		size_t len = strcspn(dir, ":");
		struct str path AUTO_STR = STR_INIT;
		int fd = -1;

		if (len && !str_addf(&path, "%.*s/%s", (int)len, dir, below))
			fd = try_path(search, path.at, wanted);
		if (fd >= 0)
			return fd;
		dir += len + (dir[len] == ':');
	}
	return -1;
}

static int find_by_id(const struct debug_search *search, struct build_id id)
{
	const struct wanted wanted = { .id = id };
	const uint8_t *bytes = id.bytes;
	struct str below AUTO_STR = STR_INIT;

	if (id.len < 2 || str_addf(&below, ".build-id/%02x/", bytes[0]))
		return -1;
	for (size_t i = 1; i < id.len; i++)
		if (str_addf(&below, "%02x", bytes[i]))
			return -1;
	if (str_add(&below, ".debug"))
		return -1;
	return try_below(search, below.at, &wanted);
}

/* DIR/LINK, DIR/.debug/LINK, DEBUG/DIR/LINK, where DIR is the module's. */
static int find_by_link(const struct debug_search *search, const char *module_path,
			const char *link, const struct wanted *wanted)
{
	const char *slash = strrchr(module_path, '/');
	int dir_len = slash ? (int)(slash - module_path) : 0;
	struct str beside AUTO_STR = STR_INIT;
	struct str hidden AUTO_STR = STR_INIT;
	int fd;

	if (module_path[0] != '/' || strchr(link, '/'))
		return -1;
	if (str_addf(&beside, "%.*s/%s", dir_len, module_path, link) ||
	    str_addf(&hidden, "%.*s/.debug/%s", dir_len, module_path, link))
		return -1;
	fd = try_path(search, beside.at, wanted);
	if (fd < 0)
		fd = try_path(search, hidden.at, wanted);
	if (fd < 0)
		fd = try_below(search, beside.at + 1, wanted);
	return fd;
}

int debug_file_find(const struct debug_search *search, Elf *main, const char *module_path)
{
	struct wanted wanted = { .has_crc = false };
	const char *link;
	GElf_Word crc;
	ssize_t len = dwelf_elf_gnu_build_id(main, &wanted.id.bytes);
	int fd;

	wanted.id.len = len > 0 ? (size_t)len : 0;
	fd = find_by_id(search, wanted.id);
	if (fd >= 0)
		return fd;
	link = dwelf_elf_gnu_debuglink(main, &crc);
	if (!link || !*link)
		return -1;
	wanted.has_crc = true;
	wanted.crc = crc;
	return find_by_link(search, module_path, link, &wanted);
}

Dwarf *debug_alt_find(const struct debug_search *search, Dwarf *dwarf, int fd)
{
	struct wanted wanted = { .has_crc = false };
	const char *name;
	char self[64], real[4096];
	struct str path AUTO_STR = STR_INIT;
	ssize_t len = dwelf_dwarf_gnu_debugaltlink(dwarf, &name, &wanted.id.bytes);
	int found AUTO_CLOSE = -1;
	int alt_fd AUTO_CLOSE = -1;
	Dwarf *alt;

	if (len <= 0)
		return NULL;
	wanted.id.len = (size_t)len;
	found = find_by_id(search, wanted.id);
	if (found < 0) {
		/* Relative to the file that names it, behind its symbolic links. */
		snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
		len = readlink(self, real, sizeof(real) - 1);
		real[MAX(len, 0)] = '\0';
		if (name[0] != '/' && strrchr(real, '/') &&
		    str_addf(&path, "%.*s/", (int)(strrchr(real, '/') - real), real))
			return NULL;
		if (str_add(&path, name))
			return NULL;
		found = try_path(search, path.at, &wanted);
	}
	alt_fd = found < 0 ? -1 : fd_keep(found);
	alt = alt_fd < 0 ? NULL : dwarf_begin(alt_fd, DWARF_C_READ);
	if (alt)
		(void)take_fd(alt_fd);
	return alt;
}
