/* SPDX-License-Identifier: GPL-3.0-or-later */
/* export, mdbg::export: write the sites to a file that other tools read. */

#include "cmd/export.h"

#include <string.h>

#include "base/cleanup.h"
#include "cmd/shell/cmd.h"
#include "cmd/shell/dict.h"
#include "cmd/export/export_answer.h"
#include "cmd/export/export_diff.h"
#include "cmd/export_owners.h"
#include "cmd/growth.h"
#include "cmd/query/query.h"
#include "cmd/query_pins.h"
#include "cmd/shell/shell.h"
#include "export/export_formats.h"
#include "export/model.h"
#include "heap/early.h"
#include "report/blocks.h"
#include "report/lack_text.h"
#include "report/sites.h"
#include "report/stood_text.h"
#include "session/history.h"
#include "session/replay/session_replay.h"
#include "session/session.h"

/* An export that was written. */
struct exported {
	struct query query;
	struct model model;
	struct answer answer;	/* any other than that of the sites; else `of` is NULL */
	struct export_done done;
	struct exported_owners owners;	/* of a format that has them */
	struct query_diff diff;		/* if the model is of changes: it has the texts */
};

static void exported_free(struct exported *exported)
{
	answer_free(&exported->answer);
	model_free(&exported->model);
	query_diff_free(&exported->diff);
	query_free(&exported->query);
}

/* Can a block that is in no record match? Such a block has no stack, thread, time, age or seq. */
static bool keeps_early(const struct filter *filter)
{
	vec_each(cond, &filter->conds)
		if (cond->attr != FILTER_ADDRESS && cond->attr != FILTER_SIZE &&
		    cond->attr != FILTER_HEAP && cond->attr != FILTER_PID &&
		    cond->relop != FILTER_NE)
			return false;
	return true;
}

/*
 * Blocks from before the attach are found by a walk, for which the target stands still. So mdbg makes
 * one only if they are used. If the log samples, only a list of all blocks has them.
 */
static bool needs_walk(const struct call *call, const struct query *query, bool blocks)
{
	if (query->at.word)
		return false;
	if (blocks)
		return true;
	return query->sites.vec.nr < query->limit && keeps_early(&query->filter) &&
	       !log_config(session_log(call->session)).sample;
}

static struct err *join_words(int nr, const char *const *words, struct str *ret)
{
	struct err *err = str_add(ret, "");

	for (int i = 0; !err && i < nr; i++)
		err = str_addf(ret, "%s%s", i ? " " : "", words[i]);
	return err;
}

/* A graph is of what the sites are sorted by; since a moment, of growth, unless they are sorted. */
static enum flame_of graph_of(const struct query *query)
{
	if (query->since.word && !query->sorted)
		return FLAME_GROWTH;
	switch (query->sort) {
	case SITE_SORT_COUNT: return FLAME_COUNT;
	case SITE_SORT_GROWTH:
	case SITE_SORT_RATE: return FLAME_GROWTH;
	default: return FLAME_BYTES;
	}
}

/*
 * What the growth of the sites is since, for a graph of growth: the user's moment, or the history's,
 * which *sampled gets. NULL: it is not known, or not asked for.
 */
static struct err *growth_since(const struct call *call, const struct query *query,
				struct moment *sampled, const struct moment **ret)
{
	const struct history_sample *sample;
	struct err *err;

	*ret = NULL;
	if (graph_of(query) != FLAME_GROWTH || (query->at.word && !query->since.word))
		return NULL;
	if (query->since.word) {
		*ret = &query->since.moment;
		return NULL;
	}
	sample = session_history_growth(call->session, query->now_ns);
	err = sample ? session_history_unpack(call->session, sample, sampled) : NULL;
	*ret = sample && !err ? sampled : NULL;
	return err;
}

struct err *export_model(const struct call *call, bool blocks, enum model_freed freed,
			 struct query *query, struct model *ret)
{
	const struct filter_env env = query_env(call, query);
	const struct heaps *heap = &query->heap;
	CLEANUP(moment_free) struct moment sampled = MOMENT_INIT;
	AUTO_STR struct str options = STR_INIT;
	struct early early = { 0 };
	struct model_source source = {
		.session = call->session, .sites = &query->sites,
		.now_ns = query->at.word ? query->at.moment.time_ns : query->now_ns,
		.limit = query->limit, .filter = &query->filter, .env = &env,
		/* What had been freed up to an earlier moment of a process is not known. */
		.freed = query->sites.all_time ? freed : MODEL_NO_FREED,
		.of = graph_of(query),
		.all_time = site_sort_is_all_time(query->sort),
	};
	bool walk = needs_walk(call, query, blocks);
	struct err *err = join_words(call->argc, call->argv, &options);

	if (!err)
		err = growth_since(call, query, &sampled, &source.since);
	/* What has gone altogether has shrunk, too. */
	if (source.since && !source.freed)
		source.freed = MODEL_KEPT_FREED;
	if (!err && walk && !heap->walked)
		err = query_walk(call, blocks, query);
	if (err)
		return err;
	if (walk && heap->walked)
		early = early_sum(&heap->walk, heap->process, heap->complete, &query->filter, &env);
	source.early = &early;
	source.blocks = query->list;
	source.options = str_text(&options);
	return model_build(&source, ret);
}

static struct err *make_model(const struct call *call, const struct export_format *format,
			      struct exported *ret)
{
	bool blocks = format->wants & EXPORT_BLOCKS, some = blocks || format->wants & EXPORT_FREED;

	/* A recording has no single blocks, whose stacks might be any. */
	return export_model(call, blocks, blocks && !session_replay_is(call->session) ? MODEL_ALL_FREED :
			    some ? MODEL_KEPT_FREED : MODEL_NO_FREED, &ret->query, &ret->model);
}

static struct err *write_to(const struct export_format *format, const char *name,
			    struct exported *exported)
{
	Tcl_DString native;
	struct err *err;

	if (!Tcl_TranslateFileName(NULL, name, &native))
		return err_create(ERR_NOTFOUND, "write to %s: no such user", name);
	err = export_format_write(format, &exported->model,
				  exported->answer.of ? &exported->answer : NULL,
				  Tcl_DStringValue(&native), &exported->done);
	Tcl_DStringFree(&native);
	return err;
}

static void skip_words(struct call *call, int nr)
{
	call->argc -= nr;
	call->argv += nr;
	call->objv += nr;
}

/* Returns err with a hint that names the formats that have `what`. */
static struct err *name_others(struct err *err, bool (*is)(const struct export_format *format),
			       const char *what)
{
	AUTO_STR struct str names = STR_INIT;
	struct err *name_err = export_format_names(is, &names);

	return name_err ? name_err : err_hint(err, "%s can be exported as %s", what,
					      str_text(&names));
}

/* Other answers than the sites that have stacks: what is shown of them, and by which formats. */
struct other {
	const char *word;
	bool (*is)(const struct export_format *format);
	struct err *(*ask)(struct call *call, struct query *query, struct early *early_ret,
			   struct model_source *source);
};

static struct err *ask_growth(struct call *call, struct query *query, struct early *early UNUSED,
			      struct model_source *source)
{
	return growth_sites(call, query, &source->unit);
}

static struct err *ask_pins(struct call *call, struct query *query, struct early *early,
			    struct model_source *source)
{
	source->unit = "pages";
	source->pinned = true;
	return query_pins_sites(call, query, early);
}

static const struct other others[] = {
	{ "growth", export_format_has_growth, ask_growth },
	{ "pins", export_format_has_pins, ask_pins },
};

static const struct other *find_other(const struct call *call)
{
	for (size_t i = 0; call->argc && i < ARRAY_SIZE(others); i++)
		if (!strcmp(call->argv[0], others[i].word))
			return &others[i];
	return NULL;
}

/* `export FORMAT FILE growth ...`: what the stacks of such an answer have. */
static struct err *export_other(struct call *call, const struct export_format *format,
				const struct other *other, struct exported *ret)
{
	AUTO_STR struct str options = STR_INIT;
	struct query *query = &ret->query;
	struct early early = { 0 };
	struct model_source source = {
		.session = call->session, .sites = &query->sites, .filter = &query->filter,
		.early = &early, .of = FLAME_BYTES,
	};
	struct filter_env env;
	struct err *err;

	if (!other->is(format))
		return name_others(err_create(ERR_USAGE, "%s has only what malloc holds", format->name),
				   other->is, other->word);
	err = join_words(call->argc, call->argv, &options);
	skip_words(call, 1);
	if (!err)
		err = other->ask(call, query, &early, &source);
	if (err)
		return err;
	env = query_env(call, query);
	source.env = &env;
	source.now_ns = query->now_ns;
	source.limit = query->limit;
	source.options = str_text(&options);
	return model_build(&source, &ret->model);
}

/* `export FORMAT FILE diff ...`: words has those behind diff. */
static struct err *export_changes(const struct call *call, const struct call *words,
				  const struct export_format *format, struct exported *ret)
{
	AUTO_STR struct str options = STR_INIT;
	struct err *err = join_words(call->argc, call->argv, &options);

	if (err)
		return err;
	if (!export_format_has_changes(format))
		return name_others(err_create(ERR_USAGE, "%s has no numbers below 0", format->name),
				   export_format_has_changes, "diff");
	return export_diff(words, format, str_text(&options), &ret->diff, &ret->model);
}

static struct err *export_sites(const struct call *call, const struct export_format *format,
				struct exported *ret)
{
	struct err *err = call_need_moments(call);

	if (!err)
		err = query_sites(call, &ret->query);
	if (!err && ret->query.by != SITE_STACK)
		err = err_hint(err_create(ERR_USAGE, "an export is by stack"),
			       "its reader adds stacks up by function, line or module");
	return err ? err : make_model(call, format, ret);
}

/* The stacks that rows may have: all of the log. Without a log there are none. */
static struct err *add_stacks(const struct call *call, struct exported *ret)
{
	struct call all = *call;
	struct err *err;

	if (!session_log(call->session) || call_need_moments(call))
		return NULL;
	all.argc = 0;
	err = query_sites(&all, &ret->query);
	return err ? err :
		     export_model(call, false, MODEL_ALL_FREED, &ret->query, &ret->model);
}

/* `export FORMAT FILE ANSWER ...`: the rows of any answer that is a list. */
static struct err *export_answer(const struct call *call, const struct cmd *cmd,
				 const struct export_format *format, struct exported *ret)
{
	struct call rows = *call;
	struct err *err = NULL;

	if (!export_format_has_lists(format))
		return name_others(err_create(ERR_USAGE, "%s has only sites", format->name),
				   export_format_has_lists, "any list");
	rows.cmd = cmd;
	rows.verbose = cmd->flags & CMD_VERBOSE;
	if (cmd->need)
		err = cmd->need(&rows);
	if (!err)
		err = cmd->rows(&rows, &ret->answer);
	return err ? err : add_stacks(call, ret);
}

/* The caller has set *ret to zeros, and frees it also after an error. */
static struct err *export(const struct call *call, struct exported *ret)
{
	const struct export_format *format;
	struct err *err = export_format_find(call->argv[0], &format);
	struct call words = *call, all;
	const struct other *other;
	const struct cmd *cmd;
	int used;

	skip_words(&words, 2);
	all = words;
	if (err)
		return err;
	if (format->owners)
		return export_owners(&words, format, call->argv[1], &ret->done, &ret->owners);
	cmd = export_answer_find(&words, &used);
	other = find_other(&words);
	if (!format->rows && other) {
		err = export_other(&words, format, other, ret);
	} else {
		skip_words(&words, used);
		if (!format->rows && cmd && cmd->of == cmd_malloc_diff.twin->of)
			err = export_changes(&all, &words, format, ret);
		else
			err = cmd ? export_answer(&words, cmd, format, ret) :
				    export_sites(&words, format, ret);
	}
	return err ? err : write_to(format, call->argv[1], ret);
}

static void print_early(const struct exported *exported, struct out *out)
{
	const struct model *model = &exported->model;

	if (model->early_count)
		out_f(out, "; of these %" PRIu64 " allocations, %s bytes %s", model->early_count,
		      number_text_size(out, model->early_bytes).at,
		      exported->query.heap.complete ? "from before the attach" : "not recorded");
}

static void print_past(const struct exported *exported, bool blocks, struct out *out)
{
	const struct query *query = &exported->query;
	const struct moment_name at = moments_chosen_name(&query->at, query->now_ns);

	if (!query->at.word)
		return;
	out_text(out, "; these are recorded ones at ");
	moment_text_print_name(&at, out);
	if (blocks)
		out_text(out, "; single blocks are not known for an earlier moment: the table "
			 "allocations is empty");
}

static struct err *run(struct call *call)
{
	CLEANUP(exported_free) struct exported exported = { .done = { false, 0 } };
	const struct model *model = &exported.model;
	struct out *out = call->out;
	const struct export_format *format;
	struct err *err = export(call, &exported);

	/* The reader of a pipe expects the format and nothing else. */
	if (err || exported.done.stream)
		return err;
	if (exported.answer.of) {
		out_f(out, "%" PRIu64 " rows of %s written to %s\n", exported.done.rows,
		      exported.answer.of->name, call->argv[1]);
		if (exported.answer.notes)
			out_text(out, exported.answer.notes);
		stood_text_print(out, session_stood(call->session), "");
		return lack_text_print(call->session, out);
	}
	err = export_format_find(call->argv[0], &format);
	if (!err && format->owners)
		return export_owners_print(call, call->argv[1], &exported.owners, out);
	if (!err && model->changes) {
		export_diff_print(call->session, &exported.diff, model, call->argv[1], out);
		return exported.diff.live ? lack_text_print(call->session, out) : NULL;
	}
	blocks_print_heap_notes(&exported.query.heap, out);
	blocks_print_heap_stood(&exported.query.heap, out);
	if (!err)
		err = lack_text_print(call->session, out);
	if (err)
		return err;
	out_f(out, "%zu sites, %" PRIu64 " %s, %s bytes written to %s", model->held,
	      model->count, strcmp(model->unit, "blocks") ? model->unit : "allocations",
	      number_text_size(out, model->bytes).at, call->argv[1]);
	print_early(&exported, out);
	print_past(&exported, format->wants & EXPORT_BLOCKS, out);
	out_text(out, "\n");
	sites_print_sampling(call->session, out);
	return NULL;
}

#define WORDS	"FORMAT FILE ?ANSWER? ?FILTER? ?sort bytes|count|age|growth|rate? ?limit N? "	\
		"?since MOMENT? ?at MOMENT?"

/* Changes may be less than 0. */
static Tcl_Obj *sum_value(const struct model *model, uint64_t sum)
{
	return model->changes ? Tcl_NewWideIntObj((Tcl_WideInt)sum) : dict_value_number(sum);
}

static struct err *value(struct call *call, Tcl_Obj **ret)
{
	CLEANUP(exported_free) struct exported exported = { .done = { false, 0 } };
	const struct model *model = &exported.model;
	struct err *err = export(call, &exported);

	if (err)
		return err;
	*ret = Tcl_NewDictObj();
	if (exported.answer.of) {
		dict_number(*ret, "rows", exported.done.rows);
		return NULL;
	}
	if (exported.owners.blocks) {
		dict_number(*ret, "bytes", exported.owners.bytes);
		dict_number(*ret, "count", exported.owners.blocks);
		dict_number(*ret, "pointers", exported.owners.pointers);
		return NULL;
	}
	dict_number(*ret, "sites", model->held);
	dict_value(*ret, "bytes", sum_value(model, model->bytes));
	dict_value(*ret, "count", sum_value(model, model->count));
	dict_number(*ret, "earlybytes", model->early_bytes);
	dict_number(*ret, "earlycount", model->early_count);
	dict_number(*ret, "sample", model->sample);
	return NULL;
}

static const struct twin twin = {
	.name		= "mdbg::export",
	.brief		= "dict: write the file of `export`, and what is in it",
	.help		= "    sites bytes count      of all that is in the file\n"
			  "    earlybytes earlycount  the part of it that is from before the attach\n"
			  "    sample                 one in so many bytes is recorded, and figures\n"
			  "                           are estimates; 0: all is recorded\n"
			  "    pointers               of heapsnapshot, which has bytes and count, too\n"
			  "For the words see `help export`.\n",
	.value		= value,
};

static struct err *print_formats(struct out *out)
{
	size_t width = 0;

	for (unsigned i = 0; export_formats[i]; i++)
		width = MAX(width, strlen(export_formats[i]->name) + 2);
	out_text(out, "FORMAT is one of:\n");
	for (unsigned i = 0; export_formats[i]; i++) {
		out_blanks(out, 4);
		out_column(out, export_formats[i]->name, width);
		out_wrapped(out, export_formats[i]->brief, 4 + width);
	}
	out_text(out, "\n");
	return NULL;
}

/* Add a sentence: what can be written as the formats for which `is` holds. */
static struct err *add_sentence(const char *what, bool (*is)(const struct export_format *format),
				struct str *ret)
{
	struct err *err = str_addf(ret, "%s can be written as ", what);

	if (!err)
		err = export_format_names(is, ret);
	return err ? err : str_add(ret, ".");
}

/* The formats, and what else than sites some of them have. */
static struct err *print_words(struct out *out)
{
	AUTO_STR struct str lists = STR_INIT, growth = STR_INIT, pins = STR_INIT, diff = STR_INIT;
	struct err *err = print_formats(out);

	if (!err)
		err = add_sentence("A list", export_format_has_lists, &lists);
	if (!err)
		err = str_add(&lists, " ANSWER names it: ");
	if (!err)
		err = export_answer_names(&lists);
	if (!err)
		err = str_add(&lists, ". The words behind it are those of its command. Rows with a "
			      "stack have its frames.");
	if (!err)
		err = add_sentence("What `growth KIND ...` answers", export_format_has_growth,
				   &growth);
	if (!err)
		err = add_sentence("What `pins ...` answers, the free bytes by stack,",
				   export_format_has_pins, &pins);
	if (!err)
		err = add_sentence("What `diff ...` answers, the changes by stack,",
				   export_format_has_changes, &diff);
	if (err)
		return err;
	out_wrapped(out, str_text(&lists), 0);
	out_text(out, "\n");
	out_wrapped(out, str_text(&growth), 0);
	out_text(out, "\n");
	out_wrapped(out, str_text(&pins), 0);
	out_text(out, "\n");
	out_wrapped(out, str_text(&diff), 0);
	out_text(out, "\n");
	return NULL;
}

const struct cmd cmd_export = {
	.name		= "export",
	.usage		= WORDS,
	.brief		= "the sites as a file for flame graphs, pprof, SQL and others",
	.print_words	= print_words,
	.help		= "The words behind FILE are those of `malloc sites`, which is by stack here.\n"
			  "flamegraph shows bytes, or with `sort count` blocks, or with `sort growth` or\n"
			  "`since MOMENT` what has changed. pprof shows inuse_space first, or with `sort\n"
			  "total` alloc_space. A sqlite file has the tables sites, stacks, frames and\n"
			  "allocations, and `malloc diff FILE` compares with it.\n"
			  "\n"
			  "Blocks from before the attach stand under one frame, `(allocated before\n"
			  "attach)`. mdbg stops the process for a moment to find them, but not if\n"
			  "FILTER or limit leaves them out: `function == *` keeps recorded blocks only.\n"
			  "With --sample they are left out, and all figures are estimates.\n"
			  "\n"
			  "With `diff`, folded has the bytes before and after, and pprof signed figures;\n"
			  "from a mark to another, or to now, also what was allocated meanwhile. `sort\n"
			  "total` as the last words shows that in place of what is held.\n"
			  "\n"
			  "With `at MOMENT` there are the recorded blocks of that moment, and nothing\n"
			  "that is not known of it: no blocks from before the attach, no all-time and\n"
			  "freed figures (pprof, callgrind), and an empty table allocations.\n"
			  "\n"
			  "mdbg writes a new file beside FILE and renames it, with FILE's mode. If\n"
			  "that fails, the old file is there as it was. mdbg writes to a FIFO that\n"
			  "has a reader, or to a device (/dev/stdout), as it is; sqlite cannot.\n",
	.example	= "export flamegraph heap.svg since -10m\n"
			  "export csv blocks.csv allocations size > 1M\n"
			  "export flamegraph pins.svg pins\n"
			  "export flamegraph week.svg diff monday.db tuesday.db\n"
			  "export pprof night.pb.gz diff rec@2026-11-02T23:00 rec\n"
			  "export sqlite monday.db\n",
	.run		= run,
	.twin		= &twin,
	.min_args	= 2,
	.max_args	= CMD_ANY,
	.flags		= CMD_FILTER,
	.complete	= COMPLETE_EXPORT,
};
