/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The text of `malloc leaks`. */
#pragma once

#include "base/err.h"

struct leaks;
struct out;
struct session;
struct session_leaks;
struct sites;
struct suppressions;

/*
 * A summary of all kinds, what is uncertain about it, then a block of lines for each loss record,
 * and what was suppressed, by which of suppressions.
 */
struct err *leaks_print(struct session *session, const struct session_leaks *found,
			const struct leaks *leaks, const struct suppressions *suppressions,
			struct out *out) MUST_CHECK;

/* Sites by stack of blocks that are old and reachable, with the share of those ever freed. */
struct err *stale_print(struct session *session, const struct session_leaks *found,
			const struct sites *sites, struct out *out) MUST_CHECK;
