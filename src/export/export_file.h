/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The file that an export writes. At every moment its name leads to the old file as it was, or to
 * the whole new one: mdbg writes a file in the same folder, under a name that nobody can guess, and
 * renames it at the end. If mdbg is killed in between, that file `.mdbg-…` is left behind.
 *
 *	a regular file	is replaced. The new file gets its mode, and its owner if mdbg may set that. A
 *			symbolic link stays, and the file that it leads to is replaced. If mdbg may not
 *			write to the file, it is not replaced either, though a rename could do so.
 *	no file		A new file gets the mode that the umask leaves.
 *	a FIFO or a	must stay, so mdbg writes to it as it is: the user has named it, and it has no
 *	character	contents that could be lost. A FIFO without a reader is an error, because nobody
 *	device		knows whether a reader will come. A format that must seek gets ERR_UNSUPPORTED.
 *	mdbg's own	If standard output or error is a regular file, mdbg writes to it as it is, because
 *	output		other commands may have printed to it already.
 *	anything else	(a folder, a block device, a socket, a link that leads nowhere) is an error,
 *			and so is what somebody has planted (os/trust.h).
 *
 * The first error of writing is kept, and all later text is dropped; export_file_end returns the
 * error. Each error names the file. Ctrl-C ends the writing (ERR_CANCELLED), even if the reader of a
 * pipe does not read.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"

struct export_file;

/* If plain is true, only a regular file will do. */
struct err *export_file_begin(const char *name, bool plain, struct export_file **ret) MUST_CHECK;
void export_file_bytes(struct export_file *file, const void *bytes, size_t len);
static inline void export_file_text(struct export_file *file, const char *text)
{
	export_file_bytes(file, text, strlen(text));
}
void export_file_f(struct export_file *file, const char *fmt, ...) PRINTF(2, 3);
void export_file_number(struct export_file *file, uint64_t value);
/* Add an error of the format or of a library that it uses. The first error of all is kept. */
void export_file_fail(struct export_file *file, struct err *err);
/* Returns the first error so far, or NULL. Long loops call this, because it notices Ctrl-C. */
struct err *export_file_check(struct export_file *file) MUST_CHECK;
/*
 * Returns the path of the new file, which exists and is empty at first, for a library that opens its
 * file by itself. NULL: the file is written to as it is, which never happens if plain was true.
 */
const char *export_file_path(const struct export_file *file);
/* Returns the name that the user has given, for errors. */
const char *export_file_name(const struct export_file *file);
/*
 * Give the new file its name, unless err or an earlier error says that it is not whole. Frees file.
 * Returns the first error of all.
 */
struct err *export_file_end(struct export_file *file, struct err *err) MUST_CHECK;
