/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Making the shell. */

#include "cmd/shell/create.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cmd/shell/alias.h"
#include "cmd/shell/close.h"
#include "cmd/shell/cmd_register.h"
#include "cmd/shell/embedded.h"
#include "cmd/shell/evaluate.h"
#include "cmd/shell/events.h"
#include "cmd/shell/settings.h"
#include "cmd/shell/shell.h"
#include "cmd/shell/tcl_paths.h"

/*
 * Code may end the process through Tcl (`exit` of a child interpreter, a panic); mdbg must not stay
 * attached then.
 */
static void on_tcl_exit(ClientData data)
{
	shell_close(data);
}

/* Tcl gives its panic handler no context. */
static struct shell *panicking;

/*
 * Tcl panics when it has no memory. If this returned, Tcl would go on with memory that it does not
 * have; and exit() would run Tcl's handlers. So it ends with _exit.
 */
static NORETURN void on_panic(const char *format, ...)
{
	struct shell *shell = take(panicking);
	va_list ap;

	fputs("mdbg: Tcl: ", stderr);
	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fputs("\n", stderr);
	if (shell)
		shell_close(shell);
	_exit(EXIT_FAILURE);
}

static struct err *init_tcl(struct shell *shell, const char *program,
			    const struct cmd *const *commands)
{
	struct err *err;

	panicking = shell;
	Tcl_SetPanicProc(on_panic);
	Tcl_FindExecutable(program);
	shell->tcl = Tcl_CreateInterp();
	Tcl_SetSystemEncoding(NULL, "utf-8");
	Tcl_SetVar(shell->tcl, "auto_noexec", "1", TCL_GLOBAL_ONLY);
	tcl_paths_fix_library(shell->tcl);
	if (embedded_tcl_init(shell->tcl) != TCL_OK)
		terminal_note(&shell->terminal, "Tcl's library is missing, its plain commands are there: %s",
			    Tcl_GetStringResult(shell->tcl));
	tcl_paths_clean(shell->tcl);
	evaluate_init(shell);
	Tcl_CreateExitHandler(on_tcl_exit, shell);
	err = cmd_register(shell, commands);
	if (!err)
		err = alias_defaults(shell);
	if (!err)
		err = settings_init(shell);
	return err ? err : events_init(shell);
}

struct err *shell_create(const char *program, const struct cmd *const *commands,
			 void (*leave)(struct shell *shell, int status), struct shell **ret)
{
	struct shell *shell = calloc(1, sizeof(*shell));
	struct err *err;

	if (!shell)
		return err_nomem;
	shell->leave = leave;
	shell->pager = true;
	err = session_create(&shell->session);
	if (!err)
		err = init_tcl(shell, program, commands);
	if (err)
		return err;	/* the process ends with it */
	*ret = shell;
	return NULL;
}
