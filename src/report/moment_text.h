/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prints moments, and the figures of the history. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct out;
struct session;

/* A moment, and the word by which the user has chosen it. */
struct moment_name {
	const char *word;	/* "now", "-10m", the name of a mark; NULL: none was chosen */
	uint64_t time_ns;	/* time of the moment, since the epoch */
	uint64_t now_ns;
	bool watched;		/* the peak that was watched (session/peak_watch.h), and no sample */
};

/* Print "-10m (2026-11-20 10:00:00, 10 m 1 s ago)", or "now" alone. */
void moment_text_print_name(const struct moment_name *moment, struct out *out);
/* Print a line if nothing was recorded for a part of the time between the two, in any order. */
void moment_text_print_unrecorded(struct session *session, uint64_t one_ns, uint64_t other_ns,
				  struct out *out);
/* Print the part of `malloc -v` about samples and marks, if there is a log. */
void moment_text_print_history(struct session *session, struct out *out);
