/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is written on standard error, and what is hidden meanwhile. */

#include "cmd/terminal/terminal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <readline/readline.h>

#include "base/cleanup.h"
#include "report/progress.h"
#include "report/screen.h"

void terminal_hide(struct terminal *terminal)
{
	if (terminal->screen)
		screen_hide(terminal->screen);
	if (!terminal->prompting || terminal->hidden++)
		return;
	rl_clear_visible_line();
	fflush(rl_outstream);
}

void terminal_show(struct terminal *terminal)
{
	if (terminal->screen)
		screen_show(terminal->screen);
	if (!terminal->prompting || --terminal->hidden)
		return;
	rl_on_new_line();
	rl_redisplay();
}

static struct err *add_line(struct str *to, const char *start, const char *text,
			    enum outside_lines lines)
{
	struct err *err = str_add(to, start);

	if (!err)
		err = outside_add(to, text, strlen(text), lines);
	return err ? err : str_add(to, "\n");
}

/*
 * Everything that mdbg writes to standard error goes through here, in one write, so that no other
 * output to the terminal comes in between.
 */
static void print(struct terminal *terminal, const char *text, const char *hint,
		  enum outside_lines own)
{
	AUTO_STR struct str lines = STR_INIT;
	struct err *err = add_line(&lines, "mdbg: ", text, own);

	if (!err && hint && *hint)
		err = add_line(&lines, "hint: ", hint, OUTSIDE_ONE_LINE);
	if (terminal)
		terminal_hide(terminal);
	progress_hide();
	fflush(stderr);
	/* If standard error is broken there is no place to report that. */
	if (write(STDERR_FILENO, err ? "mdbg: out of memory\n" : lines.at, err ? 20 : lines.len) <
	    0)
		errno = 0;
	progress_show();
	if (terminal)
		terminal_show(terminal);
}

void terminal_err(struct terminal *terminal, const struct err *err)
{
	print(terminal, err->msg, err->hint, OUTSIDE_ONE_LINE);
}

void terminal_warning(struct terminal *terminal, const char *text, const char *hint)
{
	print(terminal, text, hint, OUTSIDE_ONE_LINE);
}

void terminal_note(struct terminal *terminal, const char *fmt, ...)
{
	AUTO_FREE char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	va_end(ap);
	print(terminal, text ? text : "out of memory", NULL, OUTSIDE_ONE_LINE);
}

void terminal_lines(struct terminal *terminal, const char *text, const char *hint)
{
	print(terminal, text, hint, OUTSIDE_LINES);
}

bool terminal_colors(const struct terminal *terminal, int fd)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

	if (terminal->color != COLOR_AUTO)
		return terminal->color == COLOR_ALWAYS;
	return isatty(fd) && !(no_color && *no_color) && term && strcmp(term, "dumb");
}
