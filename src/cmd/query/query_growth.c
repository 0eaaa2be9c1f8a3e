/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parse the words of `growth`. */

#include "cmd/query/query.h"

#include "cmd/shell/cmd.h"
#include "session/replay/session_replay.h"
#include "session/session.h"

#define GROWTH_WORDS	(1u << WORD_SORT | 1u << WORD_LIMIT | 1u << WORD_SINCE)

/* What is held since a moment was made since, so that it is a condition like any other. */
static struct err *keep_since(struct query *query)
{
	struct err *err = query_sites_check_since(query);

	return err ? err : vec_push(&query->filter.conds, ((struct filter_cond){
		.attr = FILTER_TIME, .relop = FILTER_GE,
		.number = query->since.moment.time_ns }));
}

struct err *query_growth(const struct call *call, uint32_t attrs, bool logless,
			 struct query *query)
{
	struct site_spec spec = { .limit = UINT64_MAX };
	bool replay = session_replay_is(call->session);
	struct err *err = logless && !session_log(call->session) ? query_begin_unlogged(call, query) :
			  replay ? query_begin_moments(call, query) : query_begin(call, query);
	int end;

	if (err)
		return err;
	end = query_sites_filter_end(query, 0);
	err = filter_parse(end, (const char *const *)query->argv, attrs, &query->filter, NULL,
			   NULL);
	if (!err)
		err = query_sites_words(call, query, &spec, GROWTH_WORDS, end);
	query->order.limit = spec.limit;
	query->sort = spec.sort;
	if (!err && spec.sort != SITE_SORT_BYTES && spec.sort != SITE_SORT_COUNT)
		err = err_hint(err_create(ERR_USAGE, "'%s' is nothing to sort by",
					  query_sort_keys[spec.sort]), "sort bytes or count");
	if (err || !query->since.word)
		return err;
	return replay ? query_sites_check_since(query) : keep_since(query);
}

struct err *query_growth_sort(const struct query *query, const struct column *by, void *at,
			      size_t nr, size_t size, size_t *left_ret)
{
	const struct answer_order order = { .by = query->sorted ? by : NULL,
					    .limit = query->order.limit };

	return answer_sort(&order, at, nr, size, left_ret);
}
