/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parses the words of `malloc diff`, and compares (query_diff.h). */

#include "cmd/query/query_diff.h"

#include <fnmatch.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "cmd/moments.h"
#include "cmd/shell/cmd.h"
#include "cmd/shell/target_commands.h"
#include "export/sqlite_read.h"
#include "os/procfs.h"
#include "session/history.h"
#include "session/replay/session_replay.h"
#include "session/session.h"
#include "symbol/name_glob.h"

/* DIR, or DIR@TIME */
static bool is_recording(const char *word)
{
	AUTO_FREE char *folder = strdup(word);
	uint64_t time_ns = 0;
	struct stat stat_;

	if (!folder)
		return false;
	err_ignore(target_command_split_recording(folder, &time_ns));
	return !stat(folder, &stat_) && S_ISDIR(stat_.st_mode);
}

static bool is_file(const struct call *call, const char *word)
{
	struct stat stat_;
	uint64_t time_ns;

	if (strchr(word, '/'))
		return true;
	if (!strcmp(word, "now") || !strcmp(word, "peak") || *word == '-' ||
	    moments_is_mark(call, word))
		return false;
	return (strchr(word, '.') && parse_time(word, &time_ns)) || !stat(word, &stat_) ||
	       is_recording(word);
}

void query_diff_free(struct query_diff *diff)
{
	difference_free(&diff->compare.difference);
	difference_free(&diff->allocated);
	model_free(&diff->from);
	model_free(&diff->to);
	query_free(&diff->words);
	for (unsigned i = 0; i < 2; i++) {
		if (diff->ends[i].asked)
			query_free(&diff->ends[i].query);
		session_destroy(diff->ends[i].session);
	}
}

static struct err *read_export(const char *name, struct model *ret)
{
	Tcl_DString native;
	struct err *err;

	if (!Tcl_TranslateFileName(NULL, name, &native))
		return err_hint(err_create(ERR_NOTFOUND, "read %s: no such user", name),
				"write ./%s for a file of that name", name);
	err = sqlite_read(Tcl_DStringValue(&native), ret);
	Tcl_DStringFree(&native);
	return err;
}

static struct err *open_recording(const char *word, struct session **ret)
{
	AUTO_FREE char *folder = strdup(word);
	uint64_t time_ns = 0;
	struct err *err = folder ? session_create(ret) : err_nomem;

	if (!err)
		err = target_command_split_recording(folder, &time_ns);
	if (!err)
		err = session_replay_open(*ret, (const char *const[]){ folder }, 1, time_ns);
	return !err || err->code != ERR_NOTFOUND ? err :
		err_hint(err, "a FILE is what `export sqlite` or `mdbg --record` has written");
}

/* Take the sites of a session at a moment, as `malloc sites at` has them. */
static struct err *take_sites(const struct call *call, const char *word, struct query_diff_end *end,
			      struct model *ret)
{
	const char *const words[] = { "at", word, NULL };
	const struct early early = { 0 };
	struct query *query = &end->query;
	struct call at = *call;
	struct filter_env env;
	struct err *err;

	at.argc = 2;
	at.argv = words;
	at.session = end->session ? end->session : call->session;
	end->asked = true;
	err = query_sites(&at, query);
	if (err)
		return err;
	env = query_env(&at, query);
	return model_build(&(struct model_source){
		.session = at.session, .sites = &query->sites, .limit = UINT64_MAX,
		.now_ns = query->at.word ? query->at.moment.time_ns : query->now_ns,
		.early = &early, .filter = &query->filter, .env = &env, .options = "",
	}, ret);
}

static struct err *take_end(const struct call *call, struct query_diff *diff, bool to)
{
	struct compare_end *end = to ? &diff->compare.to : &diff->compare.from;
	struct model *model = to ? &diff->to : &diff->from;
	bool recording = end->file && is_recording(end->name.word);
	struct err *err = recording ? open_recording(end->name.word, &diff->ends[to].session) : NULL;

	if (!err && end->file && !recording)
		err = read_export(end->name.word, model);
	else if (!err)
		err = take_sites(call, recording ? "now" : end->name.word, &diff->ends[to], model);
	end->model = model;
	end->name.time_ns = model->now_ns;
	return err;
}

static struct err *compare_files(const struct call *call, struct query_diff *ret)
{
	struct compare *compare = &ret->compare;
	/* Without a process, this is known before a large file is read. */
	struct err *err = ret->live ? call_need_moments(call) : NULL;

	if (!err)
		err = take_end(call, ret, false);
	if (!err)
		err = take_end(call, ret, true);
	if (err)
		return err;
	compare->from.name.now_ns = compare->to.name.now_ns =
		ret->live ? ret->ends[!compare->to.file].query.now_ns : procfs_clock(CLOCK_REALTIME);
	return compare_build(compare);
}

/*
 * What was allocated from one moment of a recording to another one is known of one process, while it was
 * attached to by the same recorder.
 */
static struct err *recorded_totals(const struct call *call, const struct chosen_moment *from,
				   const struct chosen_moment *to, struct query_diff *diff)
{
	CLEANUP(moment_free) struct moment before = MOMENT_INIT, behind = MOMENT_INIT;
	struct session_replay_process process;
	uint64_t began_ns = 0, begins_ns = 0;
	struct err *err;

	if (!session_replay_process(call->session, &process))
		return NULL;
	err = session_replay_had(call->session, from->moment.time_ns, &before, &began_ns);
	if (!err)
		err = session_replay_had(call->session, to->moment.time_ns, &behind, &begins_ns);
	diff->all_time = !err && began_ns == begins_ns && began_ns != UINT64_MAX;
	return err || !diff->all_time ? err :
	       difference_of_moments(session_log(call->session), &before, &behind, &diff->allocated);
}

/* What was allocated from a mark to another one, or to now. Of other moments it is not known. */
static struct err *compare_totals(const struct call *call, const struct chosen_moment *from,
				  const struct chosen_moment *to, struct query_diff *diff)
{
	CLEANUP(moment_free) struct moment now = MOMENT_INIT;
	struct err *err = NULL;

	if (session_replay_is(call->session))
		return recorded_totals(call, from, to, diff);
	diff->all_time = from->has_totals && (to->has_totals || to->now);
	if (!diff->all_time)
		return NULL;
	if (to->now)
		err = session_history_totals(call->session, &now);
	return err ? err : difference_of_moments(session_log(call->session), &from->totals,
						 to->now ? &now : &to->totals, &diff->allocated);
}

static struct err *compare_moments(const struct call *call, struct query_diff *diff)
{
	CLEANUP(moments_chosen_free) struct chosen_moment from = { 0 }, to = { 0 };
	CLEANUP(moment_free) struct moment now = MOMENT_INIT;
	struct compare *compare = &diff->compare;
	struct log *log = session_log(call->session);
	struct err *err = call_need_moments(call);
	uint64_t now_ns;

	if (err)
		return err;
	now_ns = session_history_now(call->session);
	err = moments_choose(call, compare->from.name.word, now_ns, &from);
	if (!err)
		err = moments_choose(call, compare->to.name.word, now_ns, &to);
	if (!err)
		err = compare_totals(call, &from, &to, diff);
	if (!err && (from.now || to.now))
		err = session_history_moment(call->session, &now);
	if (err)
		return err;
	compare->from.name = moments_chosen_name(&from, now_ns);
	compare->to.name = moments_chosen_name(&to, now_ns);
	return difference_of_moments(log, from.now ? &now : &from.moment,
				     to.now ? &now : &to.moment, &compare->difference);
}

static struct compare_end end_of(const struct call *call, const char *word)
{
	return (struct compare_end){ .name.word = word, .file = is_file(call, word) };
}

static struct err *compare_ends(const struct call *call, const char *const words[2],
				struct query_diff *diff)
{
	struct compare *compare = &diff->compare;
	struct err *err;

	compare->from = end_of(call, words[0]);
	compare->to = end_of(call, words[1]);
	diff->files = compare->from.file || compare->to.file;
	diff->live = !compare->from.file || !compare->to.file;
	if (diff->files)
		return compare_files(call, diff);
	err = compare_moments(call, diff);
	if (err || !session_replay_is(call->session) || !session_replay_rebuilt(call->session))
		return err;
	difference_free(&compare->difference);
	compare->difference = (struct difference)DIFFERENCE_INIT;
	compare->from = end_of(call, words[0]);
	compare->to = end_of(call, words[1]);
	diff->files = true;
	return compare_files(call, diff);
}

/* FILTER, sort and limit. */
struct diff_words {
	struct filter filter;
	struct answer_order order;
};

static void diff_words_free(struct diff_words *words)
{
	filter_free(&words->filter);
}

/* Is it the second MOMENT or FILE, or what follows them? */
static bool is_second(const struct call *call)
{
	const char *word = call->argc > 1 ? call->argv[1] : NULL;

	return word && strcmp(word, "sort") && strcmp(word, "limit") &&
	       !(call->argc > 2 && filter_parse_is_attr(word));
}

static struct err *parse_words(const struct call *call, const struct relation *of,
			       struct diff_words *ret)
{
	int at = 1 + is_second(call), used = 0;
	struct err *err = filter_parse(call->argc - at, call->argv + at,
				       1u << FILTER_FUNCTION | 1u << FILTER_MODULE, &ret->filter,
				       NULL, &used);

	at += used;
	if (!err)
		err = answer_order_parse(of, call->argc, call->argv, &at, &ret->order);
	return !err && at < call->argc ? call_bad_word(call->argv[at]) : err;
}

static bool step_matches(const struct model *model, const struct model_step *step,
			 const struct filter_cond *cond)
{
	uint32_t module = step->location->module;

	if (cond->attr == FILTER_FUNCTION)
		return name_glob_matches_text(cond->glob, step->frame->name) ||
		       name_glob_matches_text(cond->glob, step->frame->full);
	return module != MODEL_NO_MODULE &&
	       (!fnmatch(cond->glob, model->modules.at[module].path, 0) ||
		!fnmatch(cond->glob, path_base(model->modules.at[module].path), 0));
}

static struct err *site_matches(const struct query_diff *diff, const struct change *change,
				const struct filter *filter, struct model_stack *stack, bool *ret)
{
	const struct model *model;
	const struct model_site *site = compare_site(&diff->compare, change, &model);
	struct err *err = model_stack_get(model, site, stack);

	*ret = true;
	vec_each(cond, &filter->conds) {
		bool any = false;

		vec_each(step, &stack->vec)
			any |= step_matches(model, step, cond);
		*ret &= any == (cond->relop == FILTER_EQ);
	}
	return err;
}

/* Keep the changes that match, and add them up again. */
static struct err *keep_matches(const struct query_diff *diff, const struct filter *filter,
				const struct filter_env *env, struct difference *difference)
{
	struct model_stack stack = { VEC_INIT };
	struct err *err = NULL;
	size_t nr = 0;

	difference->grown = difference->shrunk = 0;
	for (size_t i = 0; !err && i < difference->vec.nr; i++) {
		const struct change change = difference->vec.at[i];
		const struct block any = { .stack = change.to };
		bool keep = false;

		if (diff->files)
			err = site_matches(diff, &change, filter, &stack, &keep);
		else
			keep = filter_matches(filter, env, &any);
		if (!keep)
			continue;
		difference->vec.at[nr++] = change;
		*(change.bytes < 0 ? &difference->shrunk : &difference->grown) +=
			change.bytes < 0 ? -(uint64_t)change.bytes : (uint64_t)change.bytes;
	}
	difference->vec.nr = nr;
	vec_free(&stack.vec);
	return err;
}

static struct err *apply_filter(const struct call *call, struct query_diff *diff,
				const struct filter *filter)
{
	CLEANUP(stack_names_free) struct stack_names names;
	const struct filter_env env = { .log = session_log(call->session),
					.stack_matches = stack_names_match, .ctx = &names };
	struct err *err;

	stack_names_init(&names, call->session);
	if (!filter->conds.nr)
		return NULL;
	diff->filtered = true;
	err = keep_matches(diff, filter, &env, &diff->compare.difference);
	if (!err)
		err = keep_matches(diff, filter, &env, &diff->allocated);
	return err || diff->files ? err : query_warn_of_nobody(call, &names, filter);
}

static struct err *put_in_order(const struct answer_order *order, struct difference *difference)
{
	size_t left, all = difference->vec.nr;
	struct err *err = answer_sort(order, difference->vec.at, all, sizeof(*difference->vec.at),
				      &left);

	difference->unlisted = all - left;
	difference->vec.nr = left;
	return err;
}

/* A time has a blank, so Tcl takes a quoted one for two words. */
static struct err *join_words(struct call *call, struct query *words)
{
	struct err *err = query_begin_unlogged(call, words);

	call->argc = words->argc;
	call->argv = (const char *const *)words->argv;
	return err;
}

struct err *query_diff(const struct call *as_typed, const struct relation *of,
		       struct query_diff *ret)
{
	CLEANUP(diff_words_free) struct diff_words words = { .filter = { VEC_INIT } };
	struct call joined = *as_typed, *call = &joined;
	struct err *err = join_words(call, &ret->words);

	if (!err)
		err = parse_words(call, of, &words);
	if (err)
		return err;
	err = compare_ends(call, (const char *const[]){
		call->argv[0], is_second(call) ? call->argv[1] : "now" }, ret);
	if (!err)
		err = apply_filter(call, ret, &words.filter);
	if (!err)
		err = put_in_order(&words.order, &ret->allocated);
	return err ? err : put_in_order(&words.order, &ret->compare.difference);
}
