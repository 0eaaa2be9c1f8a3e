/* SPDX-License-Identifier: GPL-3.0-or-later */
/* malloc find: which allocation holds an address. */

#include "cmd/cmd.h"
#include "cmd/list.h"
#include "heap/filter.h"
#include "report/find.h"
#include "session/heap.h"

static struct err *run(struct call *call)
{
	struct session_heap heap;
	uint64_t address;
	struct err *err = call_need_log(call);

	if (!err)
		err = parse_number(call->argv[0], &address);
	if (!err)
		err = session_heap(call->session, SESSION_HEAP_WALK, NULL, &heap);
	if (err)
		return err;
	err = find_print(call->session, &heap, address, call->out);
	session_heap_free(&heap);
	return err;
}

const struct cmd cmd_malloc_find = {
	.name		= "malloc find",
	.usage		= "ADDRESS",
	.brief		= "the block or free chunk that holds an address, and where it comes from",
	.help		= "ADDRESS is hex with 0x, or decimal; anywhere in the block.\n",
	.run		= run,
	.min_args	= 1,
	.max_args	= 1,
};
