/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is said of a recording that is open: what it has, where its cursor is, and what is held there. */
#pragma once

#include "base/err.h"

struct out;
struct session;

/* Print one line: the time of the cursor, the sums, and which sample it is. */
void replay_text_print_now(struct session *session, struct out *out);
/* Print what the recording has, and the figures at its cursor, labelled as those of `malloc`. */
struct err *replay_text_print(struct session *session, struct out *out) MUST_CHECK;
