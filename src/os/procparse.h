/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Parses the text of /proc files. No file is opened here, so that tests can pass texts that no test
 * machine has (odd names, torn files, 65,530 mappings). proc(5) describes the formats; texts are
 * NUL-terminated.
 */
#pragma once

#include "os/procfs.h"

/*
 * Parse /proc/TID/maps. The kernel gives about a page of it at a time, and mappings may come, go
 * and merge in between, so a mapping may come twice or overlap the one before. Then the later line
 * is right, and the result is sorted and does not overlap. ERR_FORMAT: a line has another format.
 */
struct err *procparse_maps(const char *text, struct proc_maps *ret) MUST_CHECK;
/*
 * Add one such line of len bytes, behind which the text goes on or ends. Mappings that it
 * contradicts are removed or cut off. ERR_FORMAT.
 */
struct err *procparse_add_map(struct proc_maps *maps, const char *line, size_t len) MUST_CHECK;
/*
 * Lines that are not known are skipped, and members without a line are 0. ERR_FORMAT without a Pid
 * line.
 */
struct err *procparse_status(const char *text, struct proc_status *ret) MUST_CHECK;
/* The name in it may contain anything, also ") R 1". */
struct err *procparse_stat(const char *text, struct proc_stat *ret) MUST_CHECK;
/* Parse numbers with blanks between them. */
struct err *procparse_pids(const char *text, struct proc_tasks *ret) MUST_CHECK;
/* Parse pairs of words as /proc/TID/auxv has them; bytes need not be aligned. ERR_NOTFOUND. */
struct err *procparse_auxv(const void *bytes, size_t len, uint64_t type, uint64_t *ret) MUST_CHECK;
