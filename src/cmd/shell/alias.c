/* SPDX-License-Identifier: GPL-3.0-or-later */
/* alias: list, show, set and remove aliases. */

#include "cmd/shell/alias.h"

#include <limits.h>

#include "base/cleanup.h"
#include "cmd/shell/shell.h"
#include "report/text_table.h"

static int alias_run_tcl(ClientData data, Tcl_Interp *tcl, int objc, Tcl_Obj *const objv[])
{
	const struct alias *alias = data;
	Tcl_Obj *call = Tcl_DuplicateObj(alias->words);
	int code;

	Tcl_IncrRefCount(call);
	code = Tcl_ListObjReplace(tcl, call, INT_MAX, 0, objc - 1, objv + 1);
	if (code == TCL_OK)
		code = Tcl_EvalObjEx(tcl, call, TCL_EVAL_DIRECT);
	Tcl_DecrRefCount(call);
	return code;
}

/* Tcl calls this when the command is deleted, whoever deletes it. */
static void alias_deleted(ClientData data)
{
	struct alias *alias = data;
	struct shell *shell = alias->shell;
	size_t i;

	for (i = 0; i < shell->aliases.nr; i++) {
		if (shell->aliases.at[i] == alias) {
			vec_remove(&shell->aliases, i);
			break;
		}
	}
	Tcl_DecrRefCount(alias->words);
	free(alias->name);
	free(alias);
}

static const struct alias *find(const struct shell *shell, const char *name)
{
	vec_each_value(alias, &shell->aliases)
		if (!strcmp(alias->name, name))
			return alias;
	return NULL;
}

/* The error is ERR_USAGE if the name is that of a command which is no alias. */
static struct err *set(struct shell *shell, const char *name, Tcl_Obj *words)
{
	struct alias *alias;
	struct err *err;

	if (find(shell, name))
		Tcl_DeleteCommand(shell->tcl, name);
	else if (Tcl_FindCommand(shell->tcl, name, NULL, TCL_GLOBAL_ONLY))
		return err_create(ERR_USAGE, "%s is a command already", name);
	err = vec_reserve(&shell->aliases, 1);
	if (err)
		return err;
	alias = calloc(1, sizeof(*alias));
	if (!alias)
		return err_nomem;
	alias->name = strdup(name);
	if (!alias->name) {
		free(alias);
		return err_nomem;
	}
	alias->shell = shell;
	alias->words = words;
	Tcl_IncrRefCount(words);
	shell->aliases.at[shell->aliases.nr++] = alias;
	Tcl_CreateObjCommand(shell->tcl, name, alias_run_tcl, alias, alias_deleted);
	return NULL;
}

struct err *alias_defaults(struct shell *shell)
{
	static const char *const defaults[][2] = {
		{ "c", "cont" },    { "q", "quit" }, { "t", "where" },   { "bt", "where" },
		{ "th", "thread" }, { "h", "help" }, { "st", "status" }, { "m", "malloc" },
		{ "p", "print" },
	};
	struct err *err = NULL;
	size_t i;

	for (i = 0; !err && i < ARRAY_SIZE(defaults); i++)
		err = set(shell, defaults[i][0], Tcl_NewStringObj(defaults[i][1], -1));
	return err;
}

int alias_expand(const struct shell *shell, int nr, const char *const *words, int room,
		 const char **full)
{
	const struct alias *alias = nr ? find(shell, words[0]) : NULL;
	int used = 0, count = 0, i;
	Tcl_Obj **elements;

	if (alias && Tcl_ListObjGetElements(NULL, alias->words, &count, &elements) == TCL_OK) {
		for (i = 0; i < count && used < room; i++)
			full[used++] = Tcl_GetString(elements[i]);
	}
	for (i = alias ? 1 : 0; i < nr && used < room; i++)
		full[used++] = words[i];
	return used;
}

static struct err *print_all(const struct call *call)
{
	static const char *const titles[] = { "ALIAS", "WORDS" };
	struct table table;

	text_table_init(&table, ARRAY_SIZE(titles), titles);
	vec_each_value(alias, &call->shell->aliases) {
		text_table_cell(&table, "%s", alias->name);
		text_table_cell(&table, "%s", Tcl_GetString(alias->words));
	}
	return text_table_print(&table, call->out);
}

static struct err *no_alias(const char *name)
{
	return err_hint(err_create(ERR_NOTFOUND, "no alias %s", name), "`alias` lists them");
}

static struct err *run(struct call *call)
{
	const struct alias *alias;
	Tcl_Obj *words;
	int nr;

	if (!call->argc)
		return print_all(call);
	alias = find(call->shell, call->argv[0]);
	if (call->argc == 1) {
		if (!alias)
			return no_alias(call->argv[0]);
		out_f(call->out, "%s\n", Tcl_GetString(alias->words));
		return NULL;
	}
	words = call->argc == 2 ? call->objv[1] : Tcl_NewListObj(call->argc - 1, call->objv + 1);
	if (Tcl_ListObjLength(NULL, words, &nr) != TCL_OK)
		return err_create(ERR_USAGE, "'%s' is no list of words", call->argv[1]);
	if (nr)
		return set(call->shell, call->argv[0], words);
	if (!alias)
		return no_alias(call->argv[0]);
	Tcl_DeleteCommand(call->shell->tcl, call->argv[0]);
	return NULL;
}

const struct cmd cmd_alias = {
	.name		= "alias",
	.usage		= "?NAME ?WORD...??",
	.brief		= "list, show or set a short name for words",
	.help		= "Without words: all aliases, or what NAME stands for. `alias NAME {}`\n"
			  "removes it. What follows the alias on a line follows its words. A\n"
			  "name that is a command already cannot be an alias.\n",
	.run		= run,
	.max_args	= CMD_ANY,
	.complete	= COMPLETE_COMMANDS,
};
