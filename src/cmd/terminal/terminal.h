/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The terminal as everything shares it: what stands on it (a prompt that waits for a line, the
 * screen of a command) is hidden while something else is written. It knows nothing of commands.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/outside.h"

struct redirect;
struct screen;

enum color { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };

struct terminal {
	struct redirect *redirect;	/* innermost; NULL: standard output is mdbg's */
	struct screen *screen;		/* the command at work draws on it; NULL */
	bool prompting;			/* readline waits for a line there */
	unsigned hidden;		/* how often the prompt is hidden and not shown again */
	enum color color;
};

/*
 * Call these before and after something is printed: a prompt that waits, and the screen that a
 * command draws on, are hidden meanwhile. If there is neither they do nothing. They nest.
 */
void terminal_hide(struct terminal *terminal);
void terminal_show(struct terminal *terminal);

/*
 * These report on standard error: "mdbg: WHAT: WHY", and a hint where there is a way out. terminal
 * is NULL as long as there is none.
 */

void terminal_err(struct terminal *terminal, const struct err *err);
/* hint is "" or NULL if there is none. */
void terminal_warning(struct terminal *terminal, const char *text, const char *hint);
void terminal_note(struct terminal *terminal, const char *fmt, ...) PRINTF(2, 3);
/* A warning whose text may have several lines, because it is the user's own. */
void terminal_lines(struct terminal *terminal, const char *text, const char *hint);

/* Is what goes to this descriptor to have colours? */
bool terminal_colors(const struct terminal *terminal, int fd);
