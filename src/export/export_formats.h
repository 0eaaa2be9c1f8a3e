/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The formats of `export`. Each has a file and a row in a table. If a format needs a library which
 * was not there when mdbg was built, it still has a row, which names the library.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct answer;
struct export_file;
struct export_rows;
struct model;
struct owners;
struct stack_names;
struct str;

enum export_wants {
	EXPORT_FREED	= 1 << 0,	/* the model's part `freed` */
	EXPORT_BLOCKS	= 1 << 1,	/* the model's blocks */
	EXPORT_PLAIN	= 1 << 2,	/* a regular file, and no FIFO or device */
	/* only what all kinds of memory have: no heaps, no all-time and freed figures */
	EXPORT_ANY	= 1 << 3,
	/* besides: the free bytes that blocks keep (model->pinned), if it has not EXPORT_ANY */
	EXPORT_PINS	= 1 << 4,
	EXPORT_CHANGES	= 1 << 5,	/* besides: figures less than 0 (model->changes) */
	EXPORT_GROWTH	= 1 << 6,	/* besides: what `growth` has, if it has not EXPORT_ANY */
};

struct export_format {
	const char *name;	/* as users type it */
	const char *brief;	/* one line, no capital, no full stop */
	unsigned wants;
	const char *library;	/* the library that this mdbg was built without; NULL: none */
	const char *package;	/* the Debian package that has the library */
	/* The format may leave errors of writing to the file, which keeps them. */
	struct err *(*write)(const struct model *model, struct export_file *file);
	/* It has columns, so any answer can be written: sites too, if there is no `write`. */
	struct err *(*rows)(struct export_rows *rows, struct export_file *file);
	/* In place of both: it writes all blocks with their pointers (answer/owner_rows.h). */
	struct err *(*owners)(struct stack_names *names, const struct owners *owners,
			      struct export_file *file);
};

/* All of them, in the order of `help`; ends with NULL. */
extern const struct export_format *const export_formats[];
/* ERR_USAGE: no such format; ERR_UNSUPPORTED: built without its library. */
struct err *export_format_find(const char *name, const struct export_format **ret) MUST_CHECK;
/* Can it write the rows of any list, and not only sites? */
bool export_format_has_lists(const struct export_format *format);
/* Can it write an answer of `growth`: what its stacks hold, or its rows? */
bool export_format_has_growth(const struct export_format *format);
/* Can it write an answer of `malloc diff`, by stack or its rows? */
bool export_format_has_changes(const struct export_format *format);
/* Can it write an answer of `malloc pins`, by stack or its rows? */
bool export_format_has_pins(const struct export_format *format);
/*
 * Add the names of the formats for which `is` holds (NULL: of all) to *ret, in order: "json, csv or
 * sqlite".
 */
struct err *export_format_names(bool (*is)(const struct export_format *format),
				struct str *ret) MUST_CHECK;

struct export_done {
	/* The file is written to as it is: its reader expects nothing but the format. */
	bool stream;
	uint64_t rows;		/* of an answer */
};

/*
 * Write the model, or the rows of an answer (may be NULL) with the model's stacks, in this format to
 * the file of that name, whole or not at all (export_file.h).
 */
struct err *export_format_write(const struct export_format *format, const struct model *model,
				struct answer *answer, const char *name,
				struct export_done *ret) MUST_CHECK;
/* The same of a format with `owners`, which must have kept their pointers. */
struct err *export_format_write_owners(const struct export_format *format,
				       struct stack_names *names, const struct owners *owners,
				       const char *name, struct export_done *ret) MUST_CHECK;
