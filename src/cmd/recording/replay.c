/* SPDX-License-Identifier: GPL-3.0-or-later */
/* replay, replay follow, only, processes: where in a recording answers are from, and of whom. */

#include <string.h>

#include "answer/answer.h"
#include "base/cleanup.h"
#include "cmd/moments.h"
#include "cmd/query/query.h"
#include "cmd/shell/cmd.h"
#include "heap/filter.h"
#include "report/replay/replay_text.h"
#include "session/history.h"
#include "session/replay/session_replay.h"

/* Go to what a word of a MOMENT means. */
static struct err *go_to(const struct call *call, const char *word)
{
	CLEANUP(moments_chosen_free) struct chosen_moment chosen = { 0 };
	struct err *err = moments_choose(call, word, session_replay_now(call->session), &chosen);

	return err ? err : session_replay_to(call->session, chosen.moment.time_ns);
}

static struct err *step(const struct call *call, int by, const char *times)
{
	uint64_t nr = 1;
	struct err *err = times ? parse_number(times, &nr) : NULL;

	for (uint64_t i = 0; !err && i < nr; i++)
		err = session_replay_step(call->session, by);
	return err;
}

static struct err *run(struct call *call)
{
	CLEANUP(query_free) struct query query;
	struct err *err = query_begin_unlogged(call, &query);
	const char *word = !err && query.argc ? query.argv[0] : "";
	bool next = !strcmp(word, "next"), prev = !strcmp(word, "prev");

	if (!err && query.argc > 1 + (next || prev))
		err = call_bad_word(query.argv[query.argc - 1]);
	else if (!err && (next || prev))
		err = step(call, next ? 1 : -1, query.argv[1]);
	else if (!err && *word)
		err = go_to(call, word);
	if (!err && !*word)
		return replay_text_print(call->session, call->out);
	if (!err)
		replay_text_print_now(call->session, call->out);
	return err;
}

const struct cmd cmd_replay = {
	.name		= "replay",
	.usage		= "?next ?N?|prev ?N?|MOMENT?",
	.brief		= "where in the recording answers are from",
	.help		= "`mdbg --replay DIR` opens a recording that `mdbg --record DIR` has made:\n"
			  "there is no process, and answers are of the time that the cursor is at. It\n"
			  "begins at the last sample, or at TIME with DIR@TIME. `next` and `prev` go on\n"
			  "by a sample or by N of them; MOMENT is as in `help malloc diff`, and times ago\n"
			  "are before the cursor. Without words the command says what there is.\n"
			  "\n"
			  "Between two samples nothing is known, so an answer names the sample that it\n"
			  "is of. A time at which nothing was recorded is an error, which says from when\n"
			  "to when.\n"
			  "\n"
			  "No more than 65,536 processes of a recording are read. If there are more, this\n"
			  "says how many later ones are left out; mdbg::recordings has it as leftout.\n"
			  "\n"
			  "A recording answers `malloc`, `malloc sites`, `tree`, `diff`, `history`,\n"
			  "`memory`, `memory account`, `memory system`, `growth`, `export` and `report`.\n"
			  "It has no single blocks and no memory, so ages, leaks, threads and variables\n"
			  "are for the process. All-time figures are since each process was attached to.\n",
	.example	= "replay '2026-11-02 03:10'\n"
			  "replay next 10\n",
	.need		= call_need_replay,
	.run		= run,
	.max_args	= CMD_ANY,
	.flags		= CMD_WORDS,
};

static struct err *follow(struct call *call)
{
	struct session *session = call->session;
	bool more;
	struct err *err = session_replay_refresh(session, &more);

	if (!err)
		err = session_replay_to(session, vec_end(&session_history(session)->history.samples)[-1].time_ns);
	if (err)
		return err;
	replay_text_print_now(session, call->out);
	if (!session_replay_is_written(session))
		out_text(call->out, "Nothing is added to it now: no recorder writes to it\n");
	return NULL;
}

const struct cmd cmd_replay_follow = {
	.name		= "replay follow",
	.usage		= "",
	.brief		= "go to the last sample of a recording that is being written",
	.help		= "A recorder may write to the recording that is open. What it has written since\n"
			  "is seen by `replay follow`, and by `replay next` and `replay watch` at the last\n"
			  "sample; other commands answer from what has been seen, so that two of them are\n"
			  "of one moment. A sample that is not whole yet is seen the next time.\n",
	.example	= "replay follow\n"
			  "malloc sites limit 5\n",
	.need		= call_need_replay,
	.run		= follow,
};

static struct err *only(struct call *call)
{
	uint64_t pid = 0;
	struct err *err = !strcmp(call->argv[0], "all") ? NULL : parse_number(call->argv[0], &pid);

	if (!err && pid > INT32_MAX)
		err = err_create(ERR_USAGE, "'%s' is no process id", call->argv[0]);
	if (!err)
		err = session_replay_only(call->session, (pid_t)pid);
	if (!err)
		replay_text_print_now(call->session, call->out);
	return err;
}

const struct cmd cmd_replay_only = {
	.name		= "replay only",
	.usage		= "PID|all",
	.brief		= "let answers be of one process of the recording, or of all",
	.help		= "Without it all answers are sums over all processes of all recordings that\n"
			  "are open. `replay processes` lists them.\n",
	.example	= "replay only 4711\n",
	.need		= call_need_replay,
	.run		= only,
	.min_args	= 1,
	.max_args	= 1,
};

struct process_row {
	uint64_t pid;
	const char *name, *command, *recording, *state, *why;
	uint64_t from, to, samples, time, bytes, count, rss;
	double share;
	int64_t growth, rss_growth;
	bool has_share, has_growth, has_rss_growth;
};

#define IS(kind, member)	COLUMN(kind, struct process_row, member)
#define GROWTH(member)		COLUMN_WITH(struct process_row, member)

static const struct column process_columns[] = {
	{ "pid", ">PID", NULL, IS(NUMBER, pid), .flags = COLUMN_BRIEF },
	{ "name", "NAME", NULL, IS(TEXT, name), .flags = COLUMN_BRIEF },
	{ "state", "STATE", "at the cursor: live, ended, later (not there yet), or unknown",
	  IS(TEXT, state), .flags = COLUMN_BRIEF },
	{ "bytes", ">BYTES", "held by recorded blocks", IS(BYTES, bytes),
	  .flags = COLUMN_MAX_UNKNOWN | COLUMN_BRIEF },
	{ "share", ">SHARE", "percent of what all of them hold", IS(REAL, share),
	  COLUMN_WITH(struct process_row, has_share), .flags = COLUMN_BRIEF },
	{ "count", ">COUNT", NULL, IS(NUMBER, count), .flags = COLUMN_MAX_UNKNOWN | COLUMN_BRIEF },
	{ "growth", ">GROWTH", "of bytes since its first sample, or the MOMENT of `since`",
	  IS(CHANGE, growth), GROWTH(has_growth), .flags = COLUMN_BRIEF },
	{ "rss", ">RSS", "resident bytes", IS(BYTES, rss),
	  .flags = COLUMN_MAX_UNKNOWN | COLUMN_BRIEF },
	{ "rssgrowth", ">RGROW", "of resident bytes", IS(CHANGE, rss_growth),
	  GROWTH(has_rss_growth), .flags = COLUMN_BRIEF },
	{ "from", "FROM", "its first sample", IS(TIME, from), .flags = COLUMN_0_UNKNOWN | COLUMN_BRIEF },
	{ "to", "TO", "its last sample", IS(TIME, to), .flags = COLUMN_0_UNKNOWN | COLUMN_BRIEF },
	{ "why", NULL, "why it has ended, if that is known: for lack of memory", IS(TEXT, why) },
	{ "samples", NULL, NULL, IS(NUMBER, samples) },
	{ "time", NULL, "of the sample that the figures are of", IS(TIME, time),
	  .flags = COLUMN_0_UNKNOWN },
	{ "command", NULL, NULL, IS(TEXT, command) },
	{ "recording", NULL, "its folder", IS(TEXT, recording) },
};

static const struct relation process_relation =
	RELATION("processes", process_columns, struct process_row);

static const char *state_of(const struct session_replay_process *process, uint64_t now_ns)
{
	if (process->time_ns)
		return "live";
	if (process->from_ns > now_ns)
		return "later";
	return process->exited && process->end_ns <= now_ns ? "ended" : "unknown";
}

static bool is_known(uint64_t a, uint64_t b)
{
	return a != UINT64_MAX && b != UINT64_MAX;
}

/* `before` is the same process at the earlier time. One that was not there yet has held nothing. */
static struct process_row row_of(const struct session_replay_process *process,
				 const struct session_replay_process *before, uint64_t now_ns,
				 uint64_t all)
{
	bool live = process->time_ns;
	uint64_t was_bytes = before->time_ns ? before->bytes : 0;
	uint64_t was_rss = before->time_ns ? before->rss : 0;
	bool comparable = live && before->time_ns < process->time_ns;

	return (struct process_row){
		.pid = (uint64_t)process->pid, .name = process->name.bytes,
		.command = process->command.bytes, .recording = process->folder,
		.state = state_of(process, now_ns), .from = process->from_ns, .to = process->to_ns,
		.why = process->why.bytes,
		.samples = process->samples, .time = process->time_ns,
		.bytes = live ? process->bytes : UINT64_MAX,
		.count = live ? process->count : UINT64_MAX,
		.rss = live ? process->rss : UINT64_MAX,
		.has_share = live && all && process->bytes != UINT64_MAX,
		.share = all ? 100.0 * (double)process->bytes / (double)all : 0,
		.has_growth = comparable && is_known(process->bytes, was_bytes),
		.growth = (int64_t)(process->bytes - was_bytes),
		.has_rss_growth = comparable && is_known(process->rss, was_rss),
		.rss_growth = (int64_t)(process->rss - was_rss),
	};
}

struct processes {
	struct session_replay_processes now, before;
};

static void processes_free(struct processes *processes)
{
	vec_free(&processes->now.vec);
	vec_free(&processes->before.vec);
}

static struct err *add_rows(const struct call *call, const struct processes *processes,
			    const struct answer_order *order, struct answer *ret)
{
	VEC(struct process_row) rows = VEC_INIT;
	uint64_t all = 0;
	struct err *err = NULL;
	size_t left = 0;

	vec_each(process, &processes->now.vec)
		all += process->time_ns && process->bytes != UINT64_MAX ? process->bytes : 0;
	for (size_t i = 0; !err && i < processes->now.vec.nr; i++)
		err = vec_push(&rows, row_of(&processes->now.vec.at[i],
					     &processes->before.vec.at[i],
					     session_replay_now(call->session), all));
	if (!err)
		err = answer_sort(order, rows.at, rows.nr, sizeof(*rows.at), &left);
	for (size_t i = 0; !err && i < left; i++)
		err = answer_add(ret, &rows.at[i]);
	vec_free(&rows);
	return err;
}

static struct err *processes_rows(struct call *call, struct answer *ret)
{
	CLEANUP(query_free) struct query query;
	CLEANUP(processes_free) struct processes processes = { { VEC_INIT }, { VEC_INIT } };
	struct answer_order order = { .limit = UINT64_MAX };
	uint64_t since_ns = 0;
	struct err *err = query_begin_moments(call, &query);
	int at = 0;

	*ret = (struct answer)ANSWER_KEPT(&process_relation);
	/* Without `since`, growth is since the first sample of all. */
	if (!err)
		since_ns = session_history(call->session)->history.samples.at->time_ns;
	if (!err)
		err = moments_since(call, query.argc, query.argv, query.now_ns, &at, &since_ns);
	if (!err)
		err = answer_order_parse(&process_relation, query.argc,
					 (const char *const *)query.argv, &at, &order);
	if (!err && at < query.argc)
		err = call_bad_word(query.argv[at]);
	if (!err)
		err = session_replay_processes(call->session, query.now_ns, &processes.now);
	if (!err)
		err = session_replay_processes(call->session, since_ns, &processes.before);
	if (!order.by)
		order.by = relation_find(&process_relation, "bytes");
	return err ? err : add_rows(call, &processes, &order, ret);
}

static const struct twin processes_twin = {
	.name		= "mdbg::processes",
	.brief		= "list of dicts: the processes of `replay processes`",
	.of		= &process_relation,
	.rows		= processes_rows,
};

const struct cmd cmd_replay_processes = {
	.name		= "replay processes",
	.usage		= "?since MOMENT? ?sort KEY ?up?? ?limit N?",
	.brief		= "the processes of a recording, and how they have grown",
	.help		= "All processes of all recordings that are open, those that hold most first:\n"
			  "what their recorded blocks held at the cursor, their share of the sum, and\n"
			  "what they have grown by since MOMENT, or since the recording began. One that\n"
			  "was not there yet has held nothing. A process that was started anew is one of\n"
			  "its own, and one that has ended holds nothing. `sort growth` shows which\n"
			  "worker leaks; `replay only PID` lets all answers be of that one.\n",
	.example	= "replay processes since -1d sort growth limit 5\n",
	.need		= call_need_replay,
	.twin		= &processes_twin,
	.max_args	= CMD_ANY,
};
