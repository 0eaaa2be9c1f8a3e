/* SPDX-License-Identifier: GPL-3.0-or-later */
/* replay events, mdbg::events: what happened while it was recorded. */

#include <string.h>
#include <sys/wait.h>

#include "answer/answer.h"
#include "base/cleanup.h"
#include "cmd/moments.h"
#include "cmd/query/query.h"
#include "cmd/shell/cmd.h"
#include "cmd/terminal/signals.h"
#include "record/record.h"
#include "session/history.h"
#include "session/replay/session_replay.h"

struct event_row {
	uint64_t time, pid, number, also;
	const char *event, *name, *what;
};

#define IS(kind, member)	COLUMN(kind, struct event_row, member)

static const struct column event_columns[] = {
	{ "time", "TIME", NULL, IS(TIME, time), .flags = COLUMN_BRIEF },
	{ "event", "EVENT", "begin, close, attach, detach, exec, exit, fork, restart, oom, mark, module, "
	  "clock, lost or note", IS(TEXT, event), .flags = COLUMN_BRIEF },
	{ "pid", ">PID", NULL, IS(NUMBER, pid), .flags = COLUMN_0_UNKNOWN | COLUMN_BRIEF },
	{ "name", "NAME", NULL, IS(TEXT, name), .flags = COLUMN_0_UNKNOWN | COLUMN_BRIEF },
	{ "what", "WHAT", NULL, IS(TEXT, what), .flags = COLUMN_BRIEF },
	{ "number", NULL, "as docs/record-format.md has it of each event", IS(NUMBER, number) },
	{ "also", NULL, "the same", IS(NUMBER, also) },
};

static const struct relation event_relation = RELATION("events", event_columns, struct event_row);

static const char *const kind_names[RECORD_EVENT_KINDS] = {
	[RECORD_EVENT_BEGIN] = "begin", [RECORD_EVENT_CLOSE] = "close",
	[RECORD_EVENT_ATTACH] = "attach", [RECORD_EVENT_DETACH] = "detach",
	[RECORD_EVENT_EXEC] = "exec", [RECORD_EVENT_EXIT] = "exit", [RECORD_EVENT_FORK] = "fork",
	[RECORD_EVENT_RESTART] = "restart", [RECORD_EVENT_OOM] = "oom",
	[RECORD_EVENT_MARK] = "mark", [RECORD_EVENT_MODULE] = "module",
	[RECORD_EVENT_CLOCK] = "clock", [RECORD_EVENT_LOST] = "lost", [RECORD_EVENT_NOTE] = "note",
};

static struct err *add_exit(const struct session_replay_event *event, struct str *ret)
{
	int status = (int)event->number;
	struct err *err;

	if (event->number == RECORD_UNKNOWN)
		err = str_add(ret, "its status is not known");
	else if (WIFSIGNALED(status))
		err = str_addf(ret, "by %s (%s)", signal_name(WTERMSIG(status)),
			       strsignal(WTERMSIG(status)));
	else
		err = str_addf(ret, "with status %d", WEXITSTATUS(status));
	return err || !event->text.bytes ? err : str_addf(ret, ", %s", event->text.bytes);
}

static struct err *add_what(const struct session_replay_event *event, struct str *ret)
{
	const char *text = event->text.bytes ? event->text.bytes : "";

	switch (event->kind) {
	case RECORD_EVENT_EXIT:
		return add_exit(event, ret);
	case RECORD_EVENT_FORK:
		return str_addf(ret, "process %" PRIu64, event->number);
	case RECORD_EVENT_RESTART:
		return str_addf(ret, "after process %" PRIu64, event->number);
	case RECORD_EVENT_OOM:
		return str_addf(ret, "the kernel killed process %" PRIu64 " (%s), which had %" PRIu64
				" bytes", event->number, text, event->also);
	default:
		return str_add(ret, text);
	}
}

static struct err *add_row(const struct session_replay_event *event, struct answer *ret)
{
	AUTO_STR struct str what = STR_INIT;
	struct err *err = add_what(event, &what);

	return err ? err : answer_add(ret, &(struct event_row){
		.time = event->time_ns, .pid = (uint64_t)event->pid, .number = event->number,
		.also = event->also, .event = event->kind < RECORD_EVENT_KINDS ?
			kind_names[event->kind] : "unknown",
		.name = event->name.bytes, .what = str_text(&what) });
}

/* All up to the cursor, or from a moment on. */
static struct err *parse(struct call *call, uint64_t *from_ret, struct answer_order *order)
{
	CLEANUP(query_free) struct query query;
	struct err *err = query_begin_moments(call, &query);
	int at = 0;

	*from_ret = 0;
	if (!err)
		err = moments_since(call, query.argc, query.argv, query.now_ns, &at, from_ret);
	if (!err)
		err = answer_order_parse(&event_relation, query.argc,
					 (const char *const *)query.argv, &at, order);
	return !err && at < query.argc ? call_bad_word(query.argv[at]) : err;
}

/* The end of a process comes behind its last sample: there the cursor is behind all. */
static uint64_t last_time(struct session *session)
{
	const struct history *history = &session_history(session)->history;
	uint64_t now_ns = session_replay_now(session);

	return now_ns == vec_end(&history->samples)[-1].time_ns ? UINT64_MAX : now_ns;
}

static struct err *rows(struct call *call, struct answer *ret)
{
	struct session_replay_events events = { VEC_INIT };
	struct answer_order order = { .limit = UINT64_MAX };
	uint64_t from_ns;
	struct err *err = parse(call, &from_ns, &order);
	size_t skip = 0;

	*ret = (struct answer)ANSWER_KEPT(&event_relation);
	if (!err)
		err = session_replay_events(call->session, from_ns, last_time(call->session),
					    &events);
	/* The last ones are wanted. */
	if (events.vec.nr > order.limit)
		skip = events.vec.nr - (size_t)order.limit;
	for (size_t i = skip; !err && i < events.vec.nr; i++)
		err = add_row(&events.vec.at[i], ret);
	vec_free(&events.vec);
	return err;
}

static const struct twin twin = {
	.name		= "mdbg::events",
	.brief		= "list of dicts: the events of `replay events`",
	.of		= &event_relation,
	.rows		= rows,
};

const struct cmd cmd_replay_events = {
	.name		= "replay events",
	.usage		= "?since MOMENT? ?limit N?",
	.brief		= "what happened: attach, exec, end, kills, marks",
	.help		= "The events of all recordings that are open, the oldest first, up to the\n"
			  "cursor, and at the last sample those behind it, too: the beginning and end of\n"
			  "recorders and processes, programs that were executed, forks, kills of any\n"
			  "process for lack of memory, marks, modules, and what could not be written.\n"
			  "`limit` leaves the last N.\n",
	.example	= "replay events limit 20\n",
	.need		= call_need_replay,
	.twin		= &twin,
	.max_args	= CMD_ANY,
};
