/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A terminal that is drawn on in place, again and again. It is drawn on the alternate screen, which
 * xterm has introduced and other terminals have, too: what the terminal showed before comes back at
 * the end.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/str.h"

struct out;

struct screen {
	struct out *out;
	size_t rows, columns;		/* the size of the terminal, when it was last asked for */
	/* what out->columns was before; it is put back at the end */
	size_t wrap;
	unsigned hidden;
	struct str painted;		/* the last text, to be drawn again */
};

/* Does out go to a terminal that understands these sequences? A dumb one does not. */
bool screen_can(const struct out *out);
void screen_begin(struct screen *screen, struct out *out);
/*
 * Draw the lines of a text from the first row on. A line that is too long is cut, as is the text
 * that has too many lines; the rest of the screen is empty.
 */
struct err *screen_paint(struct screen *screen, const char *text) MUST_CHECK;
/* Ask for the size of the terminal. Is it another one than before? */
bool screen_resized(struct screen *screen);
/*
 * Call these before and after something else is printed: it goes to where it would go without the
 * screen. They nest.
 */
void screen_hide(struct screen *screen);
void screen_show(struct screen *screen);
void screen_end(struct screen *screen);
