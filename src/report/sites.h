/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The blocks of text of `malloc sites`. */
#ifndef REPORT_SITES_H
#define REPORT_SITES_H

#include "base/err.h"
#include "base/str.h"
#include "heap/site.h"

struct out;
struct session;
struct stack_names;

/*
 * What a site is, where that is not its stack: "function load_history", "thread 241879", "blocks of
 * 16 bytes"; nothing by stack.
 */
struct err *site_label(struct session *session, const struct stack_names *names, enum site_by by,
		       const struct site *site, struct str *ret) MUST_CHECK;
/*
 * A block of lines for each site, with its rank, then a line with the sums. names gave the keys.
 */
struct err *sites_print(struct session *session, const struct stack_names *names, enum site_by by,
			const struct sites *sites, struct out *out) MUST_CHECK;

#endif
