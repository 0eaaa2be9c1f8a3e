/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names that a mistyped word may have meant. */
#ifndef CMD_NEAR_H
#define CMD_NEAR_H

#include <stdbool.h>

/*
 * Is it a slip of the keyboard from word to name: a letter or two put in, left out or changed (fewer
 * in short words), or is name only begun? `_` counts as `-`.
 */
bool near_word(const char *word, const char *name);
/* The same letters, whatever their case, and whatever of `-` and `_` is between them? */
bool near_same(const char *word, const char *name);

#endif
