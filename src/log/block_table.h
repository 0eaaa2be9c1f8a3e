/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The tables: address -> record, lock-free, for all records that the directory does not take
 * (directory.h). They are for several writers (threads of the target, or the tracer), and for
 * readers in another process that stop nobody.
 *
 * Shape
 *
 * A table is an array of windows. A window is 512 bytes: 15 slots of 32 bytes, and a header of 16
 * tags of 16 bits, one for each slot and one for the window itself. An address has two windows in
 * each table, by its hash; its record is in any slot of either. There are up to LOG_TABLES tables;
 * when an address finds all its windows full, the next table is added, and nothing ever moves: no
 * rehash, so no pause, no record that a scan meets twice, and no window of time in which a block is
 * in two places or in none.
 *
 * A slot is four words:
 *
 *	key	sequence (6 bits) | state (2) | address (56)
 *	time	the record's time stamp
 *	size	of the block, below 2^48
 *	stack	heap (16) | thread (16) | stack id (32)
 *
 *	                  claim: compare and swap
 *	        FREE -----------------------------> CLAIMED
 *	         ^  ^                                |   ^
 *	 remove: |   \                       publish: |   | replace:
 *	  store  |     address of the last            v   | store
 *	         |     record stays in the key       LIVE
 *	         +------------------------------------+
 *
 * A block's address has one owner at a time: between the return of malloc and the entry of free
 * nobody else can be given it. So there are never two writers for one key; writers meet only where
 * they want the same free slot, and the one atomic read-modify-write is the claim. All else are
 * plain stores, in an order that readers can rely on.
 *
 * A retired record is a FREE slot that still has the address and contents of its last record. It is
 * free for all, but its own address takes it first: allocators hand out the same addresses again
 * and again, so that in the steady state an insert finds the very slot of its predecessor and looks
 * no further. This is correct because of the invariant
 *
 *	an address is in the key of at most one slot, live or retired record,
 *
 * which holds because an insert looks everywhere for its address before it takes another slot, and
 * because only the owner can write its address. A claim wipes the retired record out. For the same
 * reason a remove that meets its address as a retired record knows that it is not in the table.
 *
 * A retired record also tells who had a block that is freed a second time (log_record_retired,
 * log_unknown_free.h), or that was there at an earlier moment (log_record_past). Such a reader may
 * meet other owners of the slot: it takes key, contents, and the key again, and believes them if
 * the key is FREE or LIVE, has the address, and has the same sequence as before. A claim changes
 * the key before anything else, and its sequence for good; LIVE to FREE changes no contents.
 *
 * Why no tombstones: a search never stops at an empty slot. It looks at all tags of the window, in
 * a few instructions, hits or not; so an empty slot means nothing to a search, and a removal has
 * nothing to leave behind. Windows of unlimited probing would degrade as slots come and go, and
 * could be repaired only by a rehash.
 *
 * Tags
 *
 * A tag is 15 bits of the hash of the address in the slot's key (live or retired record), and a bit
 * that says live. The tags show in half a cache line, where the slots take eight lines, which slots
 * may have an address and which may be free. They are only hints: the key decides. A tag is stored
 * only by the owner of the slot, between claim and publish or before the store of FREE, so that
 * stores of one tag never race; and the owner of an address always sees the tag that it needs,
 * since it has stored it itself, or whoever gave it the address had. The window's own tag says that
 * some address which prefers this window had to go to its second one. While it is not set, no
 * search needs to look there; once set it stays. All writers store the same value in it. The hash
 * of an address picks its primary slot. An insert tries that slot first, and a search in the newest
 * table looks there before it reads the tags (fast_path.h), which in small tables saves a cache
 * line and much arithmetic. The second choice is the other slot of the same cache line
 * (slot_buddy), where a search in the newest of few tables looks next; after that any slot may be
 * used. A writer remembers from its last long search which table is the newest. It only decides
 * where the writer looks first, so it may be wrong.
 *
 * Hints
 *
 * Once there are several tables, an allocator's hot addresses have their retired records in any of
 * them, and a search through all tags takes longer than everything else. So the slow path has a
 * small array of hints, indexed by a hash of the address: the slot in which it was found (counted
 * in slots from the first table on; windows and tables lie side by side), and the upper half of the
 * hash. Without that half most hints would lead to the slot of another address, and cost a cache
 * miss for nothing. The slot's key says whether the hint still holds; since an address is in one
 * key at most, it is then found. All writers share the array and store to it without order.
 *
 * Moves
 *
 * The blocks that a program allocates and frees all the time were there first, so their retired
 * records are in an old table, and they would take the slow path for ever. So if an address comes
 * again and its retired record is in an older table, the insert claims a slot of its line in the
 * newest one, if one is free and there are few tables, and removes the retired record: a compare
 * and swap takes the address out of its key before the new record is published. After that an
 * address moves only when another one claims its slot.
 *
 * Growth
 *
 * Tables get bigger: the first has 1 MB, which fits in caches. The second makes the sum 16 MB: each
 * table that a block may be in costs a free one or two cache misses, and a program with more than
 * 30,000 blocks can afford the memory. The next ones are half as large as all before them, but 16
 * MB at least. With 15 slots and two windows the tables are 85 to 93 % full when one is added
 * (tests/bench/log_bench.c), which makes at most 61 bytes a block, or 40 and 16 MB if that is more.
 * The newest table has a third of all records and mostly the young ones, so that searches begin
 * there. Inserts also use free slots of older tables, newest first, before the next table is added.
 * The place of each table is known beforehand (log_layout.c). To add one is a compare and swap of a
 * number: there is no lock that a dying writer could keep, and it does not matter which writer
 * succeeds. New tables are zero: nobody has touched their pages. When there is no room for another,
 * the block is counted in table_full.
 *
 * Readers
 *
 * The time stamp is the sequence number of the record: it is unique for a given slot, except that a
 * restore brings an old one back. A reader takes (1) time, (2) key, (3) size and stack, (4) time
 * again, (5) key again, all in this order (acquire), and believes them if the key is LIVE and the
 * pairs are equal. A writer stores, in order (release): key = CLAIMED, time, size and stack, tag,
 * key = LIVE. Proof: let t be the time seen at (1) and (4), stored by incarnation j. Between them
 * the slot is in the part of its life from j's store of time to before (j+1)'s. In this part the
 * key is CLAIMED, then LIVE by j, FREE, CLAIMED by j+1. The reader saw LIVE at (2), so j had
 * published, and (3) sees what j stored or something later; later would be by j+1, whose store of
 * time comes before, and (4) would have seen it. If an equal time comes back (A removed, B put into
 * A's slot and removed, A restored into it, all within one read), the six bits of sequence in the
 * key, one more for every claim, have to come round as well. The compare and swap of a claim has no
 * ABA problem: a key that is FREE again is as good as one that was FREE all the time.
 *
 * A scan (reader_each) goes over all slots once. A block that lives through it is in one slot all
 * the time: it is seen, once. A slot that is in change is looked at again a bounded number of
 * times, and so are all of a scan together; what keeps changing does not live through the scan.
 * Between log_record_remove and log_record_restore (a realloc that fails) a record is a retired
 * record and is not seen; the restore makes the retired record live as it is. In realloc a block is
 * thus never seen twice, but is not seen while the call is under way.
 *
 * Death
 *
 * A writer may die between any two stores (kill -9 of the tracer, exit of a thread's process). What
 * is left:
 *	after the claim, before the publish
 *		The slot stays CLAIMED until log_reset: it is lost; readers and writers pass it by.
 *	in a remove, before the key is FREE
 *		The record is still LIVE, with a tag that says free, as if the remove had not begun.
 *		Searches still find it, since they do not ask whether the tag is live; claims look at
 *		the key.
 *	in a replace
 *		The old record and the slot are lost; the new one was not in yet.
 *	in a move
 *		As after the claim; the retired record may be gone.
 *	in growth
 *		Nothing: it is a single store.
 *	between a record and its account
 *		The sums are off by one.
 *
 * All stores are made with C11 atomics; on x86 they are plain moves. No fences are used
 * (ThreadSanitizer does not know them): loads are acquire, stores release where the order above
 * needs it. tests/torture/log.pml is this protocol as a model, log_tsan.c a hammer for it.
 *
 * Rejected: one open table with a rehash under a stopped target (10 million records: 3 s); chains
 * (a free list of nodes needs its own ABA protection, and a writer's death breaks it); counters
 * per window (one more locked instruction in every operation).
 *
 * Freestanding.
 */
#pragma once

#include "log/directory.h"

#define WINDOW_SLOTS		15
#define TABLE_BYTES_FIRST	(1ull << 20)
#define TABLE_BYTES_STEP	(16ull << 20)
#define TABLE_BYTES_MAX		((uint64_t)sizeof(struct log_window) << 31)

struct log_slot {
	uint64_t key, time, size, stack;
};

struct log_window {
	/* lane n of 16 bits (bits 16 * (n % 4) of word n / 4): slot n; lane 15: the window */
	uint64_t tags[4];
	struct log_slot slot[WINDOW_SLOTS];
};

_Static_assert(sizeof(struct log_window) == 512, "window");

/*
 * Slots are numbered from the first table on, in units of their size; the headers of windows count
 * as one unit each.
 */
#define WINDOW_UNITS		(sizeof(struct log_window) / sizeof(struct log_slot))

#define KEY_ADDRESS		((1ull << 56) - 1)
#define KEY_STATE		(3ull << 56)
#define KEY_FREE		(0ull << 56)
#define KEY_CLAIMED		(1ull << 56)
#define KEY_LIVE		(2ull << 56)
#define KEY_SEQUENCE		(63ull << 58)
#define KEY_SEQUENCE_ONE	(1ull << 58)

#define TAG_LIVE		0x8000u
#define TAG_HASH		0x7fffu

/* Bytes of the next table when those before it take `used`. */
static inline uint64_t table_bytes_next(uint64_t used)
{
	if (!used)
		return TABLE_BYTES_FIRST;
	if (used == TABLE_BYTES_FIRST)
		return TABLE_BYTES_STEP - TABLE_BYTES_FIRST;
	return MAX(TABLE_BYTES_STEP, ALIGN_UP(used / 2, TABLE_BYTES_FIRST));
}

/* Bytes of the first nr tables, which lie side by side. */
static inline uint64_t tables_bytes(const struct log *log, uint32_t nr)
{
	return (uint64_t)((uint8_t *)(log->table[nr - 1].window + log->table[nr - 1].nr) -
			  (uint8_t *)log->table[0].window);
}

/*
 * Bytes that the directory's pages and the tables may still take together, with so many tables in
 * use.
 */
static inline uint64_t share_left(const struct log *log, uint32_t tables)
{
	uint64_t dense = __atomic_load_n(&log->header->dense, __ATOMIC_RELAXED);
	uint64_t used = MIN(dense, log->share / LOG_PAGE) * LOG_PAGE + tables_bytes(log, tables);

	return used < log->share ? log->share - used : 0;
}

/*
 * Put a record in. *replaced: there was a record at this address, which is *old. The accounts are
 * the caller's, here and below. False: there is no room.
 */
bool block_table_insert(struct log *log, uint64_t address, struct slot_words words,
			struct log_record *old, bool *replaced);
/*
 * Take a record out. False: there is none, and *ret is not written; *found says whether there is a
 * retired one.
 */
bool block_table_remove(struct log *log, uint64_t address, struct log_record *ret, bool *found);
/* Find the live record of an address. */
bool block_table_lookup(const struct log *log, uint64_t address, struct log_record *ret);
/*
 * The last record of an address: none is known, or its slot is in change (*ret is not set then), or
 * it is retired, or live.
 */
enum tables_last { TABLES_NONE, TABLES_UNCLEAR, TABLES_RETIRED, TABLES_LIVE };
enum tables_last block_table_last(const struct log *log, uint64_t address, struct log_record *ret);
/* Put back a record that was taken out. False: there is no room. */
bool block_table_restore(struct log *log, const struct log_record *record);
/* Tables in use, as far as the region is to be believed. */
uint32_t block_table_count(const struct log *log);
/*
 * Read one slot as a reader may (see above). False: it has no record. Each new look at a slot that
 * is in change is subtracted from *patience, which a scan has for all its slots together: a log
 * that was overwritten has millions of slots that seem to be in change.
 */
#define SLOT_PATIENCE	(1u << 20)
bool block_table_read_slot(const struct log *log, const struct log_slot *slot, uint32_t *patience,
			   struct log_record *ret);
