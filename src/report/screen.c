/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A terminal that is drawn on in place. */

#include "report/screen.h"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "report/out.h"

#define ROWS	24	/* of a terminal that does not say */
#define COLUMNS	80

/* Take the alternate screen, hide the cursor, and cut lines that are too long; and back. */
#define BEGIN	"\033[?1049h\033[?25l\033[?7l"
#define END	"\033[?7h\033[?25h\033[?1049l"
#define HOME	"\033[H"
#define CLEAR_ROW	"\033[K"
#define NEXT_ROW	"\n\033[K"
#define CLEAR_REST	"\n\033[J"

bool screen_can(const struct out *out)
{
	const char *term = getenv("TERM");

	return !out->to && isatty(out->fd) && term && *term && strcmp(term, "dumb");
}

bool screen_resized(struct screen *screen)
{
	struct winsize size = { .ws_row = 0 };
	size_t rows = screen->rows, columns = screen->columns;

	if (ioctl(screen->out->fd, TIOCGWINSZ, &size))
		return false;
	screen->rows = size.ws_row ? size.ws_row : ROWS;
	screen->columns = size.ws_col ? size.ws_col : COLUMNS;
	return rows != screen->rows || columns != screen->columns;
}

/* How many bytes of a line fit; UTF-8 counts by character. */
static size_t cut(const char *line, size_t len, size_t columns)
{
	size_t at = 0;

	for (size_t width = 0; at < len; at++) {
		bool begins = ((unsigned char)line[at] & 0xc0) != 0x80;

		if (begins && width++ == columns)
			break;
	}
	return at;
}

static void draw(struct screen *screen)
{
	const char *at = str_text(&screen->painted);
	size_t row;

	out_control(screen->out, HOME);
	for (row = 0; row < screen->rows && *at; row++) {
		size_t len = strcspn(at, "\n");

		/*
		 * The row is cleared before its text is written: behind a full row the cursor is on
		 * the last letter, which would be cleared, too.
		 */
		out_control(screen->out, row ? NEXT_ROW : CLEAR_ROW);
		out_bytes(screen->out, at, cut(at, len, screen->columns));
		at += len + (at[len] == '\n');
	}
	if (row < screen->rows)
		out_control(screen->out, CLEAR_REST);
	out_flush(screen->out);
}

static void enter(struct screen *screen)
{
	out_control(screen->out, BEGIN);
	draw(screen);
}

static void leave(struct screen *screen)
{
	out_control(screen->out, END);
	out_flush(screen->out);
}

void screen_begin(struct screen *screen, struct out *out)
{
	*screen = (struct screen){ .out = out, .rows = ROWS, .columns = COLUMNS,
				   .wrap = out->columns, .painted = STR_INIT };
	out->columns = 0;
	screen_resized(screen);
	enter(screen);
}

struct err *screen_paint(struct screen *screen, const char *text)
{
	struct err *err;

	str_clear(&screen->painted);
	err = str_add(&screen->painted, text);
	if (!err && !screen->hidden)
		draw(screen);
	return err;
}

void screen_hide(struct screen *screen)
{
	if (!screen->hidden++)
		leave(screen);
}

void screen_show(struct screen *screen)
{
	if (!--screen->hidden)
		enter(screen);
}

void screen_end(struct screen *screen)
{
	if (!screen->hidden)
		leave(screen);
	screen->out->columns = screen->wrap;
	str_free(&screen->painted);
}
