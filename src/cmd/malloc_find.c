/* SPDX-License-Identifier: GPL-3.0-or-later */
/* malloc find: which allocation holds an address, and who points to it. */

#include "cmd/cmd.h"
#include "cmd/find.h"
#include "cmd/list.h"
#include "report/find.h"
#include "report/holders.h"
#include "report/lacks.h"

static struct err *run(struct call *call)
{
	struct found found;
	struct err *err = found_get(call, &found);

	if (err)
		return err;
	if (*found.why) {
		err = find_print(call->session, &found.find.heap, found.address, call->out);
		out_f(call->out, "Who points to it is not known: %s\n", found.why);
	} else {
		err = found_print(call->session, &found.find, found.address, call->out);
	}
	if (!err)
		err = lacks_print(call->session, call->out);
	found_free(&found);
	return err;
}

const struct cmd cmd_malloc_find = {
	.name		= "malloc find",
	.usage		= "ADDRESS ?limit N?",
	.brief		= "the block or free chunk that holds an address, and who points to it",
	.help		= "ADDRESS is hex with 0x, or decimal; anywhere in the block.\n"
			  "Below the block stand the places that hold a pointer to it, first\n"
			  "those that point to its start (or to where compilers and libraries keep\n"
			  "a pointer of what is in it), then those to its inside: registers, stacks\n"
			  "with the function whose frame it is, thread-local data and data of\n"
			  "modules with the symbol, other mappings, other blocks; N of each (20)\n"
			  "are listed. They are those that `malloc leaks` goes by, whether they are\n"
			  "in lost blocks or not: `malloc find` of such a block leads on.\n"
			  "Where there is no block any more, who has freed it is told if `set\n"
			  "free-history N` has it remembered. The process is stopped meanwhile.\n",
	.run		= run,
	.min_args	= 1,
	.max_args	= 3,
};
