/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds the moment that a word means. */

#include "cmd/moments.h"

#include <stdio.h>

#include "cmd/shell/cmd.h"
#include "heap/filter.h"
#include "session/history.h"
#include "session/peak_watch.h"

static struct err *not_so_early(const struct history *history, const char *word, uint64_t now_ns)
{
	struct err *err = err_create(ERR_RANGE, "%s is before the history", word);
	char begin[32], age[32];

	if (!history->samples.nr)
		return err_hint(err, "the history has no sample yet; samples are taken while mdbg is attached");
	number_text_time(begin, sizeof(begin), history->samples.at->time_ns);
	number_text_duration(age, sizeof(age), now_ns - MIN(now_ns, history->samples.at->time_ns));
	return err_hint(err, "the history begins at %s, %s ago", begin, age);
}

/* "-10m" */
static struct err *choose_age(const struct history *history, const char *word, uint64_t now_ns,
			      const struct history_sample **ret)
{
	uint64_t age;

	if (parse_duration(word + 1, &age))
		return err_hint(err_create(ERR_USAGE, "'%s' is no moment", word),
				"a time ago is written -90s, -10m, -2h or -1d");
	*ret = age > now_ns ? NULL : history_nearest(history, now_ns - age);
	return *ret ? NULL : not_so_early(history, word, now_ns);
}

/* The moment that was taken of the peak, or a sample that has more: *sample_ret. */
static struct err *choose_peak(const struct call *call, const struct history *history,
			       const char *word, uint64_t now_ns,
			       const struct history_sample **sample_ret, struct chosen_moment *ret)
{
	const struct history_sample *sample = history_peak(history);
	struct peak peak;

	ret->watched = peak_watch_found(call->session, &peak) &&
		       (!sample || peak.bytes >= sample->bytes);
	if (ret->watched)
		return peak_watch_moment(call->session, &ret->moment);
	*sample_ret = sample;
	return sample ? NULL : not_so_early(history, word, now_ns);
}

static struct err *choose_mark(const struct marks *marks, const char *word,
			       struct chosen_moment *ret)
{
	const struct mark *mark;
	struct err *err = marks_find(marks, word, &mark);

	if (!err)
		err = moment_unpack(&mark->moment, mark->time_ns, &ret->moment);
	if (!err)
		err = moment_unpack(&mark->totals, mark->time_ns, &ret->totals);
	ret->has_totals = !err;
	return err;
}

struct err *moments_choose(const struct call *call, const char *word, uint64_t now_ns,
			   struct chosen_moment *ret)
{
	const struct log_history *is = session_history(call->session);
	struct chosen_moment chosen = { .word = word, .moment = { .time_ns = now_ns } };
	const struct history_sample *sample = NULL;
	struct err *err = NULL;

	if (!strcmp(word, "now"))
		chosen.now = true;
	else if (!strcmp(word, "peak"))
		err = choose_peak(call, &is->history, word, now_ns, &sample, &chosen);
	else if (*word == '-')
		err = choose_age(&is->history, word, now_ns, &sample);
	else
		err = choose_mark(&is->marks, word, &chosen);
	if (!err && sample)
		err = moment_unpack(&sample->moment, sample->time_ns, &chosen.moment);
	if (err)
		moments_chosen_free(&chosen);
	else
		*ret = chosen;
	return err;
}

void moments_chosen_free(struct chosen_moment *chosen)
{
	moment_free(&chosen->moment);
	moment_free(&chosen->totals);
}

struct moment_name moments_chosen_name(const struct chosen_moment *chosen, uint64_t now_ns)
{
	return (struct moment_name){
		.word = chosen->word, .time_ns = chosen->moment.time_ns, .now_ns = now_ns,
		.watched = chosen->watched,
	};
}
