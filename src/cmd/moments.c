/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds the moment that a word means. */

#include "cmd/moments.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "cmd/shell/cmd.h"
#include "heap/filter.h"
#include "session/history.h"
#include "session/peak_watch.h"
#include "session/replay/session_replay.h"

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

static struct err *choose_time(const struct call *call, const char *word, uint64_t time_ns,
			       uint64_t now_ns, const struct history_sample **ret)
{
	const struct history *history = &session_history(call->session)->history;
	struct err *err;

	if (session_replay_is(call->session)) {
		err = session_replay_check(call->session, time_ns);
		if (err)
			return err_wrap(err, "%s", word);
		/* A time in text is not exact, so it may be just before the first sample. */
		time_ns = MAX(time_ns, history->samples.at->time_ns);
	}
	*ret = history_nearest(history, time_ns);
	return *ret ? NULL : not_so_early(history, word, now_ns);
}

/* Of a recording, a mark is a time. */
static struct err *choose_mark(const struct call *call, const struct marks *marks, const char *word,
			       uint64_t now_ns, const struct history_sample **sample_ret,
			       struct chosen_moment *ret)
{
	const struct mark *mark;
	struct err *err = marks_find(marks, word, &mark);

	if (err)
		return err;
	if (session_replay_is(call->session))
		return choose_time(call, word, mark->time_ns, now_ns, sample_ret);
	err = moment_unpack(&mark->moment, mark->time_ns, &ret->moment);
	if (!err)
		err = moment_unpack(&mark->totals, mark->time_ns, &ret->totals);
	ret->has_totals = !err;
	return err;
}

/* "-10m" */
static struct err *choose_age(const struct call *call, const char *word, uint64_t now_ns,
			      const struct history_sample **ret)
{
	uint64_t age;

	if (parse_duration(word + 1, &age))
		return err_hint(err_create(ERR_USAGE, "'%s' is no moment", word),
				"a time ago is written -90s, -10m, -2h or -1d");
	return choose_time(call, word, now_ns - MIN(age, now_ns), now_ns, ret);
}

/* What a recording has where its cursor is. */
static struct err *choose_cursor(const struct call *call, struct chosen_moment *ret)
{
	ret->word = session_replay_now_text(call->session);
	return session_history_moment(call->session, &ret->moment);
}

bool moments_is_mark(const struct call *call, const char *word)
{
	const struct log_history *is = session_history(call->session);

	if (!is)
		return false;
	vec_each(mark, &is->marks.vec)
		if (!strcmp(mark->name, word))
			return true;
	return false;
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


struct err *moments_choose(const struct call *call, const char *word, uint64_t now_ns,
			   struct chosen_moment *ret)
{
	const struct log_history *is = session_history(call->session);
	struct chosen_moment chosen = { .word = word, .moment = { .time_ns = now_ns } };
	const struct history_sample *sample = NULL;
	struct err *err = NULL;
	uint64_t time_ns;

	if (!strcmp(word, "now") && session_replay_is(call->session))
		err = choose_cursor(call, &chosen);
	else if (!strcmp(word, "now"))
		chosen.now = true;
	else if (!strcmp(word, "peak"))
		err = choose_peak(call, &is->history, word, now_ns, &sample, &chosen);
	else if (*word == '-')
		err = choose_age(call, word, now_ns, &sample);
	else if (!moments_is_mark(call, word) && !parse_time(word, &time_ns))
		err = choose_time(call, word, time_ns, now_ns, &sample);
	else
		err = choose_mark(call, &is->marks, word, now_ns, &sample, &chosen);
	if (!err && sample)
		err = session_history_unpack(call->session, sample, &chosen.moment);
	if (err)
		moments_chosen_free(&chosen);
	else
		*ret = chosen;
	return err;
}

struct err *moments_since(const struct call *call, int argc, char *const *argv, uint64_t now_ns,
			  int *at, uint64_t *ret)
{
	CLEANUP(moments_chosen_free) struct chosen_moment chosen = { 0 };
	struct err *err;

	if (*at >= argc || strcmp(argv[*at], "since"))
		return NULL;
	if (*at + 1 == argc)
		return err_create(ERR_USAGE, "a moment goes after since");
	err = moments_choose(call, argv[*at + 1], now_ns, &chosen);
	if (err)
		return err;
	*at += 2;
	*ret = chosen.moment.time_ns;
	return NULL;
}

/* The words from there on are one MOMENT, perhaps in single quotes, which Tcl does not know. */
static struct err *join_moment(const struct call *call, int at, struct str *ret)
{
	struct err *err = at < call->argc ? NULL : err_create(ERR_USAGE, "a moment goes after at");

	for (int i = at; !err && i < call->argc; i++)
		err = str_addf(ret, "%s%s", i > at ? " " : "", call->argv[i]);
	if (!err && ret->len > 1 && ret->at[0] == '\'' && ret->at[ret->len - 1] == '\'') {
		memmove(ret->at, ret->at + 1, ret->len - 2);
		ret->len -= 2;
		ret->at[ret->len] = '\0';
	}
	return err;
}

struct err *moments_visit(struct call *call, struct moments_visit *ret)
{
	CLEANUP(moments_chosen_free) struct chosen_moment chosen = { 0 };
	AUTO_STR struct str word = STR_INIT;
	struct err *err;
	int at = 0;

	*ret = (struct moments_visit){ .session = NULL };
	while (at < call->argc && strcmp(call->argv[at], "at"))
		at++;
	if (at == call->argc)
		return NULL;
	if (!session_replay_is(call->session))
		return err_hint(err_create(ERR_STATE, "this is known of now only"),
				"a recording has earlier moments (`mdbg --record DIR`, --replay DIR)");
	err = join_moment(call, at + 1, &word);
	if (!err)
		err = moments_choose(call, str_text(&word), session_replay_now(call->session),
				     &chosen);
	if (err)
		return err;
	call->argc = at;
	*ret = (struct moments_visit){ call->session, session_replay_now(call->session) };
	return session_replay_to(call->session, chosen.moment.time_ns);
}

void moments_leave(struct moments_visit *visit)
{
	if (visit->session)
		err_ignore(session_replay_to(visit->session, visit->back_ns));
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
