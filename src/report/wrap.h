/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lines for a terminal: this finds the place where a line that is too long is broken. */
#pragma once

#include <stddef.h>

/*
 * The length of the part of a line (without its newline) that goes on the first row of a terminal
 * of so many columns; len if all of it does. The part ends before a blank, which is dropped, and it
 * is never the line's own indent alone. A word that is longer than a row is left to the terminal,
 * so that it can be copied whole. UTF-8 counts by character, and sequences of colour do not count.
 */
size_t wrap_at(const char *line, size_t len, size_t columns);
