/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The end of the session. */

#include "cmd/shell/close.h"

#include "base/cancel.h"
#include "cmd/machine/memory_service.h"
#include "cmd/query/query_owners.h"
#include "cmd/shell/evaluate.h"
#include "cmd/shell/events.h"
#include "cmd/shell/shell.h"
#include "report/progress.h"

void shell_close(struct shell *shell)
{
	struct session *session = shell->session;
	struct session_event warning;
	struct err *err;

	if (!session)
		return;
	err = recording_end(shell, "mdbg ends");
	if (err)
		terminal_warning(&shell->terminal, err->msg, err->hint);
	events_end(shell);
	query_owners_forget(shell);
	memory_service_forget(&shell->service_last);
	shell->session = NULL;
	cancel_clear();
	progress_begin("detach");
	err = session_release(session);
	progress_end();
	while (session_warn_next(session, &warning))
		terminal_warning(&shell->terminal, warning.text, warning.hint);
	if (err)
		evaluate_fail(shell, err);
	session_destroy(session);
}
