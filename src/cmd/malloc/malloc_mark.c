/* SPDX-License-Identifier: GPL-3.0-or-later */
/* malloc mark, mdbg::mark: remember this moment, or forget one. */

#include <string.h>

#include "cmd/recording/recording.h"
#include "cmd/shell/cmd.h"
#include "cmd/shell/shell.h"
#include "session/history.h"

/* *ret is NULL if a mark was forgotten. */
static struct err *mark_or_forget(const struct call *call, const struct mark **ret)
{
	struct err *err;

	*ret = NULL;
	if (call->argc < 2) {
		err = session_history_mark(call->session, call->argv[0], ret);
		if (!err)
			recording_mark(call->shell);
		return err;
	}
	if (strcmp(call->argv[0], "-delete"))
		return call_bad_word(call->argv[1]);
	return session_history_unmark(call->session, call->argv[1]);
}

/* Only a name that mdbg has made is printed. */
static struct err *run(struct call *call)
{
	const struct mark *mark;
	struct err *err = mark_or_forget(call, &mark);

	if (!err && !call->argc)
		out_f(call->out, "%s\n", mark->name);
	return err;
}

static struct err *value(struct call *call, Tcl_Obj **ret)
{
	const struct mark *mark;
	struct err *err = mark_or_forget(call, &mark);

	if (!err && mark)
		*ret = Tcl_NewStringObj(mark->name, -1);
	return err;
}

static const struct twin twin = {
	.name		= "mdbg::mark",
	.brief		= "set a mark, as `malloc mark` does; returns its name",
	.value		= value,
};

const struct cmd cmd_malloc_mark = {
	.name		= "malloc mark",
	.usage		= "?NAME? | -delete NAME",
	.brief		= "remember what each site holds now, by a name",
	.help		= "Without NAME, mdbg makes a name and prints it. A mark of the same NAME must\n"
			  "not exist. With -delete, the mark is forgotten.\n"
			  "\n"
			  "`malloc diff NAME` and `malloc sites since NAME` compare with the mark,\n"
			  "`malloc sites at NAME` shows it, and `growth since NAME` has what was mapped\n"
			  "since.\n"
			  "\n"
			  "While the process is recorded to a folder, a mark is a sample there, too, which\n"
			  "is kept, and by its name `malloc diff` finds it again in the recording.\n"
			  "\n"
			  "A mark costs the process nothing. `malloc reset` and another attach delete all\n"
			  "marks. `export pprof FILE diff NAME` has what was allocated since, too.\n",
	.example	= "malloc mark before\n",
	.need		= call_need_recording,
	.run		= run,
	.twin		= &twin,
	.max_args	= 2,
};
