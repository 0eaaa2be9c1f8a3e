/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds out whose memory is (theory in memory_owners.h). */

#include "inspect/memory_owners.h"

#include "agent/state.h"
#include "base/page.h"
#include "heap/block.h"
#include "heap/heap_walk.h"
#include "os/pagemap.h"
#include "probe/allocators.h"
#include "probe/probe.h"
#include "tracee/region.h"
#include "tracee/target.h"

#define STACK_LEAST	(16ull << 10)	/* PTHREAD_STACK_MIN */
#define STACK_MOST	(1ull << 40)
#define STACK_USUAL	(8ull << 20)	/* of glibc, unless there is another limit */
#define TCB_ALIGN	64u
#define BLOCKS_MOST	2000000u	/* a scan of the log takes 50 ms then */
#define OTHERS_MOST	1000u		/* mappings without a guard page that are tried */

struct finder {
	const struct memory_owners_of *of;
	const struct memory_facts *facts;
	struct memory_owners *owners;
	struct proc_tasks found;		/* threads whose stacks were found */
	uint64_t size;				/* of the last stack */
	bool found_heaps;
};

static struct err *add_to(struct memory_owners *owners, uint64_t start, uint64_t end,
			  enum memory_kind kind, pid_t thread)
{
	struct memory_owner owner = { start, end, kind, thread };

	return start < end ? vec_push(&owners->vec, owner) : NULL;
}

static struct err *add_owner(struct finder *finder, uint64_t start, uint64_t end,
			     enum memory_kind kind, pid_t thread)
{
	return add_to(finder->owners, start, end, kind, thread);
}

struct err *memory_owners_own(const struct region *region, struct memory_owners *owners)
{
	uint32_t nr = region && region->journal ? journal_entries(region->journal) : 0;
	struct err *err = NULL;

	for (uint32_t i = 0; i < nr && !err; i++) {
		const struct journal_entry *entry = &region->journal->entry[i];

		if (entry->state != JOURNAL_DONE ||
		    (entry->kind != JOURNAL_MAPPING && entry->kind != JOURNAL_REGION &&
		     entry->kind != JOURNAL_DATA && entry->kind != JOURNAL_LOG))
			continue;
		err = add_to(owners, entry->address, entry->address + entry->len, MEMORY_OWN, 0);
	}
	return err;
}

/* Of a core file the registers are known, and nothing else is. */
static struct err *add_core_stacks(const struct target *target, const struct proc_maps *maps,
				   struct memory_owners *owners)
{
	struct thread *thread;
	struct err *err = NULL;

	for_each_thread(thread, target) {
		const struct proc_map *map =
			procparse_maps_find(maps, regs_get(&thread->regs, target->arch->tp));

		if (!err && thread->tid != target->pid && map && procparse_map_is_anonymous(map))
			err = add_to(owners, map->start, map->end, MEMORY_STACKS, thread->tid);
	}
	return err;
}

struct err *memory_owners_facts(const struct target *target, const struct probes *probes,
				const struct proc_maps *maps, struct memory_facts *ret,
				struct memory_owners *owners)
{
	struct err *err = target->kind->live ? NULL : add_core_stacks(target, maps, owners);

	allocator_libcs_find(&target->modules, &ret->libcs);
	if (probes && probes->state) {
		ret->tid_offset = probes->state->tid_offset;
		ret->stack_offset = probes->state->stack_offset;
	}
	return err ? err : memory_owners_own(target->region, owners);
}

static uint64_t resident(void *ctx, uint64_t start, uint64_t end)
{
	const struct finder *finder = ctx;
	uint64_t entry[512], bytes = 0;

	for (size_t nr; start < end; start += nr * PAGE) {
		nr = pagemap_read(finder->of->pagemap->fd, start, entry,
				  MIN(ARRAY_SIZE(entry), (end - start) / PAGE));
		if (!nr)
			break;
		for (size_t i = 0; i < nr; i++)
			bytes += entry[i] & PAGEMAP_PRESENT ? PAGE : 0;
	}
	return bytes;
}

static void add_free(struct heap_free *to, const struct heap_free *free)
{
	to->whole = free->known ? free->whole && (to->whole || !to->known) : to->whole;
	to->known |= free->known;
	to->listed += free->listed;
	to->main_top += free->main_top;
	to->other_top += free->other_top;
	to->other_tops += free->other_tops;
	to->trimmed += free->trimmed;
}

/*
 * Add the ranges of one allocator. Whether one that has none, as one that is not used, knows all of
 * them does not count beside others.
 */
static struct err *add_ranges(const struct allocator *allocator, const struct heap_source *source,
			      struct heap_ranges *ret)
{
	struct heap_ranges part = { .vec = VEC_INIT };
	struct err *err = allocator->ranges(source, &part);

	if (part.vec.nr || !ret->vec.nr)
		ret->whole = part.whole && (ret->whole || !ret->vec.nr);
	add_free(&ret->free, &part.free);
	for (size_t i = 0; i < part.vec.nr && !err; i++)
		err = vec_push(&ret->vec, part.vec.at[i]);
	heap_ranges_free(&part);
	return err;
}

/* free_ns: of struct heap_source. */
static struct err *read_ranges(struct finder *finder, uint64_t free_ns, struct heap_ranges *ret)
{
	const struct allocator_libcs *libcs = &finder->facts->libcs;
	struct heap_maps maps = { VEC_INIT };
	bool known = finder->of->pagemap->fd >= 0;
	struct heap_source source = {
		.memory = finder->of->memory,
		.live = known, .ctx = finder,
		.resident = known ? resident : NULL, .free_ns = free_ns,
	};
	struct err *err = allocator_libcs_maps(&finder->of->smaps->maps, &maps);

	source.map = maps.vec.at;
	source.nr_maps = maps.vec.nr;
	for (size_t i = 0; i < libcs->nr && !err; i += source.nr_libcs) {
		source.libc = &libcs->libc[i];
		source.nr_libcs = allocator_libcs_same(libcs, i);
		if (source.libc->nr_data)
			err = add_ranges(libcs->allocator[i], &source, ret);
	}
	vec_free(&maps.vec);
	return err;
}

static struct err *find_heaps(struct finder *finder)
{
	struct heap_ranges ranges = { .vec = VEC_INIT };
	struct err *err;

	finder->owners->whole = !finder->facts->libcs.nr;
	if (!finder->facts->libcs.nr)
		return NULL;
	err = read_ranges(finder, 0, &ranges);
	finder->owners->whole = ranges.whole;
	finder->found_heaps = ranges.vec.nr;
	for (size_t i = 0; i < ranges.vec.nr && !err; i++)
		err = add_owner(finder, ranges.vec.at[i].start, ranges.vec.at[i].end,
				ranges.vec.at[i].mapped ? MEMORY_MAPPED : MEMORY_HEAP, 0);
	heap_ranges_free(&ranges);
	return err;
}

struct err *memory_owners_free(const struct memory_owners_of *of, const struct memory_facts *facts,
			       uint64_t budget_ns, struct heap_free *ret)
{
	struct finder finder = { .of = of, .facts = facts };
	struct heap_ranges ranges = { .vec = VEC_INIT };
	struct err *err = read_ranges(&finder, budget_ns, &ranges);

	*ret = ranges.free;
	heap_ranges_free(&ranges);
	return err;
}

/* Mappings in which a block of the log lies, by their places in maps. */
struct with_blocks {
	const struct proc_maps *maps;
	VEC(bool) vec;
};

static struct err *note_block(const struct block *block, uint64_t slot UNUSED, void *ctx)
{
	struct with_blocks *is = ctx;
	const struct proc_map *map = procparse_maps_find(is->maps, block->address);

	if (map && block->heap != LOG_HEAP_USER)
		is->vec.at[map - is->maps->vec.at] = true;
	return NULL;
}

/*
 * The heaps of allocators whose data mdbg does not know (jemalloc and others) are where the blocks
 * are that the log has. A mapping with a block is theirs.
 */
static struct err *find_by_blocks(struct finder *finder)
{
	const struct log *log = finder->of->log;
	struct with_blocks is = { .maps = &finder->of->smaps->maps, .vec = VEC_INIT };
	size_t nr = is.maps->vec.nr;
	struct err *err;

	if (!finder->of->unknown_heaps && !finder->facts->libcs.others &&
	    !(finder->of->guessed_heaps && !finder->found_heaps))
		return NULL;
	finder->owners->whole = false;
	finder->owners->rest_is_heap = !finder->of->runtimes;
	if (finder->owners->rest_is_heap)
		return NULL;
	if (!log || reader_live(log) > BLOCKS_MOST)
		return NULL;
	err = vec_reserve(&is.vec, nr);
	if (err)
		return err;
	memset(is.vec.at, 0, nr * sizeof(*is.vec.at));
	err = blocks_each(log, NULL, note_block, &is);
	for (size_t i = 0; i < nr && !err; i++)
		if (is.vec.at[i] && procparse_map_is_anonymous(&is.maps->vec.at[i]))
			err = add_owner(finder, is.maps->vec.at[i].start, is.maps->vec.at[i].end,
					MEMORY_HEAP, 0);
	vec_free(&is.vec);
	return err;
}

static bool has_task(const struct proc_tasks *tasks, pid_t tid)
{
	size_t low = LOWER_BOUND(i, 0, tasks->vec.nr, tasks->vec.at[i] < tid);

	return low < tasks->vec.nr && tasks->vec.at[low] == tid;
}

/* The thread of a control block; 0: its offset is not known, and so is the thread. */
static pid_t thread_of(struct finder *finder, uint64_t tcb)
{
	int32_t tid;

	if (!finder->facts->tid_offset ||
	    memory_read(finder->of->memory, tcb + finder->facts->tid_offset, &tid, sizeof(tid)))
		return 0;
	return has_task(finder->of->tasks, tid) ? tid : MEMORY_ENDED;
}

/* The bounds of the stack's memory, with its guard pages, as its control block has them. */
static bool bounds_of(struct finder *finder, uint64_t tcb, uint64_t *start_ret, uint64_t *end_ret)
{
	uint64_t word[2];

	if (!finder->facts->stack_offset ||
	    memory_read(finder->of->memory, tcb + finder->facts->stack_offset, word, sizeof(word)) ||
	    !word[0] || word[0] > tcb || word[1] > STACK_MOST || word[0] + word[1] <= tcb)
		return false;
	*start_ret = word[0];
	*end_ret = word[0] + word[1];
	finder->size = word[1];
	return true;
}

/* Find a control block in the page before `end`; 0: there is none. */
static uint64_t find_tcb(struct finder *finder, uint64_t end)
{
	uint64_t page = end - PAGE, word[PAGE / sizeof(uint64_t)];

	if (!pagemap_is_touched(finder->of->pagemap, page) ||
	    memory_read(finder->of->memory, page, word, sizeof(word)))
		return 0;
	for (unsigned at = PAGE - TCB_ALIGN; at < PAGE; at -= TCB_ALIGN)
		if (word[at / 8] == page + at && word[at / 8 + 2] == page + at)
			return page + at;
	return 0;
}

/* Is there a guard page right before the mapping? */
static bool has_guard(const struct finder *finder, size_t i)
{
	const struct proc_map *map = &finder->of->smaps->maps.vec.at[i];

	return i && map[-1].end == map->start && procparse_map_is_anonymous(&map[-1]) &&
	       !map[-1].read && !map[-1].write && !map[-1].exec;
}

/*
 * The control block of the first thread is in memory of the loader's, and in no stack: it has no
 * bounds of one. Where those are not known, a guard page tells a stack.
 */
static bool is_stack(struct finder *finder, const struct proc_map *map, uint64_t tcb,
		     uint64_t *start_ret, uint64_t *end_ret)
{
	if (finder->facts->stack_offset)
		return bounds_of(finder, tcb, start_ret, end_ret);
	if (!has_guard(finder, (size_t)(map - finder->of->smaps->maps.vec.at)))
		return false;
	finder->size = *end_ret - *start_ret + PAGE;
	return true;
}

static struct err *try_stack(struct finder *finder, const struct proc_map *map, uint64_t end,
			     bool *found)
{
	uint64_t tcb = find_tcb(finder, end), start = map->start;
	struct err *err;
	pid_t thread;

	*found = tcb && is_stack(finder, map, tcb, &start, &end);
	if (!*found)
		return NULL;
	thread = thread_of(finder, tcb);
	err = add_owner(finder, start, end, MEMORY_STACKS, thread);
	return err || thread <= 0 ? err : vec_push(&finder->found.vec, thread);
}

static bool is_in_memory(const struct smaps *smaps, size_t i)
{
	const uint64_t *figure = smaps->figures.nr > i ? smaps->figures.at[i].figure : NULL;

	return !figure || figure[SMAPS_RSS] || figure[SMAPS_SWAP] ||
	       figure[SMAPS_HUGETLB_PRIVATE];
}

static bool may_be_stack(const struct finder *finder, size_t i)
{
	const struct proc_map *map = &finder->of->smaps->maps.vec.at[i];

	return procparse_map_is_anonymous(map) && map->read && map->write &&
	       map->end - map->start >= STACK_LEAST && is_in_memory(finder->of->smaps, i);
}

static struct err *try_map(struct finder *finder, const struct proc_map *map)
{
	uint64_t usual = map->start - PAGE + finder->size;
	bool found;
	struct err *err = try_stack(finder, map, map->end, &found);

	if (err || found || usual <= map->start || usual >= map->end)
		return err;
	return try_stack(finder, map, usual, &found);
}

/*
 * Try the mappings behind guard pages. glibc 2.42 has guards that are no mappings of their own
 * (MADV_GUARD_INSTALL), so if no stack was found all others are tried as well, unless that would
 * take long and there is one thread.
 */
static struct err *find_stacks(struct finder *finder)
{
	size_t nr = finder->of->smaps->maps.vec.nr, others = 0, before = finder->owners->vec.nr;
	struct err *err = NULL;

	finder->size = STACK_USUAL;
	for (size_t i = 0; i < nr && !err; i++) {
		if (!may_be_stack(finder, i))
			continue;
		if (has_guard(finder, i))
			err = try_map(finder, &finder->of->smaps->maps.vec.at[i]);
		else
			others++;
	}
	if (err || finder->owners->vec.nr > before ||
	    (finder->of->tasks->vec.nr == 1 && others > OTHERS_MOST))
		return err;
	for (size_t i = 0; i < nr && !err; i++)
		if (may_be_stack(finder, i) && !has_guard(finder, i))
			err = try_map(finder, &finder->of->smaps->maps.vec.at[i]);
	return err;
}

COMPARE_BY(by_tid, pid_t, x, *x)

/* Threads whose control blocks were not found: the mapping that SP is in is their stack. */
static struct err *find_by_sp(struct finder *finder)
{
	struct err *err = NULL;

	vec_sort(&finder->found.vec, by_tid);
	for (size_t i = 0; i < finder->of->tasks->vec.nr && !err; i++) {
		pid_t tid = finder->of->tasks->vec.at[i];
		const struct proc_map *map;
		uint64_t sp = 0;

		if (tid == finder->of->pid || has_task(&finder->found, tid) ||
		    procfs_stack_pointer(tid, &sp) || !sp)
			continue;
		map = procparse_maps_find(&finder->of->smaps->maps, sp);
		if (map && procparse_map_is_anonymous(map) && map->write)
			err = add_owner(finder, map->start, map->end, MEMORY_STACKS, tid);
	}
	return err;
}

struct err *memory_owners_find(const struct memory_owners_of *of, const struct memory_facts *facts,
			       struct memory_owners *owners)
{
	struct finder finder = { .of = of, .facts = facts, .owners = owners };
	struct err *err = NULL;

	if (of->tasks) {
		err = find_stacks(&finder);
		if (!err)
			err = find_by_sp(&finder);
		vec_free(&finder.found.vec);
	}
	if (!err)
		err = find_heaps(&finder);
	return err ? err : find_by_blocks(&finder);
}
