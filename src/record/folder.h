/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The files of a recording (docs/record-format.md, "The folder"). */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/vec.h"

#define RECORD_FOLDER_LOCK	"lock"
#define RECORD_FOLDER_NEXT	"next.tmp"
#define RECORD_FOLDER_FILES	100000u		/* segments that there may be */

struct record_file {
	uint64_t number;
	struct stat st;
};

struct record_files {
	VEC(struct record_file) vec;	/* in order of their numbers */
};

/* The name of a segment's file. */
struct record_file_name {
	char text[32];
};

struct record_file_name record_folder_name(uint64_t number);
/* The segments that are there. The caller frees the vector, also after an error. */
struct err *record_folder_list(int dir_fd, struct record_files *ret) MUST_CHECK;
/* Open a segment for reading. ERR_NOTFOUND: it is not there any more. */
struct err *record_folder_open(int dir_fd, uint64_t number, struct stat *st_ret,
			       int *fd_ret) MUST_CHECK;
/* Does a recorder write to it now? */
bool record_folder_is_locked(int dir_fd);
