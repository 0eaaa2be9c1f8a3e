/* SPDX-License-Identifier: GPL-3.0-or-later */
/* status: show what mdbg does to the target. */

#include <inttypes.h>
#include <sys/wait.h>

#include "cmd/shell/cmd.h"
#include "cmd/shell/shell.h"
#include "cmd/terminal/signals.h"
#include "report/figures.h"
#include "report/replay/replay_text.h"

static void print_end(const struct call *call)
{
	bool known;
	int status = session_exit_status(call->session, &known);
	pid_t pid = session_pid(call->session);

	if (!known)
		out_f(call->out,
		      "Process %d is gone (its status is not known); its log still answers.\n",
		      pid);
	else if (WIFSIGNALED(status))
		out_f(call->out, "Process %d was ended by %s (%s); its log still answers.\n", pid,
		      signal_name(WTERMSIG(status)), strsignal(WTERMSIG(status)));
	else
		out_f(call->out, "Process %d ended with status %d; its log still answers.\n", pid,
		      WEXITSTATUS(status));
}

/* Print the threads that would die if mdbg were killed while breakpoints are in. */
static void print_fragile(const struct call *call, const struct session_threads *threads)
{
	bool any = false;

	vec_each(thread, &threads->vec) {
		if (!thread->blocks_sigtrap)
			continue;
		if (!any)
			out_text(call->out, "Threads that block SIGTRAP, and would not survive a "
					    "killed mdbg while breakpoints are in:\n");
		any = true;
		out_f(call->out, "    %d ", thread->lwp);
		out_outside(call->out, outside_of(&thread->name));
		out_text(call->out, "\n");
	}
}

static struct err *print_probes(const struct call *call, const struct session_threads *threads)
{
	struct figures figures;
	struct err *err = figures_get(call->session, SESSION_HEAP_LOG, &figures);
	char since[32];

	if (err)
		return err;
	if (!figures.with_log) {
		out_f(call->out, "Allocator %s, no probes: nothing is recorded.\n",
		      figures.allocator ? figures.allocator : "unknown");
		figures_free(&figures);
		return NULL;
	}
	number_text_time(since, sizeof(since), figures.since_ns);
	out_f(call->out, "Allocator %s, %u jump and %u breakpoint probes%s.\n",
	      figures.allocator ? figures.allocator : "unknown", figures.jump, figures.breakpoint,
	      figures.armed ? "" : " (off)");
	out_f(call->out, "Recording since %s: %" PRIu64 " blocks held, %" PRIu64 " bytes.\n", since,
	      figures.blocks, figures.bytes);
	if (figures.measured) {
		out_text(call->out, "Sampling: ");
		figures_print_mean(&figures, "", call->out);
		figures_print_cost(&figures.cost, figures.breakpoint, call->out);
		out_text(call->out, ".\n");
	}
	if (figures.breakpoint)
		print_fragile(call, threads);
	figures_free(&figures);
	return NULL;
}

static void print_core(const struct call *call, const struct session_core *core)
{
	out_text(call->out, "Core file ");
	out_outside(call->out, core->path);
	out_f(call->out, " of process %d (", session_pid(call->session));
	out_outside(call->out, core->name);
	out_f(call->out, "), %zu thread%s", core->threads, core->threads == 1 ? "" : "s");
	if (core->signal)
		out_f(call->out, ", %s (%s)", signal_name(core->signal), strsignal(core->signal));
	out_text(call->out, ".\n");
	if (*core->program.bytes) {
		out_text(call->out, "Program ");
		out_outside(call->out, core->program);
		out_text(call->out, ".\n");
	}
	if (core->missing)
		out_f(call->out, "%" PRIu64 " bytes of memory are missing: the file was cut off.\n",
		      core->missing);
	if (core->lacking)
		out_f(call->out, "%u mapped files could not be read.\n", core->lacking);
	if (core->unchecked)
		out_f(call->out, "%u mapped files could not be compared with the core.\n",
		      core->unchecked);
}

static void print_state(const struct call *call)
{
	struct session_event death;

	if (session_dying(call->session, &death))
		out_f(call->out, "held before its death by %s (%s)", signal_name(death.signal),
		      strsignal(death.signal));
	else
		out_text(call->out, session_state(call->session) == SESSION_STOPPED ? "stopped" :
										    "running");
}

static struct err *run(struct call *call)
{
	struct session_threads threads = { .vec = VEC_INIT };
	struct proc_status status;
	enum session_state state = session_state(call->session);
	pid_t pid = session_pid(call->session);
	struct session_core core;
	struct err *err;

	if (session_core(call->session, &core)) {
		print_core(call, &core);
		return NULL;
	}
	if (state == SESSION_REPLAY)
		return replay_text_print(call->session, call->out);
	if (state == SESSION_NONE) {
		out_text(call->out, "No process.\n");
		return NULL;
	}
	if (state == SESSION_ENDED) {
		print_end(call);
		return NULL;
	}
	err = session_threads(call->session, &threads);
	if (!err)
		err = procfs_status(pid, &status);
	if (!err) {
		out_f(call->out, "Process %d (", pid);
		out_outside(call->out, outside_of(&status.name));
		out_f(call->out, "), %s, ",
		      session_started(call->session) ? "started here" : "attached to");
		print_state(call);
		out_f(call->out, ", %s, %zu thread%s.\n", threads.traced ? "traced" : "not traced", threads.vec.nr,
		      threads.vec.nr == 1 ? "" : "s");
		err = print_probes(call, &threads);
	}
	vec_free(&threads.vec);
	return err;
}

const struct cmd cmd_status = {
	.name		= "status",
	.brief		= "the process, its state, the probes, and threads at risk",
	.help		= "`traced`: other tracers (strace, gdb) cannot attach until mdbg detaches.\n"
			  "`not traced`: mdbg traces only while it acts, and others can attach.\n"
			  "Threads that block SIGTRAP are named while breakpoint probes are in:\n"
			  "mdbg puts back what the kernel resets, but if mdbg were killed, such a\n"
			  "thread's next allocation would end the process.\n",
	.run		= run,
};
