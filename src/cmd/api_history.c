/* SPDX-License-Identifier: GPL-3.0-or-later */
/* mdbg::history: the totals of all samples of the history. */

#include "cmd/shell/cmd.h"
#include "answer/answer.h"
#include "session/history.h"

struct sample_row {
	uint64_t time, bytes, count, rss, older, unsized;
	bool gap;
};

#define IS(kind, member)	COLUMN(kind, struct sample_row, member)

static const struct column sample_columns[] = {
	{ "time", "TIME", NULL, IS(TIME, time) },
	{ "bytes", ">BYTES", "held by recorded blocks; an estimate if the log samples", IS(BYTES, bytes) },
	{ "count", ">COUNT", "held by recorded blocks; an estimate if the log samples",
	  IS(NUMBER, count) },
	{ "rss", ">RSS", "resident bytes of the process, without those of mdbg", IS(BYTES, rss), .flags = COLUMN_0_UNKNOWN },
	{ "older", ">OLDER", "freed so far of blocks from before the attach; - if the log samples",
	  IS(BYTES, older), .flags = COLUMN_MAX_UNKNOWN },
	{ "unsized", ">UNSIZED", "how many more of these were freed, whose size is not known; - if the log samples",
	  IS(NUMBER, unsized), .flags = COLUMN_MAX_UNKNOWN },
	{ "gap", NULL, "1: there was a time without samples before this one, as after `malloc off`",
	  IS(NUMBER, gap) },
};

static const struct relation sample_relation = RELATION("samples", sample_columns, struct sample_row);

static struct err *rows(struct call *call, struct answer *ret)
{
	const struct history *history = &session_history(call->session)->history;
	struct err *err = NULL;

	*ret = (struct answer)ANSWER_KEPT(&sample_relation);
	for (size_t i = 0; !err && i < history->samples.nr; i++) {
		const struct history_sample *sample = &history->samples.at[i];

		const struct log_older *older = &sample->moment.older;

		err = answer_add(ret, &(struct sample_row){
			sample->time_ns, sample->bytes, sample->count, sample->rss,
			older->known ? older->bytes : UINT64_MAX,
			older->known ? older->unsized : UINT64_MAX,
			history_gap_before(history, i) });
	}
	return err;
}

const struct cmd cmd_api_history = {
	.name		= "mdbg::history",
	.brief		= "list of dicts: the samples of the history, oldest first",
	.help		= "The samples begin with the attach or the last `malloc reset`. Of old ones\n"
			  "fewer are kept, but the one with the most bytes is always kept.\n",
	.need		= call_need_recording,
	.of		= &sample_relation,
	.rows		= rows,
};
