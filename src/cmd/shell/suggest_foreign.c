/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Commands of other debuggers and shells, and what mdbg has for them. */

#include "cmd/shell/suggest.h"

#include <string.h>

#include "base/compiler.h"

#define NO_CHANGES	"mdbg does not change the process' variables; `print` shows them"
#define NO_BREAKPOINTS	"mdbg has no breakpoints for its users; use gdb after `detach`"
#define NO_STEPS	"mdbg does not step; `where` prints the stacks as they are now"
#define EARLIER_LINES	"`history` lists earlier lines; arrow keys and Ctrl-R bring them back"

/* The first row that matches is used. */
static const struct foreign {
	const char *first;	/* the first word: one of these, with a blank between them */
	const char *second;	/* the start of the second word; NULL: anything may follow */
	const char *answer;
} table[] = {
	{ "info", "th", "`thread` lists the threads" },
	{ "info", "sh", "`map` lists the mappings, those of libraries among them" },
	{ "info", "dll", "`map` lists the mappings, those of libraries among them" },
	{ "info", "r", "`registers` prints them" },
	{ "info", "pr", "`proc` says what the kernel knows, `map` lists the mappings" },
	{ "info", "b", "`malloc -v` lists the probes" },
	{ "info", "sy", "`mdbg::symbol ADDRESS` names the function" },
	{ "info", "st", "`where` prints the stack" },
	{ "info", "f", "`where` prints the stack" },
	{ "info", "inf", "`status` says what mdbg is attached to" },
	{ "thread", "ap", "`where all` prints the stacks of all threads" },
	{ "threads", NULL, "`thread` lists the threads" },
	{ "backtrace stack frame up down ::stack", NULL, "`where` prints the stack" },
	{ "inspect output call dump", NULL, "`print EXPR` shows a variable or an expression" },
	{ "assign", NULL, NO_CHANGES },
	{ "ptype", NULL, "`whatis EXPR` names the type" },
	{ "break b tbreak stop when watch rwatch catch", NULL, NO_BREAKPOINTS },
	{ "step s stepi si next n nexti ni finish until", NULL, NO_STEPS },
	{ "continue", NULL, "`cont` lets a stopped process run on" },
	{ "signal handle", NULL, "`cont SIGNAL` lets a stopped process run on with a signal" },
	{ "run r start", NULL, "`mdbg -- PROGRAM` starts a program and watches it" },
	{ "shell", NULL, "`sh COMMAND` runs a shell command" },
	{ "vmmap pmap maps ::mappings", NULL, "`map` lists the mappings" },
	{ "leak leaks findleaks ::findleaks memleak", NULL, "`malloc leaks` finds them" },
	{ "allocations", NULL, "`malloc allocations` lists them" },
	{ "heap ::umausers sites", NULL, "`malloc sites` says who holds the memory" },
	{ "::whatis", NULL, "`whatis ADDRESS` and `malloc find ADDRESS` say what holds it" },
	{ "gcore generate-core-file", NULL, "gdb's gcore writes one: `sh gcore PID`" },
};

static bool in_list(const char *list, const char *word, size_t len)
{
	for (; *list; list += strspn(list, " ")) {
		size_t item = strcspn(list, " ");

		if (item == len && !memcmp(list, word, len))
			return true;
		list += item;
	}
	return false;
}

const char *suggest_foreign(const char *command)
{
	size_t len = strcspn(command, " \t\n");
	const char *second = command + len + strspn(command + len, " \t");

	if (*command == '!')
		return len == 1 || strchr("!0123456789-?$", command[1]) ?
			       EARLIER_LINES :
			       "`sh COMMAND` runs a shell command";
	/* gdb has x/16gx and p/x. */
	len = MIN(len, strcspn(command, "/"));
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		const char *start = table[i].second;

		if (in_list(table[i].first, command, len) &&
		    (!start || !strncmp(second, start, strlen(start))))
			return table[i].answer;
	}
	return NULL;
}
