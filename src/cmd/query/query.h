/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Parse the words of commands that list blocks, sites or what grows, and make the answer. The
 * commands and the Tcl API share this. `malloc leaks` and `malloc stale` are in query_leaks.c,
 * `malloc pins` in query_pins.c, those of sites in query_sites.c and of growth in query_growth.c,
 * and all others in query.c.
 */
#pragma once

#include "answer/block_rows.h"
#include "answer/leak_rows.h"
#include "answer/older_find.h"
#include "answer/typed_blocks.h"
#include "cmd/moments.h"
#include "heap/leak.h"
#include "heap/block_list.h"
#include "report/traceback.h"
#include "report/suppressed.h"
#include "session/heap.h"
#include "session/leaks.h"

struct call;
struct out;

struct query {
	int argc;
	char **argv;		/* the words, where 'quoted text' is one; argv[argc] is NULL */
	struct filter filter;
	struct filter_order order;
	struct stack_names names;
	uint64_t now_ns;	/* since the epoch */
	struct list *list;	/* of query_blocks, query_free_chunks */
	struct blocks blocks;	/* of query_leaks_stale */
	struct heaps heap;	/* of the list */
	struct typed_blocks typed;	/* of query_typed; typed.taken: types are known */
	char untyped[256];	/* why they are not, though a column was to have them; or "" */
	/* Of query_sites: */
	enum site_by by;
	struct chosen_moment since, at;
	struct sites sites;
	uint64_t limit;		/* how many were asked for at most */
	enum site_sort sort;
	bool sorted;		/* sort was among the words */
	bool listed;		/* of query_sites_listed and query_sites_tree */
	bool all;		/* `all` was the first word */
	/* Set by query_leaks: */
	struct leak_marks found;
	struct leaks leaks;
	struct stack_suppress suppress;
};

/* The words that may stand behind FILTER, each at most once. */
enum site_word { WORD_SORT, WORD_LIMIT, WORD_SINCE, WORD_AT, SITE_WORDS };

/* The words for enum site_by and enum site_sort, and what may go before such. NULL ends each. */
extern const char *const query_by[], *const query_sort_keys[], *const query_site_words[];

/*
 * Parse FILTER, sort and limit, and list the blocks. The caller frees query, also after an error;
 * this holds for all of these functions.
 */
struct err *query_blocks(const struct call *call, struct query *query) MUST_CHECK;
/*
 * Parse FILTER (address, size and heap only), sort and limit, and list the free chunks.
 * ERR_UNSUPPORTED or ERR_STATE if there is no heap to walk.
 */
struct err *query_free_chunks(const struct call *call, struct query *query) MUST_CHECK;
/* Parse by, FILTER, then sort, limit, since and at in any order, and add up the sites. */
struct err *query_sites(const struct call *call, struct query *query) MUST_CHECK;
/*
 * The same for a list of sites, which has those that hold nothing now, too, if they are asked for:
 * by the word `all`, which may come first, by a sort of all-time figures, or by a filter, unless a
 * script asks.
 */
struct err *query_sites_listed(const struct call *call, struct query *query) MUST_CHECK;
/* The same for a tree of them: `limit` is kept in query, and not applied to the sites. */
struct err *query_sites_tree(const struct call *call, struct query *query) MUST_CHECK;
/*
 * What blocks hold that are in none of these sites; *asked_ret is ret, or NULL for a filter or an
 * earlier moment, of which it is not known. By size and by heap the sites have these blocks. The
 * process may be stopped for it, and its sites have the shares of all.
 */
struct err *query_sites_older(const struct call *call, struct query *query, struct older_look *ret,
			      const struct older_look **asked_ret) MUST_CHECK;
/*
 * The parts of these questions: where FILTER ends that begins at a word; the words of
 * query_site_words behind it, of which those in `allowed` (1 << word) may be there; and whether
 * `since` is before `at`, or now.
 */
int query_sites_filter_end(const struct query *query, int at);
struct err *query_sites_words(const struct call *call, struct query *query, struct site_spec *spec,
			      unsigned allowed, int at) MUST_CHECK;
struct err *query_sites_check_since(const struct query *query) MUST_CHECK;
/*
 * Parse FILTER, then limit and since in any order, of `growth`, whose words call->argv begins with.
 * attrs: 1 << attribute, of those that are allowed in FILTER. `since` becomes a condition on the
 * time, whether that is among them or not. logless: a log is needed for `since` only.
 */
struct err *query_growth(const struct call *call, uint32_t attrs, bool logless,
			 struct query *query) MUST_CHECK;
/*
 * Put an array of sums into the order that query_growth was asked for, and return how many the
 * limit leaves. by is the column of the elements to sort by; NULL: the order is that already.
 */
struct err *query_growth_sort(const struct query *query, const struct column *by, void *at,
			      size_t nr, size_t size, size_t *left_ret) MUST_CHECK;
/*
 * Walk the heaps after query_sites and, if the blocks are asked for, list those that FILTER keeps.
 */
struct err *query_walk(const struct call *call, bool blocks, struct query *query) MUST_CHECK;
/*
 * What each of these functions begins with: take the words, and the time by the clock of the log.
 * ERR_STATE: there is no log.
 */
struct err *query_begin(const struct call *call, struct query *query) MUST_CHECK;
/* The same without a log: the words alone. */
struct err *query_begin_unlogged(const struct call *call, struct query *query) MUST_CHECK;
/* The same for an answer that uses the log alone. ERR_STATE also if nothing was recorded. */
struct err *query_begin_recorded(const struct call *call, struct query *query) MUST_CHECK;
/* The same for an answer that uses moments alone, which a recording has, too. */
struct err *query_begin_moments(const struct call *call, struct query *query) MUST_CHECK;
/* Of more blocks an answer about something else has no types: that would be most of its work. */
#define QUERY_TYPES_MOST	300000u
/*
 * Look for the types of blocks, if the filter asks for them, or `column`: a column shows them. Then
 * query_env has them. An error fails the question only if the filter cannot do without; otherwise
 * query->untyped says it. To be called before query_env, and before the list is made.
 */
struct err *query_typed(const struct call *call, bool column, struct query *query) MUST_CHECK;
/* Print why a column does not have the types. */
void query_print_untyped(const struct query *query, struct out *out);
/* What the filter of query is applied with. */
struct filter_env query_env(const struct call *call, struct query *query);
/* Parse kinds, FILTER, -stop or -snapshot, and make the loss records. */
struct err *query_leaks(const struct call *call, struct query *query) MUST_CHECK;
/*
 * Parse AGE, and make the sites of the recorded blocks that are older and not lost; `sites` has
 * their figures.
 */
struct err *query_leaks_stale(const struct call *call, struct query *query) MUST_CHECK;
/*
 * Add to the rows of a list what must be known of the walk that they are from, or of the search,
 * unless a script asks.
 */
struct err *query_add_notes(const struct call *call, const struct query *query, bool search,
			    struct answer *ret) MUST_CHECK;
/*
 * What -brief prints for a list: its rows, one a line, its notes, how many rows there are, for how
 * long the process stood still for them, and what the answers of this target lack.
 */
struct err *query_print_brief(struct call *call,
			      struct err *(*rows)(struct call *call,
						  struct answer *ret)) MUST_CHECK;
/* Print the rows of a list as a table, and nothing else. */
struct err *query_print_rows(struct call *call,
			     struct err *(*rows)(struct call *call, struct answer *ret)) MUST_CHECK;
/*
 * Warn if a name in the filter is that of nobody, unless a script asks. The questions below do so
 * themselves, but for query_growth, whose stacks need not be of the log.
 */
struct err *query_warn_of_nobody(const struct call *call, struct stack_names *names,
				 const struct filter *filter) MUST_CHECK;
/* Where the rows of query->list come from. */
struct block_source query_source(const struct call *call, struct query *query);
void query_free(struct query *query);
