/* SPDX-License-Identifier: GPL-3.0-or-later */
/* malloc check: walk the heaps, say what is damaged, and which frees were wrong. */

#include "cmd/check.h"
#include "cmd/cmd.h"
#include "cmd/list.h"
#include "report/find.h"
#include "report/lacks.h"
#include "report/out.h"
#include "report/strays.h"

static void print_sums(const struct session_heap *heap, struct out *out)
{
	out_f(out, "%zu heaps, %llu chunks: ", heap->walk.arenas.nr,
	      (unsigned long long)heap->walk.chunks.nr);
	if (heap->walk.damages)
		out_f(out, "%llu places are damaged%s\n", (unsigned long long)heap->walk.damages,
		      heap->missing ? " or missing" : "");
	else
		out_text(out, "no damage found\n");
	if (heap->missing)
		out_f(out, "%llu bytes of the core are missing: what they held is not known\n",
		      (unsigned long long)heap->missing);
}

static struct err *run(struct call *call)
{
	struct check check;
	struct err *err = check_get(call, &check);

	if (err)
		return err;
	if (!check.heap.walked) {
		out_f(call->out, "The heaps cannot be looked at: %s\n", check.heap.why);
	} else {
		err = damage_print(call->session, &check.heap, call->out);
		if (!err)
			print_sums(&check.heap, call->out);
	}
	if (!err && !check.core)
		err = strays_print(call->session, &check.strays, call->out);
	if (!err)
		err = lacks_print(call->session, call->out);
	check_free(&check);
	return err;
}

const struct cmd cmd_malloc_check = {
	.name		= "malloc check",
	.usage		= "",
	.brief		= "look for damage in the heaps, and for wrong frees",
	.help		= "Chunk headers, the sizes at the ends of free chunks, fastbins, threads'\n"
			  "caches, and all links of the bins. Each place that is not as it must be is\n"
			  "listed, with the blocks on both sides of it and where they come from.\n"
			  "Then double frees, with the stack of the second one, that of the first (if\n"
			  "`set free-history N` has it remembered) and that of the allocation; and\n"
			  "invalid ones: of an address inside of a recorded block, on the stack of the\n"
			  "thread, or in a module. They were noted before the allocator acted, so that\n"
			  "they are there when it has aborted the process. The newest 1024 are\n"
			  "remembered. Frees of other blocks that are not in the log, mostly since they\n"
			  "are older, are only counted. Where double frees cannot be told, it is said\n"
			  "why: the log samples, or not all that gives out blocks is glibc or jemalloc,\n"
			  "and probed.\n",
	.run		= run,
};
