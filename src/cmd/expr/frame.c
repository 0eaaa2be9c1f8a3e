/* SPDX-License-Identifier: GPL-3.0-or-later */
/* frame, up, down: which frame of the current thread `print` and `dump` are about. */

#include "cmd/shell/cmd.h"
#include "cmd/shell/shell.h"
#include "cmd/thread.h"
#include "report/stood_text.h"
#include "report/traceback.h"

#define FRAMES_MAX	4096u	/* of a stack */
#define INDENT		6	/* the width of "#0    " */

static struct err *print_frame(const struct call *call, const struct session_stack *stack,
			       uint32_t nr)
{
	const struct stack_pc pc = { stack->pcs.at[nr], session_generation(call->session), !nr };
	struct str text AUTO_STR = STR_INIT;
	uint64_t dim;
	struct err *err = traceback_lines(&text, call->session, session_symbols(call->session), pc,
					  INDENT, &dim);

	if (err)
		return err;
	out_f(call->out, "#%-*u", INDENT - 1, nr);
	traceback_print_lines(call->out, text.at, text.len, dim);
	stood_text_print(call->out, session_stood(call->session), "");
	return NULL;
}

static struct err *no_frame(pid_t lwp, int64_t nr, const struct session_stack *stack)
{
	if (nr < 0)
		return err_create(ERR_NOTFOUND, "frame 0 is the innermost of thread %d", lwp);
	return err_hint(err_create(ERR_NOTFOUND, "thread %d has %zu frame%s, counted from 0", lwp,
				   stack->pcs.nr, stack->pcs.nr == 1 ? "" : "s"),
			"`where` shows them");
}

/* Choose a frame, if the stack has it as it is now, and print it. */
static struct err *choose(const struct call *call, int64_t nr, bool chosen)
{
	struct session_stacks stacks = { VEC_INIT };
	pid_t lwp = thread_current(call->shell);
	struct err *err = session_thread_stacks(call->session, lwp, (uint32_t)MIN(
							MAX(nr, 0) + 1, (int64_t)FRAMES_MAX),
						&stacks);

	if (!err && (nr < 0 || (size_t)nr >= stacks.vec.at[0].pcs.nr))
		err = no_frame(lwp, nr, &stacks.vec.at[0]);
	if (!err && chosen) {
		shell_list_anew(call->shell);
		call->shell->frame = (uint32_t)nr;
		call->shell->frame_chosen = true;
	}
	if (!err)
		err = print_frame(call, &stacks.vec.at[0], (uint32_t)nr);
	session_thread_stacks_free(&stacks);
	return err;
}

static struct err *number(const struct call *call, uint64_t *ret)
{
	return parse_number(call->argv[0], ret) || *ret > FRAMES_MAX ?
		err_create(ERR_USAGE, "'%s' is no number of frames", call->argv[0]) : NULL;
}

static struct err *run_frame(struct call *call)
{
	uint64_t nr = call->shell->frame;
	struct err *err = call->argc ? number(call, &nr) : NULL;

	return err ? err : choose(call, (int64_t)nr, call->argc);
}

static struct err *move(struct call *call, int sign)
{
	uint64_t by = 1;
	struct err *err = call->argc ? number(call, &by) : NULL;

	return err ? err : choose(call, (int64_t)call->shell->frame + sign * (int64_t)by, true);
}

static struct err *run_up(struct call *call)
{
	return move(call, 1);
}

static struct err *run_down(struct call *call)
{
	return move(call, -1);
}

const struct cmd cmd_frame = {
	.name		= "frame",
	.usage		= "?N?",
	.brief		= "choose a frame of the current thread for `print` and `dump`",
	.help		= "N is its number in `where`: 0 is the innermost. Without N the current one is\n"
			  "shown. A number stays chosen until `thread` chooses a thread; in a process\n"
			  "that runs, its function may be another one each time.\n"
			  "\n"
			  "A running process is stopped for a moment.\n",
	.example	= "frame 2\n",
	.need		= call_need_view,
	.run		= run_frame,
	.max_args	= 1,
};

const struct cmd cmd_up = {
	.name		= "up",
	.usage		= "?N?",
	.brief		= "choose the frame that has called the current one",
	.help		= "N: so many frames further (1), as `frame` shows them.\n",
	.example	= "up 2\n",
	.need		= call_need_view,
	.run		= run_up,
	.max_args	= 1,
};

const struct cmd cmd_down = {
	.name		= "down",
	.usage		= "?N?",
	.brief		= "choose the frame that the current one has called",
	.help		= "N: so many frames further (1), as `frame` shows them.\n",
	.need		= call_need_view,
	.run		= run_down,
	.max_args	= 1,
};
