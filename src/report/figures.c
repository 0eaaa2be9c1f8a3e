/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The figures of `malloc`. Labels and dots are dbx's: scripts depend on them. */

#include "report/figures.h"

#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

#include "base/page.h"
#include "heap/block.h"
#include "inspect/heap_pages.h"
#include "probe/runtimes/runtimes.h"
#include "report/blocks.h"
#include "report/lack_text.h"
#include "report/moment_text.h"
#include "report/out.h"
#include "report/pool/pool_text.h"
#include "report/text_table.h"
#include "session/session.h"

static struct err *add_record(const struct block *block, uint64_t slot UNUSED, void *ctx)
{
	struct figures *figures = ctx;
	struct sample_share share = block_share(figures->sample, block);

	if (block->time > figures->until)
		return NULL;
	figures->records++;
	figures->record_bytes += block->size;
	if (block->heap == LOG_HEAP_USER) {
		figures->user_bytes += share.bytes;
		figures->user_blocks += share.blocks;
	} else {
		figures->bytes += share.bytes;
		figures->blocks += share.blocks;
	}
	return NULL;
}

/*
 * Make the accounts and the records agree, as for sites (log/log_totals.h). The accounts were read
 * first. So there may be records now that the accounts do not count; and each allocation that they
 * count and that has no record now was freed.
 */
static void hold_together(struct figures *figures)
{
	struct log_accounts *accounts = &figures->accounts;
	uint64_t held = figures->records + accounts->replaced;

	if (accounts->replaced > accounts->allocs)
		return;			/* the log is damaged: the figures stay as they are */
	accounts->allocs = MAX(accounts->allocs, held);
	accounts->frees = accounts->allocs - held;
	if (accounts->allocs == figures->records)
		accounts->alloc_bytes = figures->record_bytes;
	accounts->alloc_bytes = MAX(accounts->alloc_bytes, figures->record_bytes);
	accounts->free_bytes = accounts->alloc_bytes - figures->record_bytes;
}

/* What was freed since the moment of the walk was held then. */
static void add_gone(struct figures *figures, const struct walk_gone *gone)
{
	figures->records += gone->records;
	figures->record_bytes += gone->record_bytes;
	figures->bytes += gone->bytes;
	figures->blocks += gone->blocks;
}

static struct err *read_pages(struct figures *figures, const struct heaps *heap, pid_t pages_of)
{
	struct err *err;

	if (!heap->walked)
		return NULL;
	page_runs_free(&figures->pages);
	err = heap_pages_read(&heap->walk, pages_of, false, &figures->pages);
	figures->paged = !err;
	return err && err->code == ERR_NOMEM ? err : NULL;
}

static struct err *add_records(void *ctx, const struct heaps *heap,
			       const struct session_heap_moment *moment)
{
	struct figures *figures = ctx;
	struct err *err = read_pages(figures, heap, moment->pages_of);

	if (err || !moment->log)
		return err;
	figures->accounts = moment->accounts ? *moment->accounts : reader_accounts(moment->log);
	figures->until = moment->until;
	err = blocks_each(moment->log, moment->in_hand, add_record, ctx);
	add_gone(figures, &heap->gone);
	if (!err)
		hold_together(figures);
	return err;
}

static void add_chunks(struct figures *figures)
{
	const struct heap_walk *walk = &figures->heap.walk;
	struct chunk_at at = heap_chunks_start();
	struct heap_chunk chunk;

	while (figures->heap.walked && heap_chunks_next(&walk->chunks, &at, &chunk)) {
		if (chunk.note == NOTE_RECORDED && chunk.heap < walk->arenas.nr)
			figures->recorded[chunk.heap]++;
		if (chunk.note != NOTE_EARLY)
			continue;
		figures->early_bytes += chunk_usable(&chunk);
		figures->early_blocks++;
	}
	if (!figures->sample) {
		figures->bytes += figures->early_bytes;
		figures->blocks += figures->early_blocks;
	}
}

static struct err *add_free_space(struct figures *figures)
{
	return figures->heap.walked ? heap_pages_free_space(&figures->heap, &figures->pages,
							    &figures->space) : NULL;
}

static struct err *add_blocks(struct session *session, enum session_heap_how how,
			      struct figures *figures)
{
	const struct session_heap_look at = { add_records, figures };
	struct err *err = session_heap(session, how, &at, &figures->heap);

	if (err)
		return err;
	figures->recorded = calloc(figures->heap.walk.arenas.nr + 1, sizeof(*figures->recorded));
	err = figures->recorded ? add_free_space(figures) : err_nomem;
	if (!err)
		add_chunks(figures);
	else
		figures_free(figures);
	return err;
}

void figures_free(struct figures *figures)
{
	heaps_free(&figures->heap);
	free_space_free(&figures->space);
	page_runs_free(&figures->pages);
	free(figures->recorded);
}

static struct err *count_probes(struct session *session, struct figures *figures)
{
	struct session_probes probes = { VEC_INIT };
	struct err *err = session_probes(session, &probes);

	if (err)
		return err;
	vec_each(probe, &probes.vec) {
		bool jump = !strcmp(probe->engine, "jump");

		figures->jump += probe->active && jump;
		figures->breakpoint += probe->active && !jump;
	}
	vec_free(&probes.vec);
	return NULL;
}

static uint64_t realtime_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

struct err *figures_get(struct session *session, enum session_heap_how how,
			struct figures *ret)
{
	struct log *log = session_log(session);
	struct log_config config;
	struct figures figures = { 0 };
	struct session_core core;
	struct err *err;

	if (!log)
		return err_hint(err_create(ERR_STATE, "no process: nothing is recorded"),
				"attach PID");
	err = count_probes(session, &figures);
	if (err)
		return err;
	config = log_config(log);
	figures.sample = config.sample;
	log_clock_update(log);
	err = session_allocator_runtimes(session, &figures.runtimes);
	if (!err)
		err = add_blocks(session, how, &figures);
	if (err)
		return err;
	figures.allocator = session_allocator(session);
	figures.core = session_core(session, &core) ? core.path.bytes : NULL;
	figures.with_log = session_recorded(session);
	figures.armed = session_armed(session);
	figures.stack_depth = config.stack_depth;
	figures.free_history = config.free_history;
	figures.measured = session_cost(session, &figures.cost);
	figures.since_ns = !figures.with_log ? 0 : log_clock_realtime(log, log_clock_begin(log));
	figures.now_ns = realtime_ns();
	figures.allocs = figures.accounts.allocs + figures.accounts.unsampled;
	figures.frees = figures.accounts.frees + figures.accounts.unsampled_frees;
	figures.usage = log_usage(log);
	figures.stacks = reader_stacks(log);
	*ret = figures;
	return NULL;
}

/* "    Stack Depth................. ": indent, label, dots up to column width, a blank. */
static void label(struct out *out, size_t indent, const char *text, size_t width)
{
	static const char dots[] = "........................................";
	size_t len = strlen(text);

	out_blanks(out, indent);
	out_text(out, text);
	out_bytes(out, dots, len < width ? MIN(width - len, sizeof(dots) - 1) : 2);
	out_text(out, " ");
}

static void option(struct out *out, size_t indent, const char *text)
{
	label(out, indent, text, 36 - indent);
}

static void statistic(struct out *out, size_t indent, const char *text, uint64_t value)
{
	label(out, indent, text, 33);
	out_f(out, "%" PRIu64 "\n", value);
}

static void bytes_statistic(struct out *out, size_t indent, const char *text, uint64_t bytes)
{
	label(out, indent, text, 33);
	out_f(out, "%s\n", number_text_size(out, bytes).at);
}

static void print_options(const struct figures *figures, struct out *out)
{
	char since[32];

	out_heading(out, "The following options are enabled:");
	option(out, 4, "Implementation Algorithm");
	out_f(out, "%s\n", figures->allocator ? figures->allocator : "unknown");
	if (figures->core) {
		option(out, 4, "Core File");
		out_outside(out, (struct outside){ figures->core });
		out_text(out, "\n\n");
		return;
	}
	option(out, 4, "Probes");
	if (!figures->with_log) {
		out_text(out, "none (`malloc on` puts them in)\n\n");
		return;
	}
	out_f(out, "%u jump, %u breakpoint%s\n", figures->jump, figures->breakpoint,
	      figures->armed ? "" : " (off)");
	out_text(out, "    Malloc Log\n");
	option(out, 8, "Stack Depth");
	out_f(out, "%u\n", figures->stack_depth);
	option(out, 8, "Sampling");
	if (figures->sample)
		figures_print_mean(figures, "what is held is an estimate\n", out);
	else
		out_text(out, "off\n");
	if (figures->measured) {
		option(out, 8, "Cost");
		figures_print_cost(&figures->cost, figures->breakpoint, out);
		out_text(out, "\n");
	}
	option(out, 8, "Recording since");
	number_text_time(since, sizeof(since), figures->since_ns);
	out_f(out, "%s (%" PRIu64 " s)\n\n", since,
	      (figures->now_ns > figures->since_ns ?
				   (figures->now_ns - figures->since_ns) / 1000000000 : 0));
}

/*
 * Only the main heap of the first C library is made by sbrk. If sbrk has failed, parts of it are
 * made by mmap: the pages of its spans that lie outside of what brk gave.
 */
struct figures_acquired figures_acquired(const struct figures *figures, size_t number)
{
	const struct heaps *heap = &figures->heap;
	uint64_t all = heap->walk.arenas.at[number].system_mem, mapped = 0;

	if (!heap->walk.arenas.at[number].brk)
		return (struct figures_acquired){ .mmap = all };
	vec_each(span, &heap->walk.spans) {
		if (span->heap == number && (span->start < heap->brk_start || span->start >= heap->brk))
			mapped += ALIGN_UP(span->end, PAGE) - ALIGN_DOWN(span->start, PAGE);
	}
	mapped = MIN(mapped, all);
	return (struct figures_acquired){ .sbrk = all - mapped, .mmap = mapped };
}

uint64_t figures_acquired_by_all(const struct figures *figures)
{
	uint64_t sum = 0;

	vec_each(arena, &figures->heap.walk.arenas)
		sum += arena->system_mem;
	return sum;
}

/* Print a heap's number, with the C library that has it if there are several. */
static void print_number(const struct figures *figures, size_t number, struct out *out)
{
	const struct heaps *heap = &figures->heap;
	const struct heaps_libc *libc = &heap->libc[heap->walk.arenas.at[number].libc];

	out_f(out, "    Heap %zu", number);
	if (heap->nr_libcs > 1) {
		out_text(out, " (of ");
		out_outside(out, (struct outside){ libc->name });
		out_f(out, " at " PRI_ADDRESS ")", libc->start);
	}
	out_text(out, "\n");
}

static void print_lock(const struct heap_arena *arena, struct out *out)
{
	label(out, 8, "heap lock held by", 33);
	if (arena->locked && arena->doubt.thread)
		out_f(out, "%d\n", arena->doubt.thread);
	else
		out_text(out, arena->locked ? "a thread (not known which)\n" : "UNLOCKED\n");
}

/*
 * Memory that is neither free nor in a thread's cache is held by the user, with its headers. So the
 * held, free and cached bytes add up to those acquired by sbrk and mmap. They would not if the walk
 * has not seen all of a heap; then the bytes of the blocks that it has seen are printed. Bare chunks
 * have no headers, and lie beside data of the allocator.
 */
static void print_heap(const struct figures *figures, size_t number, struct out *out)
{
	const struct heap_arena *arena = &figures->heap.walk.arenas.at[number];
	struct figures_acquired acquired = figures_acquired(figures, number);
	uint64_t cached = arena->bytes[CHUNK_CACHED];
	uint64_t open = arena->bytes[CHUNK_FAST] + arena->bytes[CHUNK_FREE] +
			arena->bytes[CHUNK_TOP] + arena->bytes[CHUNK_KEPT];

	print_number(figures, number, out);
	if (!arena->bare)
		print_lock(arena, out);
	if (arena->brk)
		bytes_statistic(out, 8, "bytes acquired from sbrk()", acquired.sbrk);
	if (!arena->brk || acquired.mmap)
		bytes_statistic(out, 8, "bytes acquired from mmap()", acquired.mmap);
	if (!arena->bare)
		bytes_statistic(out, 8, "most that it ever was", arena->max_system_mem);
	bytes_statistic(out, 8, "bytes in the freespace tree", open);
	bytes_statistic(out, 8, "largest free chunk", arena->largest_free);
	bytes_statistic(out, 8, "bytes in threads' caches", cached);
	if (arena->bare)
		bytes_statistic(out, 8, "bytes held", arena->bytes[CHUNK_USED]);
	else
		bytes_statistic(out, 8, "bytes held, with headers",
				arena->whole && arena->system_mem >= open + cached ?
					arena->system_mem - open - cached :
					arena->bytes[CHUNK_USED]);
	statistic(out, 8, "allocations currently active", arena->chunks[CHUNK_USED]);
	if (figures->with_log)
		statistic(out, 8, "since attach, and still held", figures->recorded[number]);
	if (!arena->whole)
		out_f(out, "        (%s: `malloc check`; the figures are of the part that could be "
			   "walked)\n",
		      arena->damaged ? "damaged" : "damaged, or in the middle of a change");
}

static void print_heaps(const struct figures *figures, struct out *out)
{
	const struct heaps *heap = &figures->heap;

	for (size_t i = 0; heap->walked && i < heap->walk.arenas.nr; i++)
		print_heap(figures, i, out);
	if (!heap->walked) {
		out_f(out, "    (no statistics by heap, nor blocks from before the attach: %s)\n",
		      heap->why);
		return;
	}
	out_text(out, "    The Process Heap\n");
	label(out, 8, "Initial process brk value", 33);
	out_f(out, PRI_ADDRESS "\n", heap->brk_start);
	label(out, 8, "current process brk value", 33);
	out_f(out, PRI_ADDRESS "\n", heap->brk);
	bytes_statistic(out, 8, "bytes mapped on their own", heap->walk.mmapped_bytes);
	statistic(out, 8, "blocks mapped on their own", heap->walk.mmapped);
	if (!heap->walk.mmapped_certain)
		out_text(out, "        (not all of them were found, or more than there are)\n");
	if (!heap->walk.caches_known)
		out_text(out, "        (not all threads' caches were found: what is in them counts "
			      "as held)\n");
	if (*heap->why)
		out_f(out, "        (%s)\n", heap->why);
}

/* The sums over the heaps, and what keeps their free memory resident. */
static void print_free_space(const struct figures *figures, struct out *out)
{
	const struct free_sum *all = &figures->space.all;

	if (!figures->heap.walked)
		return;
	bytes_statistic(out, 8, "bytes acquired for heaps", figures_acquired_by_all(figures));
	bytes_statistic(out, 8, "bytes in the freespace tree", all->bytes);
	if (figures->paged) {
		bytes_statistic(out, 8, "of them resident", all->resident);
		bytes_statistic(out, 8, "malloc trim gives back", all->kept[FREE_TRIMMED]);
		bytes_statistic(out, 8, "kept by live blocks (pins)", all->kept[FREE_PINNED]);
		bytes_statistic(out, 8, "kept at the ends of arenas", all->kept[FREE_END]);
	}
	bytes_statistic(out, 8, "bytes in threads' caches", all->cached);
}

static void print_statistics(const struct figures *figures, struct out *out)
{
	out_heading(out, "Statistical Report on the Malloc Subsystem:");
	print_heaps(figures, out);
	out_text(out, "    All Heaps\n");
	bytes_statistic(out, 8, "bytes held by the user", figures->bytes);
	statistic(out, 8, "allocations currently active", figures->blocks);
	if (!figures->with_log) {
		print_free_space(figures, out);
		out_text(out, "\n");
		return;
	}
	if (figures->heap.walked) {
		statistic(out, 8, figures->heap.complete ? "of them from before the attach" :
			  "of them not recorded", figures->early_blocks);
	} else {
		label(out, 8, "and from before the attach", 33);
		out_text(out, "not known\n");
	}
	statistic(out, 8, "allocations since attach", figures->allocs);
	statistic(out, 8, "frees since attach", figures->frees);
	print_free_space(figures, out);
	if (figures->user_blocks) {
		out_text(out, "    The Program's Own Allocators (probe)\n");
		bytes_statistic(out, 8, "bytes in their blocks", figures->user_bytes);
		statistic(out, 8, "blocks", figures->user_blocks);
	}
	out_text(out, "\n");
}

void figures_print_mean(const struct figures *figures, const char *then, struct out *out)
{
	if (figures->sample > 1)
		out_f(out, "one in %" PRIu64 " bytes; %s", figures->sample, then);
	else
		out_f(out, "none now; %s", then);
}

static void print_rate(const struct session_cost *cost, struct out *out)
{
	if (cost->one_of >= 9.5)
		out_f(out, "1 of %.0f blocks, by weights; ", cost->one_of);
	else if (cost->one_of >= 1.005)
		out_f(out, "1 of %.1f blocks, by weights; ", cost->one_of);
	else if (cost->one_of > 0)
		out_text(out, "all blocks; ");
}

void figures_print_cost(const struct session_cost *cost, unsigned breakpoints, struct out *out)
{
	print_rate(cost, out);
	if (cost->lately < 0)
		out_text(out, "the cost is not known yet");
	else if (cost->lately < 0.01)
		out_text(out, "less than 0.01 % of processor time");
	else
		out_f(out, "%s%.*f %% of processor time", cost->clocked ? "" : "an estimated ",
		      cost->lately < 0.1 ? 2 : cost->lately < 10 ? 1 : 0, cost->lately);
	if (cost->bound)
		out_f(out, ", of %g %% at most", cost->bound / 100.0);
	if (cost->fails)
		out_text(out, ": no rate keeps that, as to pass blocks by takes most of it");
	if (breakpoints)
		out_f(out, "; the stops of %u breakpoint probe%s are not measured", breakpoints,
		      breakpoints == 1 ? "" : "s");
}

static void print_accounts(const struct figures *figures, struct out *out)
{
	const struct log_accounts *accounts = &figures->accounts;

	out_heading(out, "Accounts (every event is in one of them):");
	statistic(out, 4, "blocks recorded", accounts->allocs);
	statistic(out, 4, "blocks freed", accounts->frees);
	statistic(out, 4, "blocks replaced", accounts->replaced);
	statistic(out, 4, "not recorded (table full)", accounts->table_full);
	statistic(out, 4, "frees of unknown blocks", accounts->unknown_frees);
	statistic(out, 4, "of them of known size", accounts->sized_frees);
	statistic(out, 4, "bytes of these", accounts->sized_bytes);
	statistic(out, 4, "double frees", accounts->double_frees);
	statistic(out, 4, "frees by the allocator itself", accounts->own_frees);
	statistic(out, 4, "frees of NULL", accounts->null_frees);
	statistic(out, 4, "allocations that failed", accounts->failed);
	statistic(out, 4, "nested operations", accounts->nested);
	statistic(out, 4, "operations never returned", accounts->voided);
	statistic(out, 4, "blocks without stack (full)", accounts->unstacked);
	statistic(out, 4, "stacks cut at new libraries", accounts->undeferred);
	if (figures->sample) {
		statistic(out, 4, "blocks passed by sampling", accounts->unsampled);
		statistic(out, 4, "frees of others than sampled", accounts->unsampled_frees);
	}
	out_text(out, "\n");
	out_heading(out, "Memory of the log:");
	statistic(out, 4, "bytes of allocation tables", figures->usage.table_bytes);
	statistic(out, 4, "records that fit in them", figures->usage.table_slots);
	statistic(out, 4, "bytes of stacks", figures->usage.stack_bytes);
	statistic(out, 4, "stacks", figures->stacks);
	statistic(out, 4, "frees that are remembered", figures->free_history);
	statistic(out, 4, "other bytes", figures->usage.other_bytes);
	out_text(out, "\n");
}

static struct err *print_probes(struct session *session, struct out *out)
{
	static const char *const titles[] = { "FUNCTION", "MODULE", "ADDRESS", "ENGINE", "WHY" };
	struct session_probes probes = { VEC_INIT };
	struct err *err = session_probes(session, &probes);
	struct table table;

	if (err)
		return err;
	text_table_init(&table, ARRAY_SIZE(titles), titles);
	for (size_t i = 0; i < probes.vec.nr; i++) {
		const struct session_probe *probe = &probes.vec.at[i];

		text_table_cell(&table, "%s", probe->function);
		text_table_cell(&table, "%s", probe->module);
		text_table_cell(&table, "0x%016" PRIx64, probe->address);
		text_table_cell(&table, "%s", probe->active ? probe->engine : "none");
		text_table_cell(&table, "%s", probe->why);
	}
	vec_free(&probes.vec);
	out_heading(out, "Probes:");
	err = text_table_print(&table, out);
	out_text(out, "\n");
	return err;
}

static void print_runtimes(const struct runtimes *runtimes, struct out *out)
{
	for (size_t i = 0; i < runtimes->nr; i++)
		out_f(out, "Not in these figures: %s; %s\n", runtimes->at[i]->heap,
		      runtimes->at[i]->help);
}

struct err *figures_print(struct session *session, const struct figures *figures, bool verbose,
			  struct out *out)
{
	struct err *err;

	print_options(figures, out);
	print_statistics(figures, out);
	if (!figures->with_log) {
		print_runtimes(figures->runtimes, out);
		blocks_print_heap_stood(&figures->heap, out);
		return NULL;
	}
	if (verbose) {
		print_accounts(figures, out);
		moment_text_print_history(session, out);
		err = print_probes(session, out);
		if (err)
			return err;
	}
	print_runtimes(figures->runtimes, out);
	err = pool_text_print(session, out);
	if (!err)
		err = lack_text_print(session, out);
	if (err)
		return err;
	blocks_print_heap_stood(&figures->heap, out);
	out_f(out, "Log: %" PRIu64 " records, %" PRIu64 " not recorded (table full), %" PRIu64
		   " frees of unknown blocks",
	      figures->records, figures->accounts.table_full, figures->accounts.unknown_frees);
	if (figures->sample)
		out_f(out, ", %" PRIu64 " blocks and %" PRIu64 " frees not sampled",
		      figures->accounts.unsampled,
		      figures->accounts.unsampled_frees);
	out_text(out, "\n");
	return NULL;
}
