/* SPDX-License-Identifier: GPL-3.0-or-later */
/* malloc stats: the allocator's own report. */

#include <string.h>

#include "base/cleanup.h"
#include "cmd/shell/cmd.h"
#include "report/allocator_stats.h"
#include "report/blocks.h"
#include "session/heap.h"

static struct err *run(struct call *call)
{
	CLEANUP(heaps_free) struct heaps heap = HEAPS_INIT;
	bool xml = call->argc > 0;
	struct err *err;

	if (xml && strcmp(call->argv[0], "xml"))
		return call_bad_word(call->argv[0]);
	err = session_heap(call->session, xml ? SESSION_HEAP_LISTS : SESSION_HEAP_WALK, NULL, &heap);
	if (err)
		return err;
	if (!heap.walked)
		return err_create(ERR_UNSUPPORTED, "%s", heap.why);
	if (xml)
		return allocator_stats_print_xml(&heap, call->out);
	allocator_stats_print(&heap, call->out);
	out_text(call->out, "\n");
	blocks_print_heap_notes(&heap, call->out);
	blocks_print_heap_stood(&heap, call->out);
	return NULL;
}

const struct cmd cmd_malloc_stats = {
	.name		= "malloc stats",
	.usage		= "?xml?",
	.brief		= "the allocator's own report, as malloc_stats(3) prints it",
	.help		= "The lines of glibc's malloc_stats(3), as it would print them now. They are read\n"
			  "from memory: nothing is called in the process, and nothing appears on its\n"
			  "standard error. An arena's bytes in use are those that are not free; blocks in\n"
			  "threads' caches count as in use, as glibc has it. Arena 0 is the main one, and\n"
			  "the youngest of the others comes first (`malloc` counts from the oldest).\n"
			  "`malloc` and `mdbg::malloc` have these figures and more.\n"
			  "\n"
			  "With xml it is the document that malloc_info(3) writes since glibc 2.27, with\n"
			  "the sizes and numbers of the free chunks of each arena.\n",
	.example	= "malloc stats xml > FILE\n",
	.max_args	= 1,
	.need		= call_need_view,
	.run		= run,
};
