/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The log: directory and tables of records, stack table, thread registry and accounts, in one
 * shared region. It is written by the tracer (breakpoint probes) or, in the target, by the agent,
 * and read by mdbg at any moment without stopping anybody. The same C is compiled into both (files
 * that the agent includes are freestanding: no libc, no system call, no fault), and everything in
 * the region is addressed by offset, since it lies at different addresses in the two processes.
 *
 * Theory of operation, protocols and invariants are in directory.h, block_table.h and
 * stack_table.h.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/host.h"
#include "base/compiler.h"

#define LOG_VERSION		18
#define LOG_STACK_NONE		0	/* stack id: no stack was taken */
#define LOG_STACK_DAMAGED	UINT32_MAX	/* given to readers for an id that cannot exist */
#define LOG_DEPTH_MAX		128
#define LOG_HEAP_UNKNOWN	0xffff	/* heap: not known to the writer */
#define LOG_HEAP_MMAP		0xfffe	/* heap: a block mapped on its own */
#define LOG_HEAP_USER		0xfffd	/* heap: of an allocator that the user has named */
#define LOG_REGION_MIN		(16ull << 20)
#define LOG_REGION_MAX		(1ull << 42)
#define LOG_FREES_MAX		65536u	/* most frees in a free history (free_history.h) */
#define LOG_SPACING		32u	/* bytes (log_set_near_size) */
#define LOG_TABLES		40	/* most tables, in a region of LOG_REGION_MAX */

enum log_unknown_free_kind { LOG_UNKNOWN_FREE_DOUBLE, LOG_UNKNOWN_FREE_OTHER,
			    LOG_UNKNOWN_FREE_KINDS };

struct deferred_copy;
struct directory_extent;
struct directory_line;
struct deferred_table;
struct log_free_slot;
struct log_growth_slot;
struct log_ref_slot;
struct log_unknown_free_slot;

struct log_table {
	struct log_window *window;
	uint32_t nr;
	uint32_t turn;			/* of hashes */
};

/* How many bytes of each part, from its start on, log_reserve has faulted in. */
struct log_reserved {
	uint64_t header, threads, thread_index, stack_index, stack_directory, arena, unknown_frees,
		     counting_filter,
		freed, deferred, growth, extents, tables;
	uint64_t places;	/* of the directory, from the first on (directory.h) */
	uint64_t places_seen;	/* that were taken at the last call */
	uint64_t left;		/* bytes that this call may still fault in */
};

/*
 * A view of a region that is mapped here. The caller provides its memory (nothing is allocated: the
 * agent has one in its data). Where the parts lie follows from the size of the region alone
 * (log_layout.h), so that nothing that the target writes can lead out of it.
 */
struct log {
	uint8_t *base;			/* start of the region (the journal) */
	uint64_t size;			/* bytes mapped: journal's region_size */
	uint64_t share;			/* bytes of memory for records (log_layout.h) */
	struct log_header *header;	/* at base + journal's log_offset */
	/* The rest is internal to this layer. */
	struct log_entry *thread;
	uint8_t *counting_filter;		/* of a log that samples (counting_filter.h) */
	uint32_t *thread_index;		/* 2 * nr_threads */
	uint32_t nr_threads;
	uint32_t nr_stacks;
	uint32_t stack_levels;
	uint32_t nr_tables;		/* that there is room for */
	uint32_t newest;		/* table in which to look first: a hint */
	uint64_t *hint;			/* where addresses were found last (block_table.h) */
	uint64_t hint_units;		/* that a hint may name */
	uint64_t *extent_map;		/* extent_mask + 1 entries (directory.h) */
	uint64_t extent_mask;
	uint64_t nr_extents;		/* that there is room for */
	struct directory_extent *extent;
	struct directory_line *directory;
	uint64_t *stack_index;
	uint32_t *stack_directory;	/* nr_stacks + 1 */
	uint8_t *arena;
	uint64_t arena_size;
	struct log_unknown_free_slot *unknown[LOG_UNKNOWN_FREE_KINDS];
	struct deferred_table *deferred;
	struct deferred_copy *deferred_copy;
	uint32_t nr_deferred;		/* copies that there is room for; DEFERRED_COPIES at most */
	struct log_free_slot *freed;
	uint32_t nr_frees;		/* that there is room for; LOG_FREES_MAX at most */
	struct log_growth_slot *growth;
	uint64_t nr_growth;		/* a power of two */
	struct log_ref_slot *ref;
	uint64_t nr_refs;		/* a power of two */
	uint64_t refs_reserved;		/* as in `reserved` */
	struct log_table table[LOG_TABLES];
	struct log_reserved reserved;
};

/*
 * One log may have blocks of several processes: bits 48 to 54 of a record's address are the number
 * of the process, 0 for the first one. Bit 55 is set for blocks of allocators that the user has
 * named: they lie inside of malloc's blocks, perhaps at the same address.
 */
#define LOG_PROCESS_SHIFT	48
#define LOG_PROCESSES		128
#define LOG_DOMAIN_SHIFT	55
#define LOG_DOMAIN_USER		(1ull << LOG_DOMAIN_SHIFT)
#define LOG_SIZE_BITS		48
#define LOG_SIZE_MAX		((1ull << LOG_SIZE_BITS) - 1)	/* of a record; larger blocks have it */

/* One allocation, in the form in which it is written and read. */
struct log_record {
	uint64_t address;		/* key; not 0; below 2^56 */
	uint64_t size;			/* bytes asked for; at most LOG_SIZE_MAX */
	/* time stamp: log_now(); increasing for one writer, unique */
	uint64_t time;
	uint32_t thread;		/* index into the registry */
	uint32_t stack;			/* stack id, or LOG_STACK_NONE */
	uint16_t heap;			/* arena number or LOG_HEAP_* */
	uint8_t rate;			/* at which it was sampled (sample.h); 0: the log has one mean */
};

/* A free of a block that the table had (free_history.h). */
struct log_free {
	uint64_t address;		/* as in a record */
	uint64_t block_time;		/* of the record: it identifies the block */
	uint64_t time;			/* of the free */
	uint32_t thread, stack;		/* who freed it; stacks begin with the function called */
};

/* A free of a block that the table does not have. */
struct log_unknown_free {
	uint64_t address;		/* as in a record */
	uint64_t time;			/* of the free */
	uint32_t thread, stack;		/* who frees; stacks begin with the function called */
	/* the address is in the part of that thread's stack that is in use */
	bool on_stack;
	/* LOG_UNKNOWN_FREE_DOUBLE: */
	struct log_record block;	/* as it was until the first free */
	struct log_free first;		/* the first free; time 0: not remembered */
	uint32_t history;		/* how many frees were remembered then */
};

/* Accounts: every event is in exactly one of those marked *. Sums over all writers. */
struct log_accounts {
	uint64_t allocs;		/* * blocks recorded */
	uint64_t alloc_bytes;
	uint64_t frees;			/* * blocks taken out by free (or realloc) */
	/* theirs and those of the replaced: alloc_bytes - free_bytes are live */
	uint64_t free_bytes;
	uint64_t table_full;		/* * blocks not recorded since the table is full */
	/*
	 * * records that were found at the address of a new block (their free was not seen) and
	 * replaced; the new one is counted in allocs, the old one here instead of in frees
	 */
	uint64_t replaced;
	uint64_t unknown_frees;		/* * frees of blocks that are not in the table */
	uint64_t null_frees;		/* * free(NULL) */
	uint64_t failed;		/* * allocations that returned NULL */
	/* * inner operations dropped, since the outer one returned the same block */
	uint64_t nested;
	/*
	 * blocks whose stack could not be kept since the stack table is full (they are in allocs)
	 */
	uint64_t unstacked;
	/* * operations entered but never returned (longjmp, exception, thread's end) */
	uint64_t voided;
	/* For a log that samples (0 otherwise): */
	uint64_t unsampled;		/* * blocks passed over */
	/* * frees of blocks that are not in the table, which counts none in unknown_frees */
	uint64_t unsampled_frees;
	/* Unknown frees (log_unknown_free.h): what would else be in unknown_frees. */
	/* * of a block that was freed before, and not given out again */
	uint64_t double_frees;
	uint64_t own_frees;		/* * by the allocator itself, at the end of a thread */
	/* walks that ended in no module, without a copy being kept (log_deferred.h) */
	uint64_t undeferred;
	/* Of unknown_frees: blocks whose size is known (log_unknown_free.h), and their bytes. */
	uint64_t sized_frees;
	uint64_t sized_bytes;
	/*
	 * The agent's time, where the log samples, in ticks of log_now: all of its slow path, and of
	 * one in AGENT_TIMED calls of the fast path.
	 */
	uint64_t slow_ticks;
	uint64_t timed_calls;
	uint64_t timed_ticks;
};

/*
 * What was freed or resized of blocks that the log does not have: nearly always such as are from
 * before the attach. Sums since the log began.
 */
struct log_older {
	bool known;			/* false: the log samples, and cannot tell these frees */
	uint64_t bytes, frees;		/* of blocks whose size is known, as the allocator rounds it */
	uint64_t unsized;		/* frees of blocks whose size is not known */
};

struct log_config {
	/* bytes of the region, LOG_REGION_MIN at least; it takes half as much memory at most */
	uint64_t region_size;
	uint32_t stack_depth;		/* frames a stack, 1 to LOG_DEPTH_MAX */
	/*
	 * 0, or mean bytes between samples (sample.h). If there is a cost, log_config gives the mean
	 * of now, and log_format needs none.
	 */
	uint64_t sample;
	/* the bound by which the mean changes, in hundredths of a percent; 0: it does not */
	uint32_t cost;
	/* frees that are remembered, LOG_FREES_MAX at most; of a log that samples 0 */
	uint32_t free_history;
};

/*
 * The view of a region that log_format has made, at wherever it is mapped here. False: there is no
 * log of this version that fits in size bytes. log_open gives the reason as an error.
 */
bool log_view(void *base, uint64_t size, struct log *ret);
/*
 * The view for another process, in which offset 0 of the region lies (or would lie, if that part is
 * not mapped there) at address base. It is computed without reading memory. False: base is not
 * page-aligned, or the region would go past the end of the address space.
 */
bool log_view_at(const struct log *mapped, uint64_t base, struct log *ret);

/* The processor's time stamp (see log/log_clock.h for its meaning). */
static inline uint64_t log_now(void)
{
	return intrinsic_stamp();
}

/*
 * Put a record in. True: it is in; *replaced (may be NULL) then has the record that was at this
 * address before, with address 0 if there was none. False: there is no room, which is counted in
 * table_full. These functions keep the accounts of thread record->thread.
 */
bool log_record_insert(struct log *log, const struct log_record *record,
		       struct log_record *replaced);
/*
 * Take the record of address out (*ret, which may be NULL) and count it as freed by thread; or
 * count a free of an unknown block, or of one that was not sampled, and return false. Unless the
 * log samples, ret->address then says whether there is a retired record (block_table.h): it is
 * address if there is one, else 0.
 */
bool log_record_remove(struct log *log, uint64_t address, uint32_t thread, struct log_record *ret);
/* Find the record of address, without a change. */
bool log_record_lookup(const struct log *log, uint64_t address, struct log_record *ret);
/*
 * Has there been a record of address since the last reset? True if it is there now, or was there
 * and no other record has taken its slot since. So true is certain; false means only that nothing
 * is known.
 */
bool log_record_knew(const struct log *log, uint64_t address);
/*
 * The last record of address, if its block was freed and no other record has taken its slot since
 * (block_table.h, retired records).
 */
bool log_record_retired(const struct log *log, uint64_t address, struct log_record *ret);
/*
 * A block was certainly freed: remember by whom, if frees are remembered. For the writer that has
 * taken out its record.
 */
void free_history_note(struct log *log, const struct log_free *free);
/* The free of the block that was recorded at this address with this time, if it is remembered. */
bool free_history_first(const struct log *log, uint64_t address, uint64_t block_time,
			struct log_free *ret);
/*
 * Find the block that was at address at an earlier moment, time stamp `until`, as far as the table
 * still has it: a record that was taken out since stays in its slot until another record takes
 * that.
 *
 *	LOG_PAST	its record (*ret), which is there still or was taken out: perhaps since then, and
 *			if not, there was none at that moment
 *	LOG_SINCE	the address was given out since; what was there before is not known
 *	LOG_NEVER	nothing is known of it
 */
enum log_past { LOG_NEVER, LOG_PAST, LOG_SINCE };
enum log_past log_record_past(const struct log *log, uint64_t address, uint64_t until,
			      struct log_record *ret);
/*
 * Put back a record that log_record_remove took (a realloc that failed): as if it had not been
 * removed, accounts too.
 */
bool log_record_restore(struct log *log, const struct log_record *record, uint32_t thread);

/*
 * Events that change no record. `what` is the offset of the field in struct log_accounts:
 * LOG_ACCOUNT(failed).
 */
#define LOG_ACCOUNT(field)	((unsigned)(offsetof(struct log_accounts, field) / sizeof(uint64_t)))
void registry_count(struct log *log, uint32_t thread, unsigned what, uint64_t by);

/*
 * The id of a stack. It is the same for the same PCs, end and generation. LOG_STACK_NONE: there is
 * no room (the caller counts unstacked). pcs[0] is the innermost.
 */
uint32_t stack_table_insert(struct log *log, const uint64_t *pcs, uint32_t nr, uint8_t end,
			    uint32_t generation);
/*
 * The stack to be shown to a reader: for a deferred stack (log_deferred.h) the whole one, if that
 * is known, else the stack itself. All ids that readers get with records have gone through this
 * function, and reader_stack calls it, too.
 */
uint32_t log_deferred_whole(const struct log *log, uint32_t stack);
/*
 * Add to a stack's all-time counts. The number of freed blocks is these minus the live ones, which
 * a scan counts: to count frees would take two more atomics for each free.
 */
void stack_table_count(struct log *log, uint32_t stack, uint64_t blocks, uint64_t bytes);

/*
 * The registry entry of the thread with this thread pointer and LWP id; a new one is made if there
 * is none. If the registry is full the result is 0, the shared entry (then thread and pthread_t are
 * unknown). The entry of a thread that has ended stays, because records refer to it.
 */
uint32_t registry_thread(struct log *log, uint64_t thread_pointer, uint32_t lwp);

#include "base/err.h"

/*
 * Format a region of config->region_size zero bytes mapped at base (its file may be sparse). The journal
 * is formatted too.
 */
struct err *log_format(void *base, const struct log_config *config, struct log *ret) MUST_CHECK;
/* Format a region in which there is a journal already, and keep that. */
struct err *log_format_behind(void *base, const struct log_config *config,
			      struct log *ret) MUST_CHECK;
/*
 * Remember the last nr frees from now on (0: none). May be called at any time; log_reserve must be
 * called after it. ERR_USAGE: the region has no room for so many, or the log samples; nothing has
 * changed.
 */
struct err *log_set_free_history(struct log *log, uint32_t nr) MUST_CHECK;
/*
 * Sample at this rate from now on; 0 changes nothing. May be called at any time by any thread. A log
 * that does not sample, or that has one mean for ever, stays as it is.
 */
void log_set_rate(struct log *log, uint8_t rate);
/*
 * Set the bound of such a log, of which a later mdbg must know (sample_cost.h); 0: none, and all is
 * recorded from now on. False: it is no such log.
 */
bool log_set_cost(struct log *log, uint32_t cost);
/* Of a log that nothing writes to: what is counted by its stacks was sampled so (struct log_config). */
void log_set_sampled(struct log *log, uint64_t mean, uint32_t cost);
/*
 * A view of a region that exists. ERR_FORMAT: it is not a log, or it has another version; the
 * message says which.
 */
struct err *log_open(void *base, uint64_t size, struct log *ret) MUST_CHECK;
struct log_config log_config(const struct log *log);

/*
 * A stack, in the region's own memory (readable as long as the region is mapped). nr is 0 for
 * LOG_STACK_NONE and bad ids. If a deferred stack has its whole stack, its own counts are 0 here,
 * and log_totals_begin (log_totals.h) adds them to those of the whole one.
 */
struct log_stack_view {
	const uint64_t *pcs;
	uint32_t nr;
	uint8_t end;			/* enum walk_end */
	uint32_t generation;
	uint64_t total, total_bytes;	/* all-time */
};
struct log_stack_view reader_stack(const struct log *log, uint32_t stack);
uint32_t reader_stacks(const struct log *log);	/* ids run from 1 to this */

struct log_thread_view {
	uint64_t thread_pointer;	/* 0: unknown */
	uint32_t lwp;			/* 0: unknown */
};
struct log_thread_view reader_thread(const struct log *log, uint32_t thread);

/* slot, which is not 0, is the place of the record. */
typedef bool log_each_fn(const struct log_record *record, uint64_t slot, void *ctx);
/*
 * Call fn for every record, in no order, each one consistent in itself; the scan ends if fn returns
 * true. Blocks that live through the whole scan come exactly once. An address that is freed and
 * given out again meanwhile may come twice, with different times. A block that a realloc is moving
 * (between log_record_remove and log_record_restore or log_record_insert) is not in the table:
 * except for a few instructions, the state of the agent's thread that runs the call has it in op[]
 * (log/ledger.h: `old`, if `took` is set). Compare address and time when you merge the two: for a
 * moment the block may be in both.
 */
void reader_each(const struct log *log, log_each_fn *fn, void *ctx);
/*
 * The record that is now in a slot; false if there is none. A record stays in its slot as long as
 * it is live, so a caller may keep the slot's number instead of a copy, and compare the time to see
 * that it is still the same record. Any number may be passed.
 */
bool reader_slot(const struct log *log, uint64_t slot, struct log_record *ret);
/*
 * Call fn for the unknown frees that are remembered (log_unknown_free.h), oldest first, until it
 * returns true. Each is consistent in itself, but may be nonsense, because the target can write it.
 */
void reader_each_unknown_free(const struct log *log, enum log_unknown_free_kind kind,
			      bool (*fn)(const struct log_unknown_free *unknown, void *ctx),
			      void *ctx);
/*
 * Blocks of more than `size` bytes begin LOG_SPACING bytes apart, or more, by all that is known of
 * an allocator that is probed from now on. The largest size of all calls counts. Before the first
 * call nothing is known. It may be called while others write.
 */
void log_set_near_size(struct log *log, uint32_t size);
/*
 * Up to now allocations may have gone unrecorded (probes were out, or not all in): retired records
 * from before do not prove a double free.
 */
void log_note_gap(struct log *log);
/*
 * The sums over all threads. They are consistent only while nobody writes. Frees are read before
 * allocations: a block is counted as recorded before anybody can free it, so there are never more
 * freed blocks than recorded ones.
 */
struct log_accounts reader_accounts(const struct log *log);
struct log_older log_older_of(const struct log *log, const struct log_accounts *accounts);
struct log_older log_older(const struct log *log);	/* by the accounts of now */
/*
 * The number of records now in the table, from counts that the writers keep. It is exact while
 * nobody writes.
 */
uint64_t reader_live(const struct log *log);
/*
 * The bytes of all blocks that are in the table: never more than at some moment of the call, less
 * by what was allocated meanwhile. For frequent calls.
 */
uint64_t reader_held_bytes(const struct log *log);
/*
 * Forget all records, the counts of stacks, and accounts (`malloc reset`). Nobody may write
 * meanwhile. Stack ids stay valid.
 */
void log_reset(struct log *log);

/*
 * Bytes of the region that are in use (tables, stacks, registry, header), for `malloc -v` and the
 * bench.
 */
struct log_usage {
	uint64_t table_bytes, stack_bytes, other_bytes;
	uint64_t table_slots;
};
struct log_usage log_usage(const struct log *log);

/*
 * Time stamps and wall-clock time: the header keeps pairs of both, which become better as time goes
 * on. Call this before each command that converts time stamps: then all of them lie between two
 * pairs, and a stamp is converted to the same time later, to within microseconds. To compute ages
 * use log_clock_realtime(log, log_now()) for "now", not clock_gettime: if somebody sets the clock
 * back, the log's clock goes on where it was.
 */
void log_clock_update(struct log *log);
/* Nanoseconds since the epoch of a time stamp. A later stamp never gives an earlier time. */
uint64_t log_clock_realtime(const struct log *log, uint64_t time);
/* SEQ: the time stamp counted from the start of the log, from 1. */
uint64_t log_clock_seq(const struct log *log, uint64_t time);
/* Time stamp of log_format, or of the last log_reset: "Recording since". */
uint64_t log_clock_begin(const struct log *log);

/*
 * The budget (log/budget.h): the log may take so many bytes of memory more than now from here on;
 * UINT64_MAX: as many as the region has room for. For mdbg.
 */
void log_set_budget(struct log *log, uint64_t more);
/* Bytes of what writers have begun to use since log_format; it grows when the log does. */
uint64_t log_taken(const struct log *log);

/*
 * Fault in pages of the memfd, so that the target does not pay for them: the pages that the writers
 * use, and those that they will use next. The latter are `bytes` at least, and, as the tables fill
 * up, the next table. Call this now and then while there are writers. It costs a look at the header
 * and the accounts if nothing is missing, and faults in at most 16 MB of tables, or `bytes` if that
 * is more, and in all no more than the budget has left. All calls must use the same view.
 */
struct err *log_reserve(struct log *log, uint64_t bytes) MUST_CHECK;
