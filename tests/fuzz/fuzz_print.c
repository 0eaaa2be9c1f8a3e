/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Everything that prints what a log has, over a log in which the target has written at will: the first
 * byte picks the command, the rest is a list of writes over a good log. What is printed is text, with no
 * control character but tabs and the ends of lines, and not more of it than there are records for.
 */

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "cmd/harness.h"
#include "log/journal.h"
#include "log/log_layout.h"
#include "log/log.h"
#include "log/log_unknown_free.h"
#include "log/block_table.h"
#include "unwind/walk.h"
#include "writes.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

#define ADDRESS		0x555555560000ull
#define BLOCKS		8u
#define WINDOWS		32u		/* of each table */
#define TABLES		2u
#define ATTACH_AGAIN	4096u		/* runs: names of made-up addresses are kept as long as a session is */
#define TEXT_MAX	(1u << 20)
#define PAGES		(LOG_REGION_MIN / LOG_PAGE)
#define PAGES_MAX	128u

static const char *const commands[] = {
	"malloc",
	"malloc -v",
	"malloc allocations",
	"malloc allocations sort size limit 5",
	"malloc allocations thread > 1 and age > 1s sort time up",
	"malloc allocations function fake_* and module != x",
	"malloc sites",
	"malloc sites by function sort count",
	"malloc sites by line sort bytes",
	"malloc watch 1 1",
	"malloc sites by module sort age",
	"malloc sites by thread sort growth",
	"malloc sites by size sort rate",
	"malloc leaks all",
	"malloc leaks definite possible function fake_*",
	"malloc stale 0s",
	"malloc check",
	"malloc find 0x555555560040",
	"malloc find 0x555555560010",
	"malloc reset",
	"puts [mdbg::malloc]",
	"puts [mdbg::allocations]",
	"puts [mdbg::sites by function]",
	"puts [mdbg::leaks all]",
	"puts [mdbg::stale 0s]",
	"puts [mdbg::check]",
	"puts [mdbg::find 0x555555560040]",
	"foreach b [mdbg::allocations] { puts [mdbg::frames [dict get $b stack]] }",
	"mdbg::allocations -each b { puts $b; malloc reset }",
	"mdbg::sites by function -each s { puts $s; malloc reset }",
	"export folded /dev/null",
	"export flamegraph /dev/null; export flamegraph /dev/null sort count",
	"report /dev/null",
	"export pprof /dev/null",
	"export json /dev/null function fake_*",
	"export csv /dev/null sort count limit 3",
	"export massif /dev/null",
	"export callgrind /dev/null",
	"malloc sites by module; malloc sites at peak; malloc sites by function since peak",
	"malloc diff now peak; malloc diff peak; malloc mark; malloc -v",
	"puts [mdbg::diff peak now]; puts [mdbg::history]; puts [mdbg::sites at peak]",
};

static struct shell *shell;

/*
 * The first table alone has 30,000 slots, and most commands look at all of them: nearly all time
 * would be spent on empty ones. So this log has small tables, side by side as in a large one.
 */
static void shrink_tables(struct log *log)
{
	log->nr_tables = TABLES;
	for (uint32_t i = 0; i < TABLES; i++) {
		log->table[i].window = log->table[0].window + i * WINDOWS;
		log->table[i].nr = WINDOWS;
	}
	log->hint_units = TABLES * WINDOWS * sizeof(struct log_window) / sizeof(struct log_slot);
}

/* A log as it is after an attach, with records, a double free and an invalid one. */
static void fill(struct session *session)
{
	const struct log_config config = { .region_size = LOG_REGION_MIN, .stack_depth = 32,
					   .free_history = 100 };
	const struct free_facts facts = { .complete = 1 };
	struct log *log = session_log(session);
	struct log_unknown_free again = { .address = ADDRESS + 16 };
	struct log_record old;
	struct log_free first;
	uint32_t stack;

	if (mmap(log->base, LOG_REGION_MIN, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED ||
	    log_format_behind(log->base, &config, log))
		abort();
	shrink_tables(log);
	/* Else the first command waits until a millisecond of the log's clock has passed. */
	log->header->rate = 1ull << 48;
	stack = fake_stack(session, WALK_COMPLETE);
	for (uint32_t i = 1; i <= BLOCKS; i++)
		fake_block(session, ADDRESS + 16 * i, i, i % 3 ? stack : fake_stack(session, i % 6));
	if (!log_record_remove(log, ADDRESS + 16, 1, &old))
		abort();
	first = (struct log_free){ old.address, old.time, log_now(), old.thread, old.stack };
	free_history_note(log, &first);
	again.time = log_now();
	again.stack = stack;
	log_unknown_free(log, &again, &facts, 0, true);
	again.address = 0x1234;
	log_unknown_free(log, &again, &facts, 0, true);
}

/* The pages of the log that are not zero. */
static struct {
	uint8_t bytes[PAGES_MAX][LOG_PAGE];
	size_t page[PAGES_MAX], nr;
} full;

static void keep_full(const uint8_t *base)
{
	static const uint8_t zero[LOG_PAGE];

	full.nr = 0;
	for (size_t page = 0; page < PAGES; page++) {
		if (!memcmp(base + page * LOG_PAGE, zero, LOG_PAGE))
			continue;
		if (full.nr == PAGES_MAX)
			abort();
		full.page[full.nr] = page;
		memcpy(full.bytes[full.nr++], base + page * LOG_PAGE, LOG_PAGE);
	}
}

/*
 * Make the log what it was. The input has changed the pages that are marked in `written`; a command
 * writes zeros (malloc reset), or writes to a page that is full.
 */
static void put_back(uint8_t *base, const bool *written)
{
	for (size_t page = 0; page < PAGES; page++)
		if (written[page])
			memset(base + page * LOG_PAGE, 0, LOG_PAGE);
	for (size_t i = 0; i < full.nr; i++)
		memcpy(base + full.page[i] * LOG_PAGE, full.bytes[i], LOG_PAGE);
}

/* Where a write of this area begins; *room_ret is how far it can go. */
static void *area(const struct log *log, uint8_t which, size_t *room_ret)
{
	*room_ret = 4096;
	switch (which % 10) {
	case 0:
		return log->header;
	case 1:
		return log->thread;
	case 2:
		return log->thread_index;
	case 3:
		return log->stack_index;
	case 4:
		return log->stack_directory;
	case 5:
		return log->arena;
	case 6:
		return log->unknown[which / 10 % LOG_UNKNOWN_FREE_KINDS];
	case 7:
		return log->freed;
	case 8:
		*room_ret = TABLES * WINDOWS * sizeof(struct log_window);
		return log->table[0].window;
	}
	*room_ret = LOG_REGION_MIN - JOURNAL_SIZE;
	return log->header;
}

static void check_text(const char *text)
{
	if (strlen(text) > TEXT_MAX)
		abort();
	for (; *text; text++)
		if ((*text < ' ' && *text >= 0 && *text != '\n' && *text != '\t') || *text == 0x7f)
			abort();
}

/* The log is made once, and put back after each input. */
static struct log *log_anew(void)
{
	static unsigned runs;

	if (runs++ % ATTACH_AGAIN == 0) {
		shell = harness_attached();
		fill(shell->session);
		keep_full(session_log(shell->session)->base);
	}
	return session_log(shell->session);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	static bool written[PAGES];
	struct input input = { bytes, len };
	uint8_t which = input_byte(&input);
	struct log *log = log_anew();
	struct outcome outcome;
	struct write write;

	memset(written, 0, sizeof(written));
	while (input_write(&input, &write)) {
		size_t room;
		uint8_t *at = area(log, write.area, &room);
		size_t first = (size_t)(at - log->base) + write.offset % room;

		write_apply(&write, at, room);
		for (size_t page = first / LOG_PAGE; page <= (first + write.len) / LOG_PAGE; page++)
			if (page < PAGES)
				written[page] = true;
	}
	outcome = harness_line(commands[which % ARRAY_SIZE(commands)]);
	check_text(outcome.out);
	check_text(outcome.err);
	put_back(log->base, written);
	return 0;
}
