/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * malloc diff, mdbg::diff: which sites grew or shrank between two moments, or exports to SQLite.
 *
 * A word is a moment or a file: `now`, `peak` and -10m are moments, and a word with a slash is a
 * file. The name of a mark is a moment, also that of one from before a reset. Any other word is a
 * file if it has a dot, or if a file of that name exists, so that a mistyped file's name is
 * reported as such, and a mistyped mark as a mark.
 *
 * Two moments of the log are compared as they are. If one of the two is a file, both become models.
 */

#include <fnmatch.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "answer/answer.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "base/text_set.h"
#include "cmd/shell/cmd.h"
#include "cmd/moments.h"
#include "cmd/query/query.h"
#include "export/compare.h"
#include "export/model.h"
#include "export/sqlite_read.h"
#include "os/procfs.h"
#include "report/diff.h"
#include "report/lack_text.h"
#include "report/sites.h"
#include "session/history.h"
#include "session/session.h"
#include "symbol/name_glob.h"

#define SAME_START_NS	1000000	/* an export has times as real numbers, which are not exact */

static bool is_mark(const struct call *call, const char *word)
{
	const struct log_history *is = session_history(call->session);

	if (!is)
		return false;
	vec_each(mark, &is->marks.vec)
		if (!strcmp(mark->name, word))
			return true;
	return false;
}

static bool is_file(const struct call *call, const char *word)
{
	struct stat stat_;

	if (strchr(word, '/'))
		return true;
	if (!strcmp(word, "now") || !strcmp(word, "peak") || *word == '-' || is_mark(call, word))
		return false;
	return strchr(word, '.') || (!stat(word, &stat_) && !S_ISDIR(stat_.st_mode));
}

/* The question and the answer. */
struct diff {
	bool files;			/* at least one of the two is a file */
	bool live;			/* at least one is not */
	bool filtered;			/* not all sites are in the difference */
	struct compare compare;		/* its difference also if none is a file */
	struct model from, to;		/* if `files` */
	bool asked;			/* there is a query, of the one that is not a file */
	struct query query;
};

static void diff_free(struct diff *diff)
{
	difference_free(&diff->compare.difference);
	model_free(&diff->from);
	model_free(&diff->to);
	if (diff->asked)
		query_free(&diff->query);
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

/* Take the sites of the process at a moment, as `malloc sites at` has them. */
static struct err *take_sites(const struct call *call, const char *word, struct diff *diff,
			      struct model *ret)
{
	const char *const words[] = { "at", word, NULL };
	const struct early early = { 0 };
	struct query *query = &diff->query;
	struct call at = *call;
	struct filter_env env;
	struct err *err;

	at.argc = 2;
	at.argv = words;
	diff->asked = true;
	err = query_sites(&at, query);
	if (err)
		return err;
	env = query_env(call, query);
	return model_build(&(struct model_source){
		.session = call->session, .sites = &query->sites, .limit = UINT64_MAX,
		.now_ns = query->at.word ? query->at.moment.time_ns : query->now_ns,
		.early = &early, .filter = &query->filter, .env = &env, .options = "",
	}, ret);
}

static struct err *take_end(const struct call *call, struct diff *diff, struct compare_end *end,
			    struct model *ret)
{
	struct err *err = end->file ? read_export(end->name.word, ret) :
				      take_sites(call, end->name.word, diff, ret);

	end->model = ret;
	end->name.time_ns = ret->now_ns;
	return err;
}

static struct err *compare_files(const struct call *call, struct diff *ret)
{
	struct compare *compare = &ret->compare;
	/* Without a process, this is known before a large file is read. */
	struct err *err = ret->live ? call_need_recording(call) : NULL;

	if (!err)
		err = take_end(call, ret, &compare->from, &ret->from);
	if (!err)
		err = take_end(call, ret, &compare->to, &ret->to);
	if (err)
		return err;
	compare->from.name.now_ns = compare->to.name.now_ns =
		ret->live ? ret->query.now_ns : procfs_clock(CLOCK_REALTIME);
	return compare_build(compare);
}

static struct err *compare_moments(const struct call *call, struct compare *compare)
{
	CLEANUP(moments_chosen_free) struct chosen_moment from = { 0 }, to = { 0 };
	CLEANUP(moment_free) struct moment now = MOMENT_INIT;
	struct log *log = session_log(call->session);
	struct err *err = call_need_recording(call);
	uint64_t now_ns;

	if (err)
		return err;
	log_clock_update(log);
	now_ns = log_clock_realtime(log, log_now());
	err = moments_choose(call, compare->from.name.word, now_ns, &from);
	if (!err)
		err = moments_choose(call, compare->to.name.word, now_ns, &to);
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

/* For scripts and files: the rows do not depend on the session or the files. */

struct frame_row {
	uint64_t pc;
	const char *function, *module, *file;
	uint32_t line;
	bool inlined;
};

static const struct column frame_columns[] = {
	{ "pc", "PC", NULL, COLUMN(ADDRESS, struct frame_row, pc) },
	{ "function", "FUNCTION", NULL, COLUMN(TEXT, struct frame_row, function) },
	{ "module", "MODULE", NULL, COLUMN(TEXT, struct frame_row, module) },
	{ "file", "FILE", NULL, COLUMN(TEXT, struct frame_row, file) },
	{ "line", ">LINE", NULL, COLUMN(NUMBER, struct frame_row, line) },
	{ "inline", NULL, NULL, COLUMN(NUMBER, struct frame_row, inlined) },
};

static const struct relation frame_relation = {
	.name = "frames", .columns = frame_columns, .nr = ARRAY_SIZE(frame_columns),
	.size = sizeof(struct frame_row), .shared = true,
};

/* A change; what only an export tells is known if at least one of the two is a file. */
struct change_row {
	struct change change;	/* first: changes are sorted as an array of these */
	uint64_t stack;		/* of the log; UINT64_MAX: the site is not there */
	const char *matched, *function;
	struct answer frames;
	bool files;
};

#define IS(kind, member)	COLUMN(kind, struct change_row, member)
#define OF_FILES		COLUMN_WITH(struct change_row, files), .flags = COLUMN_ABSENT

static const struct column change_columns[] = {
	{ "bytes", ">BYTES", "second moment less first, signed", IS(CHANGE, change.bytes),
	  .flags = COLUMN_BRIEF },
	{ "count", ">COUNT", "second moment less first, signed", IS(CHANGE, change.count),
	  .flags = COLUMN_BRIEF },
	{ "stack", NULL, "with a FILE: - if the watched process has no such site", IS(STACK, stack),
	  .flags = COLUMN_MAX_UNKNOWN },
	{ "matched", "MATCHED", "with a FILE: by `build-id` or by `names`; empty: it is in one only",
	  IS(TEXT, matched), OF_FILES },
	{ "function", "FUNCTION", "with a FILE: that of the line `in NAME` of `malloc diff`",
	  IS(TEXT, function), COLUMN_WITH(struct change_row, function),
	  .flags = COLUMN_ABSENT | COLUMN_BRIEF },
	{ "frames", NULL, "with a FILE: a list of dicts", IS(ROWS, frames), OF_FILES,
	  .rows = &frame_relation },
};

static const struct relation change_relation = RELATION("diff", change_columns, struct change_row);

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

static struct err *parse_words(const struct call *call, struct diff_words *ret)
{
	int at = 1 + is_second(call), used = 0;
	struct err *err = filter_parse(call->argc - at, call->argv + at,
				       1u << FILTER_FUNCTION | 1u << FILTER_MODULE, &ret->filter,
				       NULL, &used);

	at += used;
	if (!err)
		err = answer_order_parse(&change_relation, call->argc, call->argv, &at, &ret->order);
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

static struct err *site_matches(const struct diff *diff, const struct change *change,
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
static struct err *apply_filter(const struct call *call, struct diff *diff,
				const struct filter *filter)
{
	CLEANUP(stack_names_free) struct stack_names names;
	struct difference *difference = &diff->compare.difference;
	const struct filter_env env = { .log = session_log(call->session),
					.stack_matches = stack_names_match, .ctx = &names };
	struct model_stack stack = { VEC_INIT };
	struct err *err = NULL;
	size_t nr = 0;

	stack_names_init(&names, call->session);
	if (!filter->conds.nr)
		return NULL;
	diff->filtered = true;
	difference->grown = difference->shrunk = 0;
	for (size_t i = 0; !err && i < difference->vec.nr; i++) {
		const struct change change = difference->vec.at[i];
		const struct block any = { .stack = change.to };
		bool keep = false;

		if (diff->files)
			err = site_matches(diff, &change, filter, &stack, &keep);
		else
			keep = filter_matches(filter, &env, &any);
		if (!keep)
			continue;
		difference->vec.at[nr++] = change;
		*(change.bytes < 0 ? &difference->shrunk : &difference->grown) +=
			change.bytes < 0 ? -(uint64_t)change.bytes : (uint64_t)change.bytes;
	}
	difference->vec.nr = nr;
	vec_free(&stack.vec);
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

/* The caller has set *ret to zeros, and frees it also after an error. */
static struct err *ask(const struct call *call, struct diff *ret)
{
	CLEANUP(diff_words_free) struct diff_words words = { .filter = { VEC_INIT } };
	struct compare *compare = &ret->compare;
	struct err *err = parse_words(call, &words);

	if (err)
		return err;
	compare->from = end_of(call, call->argv[0]);
	compare->to = end_of(call, is_second(call) ? call->argv[1] : "now");
	ret->files = compare->from.file || compare->to.file;
	ret->live = !compare->from.file || !compare->to.file;
	err = ret->files ? compare_files(call, ret) : compare_moments(call, compare);
	if (!err)
		err = apply_filter(call, ret, &words.filter);
	return err ? err : put_in_order(&words.order, &compare->difference);
}

/* Are both of one recording? */
static bool is_same_process(const struct diff *diff)
{
	uint64_t from = diff->from.since_ns, to = diff->to.since_ns;

	return !diff->files || (diff->live && diff->from.pid == diff->to.pid &&
				MAX(from, to) - MIN(from, to) < SAME_START_NS);
}

/* All rows, in memory. */
struct changes {
	struct text_set texts;
	VEC(struct frame_row) frames[2];	/* by model, and number of the frame */
	VEC(const void *) steps;		/* of all stacks, one behind the other */
	VEC(struct change_row) vec;
};

static void changes_free(void *ctx)
{
	struct changes *changes = ctx;

	text_set_free(&changes->texts);
	vec_free(&changes->frames[0]);
	vec_free(&changes->frames[1]);
	vec_free(&changes->steps);
	vec_free(&changes->vec);
	free(changes);
}

static struct err *keep(struct changes *changes, const char *text, const char **ret)
{
	return text ? text_set_keep(&changes->texts, text, ret) : NULL;
}

static struct err *add_frame(struct changes *changes, const struct model *model,
			     const struct model_location *location, uint32_t number, int which)
{
	const struct model_frame *frame = &model->frames.at[number];
	struct frame_row row = { .pc = location->pc, .line = (uint32_t)frame->line,
				 .inlined = frame->inlined };
	struct err *err = keep(changes, frame->name, &row.function);

	if (!err && location->module != MODEL_NO_MODULE)
		err = keep(changes, model->modules.at[location->module].path, &row.module);
	if (!err)
		err = keep(changes, frame->file, &row.file);
	if (!err)
		changes->frames[which].at[number] = row;
	return err;
}

static struct err *add_frames(struct changes *changes, const struct model *model, int which)
{
	struct err *err = vec_reserve(&changes->frames[which], model->frames.nr);

	vec_each_while(location, &model->locations, !err)
		for (uint32_t i = 0; !err && i < location->nr; i++)
			err = add_frame(changes, model, location, location->first + i, which);
	return err;
}

/* The frames get their place in changes->steps at the end, when that does not move any more. */
static struct err *name_change(const struct diff *diff, struct model_stack *stack,
			       struct changes *changes, struct change_row *row)
{
	static const char *const matched[] = {
		[DIFFERENCE_EXACT] = "build-id", [DIFFERENCE_NAMES] = "names",
		[DIFFERENCE_ONLY] = "",
	};
	const struct model *model;
	const struct model_site *site = compare_site(&diff->compare, &row->change, &model);
	bool to = model == &diff->to;
	const struct frame_row *frames = changes->frames[to].at;
	struct err *err = model_stack_get(model, site, stack);

	if (!err)
		err = keep(changes, model_stack_own(model, stack)->frame->name, &row->function);
	vec_each_while(step, &stack->vec, !err)
		err = vec_push(&changes->steps, &frames[step->frame - model->frames.at]);
	row->files = true;
	row->matched = matched[row->change.by];
	row->stack = (to ? diff->compare.to : diff->compare.from).file ? UINT64_MAX :
									 site->figures.stack;
	row->frames = (struct answer){ .of = &frame_relation, .nr = stack->vec.nr };
	return err;
}

/* For -brief; a script asks for the names of a stack of the log itself. */
static struct err *name_brief(struct stack_names *names, uint32_t stack, struct changes *changes,
			      struct change_row *row)
{
	AUTO_STR struct str text = STR_INIT;
	struct err *err = stack_names_headline(names, stack, &text);

	return err ? err : keep(changes, str_text(&text), &row->function);
}

/* names may be NULL. */
static struct err *add_changes(const struct diff *diff, struct stack_names *names,
			       struct changes *changes)
{
	struct model_stack stack = { VEC_INIT };
	struct err *err = add_frames(changes, &diff->from, 0);
	size_t at = 0;

	if (!err)
		err = add_frames(changes, &diff->to, 1);
	vec_each_while(change, &diff->compare.difference.vec, !err) {
		struct change_row row = { .change = *change, .stack = change->to };

		if (diff->files)
			err = name_change(diff, &stack, changes, &row);
		else if (names)
			err = name_brief(names, change->to, changes, &row);
		if (!err)
			err = vec_push(&changes->vec, row);
	}
	vec_free(&stack.vec);
	vec_each(row, &changes->vec) {
		if (row->frames.nr)
			row->frames.each = &changes->steps.at[at];
		at += row->frames.nr;
	}
	return err;
}

static struct err *rows(struct call *call, struct answer *ret)
{
	CLEANUP(diff_free) struct diff diff = { .files = false };
	CLEANUP(stack_names_free) struct stack_names names;
	struct changes *changes = calloc(1, sizeof(*changes));
	struct err *err;

	stack_names_init(&names, call->session);
	if (!changes)
		return err_nomem;
	*ret = (struct answer){ .of = &change_relation, .free = changes_free, .ctx = changes };
	err = ask(call, &diff);
	if (!err)
		err = add_changes(&diff, call->brief ? &names : NULL, changes);
	ret->at = changes->vec.at;
	ret->nr = changes->vec.nr;
	return err;
}

static struct err *run(struct call *call)
{
	CLEANUP(diff_free) struct diff diff = { .files = false };
	const struct compare *compare = &diff.compare;
	const struct moment_name *from = &compare->from.name, *to = &compare->to.name;
	struct err *err;

	if (call->brief)
		return query_print_brief(call, rows);
	err = ask(call, &diff);
	if (!err)
		err = diff.files ? compare_print(compare, call->out) :
		      diff_moments_print(call->session, from, to, &compare->difference, call->out);
	if (err)
		return err;
	if (is_same_process(&diff))
		moment_text_print_unrecorded(call->session, from->time_ns, to->time_ns, call->out);
	if (diff.live)
		err = lack_text_print(call->session, call->out);
	if (err)
		return err;
	if (diff.files)
		compare_notes_print(compare, call->out);
	diff_sums_print(&compare->difference, !diff.files && !diff.filtered, call->out);
	if (!diff.files)
		sites_print_sampling(call->session, call->out);
	return NULL;
}

static const struct twin twin = {
	.name		= "mdbg::diff",
	.brief		= "list of dicts: the changes of `malloc diff`",
	.help		= "For MOMENT and FILE see `help malloc diff`, for -each `help\n"
			  "mdbg::allocations`.\n",
	.of		= &change_relation,
	.rows		= rows,
};

const struct cmd cmd_malloc_diff = {
	.name		= "malloc diff",
	.usage		= "MOMENT|FILE ?MOMENT|FILE? ?FILTER? "
			  "?sort bytes|count ?up?? ?limit N?",
	.brief		= "sites that grew or shrank between two moments or exports",
	.help		= "MOMENT is one of:\n"
			  "    NAME      a mark (`help malloc mark`)\n"
			  "    now       this moment; it is the second MOMENT if that is not given\n"
			  "    peak      when recorded blocks have held most (looks every 4 ms)\n"
			  "    -10m      the sample nearest to 10 minutes ago; units are s, m, h and d\n"
			  "\n"
			  "mdbg takes a sample every second while it is attached; if there are many\n"
			  "records, less often. Of old samples it keeps fewer. `malloc -v` shows the\n"
			  "interval. The answer says at which time a sample was taken.\n"
			  "\n"
			  "Each stack that has changed is listed, the largest change first, with the\n"
			  "bytes and blocks of the second moment less those of the first. The last line\n"
			  "has the sum of all increases and the sum of all decreases; their difference is\n"
			  "that of the totals. Only recorded blocks are compared; what was freed meanwhile\n"
			  "of blocks from before the attach has a line of its own, and is set off there.\n"
			  "\n"
			  "FILE is what `export sqlite FILE` has written, in this process or in another\n"
			  "one; for two FILEs no process is needed. A word with a slash is a FILE, and so\n"
			  "is one that is no mark and has a dot or is a file's name. Write ./before for a\n"
			  "file of which there is a mark, too.\n"
			  "\n"
			  "Stacks are the same if build-id and offset of all frames are; if the program\n"
			  "or a library was built anew, if its functions' names are. The answer says how\n"
			  "many sites were matched by which, and how many are in one of the two only.\n"
			  "\n"
			  "FILTER has function and module, as in `help malloc allocations`; the sums are\n"
			  "of what it keeps. -brief prints a line for each change.\n",
	.example	= "malloc diff -10m limit 5\n"
			  "malloc diff /tmp/monday.db now sort count\n",
	.run		= run,
	.twin		= &twin,
	.min_args	= 1,
	.max_args	= CMD_ANY,
	.flags		= CMD_FILTER | CMD_BRIEF,
	.complete	= COMPLETE_DIFF,
};
