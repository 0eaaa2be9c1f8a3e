/* SPDX-License-Identifier: GPL-3.0-or-later */
/* malloc history, mdbg::history: the totals of the samples of the history. */

#include <string.h>

#include "answer/answer.h"
#include "base/cleanup.h"
#include "cmd/moments.h"
#include "cmd/query/query.h"
#include "cmd/shell/cmd.h"
#include "heap/filter.h"
#include "report/lack_text.h"
#include "report/rows_text.h"
#include "report/sites.h"
#include "session/history.h"

struct sample_row {
	uint64_t time, bytes, count, rss, older, unsized;
	bool gap;
};

#define IS(kind, member)	COLUMN(kind, struct sample_row, member)

static const struct column sample_columns[] = {
	{ "time", "TIME", NULL, IS(TIME, time), .flags = COLUMN_BRIEF },
	{ "bytes", ">BYTES", "held by recorded blocks; an estimate if the log samples",
	  IS(BYTES, bytes), .flags = COLUMN_BRIEF },
	{ "count", ">COUNT", "held by recorded blocks; an estimate if the log samples",
	  IS(NUMBER, count), .flags = COLUMN_BRIEF },
	{ "rss", ">RSS", "resident bytes of the process, without those of mdbg", IS(BYTES, rss),
	  .flags = COLUMN_0_UNKNOWN | COLUMN_BRIEF },
	{ "older", ">OLDER", "freed so far of blocks from before the attach; - if the log samples",
	  IS(BYTES, older), .flags = COLUMN_MAX_UNKNOWN | COLUMN_BRIEF },
	{ "unsized", ">UNSIZED", "how many more of these were freed, whose size is not known; - if the log samples",
	  IS(NUMBER, unsized), .flags = COLUMN_MAX_UNKNOWN },
	{ "gap", ">GAP", "1: there was a time without samples before this one, as after `malloc off`",
	  IS(NUMBER, gap), .flags = COLUMN_BRIEF },
};

static const struct relation sample_relation = RELATION("samples", sample_columns, struct sample_row);

/* The samples that were asked for: from the first time to the last one, and at most so many. */
struct range {
	struct chosen_moment since, until;
	uint64_t from_ns, to_ns, limit;
};

static void range_free(struct range *range)
{
	moments_chosen_free(&range->since);
	moments_chosen_free(&range->until);
}

static struct err *parse_word(const struct call *call, struct query *query, int at,
			      struct range *range)
{
	const char *word = query->argv[at], *value = query->argv[at + 1];
	bool since = !strcmp(word, "since");
	struct chosen_moment *chosen = since ? &range->since : &range->until;
	struct err *err;

	if (!since && strcmp(word, "until") && strcmp(word, "limit"))
		return call_bad_word(word);
	if (!value)
		return err_create(ERR_USAGE, "a %s goes after %s",
				  strcmp(word, "limit") ? "moment" : "number", word);
	if (!strcmp(word, "limit"))
		return parse_number(value, &range->limit);
	if (chosen->word)
		return err_create(ERR_USAGE, "%s is there twice", word);
	err = moments_choose(call, value, query->now_ns, chosen);
	if (!err && since)
		range->from_ns = chosen->moment.time_ns;
	else if (!err)
		range->to_ns = chosen->moment.time_ns;
	return err;
}

static struct err *parse(const struct call *call, struct query *query, struct range *range)
{
	struct err *err = query_begin_moments(call, query);

	if (err)
		return err;
	range->to_ns = query->now_ns;
	range->limit = UINT64_MAX;
	for (int at = 0; !err && at < query->argc; at += 2)
		err = parse_word(call, query, at, range);
	return err;
}

static struct err *add_samples(const struct history *history, const struct range *range,
			       struct answer *ret)
{
	const struct history_sample *sample = history->samples.at;
	size_t nr = history->samples.nr;
	size_t first = LOWER_BOUND(i, 0, nr, sample[i].time_ns < range->from_ns);
	size_t end = LOWER_BOUND(i, 0, nr, sample[i].time_ns <= range->to_ns);
	struct err *err = NULL;

	if (end > first && end - first > range->limit)
		first = end - (size_t)range->limit;
	for (size_t i = first; !err && i < end; i++) {
		const struct log_older *older = &sample[i].moment.older;

		err = answer_add(ret, &(struct sample_row){
			sample[i].time_ns, sample[i].bytes, sample[i].count, sample[i].rss,
			older->known ? older->bytes : UINT64_MAX,
			older->known ? older->unsized : UINT64_MAX,
			history_gap_before(history, i) });
	}
	return err;
}

static struct err *rows(struct call *call, struct answer *ret)
{
	CLEANUP(query_free) struct query query;
	CLEANUP(range_free) struct range range = { .from_ns = 0 };
	struct err *err = parse(call, &query, &range);

	*ret = (struct answer)ANSWER_KEPT(&sample_relation);
	return err ? err : add_samples(&session_history(call->session)->history, &range, ret);
}

static struct err *run(struct call *call)
{
	CLEANUP(answer_free) struct answer answer = { .nr = 0 };
	struct err *err = rows(call, &answer);

	if (err)
		return err;
	err = rows_text_print(&answer, NULL, call->out);
	out_text(call->out, "\n");
	if (!err)
		err = lack_text_print(call->session, call->out);
	if (!err)
		sites_print_sampling(call->session, call->out);
	return err;
}

static const struct twin twin = {
	.name		= "mdbg::history",
	.brief		= "list of dicts: the samples of the history, oldest first",
	.help		= "The samples begin with the attach or the last `malloc reset`. Of old ones\n"
			  "fewer are kept, but the one with the most bytes is always kept.\n",
	.of		= &sample_relation,
	.rows		= rows,
};

const struct cmd cmd_malloc_history = {
	.name		= "malloc history",
	.usage		= "?since MOMENT? ?until MOMENT? ?limit N?",
	.brief		= "what was held at the time of each sample",
	.help		= "One line for each sample of the history, the oldest first: what recorded\n"
			  "blocks held, the resident memory of the process, and what had been freed by\n"
			  "then of blocks from before the attach. GAP is 1 if there was a time without\n"
			  "samples before it. `limit` leaves the last N.\n"
			  "\n"
			  "MOMENT is as in `help malloc diff`. `export csv FILE history` writes the lines\n"
			  "for other programs. Of a recording they end where its cursor is (`help\n"
			  "replay`) unless `until` says otherwise.\n",
	.example	= "malloc history since -1h\n"
			  "export csv history.csv history limit 1000\n",
	.run		= run,
	.twin		= &twin,
	.max_args	= CMD_ANY,
};
