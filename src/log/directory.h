/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The directory: records of small blocks whose place follows from the address alone.
 *
 * Why
 *
 * In a heap that no cache holds, each line of the log that an event touches is a cache miss. The
 * tables (block_table.h) need several: windows of several tables, tags, slots. And a claim is a
 * locked instruction, which makes the processor wait for its line. Here an insert and a remove
 * touch one line, which is known as soon as the address is, and the code only stores to it. What is
 * loaded decides nothing but branches that are predicted, so the processor goes on meanwhile.
 *
 * Shape
 *
 *	granule		32 bytes of address space; has one record of 12 bytes
 *	line		a cache line: the records of 5 granules, that is, of 160 bytes
 *	page		4 KB, 64 lines: 10,240 bytes of address space
 *	extent		1 MB, 256 pages: 2.5 MB of address space
 *
 * An extent is made when the first block of its addresses is recorded, wherever the record goes. A
 * map, indexed by the lowest bits of the extent's number, leads from the number to the extent's
 * place in the region. If another extent has that entry of the map, one of the next
 * DIRECTORY_PROBES entries is used; only the slow path looks there. Entries are never taken back. The
 * first 2.5 MB of addresses never have an extent, so that none is found for NULL.
 *
 * Which blocks
 *
 * Two live blocks must never share a granule, because then two owners would write to one record. So
 * a record is here only if its block reaches to the end of its granule, or if it has so many bytes
 * that no allocator puts another block so near (header->near_size; glibc's chunks have 32 bytes at
 * least). Also the record must fit in 12 bytes:
 *
 *	who	time (47 bits, in units of 32 ticks) | thread (13) | address / 8 % 4 (2) | state (2)
 *	what	stack id (23) | size (9)
 *
 * The lowest five bits of a time stamp are those of the thread's number (ledger_time), so that 47
 * bits are exact for 20 days at 2.5 GHz after the log's start. All other records go to the tables.
 *
 * Halves
 *
 * Allocators with a class of 16 bytes (jemalloc, tcmalloc, mimalloc) put two blocks in a granule,
 * and programs have many of that size (each value of redis-server has one). The block that begins
 * in the upper half has the granule's record, as above. The one that begins in the lower half, and
 * ends before the granule does, has its record in another extent: at the place of its address plus
 * DIRECTORY_HALVES. It must have its half for itself: it reaches the upper one, or it has more than
 * 8 bytes of an allocator that is known (header->near_size), because all of these put such blocks
 * 16 bytes apart.
 *
 * Such an extent and its pages are made as all are, but only for pages that are dense, and the page
 * gets the flag `halves` before the first such record is put in: without it nobody looks there. So
 * one address may have its record here or there, by the size of its block. A remove looks at the
 * granule's record first. An insert takes out of both records what overlaps its block, whose free
 * was not seen: by compare-and-swap, because the granule's record may be that of a neighbour in the
 * upper half by now. Presence and absence bits are those of the address itself.
 *
 * Pages
 *
 * A page of the directory costs 4 KB, so it pays only where blocks are dense. Each page has
 * flags. Only if it is `dense` may records be put there; `mixed` is for presence bits (below). It
 * becomes dense when DIRECTORY_DENSE blocks that fit were put into the tables instead. It becomes
 * dense at its first such block if the page before it is well filled, or the last one of its extent
 * that became dense: so it is when a heap grows. It stays dense. No page becomes dense when there
 * is no memory left for it (log_layout.h). Records that are in a table by then stay there, so that
 * no record ever moves. A flag is set before a record is put in, and the address's next owner sees
 * what its last one saw; so a remove that finds no dense page knows that it has no record here.
 *
 * Presence bits
 *
 * Each extent has one bit for each 128 bytes of address space: `the tables may have a live record
 * that begins here`. An owner sets the bit before its record goes to a table, and before that the
 * page's flag `mixed`: where all records are in the directory, inserts need not load the bit, which
 * is another cache miss in a large heap. Without the bit nothing has to be searched for: a free of
 * a block from before the attach touches the directory's line and the bit, and is known. The bit is
 * never taken back, since other blocks may begin in its bytes.
 *
 * Each line has bits of its own, one for each address in it that is a multiple of 8: `the tables
 * have no live record of this address, whatever the extent says`. They lie beside the record, where
 * they cost no other cache line. An insert into the directory that finds the presence bit and not
 * the absence bit looks into the tables for a record whose free was not seen, takes that out, and
 * sets the absence bit. So of all blocks beside one that is in the tables, each one searches once.
 * An insert into the tables takes the absence bit back before its record is in; a remove leaves
 * both bits, so that the next insert of the address into a table does not have to write them again.
 * Only the owner of a block changes its absence bit, so that the address's next owner finds it as
 * it was left; and only in a page that is dense: else nobody has ever set it, and a look would take
 * memory for the page. The presence bits are coarse because they take memory for each page of a
 * sparse heap: with these the extent is one page. If there is no room for an extent
 * (header->uncovered), addresses without an extent are always searched for.
 *
 * Protocol
 *
 *	insert	who = 0; what; who = LIVE		(release)
 *	remove	who = RETIRED, with all else as it was	(release)
 *	reader	who, what, who again			(acquire); believed if LIVE and equal
 *
 * Only the owner of a block writes the record of its granule: that is the thread to which malloc
 * has returned it, until a thread enters free with it. Proof for readers: if `what` is of a later
 * insert than the `who` that was read first, that insert's `who = 0` came before, and the second
 * look sees it, or something later. Two inserts of one thread have different times, and those of
 * two threads different threads or times, so that `who` does not come again with another `what`;
 * except for a restore (a realloc that has failed), which makes the retired record live as it is.
 * Its block was never given back, so there was no other insert in between.
 *
 * Death
 *
 * A writer that dies between two stores leaves `who = 0`, and the block is not recorded; or a
 * presence bit or an extent that nobody uses. The next owner of the granule just writes. Nothing is
 * lost for good.
 *
 * Numbers (tests/bench, parts cold and memory) and what was rejected are in docs/design.md.
 * Freestanding.
 */
#pragma once

#include "log/registry.h"

#define DIRECTORY_LINE_RECORDS		5u
#define DIRECTORY_PAGE_LINES		64u
#define DIRECTORY_PAGES			256u	/* of an extent */
#define DIRECTORY_LINES			(DIRECTORY_PAGES * DIRECTORY_PAGE_LINES)
#define DIRECTORY_RECORDS		(DIRECTORY_LINES * DIRECTORY_LINE_RECORDS)
#define DIRECTORY_GRANULE		LOG_SPACING
#define DIRECTORY_UNIT			128u	/* bytes of address space to a presence bit */
#define DIRECTORY_UNIT_RECORDS		(DIRECTORY_UNIT / DIRECTORY_GRANULE)
#define DIRECTORY_UNITS			(DIRECTORY_RECORDS / DIRECTORY_UNIT_RECORDS)
#define DIRECTORY_REACH			((uint64_t)DIRECTORY_RECORDS * DIRECTORY_GRANULE)
#define DIRECTORY_EXTENTS		((1ull << LOG_ADDRESS_BITS) / DIRECTORY_REACH)	/* of all addresses */
#define DIRECTORY_PROBES		16u
#define DIRECTORY_DENSE			16u
#define DIRECTORY_MAP_TIMES		32u	/* entries of the map to an extent: few collide */

#define DIRECTORY_PAGE_DENSE	1u
#define DIRECTORY_PAGE_MIXED	2u	/* some presence bit of it was set */
#define DIRECTORY_PAGE_HALVES	4u	/* some lower half has its record elsewhere */

#define DIRECTORY_HALF		(DIRECTORY_GRANULE / 2)
/*
 * A block that has only the lower half of its granule has its record where that of its address plus
 * this would be.
 */
#define DIRECTORY_HALVES	((DIRECTORY_EXTENTS + 1) * DIRECTORY_REACH)

struct directory_line {
	uint64_t who[DIRECTORY_LINE_RECORDS];
	uint32_t what[DIRECTORY_LINE_RECORDS];
	uint32_t absent;		/* a bit for each address that a record can have */
};

/* What is known of an extent besides its records. */
struct directory_extent {
	uint8_t page[DIRECTORY_PAGES];	/* DIRECTORY_PAGE_... */
	/* blocks that could have been here, by page; not exact, since all writers just store */
	uint8_t passed[DIRECTORY_PAGES];
	uint64_t present[DIRECTORY_UNITS / 64];
	uint64_t last;			/* page that became dense; a hint */
	uint64_t number;		/* plus one, so that 0 is none; set before it is in the map */
	uint8_t pad[1008];
};

_Static_assert(sizeof(struct directory_line) == 64, "line");
_Static_assert(sizeof(struct directory_extent) == LOG_PAGE, "extent");

#define DIRECTORY_BYTES		((uint64_t)DIRECTORY_LINES * sizeof(struct directory_line))

/* An entry of the map: number of the extent plus one | its place. */
#define DIRECTORY_PLACE_BITS	24
#define DIRECTORY_PLACE		((1ull << DIRECTORY_PLACE_BITS) - 1)

#define WHO_STATE		3u
#define WHO_RETIRED		1u
#define WHO_LIVE		2u
#define WHO_OFFSET_SHIFT	2
#define WHO_KIND		0xfu		/* offset and state */
#define WHO_THREAD_SHIFT	4
#define WHO_THREAD_BITS		13
#define WHO_TIME_SHIFT		(WHO_THREAD_SHIFT + WHO_THREAD_BITS)
#define WHO_TIME_BITS		(64 - WHO_TIME_SHIFT)
#define WHO_TICK_SHIFT		5
#define WHO_TICK_BITS		((1u << WHO_TICK_SHIFT) - 1)
#define WHAT_SIZE_BITS		9
#define WHAT_STACK_BITS		(32 - WHAT_SIZE_BITS)
#define DIRECTORY_SIZE_END	(1u << WHAT_SIZE_BITS)

/* The contents of a record but its address, in the form of a slot of the tables (slot_stack). */
struct slot_words {
	uint64_t time, size, stack;
};

/* The fourth word of a slot. */
static inline uint64_t slot_stack(uint32_t stack, uint32_t thread, uint16_t heap)
{
	return stack | (uint64_t)(thread & 0xffff) << 32 | (uint64_t)heap << 48;
}

/* The third word: a size, and the rate at which its block was sampled. */
static inline uint64_t slot_size(uint64_t size, uint8_t rate)
{
	return size | (uint64_t)rate << LOG_SIZE_BITS;
}

static inline uint32_t slot_stack_thread(uint64_t word)
{
	return (uint32_t)(word >> 32) & 0xffff;
}

static inline void slot_stack_decode(uint64_t word, struct log_record *ret)
{
	ret->stack = (uint32_t)word;
	ret->thread = slot_stack_thread(word);
	ret->heap = (uint16_t)(word >> 48);
}

/* Where the record of an address is, or would be. */
struct directory_spot {
	struct directory_extent *extent;
	struct directory_line *line;
	/* nr: of the line, in its extent; at: of the record, in its line */
	uint64_t nr, at;
};

/* The two words of a record. */
struct directory_slot {
	uint64_t *who;
	uint32_t *what;
};

static ALWAYS_INLINE struct directory_slot directory_slot(const struct directory_spot *spot)
{
	return (struct directory_slot){ &spot->line->who[spot->at], &spot->line->what[spot->at] };
}

/* The number of an address's line, counted from address 0. */
static inline uint64_t directory_line_number(uint64_t address)
{
	return address / (DIRECTORY_GRANULE * DIRECTORY_LINE_RECORDS);
}

static inline uint64_t directory_extent_number(uint64_t address)
{
	return directory_line_number(address) / DIRECTORY_LINES;
}

/* Fill in where address is, in the extent that is at a place. */
static ALWAYS_INLINE void directory_spot_in(const struct log *log, uint64_t place, uint64_t address,
					    struct directory_spot *ret)
{
	uint64_t line = directory_line_number(address);

	ret->extent = &log->extent[place];
	ret->nr = line % DIRECTORY_LINES;
	ret->line = &log->directory[place * DIRECTORY_LINES + ret->nr];
	ret->at = address / DIRECTORY_GRANULE - line * DIRECTORY_LINE_RECORDS;
}

/* Does an entry of the map lead to an extent of this number? */
static ALWAYS_INLINE bool directory_entry_is(const struct log *log, uint64_t entry, uint64_t number)
{
	return entry >> DIRECTORY_PLACE_BITS == number + 1 &&
	       LIKELY((entry & DIRECTORY_PLACE) < log->nr_extents);
}

/* False: the first entry of the map does not have the extent; *ret is all zero then. */
static ALWAYS_INLINE bool directory_spot(const struct log *log, uint64_t address,
					 struct directory_spot *ret)
{
	uint64_t number = directory_extent_number(address);
	uint64_t entry = __atomic_load_n(&log->extent_map[number & log->extent_mask],
					 __ATOMIC_ACQUIRE);

	if (UNLIKELY(!directory_entry_is(log, entry, number))) {
		*ret = (struct directory_spot){ NULL, NULL, 0, 0 };
		return false;
	}
	directory_spot_in(log, entry & DIRECTORY_PLACE, address, ret);
	return true;
}

/* The flags of the page. */
static ALWAYS_INLINE uint8_t *directory_page(const struct directory_spot *spot)
{
	return &spot->extent->page[spot->nr / DIRECTORY_PAGE_LINES];
}

static ALWAYS_INLINE bool directory_dense(const struct directory_spot *spot)
{
	return __atomic_load_n(directory_page(spot), __ATOMIC_ACQUIRE) & DIRECTORY_PAGE_DENSE;
}

/* May a lower half of this page have its record elsewhere? */
static ALWAYS_INLINE bool directory_has_halves(const struct directory_spot *spot)
{
	return __atomic_load_n(directory_page(spot), __ATOMIC_ACQUIRE) & DIRECTORY_PAGE_HALVES;
}

/* The word and the presence bit of an address. */
static ALWAYS_INLINE uint64_t *directory_presence(const struct directory_spot *spot, uint64_t *bit)
{
	uint64_t unit = (spot->nr * DIRECTORY_LINE_RECORDS + spot->at) / DIRECTORY_UNIT_RECORDS;

	*bit = 1ull << unit % 64;
	return &spot->extent->present[unit / 64];
}

/* Does the address lie in the lower half of its granule? */
static ALWAYS_INLINE bool directory_is_lower(uint64_t address)
{
	return !(address & DIRECTORY_HALF);
}

/* The absence bit of an address, in the word of its line. */
static ALWAYS_INLINE uint32_t directory_absence(const struct directory_spot *spot, uint64_t address)
{
	return 1u << (spot->at * 4 + address / 8 % 4);
}

/* May the tables have a record of this address? */
static ALWAYS_INLINE bool directory_present(const struct directory_spot *spot, uint64_t address)
{
	uint64_t bit, *word = directory_presence(spot, &bit);

	if (directory_dense(spot) && (__atomic_load_n(&spot->line->absent, __ATOMIC_RELAXED) &
				      directory_absence(spot, address)))
		return false;
	return __atomic_load_n(word, __ATOMIC_RELAXED) & bit;
}

/* The offset of an address in its granule, as `who` has it. */
static ALWAYS_INLINE uint64_t who_offset(uint64_t address)
{
	return address / 8 % 4 << WHO_OFFSET_SHIFT;
}

/* What of a record goes into the directory, if it fits there. */
struct directory_words {
	uint64_t ticks;			/* of its time, counted from the log's origin */
	uint64_t thread, size;
	uint32_t stack;
};

/* May this thread's records be here? */
static ALWAYS_INLINE bool directory_takes_thread(uint64_t thread)
{
	return !(thread >> WHO_THREAD_BITS);
}

/* Does a block have the half of the granule in which it begins to itself? See above. */
static ALWAYS_INLINE bool directory_has_half(const struct log *log, uint64_t address, uint64_t size)
{
	return address % DIRECTORY_HALF + size >= DIRECTORY_HALF ||
	       (size > DIRECTORY_HALF / 2 && log->header->near_size < DIRECTORY_GRANULE);
}

/* Does it have the whole granule, from the first byte on? */
static ALWAYS_INLINE bool directory_has_granule(const struct log *log, uint64_t address,
						uint64_t size)
{
	return size > log->header->near_size ||
	       address % DIRECTORY_GRANULE + size >= DIRECTORY_GRANULE ||
	       (!directory_is_lower(address) && directory_has_half(log, address, size));
}

/*
 * Does the record fit in 12 bytes? Its address fits (address_fits); its thread may be here, and the
 * lowest bits of its time are those of its thread.
 */
static ALWAYS_INLINE bool directory_words_fit(uint64_t address, const struct directory_words *words)
{
	return words->size < DIRECTORY_SIZE_END && !(words->stack >> WHAT_STACK_BITS) &&
	       !(words->ticks >> WHO_TIME_BITS) && !(address % 8);
}

static ALWAYS_INLINE struct directory_words directory_words_of(const struct log *log,
							       struct slot_words words)
{
	return (struct directory_words){
		.ticks = (words.time - log->header->origin) >> WHO_TICK_SHIFT,
		.thread = slot_stack_thread(words.stack),
		.size = words.size,
		.stack = (uint32_t)words.stack,
	};
}

/* The same for any record. A pool that the user has named may put its blocks at any distance. */
static ALWAYS_INLINE bool directory_fits(const struct log *log, uint64_t address,
					 struct slot_words words)
{
	struct directory_words packed = directory_words_of(log, words);
	uint64_t ticks = words.time - log->header->origin;

	return words.stack >> 48 == LOG_HEAP_UNKNOWN && !(address & LOG_DOMAIN_USER) &&
	       directory_takes_thread(packed.thread) &&
	       !((ticks ^ packed.thread) & WHO_TICK_BITS) && directory_words_fit(address, &packed);
}

/* Store the record, for its owner. It fits. */
static ALWAYS_INLINE void directory_store_words(const struct directory_slot *slot, uint64_t address,
						const struct directory_words *words)
{
	__atomic_store_n(slot->who, 0, __ATOMIC_RELAXED);
	__atomic_store_n(slot->what,
			 words->stack << WHAT_SIZE_BITS | (uint32_t)words->size, __ATOMIC_RELEASE);
	__atomic_store_n(slot->who,
			 words->ticks << WHO_TIME_SHIFT | words->thread << WHO_THREAD_SHIFT |
				 who_offset(address) | WHO_LIVE, __ATOMIC_RELEASE);
}

static ALWAYS_INLINE void directory_store(const struct log *log, const struct directory_spot *spot,
					  uint64_t address, struct slot_words words)
{
	struct directory_words packed = directory_words_of(log, words);
	struct directory_slot slot = directory_slot(spot);

	directory_store_words(&slot, address, &packed);
}

/* Is no live record there? */
static ALWAYS_INLINE bool directory_slot_is_vacant(const struct directory_slot *slot)
{
	return LIKELY(!(__atomic_load_n(slot->who, __ATOMIC_RELAXED) & WHO_LIVE));
}

/* Is there certainly no live record of the lower half alone of the granule of an address? */
static ALWAYS_INLINE bool directory_half_is_vacant(const struct log *log, uint64_t address)
{
	struct directory_spot half;
	struct directory_slot slot;

	if (!directory_spot(log, address + DIRECTORY_HALVES, &half))
		return false;
	slot = directory_slot(&half);
	return !directory_dense(&half) || directory_slot_is_vacant(&slot);
}

/* May the granule's record of this address be stored without a look elsewhere? */
static ALWAYS_INLINE bool directory_is_open(const struct log *log,
					    const struct directory_spot *spot, uint64_t address)
{
	unsigned page = __atomic_load_n(directory_page(spot), __ATOMIC_ACQUIRE);

	if (LIKELY(page == DIRECTORY_PAGE_DENSE))
		return true;
	return page & DIRECTORY_PAGE_DENSE &&
	       (!(page & DIRECTORY_PAGE_MIXED) || !directory_present(spot, address)) &&
	       (!(page & DIRECTORY_PAGE_HALVES) || !directory_is_lower(address) ||
		directory_half_is_vacant(log, address));
}

/* Insert a record. False: the slow path must. The caller keeps the accounts, here and below. */
static ALWAYS_INLINE bool directory_insert(const struct log *log, const struct directory_spot *spot,
					   uint64_t address, struct slot_words words)
{
	struct directory_slot slot = directory_slot(spot);

	if (UNLIKELY(!directory_fits(log, address, words)) ||
	    UNLIKELY(!directory_has_granule(log, address, words.size)) ||
	    UNLIKELY(!directory_is_open(log, spot, address)) ||
	    UNLIKELY(!directory_slot_is_vacant(&slot)))
		return false;
	directory_store(log, spot, address, words);
	return true;
}

/* Decode a record of this address. */
static ALWAYS_INLINE void directory_decode(const struct log *log, uint64_t address, uint64_t who,
					   uint32_t what, struct log_record *ret)
{
	uint32_t thread = who >> WHO_THREAD_SHIFT & ((1u << WHO_THREAD_BITS) - 1);
	uint64_t ticks = who >> WHO_TIME_SHIFT << WHO_TICK_SHIFT | (thread & WHO_TICK_BITS);

	ret->address = address;
	ret->size = what & (DIRECTORY_SIZE_END - 1);
	ret->time = log->header->origin + ticks;
	ret->thread = thread;
	ret->stack = what >> WHAT_SIZE_BITS;
	ret->heap = LOG_HEAP_UNKNOWN;
	ret->rate = 0;
}

/* Take a record out. False: it is not here. ret may be NULL. *size is that of its block. */
static ALWAYS_INLINE bool directory_remove(const struct log *log, const struct directory_spot *spot,
					   uint64_t address, struct log_record *ret, uint64_t *size)
{
	uint64_t who;
	uint32_t what;

	if (UNLIKELY(!directory_dense(spot)))
		return false;
	who = __atomic_load_n(&spot->line->who[spot->at], __ATOMIC_RELAXED);
	if (UNLIKELY((who & WHO_KIND) != (who_offset(address) | WHO_LIVE)) ||
	    UNLIKELY(address % 8))
		return false;
	what = __atomic_load_n(&spot->line->what[spot->at], __ATOMIC_RELAXED);
	if (ret)
		directory_decode(log, address, who, what, ret);
	*size = what & (DIRECTORY_SIZE_END - 1);
	__atomic_store_n(&spot->line->who[spot->at], who ^ WHO_LIVE ^ WHO_RETIRED,
			 __ATOMIC_RELEASE);
	return true;
}

/*
 * Find the record that an address has as a lower half, if the page says that there are such records
 * and the fast path knows where both are. False: it does not.
 */
static ALWAYS_INLINE bool directory_spot_half(const struct log *log, uint64_t address,
					      struct directory_spot *spot,
					      struct directory_spot *half)
{
	return directory_is_lower(address) && directory_spot(log, address, spot) &&
	       directory_has_halves(spot) &&
	       directory_spot(log, address + DIRECTORY_HALVES, half);
}

/*
 * May the record of a block without its granule be stored in that of its half, if that is vacant?
 * *ret is the record then.
 */
static ALWAYS_INLINE bool directory_half_is_open(const struct log *log, uint64_t address,
						 uint64_t size, struct directory_slot *ret)
{
	struct directory_spot spot, half;
	unsigned page;
	uint64_t who;

	if (UNLIKELY(!directory_has_half(log, address, size)) ||
	    UNLIKELY(!directory_spot_half(log, address, &spot, &half)) ||
	    UNLIKELY(!directory_dense(&half)))
		return false;
	page = __atomic_load_n(directory_page(&spot), __ATOMIC_ACQUIRE);
	if (UNLIKELY(!(page & DIRECTORY_PAGE_DENSE)) ||
	    ((page & DIRECTORY_PAGE_MIXED) && directory_present(&spot, address)))
		return false;
	who = __atomic_load_n(&spot.line->who[spot.at], __ATOMIC_RELAXED);
	if ((who & WHO_LIVE) && !(who & who_offset(DIRECTORY_HALF)))
		return false;
	*ret = directory_slot(&half);
	return true;
}

/* directory_remove for a block that is not in the granule's record. */
static ALWAYS_INLINE bool directory_remove_half(const struct log *log, uint64_t address,
						uint64_t *size)
{
	struct directory_spot spot, half;

	return directory_spot_half(log, address, &spot, &half) &&
	       directory_remove(log, &half, address, NULL, size);
}

/* The functions below are for the slow path. */

/* Find the extent of an address, wherever the map has it. */
bool directory_find(const struct log *log, uint64_t address, struct directory_spot *ret);
/* Find it, or make it. False: there is no room. */
bool directory_find_or_make(struct log *log, uint64_t address, struct directory_spot *ret);
/* A record that fits is about to be put in. Returns whether the page is, or becomes, dense. */
bool directory_becomes_dense(const struct log *log, const struct directory_spot *spot);
/* Find the record that the address at spot has as a lower half. False: there is none. */
bool directory_find_half(const struct log *log, const struct directory_spot *spot, uint64_t address,
			 struct directory_spot *ret);
/* A record that fits is about to be put in there. False: it cannot be. */
bool directory_open_half(struct log *log, const struct directory_spot *spot, uint64_t address,
			 struct directory_spot *ret);
/* The tables are about to get a record of this address. */
void directory_set_present(const struct directory_spot *spot, uint64_t address);
/* The directory is about to get a record of this address, and the tables have none. */
void directory_set_absent(const struct directory_spot *spot, uint64_t address);
/*
 * Read the record of this address. False: there is none. *live_ret says whether it is live; else it
 * is retired.
 */
bool directory_read(const struct log *log, const struct directory_spot *spot, uint64_t address,
		    struct log_record *ret, bool *live_ret);
/*
 * Take out the live record there, if its address is `from` at least and below `to`, which is in the
 * same granule. False: there is none.
 */
bool directory_retire(const struct log *log, const struct directory_spot *spot, uint64_t from,
		      uint64_t to, struct log_record *ret);
/* Make the retired record of this address live again, if it has this time. */
bool directory_restore(const struct log *log, uint64_t address, uint64_t time);
/* Call fn for each live record, with its number plus one. Returns true if fn has. */
bool directory_each(const struct log *log, log_each_fn *fn, void *ctx);
/* The live record of this number, which is below nr_extents * DIRECTORY_RECORDS. */
bool directory_numbered(const struct log *log, uint64_t number, struct log_record *ret);
/* The extents that have a place: their places begin at 0. */
uint64_t directory_places(const struct log *log);
/* The number of pages that are dense, of one extent and of all. */
unsigned directory_place_pages(const struct log *log, uint64_t place);
uint64_t directory_pages(const struct log *log);
