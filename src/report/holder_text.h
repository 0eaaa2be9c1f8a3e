/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The words of stacks and registers that alone hold blocks, in the answer of `malloc leaks`. */
#pragma once

struct leaks;
struct out;
struct session;
struct leak_marks;

/*
 * Print how much hangs on such words, and then the largest ones, each with what hangs on it: a few
 * of them or, if reachable blocks were asked for, all that were noted. Prints nothing if there are
 * none.
 */
void holder_text_print(struct session *session, const struct leak_marks *found,
		       const struct leaks *leaks, struct out *out);
