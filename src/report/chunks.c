/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of `malloc freespace`. */

#include "base/cancel.h"
#include "heap/walk.h"
#include "log/log.h"
#include "report/blocks.h"
#include "report/out.h"
#include "session/heap.h"

struct err *chunks_print(const struct blocks *blocks, const struct session_heap *heap,
			 struct out *out)
{
	uint64_t bytes[CHUNK_KINDS] = { 0 }, chunks[CHUNK_KINDS] = { 0 }, all = 0;
	struct err *err = NULL;

	out_heading(out, "Freespace Held by the Malloc Subsystem:");
	out_text(out, "\n\nADDRESS            SIZE       HEAP  KIND\n");
	for (size_t i = 0; i < blocks->vec.nr && !err && !out_done(out); i++) {
		const struct block *block = &blocks->vec.at[i];
		const struct heap_chunk chunk = { .kind = block->free_kind };

		out_address(out, block->address);
		out_f(out, " %-10llu %-5u %s\n", (unsigned long long)block->size, block->heap,
		      heap_chunk_kind(&chunk));
		bytes[block->free_kind] += block->size;
		chunks[block->free_kind]++;
		all += block->size;
		if (i % 1024 == 0)
			err = cancel_check();
	}
	out_text(out, "\n");
	for (unsigned kind = CHUNK_CACHED; kind < CHUNK_KINDS; kind++) {
		const struct heap_chunk chunk = { .kind = kind };

		if (chunks[kind])
			out_f(out, "%s: %llu chunks, %llu bytes\n", heap_chunk_kind(&chunk),
			      (unsigned long long)chunks[kind], (unsigned long long)bytes[kind]);
	}
	heap_notes_print(heap, out);
	out_f(out, "%zu free chunks, %llu bytes\n", blocks->vec.nr, (unsigned long long)all);
	return err;
}
