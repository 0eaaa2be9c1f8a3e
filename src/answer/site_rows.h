/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rows of `malloc sites` and `malloc stale`. */
#pragma once

#include "answer/answer.h"
#include "answer/stack_names.h"
#include "base/str.h"
#include "heap/site.h"

/*
 * A site with its names. heap/site.h computes a figure; its column says everything else about it,
 * but for the words around it in `malloc sites` and `malloc stale` (report/sites.c).
 */
struct site_row {
	struct site site;
	const char *label, *function;
	const char *caller;	/* by name, of a function without one; NULL */
	double over;		/* seconds that growth is over */
	/*
	 * What is known of the site: all-time figures, ages, growth. Not all of it is known for an
	 * earlier moment, or for blocks from before the attach.
	 */
	bool all_time, rated, aged, grown;
};

extern const struct relation site_relation;

/*
 * Put the sites into an order, of figures of struct site, and drop those beyond the limit; their
 * sums stay.
 */
struct err *sites_order(struct sites *sites, const struct answer_order *order) MUST_CHECK;
/* A site of these, without names. */
struct site_row site_row_of(const struct sites *sites, const struct site *site);
/*
 * Make the rows of these sites. The sites are moved into the rows and left empty. The rows then
 * need neither the sites nor the session. names must be the one that gave the sites their keys. If
 * brief, `function` comes with its line, and is the label where the site has one.
 */
struct err *site_rows(struct stack_names *names, enum site_by by, bool brief, struct sites *sites,
		      struct answer *ret) MUST_CHECK;

/*
 * The name of a site: "function load_history", "line history.c:42", "thread 241879",
 * "blocks of 16 bytes". It is empty for sites by stack.
 */
struct err *site_label(const struct stack_names *names, enum site_by by, const struct site *site,
		       struct str *ret) MUST_CHECK;
