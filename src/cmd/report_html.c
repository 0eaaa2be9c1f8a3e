/* SPDX-License-Identifier: GPL-3.0-or-later */
/* report: what is known of the memory of a process, as one HTML file. */

#include <string.h>

#include "answer/owner_rows.h"
#include "answer/type_rows.h"
#include "base/cleanup.h"
#include "cmd/shell/cmd.h"
#include "cmd/export.h"
#include "cmd/query/query.h"
#include "export/model.h"
#include "export/report_html.h"
#include "report/blocks.h"
#include "report/lack_text.h"
#include "report/out.h"
#include "report/stood_text.h"
#include "session/account.h"
#include "session/history.h"
#include "session/replay/session_replay.h"
#include "session/session.h"

/* A report that is made: what its parts were asked with, and what came back. */
struct making {
	struct query words, sites, leaks;
	struct chosen_moment since;	/* word NULL: the whole history */
	struct model model;
	struct moment now;
	struct report report;
	struct session_account account;
	struct memory_verdict judged;
	struct owners owners;
	struct typed_blocks typed;
	struct type_sums types;
	char no_leaks[sizeof(((struct err *)NULL)->msg)];
	char no_owners[sizeof(((struct err *)NULL)->msg)];
	char no_types[sizeof(((struct err *)NULL)->msg)];
};

static void making_free(struct making *making)
{
	report_html_free(&making->report);
	if (making->report.account)
		session_account_free(&making->account);
	owner_rows_free(&making->owners);
	type_rows_free(&making->types);
	typed_blocks_free(&making->typed);
	moment_free(&making->now);
	model_free(&making->model);
	query_free(&making->sites);
	query_free(&making->leaks);
	moments_chosen_free(&making->since);
	query_free(&making->words);
}

/* What a report may lack: it says why then. Returns other errors. */
static struct err *note_lack(struct err *err, const char **why_ret, char *text, size_t size)
{
	if (!err || err->code == ERR_CANCELLED || err->code == ERR_NOMEM)
		return err;
	snprintf(text, size, "%s", err->msg);
	*why_ret = text;
	return NULL;
}

/* Before the sites, so that what is lost is among them. */
static struct err *find_leaks(const struct call *call, struct making *making)
{
	const char *const words[] = { "all", NULL };
	struct call all = *call;
	struct err *err;

	all.argc = 1;
	all.argv = words;
	err = query_leaks(&all, &making->leaks);
	if (!err) {
		making->report.leaks = &making->leaks.leaks;
		making->report.found = &making->leaks.found;
		return NULL;
	}
	return note_lack(err, &making->report.no_leaks, making->no_leaks, sizeof(making->no_leaks));
}

/*
 * A report may be made in the last seconds of a process (before-oom.tcl), so it is not to wait for more
 * than these: 2 s of a processor, and 120 MB.
 */
#define OWNERS_MOST	2000000u

static struct err *find_types(const struct call *call, struct making *making)
{
	const struct filter filter = { .conds = VEC_INIT };
	struct filter_env env = query_env(call, &making->sites);
	struct err *err = typed_blocks_take(&making->sites.names, &making->typed);

	if (!err)
		err = type_rows_sum(&making->typed, &filter, &env, &making->types);
	if (!err)
		making->report.types = &making->types;
	return note_lack(err, &making->report.no_types, making->no_types, sizeof(making->no_types));
}

static struct err *find_owners(const struct call *call, struct making *making)
{
	struct err *err;

	if (making->model.count + making->model.early_count > OWNERS_MOST) {
		making->report.no_owners = making->report.no_types =
			"there are more than 2000000 blocks; malloc owners and malloc types say it";
		return NULL;
	}
	err = owner_rows_take(call->session, &(struct owner_ask){ 0 }, &making->owners);

	if (!err)
		err = owner_rows_find(call->session, false, &making->owners);
	if (!err)
		making->report.owners = &making->owners;
	return note_lack(err, &making->report.no_owners, making->no_owners,
			 sizeof(making->no_owners));
}

#define MARKS_MOST	8u	/* the latest ones */

/* What the difference lacks. */
static struct err *make_note(const struct history *history, uint64_t from_ns, uint64_t to_ns,
			     char **ret)
{
	uint64_t unrecorded = history_unrecorded(history, from_ns, to_ns);
	char lasted[64];

	number_text_duration(lasted, sizeof(lasted), unrecorded);
	if (!unrecorded)
		*ret = strdup("");
	else if (asprintf(ret, "For %s of that nothing was recorded.", lasted) < 0)
		*ret = NULL;
	return *ret ? NULL : err_nomem;
}

/* From an earlier moment to now; what says which it is. */
static struct err *add_difference(struct making *making, const char *what,
				  const struct moment *then)
{
	struct report *report = &making->report;
	struct report_difference *made;
	uint64_t now_ns = making->now.time_ns;
	char over[64];
	struct err *err = vec_push(&report->differences,
				   ((struct report_difference){ .title = NULL }));

	if (err)
		return err;
	made = &vec_end(&report->differences)[-1];
	err = difference_of_moments(session_log(report->session), then, &making->now,
				    &made->found);
	if (!err)
		err = make_note(&session_history(report->session)->history, then->time_ns, now_ns,
				&made->note);
	number_text_duration(over, sizeof(over), now_ns - then->time_ns);
	if (!err && asprintf(&made->title, "Since %s, %s ago", what, over) < 0) {
		made->title = NULL;
		err = err_nomem;
	}
	return err;
}

/* The oldest sample that somebody has looked at: a log begins with nothing. */
static struct err *add_oldest(struct making *making, const struct history *history)
{
	const struct history_sample *oldest = history->samples.at;
	CLEANUP(moment_free) struct moment then = MOMENT_INIT;
	struct err *err;

	if (history->samples.nr && oldest->origin)
		oldest++;
	if (history->samples.nr < 2 || oldest >= vec_end(&history->samples) ||
	    oldest->time_ns >= making->now.time_ns)
		return NULL;
	err = session_history_unpack(making->report.session, oldest, &then);
	return err ? err : add_difference(making, "the history began", &then);
}

/* The mark's time may be later than the cursor of a recording. */
static struct err *add_mark(const struct call *call, struct making *making, const struct mark *mark)
{
	CLEANUP(moments_chosen_free) struct chosen_moment chosen = { 0 };
	char what[MARK_NAME_MAX + 32];
	struct err *err;

	if (mark->stale || mark->time_ns >= making->now.time_ns)
		return NULL;
	snprintf(what, sizeof(what), "the mark %s", mark->name);
	err = moments_choose(call, mark->name, making->now.time_ns, &chosen);
	return err ? err : add_difference(making, what, &chosen.moment);
}

static struct err *find_differences(const struct call *call, struct making *making)
{
	struct session *session = making->report.session;
	const struct log_history *log = session_history(session);
	struct err *err = log ? session_history_moment(session, &making->now) : NULL;
	size_t i;

	making->report.no_differences = "Nothing is known yet of an earlier moment. Make the report "
					"again in a while, or set a mark first (`malloc mark`).";
	if (!err && making->since.word)
		return add_difference(making, making->since.word, &making->since.moment);
	if (!err && log)
		err = add_oldest(making, &log->history);
	i = log && log->marks.vec.nr > MARKS_MOST ? log->marks.vec.nr - MARKS_MOST : 0;
	for (; log && !err && i < log->marks.vec.nr; i++)
		err = add_mark(call, making, &log->marks.vec.at[i]);
	return err;
}

/* Of a process that has ended, and of one whose memory may not be seen, there is no account. */
static struct err *find_account(struct making *making)
{
	struct session *session = making->report.session;
	struct err *err;

	/* The account of a recording has its parts alone, which the page finds itself. */
	if (session_replay_is(session))
		return NULL;
	err = session_account_of(session, &making->sites.heap, &making->account);

	if (err && err->code != ERR_CANCELLED && err->code != ERR_NOMEM) {
		err_ignore(err);
		return NULL;
	}
	if (err)
		return err;
	session_account_verdict(session, &making->account, &making->judged);
	making->report.account = &making->account;
	making->report.judged = &making->judged;
	return NULL;
}

/* `since MOMENT`: the range of the report, up to now. */
static struct err *find_since(const struct call *call, struct making *making)
{
	struct query *query = &making->words;
	struct err *err = query_begin_moments(call, query);

	if (err || query->argc == 1)
		return err;
	if (strcmp(query->argv[1], "since") || query->argc > 3)
		return call_bad_word(query->argv[query->argc > 3 ? 3 : 1]);
	if (query->argc == 2)
		return err_create(ERR_USAGE, "a moment goes after since");
	err = moments_choose(call, query->argv[2], query->now_ns, &making->since);
	if (!err && (making->since.now || making->since.moment.time_ns >= query->now_ns))
		err = err_create(ERR_USAGE, "since %s: this moment is not before now", query->argv[2]);
	return err;
}

static struct err *make(const struct call *call, struct making *making)
{
	struct call sites = *call;
	struct err *err = find_since(call, making);

	if (!err)
		err = find_leaks(call, making);
	sites.argc = 0;
	sites.argv += call->argc;
	if (!err)
		err = query_sites(&sites, &making->sites);
	/* The blocks without a record are those of the same look. */
	if (!err && making->leaks.found.heap.walked) {
		making->sites.heap = making->leaks.found.heap;
		making->leaks.found.heap = (struct heaps)HEAPS_INIT;
	}
	if (!err)
		err = export_model(&sites, false, MODEL_NO_FREED, &making->sites, &making->model);
	making->report.session = call->session;
	making->report.names = &making->sites.names;
	making->report.model = &making->model;
	if (!err)
		err = find_account(making);
	if (!err)
		err = find_owners(call, making);
	if (!err && !making->report.no_types)
		err = find_types(call, making);
	return err ? err : find_differences(call, making);
}

static struct err *write_to(const char *name, const struct report *report, bool *stream_ret)
{
	Tcl_DString native;
	struct err *err;

	if (!Tcl_TranslateFileName(NULL, name, &native))
		return err_create(ERR_NOTFOUND, "write to %s: no such user", name);
	err = report_html_write(report, Tcl_DStringValue(&native), stream_ret);
	Tcl_DStringFree(&native);
	return err;
}

/* For which the process stood still. */
static uint64_t longest(const struct making *making)
{
	uint64_t sites = MAX(making->leaks.found.pause_ns, making->sites.heap.pause_ns);
	uint64_t rest = MAX(making->owners.graph.in.pause_ns,
			    making->typed.found.blocks.pause_ns);

	return MAX(sites, rest);
}

static struct err *run(struct call *call)
{
	CLEANUP(making_free) struct making making = { .no_leaks = "" };
	const struct model *model = &making.model;
	struct err *err = make(call, &making);
	bool stream = false;

	if (!err)
		err = write_to(making.words.argv[0], &making.report, &stream);
	/* What reads a pipe expects the page and nothing else. */
	if (err || stream)
		return err;
	stood_text_print(call->out, longest(&making),
			 *making.sites.heap.no_snapshot ? making.sites.heap.no_snapshot :
						     making.leaks.found.no_snapshot);
	err = lack_text_print(call->session, call->out);
	if (err)
		return err;
	out_f(call->out, "%zu sites, %" PRIu64 " allocations, %s bytes written to %s\n", model->held,
	      model->count, number_text_size(call->out, model->bytes).at, making.words.argv[0]);
	return NULL;
}

const struct cmd cmd_report = {
	.name		= "report",
	.usage		= "FILE.html ?since MOMENT?",
	.brief		= "one HTML file with all of it, to be sent to a colleague",
	.help		= "A verdict, what is in memory, memory over time, a flame graph, who keeps the\n"
			  "memory and of which types it is, the sites (sort, search, tracebacks), leaks by\n"
			  "kind, and what has changed. The file needs a browser, and no network: it has\n"
			  "its own scripts, and may load nothing.\n"
			  "Names of functions and files are in it, but neither data of the program nor\n"
			  "its arguments.\n"
			  "\n"
			  "The process is stopped for the search of leaks, as by `malloc leaks`. Where\n"
			  "leaks cannot be looked for, the report says why. FILE is written beside and\n"
			  "renamed, as by `export`.\n"
			  "\n"
			  "`since` makes it one of the time from MOMENT to now. Of a recording it is what\n"
			  "is known at its cursor: sites, the account, memory over time, and what has\n"
			  "changed.\n",
	.example	= "report memory.html\n"
			  "report night.html since -8h\n",
	.need		= call_need_moments,
	.run		= run,
	.min_args	= 1,
	.max_args	= CMD_ANY,
	.complete	= COMPLETE_FILES,
};
