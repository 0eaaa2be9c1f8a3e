/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The records of the log, wherever they are: small blocks in the directory (directory.h), all
 * others in the tables (block_table.h). This is the long way; fast_path.h has the short one.
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

/* Put a record into the tables, and before that note its presence, if there is an extent. */
static bool insert_in_tables(struct log *log, uint64_t address, struct slot_words words,
			     const struct directory_spot *spot, struct log_record *old)
{
	bool replaced;

	if (spot)
		directory_set_present(spot, address);
	if (!tables_insert(log, address, words, old, &replaced))
		return false;
	if (replaced)
		count_replaced(log, slot_stack_thread(words.stack), old->size);
	return true;
}

/* The directory gets a record of this address. If the tables have one, its free was not seen. */
static void replace_in_tables(struct log *log, const struct directory_spot *spot, uint64_t address,
			      uint32_t thread, struct log_record *old)
{
	bool found;

	if (!directory_present(spot, address))
		return;
	if (tables_remove(log, address, old, &found))
		count_replaced(log, thread, old->size);
	directory_set_absent(spot, address);
}

/*
 * If the directory has a record in the granule of this new block, of whatever address, its free was
 * not seen.
 */
static void replace_in_directory(struct log *log, const struct directory_spot *spot,
				 uint64_t address, bool any_address, uint32_t thread,
				 struct log_record *old)
{
	if (!directory_retire(log, spot, address, any_address, old))
		return;
	count_replaced(log, thread, old->size);
	if (old->address != address)
		old->address = 0;
}

/* Put a record where it belongs. False: there is no room. */
static bool insert_anywhere(struct log *log, uint64_t address, struct slot_words words,
			    struct log_record *old)
{
	uint32_t thread = slot_stack_thread(words.stack);
	struct directory_spot spot;

	if (!address_fits(address))
		return false;
	if (!directory_find_or_make(log, address, &spot))
		return insert_in_tables(log, address, words, NULL, old);
	if (!directory_takes(log, address, words) || !directory_becomes_dense(log, &spot)) {
		replace_in_directory(log, &spot, address, false, thread, old);
		return insert_in_tables(log, address, words, &spot, old);
	}
	replace_in_directory(log, &spot, address, true, thread, old);
	replace_in_tables(log, &spot, address, thread, old);
	directory_store(log, &spot, address, words);
	return true;
}

NOINLINE bool record_insert(struct log *log, uint64_t address, uint64_t size, uint64_t time,
			   uint64_t stack, struct log_record *replaced)
{
	uint32_t thread = slot_stack_thread(stack);
	struct log_record old;
	bool is_in;

	old.address = 0;
	is_in = insert_anywhere(log, address, (struct slot_words){ time, size, stack }, &old);
	if (is_in) {
		account_add(log, thread, LOG_ACCOUNT(allocs), 1);
		account_add(log, thread, LOG_ACCOUNT(alloc_bytes), size);
	} else {
		account_add(log, thread, LOG_ACCOUNT(table_full), 1);
	}
	if (replaced)
		*replaced = old;
	return is_in;
}

/* log_insert without the counting filter. */
static bool insert_record(struct log *log, const struct log_record *record,
			  struct log_record *replaced)
{
	uint64_t size = MIN(record->size, LOG_SIZE_MAX);

	if (LIKELY(record->size == size && !thread_shared(log, record->thread)))
		return fast_insert(log, record, replaced);
	return record_insert(log, record->address, size, record->time,
			    slot_stack(record->stack, record->thread, record->heap), replaced);
}

bool log_insert(struct log *log, const struct log_record *record, struct log_record *replaced)
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

/* Take a record out, wherever it is. If there is none, *found says whether there was one. */
static bool remove_anywhere(struct log *log, uint64_t address, struct log_record *ret, bool *found)
{
	struct directory_spot spot;
	uint64_t size;
	bool live;

	*found = false;
	if (!address_fits(address))
		return false;
	if (!directory_find(log, address, &spot))
		return __atomic_load_n(&log->header->uncovered, __ATOMIC_ACQUIRE) &&
		       tables_remove(log, address, ret, found);
	if (directory_remove(log, &spot, address, ret, &size))
		return true;
	if (directory_present(&spot, address) && tables_remove(log, address, ret, found))
		return true;
	*found |= directory_read(log, &spot, address, ret, &live);
	return false;
}

NOINLINE bool record_remove(struct log *log, uint64_t address, uint32_t thread,
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

/* log_remove without the counting filter. */
static bool remove_record(struct log *log, uint64_t address, uint32_t thread,
			  struct log_record *ret)
{
	return LIKELY(!thread_shared(log, thread)) ? fast_remove(log, address, thread, ret) :
						     record_remove(log, address, thread, ret);
}

bool log_remove(struct log *log, uint64_t address, uint32_t thread, struct log_record *ret)
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

bool log_lookup(const struct log *log, uint64_t address, struct log_record *ret)
{
	struct directory_spot spot;
	bool live;

	if (!address_fits(address))
		return false;
	return (directory_find(log, address, &spot) &&
		directory_read(log, &spot, address, ret, &live) && live) ||
	       tables_lookup(log, address, ret);
}

/*
 * The last record of an address. The directory and the tables may both have one; at most one of
 * them is live, and of two retired ones the younger is the last.
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
		directory_read(log, &spot, address, ret, &live);
	if (live)
		return TABLES_LIVE;
	last = tables_last(log, address, &other);
	if (last == TABLES_LIVE || (last == TABLES_RETIRED && (!found || other.time > ret->time)))
		*ret = other;
	return last == TABLES_NONE && found ? TABLES_RETIRED : last;
}

bool log_knew(const struct log *log, uint64_t address)
{
	struct log_record record;

	return last_record(log, address, &record) != TABLES_NONE;
}

bool log_retired(const struct log *log, uint64_t address, struct log_record *ret)
{
	return last_record(log, address, ret) == TABLES_RETIRED;
}

enum log_past log_past(const struct log *log, uint64_t address, uint64_t until,
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

/* log_restore without the counting filter. */
static bool restore_record(struct log *log, const struct log_record *record, uint32_t thread)
{
	struct directory_spot spot;
	bool is_in = false;

	if (address_fits(record->address)) {
		is_in = directory_restore(log, record->address, record->time);
		if (!is_in && directory_find_or_make(log, record->address, &spot))
			directory_set_present(&spot, record->address);
		is_in = is_in || tables_restore(log, record);
	}
	if (!is_in) {
		account_add(log, thread, LOG_ACCOUNT(table_full), 1);
		return false;
	}
	account_add(log, thread, LOG_ACCOUNT(frees), -1ull);
	account_add(log, thread, LOG_ACCOUNT(free_bytes), -record->size);
	return true;
}

bool log_restore(struct log *log, const struct log_record *record, uint32_t thread)
{
	if (LIKELY(!log->header->sample))
		return restore_record(log, record, thread);
	counting_filter_add(log, record->address);
	if (restore_record(log, record, thread))
		return true;
	counting_filter_take_back(log, record->address);
	return false;
}
