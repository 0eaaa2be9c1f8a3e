/* SPDX-License-Identifier: GPL-3.0-or-later */
/* help: the list of commands, or one of them. */

#include "cmd/alias.h"
#include "cmd/shell.h"

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
		width = MAX(width, strlen(cmd_table[i]->name) + 2);
	for (i = 0; cmd_table[i]; i++) {
		if (!cmd_table[i]->value == values)
			continue;
		out_column(out, cmd_table[i]->name, width);
		out_f(out, "%s\n", cmd_table[i]->brief);
	}
}

static void print_usage(const struct cmd *cmd, struct out *out)
{
	out_f(out, "%s%s%s\n    %s\n", cmd->name, cmd->usage ? " " : "",
	      cmd->usage ? cmd->usage : "", cmd->brief);
}

static void print_command(const struct cmd *cmd, struct out *out)
{
	print_usage(cmd, out);
	if (cmd->help)
		out_f(out, "\n%s", cmd->help);
	if (strchr(cmd->name, ' '))
		return;
	for (unsigned i = 0; cmd_table[i]; i++) {
		if (cmd_subcommand(cmd_table[i], cmd->name)) {
			out_text(out, "\n");
			print_usage(cmd_table[i], out);
		}
	}
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
	err = cmd_find(nr, words, &cmd, &used);
	if (err)
		return err;
	if (!cmd)
		return err_hint(err_create(ERR_NOTFOUND, "no command '%s'", words[0]),
				"`help` lists the commands");
	if (used < nr)
		return call_bad_word(words[used]);
	print_command(cmd, call->out);
	return NULL;
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
