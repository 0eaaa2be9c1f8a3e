/* SPDX-License-Identifier: GPL-3.0-or-later */
/* thread, mdbg::threads: list the threads, or choose one. */

#include "cmd/cmd.h"

#include <inttypes.h>
#include "cmd/shell.h"
#include "cmd/values.h"
#include "report/text_table.h"

pid_t frames_current_thread(const struct shell *shell)
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
	pid_t current = frames_current_thread(call->shell);
	struct table table;

	table_init(&table, ARRAY_SIZE(titles), titles);
	vec_each(thread, &threads->vec) {
		table_cell(&table, "%s", thread->lwp == current ? "*" : "");
		table_cell(&table, "%d", thread->lwp);
		if (thread->pthread)
			table_cell(&table, "0x%016" PRIx64, thread->pthread);
		else
			table_cell(&table, "-");
		table_cell(&table, "%c", thread->state);
		table_outside(&table, outside_of(&thread->name));
		table_cell(&table, "%s%s%s", thread->main ? "main" : "",
			   thread->main && thread->blocks_sigtrap ? ", " : "",
			   thread->blocks_sigtrap ? "blocks SIGTRAP" : "");
	}
	return table_print(&table, call->out);
}

static struct err *run(struct call *call)
{
	struct session_threads threads = { .vec = VEC_INIT };
	struct err *err;
	pid_t lwp;

	if (call->argc) {
		err = call_thread(call, call->argv[0], &lwp);
		if (!err)
			call->shell->thread = lwp;
		return err;
	}
	err = session_threads(call->session, &threads);
	if (!err)
		err = print_threads(call, &threads);
	vec_free(&threads.vec);
	return err;
}

const struct cmd cmd_thread = {
	.name		= "thread",
	.usage		= "?THREAD?",
	.brief		= "list the threads, or choose one for `where` and `registers`",
	.help		= "THREAD is an LWP id or a pthread_t. STATE is that of /proc: R\n"
			  "running, S sleeping, D uninterruptible, T and t stopped, Z ended.\n"
			  "The chosen thread is marked by a star.\n",
	.need		= call_need_view,
	.run		= run,
	.max_args	= 1,
	.complete	= COMPLETE_THREADS,
};

static Tcl_Obj *thread_dict(const struct session_thread *thread)
{
	const char state[] = { thread->state, '\0' };
	Tcl_Obj *dict = Tcl_NewDictObj();

	dict_number(dict, "thread", (uint64_t)thread->lwp);
	dict_address_or_none(dict, "pthread", thread->pthread);
	dict_text(dict, "name", thread->name.bytes);
	dict_text(dict, "state", state);
	dict_number(dict, "main", thread->main);
	dict_number(dict, "blocksigtrap", thread->blocks_sigtrap);
	return dict;
}

static struct err *threads(struct call *call, Tcl_Obj **ret)
{
	struct session_threads list = { .vec = VEC_INIT };
	struct err *err = session_threads(call->session, &list);

	if (!err)
		*ret = value_list(&list.vec, thread, thread_dict(thread));
	vec_free(&list.vec);
	return err;
}

const struct cmd cmd_api_threads = {
	.name		= "mdbg::threads",
	.brief		= "list of dicts: the threads",
	.help		= "Each dict has: thread (LWP id) pthread name state (letter of /proc) main\n"
			  "blocksigtrap.\n",
	.need		= call_need_view,
	.value		= threads,
};
