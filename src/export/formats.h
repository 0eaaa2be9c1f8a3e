/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The formats of `export`: one row each, and one file each. A format that needs a library which was
 * not there when mdbg was built has a row all the same, that names the library.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"

struct export_file;
struct model;

enum export_wants {
	EXPORT_FREED	= 1 << 0,	/* the model's part `freed` */
	EXPORT_BLOCKS	= 1 << 1,	/* the model's blocks */
	EXPORT_PLAIN	= 1 << 2,	/* a regular file: no FIFO, no device */
};

struct export_format {
	const char *name;	/* as it is typed */
	const char *brief;	/* for help: a line, no capital, no full stop */
	unsigned wants;
	const char *library;	/* that this mdbg was built without; NULL: the format is there */
	const char *package;	/* Debian's, that has the library; with it */
	/* Errors of writing may be left to the file. */
	struct err *(*write)(const struct model *model, struct export_file *file);
};

/* All of them, in the order of `help`; ends with NULL. */
extern const struct export_format *const export_formats[];
/* ERR_USAGE: no such format; ERR_UNSUPPORTED: built without its library. */
struct err *export_format_find(const char *name, const struct export_format **ret) MUST_CHECK;
/*
 * Write the model in this format to the file of that name, whole or not at all (file.h).
 * *stream_ret: it is written to as it is, and its reader expects nothing else (file.h).
 */
struct err *export_write(const struct export_format *format, const struct model *model,
			 const char *name, bool *stream_ret) MUST_CHECK;
