/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of `malloc freespace`. */

#include "base/cancel.h"

#include <inttypes.h>
#include "heap/block_list.h"
#include "report/blocks.h"
#include "report/out.h"
#include "session/heap.h"

struct sums {
	uint64_t bytes[CHUNK_KINDS], chunks[CHUNK_KINDS], all_bytes, all;
};

static struct err *print_rows(struct list *list, struct sums *sums, struct out *out)
{
	const struct block *block;
	struct err *err = block_list_next(list, &block);

	while (!err && block && !out_done(out)) {
		out_f(out, PRI_ADDRESS " %-10s %-5u %s\n", block->address,
		      number_text_size(out, block->size).at, block->heap,
		      heap_chunk_kind(block->free_kind));
		sums->bytes[block->free_kind] += block->size;
		sums->chunks[block->free_kind]++;
		sums->all_bytes += block->size;
		if (sums->all++ % 1024 == 0)
			err = cancel_check();
		if (!err)
			err = block_list_next(list, &block);
	}
	return err;
}

struct err *chunks_print(struct list *list, const struct heaps *heap, struct out *out)
{
	struct sums sums = { { 0 }, { 0 }, 0, 0 };
	struct err *err;

	out_heading(out, "Freespace Held by the Malloc Subsystem:");
	out_text(out, "ADDRESS            SIZE       HEAP  KIND\n");
	err = print_rows(list, &sums, out);
	out_text(out, "\n");
	for (unsigned kind = CHUNK_CACHED; kind < CHUNK_KINDS; kind++) {
		if (sums.chunks[kind])
			out_f(out, "%s: %" PRIu64 " chunks, %s bytes\n", heap_chunk_kind(kind),
			      sums.chunks[kind], number_text_size(out, sums.bytes[kind]).at);
	}
	blocks_print_heap_notes(heap, out);
	blocks_print_heap_stood(heap, out);
	out_f(out, "%" PRIu64 " free chunks, %s bytes\n", sums.all,
	      number_text_size(out, sums.all_bytes).at);
	return err;
}
