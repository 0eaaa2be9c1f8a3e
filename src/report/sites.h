/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The blocks of text of `malloc sites`. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "heap/site.h"
#include "report/moment_text.h"

struct out;
struct session;
struct stack_names;

/* The type of a figure of struct site, which also decides how it is shown. */
enum site_unit {
	SITE_COUNT,		/* uint64_t */
	SITE_BYTES,		/* uint64_t */
	SITE_AGE,		/* uint64_t, nanoseconds */
	SITE_GROWTH,		/* int64_t; not known where sites.growth_ns is 0 */
	SITE_RATE,		/* double; as growth */
	SITE_OVER,		/* sites.growth_ns; not a member */
	SITE_FREED_SHARE,	/* percent of all blocks ever allocated; computed */
};

/* The text around a figure. If `before` is NULL the figure is not printed. */
struct site_text {
	const char *before, *behind;
};

/*
 * The figures of a site, one row each. heap/site.h computes a figure; its row here says everything
 * else about it: its key in Tcl, its unit, and how `malloc sites` and `malloc stale` print it.
 */
struct site_field {
	const char *key;		/* in Tcl; NULL: not in Tcl */
	enum site_unit unit;
	size_t at;			/* offset of the member */
	/* offset of a member that is 0 if the figure is not known; 0: it is always known */
	size_t with;
	bool past;			/* it is known for an earlier moment, too (sites.past) */
	struct site_text sites, stale;	/* in these two answers */
};

extern const struct site_field site_fields[];
extern const size_t site_fields_nr;

/* Is this figure known in this answer? If not, it is left out, and `-` in Tcl. */
bool site_figure_known(const struct sites *sites, const struct site_field *field);
/* The value of a figure that is a uint64_t. */
uint64_t site_figure(const struct site *site, const struct site_field *field);
/* Print the figures of one of these sites in a line, as `malloc stale` shows them. */
void site_print_stale(const struct sites *sites, const struct site *site, struct out *out);

/*
 * The name of a site: "function load_history", "line history.c:42", "thread 241879",
 * "blocks of 16 bytes". It is empty
 * for sites by stack.
 */
struct err *site_label(struct session *session, const struct stack_names *names, enum site_by by,
		       const struct site *site, struct str *ret) MUST_CHECK;
/*
 * The function whose blocks these are, "load_history (history.c:42)": the frame of
 * stack_names_own. If there is none, nothing is added.
 */
struct err *site_headline(struct stack_names *names, uint32_t stack, struct str *ret) MUST_CHECK;
/*
 * Print the line with that name, "    in load_history (history.c:42)". If there is none, nothing is
 * printed.
 */
struct err *headline_print(struct stack_names *names, uint32_t stack, struct out *out) MUST_CHECK;
/* The moments that an answer was asked for with `since` and `at`. */
struct sites_when {
	struct moment_name since, at;
};

/*
 * Print a block of lines for each site, with its rank, then a line with the sums. names has given
 * the keys of the sites.
 */
struct err *sites_print(struct stack_names *names, enum site_by by, const struct sites *sites,
			const struct sites_when *when, struct out *out) MUST_CHECK;

/* If the log samples, print that the figures are estimates. */
void sampling_print(struct session *session, struct out *out);
