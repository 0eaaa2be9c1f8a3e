/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The search for leaks in a view (theory in leak_search.h). */

#include "inspect/leak_search.h"

#include <inttypes.h>
#include <string.h>

#include "base/trace.h"
#include "inspect/find_address.h"
#include "inspect/leak_stacks.h"
#include "inspect/memory_view.h"
#include "inspect/tls.h"
#include "os/local_files.h"
#include "tracee/region.h"
#include "tracee/target.h"

#define CHUNK_HEADER	16u
#define UNASKED_LEAST	(64ull << 20)

struct job {
	const struct memory_view *view;
	const struct heap_walk *walk;	/* if walked */
	struct leak_marks *ret;
	struct reach_ranges root, heap, out, code;
	VEC(uint64_t) words;
	size_t nr_certain;		/* of the words; registers follow */
	struct search_origins origins;	/* of the words */
	uint64_t tls_size;		/* tls_static_size */
	struct leak_stacks stacks;
	struct reach_ranges on_stack;	/* what of the roots they are, if they come apart */
	struct local_files files;
	uint64_t asked;			/* next_mapped, last: from this address on ... */
	struct reach_range mapped;	/* ... this is the next */
	struct err *err;
};

static void job_free(struct job *job)
{
	vec_free(&job->root.vec);
	vec_free(&job->heap.vec);
	vec_free(&job->out.vec);
	vec_free(&job->code.vec);
	vec_free(&job->words);
	vec_free(&job->origins.vec);
	vec_free(&job->stacks.vec);
	vec_free(&job->on_stack.vec);
	local_files_free(&job->files);
}

static struct err *add_range(struct reach_ranges *ranges, uint64_t start, uint64_t end)
{
	return start < end ? vec_push(&ranges->vec, ((struct reach_range){ start, end })) : NULL;
}

static void add_words(struct job *job, enum search_from from, pid_t tid, const uint64_t *word,
		      size_t nr)
{
	for (size_t i = 0; i < nr && !job->err; i++) {
		if (!word[i])
			continue;
		job->err = vec_push(&job->words, word[i]);
		if (!job->err)
			job->err = vec_push(&job->origins.vec, ((struct search_origin){
				.from = from, .tid = tid, .index = (uint32_t)i }));
	}
}

/* The last of malloc's blocks that does not start behind address, or NULL. */
static const struct packed_block *block_before(const struct job *job, uint64_t address)
{
	size_t behind = packed_behind(&job->ret->held, address);

	return behind ? packed_at(&job->ret->held, behind - 1) : NULL;
}

static const struct packed_block *block_at(const struct job *job, uint64_t address)
{
	const struct packed_block *block = block_before(job, address);

	return block && address - block->address < packed_size(&job->ret->held, block) ? block :
		NULL;
}

static bool is_private_anonymous(const struct proc_map *map)
{
	return !map->shared && !map->inode &&
	       (!*map->path || map->path[0] == '[');
}

/* It is the file of the log. A program may have one of that name for itself. */
bool leak_search_is_own(const struct region *region, const struct proc_map *map)
{
	struct file_id file = file_id_of_map(map);

	return region && file_id_same(&file, &region->origin.file);
}

bool leak_search_is_root(const struct region *region, const struct proc_map *map)
{
	if (!map->read || leak_search_is_own(region, map))
		return false;
	return map->write || (!proc_map_is_exec(map) && is_private_anonymous(map) && !*map->path);
}

/* Is all of glibc's memory known, so that every part of it that is no block is free? */
static bool spans_count(const struct job *job)
{
	return job->ret->walked && !job->ret->damages && !job->ret->uncertain;
}

/* The end of the span of glibc's heaps that holds address, or 0. */
static uint64_t span_end(const struct job *job, uint64_t address)
{
	size_t low = LOWER_BOUND(i, 0, spans_count(job) ? job->walk->spans.nr : 0,
				 job->walk->spans.at[i].start <= address);

	return low && address < job->walk->spans.at[low - 1].end ?
		job->walk->spans.at[low - 1].end : 0;
}

/* Is there a block in the mapping that lies in no span? */
static bool has_blocks(const struct job *job, const struct proc_map *map)
{
	const struct packed_list *list = &job->ret->held;
	size_t i = packed_behind(list, map->start);

	if (!spans_count(job) && !strcmp(map->path, "[heap]"))
		return true;
	if (i &&
	    packed_at(list, i - 1)->address + packed_size(list,
							  packed_at(list, i - 1)) > map->start)
		i--;
	while (i < list->nr_outer && packed_at(list, i)->address < map->end) {
		uint64_t behind = span_end(job, packed_at(list, i)->address);

		if (!behind)
			return true;
		i = packed_behind(list, behind - 1);
	}
	return false;
}

/*
 * Some blocks that seem to be mappings of their own may be the program's mappings. If that is
 * possible, all of them are roots.
 */
static void keep_mapped(struct job *job)
{
	const struct leak_marks *ret = job->ret;

	for (size_t i = 0; ret->walked && !job->walk->mmapped_certain && i < ret->held.nr; i++) {
		struct block block = packed_block(&ret->held, i);

		if (block.preattach && block.heap == LOG_HEAP_MMAP)
			add_words(job, SEARCH_MAPPED, 0, &block.address, 1);
	}
}

/* The memory in glibc's heaps that is not in blocks. */
static struct err *leave_out_heaps(struct job *job)
{
	const struct heap_walk *heaps = job->walk;
	struct err *err = NULL;

	for (size_t i = 0; spans_count(job) && i < heaps->spans.nr && !err; i++)
		err = add_range(&job->out, heaps->spans.at[i].start, heaps->spans.at[i].end);
	for (size_t i = 0; spans_count(job) && i < heaps->arenas.nr && !err; i++)
		err = add_range(&job->out, heaps->arenas.at[i].address,
				heaps->arenas.at[i].bins_end);
	return err;
}

/* The mappings of mdbg, which the kernel may have merged with their neighbours. */
static struct err *leave_out_ours(struct job *job)
{
	const struct region *region = job->view->region;
	const struct journal *journal = region ? region->journal : NULL;
	uint32_t nr = journal ? journal_entries(journal) : 0;
	struct err *err = NULL;

	for (uint32_t i = 0; i < nr && !err; i++) {
		const struct journal_entry *entry = &journal->entry[i];

		if ((entry->state == JOURNAL_PLANNED || entry->state == JOURNAL_DONE) &&
		    entry->kind != JOURNAL_TEXT && entry->kind != JOURNAL_SIGACTION &&
		    entry->kind != JOURNAL_FD)
			err = add_range(&job->out, entry->address, entry->address + entry->len);
	}
	return err;
}

static struct reach_range find_mapped(const struct job *job, uint64_t at)
{
	const struct proc_maps *maps = &job->view->maps;
	size_t low = LOWER_BOUND(i, 0, maps->vec.nr, maps->vec.at[i].end <= at);

	while (low < maps->vec.nr && leak_search_is_own(job->view->region, &maps->vec.at[low]))
		low++;
	if (low == maps->vec.nr)
		return (struct reach_range){ UINT64_MAX, UINT64_MAX };
	return (struct reach_range){ maps->vec.at[low].start, maps->vec.at[low].end };
}

/*
 * The function for reach_source.next_mapped. The addresses come in order, and mostly have the same
 * answer as the one before.
 */
static struct reach_range next_mapped(void *ctx, uint64_t at)
{
	struct job *job = ctx;

	if (at < job->asked || at >= job->mapped.end) {
		job->asked = at;
		job->mapped = find_mapped(job, at);
	}
	return (struct reach_range){ MAX(at, job->mapped.start), job->mapped.end };
}

/*
 * What is mapped nowhere counts as if it were there, so that it is noted that it cannot be read; a
 * core has its own notion of that.
 */
static bool next_present(void *ctx, uint64_t start, uint64_t end, struct reach_range *ret)
{
	struct job *job = ctx;
	struct memory *memory = job->view->memory;

	if (!job->view->pages_of)
		return memory_next(memory, start, end, &ret->start, &ret->end);
	while (start < end) {
		struct reach_range mapped = next_mapped(ctx, start);
		uint64_t stop = MIN(mapped.start > start ? mapped.start : mapped.end, end);

		if (mapped.start > start) {
			*ret = (struct reach_range){ start, stop };
			return true;
		}
		if (memory_next(memory, start, stop, &ret->start, &ret->end))
			return true;
		start = stop;
	}
	return false;
}

/*
 * What of the mapping is not read. Pages of the process's own that are not there were never written;
 * those of files that it maps privately have what the file has, and no pointer. Others may have
 * been written by somebody else, or before the kernel took them out of the page tables.
 */
static void note_unread(struct job *job, const struct proc_map *map)
{
	struct search_unread *unread = &job->ret->unread;
	uint64_t at = map->start, start, end, left = map->end - map->start;

	if (!map->shared || !job->view->pages_of)
		return;
	for (; memory_next(job->view->memory, at, map->end, &start, &end); at = end)
		left -= end - start;
	if (local_files_is_device(map) ||
	    local_files_place(&job->files, job->view->target->pid, map->dev_major,
			      map->dev_minor) == FILE_UNKNOWN)
		unread->elsewhere += left;
	else
		unread->absent += left;
}

static struct err *sort_maps(struct job *job)
{
	struct err *err = NULL;

	for (size_t i = 0; i < job->view->maps.vec.nr && !err; i++) {
		const struct proc_map *map = &job->view->maps.vec.at[i];

		if (map->exec)
			err = add_range(&job->code, map->start, map->end);
		if (err || !leak_search_is_root(job->view->region, map))
			continue;
		note_unread(job, map);
		err = add_range(has_blocks(job, map) ? &job->heap : &job->root, map->start,
				map->end);
	}
	return err;
}

/*
 * Chunks in use that are not listed as blocks: a call for them is under way, or a thread inside the
 * allocator has the address of an old one (heap/block.h). They may hold pointers.
 */
static struct err *add_left_out(struct job *job)
{
	struct chunk_at at = heap_chunks_start();
	struct heap_chunk chunk;
	struct err *err = NULL;

	while (!err && spans_count(job) && heap_chunks_next(&job->walk->chunks, &at, &chunk))
		if (chunk_held(&chunk) && chunk.note == NOTE_NONE)
			err = add_range(&job->heap, chunk.address,
					chunk.address + chunk_usable(&chunk));
	return err;
}

static void add_dtv(struct job *job, pid_t tid, uint64_t tp)
{
	const struct arch *arch = job->view->arch;
	uint64_t dtv;

	if (!tp || memory_read_u64(job->view->memory, tp + arch->dtv, &dtv))
		return;		/* no libc, no thread control block */
	dtv -= arch->dtv_first;
	add_words(job, SEARCH_DTV, tid, &dtv, 1);
}

/*
 * If there is a guard page below SP, the control block above it, and only one mapping in between,
 * then this is the stack of a thread of glibc or musl, even if the kernel has merged it with other
 * memory.
 */
static bool mappings_say(const struct job *job, uint64_t sp, uint64_t tp, uint64_t *start_ret)
{
	const struct proc_map *map = procparse_maps_find(&job->view->maps, sp);
	const struct proc_map *guard = map ? procparse_maps_find(&job->view->maps,
								 map->start - 1) : NULL;

	if (!map)
		return false;
	*start_ret = map->start;
	return guard && !guard->read && !guard->write && is_private_anonymous(map) && sp < tp &&
	       tp < map->end;
}

/* The memory below SP is not in use any more. */
static void add_stack(struct job *job, const struct memory_view_thread *thread)
{
	uint64_t sp = regs_get(&thread->regs, job->view->arch->sp), tp = thread->tp;
	const struct packed_block *block = block_at(job, sp);
	uint64_t start, end, address = block ? block->address : 0;

	if (block)		/* the stack of a coroutine: only SP points to it */
		add_words(job, SEARCH_STACK, thread->tid, &address, 1);
	else if (memory_view_stack(job->view, thread, &start, &end) ||
		 mappings_say(job, sp, tp, &start))
		job->err = add_range(&job->out, start, memory_view_stack_low(job->view, thread));
}

/* Words that have the address of a block's chunk, as the allocator itself uses it. */
static void add_chunks(struct job *job, pid_t tid, const uint64_t *word, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		uint64_t address = word[i] + CHUNK_HEADER;
		const struct packed_block *block = block_before(job, address);

		if (block && block->address == address && block->preattach)
			add_words(job, SEARCH_CHUNK, tid, &address, 1);
	}
}

/*
 * A thread may be freeing a block from before the attach, which has no record, or may have got one
 * that has no record yet. At some points inside the allocator it has only the address of the
 * block's chunk.
 */
static void add_chunks_in_use(struct job *job, const struct memory_view_thread *thread)
{
	uint64_t word[MEMORY_VIEW_STACK_WORDS];

	if (!thread->exit_low)
		add_chunks(job, thread->tid, thread->regs.word, job->view->arch->regs_words);
	add_chunks(job, thread->tid, word, memory_view_stack_words(job->view, thread, word));
}

static void look_at_thread(struct job *job, const struct memory_view_thread *thread)
{
	if (thread->stopped) {
		if (!thread->in_syscall)
			job->ret->blind_threads += thread->blind;
		add_dtv(job, thread->tid, thread->tp);
		if (job->ret->walked)
			add_chunks_in_use(job, thread);
	} else {
		job->ret->blind_threads++;
	}
	if (thread->placed && !job->err)
		add_stack(job, thread);
}

static void add_registers(struct job *job, const struct memory_view_thread *thread)
{
	if (!thread->stopped || thread->exit_low)
		return;
	add_words(job, SEARCH_REGISTER, thread->tid, thread->regs.word,
		  job->view->arch->regs_words);
	if (!thread->in_syscall && thread->nr_vectors)
		add_words(job, SEARCH_VECTOR, thread->tid, job->view->vectors.at + thread->vector,
			  thread->nr_vectors);
}

/*
 * Blocks that were freed since the moment of the view: the thread that freed one must have had its
 * address somewhere.
 */
static void add_freed(struct job *job)
{
	const struct packed_list *list = &job->ret->held;

	for (size_t i = 0; i < list->nr; i++) {
		uint64_t address = packed_at(list, i)->address;

		if (packed_at(list, i)->freed)
			add_words(job, SEARCH_FREED, 0, &address, 1);
	}
}

static struct err *look_at_threads(struct job *job)
{
	for (size_t i = 0; i < job->view->threads.nr && !job->err; i++)
		look_at_thread(job, &job->view->threads.at[i]);
	keep_mapped(job);
	add_freed(job);
	job->nr_certain = job->words.nr;
	for (size_t i = 0; i < job->view->threads.nr && !job->err; i++)
		add_registers(job, &job->view->threads.at[i]);
	return job->err;
}

static struct err *collect(struct job *job)
{
	struct err *err = sort_maps(job);

	job->tls_size = tls_static_size(job->view);
	if (!err)
		err = leak_stacks_ended(job->view, job->tls_size, &job->out);
	if (!err)
		err = leave_out_heaps(job);
	if (!err)
		err = leave_out_ours(job);
	if (!err)
		err = look_at_threads(job);
	if (!err)
		err = reach_ranges_subtract(&job->root, &job->out);
	if (!err)
		err = reach_ranges_subtract(&job->heap, &job->out);
	return err ? err : add_left_out(job);
}

/* The processor time of this thread, in ns. */
static uint64_t cpu_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Several times the memory of the process, since a search may read a block more than once. */
static uint64_t unasked(const struct job *job)
{
	struct proc_status status;

	if (!job->view->pages_of)
		return UINT64_MAX;
	if (procfs_status(job->view->pages_of, &status))
		return 0;
	return 4 * ((status.anonymous_kb + status.swap_kb) << 10) + UNASKED_LEAST;
}

/* The function for reach_source.frames. */
static uint32_t frames(void *ctx, uint32_t stack, uint64_t *pcs, uint32_t most)
{
	const struct job *job = ctx;
	struct log_stack_view view = { .nr = 0 };

	if (job->view->region)
		view = reader_stack(&job->view->region->log, stack);
	for (uint32_t i = 0; i < MIN(view.nr, most); i++)
		pcs[i] = view.pcs[i];
	return MIN(view.nr, most);
}

static struct reach_source source_of(struct job *job)
{
	return (struct reach_source){
		.memory = job->view->memory,
		.list = &job->ret->held,
		.root = job->root.vec.at, .nr_roots = job->root.vec.nr,
		.heap = job->heap.vec.at, .nr_heaps = job->heap.vec.nr,
		.stack = job->on_stack.vec.at, .nr_stacks = job->on_stack.vec.nr,
		.word = job->words.at, .nr_words = job->words.nr, .nr_certain = job->nr_certain,
		.code = job->code.vec.at, .nr_code = job->code.vec.nr,
		.next_present = next_present,
		.next_mapped = next_mapped,
		.frames = frames,
		.unasked = unasked(job),
		.ctx = job,
	};
}

static struct err *find_stacks(struct job *job)
{
	const struct memory_view *view = job->view;
	struct err *err = NULL;

	vec_each_while(thread, &view->threads, !err) {
		if (thread->placed && !block_at(job, regs_get(&thread->regs, view->arch->sp)))
			err = leak_stacks_add(view, thread, job->tls_size, &job->stacks);
	}
	return err;
}

/* What of the roots is of stacks goes to on_stack. */
static struct err *split_stacks(struct job *job)
{
	struct err *err = find_stacks(job);

	return err ? err : leak_stacks_split(&job->stacks, &job->root, &job->on_stack);
}

struct err *leak_search_run(const struct memory_view *view, const struct heap_walk *walk,
			    struct leak_marks *ret)
{
	struct job job = { .view = view, .walk = walk, .ret = ret,
			   .files = LOCAL_FILES_INIT };
	struct err *err = collect(&job);
	struct reach_source source;
	uint64_t begun;

	if (!err)
		err = split_stacks(&job);
	source = source_of(&job);
	begun = cpu_now();
	if (!err)
		err = reach_run(&source, &ret->mark);
	if (!err)
		trace_line("marked %" PRIu64 " bytes in %" PRIu64 " us", ret->mark.root_bytes +
			   ret->mark.heap_bytes + ret->mark.block_bytes, (cpu_now() - begun) / 1000);
	if (!err)
		err = leak_stacks_holders(&job.stacks, &job.origins, ret);
	job_free(&job);
	return err;
}

/* Words that repeat another one, or that are at no address, are not listed as places. */
static void drop_made_up(struct job *job)
{
	size_t nr = 0;

	for (size_t i = 0; i < job->words.nr; i++) {
		enum search_from from = job->origins.vec.at[i].from;

		if (from == SEARCH_DTV || from == SEARCH_STACK || from == SEARCH_MAPPED ||
		    from == SEARCH_FREED)
			continue;
		job->words.at[nr] = job->words.at[i];
		job->origins.vec.at[nr++] = job->origins.vec.at[i];
	}
	job->words.nr = job->origins.vec.nr = nr;
}

struct err *leak_search_referrers(const struct memory_view *view, struct find_address *find,
				  const struct referrers_spec *spec,
				  struct search_origins *origins, struct referrers *ret)
{
	struct job job = { .view = view, .walk = &find->heap.walk,
			   .ret = &find->in, .files = LOCAL_FILES_INIT };
	struct reach_source source;
	struct err *err = collect(&job);

	drop_made_up(&job);
	source = source_of(&job);
	*origins = job.origins;		/* spec->is_firm reads them */
	if (!err)
		err = referrers_find(&source, spec, ret);
	job.origins = (struct search_origins){ VEC_INIT };
	job_free(&job);
	return err;
}

struct err *leak_search_graph(const struct memory_view *view, struct leak_marks *in,
			      struct search_origins *origins, struct block_graph *ret)
{
	struct job job = { .view = view, .walk = &in->heap.walk, .ret = in,
			   .files = LOCAL_FILES_INIT };
	struct err *err = collect(&job);
	struct reach_source source;

	if (!err)
		err = split_stacks(&job);
	source = source_of(&job);
	if (!err)
		err = block_graph_build(&source, ret);
	*origins = job.origins;
	job.origins = (struct search_origins){ VEC_INIT };
	job_free(&job);
	return err;
}
