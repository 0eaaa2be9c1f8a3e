/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Why a file cannot be read, and what to do about it: the hint of an error that has named it. */
#ifndef CMD_UNREAD_H
#define CMD_UNREAD_H

#include "base/err.h"

struct str;

/*
 * Add what the file system has to say of path as it is now; nothing if it may be read. Names near a
 * missing one are looked for in its folder.
 */
struct err *unread_why(const char *path, struct str *ret) MUST_CHECK;
/* The same as the hint of err, if that has none. */
struct err *unread_hint(struct err *err, const char *path) MUST_CHECK;

#endif
