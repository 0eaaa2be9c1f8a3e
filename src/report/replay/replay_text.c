/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prints what is known of a recording as a whole. */

#include "report/replay/replay_text.h"

#include <inttypes.h>
#include <stdio.h>

#include "report/out.h"
#include "session/history.h"
#include "session/replay/session_replay.h"

#define NAMED_MOST	5u	/* processes whose pids are named */

static const struct history *history_of(struct session *session)
{
	return &session_history(session)->history;
}

static const struct history_sample *sample_now(struct session *session, size_t *at_ret)
{
	const struct history *history = history_of(session);
	const struct history_sample *sample = history_nearest(history, session_replay_now(session));

	*at_ret = (size_t)(sample - history->samples.at);
	return sample;
}

void replay_text_print_now(struct session *session, struct out *out)
{
	size_t at;
	const struct history_sample *sample = sample_now(session, &at);

	out_f(out, "%s: %s bytes in %" PRIu64 " blocks", session_replay_now_text(session),
	      number_text_size(out, sample->bytes).at, sample->count);
	if (sample->rss)
		out_f(out, ", %s resident", number_text_size(out, sample->rss).at);
	out_f(out, "; sample %zu of %zu\n", at + 1, history_of(session)->samples.nr);
	if (history_gap_before(history_of(session), at))
		out_text(out, "Nothing was recorded between the sample before and this one\n");
}

/* The labels have the dots of `malloc`. */
static void label(struct out *out, const char *text)
{
	static const char dots[] = ".................................";

	out_f(out, "    %s%.*s ", text, (int)(sizeof(dots) - 1 - strlen(text)), dots);
}

static void time_line(struct out *out, const char *text, uint64_t time_ns)
{
	char time[32];

	number_text_time(time, sizeof(time), time_ns);
	label(out, text);
	out_f(out, "%s\n", time);
}

/* A recording may lack the name. */
static void print_name(const struct session_replay_process *process, struct out *out)
{
	out_outside(out, process->name.bytes ? process->name : (struct outside){ "-" });
	out_f(out, " %d", process->pid);
}

static void print_processes(const struct session_replay_processes *processes, uint64_t left_out,
			    struct out *out)
{
	size_t nr = processes->vec.nr;

	label(out, "processes");
	out_f(out, "%zu: ", nr);
	for (size_t i = 0; i < MIN(nr, (size_t)NAMED_MOST); i++) {
		out_text(out, i ? ", " : "");
		print_name(&processes->vec.at[i], out);
	}
	out_text(out, nr > NAMED_MOST ? ", ... (`replay processes`)\n" : "\n");
	if (left_out) {
		label(out, "processes left out");
		out_f(out, "%" PRIu64 " later ones, with all that is recorded of them (`help replay`)\n",
		      left_out);
	}
}

/* The moments to look at: the last ones of those that were killed. */
static void print_killed(const struct session_replay_processes *processes, struct out *out)
{
	char time[32];
	size_t nr = 0;

	vec_each(process, &processes->vec) {
		if (!process->oom || ++nr > NAMED_MOST)
			continue;
		number_text_time(time, sizeof(time), process->to_ns);
		label(out, "killed for lack of memory");
		print_name(process, out);
		out_f(out, ", last sample %s\n", time);
	}
	if (nr > NAMED_MOST) {
		label(out, "");
		out_f(out, "... and %zu more (`replay events`)\n", nr - NAMED_MOST);
	}
}

static void print_gaps(const struct history *history, struct out *out)
{
	uint64_t ns = history_unrecorded(history, 0, UINT64_MAX);
	char time[32];

	number_text_duration(time, sizeof(time), ns);
	label(out, "nothing was recorded for");
	out_f(out, "%s (%zu times)\n", ns ? time : "0 s", history->gaps.nr);
}

static void print_held(const struct history_sample *sample, struct out *out)
{
	label(out, "bytes held by the user");
	out_f(out, "%s\n", number_text_size(out, sample->bytes).at);
	label(out, "allocations currently active");
	out_f(out, "%" PRIu64 "\n", sample->count);
	label(out, "resident bytes");
	out_f(out, "%s\n", sample->rss ? number_text_size(out, sample->rss).at : "-");
}

struct err *replay_text_print(struct session *session, struct out *out)
{
	struct session_replay_processes processes = { VEC_INIT };
	const struct history *history = history_of(session);
	size_t at;
	const struct history_sample *sample = sample_now(session, &at);
	struct err *err = session_replay_processes(session, session_replay_now(session), &processes);

	if (!err) {
		out_heading(out, "The recording:");
		print_processes(&processes, session_replay_left_out(session), out);
		print_killed(&processes, out);
		time_line(out, "first sample", history->samples.at->time_ns);
		time_line(out, "last sample",
			  history->samples.at[history->samples.nr - 1].time_ns);
		label(out, "samples");
		out_f(out, "%zu\n", history->samples.nr);
		print_gaps(history, out);
		out_f(out, "\nAt %s, sample %zu:\n\n", session_replay_now_text(session), at + 1);
		print_held(sample, out);
	}
	vec_free(&processes.vec);
	return err;
}
