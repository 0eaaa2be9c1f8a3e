/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A region in which the target has written at will: what is read from it may be nonsense, but no
 * read may leave it. The input is a list of writes: 4 bytes of offset, 1 of length, the bytes. The
 * region is a good one with a few records.
 */

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "log/journal.h"
#include "log/log.h"
#include "log/log_unknown_free.h"
#include "log/block_table.h"
#include "unwind/walk.h"

#define REGION_SIZE	LOG_REGION_MIN
#define WINDOWS		32u		/* of each table */

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

/*
 * Nearly all time would be spent on the 30,000 empty slots of the first table. So there are two small
 * tables: the start of the first one, and the end of the last one, behind which nothing can be read.
 */
static void shrink_tables(struct log *log)
{
	struct log_table *last = &log->table[log->nr_tables - 1];

	log->table[1].window = last->window + last->nr - WINDOWS;
	log->table[0].nr = log->table[1].nr = WINDOWS;
	log->nr_tables = 2;
}

static void fill(struct log *log)
{
	const uint64_t pcs[] = { 0x401000, 0x401100, 0x401200 };
	uint32_t thread = registry_thread(log, 0x7f0000001700, 42);

	for (uint64_t i = 1; i <= 20; i++) {
		struct log_record record = {
			.address = 0x555555560000 + 16 * i,
			.size = i,
			.time = log_clock_begin(log) + i,
			.thread = thread,
			.stack = stack_table_insert(log, pcs, 1 + i % 3, 0, 1),
		};

		log_record_insert(log, &record, NULL);
	}
}

/* A block that is freed twice, and the first free. */
static void free_twice(struct log *log)
{
	const struct free_facts facts = { .complete = 1 };
	const uint64_t pcs[] = { 0x401000, 0x401300 };
	struct log_record old;
	struct log_free first;
	struct log_unknown_free again;

	if (!log_record_remove(log, 0x555555560010, 0, &old))
		abort();
	first = (struct log_free){ old.address, old.time, log_now(), old.thread, old.stack };
	free_history_note(log, &first);
	again = (struct log_unknown_free){
		.address = old.address,
		.time = log_now(),
		.stack = stack_table_insert(log, pcs, 2, WALK_COMPLETE, 1),
	};
	log_unknown_free(log, &again, &facts, pcs[1], true);
}

/* Keeps the compiler from leaving reads out. */
static volatile uint64_t sink;

static bool read_record(const struct log_record *record, uint64_t slot UNUSED, void *ctx)
{
	const struct log *log = ctx;
	struct log_stack_view stack = reader_stack(log, record->stack);
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; i < stack.nr; i++)
		sum += stack.pcs[i];
	sum += reader_thread(log, record->thread).lwp;
	sum += log_clock_realtime(log, record->time);
	sink = sum;
	return false;
}

static bool read_unknown_free(const struct log_unknown_free *unknown, void *ctx)
{
	const struct log *log = ctx;
	struct log_record first = { .stack = unknown->first.stack, .thread = unknown->first.thread,
				    .time = unknown->first.time };
	struct log_free free;

	read_record(&unknown->block, 0, ctx);
	read_record(&first, 0, ctx);
	if (free_history_first(log, unknown->address, unknown->block.time, &free))
		sink = free.time;
	return false;
}

static void read_all(void *base)
{
	struct log_record record;
	struct log log;
	uint32_t id;

	err_ignore(journal_check(base, REGION_SIZE));
	if (log_open(base, REGION_SIZE, &log))
		return;
	shrink_tables(&log);
	reader_each(&log, read_record, &log);
	for (id = 0; id < 64; id++) {
		record = (struct log_record){ .stack = id, .thread = id };
		read_record(&record, 0, &log);
	}
	record.stack = reader_stacks(&log);
	read_record(&record, 0, &log);
	log_record_lookup(&log, 0x555555560010, &record);
	for (unsigned kind = 0; kind < LOG_UNKNOWN_FREE_KINDS; kind++)
		reader_each_unknown_free(&log, kind, read_unknown_free, &log);
	reader_accounts(&log);
	log_config(&log);
	log_usage(&log);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	const struct log_config config = { .region_size = REGION_SIZE, .stack_depth = 32,
					   .free_history = 100 };
	/* Pages that cannot be read on both sides show a read outside. */
	uint8_t *around = mmap(NULL, REGION_SIZE + 2 * 4096, PROT_NONE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	uint8_t *base = around + 4096;
	struct log log;

	if (around == MAP_FAILED || mprotect(base, REGION_SIZE, PROT_READ | PROT_WRITE))
		abort();
	if (log_format(base, &config, &log))
		abort();
	shrink_tables(&log);
	fill(&log);
	free_twice(&log);
	while (len >= 5) {
		uint32_t offset;
		size_t nr = bytes[4];

		memcpy(&offset, bytes, sizeof(offset));
		offset %= REGION_SIZE;
		bytes += 5;
		len -= 5;
		nr = nr < len ? nr : len;
		nr = nr < REGION_SIZE - offset ? nr : REGION_SIZE - offset;
		memcpy(base + offset, bytes, nr);
		bytes += nr;
		len -= nr;
	}
	read_all(base);
	munmap(around, REGION_SIZE + 2 * 4096);
	return 0;
}
