/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The file that an export writes. Under its name is either the old file, as it was, or the new one,
 * whole: it is written beside (in the same folder, under a name that nobody can guess) and renamed
 * at the end. If mdbg is killed in between, what stays behind is a file `.mdbg-…`.
 *
 *	a regular file	is replaced. The new one has its mode, and its owner where mdbg may set that. A
 *			symbolic link stays: what it leads to is replaced. A file that mdbg may not write
 *			to is not replaced either, though a rename could.
 *	no file		gets the mode that the umask leaves
 *	FIFO, character	cannot be renamed to, and must stay. It is written to as it is (/dev/stdout, a
 *	device		FIFO that another tool reads): that was asked for by name, and nothing is lost by
 *			it. A FIFO without a reader is an error, since nobody knows whether one comes.
 *			ERR_UNSUPPORTED for a format that needs a file to seek in.
 *	mdbg's own	standard output or error that leads to a regular file: the same, since what other
 *	output		commands have printed there must stay
 *	anything else	(folder, block device, socket, a link that leads nowhere) is an error
 *
 * Writing keeps its first error, and drops all later text; export_file_end returns it. Each error
 * names the file. Ctrl-C ends the writing (ERR_CANCELLED), also while the reader of a pipe sleeps.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"

struct export_file;

/* plain: it must be a regular file. */
struct err *export_file_begin(const char *name, bool plain, struct export_file **ret) MUST_CHECK;
void export_file_bytes(struct export_file *file, const void *bytes, size_t len);
static inline void export_file_text(struct export_file *file, const char *text)
{
	export_file_bytes(file, text, strlen(text));
}
void export_file_f(struct export_file *file, const char *fmt, ...) PRINTF(2, 3);
void export_file_number(struct export_file *file, uint64_t value);
/* An error of the format's own, or of a library's that it writes with. The first one stays. */
void export_file_fail(struct export_file *file, struct err *err);
/* The first error so far, for loops that make much text; NULL. Ctrl-C is looked for here, too. */
struct err *export_file_check(struct export_file *file) MUST_CHECK;
/*
 * The path of what is being written, for a library that opens it by itself; it is there, and empty.
 * NULL: it is written to as it is, which a file that was begun as `plain` never is.
 */
const char *export_file_path(const struct export_file *file);
/* The name that it is to have, for errors. */
const char *export_file_name(const struct export_file *file);
/*
 * Put it under its name, unless err, or an error of before, says that it is not whole. Frees it.
 * The first error of all.
 */
struct err *export_file_end(struct export_file *file, struct err *err) MUST_CHECK;
