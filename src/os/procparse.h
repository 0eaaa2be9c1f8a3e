/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The text of /proc files, parsed: no file is opened here, so that what no test machine shows (odd
 * names, torn files, 65,530 mappings) can be given as text. The formats are proc(5)'s; texts are
 * NUL-terminated.
 */
#pragma once

#include "os/procfs.h"

/*
 * /proc/TID/maps. The kernel gives about a page of it at a time, and mappings may come, go and
 * merge in between, so one may be told twice or overlap the one before: the later word counts, and
 * the result is sorted and does not overlap. ERR_FORMAT for a line that is none.
 */
struct err *procparse_maps(const char *text, struct proc_maps *ret) MUST_CHECK;
/*
 * Lines that are not known are passed over; what is not told is 0. ERR_FORMAT without a Pid line.
 */
struct err *procparse_status(const char *text, struct proc_status *ret) MUST_CHECK;
/* The name in it may hold anything, ") R 1" as well. */
struct err *procparse_stat(const char *text, struct proc_stat *ret) MUST_CHECK;
/* Numbers with blanks between. */
struct err *procparse_pids(const char *text, struct proc_tasks *ret) MUST_CHECK;
/* Pairs of words as /proc/TID/auxv has them; bytes need not be aligned. ERR_NOTFOUND. */
struct err *procparse_auxv(const void *bytes, size_t len, uint64_t type, uint64_t *ret) MUST_CHECK;
