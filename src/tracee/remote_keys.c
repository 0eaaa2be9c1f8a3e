/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Protection keys of a borrowed thread (theory in remote.h). They are opened before its PC is set,
 * and put back after it: mdbg may be killed at any moment, and until its PC is its own again the
 * thread restores itself from its frame, keys and all, which it must be able to read. Killed just
 * before or after that, mdbg leaves them open, until the thread itself sets them.
 */

#include "tracee/remote.h"

#include <string.h>

#include "base/cleanup.h"
#include "os/tracer.h"

struct err *remote_keys_open(struct remote *remote)
{
	const struct arch *arch = remote->thread->target->arch;
	AUTO_FREE uint8_t *open = malloc(remote->xstate_len);
	struct err *err;

	if (!open)
		return err_nomem;
	memcpy(open, remote->xstate, remote->xstate_len);
	if (!arch->open_keys || !arch->open_keys(open, remote->xstate_len))
		return NULL;
	err = ptrace_set_xstate(remote->thread->tid, open, remote->xstate_len);
	remote->keys = !err;
	return err;
}

struct err *remote_keys_restore(struct remote *remote)
{
	if (!remote->keys)
		return NULL;
	remote->keys = false;
	return ptrace_set_xstate(remote->thread->tid, remote->xstate, remote->xstate_len);
}
