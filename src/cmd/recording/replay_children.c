/* SPDX-License-Identifier: GPL-3.0-or-later */
/* replay children, mdbg::children: the children of a recorded process, summed up by program. */

#include <string.h>

#include "answer/answer.h"
#include "base/cleanup.h"
#include "cmd/moments.h"
#include "cmd/query/query.h"
#include "cmd/shell/cmd.h"
#include "record/record.h"
#include "session/replay/session_replay.h"
#include "session/replay/session_replay_figures.h"

struct child_row {
	const char *program;
	uint64_t runs, failed, most, mean, cpu, faults;
};

#define IS(kind, member)	COLUMN(kind, struct child_row, member)

static const struct column child_columns[] = {
	{ "program", "PROGRAM", "its name, as in /proc/PID/comm; (others) beyond so many",
	  IS(TEXT, program), .flags = COLUMN_BRIEF },
	{ "runs", ">RUNS", "that have ended", IS(NUMBER, runs), .flags = COLUMN_BRIEF },
	{ "failed", ">FAILED", "with another status than 0", IS(NUMBER, failed), .flags = COLUMN_BRIEF },
	{ "most", ">MOST", "the largest resident size of any run since the attach", IS(BYTES, most),
	  .flags = COLUMN_BRIEF },
	{ "mean", ">MEAN", "mean of the largest resident sizes", IS(BYTES, mean), .flags = COLUMN_BRIEF },
	{ "cpu", ">CPU", "processor time of all", IS(AGE, cpu), .flags = COLUMN_BRIEF },
	{ "faults", ">FAULTS", "page faults of all", IS(NUMBER, faults), .flags = COLUMN_BRIEF },
};

static const struct relation child_relation = RELATION("children", child_columns, struct child_row);

/* What has come since an earlier moment; the largest of all time is no difference. */
static void subtract(struct session_replay_child *child, const struct session_replay_children *before)
{
	vec_each(then, &before->vec)
		for (unsigned i = 0; !strcmp(then->name, child->name) && i < RECORD_CHILD_COLUMNS; i++)
			if (i != RECORD_CHILD_MOST)
				child->value[i] -= MIN(then->value[i], child->value[i]);
}

static struct child_row row_of(const struct session_replay_child *child)
{
	const uint64_t *value = child->value;

	return (struct child_row){
		.program = child->name, .runs = value[RECORD_CHILD_RUNS],
		.failed = value[RECORD_CHILD_FAILED], .most = value[RECORD_CHILD_MOST],
		.mean = value[RECORD_CHILD_SUM] / MAX(value[RECORD_CHILD_RUNS], 1ull),
		.cpu = value[RECORD_CHILD_CPU], .faults = value[RECORD_CHILD_FAULTS],
	};
}

static struct err *add_rows(struct session_replay_children *now,
			    const struct session_replay_children *before,
			    const struct answer_order *order, struct answer *ret)
{
	VEC(struct child_row) rows = VEC_INIT;
	struct err *err = NULL;
	size_t left = 0;

	vec_each_while(child, &now->vec, !err) {
		subtract(child, before);
		if (child->value[RECORD_CHILD_RUNS])
			err = vec_push(&rows, row_of(child));
	}
	if (!err)
		err = answer_sort(order, rows.at, rows.nr, sizeof(*rows.at), &left);
	for (size_t i = 0; !err && i < left; i++)
		err = answer_add(ret, &rows.at[i]);
	vec_free(&rows);
	return err;
}

/* *since_ret is 0 without `since`. */
static struct err *parse(struct call *call, struct query *query, uint64_t *since_ret,
			 struct answer_order *order)
{
	struct err *err = query_begin_moments(call, query);
	int at = 0;

	*since_ret = 0;
	if (!err)
		err = moments_since(call, query->argc, query->argv, query->now_ns, &at, since_ret);
	if (!err)
		err = answer_order_parse(&child_relation, query->argc, (const char *const *)query->argv,
					 &at, order);
	if (!order->by)
		order->by = relation_find(&child_relation, "runs");
	return !err && at < query->argc ? call_bad_word(query->argv[at]) : err;
}

static struct err *rows(struct call *call, struct answer *ret)
{
	CLEANUP(query_free) struct query query;
	struct session_replay_children now = { VEC_INIT }, before = { VEC_INIT };
	struct answer_order order = { .limit = UINT64_MAX };
	uint64_t since_ns;
	struct err *err = parse(call, &query, &since_ns, &order);

	*ret = (struct answer)ANSWER_KEPT(&child_relation);
	if (!err)
		err = session_replay_figures_children(call->session, query.now_ns, &now);
	if (!err && since_ns)
		err = session_replay_figures_children(call->session, since_ns, &before);
	if (!err)
		err = add_rows(&now, &before, &order, ret);
	vec_free(&now.vec);
	vec_free(&before.vec);
	return err;
}

static const struct twin twin = {
	.name		= "mdbg::children",
	.brief		= "list of dicts: the sums of `replay children`",
	.of		= &child_relation,
	.rows		= rows,
};

const struct cmd cmd_replay_children = {
	.name		= "replay children",
	.usage		= "?since MOMENT? ?sort KEY ?up?? ?limit N?",
	.brief		= "the children that a recorded process had, by program",
	.help		= "Children that have ended by the cursor, since their parent was attached to or\n"
			  "since MOMENT, summed up by the name of their program, those with most runs\n"
			  "first: a child that runs for a millisecond is in it as well. A child is one of\n"
			  "the process itself; children of children count where their parent is recorded.\n"
			  "\n"
			  "The kernel says what a process took when it ends (taskstats), to an mdbg with\n"
			  "CAP_NET_ADMIN outside of containers, since Linux 5.19. `replay events` has a\n"
			  "note if it did not, or if some were missed.\n",
	.example	= "replay children since -1h limit 5\n",
	.need		= call_need_replay,
	.twin		= &twin,
	.max_args	= CMD_ANY,
};
