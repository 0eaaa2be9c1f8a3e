/* SPDX-License-Identifier: GPL-3.0-or-later */
/* malloc pymalloc, mdbg::pymalloc: the blocks of Python's pools, by type, size, or loss. */

#include <string.h>

#include "answer/python_rows.h"
#include "answer/stack_names.h"
#include "base/cleanup.h"
#include "cmd/shell/cmd.h"
#include "report/out.h"
#include "report/pool/python_text.h"
#include "session/pool/session_python.h"
#include "session/session.h"

struct asked {
	enum python_by by;
	struct answer_order order;
	struct session_python python;
	struct python_sums sums;
};

static void asked_free(struct asked *asked)
{
	session_python_free(&asked->python);
	vec_free(&asked->sums.vec);
}

static struct err *parse(const struct call *call, struct asked *ret)
{
	int at = 0;
	struct err *err;

	if (call->argc && !strcmp(call->argv[0], "lost")) {
		ret->by = PYTHON_BY_LOST;
		at = 1;
	} else if (call->argc > 1 && !strcmp(call->argv[0], "by")) {
		ret->by = strcmp(call->argv[1], "size") ? PYTHON_BY_TYPE : PYTHON_BY_SIZE;
		if (ret->by == PYTHON_BY_TYPE && strcmp(call->argv[1], "type"))
			return call_bad_word(call->argv[1]);
		at = 2;
	}
	err = answer_order_parse(&python_relation, call->argc, call->argv, &at, &ret->order);
	return err || at == call->argc ? err : call_bad_word(call->argv[at]);
}

/* The caller calls asked_free, also after an error. */
static struct err *ask(struct call *call, struct asked *ret)
{
	struct session *session = call->session;
	const struct log *log = session_recorded(session) ? session_log(session) : NULL;
	struct err *err;
	size_t left;

	*ret = (struct asked){ .by = PYTHON_BY_TYPE };
	err = parse(call, ret);
	if (!err)
		err = session_python(session, ret->by == PYTHON_BY_LOST, &ret->python);
	if (!err)
		err = python_rows_sum(&ret->python.objects, ret->by, log, 0, &ret->sums);
	if (!err)
		err = answer_sort(&ret->order, ret->sums.vec.at, ret->sums.vec.nr,
				  sizeof(*ret->sums.vec.at), &left);
	if (!err)
		ret->sums.vec.nr = left;
	return err;
}

static struct err *run(struct call *call)
{
	CLEANUP(asked_free) struct asked asked;
	CLEANUP(stack_names_free) struct stack_names names;
	struct err *err = ask(call, &asked);

	stack_names_init(&names, call->session);
	if (err)
		return err;
	out_heading(call->out, "Blocks of Python's Pools:");
	err = python_text_print_rows(&names, &asked.sums, call->out);
	if (!err && asked.by == PYTHON_BY_LOST && !call->brief)
		err = python_text_print_stacks(call->session, &names, &asked.sums, call->out);
	if (!err)
		python_text_print_sums(&asked.python, &asked.sums, asked.by == PYTHON_BY_LOST,
				       call->out);
	return err;
}

static struct err *rows(struct call *call, struct answer *ret)
{
	CLEANUP(asked_free) struct asked asked;
	CLEANUP(stack_names_free) struct stack_names names;
	struct err *err = ask(call, &asked);

	stack_names_init(&names, call->session);
	return err ? err : python_rows(&names, &asked.sums, ret);
}

static const struct twin twin = {
	.name		= "mdbg::pymalloc",
	.brief		= "list of dicts: the rows of `malloc pymalloc`",
	.example	= "foreach row [mdbg::pymalloc by size] {puts [dict get $row count]}\n",
	.of		= &python_relation,
	.rows		= rows,
};

const struct cmd cmd_malloc_pymalloc = {
	.name		= "malloc pymalloc",
	.usage		= "?by type|by size|lost? ?sort KEY ?up?? ?limit N?",
	.brief		= "Python's objects of up to 512 bytes, and which are lost",
	.help		= "CPython (3.6 to 3.13) keeps objects of up to 512 bytes in arenas that it maps\n"
			  "by itself. They are walked, without running any of its code, so that those\n"
			  "from before the attach are there, too. Blocks are listed by type, or by size;\n"
			  "(no object) is what Python keeps beside objects: tables of dicts, items of\n"
			  "lists, instances in free lists.\n"
			  "\n"
			  "`lost` lists the objects that no word of the process points to, and so nobody\n"
			  "can release: an extension has forgotten a Py_DECREF. `indirect` are those that\n"
			  "only lost ones point to. The links of the garbage collector do not count.\n"
			  "Objects of a ring that is lost point to one another, and are not found. Where\n"
			  "`probe pool pymalloc` has recorded who made an object, its stack is printed.\n"
			  "\n"
			  "The process stands, or a snapshot is made of it, as for `malloc leaks`. The\n"
			  "arenas of subinterpreters, and those of a Python without a global lock, are\n"
			  "not found.\n",
	.example	= "malloc pymalloc limit 10\n"
			  "malloc pymalloc lost\n",
	.need		= call_need_view,
	.run		= run,
	.twin		= &twin,
	.max_args	= CMD_ANY,
	.flags		= CMD_BRIEF,
};
