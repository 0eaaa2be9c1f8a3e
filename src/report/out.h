/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where the text of a command goes: a descriptor (standard output, a file, a pipe, a pager).
 * Everything that prints results prints to a struct out and to nothing else.
 *
 * Bytes that a terminal obeys are taken out of all text here (base/outside.h), whoever printed it.
 * A line of text from outside could not be told from one of mdbg's own any more at this point: such
 * text has a type of its own, and is printed by out_outside.
 *
 * Errors are sticky: after the first failed write all further text is dropped, and out_finish
 * returns the error. A loop that makes much text asks out_done() now and then, which is true after
 * an error and when the reader has gone.
 */
#pragma once

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/compiler.h"
#include "base/err.h"
#include "base/outside.h"
#include "base/str.h"

#define OUT_ROOM	(256 << 10)

struct out {
	char *buf;		/* OUT_ROOM bytes */
	size_t len;
	int fd;
	char name[256]; /* of what is written to, for errors: "standard output", a file's name */
	bool reader_may_leave;	/* a broken pipe is the reader's wish, no error */
	bool left;		/* it has left */
	bool color;		/* text may be bold or dim */
	bool failed;
	struct err error;	/* if failed */

	/*
	 * A terminal: longer lines are broken at blanks, and go on four blanks deeper. 0: no
	 * terminal; lines are as they are made.
	 */
	size_t columns;
	struct str line;	/* what there is of the last line, where columns is not 0 */
	bool units;		/* bytes with K, M, G, T */

	/*
	 * A pager: called once, when more than page_lines lines (0: never) have come, before
	 * anything is written. It may change fd, reader_may_leave and name.
	 */
	void (*page)(struct out *out);
	void *page_ctx;
	unsigned page_lines, lines;
};

/* fd is the caller's to close, after out_finish. */
struct err *out_init_fd(struct out *out, int fd, const char *name) MUST_CHECK;
/* Write what is left; the first error of all, or NULL. Frees the buffer. */
struct err *out_finish(struct out *out) MUST_CHECK;
/* Write what there is now. */
void out_flush(struct out *out);
bool out_done(const struct out *out);

void out_bytes(struct out *out, const void *bytes, size_t len);
static inline void out_text(struct out *out, const char *text)
{
	out_bytes(out, text, strlen(text));
}

/* Text from outside, in one line whatever it is. */
void out_outside(struct out *out, struct outside text);
void out_f(struct out *out, const char *fmt, ...) PRINTF(2, 3);
/* n blanks. */
void out_blanks(struct out *out, size_t n);
/*
 * Text, padded with blanks to width characters (UTF-8 is counted by character), with at least one
 * blank after it.
 */
void out_column(struct out *out, const char *text, size_t width);
/* "0x" and 16 hex digits: for out_f, and where there are many. */
#define PRI_ADDRESS	"0x%016" PRIx64
void out_address(struct out *out, uint64_t address);
/* Bold from here on, or no more, where colour is on. */
void out_bold(struct out *out, bool on);
/* The same for faint text. */
void out_dim(struct out *out, bool on);
/* A heading, bold, and an empty line. */
void out_heading(struct out *out, const char *text);
/* A line that says something of nr, unless that is 0. */
#define out_count(out, fmt, nr) \
	do { if (nr) out_f(out, fmt, nr); } while (0)

#define U64_DIGITS	21	/* room for 20 digits and a NUL */

/* Decimal digits of value into room for U64_DIGITS; returns how many. */
size_t format_u64(char *text, uint64_t value);
/* 16 hex digits, not terminated. */
void format_hex16(char *text, uint64_t value);
struct size_text {
	char at[U64_DIGITS];
};

/* Bytes as this output has them: "1536", or "1.5K" with units (powers of 1024). */
struct size_text size_text(const struct out *out, uint64_t bytes);
/* "312 s", "12.3 s", "4.5 ms", "5 m 12 s", "3 h 4 m", "2 d 3 h" */
void format_duration(char *text, size_t room, uint64_t ns);
/* "2026-11-20 10:00:00", local time. */
void format_time(char *text, size_t room, uint64_t ns);
/* Characters of UTF-8 text; bytes that are no UTF-8 count one each. */
size_t text_width(const char *text);
