/* SPDX-License-Identifier: GPL-3.0-or-later */
/* malloc diff, mdbg::diff with exports (diff_files.h). */

#include "cmd/diff_files.h"

#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/cleanup.h"
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

/* For scripts: the changes do not depend on the session or the files. */

struct file_change {
	struct match_change change;
	int64_t stack;			/* of the log; -1: the site is not there */
	Tcl_Obj *function, *frames;
};

struct file_changes {
	VEC(struct file_change) vec;
	struct dicts dicts;
};

static void file_changes_free(struct file_changes *changes)
{
	vec_each(change, &changes->vec) {
		Tcl_DecrRefCount(change->function);
		Tcl_DecrRefCount(change->frames);
	}
	vec_free(&changes->vec);
	dicts_free(&changes->dicts);
}

/* The frames of both models as values, which many stacks share; NULL: not asked for yet. */
struct frame_values {
	Tcl_Obj **at[2];
};

static Tcl_Obj *frame_value(const struct model *model, const struct model_step *step)
{
	const struct model_frame *frame = step->frame;
	uint32_t module = step->location->module;
	Tcl_Obj *dict = Tcl_NewDictObj();

	dict_address(dict, "pc", step->location->pc);
	dict_text(dict, "function", frame->name);
	dict_text(dict, "module",
		  module == MODEL_NO_MODULE ? "" : model->modules.at[module].path);
	dict_text(dict, "file", frame->file ? frame->file : "");
	dict_number(dict, "line", (uint64_t)frame->line);
	dict_number(dict, "inline", frame->inlined);
	return dict;
}

static struct err *take_change(const struct files_diff *diff, const struct match_change *change,
			       struct frame_values *values, struct model_stack *stack,
			       struct file_changes *ret)
{
	const struct model *model;
	const struct model_site *site = compare_site(&diff->compare, change, &model);
	Tcl_Obj **known = values->at[model == &diff->to];
	struct file_change made = { .change = *change, .stack = -1 };
	struct err *err = model_stack_get(model, site, stack);

	if (!err)
		err = vec_reserve(&ret->vec, 1);
	if (err)
		return err;
	if (diff->live && diff->live->model == model)
		made.stack = site->figures.stack;
	made.function = Tcl_NewStringObj(model_stack_own(stack)->frame->name, -1);
	made.frames = Tcl_NewListObj(0, NULL);
	Tcl_IncrRefCount(made.function);
	Tcl_IncrRefCount(made.frames);
	vec_each(step, &stack->vec) {
		Tcl_Obj **value = &known[step->frame - model->frames.at];

		if (!*value) {
			*value = frame_value(model, step);
			Tcl_IncrRefCount(*value);
		}
		Tcl_ListObjAppendElement(NULL, made.frames, *value);
	}
	ret->vec.at[ret->vec.nr++] = made;
	return NULL;
}

static void frame_values_free(Tcl_Obj **values, size_t nr)
{
	for (size_t i = 0; values && i < nr; i++)
		if (values[i])
			Tcl_DecrRefCount(values[i]);
	free(values);
}

static struct err *take_changes(struct call *call, struct file_changes *ret)
{
	CLEANUP(files_diff_free) struct files_diff diff = { .live = NULL };
	struct frame_values values = { { NULL, NULL } };
	struct model_stack stack = { VEC_INIT };
	struct err *err = ask(call, &diff);

	if (err)
		return err;
	values.at[0] = calloc(diff.from.frames.nr + 1, sizeof(*values.at[0]));
	values.at[1] = calloc(diff.to.frames.nr + 1, sizeof(*values.at[1]));
	if (!values.at[0] || !values.at[1])
		err = err_nomem;
	vec_each_while(change, &diff.compare.match.vec, !err)
		err = take_change(&diff, change, &values, &stack, ret);
	vec_free(&stack.vec);
	frame_values_free(values.at[0], diff.from.frames.nr);
	frame_values_free(values.at[1], diff.to.frames.nr);
	return err ? err : dicts_init(&ret->dicts);
}

static Tcl_Obj *change_dict(void *ctx, size_t nr)
{
	static const char *const matched[] = {
		[MATCH_BUILD] = "build-id", [MATCH_NAMES] = "names", [MATCH_ONLY] = "",
	};
	struct file_changes *changes = ctx;
	const struct file_change *change = &changes->vec.at[nr];
	struct dicts *dicts = &changes->dicts;

	dicts_value(dicts, "bytes", Tcl_NewWideIntObj(change->change.bytes));
	dicts_value(dicts, "count", Tcl_NewWideIntObj(change->change.count));
	if (change->stack < 0)
		dicts_text(dicts, "stack", "-");
	else
		dicts_number(dicts, "stack", (uint64_t)change->stack);
	dicts_text(dicts, "matched", matched[change->change.by]);
	dicts_value(dicts, "function", change->function);
	dicts_value(dicts, "frames", change->frames);
	return dicts_end(dicts);
}

struct err *diff_files_value(struct call *call, Tcl_Obj **ret)
{
	CLEANUP(file_changes_free) struct file_changes changes = { .vec = VEC_INIT };
	struct err *err = take_changes(call, &changes);

	return err ? err : each_give(call, changes.vec.nr, change_dict, &changes, ret);
}
