/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compiled rows in files (theory in rows_cache.h). rows_cache_room.c makes room for them. */

#include "unwind/rows_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/sum.h"
#include "base/trace.h"
#include "elf/elf_file.h"
#include "os/trust.h"
#include "unwind/rows_cache_private.h"
#include "unwind/rows_compile.h"
#include "unwind/rows_key.h"

#define CACHE_VERSION	4	/* raised whenever rows, or the way they are compiled, change */
#define YOUNG_S		86400

/* The header has the byte order of the machine that made it. */
struct cache_header {
	char magic[8];
	uint32_t version;
	uint32_t row_size;
	uint8_t key[DIGEST_BYTES];
	uint64_t rows_sum;
	uint32_t nr;
	uint32_t pad;
};

/* The header that a file for these rows must have, except for nr and rows_sum. */
static struct cache_header header_of(const struct rows_key *key)
{
	struct cache_header header = { .version = CACHE_VERSION, .row_size = sizeof(struct row) };

	memcpy(header.magic, ROWS_CACHE_MAGIC, sizeof(header.magic));
	memcpy(header.key, key->bytes, sizeof(header.key));
	return header;
}

static void name_of(const struct rows_key *key, char ret[ROWS_CACHE_NAME])
{
	char *at = ret;

	if (key->trusted)
		at += sprintf(at, ROWS_CACHE_TRUSTED);
	else
		at += sprintf(at, "%" PRIu32 "-", (uint32_t)key->owner);
	for (unsigned i = 0; i < sizeof(key->bytes); i++)
		at += sprintf(at, "%02x", key->bytes[i]);
	strcpy(at, ".rows");
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
static bool header_read(int fd, const struct stat *st, const struct cache_header *want,
			struct cache_header *ret)
{
	struct cache_header found;

	if (!S_ISREG(st->st_mode) || st->st_uid != geteuid() ||
	    !transfer(fd, &found, sizeof(found), false))
		return false;
	*ret = found;
	found.nr = 0;
	found.rows_sum = 0;
	if (memcmp(&found, want, sizeof(found)))
		return false;
	return (uint64_t)st->st_size == sizeof(found) + (uint64_t)ret->nr * sizeof(struct row);
}

/* Files that are used count as younger than files that are not. */
static void make_young(int fd, const struct stat *st)
{
	struct timespec now;

	if (!clock_gettime(CLOCK_REALTIME, &now) && now.tv_sec - st->st_mtim.tv_sec > YOUNG_S &&
	    futimens(fd, NULL))
		trace_line("the cache of unwind rows: the time of a file cannot be set");
}

/*
 * Read the rows from the cache. False: there are no valid ones. False also without memory; the
 * compilation then reports that.
 */
static bool cache_read(int dir_fd, const char *name, const struct cache_header *want,
		       struct rows *ret)
{
	int fd AUTO_CLOSE = openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct row *row AUTO_FREE = NULL;
	struct cache_header header;
	struct stat st;
	struct err *err;
	size_t len;

	if (fd < 0 || fstat(fd, &st) || !header_read(fd, &st, want, &header) || !header.nr ||
	    header.nr > LIMIT_ROWS)
		return false;
	len = header.nr * sizeof(*row);
	row = malloc(len);
	if (!row || !transfer(fd, row, len, false))
		return false;
	if (sum_bytes(0, row, len) != header.rows_sum || !rows_valid(row, header.nr))
		return false;
	err = rows_create(row, header.nr, ret);
	if (!err)
		make_young(fd, &st);
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

static struct err *cache_write(struct rows_cache *cache, const struct rows_key *key,
			       const char *name, const struct rows *rows)
{
	struct cache_header header = header_of(key);
	char aside[ROWS_CACHE_NAME + 17];
	int fd AUTO_CLOSE = -1;
	uint64_t number;
	struct err *err;

	if (cache->added == LIMIT_CACHE_NEW ||
	    !rows_cache_room_make(cache, key, sizeof(header) + rows->nr * sizeof(*rows->row)))
		return NULL;
	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return err_sys("getrandom");
	snprintf(aside, sizeof(aside), "%s.%016" PRIx64, name, number);
	fd = openat(cache->dir_fd, aside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_sys("%s", name);
	if (cache_fill(fd, &header, rows) &&
	    !renameat(cache->dir_fd, aside, cache->dir_fd, name)) {
		cache->added++;
		return NULL;
	}
	err = err_sys("%s", name);
	unlinkat(cache->dir_fd, aside, 0);
	return err;
}

void rows_cache_init(struct rows_cache *cache, const char *dir)
{
	*cache = (struct rows_cache){ .dir = dir, .dir_fd = -1, .unusable = !dir };
}

void rows_cache_deinit(struct rows_cache *cache)
{
	if (cache->dir_fd >= 0)
		close(cache->dir_fd);
	rows_cache_init(cache, cache->dir);
}

/* Open the folder, or make it. */
static bool is_usable(struct rows_cache *cache)
{
	int fd AUTO_CLOSE = -1;
	struct err *err;

	if (cache->unusable || cache->dir_fd >= 0)
		return !cache->unusable;
	err = trust_folder(cache->dir, true, &fd);
	if (!err) {
		cache->dir_fd = fd_keep(fd);
		err = cache->dir_fd < 0 ? err_sys("%s", cache->dir) : NULL;
	}
	if (err)
		trace_line("there is no cache of unwind rows: %s", err->msg);
	cache->unusable = err != NULL;
	return !err;
}

static struct err *make_key(struct elf_file *file, uint64_t vaddr, uint64_t size,
			    struct rows_key *ret)
{
	return rows_key_make(file, vaddr, size, CACHE_VERSION, ret);
}

/*
 * Keep the rows, unless the file has changed while they were made, or parts of it are over a limit:
 * whoever makes the rows anew says so.
 */
static void keep(struct rows_cache *cache, struct elf_file *file, uint64_t vaddr,
		 const struct rows_key *key, uint64_t size, const char *name,
		 const struct rows *rows)
{
	struct rows_key now;
	struct err *err = *elf_file_doubt(file) ? NULL : make_key(file, vaddr, size, &now);

	if (!err && !*elf_file_doubt(file) && rows_key_same(key, &now))
		err = cache_write(cache, key, name, rows);
	if (err)
		trace_line("the cache of unwind rows cannot be written: %s", err->msg);
}

struct err *rows_cache_load(struct rows_cache *cache, struct elf_file *file, uint64_t vaddr,
			    uint64_t size, struct rows *ret)
{
	char name[ROWS_CACHE_NAME];
	struct cache_header header;
	struct rows_key key;
	struct err *err;

	if (!is_usable(cache))
		return rows_compile(file, vaddr, size, ret);
	err = make_key(file, vaddr, size, &key);
	if (err && err->code == ERR_UNSUPPORTED)
		return rows_compile(file, vaddr, size, ret);
	if (err)
		return err;
	name_of(&key, name);
	header = header_of(&key);
	if (cache_read(cache->dir_fd, name, &header, ret))
		return NULL;
	err = rows_compile(file, vaddr, size, ret);
	if (!err)
		keep(cache, file, vaddr, &key, size, name, ret);
	return err;
}
