/* SPDX-License-Identifier: GPL-3.0-or-later */
/* mdbg::listen: connections of a Unix socket, which Tcl has none of, as Tcl's channels. */

#include "cmd/shell/listener.h"

#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cmd/shell/cmd.h"
#include "cmd/shell/evaluate.h"
#include "cmd/shell/shell.h"
#include "os/unix_socket.h"

#define PAUSE_MS	100	/* before a connection is tried again that could not be taken */

struct listener {
	struct shell *shell;
	Tcl_Obj *script;	/* a list of words; the channel's name goes behind them */
	struct unix_socket socket;
	Tcl_TimerToken pause;	/* no connection is looked for meanwhile; NULL: there is none */
};

static void on_connection(ClientData data, int mask);

static void resume(ClientData data)
{
	struct listener *listener = data;

	listener->pause = NULL;
	Tcl_CreateFileHandler(listener->socket.fd, TCL_READABLE, on_connection, listener);
}

static void hand_over(struct listener *listener, int fd)
{
	struct shell *shell = listener->shell;
	Tcl_Channel channel = Tcl_MakeFileChannel((ClientData)(intptr_t)fd,
						  TCL_READABLE | TCL_WRITABLE);
	Tcl_Obj *script;

	if (!channel) {
		close(fd);
		return;
	}
	Tcl_RegisterChannel(shell->tcl, channel);
	script = Tcl_DuplicateObj(listener->script);
	Tcl_IncrRefCount(script);
	if (Tcl_ListObjAppendElement(NULL, script,
				     Tcl_NewStringObj(Tcl_GetChannelName(channel), -1)) == TCL_OK)
		evaluate_background(shell, script);
	Tcl_DecrRefCount(script);
}

/* Without a pause a connection that cannot be taken would be reported again at once. */
static void on_connection(ClientData data, int mask UNUSED)
{
	struct listener *listener = data;
	int fd;
	struct err *err = unix_socket_accept(&listener->socket, &fd);

	if (err) {
		Tcl_DeleteFileHandler(listener->socket.fd);
		listener->pause = Tcl_CreateTimerHandler(PAUSE_MS, resume, listener);
	} else if (fd >= 0) {
		hand_over(listener, fd);
	}
}

void listener_end(struct shell *shell)
{
	struct listener *listener = take(shell->listener);

	if (!listener)
		return;
	if (listener->pause)
		Tcl_DeleteTimerHandler(listener->pause);
	else
		Tcl_DeleteFileHandler(listener->socket.fd);
	unix_socket_end(&listener->socket);
	Tcl_DecrRefCount(listener->script);
	free(listener);
}

static struct err *listen_at(struct call *call, Tcl_Obj **ret UNUSED)
{
	struct shell *shell = call->shell;
	AUTO_FREE struct listener *listener = calloc(1, sizeof(*listener));
	int nr;
	struct err *err;

	if (!listener)
		return err_nomem;
	if (shell->listener)
		return err_create(ERR_STATE, "there is a socket already");
	if (Tcl_ListObjLength(NULL, call->objv[1], &nr) != TCL_OK || !nr)
		return err_create(ERR_USAGE, "'%s' is no list of words", call->argv[1]);
	err = unix_socket_listen(call->argv[0], &listener->socket);
	if (err)
		return err;
	listener->shell = shell;
	listener->script = call->objv[1];
	Tcl_IncrRefCount(listener->script);
	shell->listener = listener;
	resume(take(listener));
	return NULL;
}

const struct cmd cmd_api_listen = {
	.name		= "mdbg::listen",
	.usage		= "PATH SCRIPT",
	.brief		= "make a Unix socket, and run a script for each connection",
	.help		= "SCRIPT is a list of words, and gets the channel's name behind them, as that of\n"
			  "Tcl's `socket -server`; the channel is not blocking. The socket has mode 0600.\n"
			  "It goes when mdbg ends. There is one at most.\n"
			  "\n"
			  "PATH's folder must be your own or root's, and nobody else may write to it. A\n"
			  "socket of that name that nobody listens to is replaced.\n"
			  "\n"
			  "Errors: {MDBG PERM} for the folder; {MDBG BUSY} somebody listens to it.\n",
	.value		= listen_at,
	.min_args	= 2,
	.max_args	= 2,
	.complete	= COMPLETE_FILES,
};
