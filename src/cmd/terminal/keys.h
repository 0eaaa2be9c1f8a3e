/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The keys that are pressed while a command is at work on a terminal, one by one. */
#pragma once

#include <stdbool.h>
#include <termios.h>

#include "base/err.h"

enum key { KEY_NONE = 0, KEY_UP = 256, KEY_DOWN, KEY_OTHER };	/* or a byte */

struct keys {
	bool on;
	struct termios saved;
	unsigned char byte[32];		/* read and not given out yet */
	unsigned nr, at;
};

/*
 * Have the terminal give each key at once, and show none. Nothing is done if standard input is no
 * terminal, or belongs to another job. keys_end puts the terminal back.
 */
void keys_begin(struct keys *keys);
/* The next key; KEY_NONE if none was pressed. It does not wait. */
int keys_next(struct keys *keys);
void keys_end(struct keys *keys);
