/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Walks along a path one name at a time, and asks a rule about each.
 *
 * A check of a path by its name says nothing about what a later open() of that name finds, if
 * somebody else may write to a folder on the way. So each name is opened below the descriptor of
 * the folder before it (O_PATH | O_NOFOLLOW, which opens nothing), the rule sees the descriptor's
 * own facts, and what the walk ends with is a descriptor, too. Symbolic links are followed by the
 * walk itself, so that the rule sees each of them and each folder that it leads through. Only the
 * kernel's own links in /proc (/proc/self/fd/1, so /dev/stdout as well) are followed by the
 * kernel: their text is no path, and nobody can make one.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "base/err.h"

/* A name that is about to be looked up, or that was found. */
struct path_step {
	const char *path;		/* as the walk was given it, for messages */
	const struct stat *dir;
	const struct stat *entry;	/* NULL: it has not been looked up */
	bool missing;			/* it was looked up, and is not there */
	const void *ctx;
};

/* An error ends the walk. */
typedef struct err *path_rule(const struct path_step *step);

struct path_end {
	int dir_fd;		/* O_PATH; -1: the end was found by a link of the kernel's */
	int fd;			/* O_PATH; -1: the folder has no such name */
	char name[NAME_MAX + 1];	/* in the folder, after all links */
	bool linked;		/* a symbolic link leads to this name */
	struct stat dir, st;	/* of both, where there is a descriptor */
};

#define PATH_END_INIT	{ .dir_fd = -1, .fd = -1 }

/*
 * Walk to the end of path. A path without a slash at its start begins at the current folder. make:
 * folders that are missing are made, mode 0700. A last name that is not there is no error; a
 * missing folder is one of ERR_SYS (errnum ENOENT). On failure *ret has no descriptors.
 */
struct err *path_walk(const char *path, path_rule *rule, const void *ctx, bool make,
		      struct path_end *ret) MUST_CHECK;
void path_walk_end_free(struct path_end *end);
