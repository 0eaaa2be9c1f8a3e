/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which commands there are, how one is found, and how its error becomes Tcl's. */

#include "cmd/shell/cmd.h"

#include "base/cleanup.h"
#include "base/outside.h"
#include "cmd/shell/redirect_kind.h"

static const struct cmd *const none;
const struct cmd *const *cmd_table = &none;

size_t cmd_first_word(const struct cmd *cmd)
{
	return strcspn(cmd->name, " ");
}

static bool in_group(const struct cmd *cmd, const char *word)
{
	return cmd_first_word(cmd) == strlen(word) && !strncmp(cmd->name, word, cmd_first_word(cmd));
}

/* "" for a command of one word. */
static const char *second_word(const struct cmd *cmd)
{
	const char *name = cmd->name + cmd_first_word(cmd);

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

/* Is this word an argument of the command itself rather than a subcommand? `at` goes before a moment. */
static bool is_argument(const char *word)
{
	enum redirect_kind kind;

	return word[0] == '-' || !strcmp(word, "at") || !redirect_kind_find(1, &word, false, &kind);
}

struct err *cmd_lookup(int nr, const char *const *words, const struct cmd **ret, int *used_ret)
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

struct err *cmd_usage(const struct cmd *cmd, struct str *ret)
{
	struct err *err = str_add(ret, cmd->name);

	if (!err && cmd->usage && *cmd->usage)
		err = str_addf(ret, " %s", cmd->usage);
	if (!err && cmd->flags & CMD_VERBOSE)
		err = str_add(ret, " ?-v?");
	if (!err && cmd->flags & CMD_BRIEF)
		err = str_add(ret, " ?-brief?");
	if (!err && cmd->flags & CMD_ABOUT)
		err = str_add(ret, " ?-about VAR?");
	return err || !cmd_takes_each(cmd) ? err : str_add(ret, " ?-each VAR BODY?");
}

bool cmd_leads(unsigned i)
{
	size_t len = cmd_first_word(cmd_table[i]);

	for (unsigned j = 0; j < i; j++)
		if (cmd_first_word(cmd_table[j]) == len &&
		    !strncmp(cmd_table[j]->name, cmd_table[i]->name, len))
			return false;
	return true;
}

bool cmd_next_word(unsigned *at, char ret[CMD_WORD_MAX])
{
	while (cmd_table[*at] && !cmd_leads(*at))
		(*at)++;
	if (!cmd_table[*at])
		return false;
	snprintf(ret, CMD_WORD_MAX, "%.*s", (int)cmd_first_word(cmd_table[*at]), cmd_table[*at]->name);
	(*at)++;
	return true;
}

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
