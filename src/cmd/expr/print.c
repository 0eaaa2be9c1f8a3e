/* SPDX-License-Identifier: GPL-3.0-or-later */
/* print, mdbg::eval: the value of an expression. */

#include "base/cleanup.h"
#include "cmd/expr/expression.h"
#include "cmd/shell/cmd.h"
#include "cmd/shell/shell.h"
#include "report/stood_text.h"
#include "type/number_text.h"

static struct err *text_of(const struct call *call, struct str *ret)
{
	CLEANUP(expression_end) struct expression_at at = { .held.copy = NULL };
	struct str text AUTO_STR = STR_INIT;
	struct expr expr;
	char format[32];
	struct err *err = expression_words(call, true, format, &text);

	if (!err && *format && (format[1] || !number_text_is_format(*format)))
		err = err_create(ERR_USAGE, "'/%s' is no format: one letter of xduotcafzs", format);
	if (!err)
		err = expression_begin(call, &at);
	if (!err)
		err = expression_evaluate(call, &at, text.at, &expr);
	if (!err && expr.is_type)
		err = err_create(ERR_FORMAT, "%s is a type, not a value", text.at);
	return err ? err : value_text_add(&at.world, &expr.value, *format, ret);
}

static struct err *run(struct call *call)
{
	struct str text AUTO_STR = STR_INIT;
	struct err *err = text_of(call, &text);

	if (err)
		return err;
	out_text(call->out, str_text(&text));
	out_text(call->out, "\n");
	stood_text_print(call->out, session_stood(call->session), "");
	return NULL;
}

static struct err *value(struct call *call, Tcl_Obj **ret)
{
	struct str text AUTO_STR = STR_INIT;
	struct err *err = text_of(call, &text);

	if (!err)
		*ret = Tcl_NewStringObj(str_text(&text), -1);
	return err;
}

static const struct twin twin = {
	.name		= "mdbg::eval",
	.brief		= "the value of an expression, as `print` has it",
	.help		= "Give the expression in braces, so that Tcl leaves it alone. /FORMAT is a word\n"
			  "of its own before it.\n",
	.example	= "mdbg::eval {server.clients->len}\nmdbg::eval /x {mask | 1}\n",
	.value		= value,
};

const struct cmd cmd_print = {
	.name		= "print",
	.usage		= "?/FORMAT? EXPR",
	.brief		= "the value of an expression of C",
	.help		= "EXPR has names of variables, literals, casts, and\n"
			  "* & [] . -> + - * / % << >> & | ^ ~ ! && || ?: comparisons and sizeof.\n"
			  "'FILE'::NAME and FUNCTION::NAME are static variables, {TYPE} ADDRESS is what\n"
			  "is at an address, ARRAY@COUNT so many elements. Types are written as in C.\n"
			  "\n"
			  "The text is gdb's, without its `$1 = `. Containers of libstdc++, libc++, Rust\n"
			  "are shown by what is in them. FORMAT is x d u o t c a f z or s, as in gdb:\n"
			  "print/x EXPR.\n"
			  "\n"
			  "Local variables and registers ($rip, $sp) are those of the current thread's\n"
			  "innermost frame, or of the one that `frame` has chosen; thread-local ones are\n"
			  "those of that thread (`thread`). For them a process\n"
			  "that runs is stopped for a moment; a global variable of the same name comes\n"
			  "before them, if no frame was chosen.\n"
			  "\n"
			  "Nothing is changed, and no function of the process runs. Where it is not\n"
			  "stopped, what changes meanwhile may be half old and half new. Names need\n"
			  "debug information; of what has only a symbol, a cast says the type.\n"
			  "\n"
			  "On a prompt line all that follows is the expression, in which only Tcl's\n"
			  "variables ($a) are replaced, so there is no redirection; in a script, give it\n"
			  "in braces.\n",
	.example	= "print server.clients->len\nprint/x flags\nprint {struct node} 0x55d0c0a812a0\n"
			  "print *list@3\n",
	.need		= call_need_view,
	.run		= run,
	.twin		= &twin,
	.max_args	= CMD_ANY,
	.flags		= CMD_RAW | CMD_FORMAT,
};
