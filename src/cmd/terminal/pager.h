/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Output that is longer than the screen goes through $PAGER. This is so only at the prompt, on a
 * terminal, unless `set pager off`.
 */
#pragma once

#include <sys/types.h>

struct out;

struct pager {
	pid_t pid;	/* 0: not started */
	int fd;
};

#define PAGER_INIT	{ .fd = -1 }

/* Let out start the pager once it has more lines than the screen has rows (0: no screen). */
void pager_offer(struct pager *pager, unsigned rows, struct out *out);
/* Call this after out_finish: it waits until the user has closed the pager. */
void pager_end(struct pager *pager);
