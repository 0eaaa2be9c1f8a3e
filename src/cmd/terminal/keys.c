/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The keys that are pressed while a command is at work on a terminal. */

#include "cmd/terminal/keys.h"

#include <poll.h>
#include <string.h>
#include <unistd.h>

void keys_begin(struct keys *keys)
{
	struct termios raw;

	*keys = (struct keys){ .on = false };
	if (!isatty(STDIN_FILENO) || tcgetpgrp(STDIN_FILENO) != getpgrp() ||
	    tcgetattr(STDIN_FILENO, &keys->saved))
		return;
	raw = keys->saved;
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	raw.c_cc[VMIN] = 1;
	raw.c_cc[VTIME] = 0;
	keys->on = !tcsetattr(STDIN_FILENO, TCSANOW, &raw);
}

/* Read the keys that were pressed. If the terminal has gone there are none. */
static bool fill(struct keys *keys)
{
	struct pollfd poll_fd = { .fd = STDIN_FILENO, .events = POLLIN };
	ssize_t nr;

	if (!keys->on || poll(&poll_fd, 1, 0) <= 0)
		return false;
	nr = read(STDIN_FILENO, keys->byte, sizeof(keys->byte));
	if (nr <= 0)
		return false;
	keys->nr = (unsigned)nr;
	keys->at = 0;
	return true;
}

/* The key of what follows an escape. A terminal sends the whole sequence of a key at once. */
static int sequence(struct keys *keys)
{
	unsigned char last = 0;

	if (keys->at == keys->nr || (keys->byte[keys->at] != '[' && keys->byte[keys->at] != 'O'))
		return '\033';
	keys->at++;
	while (keys->at < keys->nr && (last < '@' || last > '~'))
		last = keys->byte[keys->at++];
	return last == 'A' ? KEY_UP : last == 'B' ? KEY_DOWN : KEY_OTHER;
}

int keys_next(struct keys *keys)
{
	int key;

	if (keys->at == keys->nr && !fill(keys))
		return KEY_NONE;
	key = keys->byte[keys->at++];
	return key == '\033' ? sequence(keys) : key ? key : KEY_OTHER;
}

void keys_end(struct keys *keys)
{
	if (keys->on)
		tcsetattr(STDIN_FILENO, TCSANOW, &keys->saved);
	keys->on = false;
}
