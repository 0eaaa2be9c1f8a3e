/* SPDX-License-Identifier: GPL-3.0-or-later */
/* malloc diff, mdbg::diff: which sites grew or shrank between two moments, or exports to SQLite. */

#include "answer/answer.h"
#include "base/cleanup.h"
#include "base/text_set.h"
#include "cmd/query/query.h"
#include "cmd/query/query_diff.h"
#include "cmd/shell/cmd.h"
#include "export/compare.h"
#include "export/model.h"
#include "report/diff.h"
#include "report/lack_text.h"
#include "report/sites.h"
#include "session/session.h"

#define SAME_START_NS	1000000	/* an export has times as real numbers, which are not exact */

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

/* Are both of one recording? */
static bool is_same_process(const struct query_diff *diff)
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
static struct err *name_change(const struct query_diff *diff, struct model_stack *stack,
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
static struct err *add_changes(const struct query_diff *diff, struct stack_names *names,
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
	CLEANUP(query_diff_free) struct query_diff diff = { .files = false };
	CLEANUP(stack_names_free) struct stack_names names;
	struct changes *changes = calloc(1, sizeof(*changes));
	struct err *err;

	stack_names_init(&names, call->session);
	if (!changes)
		return err_nomem;
	*ret = (struct answer){ .of = &change_relation, .free = changes_free, .ctx = changes };
	err = query_diff(call, &change_relation, &diff);
	if (!err)
		err = add_changes(&diff, call->brief ? &names : NULL, changes);
	ret->at = changes->vec.at;
	ret->nr = changes->vec.nr;
	return err;
}

static struct err *run(struct call *call)
{
	CLEANUP(query_diff_free) struct query_diff diff = { .files = false };
	const struct compare *compare = &diff.compare;
	const struct moment_name *from = &compare->from.name, *to = &compare->to.name;
	struct err *err;

	if (call->brief)
		return query_print_brief(call, rows);
	err = query_diff(call, &change_relation, &diff);
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
			  "    peak      when recorded blocks have held most (looks every 4 ms; every 16\n"
			  "              while it is recorded to a folder)\n"
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
			  "file of which there is a mark, too. A FILE may also be a recording, DIR or\n"
			  "DIR@TIME (`help record`): its last sample, or the one nearest to TIME.\n"
			  "\n"
			  "Stacks are the same if build-id and offset of all frames are; if the program\n"
			  "or a library was built anew, if its functions' names are; so for two moments of\n"
			  "one recording, too. The answer says how many sites were matched by which, and\n"
			  "how many are in one of the two only.\n"
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
