/* SPDX-License-Identifier: GPL-3.0-or-later */
/* replay shares, mdbg::shares: what each process has of the largest sites of a recording. */

#include <string.h>

#include "answer/answer.h"
#include "base/cleanup.h"
#include "cmd/query/query.h"
#include "cmd/shell/cmd.h"
#include "session/replay/session_replay.h"

#define SITES	10u		/* if no limit is given */

struct share_row {
	uint64_t site, all, pid, bytes, count;
	double share;
	uint32_t stack;
	const char *name;
};

#define IS(kind, member)	COLUMN(kind, struct share_row, member)

static const struct column share_columns[] = {
	{ "site", ">SITE", "its rank among all sites, from 1 on", IS(NUMBER, site),
	  .flags = COLUMN_BRIEF },
	{ "all", ">ALL", "what all processes hold by this site", IS(BYTES, all),
	  .flags = COLUMN_BRIEF },
	{ "pid", ">PID", NULL, IS(NUMBER, pid), .flags = COLUMN_BRIEF },
	{ "name", "NAME", NULL, IS(TEXT, name), .flags = COLUMN_BRIEF },
	{ "bytes", ">BYTES", "what this process has of it", IS(BYTES, bytes), .flags = COLUMN_BRIEF },
	{ "count", ">COUNT", NULL, IS(NUMBER, count), .flags = COLUMN_BRIEF },
	{ "share", ">SHARE", "percent of the site", IS(REAL, share), .flags = COLUMN_BRIEF },
	{ "stack", "FUNCTION", NULL, IS(STACK, stack), .flags = COLUMN_BRIEF },
};

static const struct relation share_relation = RELATION("shares", share_columns, struct share_row);

struct moments {
	VEC(struct moment) vec;		/* by process */
};

static void moments_free(struct moments *moments)
{
	vec_each(moment, &moments->vec)
		moment_free(moment);
	vec_free(&moments->vec);
}

static struct err *take_moments(struct call *call, const struct session_replay_processes *processes,
				uint64_t time_ns, struct moments *ret)
{
	struct err *err = vec_reserve(&ret->vec, processes->vec.nr);

	for (size_t i = 0; !err && i < processes->vec.nr; i++) {
		struct moment moment = MOMENT_INIT;

		err = session_replay_moment_of(call->session, i, time_ns, &moment);
		if (!err)
			ret->vec.at[ret->vec.nr++] = moment;
	}
	return err;
}

static const struct moment_sum *sum_of(const struct moment *moment, uint32_t stack)
{
	const struct moment_sum *at = moment->vec.at;
	size_t i = LOWER_BOUND(j, 0, moment->vec.nr, at[j].stack < stack);

	return i < moment->vec.nr && at[i].stack == stack ? &at[i] : NULL;
}

COMPARE_BY(larger_first, struct share_row, x, ~x->bytes)

static struct err *add_site(const struct site *site, uint64_t rank,
			    const struct session_replay_processes *processes,
			    const struct moments *moments, struct answer *ret)
{
	VEC(struct share_row) rows = VEC_INIT;
	struct err *err = NULL;

	for (size_t i = 0; !err && i < moments->vec.nr; i++) {
		const struct moment_sum *sum = sum_of(&moments->vec.at[i], site->stack);

		if (sum)
			err = vec_push(&rows, ((struct share_row){
				.site = rank, .all = site->bytes, .stack = site->stack,
				.pid = (uint64_t)processes->vec.at[i].pid,
				.name = processes->vec.at[i].name.bytes, .bytes = sum->bytes,
				.count = sum->count, .share = site->bytes ?
					100.0 * (double)sum->bytes / (double)site->bytes : 0 }));
	}
	vec_sort(&rows, larger_first);
	vec_each_while(row, &rows, !err)
		err = answer_add(ret, row);
	vec_free(&rows);
	return err;
}

/* The words are those of `malloc sites`; the sites are by stack. */
static struct err *ask(struct call *call, struct query *query)
{
	struct err *err = query_sites_tree(call, query);

	if (!err && query->by != SITE_STACK)
		err = err_create(ERR_USAGE, "shares are by stack");
	if (!err && query->limit == UINT64_MAX)
		query->limit = SITES;
	return err;
}

static struct err *rows(struct call *call, struct answer *ret)
{
	CLEANUP(query_free) struct query query;
	CLEANUP(moments_free) struct moments moments = { VEC_INIT };
	struct session_replay_processes processes = { VEC_INIT };
	struct err *err = ask(call, &query);
	uint64_t time_ns = err ? 0 : query.at.moment.time_ns;

	*ret = (struct answer)ANSWER_KEPT(&share_relation);
	if (!err)
		err = session_replay_processes(call->session, time_ns, &processes);
	if (!err)
		err = take_moments(call, &processes, time_ns, &moments);
	for (size_t i = 0; !err && i < MIN((uint64_t)query.sites.vec.nr, query.limit); i++)
		err = add_site(&query.sites.vec.at[i], i + 1, &processes, &moments, ret);
	vec_free(&processes.vec);
	return err;
}

static const struct twin twin = {
	.name		= "mdbg::shares",
	.brief		= "list of dicts: the lines of `replay shares`",
	.of		= &share_relation,
	.rows		= rows,
};

const struct cmd cmd_replay_shares = {
	.name		= "replay shares",
	.usage		= "?FILTER? ?sort bytes|count|growth|rate? ?limit N? ?since MOMENT? ?at MOMENT?",
	.brief		= "the largest sites, and what each process has of them",
	.help		= "A line for each process of a site, the one with most first: what it holds\n"
			  "there, and its share of what all processes hold there. The sites are those of\n"
			  "`malloc sites` with the same words, the first 10 or N of them.\n",
	.example	= "replay shares limit 3\n",
	.need		= call_need_replay,
	.twin		= &twin,
	.max_args	= CMD_ANY,
	.flags		= CMD_FILTER,
	.complete	= COMPLETE_SITES,
};
