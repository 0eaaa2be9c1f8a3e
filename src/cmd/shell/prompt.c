/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The prompt.
 *
 *	waiting ── line ──> running (readline is out: the terminal is as it was) ──> waiting
 *	        ── Ctrl-D, Ctrl-C twice ──> ended
 *
 * readline gives a whole line to took_line, which only stores it. The loop of prompt_run then runs
 * it, outside of readline.
 */

#include "cmd/shell/prompt.h"

#include <readline/history.h>
#include <readline/readline.h>

#include "base/cleanup.h"
#include "cmd/shell/complete_line.h"
#include "cmd/shell/events.h"
#include "cmd/shell/history.h"
#include "cmd/shell/lines.h"
#include "cmd/shell/shell.h"
#include "cmd/terminal/signals.h"
#include "os/trust.h"

struct prompt {
	bool ended;
	unsigned interrupts;	/* Ctrl-Cs in a row */
	char *line;		/* it has come and has not run yet */
	struct str text;	/* the lines of an unfinished command */
	char *history;		/* file; NULL: none */
};

/* readline's callbacks have no context. */
static struct shell *current;

static void took_line(char *line)
{
	rl_callback_handler_remove();
	current->terminal.prompting = false;
	current->prompt->interrupts = 0;
	if (line)
		current->prompt->line = line;
	else
		current->prompt->ended = true;
}

static void on_input(ClientData data, int mask UNUSED)
{
	struct shell *shell = data;

	if (shell->terminal.prompting)
		rl_callback_read_char();
}

/* Report an error in one line, with its hint. */
static void note_err(struct shell *shell, const struct err *err)
{
	terminal_note(&shell->terminal, "%s%s%s%s", err->msg, *err->hint ? " (" : "",
		      err->hint, *err->hint ? ")" : "");
}

/*
 * readline and its terminal library read files of HOME (~/.inputrc, ~/.terminfo) while they begin,
 * and the former can bind a key to a command. They see no HOME unless it and these files are
 * trusted. Variables of their own were looked at before (os/environment.h).
 */
static void begin_readline(void)
{
	const char *home = NULL, *inputrc = getenv("INPUTRC");
	AUTO_FREE char *kept = getenv("HOME") ? strdup(getenv("HOME")) : NULL;
	bool trusted = !trust_home(&home) && trust_below_home(home, ".inputrc") &&
		       trust_below_home(home, ".terminfo");

	if (!trusted)
		unsetenv("HOME");
	if (!trusted && !inputrc)
		setenv("INPUTRC", "/dev/null", 1);
	rl_initialize();
	if (!trusted && kept)
		setenv("HOME", kept, 1);
	if (!trusted && !inputrc)
		unsetenv("INPUTRC");
}

static struct err *start(struct shell *shell)
{
	struct prompt *prompt = calloc(1, sizeof(*prompt));
	struct err *err;

	if (!prompt)
		return err_nomem;
	shell->prompt = prompt;
	current = shell;
	rl_readline_name = "mdbg";
	rl_catch_signals = 0;
	if (!isatty(STDOUT_FILENO))
		rl_outstream = stderr;
	begin_readline();
	complete_line_init(shell);
	err = history_load(&prompt->history);
	if (err)
		note_err(shell, err);
	return NULL;
}

void prompt_end(struct shell *shell)
{
	struct prompt *prompt = shell->prompt;
	struct err *err;

	if (!prompt)
		return;
	shell->prompt = NULL;
	Tcl_DeleteFileHandler(STDIN_FILENO);
	if (shell->terminal.prompting)
		rl_callback_handler_remove();
	shell->terminal.prompting = false;
	err = prompt->history ? history_save(prompt->history) : NULL;
	if (err)
		note_err(shell, err);
	current = NULL;
	free(prompt->line);
	free(prompt->history);
	str_free(&prompt->text);
	free(prompt);
}

/* If Ctrl-C has come, drop the line; twice on an empty line: quit. */
static void take_interrupt(struct shell *shell)
{
	struct prompt *prompt = shell->prompt;
	bool empty;

	if (!shell->terminal.prompting || !signals_take_interrupts())
		return;
	empty = !rl_end && !prompt->text.len;
	rl_free_line_state();
	rl_callback_sigcleanup();
	rl_replace_line("", 0);
	str_clear(&prompt->text);
	rl_crlf();
	if (empty && prompt->interrupts++) {
		rl_callback_handler_remove();
		shell->terminal.prompting = false;
		prompt->ended = true;
		return;
	}
	if (empty)
		fputs("(Ctrl-C once more detaches and quits)\n", rl_outstream);
	else
		prompt->interrupts = 0;
	rl_set_prompt(shell->prompt_text);
	rl_on_new_line();
	rl_redisplay();
}

static void wait_line(struct shell *shell)
{
	struct prompt *prompt = shell->prompt;

	shell->terminal.prompting = true;
	shell->terminal.hidden = 0;
	prompt->interrupts = 0;
	rl_callback_handler_install(prompt->text.len ? "> " : shell->prompt_text, took_line);
	/*
	 * The handler is there only during the wait: while a command runs, lines that are typed
	 * ahead would keep the event loop busy.
	 */
	Tcl_CreateFileHandler(STDIN_FILENO, TCL_READABLE, on_input, shell);
	while (shell->terminal.prompting) {
		events_wait(shell);
		take_interrupt(shell);
	}
	Tcl_DeleteFileHandler(STDIN_FILENO);
}

static struct err *take_line(struct shell *shell)
{
	struct prompt *prompt = shell->prompt;
	AUTO_FREE char *line = take(prompt->line);
	AUTO_FREE char *whole = NULL;
	struct err *err = str_addf(&prompt->text, "%s%s", prompt->text.len ? "\n" : "", line);
	bool failed;

	if (err)
		return err;
	if (!shell_line_is_whole(shell, str_text(&prompt->text)))
		return NULL;
	whole = take(prompt->text.at);
	prompt->text = (struct str)STR_INIT;
	if (!whole[strspn(whole, " \t\n")])
		return NULL;
	add_history(whole);
	signals_take_interrupts();
	/*
	 * A failure at the prompt does not change mdbg's exit status: the user has seen it, and the
	 * status is for scripts.
	 */
	failed = shell->failed;
	shell->echo = true;
	shell_line(shell, whole);
	shell->echo = false;
	shell->failed = failed;
	signals_take_interrupts();
	return NULL;
}

struct err *prompt_run(struct shell *shell)
{
	struct err *err = start(shell);

	while (!err && !shell->prompt->ended) {
		wait_line(shell);
		if (shell->prompt->line)
			err = take_line(shell);
	}
	if (!err && isatty(STDIN_FILENO))
		fputs("\n", rl_outstream);
	prompt_end(shell);
	return err;
}
