/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The cache of compiled rows: what it gives is what compiling gives, whatever has become of its
 * files.
 */

#include "unwind/compile.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "elf/elf_file.h"
#include "unit.h"

void suite_rows_cache(void);

#define PATH_ROOM	512

static char top[] = "/tmp/mdbg-rows.XXXXXX";
static char dir[64];
static char entry[PATH_ROOM];
static struct elf_file *file;
static struct elf_segment text;
static struct rows compiled;

static int cache_init(void)
{
	const struct elf_segment *segment;
	size_t nr;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	if (fd < 0 || !mkdtemp(top) || elf_file_open(fd, "self", &file))
		return 1;
	snprintf(dir, sizeof(dir), "%s/made/below", top);
	segment = elf_file_segments(file, &nr);
	for (size_t i = 0; i < nr; i++) {
		if (segment[i].exec)
			text = segment[i];
	}
	return rows_compile(file, text.vaddr, text.memsz, &compiled) != NULL;
}

static int cache_deinit(void)
{
	char path[PATH_ROOM];

	unlink(entry);
	rmdir(dir);
	snprintf(path, sizeof(path), "%s/made", top);
	rmdir(path);
	rows_free(&compiled);
	elf_file_close(file);
	return rmdir(top);	/* nothing else was left there */
}

/* The files in the cache's folder; the path of the last goes to entry. */
static unsigned files(void)
{
	DIR *stream = opendir(dir);
	struct dirent *found;
	unsigned nr = 0;

	while (stream && (found = readdir(stream))) {
		if (found->d_name[0] == '.')
			continue;
		snprintf(entry, sizeof(entry), "%s/%s", dir, found->d_name);
		nr++;
	}
	if (stream)
		closedir(stream);
	return nr;
}

static void load_and_check(void)
{
	struct rows rows;

	CU_ASSERT_PTR_NULL_FATAL(rows_load(file, text.vaddr, text.memsz, dir, &rows));
	CU_ASSERT_EQUAL_FATAL(rows.nr, compiled.nr);
	CU_ASSERT(!memcmp(rows.row, compiled.row, rows.nr * sizeof(*rows.row)));
	CU_ASSERT_EQUAL(rows.nr_index, compiled.nr_index);
	rows_free(&rows);
}

static struct stat status(void)
{
	struct stat st = { 0 };

	CU_ASSERT_EQUAL(files(), 1);
	CU_ASSERT(!stat(entry, &st));
	return st;
}

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
	       a->st_mtime == b->st_mtime;
}

static void test_kept(void)
{
	struct stat first, second;

	CU_ASSERT_EQUAL(files(), 0);
	load_and_check();
	first = status();
	CU_ASSERT_EQUAL(first.st_mode & 0777, 0600);
	CU_ASSERT(first.st_size > (off_t)(compiled.nr * sizeof(struct row)));
	load_and_check();
	second = status();
	CU_ASSERT(same_file(&first, &second));
}

/* Change the entry, load, and see that it was made anew, as it had been. */
static void check_repaired(void (*damage)(int fd, off_t size))
{
	char *before, *after;
	struct stat st = status();
	int fd = open(entry, O_RDWR | O_CLOEXEC);

	before = malloc((size_t)st.st_size);
	after = malloc((size_t)st.st_size);
	CU_ASSERT_FATAL(fd >= 0 && before && after);
	CU_ASSERT_EQUAL(pread(fd, before, (size_t)st.st_size, 0), st.st_size);
	damage(fd, st.st_size);
	close(fd);
	load_and_check();
	fd = open(entry, O_RDONLY | O_CLOEXEC);
	CU_ASSERT_EQUAL(files(), 1);
	CU_ASSERT_EQUAL(pread(fd, after, (size_t)st.st_size, 0), st.st_size);
	CU_ASSERT(!memcmp(before, after, (size_t)st.st_size));
	close(fd);
	free(before);
	free(after);
}

static void cut(int fd, off_t size)
{
	CU_ASSERT(!ftruncate(fd, size / 2));
}

static void empty(int fd, off_t size)
{
	(void)size;
	CU_ASSERT(!ftruncate(fd, 0));
}

static void lengthen(int fd, off_t size)
{
	CU_ASSERT(!ftruncate(fd, size + 16));
}

static off_t flip_at;

static void flip(int fd, off_t size)
{
	uint8_t byte;

	(void)size;
	CU_ASSERT_EQUAL(pread(fd, &byte, 1, flip_at), 1);
	byte ^= 0x10;
	CU_ASSERT_EQUAL(pwrite(fd, &byte, 1, flip_at), 1);
}

/* Every byte of the header, and bytes all over the rows. */
static void test_damaged(void)
{
	struct stat st;

	load_and_check();
	check_repaired(cut);
	check_repaired(empty);
	check_repaired(lengthen);
	st = status();
	for (flip_at = 0; flip_at < st.st_size; flip_at += flip_at < 200 ? 1 : 9973)
		check_repaired(flip);
}

/*
 * A folder where the entry should be, a link, no right to write: no error, and nobody else's file
 * is touched.
 */
static void test_unusable(void)
{
	char other[PATH_ROOM];
	struct stat st;

	load_and_check();
	CU_ASSERT_EQUAL(files(), 1);
	snprintf(other, sizeof(other), "%s/other", top);
	CU_ASSERT(!rename(entry, other) && !symlink(other, entry));
	CU_ASSERT(!truncate(other, 10));
	load_and_check();
	CU_ASSERT(!stat(other, &st) && st.st_size == 10);
	CU_ASSERT(!lstat(entry, &st) && S_ISREG(st.st_mode));
	unlink(other);
	unlink(entry);
	CU_ASSERT(!mkdir(entry, 0700));
	load_and_check();
	rmdir(entry);
}

static void test_without(void)
{
	struct rows rows;

	CU_ASSERT_PTR_NULL_FATAL(rows_load(file, text.vaddr, text.memsz, NULL, &rows));
	CU_ASSERT_EQUAL(rows.nr, compiled.nr);
	rows_free(&rows);
	CU_ASSERT_PTR_NULL_FATAL(rows_load(file, text.vaddr, text.memsz, "/proc/self/nowhere",
					   &rows));
	CU_ASSERT_EQUAL(rows.nr, compiled.nr);
	rows_free(&rows);
}

/* The folder holds so many files: the oldest one goes, for each new one. */
static void test_room(void)
{
	struct timespec old[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };
	char path[PATH_ROOM], oldest[PATH_ROOM];

	for (unsigned i = 0; i < LIMIT_CACHE_FILES; i++) {
		int fd;

		snprintf(path, sizeof(path), "%s/%u.rows", dir, i);
		fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		CU_ASSERT_FATAL(fd >= 0);
		if (i == 7) {
			CU_ASSERT_EQUAL(futimens(fd, old), 0);
			strcpy(oldest, path);
		}
		close(fd);
	}
	unlink(entry);
	load_and_check();
	CU_ASSERT_EQUAL(files(), LIMIT_CACHE_FILES);
	CU_ASSERT_EQUAL(access(oldest, F_OK), -1);
	for (unsigned i = 0; i < LIMIT_CACHE_FILES; i++) {
		snprintf(path, sizeof(path), "%s/%u.rows", dir, i);
		unlink(path);
	}
	CU_ASSERT_EQUAL(files(), 1);
}

void suite_rows_cache(void)
{
	CU_pSuite suite = CU_add_suite("rows cache", cache_init, cache_deinit);

	CU_add_test(suite, "a file is made once", test_kept);
	CU_add_test(suite, "a damaged file is replaced", test_damaged);
	CU_add_test(suite, "room for a new one", test_room);
	CU_add_test(suite, "a cache that cannot be used", test_unusable);
	CU_add_test(suite, "no cache", test_without);
}
