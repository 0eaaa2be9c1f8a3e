/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The fast path of recording, to be inlined where every nanosecond counts. It handles a small block
 * whose record is in the directory (directory.h). Everything else takes the slow path
 * (log_record.c), which knows every case; so this code may give up at any point.
 *
 * Freestanding.
 */
#pragma once

#include "log/directory.h"

/*
 * The slow path of log_record_insert and log_record_remove (log_record.c), without the counting
 * filter of a log that samples. It looks into the directory, too.
 */
bool log_record_insert_slow(struct log *log, uint64_t address, uint64_t size, uint64_t time,
			    uint64_t stack,
		  struct log_record *replaced);
bool log_record_remove_slow(struct log *log, uint64_t address, uint32_t thread,
			    struct log_record *ret);

/*
 * log_record_insert of a log that does not sample; the size must be below 2^48, and the thread one
 * that log_thread has given.
 */
static ALWAYS_INLINE bool fast_insert(struct log *log, const struct log_record *record,
				      struct log_record *replaced)
{
	uint64_t stack = slot_stack(record->stack, record->thread, record->heap);
	struct directory_spot spot;

	if (UNLIKELY(!directory_spot(log, record->address, &spot)) ||
	    UNLIKELY(!directory_insert(log, &spot, record->address,
				       (struct slot_words){ record->time, record->size, stack })))
		return log_record_insert_slow(log, record->address, record->size, record->time,
					      stack,
				    replaced);
	account_block(log, record->thread, LOG_ACCOUNT(allocs), record->size);
	if (replaced)
		replaced->address = 0;
	return true;
}

/* log_record_remove of such a log and thread. */
static ALWAYS_INLINE bool fast_remove(struct log *log, uint64_t address, uint32_t thread,
				      struct log_record *ret)
{
	struct directory_spot spot;
	uint64_t size;

	if (UNLIKELY(!directory_spot(log, address, &spot)) ||
	    UNLIKELY(!directory_remove(log, &spot, address, ret, &size)))
		return log_record_remove_slow(log, address, thread, ret);
	account_block(log, thread, LOG_ACCOUNT(frees), size);
	return true;
}
