/* SPDX-License-Identifier: GPL-3.0-or-later */
/* help: the list of commands, or one of them. */

#include "answer/answer.h"
#include "base/cleanup.h"
#include "cmd/shell/alias.h"
#include "cmd/shell/shell.h"

static const char first_steps[] =
	"To find a leak:\n"
	"    attach PID|NAME             from now on allocations are recorded\n"
	"    wait 60                     let the process work\n"
	"    malloc leaks                blocks that nothing points to any more\n"
	"    malloc stale 30s            old blocks that are still pointed to, by place\n"
	"    malloc sites sort growth    the places that have come to hold more\n"
	"    malloc allocations function == NAME     the blocks of one place\n"
	"    malloc find ADDRESS         who points to a block\n"
	"    detach                      the process goes on without probes\n"
	"\n";

static const char last_words[] =
	"\n"
	"`help COMMAND` says more, `help mdbg` lists the commands that give scripts the\n"
	"same as Tcl values. A line can end in > FILE, >> FILE or | SHELL COMMAND; all\n"
	"else is Tcl.\n";

/* The commands that print, or those that give values. */
static void print_list(struct out *out, bool values)
{
	size_t width = 0;
	unsigned i;

	for (i = 0; cmd_table[i]; i++)
		if (cmd_is_value(cmd_table[i]) == values)
			width = MAX(width, strlen(cmd_table[i]->name) + 2);
	for (i = 0; cmd_table[i]; i++) {
		if (cmd_is_value(cmd_table[i]) != values)
			continue;
		out_column(out, cmd_table[i]->name, width);
		out_f(out, "%s\n", cmd_table[i]->brief);
	}
}

static struct err *print_usage(const struct cmd *cmd, struct out *out)
{
	AUTO_STR struct str usage = STR_INIT;
	struct err *err = cmd_usage(cmd, &usage);

	if (!err)
		out_f(out, "%s\n    %s\n", str_text(&usage), cmd->brief);
	return err;
}

/* Print a key, and at `column` what it is. */
static void print_key(const struct column *key, size_t column, size_t width, struct out *out)
{
	const char *text = key->help ? key->help : column_kind_help(key);

	if (!strcmp(text, key->key))
		text = "";	/* a key `bytes` has bytes */
	if (*text)
		out_column(out, key->key, width);
	else
		out_text(out, key->key);
	out_wrapped(out, text, column);
}

/* Print the keys of the dicts that a command gives. */
static void print_keys(const struct relation *relation, size_t indent, struct out *out)
{
	size_t width = 0;

	for (size_t i = 0; i < relation->nr; i++)
		width = MAX(width, strlen(relation->columns[i].key) + 2);
	for (size_t i = 0; i < relation->nr; i++) {
		const struct column *column = &relation->columns[i];

		if (column->flags & COLUMN_NOT_IN_TCL)
			continue;
		out_blanks(out, indent);
		print_key(column, indent + width, width, out);
		if (column->rows)
			print_keys(column->rows, indent + 4, out);
	}
}

static void print_example(const struct cmd *cmd, struct out *out)
{
	if (!cmd->example)
		return;
	out_text(out, strchr(cmd->example, '\n')[1] ? "\nExamples:\n" : "\nExample:\n");
	for (const char *line = cmd->example; *line; line = strchr(line, '\n') + 1) {
		out_text(out, "    ");
		out_bytes(out, line, strcspn(line, "\n") + 1);
	}
}

static struct err *print_command(const struct cmd *cmd, struct out *out)
{
	const struct relation *keys = cmd->of;
	struct err *err = print_usage(cmd, out);

	if (keys || cmd->help)
		out_text(out, "\n");
	if (keys)
		print_keys(keys, 4, out);
	if (keys && cmd->help)
		out_text(out, "\n");
	if (!err && cmd->print_words)
		err = cmd->print_words(out);
	if (cmd->help)
		out_text(out, cmd->help);
	print_example(cmd, out);
	if (strchr(cmd->name, ' '))
		return err;
	for (unsigned i = 0; !err && cmd_table[i]; i++) {
		if (cmd_subcommand(cmd_table[i], cmd->name)) {
			out_text(out, "\n");
			err = print_usage(cmd_table[i], out);
		}
	}
	return err;
}

static struct err *run(struct call *call)
{
	const char *words[8];
	const struct cmd *cmd;
	struct err *err;
	int nr, used;

	if (!call->argc) {
		out_text(call->out, first_steps);
		print_list(call->out, false);
		out_text(call->out, last_words);
		return NULL;
	}
	if (!strcmp(call->argv[0], "mdbg")) {
		print_list(call->out, true);
		return NULL;
	}
	nr = alias_expand(call->shell, call->argc, call->argv, ARRAY_SIZE(words), words);
	err = cmd_lookup(nr, words, &cmd, &used);
	if (err)
		return err;
	if (!cmd)
		return err_hint(err_create(ERR_NOTFOUND, "no command '%s'", words[0]),
				"`help` lists the commands");
	if (used < nr)
		return call_bad_word(words[used]);
	return print_command(cmd, call->out);
}

const struct cmd cmd_help = {
	.name		= "help",
	.usage		= "?COMMAND|mdbg?",
	.brief		= "list the commands, or explain one",
	.help		= "`help mdbg` lists the commands that return Tcl values, for scripts.\n",
	.run		= run,
	.max_args	= CMD_ANY,
	.complete	= COMPLETE_COMMANDS,
};
