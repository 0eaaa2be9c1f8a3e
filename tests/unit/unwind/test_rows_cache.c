/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The cache of compiled rows: what it gives is what compiling gives, whatever has become of its
 * files.
 */

#include "unwind/rows_compile.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/limits.h"
#include "elf/elf_file.h"
#include "unit.h"
#include "unwind/rows_cache.h"
#include "unwind/rows_key.h"

#define PATH_ROOM	512
#define PROGRAM		"/bin/sh"
#define OTHER		12345

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
	/* A file of root's that was not changed a moment ago. */
	int fd = open(PROGRAM, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || !mkdtemp(top) || elf_file_open(fd, PROGRAM, &file))
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

FIXTURE(cache_init, cache_deinit);

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

static void load_from(struct elf_file *from, const char *folder)
{
	CLEANUP(rows_cache_deinit) struct rows_cache cache;
	CLEANUP(rows_free) struct rows rows;

	rows_cache_init(&cache, folder);
	CU_ASSERT_PTR_NULL_FATAL(rows_cache_load(&cache, from, text.vaddr, text.memsz, &rows));
	CU_ASSERT_EQUAL_FATAL(rows.nr, compiled.nr);
	CU_ASSERT(!memcmp(rows.row, compiled.row, rows.nr * sizeof(*rows.row)));
	CU_ASSERT_EQUAL(rows.nr_index, compiled.nr_index);
}

static void load_and_check(void)
{
	load_from(file, dir);
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

TEST("a file is made once")
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
TEST("a damaged file is replaced")
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
TEST("a cache that cannot be used")
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

TEST("no cache")
{
	load_from(file, NULL);
	load_from(file, "/proc/self/nowhere");
}

/* In a folder of somebody else's nothing is made and nothing removed, also behind a link of his. */
TEST("a folder of somebody else's")
{
	char theirs[PATH_ROOM], link[PATH_ROOM], below[PATH_ROOM];

	snprintf(theirs, sizeof(theirs), "%s/theirs", top);
	snprintf(link, sizeof(link), "%s/theirs/link", top);
	snprintf(below, sizeof(below), "%s/theirs/new", top);
	CU_ASSERT_FATAL(!mkdir(theirs, 0755) && !symlink(dir, link));
	unlink(entry);
	if (lchown(link, OTHER, OTHER) || chown(theirs, OTHER, OTHER)) {
		unit_skip("not allowed to give a file away");
	} else {
		load_from(file, theirs);
		load_from(file, link);
		load_from(file, below);
		CU_ASSERT_EQUAL(access(below, F_OK), -1);
		CU_ASSERT_EQUAL(files(), 0);
	}
	unlink(link);
	CU_ASSERT_EQUAL(rmdir(theirs), 0);
}

/* A file of that name, as old as time says; with the header if it is to have one. */
static void put(const char *name, time_t time, bool header)
{
	struct timespec times[2] = { { .tv_sec = time }, { .tv_sec = time } };
	char path[PATH_ROOM];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	CU_ASSERT_FATAL(fd >= 0);
	if (header)
		CU_ASSERT_EQUAL(write(fd, "mdbgrows", 8), 8);
	CU_ASSERT_EQUAL(futimens(fd, times), 0);
	close(fd);
}

static void fill(const char *owner, unsigned nr)
{
	char name[64];

	for (unsigned i = 0; i < nr; i++) {
		snprintf(name, sizeof(name), "%s%08x.rows", owner, i);
		put(name, 1000 + i, true);
	}
}

static bool is_there(const char *name)
{
	char path[PATH_ROOM];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return !access(path, F_OK);
}

static void clear(void)
{
	while (files())
		unlink(entry);
}

/* The oldest file of all goes; what is no file of ours stays, and is not counted. */
TEST("room for a new one")
{
	clear();
	put("database.1", 10, true);
	put("precious.rows", 10, true);
	put("0123456789abcdef-28000.rows", 10, true);	/* of an earlier version */
	fill("trusted-", LIMIT_CACHE_FILES - 1);
	load_and_check();
	CU_ASSERT_EQUAL(files(), LIMIT_CACHE_FILES + 2);
	CU_ASSERT_FALSE(is_there("0123456789abcdef-28000.rows"));
	CU_ASSERT_TRUE(is_there("trusted-00000000.rows"));
	CU_ASSERT_TRUE(is_there("database.1"));
	CU_ASSERT_TRUE(is_there("precious.rows"));
	clear();
}

/* A file that has the name of one of ours, but not its header, is not removed. */
TEST("a file that is none of ours")
{
	clear();
	fill("trusted-", LIMIT_CACHE_FILES - 1);
	put("1-0.rows", 9, false);
	load_and_check();
	CU_ASSERT_EQUAL(files(), LIMIT_CACHE_FILES);
	CU_ASSERT_TRUE(is_there("1-0.rows"));
	CU_ASSERT_TRUE(is_there("trusted-00000000.rows"));
	clear();
}

/* A copy of the program that belongs to this user. */
static struct elf_file *copy_for(uid_t owner)
{
	char path[PATH_ROOM], bytes[4096];
	int from = open(PROGRAM, O_RDONLY | O_CLOEXEC), to;
	struct elf_file *copy = NULL;
	ssize_t len;

	snprintf(path, sizeof(path), "%s/copy", top);
	to = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
	while ((len = read(from, bytes, sizeof(bytes))) > 0)
		CU_ASSERT_EQUAL(write(to, bytes, (size_t)len), len);
	close(from);
	unlink(path);
	if (fchown(to, owner, owner))
		close(to);
	else
		CU_ASSERT_PTR_NULL(elf_file_open(to, "copy", &copy));
	return copy;
}

/* An untrusted file takes the place of its owner's files, and its owner has only so many. */
TEST("shares of the room")
{
	unsigned share = LIMIT_CACHE_FILES / 16;
	struct elf_file *copy = copy_for(OTHER);

	if (!copy) {
		unit_skip("not allowed to give a file away");
		return;
	}
	clear();
	fill("trusted-", 10);
	fill("12345-", share);
	fill("77-", 10);
	load_from(copy, dir);
	CU_ASSERT_EQUAL(files(), share + 20);
	CU_ASSERT_FALSE(is_there("12345-00000000.rows"));
	CU_ASSERT_TRUE(is_there("12345-00000001.rows"));
	CU_ASSERT_TRUE(is_there("trusted-00000000.rows"));
	CU_ASSERT_TRUE(is_there("77-00000000.rows"));
	elf_file_close(copy);
	clear();
}

/* What is read is not the next to go. */
TEST("what is read is young")
{
	struct timespec old[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };
	struct stat st;

	clear();
	load_and_check();
	CU_ASSERT_EQUAL(files(), 1);
	CU_ASSERT_EQUAL(utimensat(AT_FDCWD, entry, old, 0), 0);
	load_and_check();
	st = status();
	CU_ASSERT(st.st_mtime > 1000);
}

/* One process adds so many files, and no more. */
TEST("what one process adds")
{
	struct rows_cache cache;
	struct rows rows;

	clear();
	rows_cache_init(&cache, dir);
	for (unsigned i = 0; i < LIMIT_CACHE_NEW + 10; i++) {
		CU_ASSERT_PTR_NULL_FATAL(rows_cache_load(&cache, file, text.vaddr, 4096 + i, &rows));
		rows_free(&rows);
	}
	rows_cache_deinit(&cache);
	CU_ASSERT_EQUAL(files(), LIMIT_CACHE_NEW);
	clear();
}

/* Keys */

static struct rows_key key_of(struct elf_file *of, uint64_t vaddr, uint32_t version)
{
	struct rows_key key = { .trusted = false };

	CU_ASSERT_PTR_NULL(rows_key_make(of, vaddr, text.memsz, version, &key));
	return key;
}

TEST("the key of a trusted file")
{
	struct rows_key key = key_of(file, text.vaddr, 1), again = key_of(file, text.vaddr, 1);
	struct rows_key moved = key_of(file, text.vaddr + 1, 1), later = key_of(file, text.vaddr, 2);

	CU_ASSERT_TRUE(key.trusted);
	CU_ASSERT_TRUE(rows_key_same(&key, &again));
	CU_ASSERT_FALSE(rows_key_same(&key, &moved));
	CU_ASSERT_FALSE(rows_key_same(&key, &later));
}

/* A file that was made a moment ago has the digest for a key, and so has another user's. */
TEST("the key of any other file")
{
	struct elf_file *own = copy_for(geteuid()), *same = copy_for(geteuid());
	struct elf_file *theirs = copy_for(OTHER);
	struct rows_key key = key_of(own, text.vaddr, 1), of_same = key_of(same, text.vaddr, 1);
	struct rows_key moved = key_of(own, text.vaddr + 1, 1), of_theirs;

	CU_ASSERT_FALSE(key.trusted);
	CU_ASSERT_TRUE(rows_key_same(&key, &of_same));
	CU_ASSERT_FALSE(rows_key_same(&key, &moved));
	if (theirs) {
		of_theirs = key_of(theirs, text.vaddr, 1);
		CU_ASSERT_FALSE(of_theirs.trusted);
		CU_ASSERT_FALSE(rows_key_same(&key, &of_theirs));
	}
	elf_file_close(own);
	elf_file_close(same);
	elf_file_close(theirs);
}
