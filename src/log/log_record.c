/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The records of the log, wherever they are: small blocks in the directory (directory.h), all
 * others in the tables (block_table.h). This is the slow path; fast_path.h has the fast one.
 * Freestanding.
 */

#include "log/block_table.h"
#include "log/counting_filter.h"
#include "log/fast_path.h"

/* A record was found at the address of a new one: the free of its block was not seen. */
static void count_replaced(struct log *log, uint32_t thread, uint64_t size)
{
	account_add(log, thread, LOG_ACCOUNT(replaced), 1);
	account_add(log, thread, LOG_ACCOUNT(free_bytes), size);
}

/* A record that is put in by a thread. *old is the one of the same address that it replaces. */
struct insertion {
	struct log *log;
	uint64_t address;
	struct slot_words words;
	uint32_t thread;
	struct log_record *old;
};

/* Put the record into the tables, and before that note its presence, if there is an extent. */
static bool insert_in_tables(const struct insertion *in, const struct directory_spot *spot)
{
	bool replaced;

	if (spot)
		directory_set_present(spot, in->address);
	if (!block_table_insert(in->log, in->address, in->words, in->old, &replaced))
		return false;
	if (replaced)
		count_replaced(in->log, in->thread, in->old->size);
	return true;
}

/* The directory gets the record. If the tables have one of its address, its free was not seen. */
static void replace_in_tables(const struct insertion *in, const struct directory_spot *spot)
{
	bool found;

	if (!directory_present(spot, in->address))
		return;
	if (block_table_remove(in->log, in->address, in->old, &found))
		count_replaced(in->log, in->thread, in->old->size);
	directory_set_absent(spot, in->address);
}

/*
 * If the directory has a record at spot whose address is `from` at least and below `to`, it is of a
 * block that the new one overlaps: its free was not seen.
 */
static void replace_at(const struct insertion *in, const struct directory_spot *spot, uint64_t from,
		       uint64_t to)
{
	struct log_record there;

	if (!directory_retire(in->log, spot, from, to, &there))
		return;
	count_replaced(in->log, in->thread, there.size);
	if (there.address == in->address)
		*in->old = there;
}

/* The same for the record of the granule at spot, and that of its lower half. */
static void replace_in_directory(const struct insertion *in, const struct directory_spot *spot,
				 uint64_t from, uint64_t to)
{
	struct directory_spot half;

	replace_at(in, spot, from, to);
	if (directory_find_half(in->log, spot, in->address, &half))
		replace_at(in, &half, from, to);
}

/* Put the record at `at`, which is spot or that of the lower half of its granule, up to `end`. */
static bool insert_in_directory(const struct insertion *in, const struct directory_spot *spot,
				const struct directory_spot *at, uint64_t end)
{
	uint64_t granule = ALIGN_DOWN(in->address, (uint64_t)DIRECTORY_GRANULE);

	replace_in_directory(in, spot, granule, granule + end);
	replace_in_tables(in, spot);
	directory_store(in->log, at, in->address, in->words);
	return true;
}

/* Put a record where it belongs. False: there is no room. */
static bool insert_anywhere(const struct insertion *in)
{
	struct directory_spot spot, half;
	bool fits, has_granule;

	if (!address_fits(in->address))
		return false;
	if (!directory_find_or_make(in->log, in->address, &spot))
		return insert_in_tables(in, NULL);
	has_granule = directory_has_granule(in->log, in->address, in->words.size);
	fits = directory_fits(in->log, in->address, in->words) &&
	       (has_granule || directory_has_half(in->log, in->address, in->words.size)) &&
	       directory_becomes_dense(in->log, &spot);
	if (fits && has_granule)
		return insert_in_directory(in, &spot, &spot, DIRECTORY_GRANULE);
	if (fits && directory_open_half(in->log, &spot, in->address, &half))
		return insert_in_directory(in, &spot, &half, DIRECTORY_HALF);
	replace_in_directory(in, &spot, in->address, in->address + 1);
	return insert_in_tables(in, &spot);
}

NOINLINE bool log_record_insert_slow(struct log *log, uint64_t address, uint64_t size,
				     uint64_t time,
			   uint64_t stack, struct log_record *replaced)
{
	uint32_t thread = slot_stack_thread(stack);
	struct log_record old;
	struct insertion in = { log, address, { time, size, stack }, thread, &old };
	bool is_in;

	old.address = 0;
	is_in = insert_anywhere(&in);
	if (is_in) {
		account_add(log, thread, LOG_ACCOUNT(allocs), 1);
		account_add(log, thread, LOG_ACCOUNT(alloc_bytes), size & LOG_SIZE_MAX);
	} else {
		account_add(log, thread, LOG_ACCOUNT(table_full), 1);
	}
	if (replaced)
		*replaced = old;
	return is_in;
}

/* log_record_insert without the counting filter. */
static bool insert_record(struct log *log, const struct log_record *record,
			  struct log_record *replaced)
{
	uint64_t size = MIN(record->size, LOG_SIZE_MAX);

	if (LIKELY(record->size == size && !record->rate && !thread_shared(log, record->thread)))
		return fast_insert(log, record, replaced);
	return log_record_insert_slow(log, record->address, slot_size(size, record->rate),
			    record->time,
			    slot_stack(record->stack, record->thread, record->heap), replaced);
}

bool log_record_insert(struct log *log, const struct log_record *record,
		       struct log_record *replaced)
{
	struct log_record old;
	bool is_in;

	if (LIKELY(!log->header->sample))
		return insert_record(log, record, replaced);
	counting_filter_add(log, record->address);
	is_in = insert_record(log, record, &old);
	if (!is_in || old.address)
		counting_filter_take_back(log, record->address);
	if (replaced)
		*replaced = old;
	return is_in;
}

/*
 * Read the record of this address in the directory: the live one, or else the younger one of two.
 * False: there is none. *live says whether it is live.
 */
static bool read_in_directory(const struct log *log, const struct directory_spot *spot,
			      uint64_t address, struct log_record *ret, bool *live)
{
	struct log_record other;
	struct directory_spot half;
	bool found = directory_read(log, spot, address, ret, live), other_live;

	if ((found && *live) || !directory_find_half(log, spot, address, &half) ||
	    !directory_read(log, &half, address, &other, &other_live))
		return found;
	if (!found || other_live || other.time > ret->time) {
		*ret = other;
		*live = other_live;
	}
	return true;
}

/* May the tables have a record of an address without an extent, and without a presence bit? */
static bool is_uncovered(const struct log *log)
{
	return __atomic_load_n(&log->header->uncovered, __ATOMIC_ACQUIRE);
}

/*
 * Take a record out, wherever it is. If there is none, *found says whether there was one. In an
 * uncovered log the presence bit says nothing: the extent may have come into the map after the
 * record was put into the tables, by the one who had taken the last place.
 */
static bool remove_anywhere(struct log *log, uint64_t address, struct log_record *ret, bool *found)
{
	struct directory_spot spot, half;
	uint64_t size;
	bool live;

	*found = false;
	if (!address_fits(address))
		return false;
	if (!directory_find(log, address, &spot))
		return is_uncovered(log) && block_table_remove(log, address, ret, found);
	if (directory_remove(log, &spot, address, ret, &size) ||
	    (directory_find_half(log, &spot, address, &half) &&
	     directory_remove(log, &half, address, ret, &size)))
		return true;
	if ((directory_present(&spot, address) || is_uncovered(log)) &&
	    block_table_remove(log, address, ret, found))
		return true;
	*found |= read_in_directory(log, &spot, address, ret, &live);
	return false;
}

NOINLINE bool log_record_remove_slow(struct log *log, uint64_t address, uint32_t thread,
			   struct log_record *ret)
{
	struct log_record old;
	bool found;

	if (!remove_anywhere(log, address, &old, &found)) {
		account_miss(log, thread);
		if (ret)
			ret->address = found ? address : 0;
		return false;
	}
	account_add(log, thread, LOG_ACCOUNT(frees), 1);
	account_add(log, thread, LOG_ACCOUNT(free_bytes), old.size);
	if (ret)
		*ret = old;
	return true;
}

/* log_record_remove without the counting filter. */
static bool remove_record(struct log *log, uint64_t address, uint32_t thread,
			  struct log_record *ret)
{
	return LIKELY(!thread_shared(log, thread)) ? fast_remove(log, address, thread, ret) :
						     log_record_remove_slow(log, address, thread,
									    ret);
}

bool log_record_remove(struct log *log, uint64_t address, uint32_t thread, struct log_record *ret)
{
	if (LIKELY(!log->header->sample))
		return remove_record(log, address, thread, ret);
	if (LIKELY(counting_filter_lacks(log, address))) {
		account_miss(log, thread);
		return false;
	}
	if (!remove_record(log, address, thread, ret))
		return false;
	counting_filter_take_back(log, address);
	return true;
}

bool log_record_lookup(const struct log *log, uint64_t address, struct log_record *ret)
{
	struct directory_spot spot;
	bool live;

	if (!address_fits(address))
		return false;
	return (directory_find(log, address, &spot) &&
		read_in_directory(log, &spot, address, ret, &live) && live) ||
	       block_table_lookup(log, address, ret);
}

/*
 * Find the last record of an address. The directory and the tables may both have one; at most one
 * of them is live, and of two retired ones the younger is the last.
 */
static enum tables_last last_record(const struct log *log, uint64_t address, struct log_record *ret)
{
	struct directory_spot spot;
	struct log_record other;
	enum tables_last last;
	bool found, live = false;

	if (!address_fits(address))
		return TABLES_NONE;
	found = directory_find(log, address, &spot) &&
		read_in_directory(log, &spot, address, ret, &live);
	if (live)
		return TABLES_LIVE;
	last = block_table_last(log, address, &other);
	if (last == TABLES_LIVE || (last == TABLES_RETIRED && (!found || other.time > ret->time)))
		*ret = other;
	return last == TABLES_NONE && found ? TABLES_RETIRED : last;
}

bool log_record_knew(const struct log *log, uint64_t address)
{
	struct log_record record;

	return last_record(log, address, &record) != TABLES_NONE;
}

bool log_record_retired(const struct log *log, uint64_t address, struct log_record *ret)
{
	return last_record(log, address, ret) == TABLES_RETIRED;
}

enum log_past log_record_past(const struct log *log, uint64_t address, uint64_t until,
			      struct log_record *ret)
{
	switch (last_record(log, address, ret)) {
	case TABLES_NONE:
		return LOG_NEVER;
	case TABLES_UNCLEAR:
		return LOG_SINCE;
	default:
		return ret->time > until ? LOG_SINCE : LOG_PAST;
	}
}

/* log_record_restore without the counting filter. */
static bool restore_record(struct log *log, const struct log_record *record, uint32_t thread)
{
	struct directory_spot spot;
	bool is_in = false;

	if (address_fits(record->address)) {
		is_in = directory_restore(log, record->address, record->time);
		if (!is_in && directory_find_or_make(log, record->address, &spot))
			directory_set_present(&spot, record->address);
		is_in = is_in || block_table_restore(log, record);
	}
	if (!is_in) {
		account_add(log, thread, LOG_ACCOUNT(table_full), 1);
		return false;
	}
	account_add(log, thread, LOG_ACCOUNT(frees), -1ull);
	account_add(log, thread, LOG_ACCOUNT(free_bytes), -record->size);
	return true;
}

bool log_record_restore(struct log *log, const struct log_record *record, uint32_t thread)
{
	if (LIKELY(!log->header->sample))
		return restore_record(log, record, thread);
	counting_filter_add(log, record->address);
	if (restore_record(log, record, thread))
		return true;
	counting_filter_take_back(log, record->address);
	return false;
}
