/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prints what malloc_stats(3) and malloc_info(3) would (allocator_stats.h). */

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

/* Of an arena, or of all. */
struct xml_sums {
	uint64_t fast, fast_bytes, rest, rest_bytes;
	uint64_t system, max_system;
	uint64_t heap_bytes, writable_bytes;	/* of the memory that it has reserved */
};

static void print_size(const char *name, uint64_t least, const struct heap_list *list,
		       struct out *out)
{
	if (list->count)
		out_f(out, "  <%s from=\"%" PRIu64 "\" to=\"%" PRIu64 "\" total=\"%" PRIu64
		      "\" count=\"%" PRIu64 "\"/>\n", name, least, list->most, list->bytes,
		      list->count);
}

static void print_total(const char *type, uint64_t count, uint64_t size, struct out *out)
{
	out_f(out, "<total type=\"%s\" count=\"%" PRIu64 "\" size=\"%" PRIu64 "\"/>\n", type, count,
	      size);
}

static void print_amount(const char *name, const char *type, uint64_t size, struct out *out)
{
	out_f(out, "<%s type=\"%s\" size=\"%" PRIu64 "\"/>\n", name, type, size);
}

/* A fastbin is of the blocks that are rounded up to its chunks. The end of an arena is free. */
static struct xml_sums print_sizes(const struct heap_arena *arena, const struct heap_lists *lists,
				   struct out *out)
{
	struct xml_sums sums = {
		.rest = 1, .rest_bytes = arena->bytes[CHUNK_TOP],
		.system = arena->system_mem, .max_system = arena->max_system_mem,
		.heap_bytes = arena->main ? arena->system_mem : lists->heap_bytes,
		.writable_bytes = arena->main ? arena->system_mem : lists->writable_bytes,
	};

	for (unsigned i = 0; i < HEAP_FASTBINS; i++) {
		const struct heap_list *list = &lists->fast[i];

		print_size("size", list->most - 15, list, out);
		sums.fast += list->count;
		sums.fast_bytes += list->bytes;
	}
	for (unsigned i = 0; i < HEAP_BINS; i++) {
		const struct heap_list *list = &lists->bin[i];

		if (i)
			print_size("size", list->least, list, out);
		sums.rest += list->count;
		sums.rest_bytes += list->bytes;
	}
	print_size("unsorted", lists->bin[0].least, &lists->bin[0], out);
	return sums;
}

static void print_arena_xml(const struct heap_arena *arena, const struct heap_lists *lists,
			    uint64_t nr, struct xml_sums *totals, struct out *out)
{
	struct xml_sums sums;

	out_f(out, "<heap nr=\"%" PRIu64 "\">\n<sizes>\n", nr);
	sums = print_sizes(arena, lists, out);
	out_text(out, "</sizes>\n");
	print_total("fast", sums.fast, sums.fast_bytes, out);
	print_total("rest", sums.rest, sums.rest_bytes, out);
	print_amount("system", "current", sums.system, out);
	print_amount("system", "max", sums.max_system, out);
	print_amount("aspace", "total", sums.heap_bytes, out);
	print_amount("aspace", "mprotect", sums.writable_bytes, out);
	if (!arena->main)
		print_amount("aspace", "subheaps", lists->heaps, out);
	out_text(out, "</heap>\n");
	totals->fast += sums.fast;
	totals->fast_bytes += sums.fast_bytes;
	totals->rest += sums.rest;
	totals->rest_bytes += sums.rest_bytes;
	totals->system += sums.system;
	totals->max_system += sums.max_system;
	totals->heap_bytes += sums.heap_bytes;
	totals->writable_bytes += sums.writable_bytes;
}

static struct err *check_xml(const struct heap_walk *walk)
{
	if (!walk->lists.nr || walk->lists.nr != walk->arenas.nr)
		return err_create(ERR_UNSUPPORTED, "malloc_info is glibc's, and the process has "
				  "heaps of another allocator");
	vec_each(arena, &walk->arenas)
		if (arena->libc != walk->arenas.at[0].libc)
			return err_create(ERR_UNSUPPORTED, "malloc_info is of one C library, and "
					  "the process has several");
	vec_each(lists, &walk->lists)
		if (!lists->whole)
			return err_hint(err_create(ERR_STATE, "the free lists of heap %u are damaged, "
						   "or being changed", lists->heap),
					"ask again, or `malloc check`");
	return NULL;
}

struct err *allocator_stats_print_xml(const struct heaps *heap, struct out *out)
{
	const struct heap_walk *walk = &heap->walk;
	struct xml_sums totals = { .fast = 0 };
	uint64_t nr = 0;
	struct err *err = check_xml(walk);

	if (err)
		return err;
	out_text(out, "<malloc version=\"1\">\n");
	print_arena_xml(&walk->arenas.at[0], &walk->lists.at[0], nr++, &totals, out);
	for (size_t i = walk->arenas.nr; i-- > 1;)
		print_arena_xml(&walk->arenas.at[i], &walk->lists.at[i], nr++, &totals, out);
	print_total("fast", totals.fast, totals.fast_bytes, out);
	print_total("rest", totals.rest, totals.rest_bytes, out);
	print_total("mmap", walk->mmapped, walk->mmapped_bytes, out);
	print_amount("system", "current", totals.system, out);
	print_amount("system", "max", totals.max_system, out);
	print_amount("aspace", "total", totals.heap_bytes, out);
	print_amount("aspace", "mprotect", totals.writable_bytes, out);
	out_text(out, "</malloc>\n");
	return NULL;
}
