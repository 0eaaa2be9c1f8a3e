/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dump, mdbg::locals: the local variables of a frame. */

#include <inttypes.h>
#include <string.h>

#include "answer/answer.h"
#include "base/cleanup.h"
#include "cmd/expr/expression.h"
#include "cmd/shell/cmd.h"
#include "cmd/shell/shell.h"
#include "report/stood_text.h"
#include "type/locals.h"

struct local_row {
	const char *function, *name, *value;
	bool parameter, inlined;
};

#define IS(kind, member)	COLUMN(kind, struct local_row, member)

static const struct column local_columns[] = {
	{ "function", "FUNCTION", "whose it is", IS(TEXT, function) },
	{ "inlined", NULL, "1: that function was inlined", IS(NUMBER, inlined) },
	{ "name", "NAME", NULL, IS(TEXT, name) },
	{ "parameter", NULL, "1: it is one", IS(NUMBER, parameter) },
	{ "value", "VALUE", "as `print` shows it", IS(TEXT, value) },
};

static const struct relation local_relation = RELATION("locals", local_columns, struct local_row);

struct listing {
	const struct value_world *world;
	struct answer *answer;
};

static struct err *add_local(void *ctx, const struct local *local, bool *end UNUSED)
{
	const struct listing *listing = ctx;
	struct str text AUTO_STR = STR_INIT;
	const char *function = dwarf_diename(local->function);
	struct value value;
	struct err *err = frame_place(listing->world, local->die, &value);

	if (!err)
		err = value_text_add(listing->world, &value, 0, &text);
	/* One that cannot be read is said in its place, and the others follow. */
	if (err && err->code != ERR_CANCELLED) {
		struct err *said;

		str_clear(&text);
		said = str_addf(&text, "<%s>", err->msg);
		err_ignore(err);
		err = said;
	}
	if (err)
		return err;
	return answer_add(listing->answer, &(struct local_row){
		function ? function : "?", local->name, str_text(&text), local->parameter,
		local->inlined });
}

static struct err *no_locals(const struct frame *frame)
{
	return err_hint(err_create(ERR_NOTFOUND, "no debug information of the function at 0x%" PRIx64,
				   frame->at.pc),
			"`up` and `frame` choose another frame");
}

static struct err *rows(struct call *call, struct answer *ret)
{
	CLEANUP(expression_end) struct expression_at at = { .held.copy = NULL };
	struct listing listing = { &at.world, ret };
	struct err *err;

	*ret = (struct answer)ANSWER_KEPT(&local_relation);
	err = expression_begin(call, &at);
	if (!err)
		err = expression_enter(call, &at);
	if (!err && !frame_has_function(&at.world, at.frame))
		err = no_locals(at.frame);
	return err ? err : locals_each(&at.world, add_local, &listing);
}

static struct err *run(struct call *call)
{
	struct answer answer;
	struct err *err = rows(call, &answer);
	const struct local_row *row = answer.at;
	const char *function = "";

	for (size_t i = 0; i < answer.nr && !err; i++) {
		if (strcmp(row[i].function, function))
			out_f(call->out, "%s%s:\n", row[i].function, row[i].inlined ? " (inlined)" : "");
		function = row[i].function;
		out_f(call->out, "    %s = %s\n", row[i].name, row[i].value);
	}
	if (!err && !answer.nr)
		out_text(call->out, "No local variables.\n");
	if (!err)
		stood_text_print(call->out, session_stood(call->session), "");
	answer_free(&answer);
	return err;
}

static const struct twin twin = {
	.name		= "mdbg::locals",
	.brief		= "list of dicts: the local variables of the current frame",
	.of		= &local_relation,
	.rows		= rows,
};

const struct cmd cmd_dump = {
	.name		= "dump",
	.brief		= "the local variables of the current frame",
	.help		= "Those of what is inlined there come first, each from the innermost block\n"
			  "outwards; parameters are among them. `<optimized out>` is what the compiler has\n"
			  "left nowhere at that place; `<not known: …>` is what was in a register that\n"
			  "the functions below may have changed.\n"
			  "\n"
			  "The frame is the innermost of the current thread, or the one that `frame` has\n"
			  "chosen. A running process is stopped for a moment.\n",
	.example	= "frame 2\ndump\n",
	.need		= call_need_view,
	.run		= run,
	.twin		= &twin,
};
