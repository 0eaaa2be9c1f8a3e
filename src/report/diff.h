/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prints the answer of `malloc diff`. */
#pragma once

#include "heap/difference.h"
#include "report/moment_text.h"

struct out;
struct session;

/*
 * Print the two moments, a paragraph for each stack that has changed, with its rank, and a line
 * with the sums.
 */
struct err *diff_print(struct session *session, const struct moment_name *from,
		       const struct moment_name *to, const struct difference *difference,
		       struct out *out) MUST_CHECK;
