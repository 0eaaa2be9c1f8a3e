/* SPDX-License-Identifier: GPL-3.0-or-later */
/* thread, mdbg::threads: list the threads, or choose one. */

#include "cmd/thread.h"

#include <inttypes.h>

#include "answer/answer.h"
#include "base/cleanup.h"
#include "cmd/shell/cmd.h"
#include "cmd/shell/shell.h"
#include "inspect/ended.h"
#include "report/stood_text.h"
#include "report/text_table.h"
#include "report/traceback.h"
#include "session/growth/session_growth.h"

pid_t thread_current(const struct shell *shell)
{
	struct session_threads threads = { .vec = VEC_INIT };
	pid_t lwp = 0, first = 0;

	/* The command's next call reports this error. */
	if (session_threads(shell->session, &threads))
		return session_pid(shell->session);
	vec_each(thread, &threads.vec) {
		if (thread->lwp == shell->thread)
			lwp = shell->thread;
		if (thread->main || !first)
			first = thread->lwp;
	}
	vec_free(&threads.vec);
	return lwp ? lwp : first;
}

static struct err *print_threads(const struct call *call, const struct session_threads *threads)
{
	static const char *const titles[] = { "", "THREAD", "PTHREAD_T", "STATE", "NAME", "" };
	pid_t current = thread_current(call->shell);
	struct table table;

	text_table_init(&table, ARRAY_SIZE(titles), titles);
	vec_each(thread, &threads->vec) {
		text_table_cell(&table, "%s", thread->lwp == current ? "*" : "");
		text_table_cell(&table, "%d", thread->lwp);
		if (thread->pthread)
			text_table_cell(&table, "0x%016" PRIx64, thread->pthread);
		else
			text_table_cell(&table, "-");
		text_table_cell(&table, "%c", thread->state);
		text_table_outside(&table, outside_of(&thread->name));
		text_table_cell(&table, "%s%s%s", thread->main ? "main" : "",
				thread->main && thread->blocks_sigtrap ? ", " : "",
				thread->blocks_sigtrap ? "blocks SIGTRAP" : "");
	}
	return text_table_print(&table, call->out);
}

/* The call that has mapped the stack of a thread; NULL: growth has not seen it. */
static const struct held_piece *mapped_by(const struct session_growth_view *view, uint64_t thread)
{
	vec_each(piece, &view->pieces.vec)
		if (thread >= piece->start && thread < piece->end)
			return piece;
	return NULL;
}

static struct err *print_mapped_by(struct stack_texts *texts,
				   const struct session_growth_view *view, uint64_t thread,
				   struct out *out)
{
	const struct held_piece *piece = mapped_by(view, thread);

	if (!piece)
		return NULL;
	out_text(out, "    its stack was mapped by\n        ");
	return traceback_texts_print(texts, piece->stack, out);
}

static struct err *print_ended(struct call *call, const struct ended_threads *ended)
{
	CLEANUP(session_growth_view_free) struct session_growth_view view = { .mapped = 0 };
	struct stack_texts texts;
	struct err *err = NULL;

	if (!ended->known)
		out_text(call->out, "Threads that have ended and that nobody has joined are not known: "
			 "glibc 2.34 and later tells\n");
	if (session_growth_kinds(call->session))
		err = session_growth_view(call->session, &view);
	if (err)
		return err;
	traceback_texts_init(&texts, call->session, 8);
	for (size_t i = 0; !err && i < ended->vec.nr; i++) {
		out_f(call->out, "thread 0x%" PRIx64 " (ended, not joined)\n", ended->vec.at[i]);
		err = print_mapped_by(&texts, &view, ended->vec.at[i], call->out);
	}
	traceback_texts_free(&texts);
	return err;
}

static struct err *list(struct call *call)
{
	struct session_threads threads = { .vec = VEC_INIT };
	struct ended_threads ended = { .vec = VEC_INIT };
	struct err *err = session_threads(call->session, &threads);

	if (!err)
		err = print_threads(call, &threads);
	if (!err)
		err = session_threads_ended(call->session, &ended);
	if (!err)
		err = print_ended(call, &ended);
	if (!err)
		stood_text_print(call->out, session_stood(call->session), "");
	vec_free(&threads.vec);
	vec_free(&ended.vec);
	return err;
}

static struct err *run(struct call *call)
{
	struct err *err;
	pid_t lwp;

	if (!call->argc)
		return list(call);
	err = call_thread(call, call->argv[0], &lwp);
	if (!err)
		shell_choose_thread(call->shell, lwp);
	return err;
}

const struct cmd cmd_thread = {
	.name		= "thread",
	.usage		= "?THREAD?",
	.brief		= "list the threads, or choose one for `where` and `registers`",
	.help		= "THREAD is an LWP id or a pthread_t. STATE is that of /proc: R running, S\n"
			  "sleeping, D uninterruptible, T and t stopped, Z ended.\n"
			  "\n"
			  "The chosen thread is marked by a star.\n"
			  "\n"
			  "Threads that have ended and that nobody has joined are listed behind them by\n"
			  "pthread_t (glibc 2.34 and later): their stacks stay mapped. If\n"
			  "`growth start mmap` was there before, the call that has mapped such a stack is\n"
			  "shown; glibc uses stacks of joined threads again, so it may have been the\n"
			  "pthread_create of another thread.\n",
	.need		= call_need_view,
	.run		= run,
	.max_args	= 1,
	.complete	= COMPLETE_THREADS,
};

struct thread_row {
	uint64_t pthread;
	const char *name, *state;
	uint32_t lwp;
	bool main, blocks_sigtrap;
};

#define IS(kind, member)	COLUMN(kind, struct thread_row, member)

static const struct column thread_columns[] = {
	{ "thread", ">THREAD", "LWP id", IS(NUMBER, lwp) },
	{ "pthread", "PTHREAD_T", NULL, IS(ADDRESS, pthread), .flags = COLUMN_0_UNKNOWN },
	{ "name", "NAME", NULL, IS(TEXT, name) },
	{ "state", "STATE", "letter of /proc", IS(TEXT, state) },
	{ "main", NULL, NULL, IS(NUMBER, main) },
	{ "blocksigtrap", NULL, NULL, IS(NUMBER, blocks_sigtrap) },
};

static const struct relation thread_relation = RELATION("threads", thread_columns,
							struct thread_row);

struct ended_row {
	uint64_t pthread;
	uint32_t stack;
	bool seen;
};

static const struct column ended_columns[] = {
	{ "pthread", "PTHREAD_T", NULL, COLUMN(ADDRESS, struct ended_row, pthread) },
	{ "stack", NULL, NULL, COLUMN(STACK, struct ended_row, stack),
	  COLUMN_WITH(struct ended_row, seen) },
};

static const struct relation ended_relation = RELATION("threads", ended_columns, struct ended_row);

static struct err *ended_rows(struct call *call, struct answer *ret)
{
	CLEANUP(session_growth_view_free) struct session_growth_view view = { .mapped = 0 };
	struct ended_threads ended;
	struct err *err = session_threads_ended(call->session, &ended);

	if (!err && !ended.known)
		err = err_hint(err_create(ERR_UNSUPPORTED, "threads that have ended are not known"),
			       "glibc 2.34 and later tells");
	if (!err && session_growth_kinds(call->session))
		err = session_growth_view(call->session, &view);
	*ret = (struct answer)ANSWER_KEPT(&ended_relation);
	vec_each_while(thread, &ended.vec, !err) {
		const struct held_piece *piece = mapped_by(&view, *thread);

		err = answer_add(ret, &(struct ended_row){ *thread, piece ? piece->stack : 0,
							   piece });
	}
	vec_free(&ended.vec);
	return err;
}

static struct err *rows(struct call *call, struct answer *ret)
{
	struct session_threads list = { .vec = VEC_INIT };
	struct err *err;

	if (call->argc)
		return strcmp(call->argv[0], "-ended") ? call_bad_word(call->argv[0]) :
							 ended_rows(call, ret);
	err = session_threads(call->session, &list);
	*ret = (struct answer)ANSWER_KEPT(&thread_relation);
	vec_each_while(thread, &list.vec, !err) {
		const char state[] = { thread->state, '\0' };

		err = answer_add(ret, &(struct thread_row){
			thread->pthread, thread->name.bytes, state, (uint32_t)thread->lwp,
			thread->main, thread->blocks_sigtrap });
	}
	vec_free(&list.vec);
	return err;
}

const struct cmd cmd_api_threads = {
	.name		= "mdbg::threads",
	.usage		= "?-ended?",
	.brief		= "list of dicts: the threads",
	.of		= &thread_relation,
	.help		= "-ended: the threads that have ended and that nobody has joined instead,\n"
			  "each with pthread and stack: that of the call which has mapped its stack\n"
			  "(as `thread` shows it), if `growth start mmap` has seen it, otherwise -.\n"
			  "Error: the C library does not tell them.\n",
	.need		= call_need_view,
	.max_args	= 1,
	.rows		= rows,
};
