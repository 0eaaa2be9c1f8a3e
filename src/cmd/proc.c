/* SPDX-License-Identifier: GPL-3.0-or-later */
/* proc: show the state of the process as /proc has it. */

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "cmd/shell/cmd.h"
#include "cmd/shell/redirect_kind.h"
#include "cmd/shell/shell.h"
#include "cmd/terminal/redirect.h"
#include "cmd/terminal/signals.h"

static void label(struct out *out, const char *name)
{
	out_column(out, name, 18);
}

#define line(out, name, ...)	(label(out, name), out_f(out, __VA_ARGS__))

static void print_line(struct out *out, struct outside text)
{
	out_outside(out, text);
	out_text(out, "\n");
}

static void print_name(struct out *out, pid_t pid, struct outside name)
{
	out_f(out, "%d (", pid);
	out_outside(out, name);
	out_text(out, ")\n");
}

/* Print a link or file of /proc; one that cannot be read is shown as "-". */
static void print_link(const struct call *call, pid_t pid, const char *name)
{
	AUTO_FREE char *text = NULL;

	label(call->out, name);
	print_line(call->out, (struct outside){ procfs_link(pid, name, &text) ? "-" : text });
}

static void print_cmdline(const struct call *call, pid_t pid)
{
	AUTO_FREE char *text = NULL;
	size_t len = 0, i;

	label(call->out, "command line");
	if (!procfs_file(pid, "cmdline", &text, &len)) {
		for (i = 0; i + 1 < len; i++) {
			if (!text[i])
				text[i] = ' ';
		}
		out_outside(call->out, (struct outside){ text });
	}
	out_text(call->out, "\n");
}

static void print_signals(struct out *out, const char *name, uint64_t set)
{
	const char *before = "";

	label(out, name);
	if (!set)
		out_text(out, "-");
	for (int number = 1; number <= 64; number++) {
		if (set & 1ull << (number - 1)) {
			out_f(out, "%s%s", before, signal_name(number));
			before = " ";
		}
	}
	out_text(out, "\n");
}

static void print_times(const struct call *call, pid_t pid, const struct proc_stat *stat)
{
	double tick = (double)sysconf(_SC_CLK_TCK);
	uint64_t start;
	char text[32];

	if (!procfs_start_realtime(pid, &start)) {
		number_text_time(text, sizeof(text), start);
		line(call->out, "started", "%s\n", text);
	}
	line(call->out, "cpu time", "%.2f s user, %.2f s system\n", (double)stat->utime / tick,
	      (double)stat->stime / tick);
	line(call->out, "page faults", "%" PRIu64 " minor, %" PRIu64 " major\n", stat->min_faults,
	      stat->maj_faults);
}

static void print_status(struct out *out, const struct proc_status *status,
			 const struct proc_stat *stat)
{
	label(out, "process");
	print_name(out, status->tgid, outside_of(&status->name));
	line(out, "state", "%c\n", status->state);
	line(out, "parent", "%d\n", status->ppid);
	line(out, "group, session", "%d, %d\n", stat->pgrp, stat->session);
	line(out, "user", "%u (effective %u), group %u\n", status->uid, status->euid, status->gid);
	line(out, "threads", "%u\n", status->threads);
	line(out, "traced by", "%d\n", status->tracer);
	line(out, "seccomp", "%u%s\n", status->seccomp,
	     status->no_new_privs ? ", no new privileges" : "");
	line(out, "memory",
	     "%" PRIu64 " K virtual, %" PRIu64 " K resident, %" PRIu64 " K swapped\n",
	     status->vm_kb, status->rss_kb, status->swap_kb);
}

/* Whom the kernel kills first, should there be no memory. */
static void print_oom_score(struct out *out, pid_t pid)
{
	AUTO_FREE char *score = NULL, *adjusted = NULL;

	if (procfs_file(pid, "oom_score", &score, NULL) ||
	    procfs_file(pid, "oom_score_adj", &adjusted, NULL))
		line(out, "OOM score", "-\n");
	else
		line(out, "OOM score", "%ld (oom_score_adj %ld)\n", strtol(score, NULL, 10),
		     strtol(adjusted, NULL, 10));
}

/* A core file has less of this than a process. */
static struct err *print_core(const struct call *call, const struct session_core *core)
{
	struct out *out = call->out;

	label(out, "core file");
	print_line(out, core->path);
	label(out, "process");
	print_name(out, session_pid(call->session), core->name);
	line(out, "state", "%c\n", core->state ? core->state : '-');
	line(out, "parent", "%d\n", core->parent);
	line(out, "user", "%u, group %u\n", core->user, core->group);
	line(out, "threads", "%zu\n", core->threads);
	label(out, "signal");
	if (core->signal)
		out_f(out, "%s (%s), code %d, to thread %d\n", signal_name(core->signal),
		      strsignal(core->signal), core->code, core->first);
	else
		out_text(out, "-\n");
	label(out, "command line");
	print_line(out, core->args);
	label(out, "exe");
	print_line(out, *core->program.bytes ? core->program : (struct outside){ "-" });
	return NULL;
}

static struct err *run(struct call *call)
{
	pid_t pid = session_pid(call->session);
	struct session_core core;
	struct proc_status status;
	struct proc_stat stat;
	struct err *err;

	if (session_core(call->session, &core))
		return print_core(call, &core);
	err = procfs_status(pid, &status);
	if (!err)
		err = procfs_stat(pid, &stat);
	if (err)
		return err;
	print_status(call->out, &status, &stat);
	print_oom_score(call->out, pid);
	print_times(call, pid, &stat);
	print_cmdline(call, pid);
	print_link(call, pid, "exe");
	print_link(call, pid, "cwd");
	print_link(call, pid, "root");
	print_signals(call->out, "signals pending", status.sig_pending | status.shared_pending);
	print_signals(call->out, "signals blocked", status.sig_blocked);
	print_signals(call->out, "signals ignored", status.sig_ignored);
	print_signals(call->out, "signals caught", status.sig_caught);
	return NULL;
}

/* `proc NAME ARGS BODY` makes a procedure. */
static bool for_tcl(int argc, const char *const *argv)
{
	return argc && !redirect_kind(argv[0], 0, NULL, false);
}

const struct cmd cmd_proc = {
	.name		= "proc",
	.brief		= "what the kernel says of the process: times, memory, signals",
	.help		= "A core file has less of this. With a name, arguments and a body, `proc`\n"
			  "is Tcl's, and makes a procedure.\n",
	.need		= call_need_view,
	.run		= run,
	.for_tcl	= for_tcl,
};
