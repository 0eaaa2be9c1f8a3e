/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Divides the memory of a process (theory in account.h). */

#include "inspect/account.h"

#include <string.h>

#include "base/page.h"
#include "inspect/heap_pages.h"
#include "os/page_runs.h"

static const struct {
	const char *name, *what;
	enum account_where where;
} parts[ACCOUNT_PARTS] = {
	[ACCOUNT_HELD] = { "held", "blocks that the program holds: what it asked for", ACCOUNT_IN },
	[ACCOUNT_OVERHEAD] = { "overhead", "their rounding and headers", ACCOUNT_IN },
	[ACCOUNT_CACHED] = { "cached", "free, in threads' caches", ACCOUNT_IN },
	[ACCOUNT_FREE] = { "free", "free, in the lists of arenas", ACCOUNT_IN },
	[ACCOUNT_TOP] = { "top", "free, at the end of the main arena", ACCOUNT_IN },
	[ACCOUNT_TOPS] = { "tops", "free, at the ends of other arenas", ACCOUNT_IN },
	[ACCOUNT_ALLOCATOR] = { "allocator", "the allocator's own data", ACCOUNT_IN },
	[ACCOUNT_UNDIVIDED] = { "heaps", "heaps that were not walked: held and free", ACCOUNT_IN },
	[ACCOUNT_ANONYMOUS] = { "anonymous", "mapped without malloc", ACCOUNT_IN },
	[ACCOUNT_LAZY] = { "lazyfree", "given back (MADV_FREE): the kernel's to take", ACCOUNT_IN },
	[ACCOUNT_STACKS] = { "stacks", "stacks of threads", ACCOUNT_IN },
	[ACCOUNT_ENDED] = { "ended", "stacks of threads that have ended", ACCOUNT_IN },
	[ACCOUNT_FILES_CLEAN] = { "files", "mapped files: page cache", ACCOUNT_IN },
	[ACCOUNT_FILES_DIRTY] = { "files-dirty", "mapped files: to be written back", ACCOUNT_IN },
	[ACCOUNT_FILES_COPIED] = { "files-copied", "mapped files: copies of written pages",
				   ACCOUNT_IN },
	[ACCOUNT_SHARED] = { "shared", "shared memory that nobody else has mapped", ACCOUNT_IN },
	[ACCOUNT_SHARED_OTHERS] = { "shared-others", "shared memory, mapped by others too",
				    ACCOUNT_IN },
	[ACCOUNT_DEVICE] = { "device", "memory of devices, [vdso]", ACCOUNT_IN },
	[ACCOUNT_OWN] = { "mdbg", "mdbg's log and agent: gone after detach", ACCOUNT_IN },
	[ACCOUNT_ALL] = { "all", "the sum: Rss of the kernel", ACCOUNT_SUM },
	[ACCOUNT_HUGE] = { "huge", "in huge pages", ACCOUNT_OF },
	[ACCOUNT_FORKED] = { "forked", "shared with processes of a fork, until one writes",
			     ACCOUNT_OF },
	[ACCOUNT_TRIM] = { "trim", "free, and `malloc trim` gives it back", ACCOUNT_OF },
	[ACCOUNT_PINNED] = { "pinned", "free, on pages that live blocks keep (`malloc pins`)",
			     ACCOUNT_OF },
	[ACCOUNT_UNTOUCHED] = { "untouched", "blocks: never written to, or given back",
				ACCOUNT_BESIDE },
	[ACCOUNT_SWAPPED] = { "swapped", "swapped out", ACCOUNT_BESIDE },
	[ACCOUNT_TABLES] = { "tables", "page tables", ACCOUNT_BESIDE },
	[ACCOUNT_HUGETLB] = { "hugetlb", "huge pages of hugetlbfs", ACCOUNT_BESIDE },
	[ACCOUNT_DESCRIPTORS] = { "descriptors", "memory files of descriptors",
				  ACCOUNT_BESIDE },
	[ACCOUNT_SOCKETS] = { "sockets", "buffers of its sockets, in the kernel", ACCOUNT_BESIDE },
	[ACCOUNT_GROUP_FILES] = { "group-files", "of its control group: page cache",
				  ACCOUNT_BESIDE },
	[ACCOUNT_GROUP_SHARED] = { "group-shared", "of its control group: tmpfs, shared memory",
				   ACCOUNT_BESIDE },
	[ACCOUNT_GROUP_KERNEL] = { "group-kernel", "of its control group: the kernel's",
				   ACCOUNT_BESIDE },
};

enum account_where account_where(enum account_part part)
{
	return parts[part].where;
}

const char *account_name(enum account_part part)
{
	return parts[part].name;
}

const char *account_what(enum account_part part)
{
	return parts[part].what;
}

static void add_top(struct account_heap *ret, const struct heap_walk *walk,
		    const struct heap_chunk *chunk, uint64_t resident)
{
	if (chunk->heap >= walk->arenas.nr || walk->arenas.at[chunk->heap].main) {
		ret->main_top += resident;
		return;
	}
	ret->other_top += resident;
	ret->other_tops += resident >= PAGE;
	if (resident > ret->largest_bytes) {
		ret->largest = chunk->heap;
		ret->largest_bytes = resident;
	}
}

static void add_chunk(struct account_heap *ret, const struct heap_walk *walk,
		      const struct heap_chunk *chunk, struct page_bytes bytes)
{
	ret->kind[chunk->kind].bytes += chunk->size;
	ret->kind[chunk->kind].resident += bytes.resident;
	ret->kind[chunk->kind].swapped += bytes.swapped;
	ret->kind[chunk->kind].chunks++;
	if (chunk->kind == CHUNK_TOP)
		add_top(ret, walk, chunk, bytes.resident);
	if (!chunk_held(chunk))
		return;
	if (chunk->note == NOTE_RECORDED) {
		ret->recorded++;
		ret->recorded_headers += chunk_header(chunk);
		ret->recorded_bytes += chunk->size;
	} else {
		ret->early++;
		ret->early_headers += chunk_header(chunk);
		ret->early_bytes += chunk->size;
	}
}

/* Whose pages the free bytes lie on. */
static struct err *find_free(const struct heaps *heap, const struct page_runs *pages,
			     struct account_heap *ret)
{
	struct free_space free = FREE_SPACE_INIT;
	struct err *err = heap_pages_free_space(heap, pages, &free);

	ret->trim = free.all.kept[FREE_TRIMMED];
	ret->pinned = free.all.kept[FREE_PINNED];
	free_space_free(&free);
	return err;
}

struct err *account_heap_find(const struct heaps *heap, pid_t pages_of, struct account_heap *ret)
{
	const struct heap_walk *walk = &heap->walk;
	struct chunk_at at = heap_chunks_start();
	struct page_runs pages = { VEC_INIT };
	struct heap_chunk chunk;
	size_t page = 0;
	struct err *err = heap_pages_read(walk, pages_of, true, &pages);

	*ret = (struct account_heap){ .known = !err, .asked = UINT64_MAX };
	/* Chunks lie end to end from their words of size on; a mapped one begins with its mapping. */
	while (!err && heap_chunks_next(&walk->chunks, &at, &chunk)) {
		uint64_t start = chunk.address - chunk_header(&chunk);

		add_chunk(ret, walk, &chunk,
			  page_runs_between(&pages, &page, start, start + chunk.size));
	}
	if (!err)
		err = find_free(heap, &pages, ret);
	page_runs_free(&pages);
	return err;
}

/* 0 for what is not known. */
static uint64_t known(uint64_t bytes)
{
	return bytes == MEMORY_UNKNOWN ? 0 : bytes;
}

static uint64_t figure(const struct memory_use *use, enum memory_kind kind,
		       enum memory_figure figure)
{
	return known(use->look.kind[kind].at[figure]);
}

/* Add up a figure of all private memory that no file has. */
static void add_figure(const struct memory_use *use, enum memory_figure figure, uint64_t *to)
{
	static const enum memory_kind private[] = {
		MEMORY_HEAP, MEMORY_MAPPED, MEMORY_ANONYMOUS, MEMORY_STACKS, MEMORY_MAIN_STACK,
	};

	for (size_t i = 0; i < ARRAY_SIZE(private); i++)
		memory_use_add(to, use->look.kind[private[i]].at[figure]);
}

/* The rounding and the headers of the blocks that are held. */
static uint64_t overhead_of(const struct account_heap *heap)
{
	if (heap->asked > heap->recorded_bytes)
		return heap->recorded_headers + heap->early_headers;
	return heap->recorded_bytes - heap->asked + heap->early_headers;
}

static uint64_t resident_of(const struct account_heap *heap, enum chunk_kind kind)
{
	return heap->kind[kind].resident;
}

static uint64_t chunks_of(const struct account_heap *heap)
{
	uint64_t bytes = 0;

	for (unsigned kind = 0; kind < CHUNK_KINDS; kind++)
		bytes += resident_of(heap, kind);
	return bytes;
}

/* Divide the heaps, of which the kernel has `rss` bytes in memory. */
static void divide_heaps(const struct account_heap *heap, uint64_t rss, uint64_t *part)
{
	uint64_t held, chunks = chunks_of(heap);

	if (!heap->known) {
		part[ACCOUNT_UNDIVIDED] = rss;
		return;
	}
	held = resident_of(heap, CHUNK_USED) + resident_of(heap, CHUNK_MMAPPED);
	part[ACCOUNT_OVERHEAD] = MIN(held, overhead_of(heap));
	part[ACCOUNT_HELD] = held - part[ACCOUNT_OVERHEAD];
	part[ACCOUNT_CACHED] = resident_of(heap, CHUNK_CACHED);
	part[ACCOUNT_FREE] = resident_of(heap, CHUNK_FAST) + resident_of(heap, CHUNK_FREE) +
			     resident_of(heap, CHUNK_KEPT);
	part[ACCOUNT_TOP] = heap->main_top;
	part[ACCOUNT_TOPS] = heap->other_top;
	part[ACCOUNT_ALLOCATOR] = resident_of(heap, CHUNK_OWN) + (rss > chunks ? rss - chunks : 0);
	part[ACCOUNT_UNTOUCHED] = 0;
	for (unsigned kind = CHUNK_USED; kind <= CHUNK_MMAPPED; kind++)
		part[ACCOUNT_UNTOUCHED] += heap->kind[kind].bytes - heap->kind[kind].resident -
					   heap->kind[kind].swapped;
}

/* Of heaps that consist of more than what was walked, the rest is another allocator's. */
static void divide_malloc(const struct memory_use *use, const struct account_heap *heap,
			  uint64_t *part)
{
	uint64_t rss = figure(use, MEMORY_HEAP, MEMORY_RSIZE) +
		       figure(use, MEMORY_MAPPED, MEMORY_RSIZE);

	divide_heaps(heap, rss, part);
	if (heap->known && *heap->why) {
		part[ACCOUNT_UNDIVIDED] = part[ACCOUNT_ALLOCATOR] -
					  resident_of(heap, CHUNK_OWN);
		part[ACCOUNT_ALLOCATOR] -= part[ACCOUNT_UNDIVIDED];
	}
}

/*
 * A mapping of several kinds has one figure of it, of which each kind has a share. glibc gives
 * nothing back so, and no stack is given back: it is other allocators' and the program's own.
 */
static void divide_lazy(const struct memory_use *use, uint64_t *part)
{
	uint64_t lazy = 0, heaps = figure(use, MEMORY_HEAP, MEMORY_LAZY);

	add_figure(use, MEMORY_LAZY, &lazy);
	heaps = MIN(heaps, part[ACCOUNT_UNDIVIDED]);
	lazy = MIN(lazy, heaps + part[ACCOUNT_ANONYMOUS]);
	part[ACCOUNT_LAZY] = lazy;
	part[ACCOUNT_UNDIVIDED] -= heaps;
	part[ACCOUNT_ANONYMOUS] -= lazy - heaps;
}

/*
 * The walk knows the chunks for certain, and the kernel has one figure of mappings that it has joined.
 * So if the chunks have more than the heaps' share, that is no other memory's: a block that is mapped
 * inside of another mapping, and was not known to be there without the walk. If there is not so much
 * other memory, the process has given back blocks since the walk.
 */
static uint64_t take_too_much(const struct memory_use *use, const struct account_heap *heap,
			      uint64_t anonymous, uint64_t *part)
{
	uint64_t rss = figure(use, MEMORY_HEAP, MEMORY_RSIZE) +
		       figure(use, MEMORY_MAPPED, MEMORY_RSIZE);
	uint64_t chunks = heap->known ? chunks_of(heap) : 0;
	uint64_t more = chunks > rss ? chunks - rss : 0, others = MIN(more, anonymous);

	more -= others;
	for (enum account_part i = ACCOUNT_HELD; more && i <= ACCOUNT_ALLOCATOR; i++) {
		uint64_t gone = MIN(more, part[i]);

		part[i] -= gone;
		more -= gone;
	}
	return others;
}

static void divide_anonymous(const struct memory_use *use, const struct account_heap *heap,
			     uint64_t *part)
{
	uint64_t stacks = figure(use, MEMORY_STACKS, MEMORY_RSIZE), ended = 0;

	part[ACCOUNT_ANONYMOUS] = figure(use, MEMORY_ANONYMOUS, MEMORY_RSIZE);
	part[ACCOUNT_ANONYMOUS] -= take_too_much(use, heap, part[ACCOUNT_ANONYMOUS], part);
	for (size_t i = 0; i < use->vec.nr; i++)
		if (use->vec.at[i].thread == MEMORY_ENDED)
			ended += known(use->vec.at[i].sum.at[MEMORY_RSIZE]);
	part[ACCOUNT_ENDED] = MIN(ended, stacks);
	part[ACCOUNT_STACKS] = stacks - part[ACCOUNT_ENDED] +
			       figure(use, MEMORY_MAIN_STACK, MEMORY_RSIZE);
}

static void divide_files(const struct memory_use *use, uint64_t *part)
{
	uint64_t rss = figure(use, MEMORY_FILES, MEMORY_RSIZE);
	uint64_t copied = MIN(figure(use, MEMORY_FILES, MEMORY_PRIVATE), rss);
	uint64_t dirty = figure(use, MEMORY_FILES, MEMORY_DIRTY);
	uint64_t shared = figure(use, MEMORY_SHARED, MEMORY_RSIZE);

	dirty -= MIN(dirty, copied);
	dirty = MIN(dirty, rss - copied);
	part[ACCOUNT_FILES_COPIED] = copied;
	part[ACCOUNT_FILES_DIRTY] = dirty;
	part[ACCOUNT_FILES_CLEAN] = rss - copied - dirty;
	part[ACCOUNT_SHARED_OTHERS] = MIN(figure(use, MEMORY_SHARED, MEMORY_OTHERS), shared);
	part[ACCOUNT_SHARED] = shared - part[ACCOUNT_SHARED_OTHERS];
}

uint64_t account_unmapped(const struct memory_use *use, struct held_files *files)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < use->vec.nr; i++) {
		const struct file_id id = file_id_of_map(use->vec.at[i].map);

		vec_each(file, &files->vec)
			if (file_id_same(&file->id, &id))
				file->mapped += known(use->vec.at[i].sum.at[MEMORY_RSIZE]);
	}
	vec_each(file, &files->vec) {
		file->mapped = MIN(file->mapped, file->bytes);
		bytes += file->bytes - file->mapped;
	}
	return bytes;
}

uint64_t account_sockets(const struct held_files *files, size_t *unknown_ret)
{
	uint64_t bytes = 0;

	*unknown_ret = 0;
	vec_each(is, &files->sockets) {
		if (is->bytes == SOCKET_MEMORY_UNKNOWN)
			++*unknown_ret;
		else
			bytes += is->bytes;
	}
	return bytes;
}

struct heap_free account_heap_free(const struct account_heap *heap)
{
	return (struct heap_free){
		.known = heap->known, .whole = true,
		.listed = resident_of(heap, CHUNK_FAST) + resident_of(heap, CHUNK_FREE),
		.main_top = heap->main_top, .other_top = heap->other_top,
		.other_tops = heap->other_tops, .trimmed = heap->trim,
	};
}

void account_make(const struct memory_use *use, const struct account_heap *heap,
		  struct account_beside *beside, struct account *ret)
{
	uint64_t *part = ret->part;
	size_t unknown;

	for (unsigned i = 0; i < ACCOUNT_PARTS; i++)
		part[i] = i < ACCOUNT_ALL ? 0 : MEMORY_UNKNOWN;
	divide_malloc(use, heap, part);
	divide_anonymous(use, heap, part);
	divide_lazy(use, part);
	divide_files(use, part);
	part[ACCOUNT_DEVICE] = figure(use, MEMORY_DEVICE, MEMORY_RSIZE);
	part[ACCOUNT_OWN] = figure(use, MEMORY_OWN, MEMORY_RSIZE);
	part[ACCOUNT_ALL] = 0;
	for (unsigned i = 0; i < ACCOUNT_ALL; i++)
		part[ACCOUNT_ALL] += part[i];
	add_figure(use, MEMORY_HUGE, &part[ACCOUNT_HUGE]);
	add_figure(use, MEMORY_OTHERS, &part[ACCOUNT_FORKED]);
	if (heap->known) {
		part[ACCOUNT_TRIM] = heap->trim;
		part[ACCOUNT_PINNED] = heap->pinned;
	}
	part[ACCOUNT_SWAPPED] = use->look.all.at[MEMORY_SWAP];
	part[ACCOUNT_TABLES] = beside->tables;
	part[ACCOUNT_HUGETLB] = beside->hugetlb;
	if (beside->files_known)
		part[ACCOUNT_DESCRIPTORS] = account_unmapped(use, &beside->files);
	if (beside->files_known && !*beside->no_sockets)
		part[ACCOUNT_SOCKETS] = account_sockets(&beside->files, &unknown);
	part[ACCOUNT_GROUP_FILES] = beside->group_files;
	part[ACCOUNT_GROUP_SHARED] = beside->group_shared;
	part[ACCOUNT_GROUP_KERNEL] = beside->group_kernel;
}
