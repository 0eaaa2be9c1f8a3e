/* SPDX-License-Identifier: GPL-3.0-or-later */
/* malloc diff, mdbg::diff with exports (diff_files.h). */

#include "cmd/diff_files.h"

#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "answer/answer.h"
#include "base/cleanup.h"
#include "base/text_set.h"
#include "cmd/cmd.h"
#include "cmd/each.h"
#include "cmd/query.h"
#include "cmd/values.h"
#include "export/compare.h"
#include "export/model.h"
#include "export/sqlite_read.h"
#include "os/procfs.h"
#include "report/lack_text.h"
#include "session/history.h"
#include "session/session.h"

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

bool diff_has_file(const struct call *call)
{
	for (int i = 0; i < call->argc; i++)
		if (is_file(call, call->argv[i]))
			return true;
	return false;
}

/* The question and the answer. At most one of the two is not a file. */
struct files_diff {
	struct compare compare;
	struct model from, to;
	const struct compare_end *live;	/* the one that is not a file; NULL: both are files */
	struct query query;		/* of that one */
};

static void files_diff_free(struct files_diff *diff)
{
	match_free(&diff->compare.match);
	model_free(&diff->from);
	model_free(&diff->to);
	if (diff->live)
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
static struct err *take_sites(const struct call *call, const char *word, struct query *query,
			      struct model *ret)
{
	const char *const words[] = { "at", word, NULL };
	const struct early early = { 0 };
	struct call at = *call;
	struct filter_env env;
	struct err *err;

	at.argc = 2;
	at.argv = words;
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

static struct err *take_end(const struct call *call, const char *word, struct files_diff *diff,
			    struct compare_end *end, struct model *ret)
{
	*end = (struct compare_end){ .word = word, .model = ret, .file = is_file(call, word) };
	if (end->file)
		return read_export(word, ret);
	diff->live = end;
	return take_sites(call, word, &diff->query, ret);
}

/* The caller has set *ret to zeros, and frees it also after an error. */
static struct err *ask(const struct call *call, struct files_diff *ret)
{
	const char *first = call->argv[0], *second = call->argc > 1 ? call->argv[1] : "now";
	struct err *err = NULL;

	/* Without a process, this is known before a large file is read. */
	if (!is_file(call, first) || !is_file(call, second))
		err = call_need_recording(call);
	if (!err)
		err = take_end(call, first, ret, &ret->compare.from, &ret->from);
	if (!err)
		err = take_end(call, second, ret, &ret->compare.to, &ret->to);
	if (err)
		return err;
	ret->compare.now_ns = ret->live ? ret->query.now_ns : procfs_clock(CLOCK_REALTIME);
	return compare_build(&ret->compare);
}

/* Is the export of the process that is being watched, and of the same recording? */
static bool is_same_process(const struct files_diff *diff)
{
	uint64_t from = diff->from.since_ns, to = diff->to.since_ns;

	return diff->live && diff->from.pid == diff->to.pid &&
	       MAX(from, to) - MIN(from, to) < SAME_START_NS;
}

struct err *diff_files_print(struct call *call)
{
	CLEANUP(files_diff_free) struct files_diff diff = { .live = NULL };
	struct err *err = ask(call, &diff);

	if (!err)
		err = compare_print(&diff.compare, call->out);
	if (err)
		return err;
	if (is_same_process(&diff))
		unrecorded_print(call->session, diff.from.now_ns, diff.to.now_ns, call->out);
	if (diff.live)
		err = lacks_print(call->session, call->out);
	if (!err)
		compare_end_print(&diff.compare, call->out);
	return err;
}

/* For scripts: the rows do not depend on the session or the files. */

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

struct change_row {
	int64_t bytes, count;
	uint64_t stack;			/* of the log; UINT64_MAX: the site is not there */
	const char *matched, *function;
	struct answer frames;
};

static const struct column file_change_columns[] = {
	{ "bytes", ">BYTES", "second less first", COLUMN(CHANGE, struct change_row, bytes) },
	{ "count", ">COUNT", NULL, COLUMN(CHANGE, struct change_row, count) },
	{ "stack", NULL, NULL, COLUMN(STACK, struct change_row, stack),
	  .flags = COLUMN_MAX_UNKNOWN },
	{ "matched", "MATCHED", NULL, COLUMN(TEXT, struct change_row, matched) },
	{ "function", "FUNCTION", NULL, COLUMN(TEXT, struct change_row, function) },
	{ "frames", NULL, NULL, COLUMN(ROWS, struct change_row, frames), .rows = &frame_relation },
};

static const struct relation file_change_relation = RELATION("changes", file_change_columns,
							     struct change_row);

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
static struct err *add_change(const struct files_diff *diff, const struct match_change *change,
			      struct model_stack *stack, struct changes *changes)
{
	static const char *const matched[] = {
		[MATCH_BUILD] = "build-id", [MATCH_NAMES] = "names", [MATCH_ONLY] = "",
	};
	const struct model *model;
	const struct model_site *site = compare_site(&diff->compare, change, &model);
	const struct frame_row *frames = changes->frames[model == &diff->to].at;
	struct change_row row = { .bytes = change->bytes, .count = change->count,
				  .stack = UINT64_MAX, .matched = matched[change->by] };
	struct err *err = model_stack_get(model, site, stack);

	if (!err)
		err = keep(changes, model_stack_own(stack)->frame->name, &row.function);
	vec_each_while(step, &stack->vec, !err)
		err = vec_push(&changes->steps, &frames[step->frame - model->frames.at]);
	if (diff->live && diff->live->model == model)
		row.stack = site->figures.stack;
	row.frames = (struct answer){ .of = &frame_relation, .nr = stack->vec.nr };
	return err ? err : vec_push(&changes->vec, row);
}

static struct err *add_changes(const struct files_diff *diff, struct changes *changes)
{
	struct model_stack stack = { VEC_INIT };
	struct err *err = add_frames(changes, &diff->from, 0);
	size_t at = 0;

	if (!err)
		err = add_frames(changes, &diff->to, 1);
	vec_each_while(change, &diff->compare.match.vec, !err)
		err = add_change(diff, change, &stack, changes);
	vec_free(&stack.vec);
	vec_each(row, &changes->vec) {
		row->frames.each = &changes->steps.at[at];
		at += row->frames.nr;
	}
	return err;
}

struct err *diff_files_value(struct call *call, Tcl_Obj **ret)
{
	CLEANUP(files_diff_free) struct files_diff diff = { .live = NULL };
	struct changes *changes = calloc(1, sizeof(*changes));
	struct err *err = changes ? ask(call, &diff) : err_nomem;
	struct answer rows;

	if (!err)
		err = add_changes(&diff, changes);
	if (err) {
		if (changes)
			changes_free(changes);
		return err;
	}
	rows = (struct answer){ .of = &file_change_relation, .nr = changes->vec.nr,
			      .at = changes->vec.at, .free = changes_free, .ctx = changes };
	return each_give(call, &rows, ret);
}
