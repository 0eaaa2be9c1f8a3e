/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The commands as Tcl's: how one is called, with its options and its redirection. */

#include "cmd/shell/cmd_register.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include "answer/stack_names.h"
#include "base/cleanup.h"
#include "cmd/shell/about.h"
#include "cmd/shell/cmd.h"
#include "cmd/shell/debuginfod.h"
#include "cmd/shell/each.h"
#include "cmd/shell/redirect_kind.h"
#include "cmd/shell/shell.h"
#include "cmd/terminal/pager.h"
#include "cmd/terminal/redirect.h"
#include "report/progress.h"
#include "report/rows_text.h"
#include "report/unnamed_text.h"
#include "report/wrapper_text.h"

/* A Tcl command. It stands for all commands with this first word. */
struct group {
	struct shell *shell;
	char *name;
	bool (*for_tcl)(int argc, const char *const *argv);
	struct original *original;
};

/* The command of Tcl that had the name before ours took its place. */
struct original {
	Tcl_CmdInfo info;
};

/* The value of a command that gives rows. */
static struct err *give_rows(struct call *call, Tcl_Obj **ret)
{
	CLEANUP(answer_free) struct answer rows = { .nr = 0 };
	struct err *err = call->cmd->rows(call, &rows);

	return err ? err : each_give(call, &rows, ret);
}

/* What a command prints without a `run`. */
static struct err *print_rows(struct call *call)
{
	CLEANUP(stack_names_free) struct stack_names names;
	CLEANUP(answer_free) struct answer rows = { .nr = 0 };
	struct err *err = call->cmd->twin->rows(call, &rows);

	stack_names_init(&names, call->session);
	return err ? err : rows_text_print(&rows, &names, call->out);
}

static struct err *usage_error(const struct cmd *cmd, struct err *err)
{
	AUTO_STR struct str usage = STR_INIT;
	struct err *failed;

	if (err->code != ERR_USAGE || err->hint[0])
		return err;
	failed = cmd_usage(cmd, &usage);
	return failed ? failed : err_hint(err, "usage: %s", str_text(&usage));
}

/* Take an option away, wherever it is, unless it is the value of a condition. */
static bool take_option(struct call *call, const char **argv, const char *word)
{
	for (int at = 0; at < call->argc; at++) {
		const char *before = at ? argv[at - 1] : "";

		if (strcmp(argv[at], word) || (*before && strchr("=!<>", *before)))
			continue;
		memmove(argv + at, argv + at + 1, (size_t)(call->argc-- - at) * sizeof(*argv));
		return true;
	}
	return false;
}

/* objv stays as it is: the commands that have these options do not use it. */
static void take_options(struct call *call, const char **argv)
{
	if (call->cmd->flags & CMD_BRIEF)
		call->brief = take_option(call, argv, "-brief") ||
			      take_option(call, argv, "brief");
	if (call->cmd->flags & CMD_VERBOSE)
		call->verbose = take_option(call, argv, "-v");
}

static struct err *check_count(const struct call *call)
{
	const struct cmd *cmd = call->cmd;

	if (call->argc < cmd->min_args)
		return err_create(ERR_USAGE, "too few words");
	if (cmd->max_args != CMD_ANY && call->argc > cmd->max_args)
		return call_bad_word(call->argv[cmd->max_args]);
	return NULL;
}

static struct err *run_printing(struct call *call)
{
	struct shell *shell = call->shell;
	struct terminal *terminal = &shell->terminal;
	struct winsize size = { .ws_row = 0 };
	struct out out;
	struct pager pager = PAGER_INIT;
	struct err *err = redirect_flush(terminal), *write_err;

	if (!err)
		err = out_init_fd(&out, STDOUT_FILENO, redirect_name(terminal));
	if (err)
		return err;
	out.reader_may_leave = redirect_is_pipe(terminal);
	out.color = terminal_colors(terminal, STDOUT_FILENO);
	if (isatty(STDOUT_FILENO) && !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size)) {
		out.columns = size.ws_col;
		out.units = shell->units;
	}
	if (shell->interactive && shell->pager && !terminal->redirect)
		pager_offer(&pager, size.ws_row, &out);
	call->out = &out;
	session_stood(call->session);	/* what others stood for is not this one's */
	err = call->cmd->run ? call->cmd->run(call) : print_rows(call);
	if (!err) {
		unnamed_text_print(call->session, &out);
		wrapper_text_print(call->session, &out);
	}
	write_err = out_finish(&out);
	pager_end(&pager);
	return err ? err : write_err;
}

static struct err *run_value(struct call *call)
{
	Tcl_Obj *value = NULL;
	struct err *err = call->cmd->rows ? give_rows(call, &value) :
					    call->cmd->value(call, &value);

	if (!value)
		return err;
	Tcl_IncrRefCount(value);
	if (!err)
		Tcl_SetObjResult(call->shell->tcl, value);
	Tcl_DecrRefCount(value);
	return err;
}

static struct err *run_one(struct call *call)
{
	if (call->cmd->act)
		return call->cmd->act(call->session);
	return cmd_is_value(call->cmd) ? run_value(call) : run_printing(call);
}

/* A silent command has no progress line: it takes as long as its user wants, or it ends mdbg. */
static struct err *run(struct call *call)
{
	const struct cmd *cmd = call->cmd;
	struct err *err = check_count(call);

	if (!err && cmd->need)
		err = cmd->need(call);
	if (err)
		return err;
	if (cmd->flags & CMD_SILENT)
		return cmd->run(call);
	debuginfod_look_again(call->shell);
	progress_begin(cmd->name);
	/* The reader of the pipe may have bytes already, from an earlier command or from `puts`. */
	if (redirect_is_pipe(&call->shell->terminal))
		progress_off();
	err = run_one(call);
	progress_end();
	return err;
}

/*
 * Take -each and -about, or the redirection, from the words, run the command, and put standard
 * output back.
 */
static struct err *run_redirected(struct call *call, const char **argv)
{
	enum redirect_kind kind = REDIRECT_NONE;
	struct err *err, *close_err;
	int at = call->argc;

	if (cmd_takes_each(call->cmd)) {
		err = each_take(call, argv);
		if (!err && call->cmd->flags & CMD_ABOUT)
			err = about_take(call, argv);
		if (!err)
			take_options(call, argv);
		return err ? err : run(call);
	}
	if (!cmd_is_value(call->cmd) && !(call->cmd->flags & CMD_RAW))
		at = redirect_kind_find(call->argc, argv, call->cmd->flags & CMD_FILTER, &kind);
	if (!kind) {
		if (!cmd_is_value(call->cmd))
			take_options(call, argv);
		return run(call);
	}
	err = redirect_open_words(&call->shell->terminal, kind, call->argc - at, argv + at);
	if (err)
		return err;
	call->argc = at;
	argv[at] = NULL;
	take_options(call, argv);
	err = run(call);
	close_err = redirect_close(&call->shell->terminal);
	return err ? err : close_err;
}

/*
 * True if the command's name need not stand before the message. A message of the layers below that
 * begins with it would become "attach: attach 17: …"; a full disk has nothing to do with the
 * command; and the reason why a process cannot be attached to is a whole sentence.
 */
static bool says_so(const struct err *err, const struct cmd *cmd)
{
	const char *colon = strrchr(cmd->name, ':');
	const char *name = colon ? colon + 1 : cmd->name;

	if (!strncmp(err->msg, "write to ", 9))
		return true;
	if (err->code == ERR_ATTACH)
		return true;
	return !strncmp(err->msg, name, strlen(name)) && strchr(": ", err->msg[strlen(name)]);
}

static struct err *call_command(struct shell *shell, const struct cmd *cmd, int argc,
				const char **argv, Tcl_Obj *const *objv, int *code_ret)
{
	struct call call = {
		.shell = shell,
		.session = shell->session,
		.cmd = cmd,
		.argc = argc,
		.argv = argv,
		.objv = objv,
	};
	struct err *err = run_redirected(&call, argv);

	*code_ret = call.code;
	if (!err || err == err_in_script)
		return err;
	err = usage_error(cmd, err);
	return says_so(err, cmd) ? err : err_wrap(err, "%s", cmd->name);
}

static int command_tcl(ClientData data, Tcl_Interp *tcl, int objc, Tcl_Obj *const objv[])
{
	struct group *group = data;
	AUTO_FREE const char **argv = calloc((size_t)objc + 2, sizeof(*argv));
	const struct cmd *cmd;
	int i, used, code = TCL_OK;
	struct err *err;

	if (!argv)
		return cmd_fail(tcl, err_nomem);
	argv[0] = group->name;
	for (i = 1; i < objc; i++)
		argv[i] = Tcl_GetString(objv[i]);
	if (group->original && group->for_tcl(objc - 1, argv + 1))
		return group->original->info.objProc(group->original->info.objClientData, tcl, objc,
						     objv);
	err = cmd_lookup(objc, argv, &cmd, &used);
	Tcl_ResetResult(tcl);
	if (!err)
		err = call_command(group->shell, cmd, objc - used, argv + used, objv + used,
				   &code);
	return err ? cmd_fail(tcl, err) : code;
}

static void group_free(ClientData data)
{
	struct group *group = data;

	free(group->name);
	free(group);
}

static struct err *keep_original(struct group *group)
{
	struct original *original = calloc(1, sizeof(*original));
	struct err *err;

	if (!original)
		return err_nomem;
	err = vec_push(&group->shell->originals, original);
	if (!err && !Tcl_GetCommandInfo(group->shell->tcl, group->name, &original->info))
		err = err_create(ERR_NOTFOUND, "Tcl has no %s", group->name);
	if (!err)
		group->original = original;
	return err;
}

/*
 * When a command of ours takes the place of one of Tcl's own, only the procedure is replaced. Where
 * Tcl's compiler makes bytecode of the command (`set` with a variable), that stays as it is.
 */
static struct err *override(struct group *group)
{
	Tcl_CmdInfo info;
	struct err *err = keep_original(group);

	if (err)
		return err;
	info = group->original->info;
	info.objProc = command_tcl;
	info.objClientData = group;
	Tcl_SetCommandInfo(group->shell->tcl, group->name, &info);
	return NULL;
}

static struct err *register_group(struct shell *shell, const struct cmd *cmd)
{
	struct group *group = calloc(1, sizeof(*group));
	struct err *err = NULL;

	if (!group)
		return err_nomem;
	group->shell = shell;
	group->for_tcl = cmd->for_tcl;
	group->name = strndup(cmd->name, cmd_first_word(cmd));
	if (!group->name)
		err = err_nomem;
	else if (cmd->for_tcl)
		err = override(group);
	else
		Tcl_CreateObjCommand(shell->tcl, cmd->tcl_name ? cmd->tcl_name : group->name,
				     command_tcl, group, group_free);
	if (err)
		group_free(group);
	return err;
}

struct err *cmd_register(struct shell *shell, const struct cmd *const *commands)
{
	struct err *err = NULL;

	cmd_table = commands;
	for (unsigned i = 0; !err && cmd_table[i]; i++)
		if (cmd_leads(i))
			err = register_group(shell, cmd_table[i]);
	return err;
}
