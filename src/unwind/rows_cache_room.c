/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Room for one more file in the folder of rows (theory in rows_cache.h). */

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "unwind/rows_cache_private.h"

/* A share of the folder: what is in it, and its oldest file. */
struct share {
	uint64_t most_files, most_bytes;
	uint64_t files, bytes;
	struct timespec oldest_time;
	char oldest[NAME_MAX + 1];
};

/* The shares that a file must find room in, the widest first. */
enum { SHARE_ALL, SHARE_UNTRUSTED, SHARE_OWNER, SHARES };

struct folder {
	struct share shares[SHARES];
	bool trusted;
	uid_t owner;
};

static struct share share_of(uint64_t most_files, uint64_t most_bytes)
{
	return (struct share){ .most_files = most_files, .most_bytes = most_bytes };
}

static bool is_older(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec < b->tv_sec || (a->tv_sec == b->tv_sec && a->tv_nsec < b->tv_nsec);
}

static void share_add(struct share *share, const char *name, const struct stat *st)
{
	if (!share->files || is_older(&st->st_mtim, &share->oldest_time)) {
		share->oldest_time = st->st_mtim;
		snprintf(share->oldest, sizeof(share->oldest), "%s", name);
	}
	share->files++;
	share->bytes += (uint64_t)st->st_size;
}

/* Is this the name of a file of ours? Those of earlier versions had the build-id for the owner. */
static bool parse_name(const char *name, bool *trusted_ret, uid_t *owner_ret)
{
	size_t len = strlen(ROWS_CACHE_TRUSTED), digits;
	const char *key = name;

	*trusted_ret = !strncmp(name, ROWS_CACHE_TRUSTED, len);
	*owner_ret = *trusted_ret ? ROWS_KEY_NOBODY : (uid_t)strtoul(name, NULL, 10);
	if (*trusted_ret)
		key += len;
	else if (strspn(name, "0123456789abcdef"))
		key += strspn(name, "0123456789abcdef");
	else
		return false;
	key += !*trusted_ret && *key == '-';
	digits = strspn(key, "0123456789abcdef");
	return digits && !strncmp(key + digits, ".rows", 5) &&
	       (!key[digits + 5] || key[digits + 5] == '.');
}

static void folder_add(struct folder *folder, int dir_fd, const char *name)
{
	struct stat st;
	bool trusted;
	uid_t owner;

	if (!parse_name(name, &trusted, &owner) ||
	    fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode) ||
	    st.st_uid != geteuid())
		return;
	share_add(&folder->shares[SHARE_ALL], name, &st);
	if (!trusted)
		share_add(&folder->shares[SHARE_UNTRUSTED], name, &st);
	if (!trusted && owner == folder->owner)
		share_add(&folder->shares[SHARE_OWNER], name, &st);
}

static bool folder_read(int dir_fd, const struct rows_key *key, struct folder *ret)
{
	int fd AUTO_CLOSE = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;

	*ret = (struct folder){
		.shares = {
			[SHARE_ALL] = share_of(LIMIT_CACHE_FILES, LIMIT_CACHE),
			[SHARE_UNTRUSTED] = share_of(LIMIT_CACHE_FILES / 4, LIMIT_CACHE / 4),
			[SHARE_OWNER] = share_of(LIMIT_CACHE_FILES / 16, LIMIT_CACHE / 8),
		},
		.trusted = key->trusted, .owner = key->owner,
	};
	if (!dir)
		return false;
	take_fd(fd);
	while ((entry = readdir(dir)))
		folder_add(ret, dir_fd, entry->d_name);
	closedir(dir);
	return true;
}

/* Remove a file if it has our header. */
static bool remove_file(int dir_fd, const char *name)
{
	int fd AUTO_CLOSE = openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	char magic[sizeof(ROWS_CACHE_MAGIC) - 1];

	return fd >= 0 && read(fd, magic, sizeof(magic)) == (ssize_t)sizeof(magic) &&
	       !memcmp(magic, ROWS_CACHE_MAGIC, sizeof(magic)) && !unlinkat(dir_fd, name, 0);
}

/* A share that lacks room for so many bytes; NULL: none does. */
static const struct share *find_full(const struct folder *folder, uint64_t bytes)
{
	for (unsigned i = 0; i < (folder->trusted ? 1 : SHARES); i++) {
		const struct share *share = &folder->shares[i];

		if (share->files >= share->most_files || share->bytes + bytes > share->most_bytes)
			return share;
	}
	return NULL;
}

static void note_room(struct rows_cache *cache, const struct folder *folder)
{
	cache->room.known = true;
	cache->room.trusted = folder->trusted;
	cache->room.owner = folder->owner;
	cache->room.files = cache->room.bytes = UINT64_MAX;
	for (unsigned i = 0; i < (folder->trusted ? 1 : SHARES); i++) {
		const struct share *share = &folder->shares[i];

		cache->room.files = MIN(cache->room.files, share->most_files - share->files);
		cache->room.bytes = MIN(cache->room.bytes, share->most_bytes - share->bytes);
	}
}

static bool take_room(struct rows_cache *cache, const struct rows_key *key, uint64_t bytes)
{
	if (!cache->room.known || cache->room.trusted != key->trusted ||
	    cache->room.owner != key->owner || !cache->room.files || cache->room.bytes < bytes)
		return false;
	cache->room.files--;
	cache->room.bytes -= bytes;
	return true;
}

bool rows_cache_room_make(struct rows_cache *cache, const struct rows_key *key, uint64_t bytes)
{
	const struct share *full;
	struct folder folder;

	if (take_room(cache, key, bytes))
		return true;
	cache->room.known = false;
	while (folder_read(cache->dir_fd, key, &folder)) {
		full = find_full(&folder, bytes);
		if (!full) {
			note_room(cache, &folder);
			return take_room(cache, key, bytes);
		}
		if (!full->files || !remove_file(cache->dir_fd, full->oldest))
			return false;
	}
	return false;
}
