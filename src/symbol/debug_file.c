/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Separate debug files, found in the same places as by gdb. The target has chosen the names by
 * which they are looked for, so they are opened as os/file.h says, and read through an elf_view.
 *
 * libdw opens files with split DWARF (.dwo) itself, by the name in the skeleton unit, at once and
 * for reading: if the name leads to a FIFO, it waits for ever. Nor can a file that is already open
 * be passed to it, as the link between the two units is inside of libdw. So it may do this only if
 * nobody but root and mdbg's own user controls where that name leads. There is only one name: libdw
 * knows no file for a view, and so no folder to search.
 */

#include "symbol/debug_file.h"

#include <dwarf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <elfutils/libdwelf.h>
#include <zlib.h>

#include "base/cancel.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/str.h"
#include "base/trace.h"
#include "elf/elf_view.h"
#include "os/file.h"
#include "os/trust.h"

struct build_id {
	const void *bytes;
	size_t len;		/* 0: none */
};

bool debug_file_same_root(const struct debug_search *search, const struct debug_search *other)
{
	struct stat root, other_root;

	if (search->root_fd < 0 || other->root_fd < 0)
		return search->root_fd == other->root_fd;
	return !fstat(search->root_fd, &root) && !fstat(other->root_fd, &other_root) &&
	       root.st_dev == other_root.st_dev && root.st_ino == other_root.st_ino;
}

void debug_file_warn(const struct debug_search *search, const struct err *err)
{
	trace_line("symbol: %s", err->msg);
	if (search->warn)
		search->warn(search->warn_ctx, err->msg);
}

/* True if the ELF file has this build-id; *none_ret says whether it has none at all. */
static bool has_build_id(int fd, struct build_id id, bool *none_ret)
{
	struct elf_view view;
	const void *bytes;
	ssize_t len;
	bool same;

	*none_ret = false;
	if (elf_view_open(fd, "debug file", &view))
		return false;
	len = elf_view_take_notes(&view) ? 0 : dwelf_elf_gnu_build_id(view.elf, &bytes);
	same = len > 0 && (size_t)len == id.len && !memcmp(bytes, id.bytes, id.len);
	*none_ret = len <= 0;
	elf_view_close(&view);
	return same;
}

static bool has_crc(const struct debug_search *search, int fd, const char *path, uint32_t crc)
{
	uLong sum = crc32(0, Z_NULL, 0);
	unsigned char buf[65536];
	uint64_t at = 0;
	struct stat st;
	ssize_t len;

	if (fstat(fd, &st) || (uint64_t)st.st_size > LIMIT_CRC) {
		debug_file_warn(search, limit_err(path,
						  "too many bytes to tell by their CRC-32 whether "
						  "it is the debug file", LIMIT_CRC));
		return false;
	}
	while ((len = pread(fd, buf, sizeof(buf), (off_t)at)) > 0 && at <= LIMIT_CRC &&
	       !cancel_requested()) {
		sum = crc32(sum, buf, (uInt)len);
		at += (uint64_t)len;
	}
	return !len && sum == crc;
}

/*
 * The build-id of a candidate must be this one; if either side has none, the CRC must be this one.
 */
struct wanted {
	struct build_id id;
	bool has_crc;
	uint32_t crc;
};

static bool is_wanted(const struct debug_search *search, int fd, const char *path,
		      const struct wanted *wanted)
{
	bool none = true;

	if (wanted->id.len && has_build_id(fd, wanted->id, &none))
		return true;
	return none && wanted->has_crc && has_crc(search, fd, path, wanted->crc);
}

/* Try a path on mdbg's file system and below the target's root. */
static int try_path(const struct debug_search *search, const char *path,
		    const struct wanted *wanted)
{
	const int roots[] = { AT_FDCWD, search->root_fd };

	for (size_t i = 0; i < ARRAY_SIZE(roots); i++) {
		AUTO_CLOSE int fd = -1;
		struct err *err;

		if (roots[i] == -1)
			continue;
		err = file_open(roots[i], path, false, LIMIT_FILE, &fd);
		if (err && err->code == ERR_RANGE)
			debug_file_warn(search, limit_err(path, "too many bytes of a debug file",
							  LIMIT_FILE));
		if (!err && is_wanted(search, fd, path, wanted))
			return take_fd(fd);
	}
	return -1;
}

/* Try each directory of the search path, with `below` appended. */
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

static struct err *add_hex(struct str *to, const uint8_t *bytes, size_t len)
{
	struct err *err = NULL;

	for (size_t i = 0; i < len && !err; i++)
		err = str_addf(to, "%02x", bytes[i]);
	return err;
}

static int find_by_id(const struct debug_search *search, struct build_id id)
{
	const struct wanted wanted = { .id = id };
	const uint8_t *bytes = id.bytes;
	struct str below AUTO_STR = STR_INIT;

	if (id.len < 2 || str_addf(&below, ".build-id/%02x/", bytes[0]) ||
	    add_hex(&below, bytes + 1, id.len - 1) || str_add(&below, ".debug"))
		return -1;
	return try_below(search, below.at, &wanted);
}

/* A file that was fetched must be the right one, too. */
static int fetch(const struct debug_search *search, struct build_id id, const char *module_path)
{
	struct str hex AUTO_STR = STR_INIT;
	AUTO_CLOSE int fd = -1;
	bool none;

	if (!search->fetch || id.len < 2 || cancel_requested() || add_hex(&hex, id.bytes, id.len))
		return -1;
	fd = search->fetch(search->fetch_ctx, hex.at, module_path);
	if (fd < 0 || has_build_id(fd, id, &none))
		return take_fd(fd);
	debug_file_warn(search,
			err_create(ERR_FORMAT,
				   "debuginfod: %s: the file from the server has not its "
				   "build-id, %s, and is not used", module_path, hex.at));
	return -1;
}

struct err *debug_file_build_id(Elf *elf, struct str *ret)
{
	const void *bytes;
	ssize_t len = dwelf_elf_gnu_build_id(elf, &bytes);

	return len > 0 ? add_hex(ret, bytes, (size_t)len) : NULL;
}

/* Try DIR/LINK, DIR/.debug/LINK and DEBUG/DIR/LINK, where DIR is the module's directory. */
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
	if (link && *link) {
		wanted.has_crc = true;
		wanted.crc = crc;
		fd = find_by_link(search, module_path, link, &wanted);
	}
	return fd >= 0 ? fd : fetch(search, wanted.id, module_path);
}

/*
 * Look beside the file behind fd: a name there is relative to the file's folder, after symbolic
 * links.
 */
static int find_beside(const struct debug_search *search, int fd, const char *name,
		       const struct wanted *wanted)
{
	char self[64], real[PATH_MAX];
	struct str path AUTO_STR = STR_INIT;
	const char *slash;
	ssize_t len;

	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	len = readlink(self, real, sizeof(real) - 1);
	real[MAX(len, 0)] = '\0';
	slash = strrchr(real, '/');
	if (name[0] != '/' && slash && str_addf(&path, "%.*s/", (int)(slash - real), real))
		return -1;
	return str_add(&path, name) ? -1 : try_path(search, path.at, wanted);
}

int debug_file_find_alt(const struct debug_search *search, Dwarf *dwarf, int fd)
{
	struct wanted wanted = { .has_crc = false };
	const char *name;
	ssize_t len = dwelf_dwarf_gnu_debugaltlink(dwarf, &name, &wanted.id.bytes);
	int found AUTO_CLOSE = -1;

	if (len <= 0)
		return -1;
	wanted.id.len = (size_t)len;
	found = find_by_id(search, wanted.id);
	if (found < 0)
		found = find_beside(search, fd, name, &wanted);
	if (found < 0)
		found = fetch(search, wanted.id, name);
	return found < 0 ? -1 : fd_keep(found);
}

static const char *string_of(Dwarf_Die *die, unsigned int attr)
{
	Dwarf_Attribute mem;

	return dwarf_formstring(dwarf_attr(die, attr, &mem));
}

struct err *debug_file_check_dwo(Dwarf_Die *skeleton)
{
	const char *name = string_of(skeleton, DW_AT_dwo_name);
	const char *folder = string_of(skeleton, DW_AT_comp_dir);
	struct str path AUTO_STR = STR_INIT;
	struct err *err;

	if (!name)
		name = string_of(skeleton, DW_AT_GNU_dwo_name);
	/* then libdw does not look for the file */
	if (!name || (*name != '/' && (!folder || *folder != '/')))
		return err_create(ERR_UNSUPPORTED, "no .dwo file is named by its path");
	err = *name == '/' ? str_add(&path, name) : str_addf(&path, "%s/%s", folder, name);
	if (!err)
		err = trust_file(path.at, NULL);
	if (err && err->errnum == ENOENT)
		return err_create(ERR_NOTFOUND, "%s is not there, and .dwp files are not read",
				  path.at);
	return err;
}
