/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parse the words of `malloc sites` and `malloc tree`, and make the answer. */

#include "cmd/query/query.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "cmd/shell/cmd.h"
#include "cmd/shell/shell.h"
#include "report/blocks.h"
#include "report/lack_text.h"
#include "report/leak_text.h"
#include "report/rows_text.h"
#include "report/stood_text.h"
#include "session/history.h"
#include "session/replay/session_replay.h"
#include "session/session.h"

#define NAME_ATTRS	(1u << FILTER_FUNCTION | 1u << FILTER_MODULE)
#define ALL_WORDS	((1u << SITE_WORDS) - 1)

const char *const query_by[] = {
	[SITE_STACK] = "stack",   [SITE_FUNCTION] = "function", [SITE_LINE] = "line",
	[SITE_MODULE] = "module", [SITE_THREAD] = "thread",     [SITE_SIZE] = "size",
	[SITE_HEAP] = "heap",	  [SITE_PROCESS] = "process",   NULL,
};
const char *const query_sort_keys[] = {
	[SITE_SORT_BYTES] = "bytes", [SITE_SORT_COUNT] = "count", [SITE_SORT_AGE] = "age",
	[SITE_SORT_GROWTH] = "growth", [SITE_SORT_RATE] = "rate",
	[SITE_SORT_TOTAL] = "total", [SITE_SORT_CALLS] = "calls",
	[SITE_SORT_CALLRATE] = "callrate", [SITE_SORT_TEMPORARY] = "temporary", NULL,
};

static struct err *choose(const char *what, const char *word, const char *const *names,
			  unsigned *ret)
{
	int choice = word ? call_word_index(word, names) : -1;

	if (choice >= 0) {
		*ret = (unsigned)choice;
		return NULL;
	}
	return word ? err_create(ERR_USAGE, "'%s' is nothing to %s by", word, what) :
		      err_create(ERR_USAGE, "what to %s by is missing", what);
}

static struct err *parse_by(struct query *query, int *at)
{
	unsigned by;
	struct err *err;

	if (*at >= query->argc || strcmp(query->argv[*at], "by"))
		return NULL;
	err = choose("group", query->argv[*at + 1], query_by, &by);
	if (err)
		return err_hint(err, "by stack, function, line, module, thread, size, heap or process");
	query->by = by;
	*at += 2;
	return NULL;
}

const char *const query_site_words[] = {
	[WORD_SORT] = "sort", [WORD_LIMIT] = "limit", [WORD_SINCE] = "since", [WORD_AT] = "at",
	[SITE_WORDS] = NULL,
};

/*
 * The end of the words of FILTER, which begin at `at`: the first of the words above that is not the
 * value of a condition, or the end of all words.
 */
int query_sites_filter_end(const struct query *query, int at)
{
	for (; at < query->argc; at++) {
		const char *before = at ? query->argv[at - 1] : "";

		if (call_word_index(query->argv[at], query_site_words) >= 0 &&
		    (!strchr("=!<>", before[0]) || !*before))
			break;
	}
	return at;
}

static struct err *parse_word(const struct call *call, struct query *query,
			      struct site_spec *spec, enum site_word word, const char *value)
{
	unsigned key = spec->sort;
	struct err *err;

	if (word == WORD_SORT) {
		err = choose("sort", value, query_sort_keys, &key);
		spec->sort = key;
		return err ? err_hint(err, "sort bytes, count, age, growth, rate, total, calls, "
					 "callrate or temporary") : NULL;
	}
	if (!value)
		return err_create(ERR_USAGE, "a %s goes after %s",
				  word == WORD_LIMIT ? "number" : "moment",
				  query_site_words[word]);
	if (word == WORD_LIMIT)
		return parse_number(value, &spec->limit);
	err = call_need_moments(call);
	return err ? err : moments_choose(call, value, query->now_ns,
					  word == WORD_SINCE ? &query->since : &query->at);
}

struct err *query_sites_words(const struct call *call, struct query *query, struct site_spec *spec,
			      unsigned allowed, int at)
{
	unsigned seen = 0;
	struct err *err = NULL;

	for (; !err && at < query->argc; at += 2) {
		int word = call_word_index(query->argv[at], query_site_words);

		if (word < 0 || !(allowed & 1u << word))
			return call_bad_word(query->argv[at]);
		if (seen & 1u << word)
			return err_create(ERR_USAGE, "%s is there twice", query->argv[at]);
		seen |= 1u << word;
		err = parse_word(call, query, spec, (enum site_word)word, query->argv[at + 1]);
	}
	query->sorted = seen & 1u << WORD_SORT;
	return err;
}

/* All-time counts are read before the records (log/log_totals.h). */
static struct err *add_up(const struct call *call, struct query *query, struct site_spec *spec)
{
	const struct filter_env env = query_env(call, query);
	struct in_hand in_hand = { VEC_INIT };
	struct log_totals totals;
	struct err *err = session_agent_totals(call->session, &totals);

	if (err)
		return err;
	spec->totals = &totals;
	err = session_agent_in_hand(call->session, &in_hand);
	if (!err)
		err = sites_from_log(&env, &query->filter, &in_hand, spec, &query->sites);
	vec_free(&in_hand.vec);
	log_totals_free(&totals);
	return err;
}

static struct err *not_of_then(const struct call *call, const char *what)
{
	char text[96];

	snprintf(text, sizeof(text), "%s is not answered by a recording", what);
	if (session_replay_is(call->session))
		return call_not_recorded(text);
	return err_hint(err_create(ERR_USAGE, "%s is not known for an earlier moment", what),
			"known are: by stack, function or module; a filter on function and module");
}

/*
 * Of all that is known of a moment only a recording has all-time figures. A list of what is held is the
 * same as that of an earlier moment of a process.
 */
static bool knows_all_time(const struct call *call, const struct query *query,
			   const struct site_spec *spec)
{
	return (spec->idle || !query->listed) && session_replay_is(call->session);
}

/* A moment has sums by stack only; the names of a stack are known. */
static struct err *check_past(const struct call *call, const struct query *query,
			      const struct site_spec *spec)
{
	if (spec->by >= SITE_THREAD)
		return not_of_then(call, query_by[spec->by]);
	if (spec->sort == SITE_SORT_AGE)
		return not_of_then(call, "age");
	if ((site_sort_is_all_time(spec->sort) || spec->idle) && !knows_all_time(call, query, spec))
		return not_of_then(call, "what was freed");
	vec_each(cond, &query->filter.conds)
		if (!(1u << cond->attr & NAME_ATTRS))
			return not_of_then(call, filter_parse_attr_name(cond->attr));
	return NULL;
}

struct err *query_sites_check_since(const struct query *query)
{
	uint64_t until = query->at.word ? query->at.moment.time_ns : query->now_ns;

	if (!query->since.word || query->since.moment.time_ns < until)
		return NULL;
	return err_hint(err_create(ERR_USAGE, "since %s: this moment is not before %s",
				   query->since.word, query->at.word ? query->at.word : "now"),
			"choose a mark, or -10m; `malloc diff` compares in both directions");
}

/* Find the moment with which growth is computed: that of `since`, or a sample of the history. */
static struct err *find_since(const struct call *call, const struct query *query,
			      struct site_spec *spec, struct moment *sampled)
{
	const struct history_sample *sample;
	struct err *err;

	if (query->since.word) {
		spec->since = &query->since.moment;
		return NULL;
	}
	sample = session_history_growth(call->session, query->at.word ? query->at.moment.time_ns :
							      query->now_ns);
	if (!sample)
		return NULL;
	err = session_history_unpack(call->session, sample, sampled);
	if (!err)
		spec->since = sampled;
	return err;
}

static struct err *build_past(const struct call *call, struct query *query, struct site_spec *spec)
{
	CLEANUP(moment_free) struct moment sampled = MOMENT_INIT;
	const struct filter_env env = query_env(call, query);
	struct log_totals totals = { .at = NULL };
	struct err *err = check_past(call, query, spec);

	if (!err && (query->since.word || session_replay_is(call->session)))
		err = find_since(call, query, spec, &sampled);
	if (!err && knows_all_time(call, query, spec)) {
		err = session_replay_totals(call->session, query->at.moment.time_ns, &totals);
		spec->totals = &totals;
	}
	if (!err)
		err = sites_from_moment(&env, &query->filter, &query->at.moment, spec, &query->sites);
	log_totals_free(&totals);
	return err;
}

static bool is_walked(enum site_by by)
{
	return by == SITE_SIZE || by == SITE_HEAP;
}

/* Of blocks from before the attach the walk tells the size and the heap. */
static struct err *build_walked(const struct call *call, struct query *query,
				const struct site_spec *spec)
{
	struct err *err = query_walk(call, true, query);

	return err ? err : sites_from_list(session_log(call->session), query->list, spec,
					   query->now_ns, &query->sites);
}

struct err *query_sites_older(const struct call *call, struct query *query, struct older_look *ret,
			      const struct older_look **asked_ret)
{
	struct err *err = NULL;

	*asked_ret = NULL;
	if (query->at.word || query->filter.conds.nr)
		return NULL;
	if (is_walked(query->by)) {
		*ret = (struct older_look){ .known = query->heap.walked,
					    .pause_ns = query->heap.pause_ns };
		snprintf(ret->why, sizeof(ret->why), "%s", query->heap.why);
	} else {
		err = older_find(call->session, ret);
	}
	if (err)
		return err;
	query->sites.older_bytes = ret->known ? ret->held.bytes : 0;
	*asked_ret = ret;
	return NULL;
}

/* The moment of this answer also becomes a sample. */
static struct err *build_now(const struct call *call, struct query *query, struct site_spec *spec)
{
	CLEANUP(moment_free) struct moment now = MOMENT_INIT, sampled = MOMENT_INIT;
	struct err *err = find_since(call, query, spec, &sampled);

	if (err)
		return err;
	spec->taken = &now;
	session_deferred_fix(call->session);
	err = add_up(call, query, spec);
	session_deferred_release(call->session);
	return err ? err : session_history_add(call->session, &now);
}

static struct err *build_sites(const struct call *call, struct query *query, struct site_spec *spec)
{
	struct err *err;

	spec->by = query->by;
	spec->ctx = &query->names;
	if (query->at.now)
		query->at.word = NULL;
	err = query_sites_check_since(query);
	if (err)
		return err;
	if (query->at.word)
		return build_past(call, query, spec);
	return is_walked(spec->by) ? build_walked(call, query, spec) : build_now(call, query, spec);
}

enum sites_for { SITES_FOR_OTHERS, SITES_FOR_LIST, SITES_FOR_TREE };

/* `all` as the first word, where a list may have it. */
static bool parse_all(const struct query *query, int *at)
{
	bool all = query->argc && !strcmp(query->argv[0], "all");

	*at = all;
	return all;
}

static struct err *check_idle(const struct query *query, const struct site_spec *spec)
{
	if (spec->by < SITE_THREAD ||
	    !(query->all || site_sort_is_all_time(spec->sort)))
		return NULL;
	return err_hint(err_create(ERR_USAGE, "by %s, what was freed is not known",
				   query_by[spec->by]), "by stack, function, line or module");
}

static struct err *sites(const struct call *call, enum sites_for what, struct query *query)
{
	struct site_spec spec = { .sort = SITE_SORT_BYTES,
				  .limit = UINT64_MAX,
				  .key_of = stack_names_key };
	struct err *err = query_begin_moments(call, query);
	int at = 0, end;

	query->listed = what != SITES_FOR_OTHERS;
	if (!err && query->listed)
		query->all = parse_all(query, &at);
	if (!err)
		err = parse_by(query, &at);
	if (err)
		return err;
	end = query_sites_filter_end(query, at);
	if (end > at)
		err = filter_parse(end - at, (const char *const *)query->argv + at, FILTER_ALL,
				   &query->filter, NULL, NULL);
	if (!err)
		err = query_sites_words(call, query, &spec, ALL_WORDS, end);
	/* A recording has nothing but moments: that of its cursor is now. */
	if (!err && !query->at.word && session_replay_is(call->session))
		err = moments_choose(call, "now", query->now_ns, &query->at);
	query->limit = spec.limit;
	query->sort = spec.sort;
	spec.by = query->by;
	spec.limit = what == SITES_FOR_TREE ? UINT64_MAX : spec.limit;
	/* A filter in a script keeps meaning what is held. */
	spec.idle = query->listed && (query->all || site_sort_is_all_time(spec.sort) ||
			       (call->out && query->filter.conds.nr && !query->at.word));
	if (!err)
		err = check_idle(query, &spec);
	if (!err && !query->at.word)
		err = query_typed(call, false, query);
	if (!err)
		err = build_sites(call, query, &spec);
	return err ? err : query_warn_of_nobody(call, &query->names, &query->filter);
}

struct err *query_sites(const struct call *call, struct query *query)
{
	return sites(call, SITES_FOR_OTHERS, query);
}

struct err *query_sites_tree(const struct call *call, struct query *query)
{
	return sites(call, SITES_FOR_TREE, query);
}

struct err *query_sites_listed(const struct call *call, struct query *query)
{
	return sites(call, SITES_FOR_LIST, query);
}
