/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prints moments, and the figures of the history. */

#include "report/moment_text.h"

#include <inttypes.h>
#include <stdio.h>

#include "report/out.h"
#include "session/history.h"

void moment_text_print_name(const struct moment_name *moment, struct out *out)
{
	char time[32], age[32];

	out_outside(out, (struct outside){ moment->word });
	if (moment->time_ns >= moment->now_ns)
		return;
	number_text_time(time, sizeof(time), moment->time_ns);
	number_text_duration(age, sizeof(age), moment->now_ns - moment->time_ns);
	out_f(out, " (%s, %s ago)", time, age);
}

void moment_text_print_unrecorded(struct session *session, uint64_t one_ns, uint64_t other_ns,
				  struct out *out)
{
	const struct log_history *history = session_history(session);
	uint64_t ns = !history ? 0 : history_unrecorded(&history->history, MIN(one_ns, other_ns),
							MAX(one_ns, other_ns));
	char time[32];

	if (!ns)
		return;
	number_text_duration(time, sizeof(time), ns);
	out_f(out, "Recording was off for %s in between: allocations of that time are missing, "
		   "and blocks freed in it still count\n", time);
}

static void statistic(struct out *out, const char *label, const char *text)
{
	static const char dots[] = ".................................";

	out_f(out, "    %s%.*s %s\n", label, (int)(sizeof(dots) - 1 - strlen(label)), dots, text);
}

static void print_samples(const struct log_history *is, struct out *out)
{
	const struct history *history = &is->history;
	const struct history_sample *sample = history->samples.at;
	size_t nr = history->samples.nr;
	char text[32];

	snprintf(text, sizeof(text), "%zu", nr);
	statistic(out, "samples", text);
	if (nr) {
		number_text_time(text, sizeof(text), sample->time_ns);
		statistic(out, "first sample", text);
		number_text_duration(text, sizeof(text), sample[nr - 1].time_ns - sample->time_ns);
		statistic(out, "from first to last sample", text);
	}
	statistic(out, "bytes of samples", number_text_size(out, history->bytes).at);
}

void moment_text_print_history(struct session *session, struct out *out)
{
	const struct log_history *is = session_history(session);
	uint64_t interval = session_history_interval(session);
	char text[64];

	if (!is)
		return;
	out_heading(out, "History (samples of the sites):");
	number_text_duration(text, sizeof(text), interval);
	statistic(out, "interval", interval ? text : "none: `set history-seconds`");
	number_text_duration(text, sizeof(text), is->cost_ns);
	statistic(out, "processor time of a sample", is->cost_ns ? text : "-");
	print_samples(is, out);
	snprintf(text, sizeof(text), "%zu", marks_count(&is->marks));
	statistic(out, "marks", text);
	statistic(out, "bytes of marks", number_text_size(out, is->marks.bytes).at);
	out_text(out, "\n");
}
