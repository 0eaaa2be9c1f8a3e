/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whose the anonymous memory of the process is, while the process runs on.
 *
 *	heaps	The allocator's own data say it (glibc_ranges). Of other allocators the mappings
 *		count in which the log has blocks.
 *	stacks	A thread that libc has made has its control block in the last page of its stack's
 *		memory, and the block begins with two words that point at the block itself (the ABI
 *		of x86-64, and glibc's `self`). The block names its thread and the bounds of its
 *		stack, at offsets that are known if probes are in (tracee/tcb.h). The stack of a
 *		thread that has ended and was not joined stays, and so does its block. If the kernel
 *		has made one mapping of a stack and of what lies behind it, the block is looked for
 *		where a stack of the size of others would end.
 *		Threads that are not found so, of another libc or on a stack of the program's, are
 *		found by their SP if they wait.
 *	mdbg's	Its journal lists them.
 *
 * No page is read that the process has not touched, because a read would make the kernel give it
 * one.
 */

#include "agent/state.h"
#include "base/page.h"
#include "os/pagemap.h"
#include "heap/block.h"
#include "heap/heap_walk.h"
#include "probe/allocators.h"
#include "probe/probe.h"
#include "session/private.h"
#include "tracee/region.h"
#include "tracee/target.h"

#define STACK_LEAST	(16ull << 10)	/* PTHREAD_STACK_MIN */
#define STACK_MOST	(1ull << 40)
#define STACK_USUAL	(8ull << 20)	/* of glibc, unless there is another limit */
#define TCB_ALIGN	64u
#define BLOCKS_MOST	2000000u	/* a scan of the log takes 50 ms then */
#define OTHERS_MOST	1000u		/* mappings without a guard page that are tried */

struct finder {
	struct session *session;
	const struct smaps *smaps;
	struct memory_owners *owners;
	struct memory *memory;
	/* Facts from the tracer thread. */
	struct allocator_libcs libcs;
	uint32_t tid_offset, stack_offset;	/* 0: not known */
	/* Of the search for stacks. */
	struct pagemap *pagemap;
	struct proc_tasks tasks, found;		/* all threads; those whose stacks were found */
	uint64_t size;				/* of the last stack */
};

static struct err *add_owner(struct finder *finder, uint64_t start, uint64_t end,
			     enum memory_kind kind, pid_t thread)
{
	struct memory_owner owner = { start, end, kind, thread };

	return start < end ? vec_push(&finder->owners->vec, owner) : NULL;
}

static struct err *add_own(struct finder *finder, const struct region *region)
{
	uint32_t nr = region && region->journal ? journal_entries(region->journal) : 0;
	struct err *err = NULL;

	for (uint32_t i = 0; i < nr && !err; i++) {
		const struct journal_entry *entry = &region->journal->entry[i];

		if (entry->state != JOURNAL_DONE ||
		    (entry->kind != JOURNAL_MAPPING && entry->kind != JOURNAL_REGION &&
		     entry->kind != JOURNAL_DATA && entry->kind != JOURNAL_LOG))
			continue;
		err = add_owner(finder, entry->address, entry->address + entry->len, MEMORY_OWN, 0);
	}
	return err;
}

/* What only the tracer thread knows. It touches nothing of the process. */
static struct err *facts_job(struct session *session, void *arg)
{
	struct finder *finder = arg;
	struct target *target = session->current->target;
	const struct probes *probes = session->current->probes;

	allocator_libcs(&target->modules, &finder->libcs);
	if (probes && probes->state) {
		finder->tid_offset = probes->state->tid_offset;
		finder->stack_offset = probes->state->stack_offset;
	}
	return add_own(finder, target->region);
}

static bool is_touched(void *ctx, uint64_t address)
{
	struct finder *finder = ctx;
	uint64_t start, end;

	return pagemap_next(finder->pagemap, address, address + PAGE, &start, &end);
}

static struct err *find_heaps(struct finder *finder)
{
	VEC(struct heap_map) maps = VEC_INIT;
	struct heap_ranges ranges = { .vec = VEC_INIT };
	struct heap_source source = {
		.memory = finder->memory,
		.libc = finder->libcs.libc, .nr_libcs = finder->libcs.nr,
		.touched = finder->pagemap->fd < 0 ? NULL : is_touched, .ctx = finder,
	};
	struct err *err = NULL;

	finder->owners->whole = !finder->libcs.allocator;
	if (!finder->libcs.allocator || !finder->libcs.allocator->ranges ||
	    !finder->libcs.libc[0].nr_data)
		return NULL;
	for (size_t i = 0; i < finder->smaps->maps.vec.nr && !err; i++) {
		const struct proc_map *map = &finder->smaps->maps.vec.at[i];
		struct heap_map is = { map->start, map->end, !strcmp(map->path, "[heap]"),
				       proc_map_is_anonymous(map) };

		if (map->read && map->write && !map->shared)
			err = vec_push(&maps, is);
	}
	source.map = maps.at;
	source.nr_maps = maps.nr;
	if (!err)
		err = finder->libcs.allocator->ranges(&source, &ranges);
	finder->owners->whole = ranges.whole;
	for (size_t i = 0; i < ranges.vec.nr && !err; i++)
		err = add_owner(finder, ranges.vec.at[i].start, ranges.vec.at[i].end,
				ranges.vec.at[i].mapped ? MEMORY_MAPPED : MEMORY_HEAP, 0);
	heap_ranges_free(&ranges);
	vec_free(&maps);
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
	const struct proc_map *map = proc_maps_find(is->maps, block->address);

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
	struct session *session = finder->session;
	const struct session_allocators *all = session_allocators(session);
	struct with_blocks is = { .maps = &finder->smaps->maps, .vec = VEC_INIT };
	size_t nr = is.maps->vec.nr;
	struct err *err;

	if (!all->partly && (all->walkable || !(all->nr + all->others)))
		return NULL;
	finder->owners->whole = false;
	if (!session_recorded(session) || session->nr_processes > 1 ||
	    log_live(session_log(session)) > BLOCKS_MOST)
		return NULL;
	err = vec_reserve(&is.vec, nr);
	if (err)
		return err;
	memset(is.vec.at, 0, nr * sizeof(*is.vec.at));
	err = blocks_each(session_log(session), NULL, note_block, &is);
	for (size_t i = 0; i < nr && !err; i++)
		if (is.vec.at[i] && proc_map_is_anonymous(&is.maps->vec.at[i]))
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

	if (!finder->tid_offset ||
	    memory_read(finder->memory, tcb + finder->tid_offset, &tid, sizeof(tid)))
		return 0;
	return has_task(&finder->tasks, tid) ? tid : MEMORY_ENDED;
}

/* The bounds of the stack's memory, with its guard pages, as its control block has them. */
static bool bounds_of(struct finder *finder, uint64_t tcb, uint64_t *start_ret, uint64_t *end_ret)
{
	uint64_t word[2];

	if (!finder->stack_offset ||
	    memory_read(finder->memory, tcb + finder->stack_offset, word, sizeof(word)) ||
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

	if (!pagemap_is_touched(finder->pagemap, page) ||
	    memory_read(finder->memory, page, word, sizeof(word)))
		return 0;
	for (unsigned at = PAGE - TCB_ALIGN; at < PAGE; at -= TCB_ALIGN)
		if (word[at / 8] == page + at && word[at / 8 + 2] == page + at)
			return page + at;
	return 0;
}

/* Is there a guard page right before the mapping? */
static bool has_guard(const struct finder *finder, size_t i)
{
	const struct proc_map *map = &finder->smaps->maps.vec.at[i];

	return i && map[-1].end == map->start && proc_map_is_anonymous(&map[-1]) &&
	       !map[-1].read && !map[-1].write && !map[-1].exec;
}

/*
 * The control block of the first thread is in memory of the loader's, and in no stack: it has no
 * bounds of one. Where those are not known, a guard page tells a stack.
 */
static bool is_stack(struct finder *finder, const struct proc_map *map, uint64_t tcb,
		     uint64_t *start_ret, uint64_t *end_ret)
{
	if (finder->stack_offset)
		return bounds_of(finder, tcb, start_ret, end_ret);
	if (!has_guard(finder, (size_t)(map - finder->smaps->maps.vec.at)))
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
	const struct proc_map *map = &finder->smaps->maps.vec.at[i];

	return proc_map_is_anonymous(map) && map->read && map->write &&
	       map->end - map->start >= STACK_LEAST && is_in_memory(finder->smaps, i);
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
	size_t nr = finder->smaps->maps.vec.nr, others = 0, before = finder->owners->vec.nr;
	struct err *err = NULL;

	finder->size = STACK_USUAL;
	for (size_t i = 0; i < nr && !err; i++) {
		if (!may_be_stack(finder, i))
			continue;
		if (has_guard(finder, i))
			err = try_map(finder, &finder->smaps->maps.vec.at[i]);
		else
			others++;
	}
	if (err || finder->owners->vec.nr > before ||
	    (finder->tasks.vec.nr == 1 && others > OTHERS_MOST))
		return err;
	for (size_t i = 0; i < nr && !err; i++)
		if (may_be_stack(finder, i) && !has_guard(finder, i))
			err = try_map(finder, &finder->smaps->maps.vec.at[i]);
	return err;
}

COMPARE_BY(by_tid, pid_t, x, *x)

/* Threads whose control blocks were not found: the mapping that SP is in is their stack. */
static struct err *find_by_sp(struct finder *finder)
{
	struct err *err = NULL;

	vec_sort(&finder->found.vec, by_tid);
	for (size_t i = 0; i < finder->tasks.vec.nr && !err; i++) {
		pid_t tid = finder->tasks.vec.at[i];
		const struct proc_map *map;
		uint64_t sp = 0;

		if (tid == finder->session->current->pid || has_task(&finder->found, tid) ||
		    procfs_stack_pointer(tid, &sp) || !sp)
			continue;
		map = proc_maps_find(&finder->smaps->maps, sp);
		if (map && proc_map_is_anonymous(map) && map->write)
			err = add_owner(finder, map->start, map->end, MEMORY_STACKS, tid);
	}
	return err;
}

/* Of a core file the registers are known, and nothing else is. */
static struct err *find_core_stacks(struct finder *finder)
{
	struct session_threads threads = { .vec = VEC_INIT };
	struct err *err = session_threads(finder->session, &threads);

	for (size_t i = 0; i < threads.vec.nr && !err; i++) {
		const struct session_thread *thread = &threads.vec.at[i];
		const struct proc_map *map = proc_maps_find(&finder->smaps->maps, thread->pthread);

		if (!thread->main && map && proc_map_is_anonymous(map))
			err = add_owner(finder, map->start, map->end, MEMORY_STACKS, thread->lwp);
	}
	vec_free(&threads.vec);
	return err;
}

static struct err *find_live_stacks(struct finder *finder, pid_t tid)
{
	struct err *err = procfs_tasks(tid, &finder->tasks);

	if (!err)
		err = find_stacks(finder);
	if (!err)
		err = find_by_sp(finder);
	vec_free(&finder->tasks.vec);
	vec_free(&finder->found.vec);
	return err;
}

struct err *session_memory_owners(struct session *session, const struct smaps *smaps,
				  struct pagemap *pagemap, struct memory_owners *ret)
{
	struct memory_owners owners = { .vec = VEC_INIT };
	struct finder finder = {
		.session = session, .smaps = smaps, .owners = &owners,
		.memory = session_memory(session),
		.tasks = { VEC_INIT }, .found = { VEC_INIT }, .pagemap = pagemap,
	};
	const struct target *target = session->current->target;
	struct err *err = session_call(session, facts_job, &finder);

	if (!err)
		err = target->core ? find_core_stacks(&finder) :
				     find_live_stacks(&finder, target->mem.tid);
	if (!err)
		err = find_heaps(&finder);
	if (!err)
		err = find_by_blocks(&finder);
	if (err)
		vec_free(&owners.vec);
	else
		*ret = owners;
	return err;
}
