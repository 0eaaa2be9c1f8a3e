/* SPDX-License-Identifier: GPL-3.0-or-later */
/* malloc: what is enabled, and statistics. */

#include <string.h>

#include "cmd/cmd.h"
#include "cmd/list.h"
#include "cmd/shell.h"
#include "report/figures.h"

static struct err *run(struct call *call)
{
	struct figures figures;
	struct err *err = NULL;

	if (call->argc && strcmp(call->argv[0], "-v"))
		return call_bad_word(call, call->argv[0]);
	err = figures_get(call->session, SESSION_HEAP_WALK, &figures);
	if (err)
		return err;
	err = figures_print(call->session, &figures, call->argc, call->out);
	figures_free(&figures);
	return err;
}

const struct cmd cmd_malloc = {
	.name		= "malloc",
	.usage		= "?-v?",
	.brief		= "what is enabled, and statistics of what is held",
	.help		= "The heaps of glibc are walked for it, in a stop of the process. Bytes held\n"
			  "in a heap are all that are neither free nor cached, headers and all; of all\n"
			  "heaps those that were asked for. Heaps are numbered from the oldest.\n"
			  "`allocations since attach` of a heap are those that are still held.\n"
			  "`malloc sites` goes by the log alone. With -v: each probed function\n"
			  "with its engine and the reason for it, where every event was\n"
			  "counted, and the memory of the log.\n"
			  "Lines that begin with `Incomplete:`, here and in the other answers, say\n"
			  "what is not in them; `mdbg::lacks` has the same for scripts.\n",
	.run		= run,
	.max_args	= 1,
};
