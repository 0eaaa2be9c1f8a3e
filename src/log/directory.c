/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The directory's slow path, and its readers (theory in directory.h). Freestanding. */

#include "log/block_table.h"
#include "log/budget.h"

/* The page before is well filled if so many records are live in a sixteenth of its lines. */
#define FILLED_STEP	16u
#define FILLED_LEAST	2u
/* A reader looks at a record that changes so many times. */
#define READ_TRIES	16u

static uint64_t *map_entry(const struct log *log, uint64_t number, unsigned probe)
{
	return &log->extent_map[(number + probe) & log->extent_mask];
}

bool directory_find(const struct log *log, uint64_t address, struct directory_spot *ret)
{
	uint64_t number = directory_extent_number(address);

	for (unsigned probe = 0; probe < DIRECTORY_PROBES; probe++) {
		uint64_t entry = __atomic_load_n(map_entry(log, number, probe), __ATOMIC_ACQUIRE);

		if (!entry)
			return false;
		if (directory_entry_is(log, entry, number)) {
			directory_spot_in(log, entry & DIRECTORY_PLACE, address, ret);
			return true;
		}
	}
	return false;
}

/* A place that nobody has yet. nr_extents: there is none. */
static uint64_t take_place(const struct log *log)
{
	uint64_t next = __atomic_load_n(&log->header->extents, __ATOMIC_RELAXED);

	if (next >= log->nr_extents || !log_may_take(log, 2 * LOG_PAGE))
		return log->nr_extents;
	log_take(log, 2 * LOG_PAGE);
	next = __atomic_fetch_add(&log->header->extents, 1, __ATOMIC_RELAXED);
	return MIN(next, log->nr_extents);
}

/*
 * Put an extent into the map. Several writers may try it for one number: they all try the same
 * entries in the same order, so the second one finds what the first one has put in, and its place
 * is never used. False: there is no room.
 */
static bool make(const struct log *log, uint64_t number, uint64_t *ret)
{
	uint64_t place = take_place(log), mine = (number + 1) << DIRECTORY_PLACE_BITS | place;

	if (place >= log->nr_extents)
		return false;
	__atomic_store_n(&log->extent[place].number, number + 1, __ATOMIC_RELAXED);
	for (unsigned probe = 0; probe < DIRECTORY_PROBES; probe++) {
		uint64_t there = 0;

		if (__atomic_compare_exchange_n(map_entry(log, number, probe), &there, mine, false,
						__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			there = mine;
		if (directory_entry_is(log, there, number)) {
			*ret = there & DIRECTORY_PLACE;
			return true;
		}
	}
	return false;
}

bool directory_find_or_make(struct log *log, uint64_t address, struct directory_spot *ret)
{
	uint64_t number = directory_extent_number(address), place;

	if (directory_find(log, address, ret))
		return true;
	if (__atomic_load_n(&log->header->uncovered, __ATOMIC_RELAXED))
		return false;
	if (!number || !make(log, number, &place)) {
		__atomic_store_n(&log->header->uncovered, 1, __ATOMIC_RELEASE);
		return false;
	}
	directory_spot_in(log, place, address, ret);
	return true;
}

bool directory_find_half(const struct log *log, const struct directory_spot *spot, uint64_t address,
			 struct directory_spot *ret)
{
	return directory_is_lower(address) && directory_has_halves(spot) &&
	       directory_find(log, address + DIRECTORY_HALVES, ret);
}

bool directory_open_half(struct log *log, const struct directory_spot *spot, uint64_t address,
			 struct directory_spot *ret)
{
	uint8_t *page = directory_page(spot);

	if (!directory_find_or_make(log, address + DIRECTORY_HALVES, ret) ||
	    !directory_becomes_dense(log, ret))
		return false;
	if (!(__atomic_load_n(page, __ATOMIC_RELAXED) & DIRECTORY_PAGE_HALVES))
		__atomic_fetch_or(page, DIRECTORY_PAGE_HALVES, __ATOMIC_RELEASE);
	return true;
}

/* A page that is dense only because the one before it is may be nearly empty itself. */
static bool is_filled(const struct log *log, const struct directory_spot *spot, unsigned page)
{
	uint64_t first = (uint64_t)(spot->extent - log->extent) * DIRECTORY_LINES +
			 (uint64_t)page * DIRECTORY_PAGE_LINES;
	unsigned live = 0;

	if (!(__atomic_load_n(&spot->extent->page[page], __ATOMIC_RELAXED) & DIRECTORY_PAGE_DENSE))
		return false;
	for (unsigned i = 0; i < DIRECTORY_PAGE_LINES; i += FILLED_STEP)
		for (unsigned at = 0; at < DIRECTORY_LINE_RECORDS; at++)
			live += (__atomic_load_n(&log->directory[first + i].who[at],
						 __ATOMIC_RELAXED) & WHO_STATE) == WHO_LIVE;
	return live >= FILLED_LEAST;
}

static bool is_among_filled(const struct log *log, const struct directory_spot *spot, unsigned page)
{
	unsigned last = __atomic_load_n(&spot->extent->last, __ATOMIC_RELAXED) % DIRECTORY_PAGES;

	return (page && is_filled(log, spot, page - 1)) || is_filled(log, spot, last);
}

bool directory_becomes_dense(const struct log *log, const struct directory_spot *spot)
{
	unsigned page = spot->nr / DIRECTORY_PAGE_LINES;
	uint8_t *passed = &spot->extent->passed[page];
	unsigned nr = __atomic_load_n(passed, __ATOMIC_RELAXED);

	if (directory_dense(spot))
		return true;
	if (nr + 1 < DIRECTORY_DENSE && (nr || !is_among_filled(log, spot, page))) {
		__atomic_store_n(passed, (uint8_t)(nr + 1), __ATOMIC_RELAXED);
		return false;
	}
	if (share_left(log, block_table_count(log)) < LOG_PAGE || !log_may_take(log, LOG_PAGE))
		return false;
	if (!(__atomic_fetch_or(directory_page(spot), DIRECTORY_PAGE_DENSE, __ATOMIC_RELEASE) &
	      DIRECTORY_PAGE_DENSE)) {
		__atomic_fetch_add(&log->header->dense, 1, __ATOMIC_RELAXED);
		log_take(log, LOG_PAGE);
	}
	__atomic_store_n(&spot->extent->last, page, __ATOMIC_RELAXED);
	return true;
}

void directory_set_present(const struct directory_spot *spot, uint64_t address)
{
	uint32_t absence = directory_absence(spot, address);
	uint64_t bit, *word = directory_presence(spot, &bit);
	uint8_t *page = directory_page(spot);

	if (!(__atomic_load_n(page, __ATOMIC_RELAXED) & DIRECTORY_PAGE_MIXED))
		__atomic_fetch_or(page, DIRECTORY_PAGE_MIXED, __ATOMIC_RELEASE);
	if (!(__atomic_load_n(word, __ATOMIC_RELAXED) & bit))
		__atomic_fetch_or(word, bit, __ATOMIC_RELEASE);
	if (directory_dense(spot) &&
	    (__atomic_load_n(&spot->line->absent, __ATOMIC_RELAXED) & absence))
		__atomic_fetch_and(&spot->line->absent, ~absence, __ATOMIC_RELEASE);
}

void directory_set_absent(const struct directory_spot *spot, uint64_t address)
{
	__atomic_fetch_or(&spot->line->absent, directory_absence(spot, address), __ATOMIC_RELEASE);
}

bool directory_read(const struct log *log, const struct directory_spot *spot, uint64_t address,
		    struct log_record *ret, bool *live_ret)
{
	if (!directory_dense(spot))
		return false;
	for (unsigned tries = 0; tries < READ_TRIES; tries++) {
		uint64_t who = __atomic_load_n(&spot->line->who[spot->at], __ATOMIC_ACQUIRE);
		uint32_t what = __atomic_load_n(&spot->line->what[spot->at], __ATOMIC_ACQUIRE);
		unsigned state = who & WHO_STATE;

		if ((state != WHO_LIVE && state != WHO_RETIRED) || address % 8 ||
		    (who & WHO_KIND & ~WHO_STATE) != who_offset(address))
			return false;
		if (__atomic_load_n(&spot->line->who[spot->at], __ATOMIC_RELAXED) != who)
			continue;
		directory_decode(log, address, who, what, ret);
		log_bound_ids(log, &ret->thread, &ret->stack);
		*live_ret = state == WHO_LIVE;
		return true;
	}
	return false;
}

bool directory_retire(const struct log *log, const struct directory_spot *spot, uint64_t from,
		      uint64_t to, struct log_record *ret)
{
	uint64_t *who = &spot->line->who[spot->at], old, there;
	uint32_t what;

	/* Even a load would take memory for a page that has no records. */
	if (!directory_dense(spot))
		return false;
	old = __atomic_load_n(who, __ATOMIC_RELAXED);
	what = __atomic_load_n(&spot->line->what[spot->at], __ATOMIC_RELAXED);
	there = ALIGN_DOWN(from, (uint64_t)DIRECTORY_GRANULE) + (old >> WHO_OFFSET_SHIFT & 3) * 8;
	if ((old & WHO_STATE) != WHO_LIVE || there < from || there >= to)
		return false;
	/* Another block may begin in the granule of one whose record goes elsewhere. */
	if (!__atomic_compare_exchange_n(who, &old, old ^ WHO_LIVE ^ WHO_RETIRED, false,
					 __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		return false;
	directory_decode(log, there, old, what, ret);
	return true;
}

/* The record of this address at spot, if it is retired and has this time, lives again. */
static bool restore_at(const struct log *log, const struct directory_spot *spot, uint64_t address,
		       uint64_t time)
{
	uint64_t *who = &spot->line->who[spot->at];
	struct log_record record;
	bool live;

	if (!directory_read(log, spot, address, &record, &live) || live || record.time != time)
		return false;
	__atomic_store_n(who, __atomic_load_n(who, __ATOMIC_RELAXED) ^ WHO_RETIRED ^ WHO_LIVE,
			 __ATOMIC_RELEASE);
	return true;
}

bool directory_restore(const struct log *log, uint64_t address, uint64_t time)
{
	struct directory_spot spot, half;

	return directory_find(log, address, &spot) &&
	       (restore_at(log, &spot, address, time) ||
		(directory_find_half(log, &spot, address, &half) &&
		 restore_at(log, &half, address, time)));
}

/* The target can write any number. */
uint64_t directory_places(const struct log *log)
{
	return MIN(__atomic_load_n(&log->header->extents, __ATOMIC_ACQUIRE), log->nr_extents);
}

bool directory_numbered(const struct log *log, uint64_t number, struct log_record *ret)
{
	uint64_t line = number / DIRECTORY_LINE_RECORDS;
	struct directory_spot spot = {
		.extent = &log->extent[line / DIRECTORY_LINES],
		.line = &log->directory[line],
		.nr = line % DIRECTORY_LINES,
		.at = number % DIRECTORY_LINE_RECORDS,
	};
	uint64_t extent = __atomic_load_n(&spot.extent->number, __ATOMIC_RELAXED) - 1, who, address;
	bool live;

	if (!directory_dense(&spot))
		return false;
	who = __atomic_load_n(&spot.line->who[spot.at], __ATOMIC_RELAXED);
	address = extent % (DIRECTORY_EXTENTS + 1) * DIRECTORY_REACH +
		  number % DIRECTORY_RECORDS * DIRECTORY_GRANULE +
		  (who >> WHO_OFFSET_SHIFT & 3) * 8;
	return extent < 2 * (DIRECTORY_EXTENTS + 1) && address_fits(address) &&
	       (who & WHO_STATE) == WHO_LIVE &&
	       directory_read(log, &spot, address, ret, &live) && live;
}

static bool page_each(const struct log *log, uint64_t first, log_each_fn *fn, void *ctx)
{
	for (unsigned i = 0; i < DIRECTORY_PAGE_LINES * DIRECTORY_LINE_RECORDS; i++) {
		struct log_record record;

		if (directory_numbered(log, first + i, &record) &&
		    fn(&record, first + i + 1, ctx))
			return true;
	}
	return false;
}

bool directory_each(const struct log *log, log_each_fn *fn, void *ctx)
{
	uint64_t pages = directory_places(log) * DIRECTORY_PAGES;

	for (uint64_t page = 0; page < pages; page++)
		if ((__atomic_load_n(&log->extent[page / DIRECTORY_PAGES].page[page % DIRECTORY_PAGES],
				     __ATOMIC_ACQUIRE) & DIRECTORY_PAGE_DENSE) &&
		    page_each(log, page * DIRECTORY_PAGE_LINES * DIRECTORY_LINE_RECORDS, fn, ctx))
			return true;
	return false;
}

unsigned directory_place_pages(const struct log *log, uint64_t place)
{
	unsigned nr = 0;

	for (unsigned page = 0; page < DIRECTORY_PAGES; page++)
		nr += __atomic_load_n(&log->extent[place].page[page], __ATOMIC_RELAXED) &
		      DIRECTORY_PAGE_DENSE;
	return nr;
}

uint64_t directory_pages(const struct log *log)
{
	uint64_t places = directory_places(log), nr = 0;

	for (uint64_t place = 0; place < places; place++)
		nr += directory_place_pages(log, place);
	return nr;
}
