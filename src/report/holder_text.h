/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The words of stacks and registers that blocks hang on alone, in the answer of `malloc leaks`. */
#pragma once

struct leaks;
struct out;
struct session;
struct session_leaks;

/*
 * How much hangs on them, and then the largest, each with what hangs on it: HOLDERS_FEW, or, where
 * reachable blocks were asked for, all that were noted. Nothing if there are none.
 */
void holders_print(struct session *session, const struct session_leaks *found,
		   const struct leaks *leaks, struct out *out);
