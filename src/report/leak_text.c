/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The text of `malloc leaks`: kinds and wording as valgrind's memcheck has them. */

#include "report/leak_text.h"

#include <inttypes.h>
#include <string.h>

#include "base/cancel.h"
#include "heap/leak.h"
#include "heap/site.h"
#include "report/lack_text.h"
#include "report/out.h"
#include "report/sites.h"
#include "report/traceback.h"
#include "report/suppressed.h"
#include "session/leaks.h"

#define INDENT	8	/* of the traceback */

static void print_sums(const struct leaks *leaks, struct out *out)
{
	static const char dots[] = "......................";
	struct leak_sum all = { 0, 0 };

	for (unsigned i = 0; i < LEAK_KINDS; i++) {
		const char *name = leak_kind_name(i);

		out_f(out, "    %s%s %" PRIu64 " bytes in %" PRIu64 " blocks\n", name, dots + strlen(name) + 1,
		      leaks->sum[i].bytes, leaks->sum[i].blocks);
		all.bytes += leaks->sum[i].bytes;
		all.blocks += leaks->sum[i].blocks;
	}
	if (leaks->suppressed.blocks)
		out_f(out, "    suppressed........... %" PRIu64 " bytes in %" PRIu64 " blocks\n",
		      leaks->suppressed.bytes, leaks->suppressed.blocks);
	all.bytes += leaks->suppressed.bytes;
	all.blocks += leaks->suppressed.blocks;
	out_f(out, "    all of them.......... %" PRIu64 " bytes in %" PRIu64 " blocks\n", all.bytes,
	      all.blocks);
}

/* Say why leaks may be hidden, or blocks taken for leaks that are none. */
static void print_doubts(const struct session_leaks *found, struct out *out)
{
	uint64_t roots = found->mark.unread_roots.bytes;

	out_f(out, "    %" PRIu64 " bytes of roots and %" PRIu64 " bytes of blocks were searched\n",
	      found->mark.root_bytes, found->mark.block_bytes);
	if (found->snapshot)
		out_f(out, "    the process stood still for %.1f ms, and a snapshot of it was searched\n",
		      (double)found->pause_ns / 1e6);
	if (*found->no_snapshot)
		out_f(out, "    %s: it was stopped for all of the search\n", found->no_snapshot);
	if (!found->walked)
		out_f(out, "    %s: leaks are looked for among recorded blocks\n", found->why);
	out_count(out, "    %" PRIu64 " places of the heaps are damaged (`malloc check`)\n",
		  found->damages);
	out_count(out, "    %" PRIu64 " bytes of heap that may have been allocated before the attach are taken for roots: leaks may be hidden\n",
		  found->mark.heap_bytes);
	if (found->walked && !found->caches_known)
		out_text(out, "    free blocks in threads' caches are not known: some may be among those from before the attach\n");
	if (found->core)
		out_count(out, "    %" PRIu64 " bytes of roots are not in the core: they were never written, or were to be left out (MADV_DONTDUMP, a file cut off), and blocks may be lost in appearance only\n",
			  roots);
	else
		out_count(out, "    %" PRIu64 " bytes of roots could not be read: blocks may be lost in appearance only\n",
			  roots);
	out_count(out, "    %" PRIu64 " bytes of blocks could not be read: blocks may be lost in appearance only\n",
		  found->mark.unread_blocks.bytes);
	out_count(out, "    the registers of %" PRIu64 " threads could not be read: blocks may be lost in appearance only\n",
		  found->blind_threads);
	out_count(out, "    %" PRIu64 " blocks are in the hands of realloc: what they point to may be lost in appearance only\n",
		  found->under_way);
	out_count(out, "    %" PRIu64 " blocks of other processes were not looked at\n",
		  found->held.others);
}

static struct err *print_leak(const struct leaks *leaks, size_t rank,
			      const struct suppressions *suppressions,
			      struct stack_texts *texts, struct out *out)
{
	const struct leak *leak = &leaks->vec.at[rank];
	struct err *err = NULL;

	out_f(out, "#%zu  ", rank + 1);
	if (leak->indirect_blocks)
		out_f(out, "%" PRIu64 " (%" PRIu64 " direct, %" PRIu64 " indirect) bytes",
		      leak->bytes + leak->indirect_bytes, leak->bytes, leak->indirect_bytes);
	else
		out_f(out, "%" PRIu64 " bytes", leak->bytes);
	out_f(out, " in %" PRIu64 " blocks are %s", leak->blocks, leak_kind_name(leak->kind));
	if (leak->suppression != SUPPRESS_NONE) {
		out_text(out, ", suppressed by ");
		suppression_print(suppressions, leak->suppression, out);
	}
	out_text(out, "\n");
	out_blanks(out, INDENT);
	if (leak->preattach)
		out_f(out, "%s\n", no_stack_text(leak->unrecorded));
	else
		err = stack_texts_print(texts, leak->stack, out);
	out_text(out, "\n");
	return err;
}

struct err *leaks_print(struct session *session, const struct session_leaks *found,
			const struct leaks *leaks, const struct suppressions *suppressions,
			struct out *out)
{
	struct stack_texts texts;
	struct err *err = NULL;

	out_heading(out, "Leak Summary of the Process:");
	print_sums(leaks, out);
	out_text(out, "\n");
	print_doubts(found, out);
	out_text(out, "\n");
	stack_texts_init(&texts, session, INDENT);
	for (size_t i = 0; !err && !out_done(out) && i < leaks->vec.nr; i++) {
		err = print_leak(leaks, i, suppressions, &texts, out);
		if (!err)
			err = cancel_check();
	}
	stack_texts_free(&texts);
	if (!err)
		err = lacks_print(session, out);
	if (!err)
		out_f(out, "%zu loss records listed; %" PRIu64 " bytes in %" PRIu64 " blocks\n", leaks->vec.nr,
		      leaks->listed.bytes, leaks->listed.blocks);
	if (!err)
		suppressed_print(leaks, suppressions, out);
	if (!err)
		sampling_print(session, out);
	return err;
}

struct err *stale_print(struct session *session, const struct session_leaks *found,
			const struct sites *sites, struct out *out)
{
	struct stack_texts texts;
	struct err *err = NULL;

	out_heading(out, "Old Blocks of the Process that are Reachable:");
	print_doubts(found, out);
	out_text(out, "\n");
	stack_texts_init(&texts, session, INDENT);
	for (size_t i = 0; !err && !out_done(out) && i < sites->vec.nr; i++) {
		out_f(out, "#%zu  ", i + 1);
		site_print_stale(&sites->vec.at[i], out);
		out_blanks(out, INDENT);
		err = stack_texts_print(&texts, sites->vec.at[i].stack, out);
		out_text(out, "\n");
		if (!err)
			err = cancel_check();
	}
	stack_texts_free(&texts);
	if (!err)
		err = lacks_print(session, out);
	if (!err)
		out_f(out, "%zu sites listed; %" PRIu64 " bytes in %" PRIu64 " blocks\n", sites->vec.nr,
		      sites->bytes, sites->count);
	return err;
}
