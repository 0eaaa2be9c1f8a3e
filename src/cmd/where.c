/* SPDX-License-Identifier: GPL-3.0-or-later */
/* where, mdbg::where: the stacks of threads. */

#include "base/cancel.h"
#include "base/cleanup.h"
#include "cmd/shell/cmd.h"
#include "cmd/shell/dict.h"
#include "cmd/shell/shell.h"
#include "cmd/thread.h"
#include "report/stood_text.h"
#include "report/traceback.h"

#define FRAMES_MAX	4096	/* of one stack, unless the user wants fewer */
#define INDENT	6	/* the width of "#0    " */

/* max: how many frames were asked for. */
static struct err *print_stack(const struct call *call, const struct session_stack *stack,
			       uint32_t max, struct outside name, struct stack_ends *ends)
{
	struct symbols *symbols = session_symbols(call->session);
	AUTO_STR struct str text = STR_INIT;
	struct err *err = NULL;
	uint64_t dim;
	size_t i;

	out_f(call->out, "Thread %d%s", stack->lwp, *name.bytes ? " (" : "");
	out_outside(call->out, name);
	out_f(call->out, "%s:\n", *name.bytes ? ")" : "");
	for (i = 0; !err && i < stack->pcs.nr; i++) {
		const struct stack_pc pc = {
			stack->pcs.at[i], session_generation(call->session), !i,
		};

		str_clear(&text);
		err = traceback_lines(&text, call->session, symbols, pc, INDENT, &dim);
		if (!err)
			err = cancel_check();
		if (err)
			break;
		out_f(call->out, "#%-*zu", INDENT - 1, i);
		traceback_print_lines(call->out, text.at, text.len, dim);
	}
	if (!err && stack->end == WALK_DEPTH && max < FRAMES_MAX)
		out_f(call->out, "%*s(more frames follow)\n", INDENT, "");
	else if (!err && stack->end != WALK_COMPLETE)
		out_f(call->out, "%*s(stack ends here: %s)\n", INDENT, "",
		      stack_end_text(ends, stack->end, stack->pcs.at, stack->pcs.nr));
	return err;
}

static struct outside name_of(const struct session_threads *threads, pid_t lwp)
{
	vec_each(thread, &threads->vec)
		if (thread->lwp == lwp)
			return outside_of(&thread->name);
	return (struct outside){ "" };
}

static struct err *print_stacks(const struct call *call, const struct session_stacks *stacks,
				uint32_t max)
{
	struct session_threads threads = { .vec = VEC_INIT };
	struct stack_ends ends = { .session = call->session };
	struct err *err = session_threads(call->session, &threads);
	size_t i;

	for (i = 0; !err && i < stacks->vec.nr; i++) {
		if (i)
			out_text(call->out, "\n");
		err = print_stack(call, &stacks->vec.at[i], max,
				  name_of(&threads, stacks->vec.at[i].lwp), &ends);
	}
	vec_free(&threads.vec);
	return err;
}

/*
 * Parse all|THREAD, then N. A single number that is no thread is N, unless no stack has so many
 * frames: then somebody means a thread that has ended.
 */
static struct err *parse(const struct call *call, pid_t *lwp_ret, uint32_t *max_ret)
{
	const char *count = call->argc ? call->argv[call->argc - 1] : NULL;
	struct err *err, *no_thread = NULL;
	uint64_t max;

	*lwp_ret = thread_current(call->shell);
	*max_ret = FRAMES_MAX;
	if (!call->argc)
		return NULL;
	if (!strcmp(call->argv[0], "all")) {
		*lwp_ret = 0;
		if (call->argc == 1)
			return NULL;
	} else {
		no_thread = call_thread(call, call->argv[0], lwp_ret);
		if (!no_thread && call->argc == 1)
			return NULL;
		if (no_thread && call->argc > 1)
			return no_thread;
	}
	err = parse_number(count, &max);
	if (err || !max)
		return err_create(ERR_USAGE, "'%s' is neither a thread nor a number of frames",
				  count);
	if (no_thread && max > FRAMES_MAX)
		return no_thread;
	*max_ret = (uint32_t)MIN(max, (uint64_t)FRAMES_MAX);
	return NULL;
}

static struct err *run(struct call *call)
{
	CLEANUP(session_thread_stacks_free) struct session_stacks stacks = { VEC_INIT };
	uint32_t max;
	pid_t lwp;
	struct err *err = parse(call, &lwp, &max);

	if (!err)
		err = session_thread_stacks(call->session, lwp, max, &stacks);
	if (!err)
		err = print_stacks(call, &stacks, max);
	if (!err)
		stood_text_print(call->out, session_stood(call->session), "");
	return err;
}

const struct cmd cmd_where = {
	.name		= "where",
	.usage		= "?all|THREAD? ?N?",
	.brief		= "the stack of the current thread, of one, or of all",
	.help		= "THREAD is an LWP id or a pthread_t. A running process is stopped for a\n"
			  "moment. Functions that were inlined have lines of their own above the\n"
			  "one that they are in.\n",
	.example	= "where all 5\n",
	.need		= call_need_view,
	.run		= run,
	.max_args	= 2,
	.complete	= COMPLETE_THREADS,
};

static Tcl_Obj *stack_dict(const struct session_stack *stack, struct stack_ends *ends)
{
	Tcl_Obj *dict = Tcl_NewDictObj();

	dict_number(dict, "thread", (uint64_t)stack->lwp);
	dict_value(dict, "stack", value_list(&stack->pcs, pc, dict_value_address(*pc)));
	dict_text(dict, "end", stack_end_text(ends, stack->end, stack->pcs.at, stack->pcs.nr));
	return dict;
}

static struct err *where(struct call *call, Tcl_Obj **ret)
{
	CLEANUP(session_thread_stacks_free) struct session_stacks stacks = { VEC_INIT };
	struct stack_ends ends = { .session = call->session };
	struct err *err = NULL;
	pid_t lwp = 0;

	if (call->argc)
		err = call_thread(call, call->argv[0], &lwp);
	if (!err)
		err = session_thread_stacks(call->session, lwp, FRAMES_MAX, &stacks);
	if (!err)
		*ret = value_list(&stacks.vec, stack, stack_dict(stack, &ends));
	return err;
}

const struct cmd cmd_api_where = {
	.name		= "mdbg::where",
	.usage		= "?THREAD?",
	.brief		= "list of dicts: the stacks of all threads, or of one",
	.help		= "Each dict has: thread (LWP id) stack (for mdbg::frames) end (\"complete\",\n"
			  "or the reason why it ends there).\n",
	.need		= call_need_view,
	.value		= where,
	.max_args	= 1,
	.complete	= COMPLETE_THREADS,
};
