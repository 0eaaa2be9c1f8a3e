/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Progress of what takes over a second: one line on standard error, wiped at the end; on a terminal
 * only, and only while the results do not go there (or to a pager) as well.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct progress {
	const char *what;	/* "listing blocks" */
	uint64_t next_ns;	/* monotonic: when to show something again */
	bool shown, enabled;
};

void progress_start(struct progress *progress, const char *what);
/* done of total; cheap enough for every thousandth turn of a loop. */
void progress_step(struct progress *progress, uint64_t done, uint64_t total);
void progress_end(struct progress *progress);
