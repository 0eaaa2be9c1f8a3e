/* SPDX-License-Identifier: GPL-3.0-or-later */
/* malloc check: walk the heaps and say what is damaged. */

#include "cmd/cmd.h"
#include "cmd/list.h"
#include "log/log.h"
#include "report/blocks.h"
#include "report/find.h"
#include "session/heap.h"
#include "session/session.h"

static void print_sums(const struct call *call, const struct session_heap *heap)
{
	struct session_core core;

	out_f(call->out, "%zu heaps, %llu chunks: ", heap->walk.arenas.nr,
	      (unsigned long long)heap->walk.chunks.nr);
	if (heap->walk.damages)
		out_f(call->out, "%llu places are damaged%s\n",
		      (unsigned long long)heap->walk.damages, heap->missing ? " or missing" : "");
	else
		out_text(call->out, "no damage found\n");
	if (!session_core(call->session, &core))
		out_f(call->out, "%llu frees of unknown blocks\n",
		      (unsigned long long)log_accounts_get(session_log(call->session))
			      .unknown_frees);
	if (heap->missing)
		out_f(call->out, "%llu bytes of the core are missing: what they held is not known\n",
		      (unsigned long long)heap->missing);
}

static struct err *run(struct call *call)
{
	struct session_heap heap;
	struct err *err = call_need_log(call);

	if (!err)
		err = session_heap(call->session, SESSION_HEAP_CHECK, NULL, &heap);
	if (err)
		return err;
	if (!heap.walked)
		err = err_create(ERR_UNSUPPORTED, "%s", heap.why);
	if (!err)
		err = damage_print(call->session, &heap, call->out);
	if (!err)
		print_sums(call, &heap);
	session_heap_free(&heap);
	return err;
}

const struct cmd cmd_malloc_check = {
	.name		= "malloc check",
	.usage		= "",
	.brief		= "look for damage in the heaps",
	.help		= "Chunk headers, the sizes at the ends of free chunks, fastbins, threads'\n"
			  "caches, and all links of the bins. Each place that is not as it must be is\n"
			  "listed, with the blocks on both sides of it and where they come from.\n"
			  "Frees of blocks that are older than the log are counted as unknown.\n",
	.run		= run,
};
