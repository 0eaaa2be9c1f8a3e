/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * --fail-on-leak: are blocks definitely lost at the end?
 *
 * The end is one of two moments, whichever comes first: the target's own end (mdbg looks at its
 * memory before that is gone: `set leaks-at-end`), or the moment at which mdbg detaches from it
 * (detach, kill, the end of mdbg). The blocks that were lost are reported on standard error then.
 * If there were several targets, each counts. A target that could not be looked at counts as a
 * failure, too, because nobody knows whether it leaked.
 *
 * Only definitely lost blocks count. A block that only a word of a stack points to may be lost, too
 * (struct reach_holder), but the word may be a variable of a thread that is at work; and most
 * possibly lost blocks are not lost. If the check failed where nothing is wrong, people would take
 * it out.
 */

#include "cmd/fail_on_leak.h"

#include <inttypes.h>

#include "base/cleanup.h"
#include "cmd/query/query.h"
#include "cmd/shell/cmd.h"
#include "cmd/shell/settings.h"
#include "cmd/shell/shell.h"
#include "cmd/terminal/redirect.h"
#include "report/leak_text.h"

#define LEAKED	23
#define FAILED	1

struct err *fail_on_leak_close(struct shell *shell)
{
	shell->fail_on_leak.on = true;
	return settings_set(shell, "leaks-at-end", "on");
}

void fail_on_leak_begin(struct shell *shell)
{
	shell->fail_on_leak.looked = false;
}

static struct err *print(struct shell *shell, const struct query *query)
{
	struct out out;
	struct err *err = redirect_flush(&shell->terminal), *write_err;

	if (!err)
		err = out_init_fd(&out, STDERR_FILENO, "standard error");
	if (err)
		return err;
	out.color = terminal_colors(&shell->terminal, STDERR_FILENO);
	err = leak_text_print(shell->session, &query->found, &query->leaks, &shell->suppressions,
			      &out);
	write_err = out_finish(&out);
	return err ? err : write_err;
}

static struct err *look(struct shell *shell)
{
	static const char *const argv[] = { "definite", NULL };
	const struct call call = { .shell = shell, .session = shell->session,
				   .cmd = &cmd_malloc_leaks, .argc = 1, .argv = argv };
	CLEANUP(query_free) struct query query;
	struct err *err = query_leaks(&call, &query);

	if (!err && query.leaks.sum[LEAK_DEFINITE].blocks) {
		shell->fail_on_leak.leaked = true;
		err = print(shell, &query);
		terminal_note(&shell->terminal,
			      "process %d has definitely lost %" PRIu64 " bytes in %" PRIu64 " "
			      "blocks",
			      session_pid(shell->session), query.leaks.sum[LEAK_DEFINITE].bytes,
			      query.leaks.sum[LEAK_DEFINITE].blocks);
	}
	return err;
}

void fail_on_leak_search(struct shell *shell)
{
	struct fail_on_leak *state = &shell->fail_on_leak;
	struct err *err;

	if (!state->on || state->looked || !shell->session ||
	    session_state(shell->session) == SESSION_NONE)
		return;
	state->looked = true;
	err = look(shell);
	if (!err)
		return;
	state->unknown = true;
	terminal_err(&shell->terminal, err_wrap(err, "--fail-on-leak: it is not known what is lost"));
}

int fail_on_leak_status(const struct shell *shell, int status)
{
	if (shell->fail_on_leak.leaked)
		return LEAKED;
	return shell->fail_on_leak.unknown && !status ? FAILED : status;
}
