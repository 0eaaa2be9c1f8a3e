/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The output of a command. */

#include "report/out.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cancel.h"
#include "report/progress.h"
#include "report/wrap.h"

#define LOOK_MS	100

static const char blanks[] = "                                                                ";

struct err *out_init_fd(struct out *out, int fd, const char *name)
{
	*out = (struct out){ .fd = fd, .buf = malloc(OUT_ROOM) };
	snprintf(out->name, sizeof(out->name), "%s", name);
	return out->buf ? NULL : err_nomem;
}

struct err *out_init_text(struct out *out, struct str *to)
{
	struct err *err = out_init_fd(out, -1, "memory");

	out->to = to;
	return err;
}

static void fail(struct out *out, const struct err *err)
{
	if (out->failed)
		return;
	out->failed = true;
	err_copy(&out->error, err);
}

bool out_done(const struct out *out)
{
	return out->failed || out->left;
}

/*
 * Wait until there is room, or until write can report an error. The loop looks again and again,
 * since the signal that asks mdbg to end may have come just before the wait.
 */
static void wait_writable(struct out *out)
{
	struct pollfd poll_fd = { .fd = out->fd, .events = POLLOUT };
	int nr = 0;

	while (!out_done(out) && !nr) {
		nr = poll(&poll_fd, 1, LOOK_MS);
		if (nr < 0 && errno == EINTR)
			nr = 0;
		if (!nr && cancel_requested())
			fail(out, cancel_check());
	}
}

struct err *out_write_err(const char *name)
{
	bool closed = errno == EBADF;
	struct err *err = err_sys("write to %s", name);

	return closed ? err_hint(err, "it is closed; where output is not wanted, > /dev/null drops it") :
			err;
}

static void write_all(struct out *out, const char *bytes, size_t len)
{
	struct stat stat;
	/*
	 * The reader of a pipe may stop reading, so only as much as has room at once is written,
	 * and no write waits.
	 */
	size_t most = !fstat(out->fd, &stat) && S_ISREG(stat.st_mode) ? SIZE_MAX : PIPE_BUF;

	/* This is a terminal, or a pipe whose reader may draw on the terminal once it has bytes. */
	if (len && most != SIZE_MAX)
		progress_off();
	while (len && !out_done(out)) {
		ssize_t n;

		wait_writable(out);
		if (out_done(out))
			return;
		n = write(out->fd, bytes, MIN(len, most));
		if (n >= 0) {
			bytes += n;
			len -= (size_t)n;
		} else if (errno == EPIPE && out->reader_may_leave) {
			out->left = true;
		} else if (errno != EINTR && errno != EAGAIN) {
			fail(out, out_write_err(out->name));
		}
	}
}

static void keep(struct out *out, const char *bytes, size_t len)
{
	struct err *err = str_add_bytes(out->to, bytes, len);

	if (err)
		fail(out, err);
}

static void give(struct out *out, const char *bytes, size_t len)
{
	if (out->to && len)
		keep(out, bytes, len);
	else if (!out->to)
		write_all(out, bytes, len);
}

void out_flush(struct out *out)
{
	if (!out_done(out))
		give(out, out->buf, out->len);
	out->len = 0;
}

static void start_page(struct out *out)
{
	void (*page)(struct out *out) = out->page;

	out->page = NULL;
	progress_off();
	page(out);
}

static void count_lines(struct out *out, const char *bytes, size_t len)
{
	const char *end = bytes + len;

	while ((bytes = memchr(bytes, '\n', (size_t)(end - bytes)))) {
		bytes++;
		if (++out->lines > out->page_lines) {
			start_page(out);
			return;
		}
	}
}

static void put(struct out *out, const void *bytes, size_t len)
{
	if (out->page)
		count_lines(out, bytes, len);
	if (len > OUT_ROOM - out->len) {
		if (out->page)
			start_page(out);
		out_flush(out);
		if (len > OUT_ROOM) {
			give(out, bytes, len);
			return;
		}
	}
	memcpy(out->buf + out->len, bytes, len);
	out->len += len;
}

/* Put out a whole line, which comes without its newline. */
static void put_line(struct out *out, const char *line, size_t len)
{
	size_t most = MIN(out->columns / 2, sizeof(blanks) - 1);
	size_t indent = MIN(strspn(line, " ") + 4, most);
	size_t row;

	while (len && line[len - 1] == ' ')
		len--;
	row = wrap_at(line, len, out->columns);
	put(out, line, row);
	while (row < len) {
		line += row + 1;
		len -= row + 1;
		row = wrap_at(line, len, out->columns - indent);
		put(out, "\n", 1);
		put(out, blanks, indent);
		put(out, line, row);
	}
}

static void add_wrapped(struct out *out, const char *bytes, size_t len)
{
	while (len && !out_done(out)) {
		const char *end = memchr(bytes, '\n', len);
		size_t part = end ? (size_t)(end - bytes) : len;
		struct err *err = str_add_bytes(&out->line, bytes, part);

		if (err)
			fail(out, err);
		if (end && !err) {
			put_line(out, str_text(&out->line), out->line.len);
			put(out, "\n", 1);
			str_clear(&out->line);
			part++;
		}
		bytes += part;
		len -= part;
	}
}

static void add(struct out *out, const void *bytes, size_t len)
{
	if (out->columns)
		add_wrapped(out, bytes, len);
	else
		put(out, bytes, len);
}

struct err *out_finish(struct out *out)
{
	if (out->buf) {
		put_line(out, str_text(&out->line), out->line.len);
		out_flush(out);
	}
	str_free(&out->line);
	free(out->buf);
	out->buf = NULL;
	return out->failed ? err_adopt(&out->error) : NULL;
}

static void add_shown(struct out *out, const char *bytes, size_t len, enum outside_lines lines)
{
	char escaped[OUTSIDE_ESCAPED];

	while (len) {
		struct outside_piece piece = outside_next(&bytes, &len, lines, escaped);

		add(out, piece.at, piece.len);
	}
}

void out_bytes(struct out *out, const void *bytes, size_t len)
{
	add_shown(out, bytes, len, OUTSIDE_LINES);
}

void out_outside(struct out *out, struct outside text)
{
	add_shown(out, text.bytes, strlen(text.bytes), OUTSIDE_ONE_LINE);
}

static void add_code(struct out *out, const char *code)
{
	if (out->color)
		add(out, code, strlen(code));
}

void out_bold(struct out *out, bool on)
{
	add_code(out, on ? "\033[1m" : "\033[0m");
}

void out_dim(struct out *out, bool on)
{
	add_code(out, on ? "\033[2m" : "\033[0m");
}

void out_control(struct out *out, const char *sequence)
{
	add(out, sequence, strlen(sequence));
}

void out_f(struct out *out, const char *fmt, ...)
{
	char text[512];
	AUTO_STR struct str longer = STR_INIT;
	struct err *err;
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (len < (int)sizeof(text)) {
		out_bytes(out, text, (size_t)len);
		return;
	}
	va_start(ap, fmt);
	err = str_addv(&longer, fmt, ap);
	va_end(ap);
	if (err)
		fail(out, err);
	else
		out_bytes(out, longer.at, longer.len);
}

void out_blanks(struct out *out, size_t n)
{
	while (n > sizeof(blanks) - 1) {
		out_bytes(out, blanks, sizeof(blanks) - 1);
		n -= sizeof(blanks) - 1;
	}
	out_bytes(out, blanks, n);
}

void out_column(struct out *out, const char *text, size_t width)
{
	size_t used = number_text_width(text);

	out_text(out, text);
	out_blanks(out, used < width ? width - used : 1);
}

void out_wrapped(struct out *out, const char *text, size_t column)
{
	size_t at = column;

	while (*text) {
		size_t len = strcspn(text, " ");

		if (at > column && at + 1 + len > OUT_WRAPPED) {
			out_text(out, "\n");
			out_blanks(out, column);
			at = column;
		} else if (at > column) {
			out_text(out, " ");
			at++;
		}
		out_bytes(out, text, len);
		at += len;
		text += len + (text[len] == ' ');
	}
	out_text(out, "\n");
}

void out_address(struct out *out, uint64_t address)
{
	char text[18] = "0x";

	number_text_hex16(text + 2, address);
	out_bytes(out, text, sizeof(text));
}

void out_heading(struct out *out, const char *text)
{
	out_bold(out, true);
	out_text(out, text);
	out_bold(out, false);
	out_text(out, "\n\n");
}
