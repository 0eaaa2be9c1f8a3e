/* SPDX-License-Identifier: GPL-3.0-or-later */
/* malloc trim, mdbg::trim: have the target give free pages back. */

#include "cmd/shell/cmd.h"

#include <inttypes.h>
#include "cmd/shell/dict.h"
#include "session/trim.h"

static struct err *run(struct call *call)
{
	struct session_trim did;
	struct err *err = session_trim(call->session, &did);
	char pause[32];

	if (err)
		return err;
	number_text_duration(pause, sizeof(pause), did.pause_ns);
	out_f(call->out, "%" PRIu64 " KB resident before, %" PRIu64 " KB after: %" PRIu64
			 " KB given back; the process stood still for %s\n",
	      did.before_kb, did.after_kb,
	      did.before_kb > did.after_kb ? did.before_kb - did.after_kb : 0, pause);
	return NULL;
}

static struct err *value(struct call *call, Tcl_Obj **ret)
{
	struct session_trim did;
	struct err *err = session_trim(call->session, &did);

	if (err)
		return err;
	*ret = Tcl_NewDictObj();
	dict_number(*ret, "before", did.before_kb << 10);
	dict_number(*ret, "after", did.after_kb << 10);
	dict_double(*ret, "pause", (double)did.pause_ns / 1e9);
	return NULL;
}

static const struct twin twin = {
	.name		= "mdbg::trim",
	.brief		= "dict: what `malloc trim` did",
	.help		= "It has: before after (resident bytes) pause (seconds).\n",
	.value		= value,
};

const struct cmd cmd_malloc_trim = {
	.name		= "malloc trim",
	.brief		= "have the process give free pages back (malloc_trim)",
	.help		= "A thread of the process that waits in a system call calls glibc's\n"
			  "malloc_trim(0), while all others stand still. mdbg refuses where the\n"
			  "call could do harm: with damaged heaps, under a seccomp filter, with\n"
			  "another allocator, without probes. If no thread can make the call at the\n"
			  "moment, it says so: try again. The process stands still for the walk of\n"
			  "its heaps and for the call.\n",
	.need		= call_need_target,
	.run		= run,
	.twin		= &twin,
};
