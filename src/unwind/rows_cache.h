/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Compiled rows, kept from one run of mdbg to the next: a folder with a file for each module, a
 * header and the rows. unwind/rows_key.h says what the name and the header of a file are made of.
 *
 * The folder is opened once, and only if it is trusted (os/trust.h): in another user's HOME there
 * is no cache. All that is done in it is done by its descriptor. A file counts only if it is
 * unchanged (by a checksum) and belongs to the user who runs mdbg. It is written under another
 * name and renamed, so that the last one of two mdbgs wins and nobody reads half a file.
 *
 * The oldest files make room for new ones; a read makes a file young again (once a day, since each
 * time is a write to the disk). One hostile process must not push out what others need: files of
 * untrusted modules have a share of their own, of which one owner gets a part, and one process (a
 * struct rows_cache) adds no more than LIMIT_CACHE_NEW files. Only what has the name and the header
 * of such a file is counted, or ever removed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct elf_file;
struct rows;

struct rows_cache {
	const char *dir;	/* it belongs to the caller; NULL: there is no cache */
	int dir_fd;		/* -1: not opened yet */
	bool unusable;
	unsigned added;
	/*
	 * The room that was left when the folder was last looked through, less what was added
	 * since.
	 */
	struct {
		bool known, trusted;
		uid_t owner;
		uint64_t files, bytes;
	} room;
};

void rows_cache_init(struct rows_cache *cache, const char *dir);
/* It may be used again, as for another process. */
void rows_cache_deinit(struct rows_cache *cache);
/*
 * Make rows as rows_compile does, or take those that were made before. A cache file that is stale,
 * torn or from another version is replaced; a cache that cannot be written is no error.
 */
struct err *rows_cache_load(struct rows_cache *cache, struct elf_file *file, uint64_t vaddr,
			    uint64_t size, struct rows *ret) MUST_CHECK;
