/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Compiled rows, kept from one run of mdbg to the next: DIR/BUILDID-VADDR.rows, a header and the
 * rows.
 *
 * The build-id names the file; a checksum of the CFI itself says whether the rows belong to it,
 * since two builds may claim the same id. A cache file counts only if it is unchanged (by its own
 * checksum) and belongs to the user who runs mdbg. It is written under another name and renamed, so
 * that the last one of two mdbgs wins and nobody reads half a file.
 */

#include "unwind/compile.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "base/str.h"
#include "base/sum.h"
#include "base/trace.h"
#include "elf/cfi.h"
#include "elf/elf_file.h"

#define CACHE_MAGIC	"mdbgrows"
#define CACHE_VERSION	1	/* raised whenever rows, or the way they are compiled, change */

/* The header has the byte order of the machine that made it. */
struct cache_header {
	char magic[8];
	uint32_t version;
	uint32_t row_size;
	uint64_t vaddr, size;
	uint64_t cfi_sum;	/* checksum of the CFI that the rows were compiled from */
	uint64_t rows_sum;
	uint32_t nr;
	uint8_t build_id_len;
	uint8_t pad[3];
	uint8_t build_id[BUILD_ID_MAX];
};

static uint64_t cfi_sum(const struct cfi *cfi)
{
	uint64_t sum = cfi->bad;

	for (size_t i = 0; i < cfi->cies.nr; i++) {
		const struct cfi_cie *cie = &cfi->cies.at[i];
		uint64_t words[] = { cie->code_align, (uint64_t)cie->data_align, cie->return_column,
				     (uint64_t)cie->signal << 1 | cie->debug_frame };

		sum = sum_bytes(sum, words, sizeof(words));
		sum = sum_bytes(sum, cie->insns, (size_t)(cie->insns_end - cie->insns));
	}
	for (size_t i = 0; i < cfi->fdes.nr; i++) {
		const struct cfi_fde *fde = &cfi->fdes.at[i];
		uint64_t words[] = { fde->start, fde->size, fde->cie };

		sum = sum_bytes(sum, words, sizeof(words));
		sum = sum_bytes(sum, fde->insns, (size_t)(fde->insns_end - fde->insns));
	}
	return sum;
}

/*
 * Make the header that a file for these rows must have, except for nr and rows_sum. False: there is
 * no build-id.
 */
static bool header_init(struct elf_file *file, uint64_t vaddr, uint64_t size, const struct cfi *cfi,
			struct cache_header *ret)
{
	size_t len;
	const uint8_t *build_id = elf_file_build_id(file, &len);

	memset(ret, 0, sizeof(*ret));
	memcpy(ret->magic, CACHE_MAGIC, sizeof(ret->magic));
	ret->version = CACHE_VERSION;
	ret->row_size = sizeof(struct row);
	ret->vaddr = vaddr;
	ret->size = size;
	ret->cfi_sum = cfi_sum(cfi);
	ret->build_id_len = (uint8_t)len;
	memcpy(ret->build_id, build_id, len);
	return len > 0;
}

static struct err *cache_path(const struct cache_header *header, const char *dir, struct str *path)
{
	struct err *err = str_addf(path, "%s/", dir);

	for (unsigned i = 0; i < header->build_id_len && !err; i++)
		err = str_addf(path, "%02x", header->build_id[i]);
	return err ? err : str_addf(path, "-%" PRIx64 ".rows", header->vaddr);
}

/* Read or write all len bytes. */
static bool transfer(int fd, void *buf, size_t len, bool out)
{
	char *at = buf;

	while (len) {
		ssize_t n = out ? write(fd, at, len) : read(fd, at, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		at += n;
		len -= (size_t)n;
	}
	return true;
}

/*
 * Read the header of an open file. False: another one was wanted, or the file has not the length
 * that the header says.
 */
static bool header_read(int fd, const struct cache_header *want, struct cache_header *ret)
{
	struct cache_header found;
	struct stat st;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
	    !transfer(fd, &found, sizeof(found), false))
		return false;
	*ret = found;
	found.nr = 0;
	found.rows_sum = 0;
	if (memcmp(&found, want, sizeof(found)))
		return false;
	return (uint64_t)st.st_size == sizeof(found) + (uint64_t)ret->nr * sizeof(struct row);
}

/*
 * Read the rows from the cache. False: there are no valid ones. False also without memory; the
 * compilation then reports that.
 */
static bool cache_read(const char *path, const struct cache_header *want, struct rows *ret)
{
	int fd AUTO_CLOSE = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct row *row AUTO_FREE = NULL;
	struct cache_header header;
	struct err *err;
	size_t len;

	if (fd < 0 || !header_read(fd, want, &header) || !header.nr || header.nr > LIMIT_ROWS)
		return false;
	len = header.nr * sizeof(*row);
	row = malloc(len);
	if (!row || !transfer(fd, row, len, false))
		return false;
	if (sum_bytes(0, row, len) != header.rows_sum || !rows_valid(row, header.nr))
		return false;
	err = rows_create(row, header.nr, ret);
	return !err;
}

static bool cache_fill(int fd, struct cache_header *header, const struct rows *rows)
{
	size_t len = rows->nr * sizeof(*rows->row);

	header->nr = rows->nr;
	header->rows_sum = sum_bytes(0, rows->row, len);
	return transfer(fd, header, sizeof(*header), true) &&
	       transfer(fd, (struct row *)rows->row, len, true);
}

/* Make a folder and those above it. If that fails, the creation of a file there will fail. */
static void folders_make(const char *dir)
{
	char *path AUTO_FREE = strdup(dir);

	for (char *at = path; at && *at; at++) {
		if (*at != '/' || at == path)
			continue;
		*at = '\0';
		mkdir(path, 0700);
		*at = '/';
	}
	mkdir(dir, 0700);
}

/* The contents of the folder: the number of files, their bytes, and the oldest. */
struct folder {
	uint64_t files, bytes;
	char oldest[NAME_MAX + 1];
};

static void folder_add(struct folder *folder, int dir_fd, const char *name, struct timespec *oldest)
{
	struct stat st;
	bool older;

	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
		return;
	older = !folder->files || st.st_mtim.tv_sec < oldest->tv_sec ||
		(st.st_mtim.tv_sec == oldest->tv_sec && st.st_mtim.tv_nsec < oldest->tv_nsec);
	folder->files++;
	folder->bytes += (uint64_t)st.st_size;
	if (!older)
		return;
	*oldest = st.st_mtim;
	snprintf(folder->oldest, sizeof(folder->oldest), "%s", name);
}

static bool folder_read(const char *path, struct folder *ret)
{
	struct timespec oldest = { 0 };
	const struct dirent *entry;
	DIR *dir = opendir(path);

	*ret = (struct folder){ 0 };
	if (!dir)
		return false;
	while ((entry = readdir(dir)))
		folder_add(ret, dirfd(dir), entry->d_name, &oldest);
	closedir(dir);
	return true;
}

/*
 * The folder has files of all programs that were ever examined: the oldest ones are removed to make
 * room for a new one.
 */
static void make_room(const char *dir, uint64_t bytes)
{
	struct folder folder;

	while (folder_read(dir, &folder) && folder.files &&
	       (folder.files >= LIMIT_CACHE_FILES || folder.bytes + bytes > LIMIT_CACHE)) {
		struct str path AUTO_STR = STR_INIT;

		if (str_addf(&path, "%s/%s", dir, folder.oldest) || unlink(path.at))
			return;
	}
}

static struct err *cache_write(const char *dir, const char *path, struct cache_header *header,
			       const struct rows *rows)
{
	struct str aside AUTO_STR = STR_INIT;
	struct err *err = str_addf(&aside, "%s.XXXXXX", path);
	int fd AUTO_CLOSE = -1;

	if (err)
		return err;
	folders_make(dir);
	make_room(dir, sizeof(*header) + rows->nr * sizeof(*rows->row));
	fd = mkostemp(aside.at, O_CLOEXEC);
	if (fd < 0)
		return err_sys("%s", path);
	if (cache_fill(fd, header, rows) && !rename(aside.at, path))
		return NULL;
	err = err_sys("%s", path);
	unlink(aside.at);
	return err;
}

struct err *rows_load(struct elf_file *file, uint64_t vaddr, uint64_t size, const char *dir,
		      struct rows *ret)
{
	struct str path AUTO_STR = STR_INIT;
	struct cache_header header;
	const struct cfi *cfi;
	struct err *err = dir ? cfi_of(file, &cfi) : NULL;

	if (err)
		return err;
	if (!dir || !header_init(file, vaddr, size, cfi, &header))
		return rows_compile(file, vaddr, size, ret);
	err = cache_path(&header, dir, &path);
	if (err)
		return err;
	if (cache_read(path.at, &header, ret))
		return NULL;
	err = rows_compile(file, vaddr, size, ret);
	if (err)
		return err;
	err = cache_write(dir, path.at, &header, ret);
	if (err)
		trace_line("the cache of unwind rows cannot be written: %s", err->msg);
	return NULL;
}
