/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prints what malloc_stats(3) would (allocator_stats.h). */

#include "report/allocator_stats.h"

#include <inttypes.h>

#include "inspect/heaps.h"
#include "report/out.h"

struct totals {
	uint64_t arenas;	/* printed so far */
	uint64_t system, used;
};

static void line(struct out *out, const char *label, uint64_t value)
{
	out_f(out, "%-16s = %10" PRIu64 "\n", label, value);
}

/* What is in a thread's cache is in use to the arena. */
static void print_arena(const struct heap_arena *arena, struct totals *totals, struct out *out)
{
	uint64_t open = arena->bytes[CHUNK_FAST] + arena->bytes[CHUNK_FREE] +
			arena->bytes[CHUNK_TOP] + arena->bytes[CHUNK_KEPT];
	uint64_t used = arena->system_mem - MIN(arena->system_mem, open);

	out_f(out, "Arena %" PRIu64 ":\n", totals->arenas++);
	line(out, "system bytes", arena->system_mem);
	line(out, "in use bytes", used);
	totals->system += arena->system_mem;
	totals->used += used;
}

void allocator_stats_print(const struct heaps *heap, struct out *out)
{
	const struct heap_walk *walk = &heap->walk;
	struct totals totals = { .system = walk->mmapped_bytes, .used = walk->mmapped_bytes };

	for (size_t first = 0, end; first < walk->arenas.nr; first = end) {
		uint16_t libc = walk->arenas.at[first].libc;

		for (end = first + 1; end < walk->arenas.nr && walk->arenas.at[end].libc == libc;)
			end++;
		print_arena(&walk->arenas.at[first], &totals, out);
		for (size_t i = end; i-- > first + 1;)
			print_arena(&walk->arenas.at[i], &totals, out);
	}
	out_text(out, "Total (incl. mmap):\n");
	line(out, "system bytes", totals.system);
	line(out, "in use bytes", totals.used);
	line(out, "max mmap regions", walk->mmapped_most);
	line(out, "max mmap bytes", walk->mmapped_bytes_most);
}
