/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The head of an export to SQLite says whose file it is, of which version, and how long it is. It
 * is read without SQLite, which need not see files that are none of ours.
 */
#pragma once

#include "base/err.h"

/*
 * Open the file and check its head; the caller closes it. ERR_SYS, ERR_PERM: the file cannot be
 * read; ERR_FORMAT: it is no export, or has another length than its head says; ERR_UNSUPPORTED: it
 * is an export of a newer mdbg.
 */
struct err *sqlite_head_open(const char *name, int *ret) MUST_CHECK;
