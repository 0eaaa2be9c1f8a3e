/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The log: allocation table, stack table, thread registry and accounts in one shared region.
 * Written by the tracer (breakpoint probes) or, in the target, by the agent; read by mdbg at any
 * moment without stopping anybody. The same C is compiled into both (files that the agent includes
 * are freestanding: no libc, no system call, no fault), and everything in the region is addressed
 * by offset, since it lies at different addresses in the two processes.
 *
 * Theory of operation, slot protocol and invariants are in block_table.h and stack_table.h.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

#define LOG_VERSION		8
#define LOG_STACK_NONE		0	/* stack id: no stack was taken */
#define LOG_STACK_DAMAGED	UINT32_MAX	/* as a reader gets it: the log said one that cannot be */
#define LOG_DEPTH_MAX		128
#define LOG_HEAP_UNKNOWN	0xffff	/* heap: not known to the writer */
#define LOG_HEAP_MMAP		0xfffe	/* heap: a block mapped on its own */
#define LOG_HEAP_USER		0xfffd	/* heap: of an allocator that the user has named */
#define LOG_LIMIT_MIN		(16ull << 20)
#define LOG_LIMIT_MAX		(1ull << 42)
#define LOG_FREES_MAX		65536u	/* that a history of frees can have (free_history.h) */
#define LOG_TABLES		40	/* allocation tables that a region of LOG_LIMIT_MAX bytes has room for */

enum log_unknown_free_kind { LOG_UNKNOWN_FREE_DOUBLE, LOG_UNKNOWN_FREE_OTHER,
			    LOG_UNKNOWN_FREE_KINDS };

struct deferred_copy;
struct deferred_table;
struct log_free_slot;
struct log_unknown_free_slot;

struct log_table {
	struct log_window *window;
	uint32_t nr;
	uint32_t turn;			/* of hashes */
};

/* How many bytes from its start on log_reserve has faulted in of each part. */
struct log_reserved {
	uint64_t header, threads, thread_index, stack_index, stack_directory, arena, unknown_frees,
		     counting_filter,
		freed, deferred, tables;
};

/*
 * A view of a region that is mapped here. Its own memory is the caller's (no allocation: the agent
 * has one in its data). Where the parts lie follows from the size of the region alone (layout.h),
 * so that nothing that the target writes can lead out of it.
 */
struct log {
	uint8_t *base;			/* start of the region (the journal) */
	uint64_t size;			/* bytes mapped: journal's region_size */
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
	struct log_table table[LOG_TABLES];
	struct log_reserved reserved;
};

/*
 * Blocks of several processes may be in one log: bits 48 to 54 of a record's address are the number
 * of the process, 0 for the first one. Bit 55 is set in those of allocators that the user has
 * named: their blocks lie inside of malloc's, perhaps at the same address.
 */
#define LOG_PROCESS_SHIFT	48
#define LOG_PROCESSES		128
#define LOG_DOMAIN_SHIFT	55
#define LOG_DOMAIN_USER		(1ull << LOG_DOMAIN_SHIFT)

/* One allocation, as it goes in and comes out. */
struct log_record {
	uint64_t address;		/* key; not 0; below 2^56 */
	uint64_t size;			/* bytes asked for, below 2^48 */
	uint64_t time;			/* time stamp: log_now(); increasing for one writer, unique */
	uint32_t thread;		/* index into the registry */
	uint32_t stack;			/* stack id, or LOG_STACK_NONE */
	uint16_t heap;			/* arena number or LOG_HEAP_* */
};

/* A free of a block that the table had (free_history.h). */
struct log_free {
	uint64_t address;		/* as in a record */
	uint64_t block_time;		/* of the record: which of all blocks that were ever there */
	uint64_t time;			/* of the free */
	uint32_t thread, stack;		/* who freed it; stacks begin with the function called */
};

/* A free of a block that the table does not have. */
struct log_unknown_free {
	uint64_t address;		/* as in a record */
	uint64_t time;			/* of the free */
	uint32_t thread, stack;		/* who frees; stacks begin with the function called */
	bool on_stack;			/* the address is in the part of that thread's stack that is in use */
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
	uint64_t free_bytes;		/* theirs and those of the replaced: alloc_bytes - free_bytes are live */
	uint64_t table_full;		/* * blocks not recorded since the table is full */
	uint64_t replaced;		/* * records that were found at the address of a new block (their free was not seen) and
					   replaced; also counted in allocs, the old one is
					   counted here instead of in frees */
	uint64_t unknown_frees;		/* * frees of blocks that are not in the table */
	uint64_t null_frees;		/* * free(NULL) */
	uint64_t failed;		/* * allocations that returned NULL */
	uint64_t nested;		/* * inner operations dropped, since the outer one returned the same block */
	uint64_t unstacked;		/* blocks whose stack could not be kept since the stack table is full (they are in allocs) */
	uint64_t voided;		/* * operations entered but never returned (longjmp, exception, thread's end) */
	/* For a log that samples (0 otherwise): */
	uint64_t unsampled;		/* * blocks passed over */
	uint64_t unsampled_frees;	/* * frees of blocks that are not in the table, which counts none in unknown_frees */
	/* Unknown frees (unknown_free.h): what would else be in unknown_frees. */
	uint64_t double_frees;		/* * of a block that was freed before, and not given out again */
	uint64_t own_frees;		/* * by the allocator itself, at the end of a thread */
	uint64_t undeferred;		/* walks that ended in no module, without a copy being kept (deferred.h) */
};

struct log_config {
	uint64_t limit;			/* bytes of the region, LOG_LIMIT_MIN at least */
	uint32_t stack_depth;		/* frames a stack, 1 to LOG_DEPTH_MAX */
	uint64_t sample;		/* 0, or mean bytes between samples (sample.h) */
	uint32_t free_history;		/* frees that are remembered, LOG_FREES_MAX at most; of a log that samples 0 */
};

/*
 * The view of a region that log_format has made, at wherever it is mapped here. False: it is no log
 * of this version that fits in size bytes. log_open says the same in words.
 */
bool log_view(void *base, uint64_t size, struct log *ret);
/*
 * The view for another process, in which offset 0 of the region lies (or would lie, if that
 * part is not mapped there) at address base: arithmetic alone, nothing is looked at. False: base is
 * not a page's, or the region would go past the end of the address space.
 */
bool log_view_at(const struct log *mapped, uint64_t base, struct log *ret);

/* The processor's time stamp (see log/clock.h for its meaning). */
static inline uint64_t log_now(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	uint64_t now;

	__asm__ volatile("isb; mrs %0, cntvct_el0" : "=r"(now));
	return now;
#endif
}

/*
 * Put a record in. True: it is in; *replaced (may be NULL) then has the record that stood at this
 * address, address 0 if none. False: no room; counted in table_full. Accounts are kept by these
 * functions, of thread record->thread.
 */
bool log_insert(struct log *log, const struct log_record *record, struct log_record *replaced);
/*
 * Take the record of address out (*ret, which may be NULL) and count it as freed by thread; or
 * count a free of an unknown block, or of one that was not sampled, and return false. Unless the
 * log samples, ret->address then says if there is a retired record (block_table.h): it is address,
 * or 0.
 */
bool log_remove(struct log *log, uint64_t address, uint32_t thread, struct log_record *ret);
/* Look only. */
bool log_lookup(const struct log *log, uint64_t address, struct log_record *ret);
/*
 * Has there been a record of address since the last reset? True if it is there now, or was and its
 * place has not been taken by another one since; so a false says little, a true all.
 */
bool log_knew(const struct log *log, uint64_t address);
/*
 * The record that address had last, if its block was freed and nothing else has taken its place
 * since (block_table.h, retired records).
 */
bool log_retired(const struct log *log, uint64_t address, struct log_record *ret);
/*
 * A block was freed for certain: remember who did it, if frees are remembered. For a writer that
 * has taken out its record.
 */
void log_note_free(struct log *log, const struct log_free *free);
/* The free of the block that was recorded at this address with this time, if it is remembered. */
bool log_first_free(const struct log *log, uint64_t address, uint64_t block_time,
		    struct log_free *ret);
/*
 * The block at address at an earlier moment, with time stamp `until`, as far as the table still
 * tells: a record that was taken out since stays where it was until its place is taken by another.
 *
 *	LOG_PAST	its record (*ret), which is there still or was taken out: perhaps since then, and
 *			if not, there was none at that moment
 *	LOG_SINCE	the address was given out since; what was there before is not known
 *	LOG_NEVER	nothing is known of it
 */
enum log_past { LOG_NEVER, LOG_PAST, LOG_SINCE };
enum log_past log_past(const struct log *log, uint64_t address, uint64_t until,
		       struct log_record *ret);
/*
 * Put back a record that log_remove took (a realloc that failed): as if it had not been removed,
 * accounts too.
 */
bool log_restore(struct log *log, const struct log_record *record, uint32_t thread);

/*
 * Events that change no record. `what` is the offset of the field in struct log_accounts:
 * LOG_ACCOUNT(failed).
 */
#define LOG_ACCOUNT(field)	((unsigned)(offsetof(struct log_accounts, field) / sizeof(uint64_t)))
void log_count(struct log *log, uint32_t thread, unsigned what, uint64_t by);

/*
 * The id of a stack, the same for the same PCs, end and generation. LOG_STACK_NONE: no room (count
 * unstacked). pcs[0] is the innermost.
 */
uint32_t log_stack(struct log *log, const uint64_t *pcs, uint32_t nr, uint8_t end,
		   uint32_t generation);
/*
 * The stack that a reader is to see: the whole one of a deferred stack (deferred.h), if it is
 * known, else the stack itself. All ids that readers get with records have gone through this, and
 * log_stack_get does it.
 */
uint32_t log_stack_whole(const struct log *log, uint32_t stack);
/*
 * Add to a stack's all-time counts. How many of them have been freed is what is left without those
 * that are live, which a scan counts: two more atomics for each free would be too dear.
 */
void log_stack_count(struct log *log, uint32_t stack, uint64_t blocks, uint64_t bytes);

/*
 * The registry entry of the thread with this thread pointer and LWP id, made if it is new; 0 is a
 * shared entry for when the registry is full (then thread and pthread_t are unknown). An entry
 * whose thread has ended stays: records refer to it.
 */
uint32_t log_thread(struct log *log, uint64_t thread_pointer, uint32_t lwp);

#include "base/err.h"

/*
 * Format a region of config->limit zero bytes mapped at base (its file may be sparse). The journal
 * is formatted too.
 */
struct err *log_format(void *base, const struct log_config *config, struct log *ret) MUST_CHECK;
/* Format a region behind a journal that is there already. */
struct err *log_format_behind(void *base, const struct log_config *config,
			      struct log *ret) MUST_CHECK;
/*
 * Remember the last nr frees from now on, 0: none; at any time, followed by log_reserve. ERR_USAGE,
 * and nothing has changed: the region has no room for so many, or the log samples.
 */
struct err *log_set_free_history(struct log *log, uint32_t nr) MUST_CHECK;
/* A view of a region that exists; ERR_FORMAT: not a log, or of another version (says which). */
struct err *log_open(void *base, uint64_t size, struct log *ret) MUST_CHECK;
struct log_config log_config(const struct log *log);

/*
 * A stack, as it lies in the region (readable as long as the region is mapped). nr is 0 for
 * LOG_STACK_NONE and bad ids. The counts of a deferred stack that is known as a whole are 0 here,
 * and pending for the other one (pending.h).
 */
struct log_stack_view {
	const uint64_t *pcs;
	uint32_t nr;
	uint8_t end;			/* enum walk_end */
	uint32_t generation;
	uint64_t total, total_bytes;	/* all-time */
};
struct log_stack_view log_stack_get(const struct log *log, uint32_t stack);
uint32_t log_stacks(const struct log *log);	/* ids run from 1 to this */

struct log_thread_view {
	uint64_t thread_pointer;	/* 0: unknown */
	uint32_t lwp;			/* 0: unknown */
};
struct log_thread_view log_thread_get(const struct log *log, uint32_t thread);

/* slot, not 0, is where the record is. */
typedef bool log_each_fn(const struct log_record *record, uint64_t slot, void *ctx);
/*
 * Call fn for every record, in no order, each one consistent in itself; true ends it. Blocks that
 * live through the whole scan come exactly once; an address that is freed and given out again
 * meanwhile may come twice, with different times. A block that a realloc has in hand (between
 * log_remove and log_restore or log_insert) is not there: the agent's thread that runs the call has
 * it in ledger_thread.op[] meanwhile (log/ledger.h: `old`, where `took` is set), but for a few
 * instructions. A merge goes by address and time: for a moment the block may be in both.
 */
void log_each(const struct log *log, log_each_fn *fn, void *ctx);
/*
 * The record that is now in a slot, false if none is. A record stays where it is as long as it is
 * live, so that a slot is as good as a copy of it for who looks whether it is the same one (time).
 * Any number may be asked for.
 */
bool log_slot(const struct log *log, uint64_t slot, struct log_record *ret);
/*
 * The unknown frees that are remembered (unknown_free.h), oldest first; true ends it. Each is
 * consistent in itself, and may be nonsense all the same where the target writes it.
 */
void log_each_unknown_free(const struct log *log, enum log_unknown_free_kind kind,
			   bool (*fn)(const struct log_unknown_free *unknown, void *ctx),
			   void *ctx);
/*
 * Up to now allocations may have gone unrecorded (probes were out, or not all in): no retired
 * record of before tells a double free.
 */
void log_note_gap(struct log *log);
/* Sums; consistent only while nobody writes. */
struct log_accounts log_accounts_get(const struct log *log);
/* Records now in the table, by a count that the writers keep; exact while nobody writes. */
uint64_t log_live(const struct log *log);
/*
 * Forget all records, stacks' counts and accounts (malloc reset). There must be no writer
 * meanwhile. Stack ids stay valid.
 */
void log_reset(struct log *log);

/* Bytes of the region in use, for `malloc -v` and the bench: tables, stacks, registry, header. */
struct log_usage {
	uint64_t table_bytes, stack_bytes, other_bytes;
	uint64_t table_slots;
};
struct log_usage log_usage(const struct log *log);

/*
 * Time stamps to wall-clock: the header keeps pairs of both, refined as time goes on. Call before
 * each command that converts: then all stamps lie between two pairs, and what they convert to stays
 * the same to within microseconds. "Now", for ages, is log_clock_realtime(log, log_now()) and not
 * clock_gettime: after somebody has set the clock back the log's goes on where it was.
 */
void log_clock_update(struct log *log);
/* Nanoseconds since the epoch of a time stamp; never decreasing in it. */
uint64_t log_clock_realtime(const struct log *log, uint64_t time);
/* SEQ: the time stamp counted from the start of the log, from 1. */
uint64_t log_seq(const struct log *log, uint64_t time);
/* Time stamp of log_format, or of the last log_reset: "Recording since". */
uint64_t log_start(const struct log *log);

/*
 * The memfd's pages are mdbg's to fault in, so that the target does not pay for them: make sure
 * that what the writers use is there, and what they will come to next: `bytes` at least, and as the
 * tables fill up the one that will be added. Call it every now and then while there are writers; it
 * costs a look at the header and the accounts when nothing is missing, and faults in 16 MB of
 * tables at most, or `bytes` if that is more. All calls on one view.
 */
struct err *log_reserve(struct log *log, uint64_t bytes) MUST_CHECK;
