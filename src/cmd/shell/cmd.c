/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of commands, how one is found and called, and how its error becomes Tcl's. */

#include <sys/ioctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cmd/shell/about.h"
#include "cmd/shell/cmd.h"
#include "cmd/shell/debuginfod.h"
#include "cmd/shell/each.h"
#include "cmd/shell/pager.h"
#include "cmd/shell/redirect.h"
#include "cmd/shell/shell.h"
#include "report/progress.h"

static const struct cmd *const commands[] = {
#define CMD_ROW(name)	&cmd_##name,
	CMD_LIST(CMD_ROW)
};

static struct cmd twins[ARRAY_SIZE(commands)];
const struct cmd *cmd_table[2 * ARRAY_SIZE(commands) + 1];

static bool takes_each(const struct cmd *cmd)
{
	return cmd->rows || cmd->flags & CMD_EACH;
}

/* The value of a command that gives rows. */
static struct err *give_rows(struct call *call, Tcl_Obj **ret)
{
	struct answer rows = { .nr = 0 };
	struct err *err = call->cmd->rows(call, &rows);

	if (!err)
		return each_give(call, &rows, ret);
	answer_free(&rows);
	return err;
}

static struct cmd twin_of(const struct cmd *cmd)
{
	const struct twin *twin = cmd->twin;
	struct cmd ret = *cmd;

	ret.name = twin->name;
	ret.usage = twin->usage ? twin->usage : cmd->usage;
	ret.brief = twin->brief;
	ret.help = twin->help;
	ret.print_words = NULL;
	ret.example = twin->example;
	ret.run = NULL;
	ret.act = NULL;
	ret.value = twin->value;
	ret.rows = twin->rows;
	ret.of = twin->of;
	ret.twin = NULL;
	ret.flags = (cmd->flags & ~(unsigned)(CMD_BRIEF | CMD_VERBOSE)) | twin->flags;
	return ret;
}

/* The twins are made of the commands that have one, before anything else runs. */
__attribute__((constructor)) static void make_table(void)
{
	size_t nr = 0, nr_twins = 0;

	for (int values = 0; values < 2; values++)
		for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
			if (cmd_is_value(commands[i]) == values)
				cmd_table[nr++] = commands[i];
			if (values && commands[i]->twin) {
				twins[nr_twins] = twin_of(commands[i]);
				cmd_table[nr++] = &twins[nr_twins++];
			}
		}
}

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

static size_t first_word(const struct cmd *cmd)
{
	return strcspn(cmd->name, " ");
}

static bool in_group(const struct cmd *cmd, const char *word)
{
	return first_word(cmd) == strlen(word) && !strncmp(cmd->name, word, first_word(cmd));
}

/* "" for a command of one word. */
static const char *second_word(const struct cmd *cmd)
{
	const char *name = cmd->name + first_word(cmd);

	return *name ? name + 1 : name;
}

const char *cmd_subcommand(const struct cmd *cmd, const char *first)
{
	return in_group(cmd, first) && *second_word(cmd) ? second_word(cmd) : NULL;
}

static struct err *unknown_subcommand(const char *first, const char *word, unsigned matches)
{
	AUTO_STR struct str list = STR_INIT;
	struct err *err = NULL;
	unsigned i;

	for (i = 0; !err && cmd_table[i]; i++) {
		const char *second = cmd_subcommand(cmd_table[i], first);

		if (second)
			err = str_addf(&list, "%s%s", list.len ? ", " : "", second);
	}
	if (err)
		return err;
	return err_hint(err_create(ERR_USAGE, "%s: %s subcommand '%s'", first,
				   matches ? "ambiguous" : "unknown", word),
			"there are %s", str_text(&list));
}

/* Is this word an argument of the command itself rather than a subcommand? */
static bool is_argument(const char *word)
{
	enum redirect_kind kind;

	return word[0] == '-' || !redirect_find(1, &word, false, &kind);
}

struct err *cmd_find(int nr, const char *const *words, const struct cmd **ret, int *used_ret)
{
	const struct cmd *base = NULL, *match = NULL;
	unsigned i, matches = 0;
	bool has_subs = false;

	for (i = 0; cmd_table[i]; i++) {
		const char *second = second_word(cmd_table[i]);

		if (!in_group(cmd_table[i], words[0]))
			continue;
		if (!*second) {
			base = cmd_table[i];
			continue;
		}
		has_subs = true;
		if (nr < 2 || strncmp(second, words[1], strlen(words[1])) || !*words[1])
			continue;
		if (!matches++ || !strcmp(second, words[1]))
			match = cmd_table[i];
		if (!strcmp(second, words[1]))
			matches = 1;
	}
	if (has_subs && nr > 1 && !is_argument(words[1])) {
		if (!matches && base && base->flags & CMD_WORDS)
			match = NULL;
		else if (matches != 1)
			return unknown_subcommand(words[0], words[1], matches);
		else
			base = match;
	}
	*ret = base;
	*used_ret = base && base == match ? 2 : 1;
	return NULL;
}

struct err err_in_script[1] = { { .code = ERR_STATE, .msg = "a script failed" } };

/*
 * Messages are for people and may contain names of files and threads, so they are put into one
 * line.
 */
static Tcl_Obj *shown(const char *text)
{
	AUTO_STR struct str line = STR_INIT;
	struct err *err = outside_add(&line, text, strlen(text), OUTSIDE_ONE_LINE);

	return Tcl_NewStringObj(err ? err->msg : str_text(&line), -1);
}

int cmd_fail(Tcl_Interp *tcl, const struct err *err)
{
	Tcl_Obj *code;

	if (err == err_in_script)
		return TCL_ERROR;
	code = Tcl_NewListObj(0, NULL);
	Tcl_ListObjAppendElement(NULL, code, Tcl_NewStringObj("MDBG", -1));
	Tcl_ListObjAppendElement(NULL, code, Tcl_NewStringObj(err_code_name(err->code), -1));
	if (err->hint[0])
		Tcl_ListObjAppendElement(NULL, code, shown(err->hint));
	Tcl_SetObjErrorCode(tcl, code);
	Tcl_SetObjResult(tcl, shown(err->msg));
	return TCL_ERROR;
}

struct err *cmd_usage(const struct cmd *cmd, struct str *ret)
{
	struct err *err = str_add(ret, cmd->name);

	if (!err && cmd->usage)
		err = str_addf(ret, " %s", cmd->usage);
	if (!err && cmd->flags & CMD_VERBOSE)
		err = str_add(ret, " ?-v?");
	if (!err && cmd->flags & CMD_BRIEF)
		err = str_add(ret, " ?-brief?");
	if (!err && cmd->flags & CMD_ABOUT)
		err = str_add(ret, " ?-about VAR?");
	return err || !takes_each(cmd) ? err : str_add(ret, " ?-each VAR BODY?");
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
	struct winsize size = { .ws_row = 0 };
	struct out out;
	struct pager pager;
	struct err *err = report_flush(shell), *write_err;

	if (!err)
		err = out_init_fd(&out, STDOUT_FILENO, redirect_name(shell));
	if (err)
		return err;
	out.reader_may_leave = redirect_is_pipe(shell);
	out.color = report_colors(shell, STDOUT_FILENO);
	if (isatty(STDOUT_FILENO) && !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size)) {
		out.columns = size.ws_col;
		out.units = shell->units;
	}
	pager_offer(&pager, shell, size.ws_row, &out);
	call->out = &out;
	session_stood(call->session);	/* what others stood for is not this one's */
	err = call->cmd->run(call);
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
	if (redirect_is_pipe(call->shell))
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

	if (takes_each(call->cmd)) {
		err = each_take(call, argv);
		if (!err && call->cmd->flags & CMD_ABOUT)
			err = about_take(call, argv);
		return err ? err : run(call);
	}
	if (!cmd_is_value(call->cmd) && !(call->cmd->flags & CMD_RAW))
		at = redirect_find(call->argc, argv, call->cmd->flags & CMD_FILTER, &kind);
	if (!kind) {
		if (!cmd_is_value(call->cmd))
			take_options(call, argv);
		return run(call);
	}
	err = redirect_open_words(call->shell, kind, call->argc - at, argv + at);
	if (err)
		return err;
	call->argc = at;
	argv[at] = NULL;
	take_options(call, argv);
	err = run(call);
	close_err = redirect_close(call->shell);
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
	err = cmd_find(objc, argv, &cmd, &used);
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
	group->name = strndup(cmd->name, first_word(cmd));
	if (!group->name)
		err = err_nomem;
	else if (cmd->for_tcl)
		err = override(group);
	else
		Tcl_CreateObjCommand(shell->tcl, group->name, command_tcl, group, group_free);
	if (err)
		group_free(group);
	return err;
}

/* Is this the first command with its first word? */
static bool leads_group(unsigned i)
{
	size_t len = first_word(cmd_table[i]);

	for (unsigned j = 0; j < i; j++)
		if (first_word(cmd_table[j]) == len &&
		    !strncmp(cmd_table[j]->name, cmd_table[i]->name, len))
			return false;
	return true;
}

bool cmd_next_word(unsigned *at, char ret[CMD_WORD_MAX])
{
	while (cmd_table[*at] && !leads_group(*at))
		(*at)++;
	if (!cmd_table[*at])
		return false;
	snprintf(ret, CMD_WORD_MAX, "%.*s", (int)first_word(cmd_table[*at]), cmd_table[*at]->name);
	(*at)++;
	return true;
}

struct err *cmd_register(struct shell *shell)
{
	struct err *err = NULL;

	for (unsigned i = 0; !err && cmd_table[i]; i++)
		if (leads_group(i))
			err = register_group(shell, cmd_table[i]);
	return err;
}
