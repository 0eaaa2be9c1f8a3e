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
#include "log/layout.h"
#include "log/log.h"
#include "log/stray.h"
#include "log/table.h"
#include "unwind/walk.h"
#include "writes.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

#define ADDRESS		0x555555560000ull
#define BLOCKS		20u
#define ATTACH_AGAIN	4096u		/* runs: names of made-up addresses are kept as long as a session is */
#define TEXT_MAX	(1u << 20)

static const char *const commands[] = {
	"malloc",
	"malloc -v",
	"malloc allocations",
	"malloc allocations sort size limit 5",
	"malloc allocations thread > 1 and age > 1s sort time up",
	"malloc allocations function fake_* and module != x",
	"malloc sites",
	"malloc sites by function sort count",
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
};

static struct shell *shell;

/* A log as it is after an attach, with records, a double free and an invalid one. */
static void fill(struct session *session)
{
	const struct log_config config = { .limit = LOG_LIMIT_MIN, .stack_depth = 32,
					   .free_history = 100 };
	const struct stray_facts facts = { .complete = 1 };
	struct log *log = session_log(session);
	struct log_stray again = { .address = ADDRESS + 16 };
	struct log_record old;
	struct log_free first;
	uint32_t stack;

	if (mmap(log->base, LOG_LIMIT_MIN, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED ||
	    log_format(log->base, &config, log))
		abort();
	stack = fake_stack(session, WALK_COMPLETE);
	for (uint32_t i = 1; i <= BLOCKS; i++)
		fake_block(session, ADDRESS + 16 * i, i, i % 3 ? stack : fake_stack(session, i % 6));
	if (!log_remove(log, ADDRESS + 16, 1, &old))
		abort();
	first = (struct log_free){ old.address, old.time, log_now(), old.thread, old.stack };
	log_note_free(log, &first);
	again.time = log_now();
	again.stack = stack;
	log_stray(log, &again, &facts, 0, true);
	again.address = 0x1234;
	log_stray(log, &again, &facts, 0, true);
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
		return log->stray[which / 10 % LOG_STRAY_KINDS];
	case 7:
		return log->freed;
	case 8:
		*room_ret = 1 << 20;
		return log->table[0].window;
	}
	*room_ret = LOG_LIMIT_MIN;
	return log->base;
}

static void check_text(const char *text)
{
	if (strlen(text) > TEXT_MAX)
		abort();
	for (; *text; text++)
		if ((*text < ' ' && *text >= 0 && *text != '\n' && *text != '\t') || *text == 0x7f)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	static unsigned runs;
	struct input input = { bytes, len };
	uint8_t which = input_byte(&input);
	struct outcome outcome;
	struct write write;

	if (runs++ % ATTACH_AGAIN == 0)
		shell = harness_attached();
	fill(shell->session);
	while (input_write(&input, &write)) {
		size_t room;
		void *at = area(session_log(shell->session), write.area, &room);

		write_apply(&write, at, room);
	}
	outcome = harness_line(commands[which % ARRAY_SIZE(commands)]);
	check_text(outcome.out);
	check_text(outcome.err);
	return 0;
}
