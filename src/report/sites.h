/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The blocks of text of `malloc sites`. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "heap/site.h"

struct out;
struct session;
struct stack_names;

/* How a figure of struct site is kept, and shown. */
enum site_unit {
	SITE_COUNT,		/* uint64_t */
	SITE_AGE,		/* uint64_t, nanoseconds */
	SITE_RATE,		/* double */
	SITE_FREED_SHARE,	/* percent of the blocks of all time; not a member */
};

/* The text around a figure; NULL before: the figure is not printed. */
struct site_text {
	const char *before, *behind;
};

/*
 * The figures of a site. A row is all that there is to one but its computation (heap/site.h): it is
 * what `malloc sites`, `malloc stale` and their Tcl twins show.
 */
struct site_field {
	const char *key;		/* in Tcl; NULL: not there */
	enum site_unit unit;
	size_t at;			/* offset of the member */
	size_t with;			/* offset of a member that is 0 where the figure is not known; 0: it always is known */
	struct site_text sites, stale;	/* in these two answers */
};

extern const struct site_field site_fields[];
extern const size_t site_fields_nr;

/* The figure, unless it is a SITE_RATE. */
uint64_t site_figure(const struct site *site, const struct site_field *field);
/* The figures of one site as `malloc stale` has them: a line. */
void site_print_stale(const struct site *site, struct out *out);

/*
 * The name of a site, unless that is its stack: "function load_history", "thread 241879", "blocks
 * of 16 bytes"; nothing by stack.
 */
struct err *site_label(struct session *session, const struct stack_names *names, enum site_by by,
		       const struct site *site, struct str *ret) MUST_CHECK;
/*
 * A block of lines for each site, with its rank, then a line with the sums. names gave the keys.
 */
struct err *sites_print(struct session *session, const struct stack_names *names, enum site_by by,
			const struct sites *sites, struct out *out) MUST_CHECK;

/* That a log which samples gives estimates. */
void sampling_print(struct session *session, struct out *out);
