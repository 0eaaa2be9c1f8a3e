/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the rows of an answer consist of, said once. A relation lists the columns of a row, which is
 * a C struct: where the value lies in it, what it is, how it is called, and when it is known. All
 * outputs are writers over it: dicts of Tcl (cmd/tcl_rows.h), tables of text (report/rows_text.h,
 * report/blocks.h), CSV, JSON and SQL (export/rows.h), and the keys in `help mdbg::NAME`. So a new
 * figure is a member of the struct and a line of its table.
 *
 *	const struct column thread_columns[] = {
 *		{ "thread", ">THREAD", "LWP id", COLUMN(NUMBER, struct thread_row, lwp) },
 *		{ "pthread", "PTHREAD_T", NULL, COLUMN(ADDRESS, struct thread_row, pthread),
 *		  .flags = COLUMN_0_UNKNOWN },
 *	};
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

struct answer;

/* What a value is, which decides how each output shows it. */
enum column_kind {
	COLUMN_NUMBER,		/* an unsigned integer of any width, or a bool (0, 1) */
	COLUMN_BYTES,		/* the same; bytes */
	COLUMN_CHANGE,		/* int64_t, with its sign */
	COLUMN_AGE,		/* uint64_t, ns; scripts get seconds */
	COLUMN_TIME,		/* uint64_t, ns since the epoch; scripts get seconds */
	COLUMN_REAL,		/* double */
	COLUMN_ADDRESS,		/* uint64_t, "0x1234" */
	COLUMN_HEAP,		/* uint16_t: a number, "mmap", "user" (block_heap_name) */
	COLUMN_TEXT,		/* const char *; NULL is empty */
	COLUMN_STACK,		/* uint32_t: what mdbg::frames takes; exports have its frames */
	COLUMN_ROWS,		/* struct answer: a list of rows of its own */
};

enum column_flags {
	COLUMN_0_UNKNOWN	= 1 << 0,	/* 0, or NULL: it is not known */
	COLUMN_MAX_UNKNOWN	= 1 << 1,	/* UINT64_MAX: it is not known */
	/* Where it is not known a dict does not have the key; otherwise the value is `-`. */
	COLUMN_ABSENT		= 1 << 2,
	COLUMN_EMPTY		= 1 << 3,	/* where it is not known the value is empty */
	COLUMN_BRIEF		= 1 << 4,	/* it is in the lines of -brief */
	COLUMN_VERBOSE		= 1 << 5,	/* it is in a table of text with -v only */
	COLUMN_NOT_IN_TCL	= 1 << 6,
	COLUMN_NOT_EXPORTED	= 1 << 7,	/* exports say it otherwise, as by frames */
	COLUMN_SAME		= 1 << 8,	/* all rows have the same: there is no order by it */
};

struct column {
	const char *key;	/* of scripts and files: one word, small letters */
	/* of tables, ">SIZE": aligned to the right; NULL: it is in none */
	const char *title;
	const char *help;	/* for a line of `help`; NULL: the key says it all */
	enum column_kind kind;
	const struct relation *rows;	/* of COLUMN_ROWS */
	uint16_t at, size;	/* the member */
	/* It is known only if this member is not 0; with_size 0: always. */
	uint16_t with, with_size;
	unsigned flags;		/* enum column_flags */
	uint8_t width;		/* of a table of many rows, with a blank; 0: none is set */
	/* The order in which a narrow terminal leaves columns out, 1 first; 0: it never does. */
	uint8_t leaves;
};

#define COLUMN(is, row, member)						\
	.kind = COLUMN_##is, .at = offsetof(row, member), .size = sizeof(((row *)0)->member)
/* The column is known only if that member is not 0. */
#define COLUMN_WITH(row, member)					\
	.with = offsetof(row, member), .with_size = sizeof(((row *)0)->member)

struct relation {
	const char *name;	/* the name of its table in SQL, and in messages: "allocations" */
	const struct column *columns;
	size_t nr;
	size_t size;		/* of a row */
	/*
	 * Rows stay valid as long as the answer does, and several answers may hold the same rows.
	 */
	bool shared;
};

#define RELATION(is, table, row)					\
	{ .name = is, .columns = table, .nr = ARRAY_SIZE(table), .size = sizeof(row) }

struct column_value {
	bool known;
	uint64_t number;	/* of integers; a change is cast */
	double real;		/* of reals, and the seconds of ages and times */
	const char *text;	/* never NULL */
	const struct answer *rows;
};

struct column_value column_get(const struct column *column, const void *row);
/*
 * What a value of this kind is, for `help`: "bytes", "seconds". "" for those that say it
 * themselves.
 */
const char *column_kind_help(const struct column *column);
/* Is it one of the kinds whose value is `real`? */
bool column_is_real(const struct column *column);
/* NULL: there is no such key. */
const struct column *relation_find(const struct relation *relation, const char *key);
