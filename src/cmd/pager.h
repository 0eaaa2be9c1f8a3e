/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Output that is longer than the screen goes through $PAGER: at the prompt, on a terminal, unless
 * `set pager off`.
 */
#pragma once

#include <sys/types.h>

struct out;
struct shell;

struct pager {
	pid_t pid;	/* 0: not started */
	int fd;
};

/* The pager starts by itself when out has more lines than the screen. */
void pager_offer(struct pager *pager, const struct shell *shell, struct out *out);
/* After out_finish: wait until the user has seen it. */
void pager_end(struct pager *pager);
