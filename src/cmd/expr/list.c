/* SPDX-License-Identifier: GPL-3.0-or-later */
/* list: lines of source files, as the debug information names them. */

#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/outside.h"
#include "base/path.h"
#include "cmd/expr/expression.h"
#include "cmd/shell/cmd.h"
#include "cmd/shell/shell.h"
#include "heap/filter.h"
#include "os/input.h"
#include "report/out.h"

#define LINES		10u
#define FILE_MOST	(16u << 20)	/* bytes */
#define LINE_MOST	UINT32_MAX

/* What is to be shown. */
struct wanted {
	char *file;		/* strdup'ed */
	uint64_t first, last;
};

static void wanted_free(struct wanted *wanted)
{
	free(wanted->file);
}

static struct err *want_file(struct wanted *wanted, const char *file)
{
	free(wanted->file);
	wanted->file = strdup(file);
	return wanted->file ? NULL : err_nomem;
}

/* So many lines with this one in the middle. */
static void want_around(struct wanted *wanted, uint64_t line)
{
	wanted->first = line > LINES / 2 ? line - LINES / 2 : 1;
	wanted->last = wanted->first + LINES - 1;
}

static struct err *no_line(const char *what)
{
	return err_hint(err_create(ERR_NOTFOUND, "no line is known of %.200s", what),
			"that takes debug information");
}

/* The line of an address; at a function's entry that of its opening. */
static struct err *want_address(const struct call *call, uint64_t address, bool returns,
				const char *what, struct wanted *wanted)
{
	size_t nr;
	const struct symbol_frame *frames = symbols_resolve(session_symbols(call->session), address,
							    session_generation(call->session),
							    returns, &nr);

	if (!frames->file || frames->line <= 0)
		return no_line(what);
	want_around(wanted, (uint64_t)frames->line);
	return want_file(wanted, frames->file);
}

static struct err *want_frame(const struct call *call, struct wanted *wanted)
{
	CLEANUP(expression_end) struct expression_at at = { .held.copy = NULL };
	struct err *err = expression_begin(call, &at);

	if (!err)
		err = expression_enter(call, &at);
	return err ? err : want_address(call, at.frame[0].at.pc, !at.frame[0].at.exact, "the frame", wanted);
}

/* "N" or "N,M" of the file. */
static bool read_lines(const char *text, struct wanted *wanted)
{
	const char *comma = strchr(text, ',');
	char first[24];

	snprintf(first, sizeof(first), "%.*s", comma ? (int)(comma - text) : 23, text);
	if (parse_number(first, &wanted->first) || !wanted->first || wanted->first > LINE_MOST)
		return false;
	if (!comma) {
		want_around(wanted, wanted->first);
		return true;
	}
	return !parse_number(comma + 1 + strspn(comma + 1, " "), &wanted->last) &&
	       wanted->last >= wanted->first && wanted->last <= LINE_MOST;
}

static struct err *want_named(const struct call *call, const char *where, struct wanted *wanted)
{
	const char *colon = strrchr(where, ':'), *listed = call->shell->listed_file;
	struct str name AUTO_STR = STR_INIT;
	uint64_t address, size;
	struct err *err;

	if (read_lines(where, wanted)) {
		if (listed)
			return want_file(wanted, listed);
		return err_hint(err_create(ERR_STATE, "no file was listed yet"),
				"FILE:LINE, or a function's name, says which");
	}
	if (colon && colon > where && colon[-1] != ':' && read_lines(colon + 1, wanted)) {
		err = str_add_bytes(&name, where, (size_t)(colon - where));
		if (err)
			return err;
		return want_file(wanted, listed && !strcmp(path_base(listed), name.at) ? listed :
								      name.at);
	}
	err = symbols_find(session_symbols(call->session), where, &address, &size);
	return err ? err : want_address(call, address, false, where, wanted);
}

static struct err *want(const struct call *call, const char *where, struct wanted *wanted)
{
	struct shell *shell = call->shell;
	struct err *err;

	if (*where)
		return want_named(call, where, wanted);
	if (!shell->listed_file)
		return want_frame(call, wanted);
	err = want_file(wanted, shell->listed_file);
	wanted->first = shell->listed_line;
	wanted->last = wanted->first + LINES - 1;
	return err;
}

static struct err *show_line(struct out *out, uint64_t number, const char *text, size_t len)
{
	AUTO_STR struct str line = STR_INIT;
	struct err *err = outside_add(&line, text, len, OUTSIDE_LINES);

	if (!err)
		out_f(out, "%" PRIu64 "\t%s\n", number, str_text(&line));
	return err;
}

/* *next_ret is the line behind the last one that was shown. */
static struct err *show(const struct call *call, const struct wanted *wanted, uint64_t *next_ret)
{
	struct str text AUTO_STR = STR_INIT;
	struct err *err = input_may_wait(wanted->file) ?
		err_create(ERR_USAGE, "it is no regular file") :
		input_read(wanted->file, FILE_MOST, &text);
	const char *at = str_text(&text);
	uint64_t line = 1;

	if (err)
		return err_wrap(err, "%.300s", wanted->file);
	for (; *at && line <= wanted->last && !err; line++) {
		size_t len = strcspn(at, "\n");

		if (line >= wanted->first)
			err = show_line(call->out, line, at, len);
		at += len + (at[len] == '\n');
	}
	*next_ret = line;
	if (!err && line <= wanted->first)
		err = err_create(ERR_NOTFOUND, "%.300s has %" PRIu64 " lines", wanted->file, line - 1);
	return err;
}

static struct err *run(struct call *call)
{
	CLEANUP(wanted_free) struct wanted wanted = { .file = NULL };
	struct str where AUTO_STR = STR_INIT;
	struct shell *shell = call->shell;
	struct err *err = NULL;
	uint64_t next = 1;

	for (int i = 0; i < call->argc && !err; i++)
		err = str_addf(&where, "%s%s", i ? " " : "", call->argv[i]);
	if (!err)
		err = want(call, str_text(&where), &wanted);
	if (!err)
		err = show(call, &wanted, &next);
	if (err)
		return err;
	free(shell->listed_file);
	shell->listed_file = wanted.file;
	shell->listed_line = next;
	wanted.file = NULL;
	return NULL;
}

const struct cmd cmd_list = {
	.name		= "list",
	.usage		= "?WHERE?",
	.brief		= "lines of the program's source",
	.help		= "WHERE is LINE, FROM,TO, FILE:LINE or a function. Ten lines are shown around a\n"
			  "single one. Without WHERE: around the line of the current frame, then the ten\n"
			  "that follow; `frame`, `up` and `down` begin anew.\n"
			  "\n"
			  "The files are where the debug information says. At the start of a line that is\n"
			  "typed, `list` is this; in a script, and in brackets, it is Tcl's.\n",
	.example	= "list\nlist main\nlist server.c:120\n",
	.need		= call_need_view,
	.run		= run,
	.max_args	= CMD_ANY,
	.flags		= CMD_RAW,
	.tcl_name	= "::mdbg::typed_list",
};
