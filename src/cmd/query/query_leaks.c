/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parse the words of `malloc leaks` and `malloc stale`, and search for what they list. */

#include "answer/site_rows.h"
#include "cmd/shell/cmd.h"
#include "cmd/query/query.h"
#include "cmd/shell/shell.h"

static bool parse_kind(const char *word, uint32_t *kinds)
{
	uint32_t kind = !strcmp(word, "all") ? (1u << LEAK_KINDS) - 1 :
			!strcmp(word, "suppressed") ? LEAK_SUPPRESSED : 0;

	for (unsigned i = 0; i < LEAK_KINDS; i++)
		if (!strcmp(word, leak_kind_word(i)))
			kind = 1u << i;
	*kinds |= kind;
	return kind;
}

/* Adds a bit of enum look_how to *asked. */
static bool parse_how(const char *word, uint32_t *asked)
{
	static const char *const words[] = { "-stop", "-snapshot", NULL };
	int index = call_word_index(word, words);

	if (index >= 0)
		*asked |= 1u << (LOOK_STOP + index);
	return index >= 0;
}

/*
 * The kinds come first. -stop and -snapshot stand among them or at the end. FILTER follows, then sort
 * and limit.
 */
static struct err *parse_leaks(struct query *query, uint32_t *kinds,
			       enum look_how *how, struct answer_order *order)
{
	const char *const *argv = (const char *const *)query->argv;
	int argc = query->argc, at = 0, used = 0;
	uint32_t asked = 0;
	struct err *err;

	while (argc && parse_how(argv[argc - 1], &asked))
		argc--;
	while (at < argc && (parse_kind(argv[at], kinds) || parse_how(argv[at], &asked)))
		at++;
	if (asked == (1u << LOOK_STOP | 1u << LOOK_SNAPSHOT))
		return err_create(ERR_USAGE, "-stop or -snapshot, not both");
	*how = asked & 1u << LOOK_STOP ? LOOK_STOP :
	       asked ? LOOK_SNAPSHOT : LOOK_AUTO;
	if (!*kinds)
		*kinds = 1u << LEAK_DEFINITE | 1u << LEAK_POSSIBLE;
	err = filter_parse(argc - at, argv + at, FILTER_ALL, &query->filter, NULL, &used);
	at += used;
	if (!err)
		err = answer_order_parse(&leak_relation, argc, argv, &at, order);
	return !err && at < argc ? call_bad_word(argv[at]) : err;
}

struct matching {
	const struct filter *filter;
	struct filter_env env;
};

static bool matches(void *ctx, const struct block *block)
{
	const struct matching *matching = ctx;

	return filter_matches(matching->filter, &matching->env, block);
}

static const char *type_of(void *types, const struct block *block)
{
	return typed_blocks_name(types, typed_blocks_of(types, block).number);
}

struct err *query_leaks(const struct call *call, struct query *query)
{
	struct matching matching = { .filter = &query->filter };
	struct leak_spec spec = { .keep = matches, .ctx = &matching,
				  .suppress_ctx = &query->suppress,
				  .nr_suppressions = call->shell->suppressions.vec.nr };
	enum look_how how = LOOK_AUTO;
	struct answer_order order;
	struct err *err = query_begin(call, query);

	if (!err)
		err = parse_leaks(query, &spec.kinds, &how, &order);
	if (!err)
		err = session_leaks(call->session, how, filter_is_timed(&query->filter),
				    &query->found);
	if (!err)
		err = query_typed(call, call->verbose && query->found.walked, query);
	if (err)
		return err;
	query->found.pause_ns += query->typed.found.blocks.pause_ns;
	matching.env = query_env(call, query);
	spec.mean = log_config(matching.env.log).sample;
	spec.type_of = query->typed.taken ? type_of : NULL;
	spec.types = &query->typed;
	if (spec.nr_suppressions)
		spec.suppression_of = suppressed_stack_of;
	query->suppress.session = call->session;
	query->suppress.suppressions = &call->shell->suppressions;
	err = leaks_build(&query->found.held, &query->found.mark, &spec, &query->leaks);
	if (!err)
		err = leaks_order(&query->leaks, &order);
	return err ? err : query_warn_of_nobody(call, &query->names, &query->filter);
}

/* Drop the blocks that the filter does not keep. */
static void keep_matching(struct blocks *blocks, const struct filter *filter,
			  const struct filter_env *env)
{
	size_t nr = 0;

	for (size_t i = 0; i < blocks->vec.nr; i++)
		if (filter_matches(filter, env, &blocks->vec.at[i]))
			blocks->vec.at[nr++] = blocks->vec.at[i];
	blocks->vec.nr = nr;
}

/* All-time counts were read before the search. */
static struct err *find_stale(const struct call *call, struct query *query, uint64_t age,
			      const struct log_totals *totals)
{
	const struct site_spec spec = { .by = SITE_STACK, .limit = UINT64_MAX, .totals = totals };
	const struct filter_env env = query_env(call, query);
	struct log *log = session_log(call->session);
	struct err *err = session_leaks(call->session, LOOK_AUTO, true, &query->found);

	if (!err)
		err = leaks_stale(&query->found.held, log, query->now_ns, age, &query->blocks);
	query->by = SITE_STACK;
	if (err)
		return err;
	keep_matching(&query->blocks, &query->filter, &env);
	return sites_build(log, &query->blocks, &spec, query->now_ns, &query->sites);
}

/* AGE, then FILTER, then sort and limit. */
static struct err *parse_stale(struct query *query, uint64_t *age, struct answer_order *order)
{
	const char *const *argv = (const char *const *)query->argv;
	int at = 1, used = 0;
	struct err *err = parse_duration(argv[0], age);

	if (!err)
		err = filter_parse(query->argc - 1, argv + 1, FILTER_ALL, &query->filter, NULL,
				   &used);
	at += used;
	if (!err)
		err = answer_order_parse(&site_relation, query->argc, argv, &at, order);
	return !err && at < query->argc ? call_bad_word(argv[at]) : err;
}

struct err *query_leaks_stale(const struct call *call, struct query *query)
{
	struct err *err = query_begin_recorded(call, query);
	struct answer_order order;
	struct log_totals totals;
	uint64_t age;

	if (!err)
		err = parse_stale(query, &age, &order);
	if (!err)
		err = query_typed(call, false, query);
	if (!err)
		err = session_agent_totals(call->session, &totals);
	if (err)
		return err;
	err = find_stale(call, query, age, &totals);
	log_totals_free(&totals);
	if (!err)
		err = sites_order(&query->sites, &order);
	return err ? err : query_warn_of_nobody(call, &query->names, &query->filter);
}
