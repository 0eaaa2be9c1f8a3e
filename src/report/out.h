/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The output of a command: a descriptor (standard output, a file, a pipe, a pager). Everything that
 * prints results prints to a struct out and to nothing else.
 *
 * Bytes that a terminal obeys are taken out of all text here (base/outside.h), whoever printed it.
 * But a line of text from outside can no longer be told from one of mdbg's own at this point. So
 * text from outside has a type of its own, and out_outside prints it.
 *
 * Errors are sticky: after the first failed write all further text is dropped, and out_finish
 * returns the error. A loop that makes much text calls out_done() now and then, which is true after
 * an error and when the reader has gone.
 */
#pragma once

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/compiler.h"
#include "base/time_text.h"
#include "base/err.h"
#include "base/outside.h"
#include "base/str.h"

#define OUT_ROOM	(256 << 10)

struct out {
	char *buf;		/* OUT_ROOM bytes */
	size_t len;
	int fd;
	struct str *to;		/* text is kept here and not written to fd; NULL */
	char name[256]; /* of the output, for errors: "standard output", a file's name */
	bool reader_may_leave;	/* a broken pipe is the reader's wish, no error */
	bool left;		/* the reader has left */
	bool color;		/* text may be bold or dim */
	bool failed;
	struct err error;	/* if failed */

	/*
	 * The width of a terminal: longer lines are broken at blanks, and go on four blanks deeper.
	 * 0: it is no terminal, and lines stay as they are.
	 */
	size_t columns;
	struct str line;	/* the unfinished last line, if columns is not 0 */
	bool units;		/* bytes with K, M, G, T */

	/*
	 * This starts a pager. It is called once, when more than page_lines lines (0: never) have
	 * come, before anything is written. It may change fd, reader_may_leave and name.
	 */
	void (*page)(struct out *out);
	void *page_ctx;
	unsigned page_lines, lines;
};

/* The caller closes fd, after out_finish. */
struct err *out_init_fd(struct out *out, int fd, const char *name) MUST_CHECK;
/* Keep the text in `to`, which the caller frees. */
struct err *out_init_text(struct out *out, struct str *to) MUST_CHECK;
/* Write the rest, and free the buffer. Returns the first error of all, or NULL. */
struct err *out_finish(struct out *out) MUST_CHECK;
/* Write all text that is still in the buffer. */
void out_flush(struct out *out);
bool out_done(const struct out *out);
/* Why a write to the output of this name has failed, from errno. */
struct err *out_write_err(const char *name) MUST_CHECK;

void out_bytes(struct out *out, const void *bytes, size_t len);
static inline void out_text(struct out *out, const char *text)
{
	out_bytes(out, text, strlen(text));
}

/* Print text from outside, always in one line. */
void out_outside(struct out *out, struct outside text);
void out_f(struct out *out, const char *fmt, ...) PRINTF(2, 3);
/* Print n blanks. */
void out_blanks(struct out *out, size_t n);
/*
 * Print text, padded with blanks to width characters (UTF-8 is counted by character), with at least
 * one blank after it.
 */
void out_column(struct out *out, const char *text, size_t width);
#define OUT_WRAPPED	78u
/*
 * Print text and a newline. It is broken at blanks so that all lines begin at `column`, where the
 * cursor is, and are OUT_WRAPPED wide at most.
 */
void out_wrapped(struct out *out, const char *text, size_t column);
/* The format of an address for out_f, "0x" and 16 hex digits. */
#define PRI_ADDRESS	"0x%016" PRIx64
void out_address(struct out *out, uint64_t address);
/* Turn bold text on or off, if colour is on. */
void out_bold(struct out *out, bool on);
/* Turn faint text on or off, if colour is on. */
void out_dim(struct out *out, bool on);
/* Write one of mdbg's own sequences for the terminal, as it is. */
void out_control(struct out *out, const char *sequence);
/*
 * This goes before the names of columns that are left out, so that a reader does not take them for
 * values that mdbg does not know.
 */
#define OUT_LEFT_OUT	"Left out on a terminal of this width, but not in a file: "
/* Print a heading in bold, and an empty line. */
void out_heading(struct out *out, const char *text);
/* Print a line that says something about nr, unless nr is 0. */
#define out_count(out, fmt, nr) \
	do { if (nr) out_f(out, fmt, nr); } while (0)

#define U64_DIGITS	21	/* room for 20 digits and a NUL */

/*
 * Write value in decimal digits to text, which has room for U64_DIGITS. Returns how many digits
 * there are.
 */
size_t number_text_u64(char *text, uint64_t value);
/* Write 16 hex digits, without a NUL. */
void number_text_hex16(char *text, uint64_t value);
struct size_text {
	char at[U64_DIGITS];
};

/* The text for a number of bytes in this output: "1536", or "1.5K" with units (powers of 1024). */
struct size_text number_text_size(const struct out *out, uint64_t bytes);
/* The text is "312 s", "12.3 s", "4.5 ms", "5 m 12 s", "3 h 4 m" or "2 d 3 h". */
void number_text_duration(char *text, size_t room, uint64_t ns);
/* The text is "2026-11-20 10:00:00", in local time. */
static inline void number_text_time(char *text, size_t room, uint64_t ns)
{
	time_text(text, room, ns);
}
/* The number of characters of UTF-8 text; each byte that is no UTF-8 counts as one. */
size_t number_text_width(const char *text);
