/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A recording as the target of a session: its stacks, its moments, its cursor, its gaps. */

#include "log/log.h"
#include "log/log_totals.h"
#include "record/make.h"
#include "session/history.h"
#include "session/private.h"
#include "session/replay/session_replay.h"
#include "session/replay/session_replay_figures.h"
#include "symbol/symbol.h"

#define SITES	20u

static struct made made;
static struct session *session;

static void begin(void)
{
	made_begin(&made, SITES);
	CU_ASSERT_PTR_NULL_FATAL(session_create(&session));
}

static void end(void)
{
	session_destroy(session);
	made_end(&made);
}

EACH(begin, end);

static void record(uint64_t from, uint64_t to)
{
	made_open(&made);
	for (uint64_t t = from; t < to; t++)
		made_add(&made, t);
	made_close(&made);
}

static struct err *open_at(uint64_t time_ns)
{
	const char *folder = made.dir;

	return session_replay_open(session, &folder, 1, time_ns);
}

static void event(enum record_event_kind kind, uint64_t t)
{
	CU_ASSERT_PTR_NULL_FATAL(record_writer_event(made.writer, &(const struct record_event){
		.time_ns = BEGIN + t * SECOND, .target = made.target, .kind = kind }));
}

/* The site of a stack by the name of its function. */
static uint32_t site_of(uint32_t stack)
{
	struct log_stack_view view = reader_stack(session_log(session), stack);
	struct symbols *symbols = session_symbols(session);
	const struct symbol_frame *frames;
	uint32_t i = UINT32_MAX;
	size_t nr;

	CU_ASSERT_EQUAL_FATAL(view.nr, 2);
	frames = symbols_resolve(symbols, view.pcs[1], view.generation, true, &nr);
	CU_ASSERT_STRING_EQUAL(frames[0].function, "main");
	frames = symbols_resolve(symbols, view.pcs[0], view.generation, false, &nr);
	CU_ASSERT_EQUAL(sscanf(frames[0].function, "load_%u", &i), 1);
	CU_ASSERT_STRING_EQUAL(frames[0].module, "server");
	CU_ASSERT_EQUAL(frames[0].offset, 16);
	return i;
}

static void check_moment(const struct moment *moment, uint64_t t, uint64_t times)
{
	uint64_t sum = 0, all = 0;

	CU_ASSERT_EQUAL(moment->time_ns, BEGIN + t * SECOND);
	vec_each(site, &moment->vec) {
		CU_ASSERT_EQUAL(site->bytes, times * made_bytes(site_of(site->stack), t));
		sum += site->bytes;
	}
	for (uint32_t i = 0; i < SITES; i++)
		all += times * made_bytes(i, t);
	CU_ASSERT_EQUAL(sum, all);
}

TEST("every sample is a moment, with the sites and names that were recorded")
{
	const struct history *history;

	record(0, 30);
	CU_ASSERT_PTR_NULL_FATAL(open_at(0));
	history = &session_history(session)->history;
	CU_ASSERT_EQUAL_FATAL(history->samples.nr, 30);
	CU_ASSERT_EQUAL(history->gaps.nr, 0);
	for (size_t t = 0; t < 30; t++) {
		struct moment moment = MOMENT_INIT;

		CU_ASSERT_PTR_NULL_FATAL(session_history_unpack(session, &history->samples.at[t],
								&moment));
		check_moment(&moment, t, 1);
		CU_ASSERT_EQUAL(moment_total(&moment).bytes, history->samples.at[t].bytes);
		moment_free(&moment);
	}
	CU_ASSERT_EQUAL(session_state(session), SESSION_REPLAY);
	CU_ASSERT_PTR_NOT_NULL(session_need_target(session));
	CU_ASSERT_PTR_NULL(session_detach(session));
	CU_ASSERT(!session_replay_is(session));
	CU_ASSERT_PTR_NULL(session_log(session));
}

TEST("the cursor goes by samples and times, and not beyond")
{
	record(0, 10);
	CU_ASSERT_PTR_NULL_FATAL(open_at(BEGIN + 3 * SECOND + 1));
	CU_ASSERT_EQUAL(session_history_now(session), BEGIN + 3 * SECOND);
	CU_ASSERT_PTR_NULL(session_replay_step(session, 1));
	CU_ASSERT_EQUAL(session_replay_now(session), BEGIN + 4 * SECOND);
	CU_ASSERT_PTR_NULL(session_replay_to(session, BEGIN));
	CU_ASSERT_EQUAL(session_replay_step(session, -1)->code, ERR_RANGE);
	CU_ASSERT_PTR_NULL(session_replay_to(session, BEGIN + 9 * SECOND));
	CU_ASSERT_EQUAL(session_replay_step(session, 1)->code, ERR_RANGE);
	CU_ASSERT_EQUAL(session_replay_to(session, BEGIN - 3600 * SECOND)->code, ERR_RANGE);
	CU_ASSERT_EQUAL(session_replay_to(session, BEGIN + 3600 * SECOND)->code, ERR_RANGE);
	CU_ASSERT_EQUAL(session_replay_now(session), BEGIN + 9 * SECOND);
}

TEST("what sites have had in all is what was recorded by then")
{
	struct log_totals totals;
	unsigned nr = 0;

	record(0, 30);
	CU_ASSERT_PTR_NULL_FATAL(open_at(0));
	CU_ASSERT_PTR_NULL_FATAL(session_replay_totals(session, BEGIN + 20 * SECOND, &totals));
	for (uint32_t stack = 1; stack < totals.nr; stack++) {
		uint64_t bytes;

		if (!totals.at[stack].blocks)
			continue;
		bytes = made_bytes(site_of(stack), 20);
		CU_ASSERT_EQUAL(totals.at[stack].blocks, bytes / 8 + 20);
		CU_ASSERT_EQUAL(totals.at[stack].bytes, bytes + 8 * 20);
		nr++;
	}
	CU_ASSERT(nr >= SITES - 1);
	log_totals_free(&totals);
}

/* The beginning of a frame behind what is whole: the recorder is about to write it. */
static void tear(void)
{
	char path[128];
	int fd;

	made_file(&made, 1, path);
	fd = open(path, O_WRONLY | O_APPEND);
	CU_ASSERT_EQUAL(write(fd, "MDRF\x40\0\0\0\x08", 9), 9);
	close(fd);
}

TEST("what a recorder writes meanwhile is seen behind the last sample")
{
	const struct history *history;
	struct moment moment = MOMENT_INIT;
	bool more;

	made_open(&made);
	for (uint64_t t = 0; t < 10; t++)
		made_add(&made, t);
	CU_ASSERT_PTR_NULL_FATAL(open_at(0));
	CU_ASSERT(session_replay_is_written(session));
	tear();
	CU_ASSERT_EQUAL(session_replay_step(session, 1)->code, ERR_RANGE);
	CU_ASSERT_EQUAL(session_replay_now(session), BEGIN + 9 * SECOND);
	for (uint64_t t = 10; t < 15; t++)
		made_add(&made, t);
	CU_ASSERT_PTR_NULL_FATAL(session_replay_step(session, 1));
	CU_ASSERT_EQUAL(session_replay_now(session), BEGIN + 10 * SECOND);
	history = &session_history(session)->history;
	CU_ASSERT_EQUAL_FATAL(history->samples.nr, 15);
	CU_ASSERT_PTR_NULL_FATAL(session_history_unpack(session, &history->samples.at[14], &moment));
	check_moment(&moment, 14, 1);
	moment_free(&moment);
	CU_ASSERT_PTR_NULL(session_replay_refresh(session, &more));
	CU_ASSERT(!more);
	made_close(&made);
	CU_ASSERT(!session_replay_is_written(session));
	CU_ASSERT_PTR_NULL(session_replay_refresh(session, &more));
	CU_ASSERT(more);
	CU_ASSERT_EQUAL(session_replay_now(session), BEGIN + 10 * SECOND);
}

/* A recorder that was killed, and another one later. */
TEST("a time at which nothing was recorded is an error")
{
	const struct history *history;

	record(0, 10);
	record(1000, 1010);
	CU_ASSERT_PTR_NULL_FATAL(open_at(0));
	history = &session_history(session)->history;
	CU_ASSERT_EQUAL_FATAL(history->gaps.nr, 1);
	CU_ASSERT_EQUAL(history->gaps.at[0].begin_ns, BEGIN + 9 * SECOND);
	CU_ASSERT_EQUAL(history->gaps.at[0].end_ns, BEGIN + 1000 * SECOND);
	CU_ASSERT_EQUAL(session_replay_to(session, BEGIN + 500 * SECOND)->code, ERR_RANGE);
	CU_ASSERT_PTR_NULL(session_replay_to(session, BEGIN + 1000 * SECOND));
	CU_ASSERT_PTR_NULL(session_history_growth(session, BEGIN + 1001 * SECOND));
	CU_ASSERT_PTR_NOT_NULL(session_history_growth(session, BEGIN + 1009 * SECOND));
	CU_ASSERT_PTR_NOT_NULL(session_history_growth(session, BEGIN + 9 * SECOND));
	/* The second one began anew, and its names are those of the first. */
	CU_ASSERT_PTR_NULL(session_detach(session));
	CU_ASSERT_EQUAL(open_at(BEGIN + 500 * SECOND)->code, ERR_RANGE);
	CU_ASSERT_EQUAL(session_state(session), SESSION_NONE);
}

/* The first recorder went away, and the process with it, or not: nothing is known of it any more. */
TEST("what a process held before its recorder ended does not count later")
{
	struct record_target second = { .pid = 4712, .start = 1 };
	struct moment moment = MOMENT_INIT;

	record(0, 10);
	made_open(&made);
	second.name = made_string(&made, "server");
	CU_ASSERT_PTR_NULL_FATAL(record_names_target(record_writer_names(made.writer), &second,
						     &made.target));
	for (uint64_t t = 1000; t < 1005; t++)
		made_add(&made, t);
	made_close(&made);
	CU_ASSERT_PTR_NULL_FATAL(open_at(0));
	CU_ASSERT_PTR_NULL_FATAL(session_history_moment(session, &moment));
	check_moment(&moment, 1004, 1);
	CU_ASSERT_EQUAL(moment_total(&moment).bytes,
			session_history(session)->history.samples.at[14].bytes);
	CU_ASSERT_EQUAL(session_history(session)->history.gaps.nr, 1);
	moment_free(&moment);
}

TEST("processes that there are too many of in a recording are left out, and counted")
{
	const char *folders[2] = { made.dir, made.dir };

	record(0, 10);
	made_open(&made);
	made_marks(&made, 0, 40000);
	made_close(&made);
	made_open(&made);
	made_marks(&made, 40000, 70000);
	made_close(&made);
	CU_ASSERT_PTR_NULL_FATAL(open_at(0));
	CU_ASSERT_EQUAL(session_replay_left_out(session), 70001 - RECORD_TARGETS_MOST);
	CU_ASSERT_EQUAL(session_history(session)->history.samples.nr, 10);
	CU_ASSERT_PTR_NULL(session_detach(session));
	CU_ASSERT_PTR_NULL_FATAL(session_replay_open(session, folders, 2, 0));
	CU_ASSERT_EQUAL(session_replay_left_out(session), 2 * (70001 - RECORD_TARGETS_MOST));
}

TEST("two recordings of the same program are one view: sums by stack")
{
	const char *folders[2] = { made.dir, made.dir };
	struct session_replay_processes processes = { VEC_INIT };
	struct moment moment = MOMENT_INIT;

	record(0, 10);
	CU_ASSERT_PTR_NULL_FATAL(session_replay_open(session, folders, 2, 0));
	CU_ASSERT_PTR_NULL_FATAL(session_history_moment(session, &moment));
	check_moment(&moment, 9, 2);
	CU_ASSERT_EQUAL(moment_total(&moment).bytes,
			session_history(session)->history.samples.at[9].bytes);
	moment_free(&moment);
	CU_ASSERT_PTR_NULL_FATAL(session_replay_processes(session, BEGIN + 9 * SECOND, &processes));
	CU_ASSERT_EQUAL_FATAL(processes.vec.nr, 2);
	CU_ASSERT_EQUAL(processes.vec.at[1].pid, 4711);
	CU_ASSERT_EQUAL(processes.vec.at[1].samples, 10);
	vec_free(&processes.vec);
}

/* A worker ends, another one begins: each counts while it lives. */
TEST("a process that has ended holds nothing, and its sites count until then")
{
	struct session_replay_processes processes = { VEC_INIT };
	struct record_target second = { .pid = 4712, .start = 1 };
	struct moment moment = MOMENT_INIT;
	uint32_t first;

	made_open(&made);
	first = made.target;
	for (uint64_t t = 0; t < 5; t++)
		made_add(&made, t);
	event(RECORD_EVENT_EXIT, 5);
	second.name = made_string(&made, "server");
	CU_ASSERT_PTR_NULL_FATAL(record_names_target(record_writer_names(made.writer), &second,
						     &made.target));
	CU_ASSERT_NOT_EQUAL(first, made.target);
	for (uint64_t t = 20; t < 25; t++)
		made_add(&made, t);
	made_close(&made);
	CU_ASSERT_PTR_NULL_FATAL(open_at(0));
	CU_ASSERT_PTR_NULL_FATAL(session_history_moment(session, &moment));
	check_moment(&moment, 24, 1);
	moment_free(&moment);
	/* The recorder was there, and there was no process. */
	CU_ASSERT_EQUAL(session_history(session)->history.gaps.nr, 0);
	CU_ASSERT_PTR_NULL_FATAL(session_replay_processes(session, BEGIN + 24 * SECOND, &processes));
	CU_ASSERT_EQUAL_FATAL(processes.vec.nr, 2);
	CU_ASSERT(processes.vec.at[0].exited && !processes.vec.at[0].time_ns);
	CU_ASSERT_EQUAL(processes.vec.at[1].time_ns, BEGIN + 24 * SECOND);
	vec_free(&processes.vec);
	CU_ASSERT_PTR_NULL(session_replay_only(session, 4711));
	CU_ASSERT_EQUAL(session_replay_now(session), BEGIN + 4 * SECOND);
	CU_ASSERT_EQUAL(session_replay_only(session, 1)->code, ERR_NOTFOUND);
	CU_ASSERT_EQUAL(session_history(session)->history.samples.nr, 5);
	CU_ASSERT_PTR_NULL(session_replay_only(session, 0));
	CU_ASSERT_EQUAL(session_history(session)->history.samples.nr, 10);
}

TEST("what is no recording is an error, and the session stays what it was")
{
	const char *folder = "/nonexistent";

	CU_ASSERT_EQUAL(session_replay_open(session, &folder, 1, 0)->code, ERR_NOTFOUND);
	made_open(&made);
	made_close(&made);
	CU_ASSERT_EQUAL(open_at(0)->code, ERR_NOTFOUND);
	CU_ASSERT_EQUAL(session_state(session), SESSION_NONE);
}

static void add_row(enum record_table_kind kind, uint64_t key, const uint64_t *values)
{
	CU_ASSERT_PTR_NULL_FATAL(record_table_add(&made.table[kind], key, values));
}

TEST("figures of memory, the account and growth are those that were recorded")
{
	struct session_replay_account account;
	struct memory_use use;
	struct moment growth = MOMENT_INIT;
	uint64_t sum = 0;

	made_open(&made);
	made_add(&made, 0);
	/* A kind without a row has nothing; a figure that is not known stays so. */
	add_row(RECORD_MEMORY, made_string(&made, "all"),
		(const uint64_t[RECORD_MEMORY_COLUMNS]){ 5000, 4000, UINT64_MAX });
	add_row(RECORD_MEMORY, made_string(&made, "heap"),
		(const uint64_t[RECORD_MEMORY_COLUMNS]){ 3000, 2000, UINT64_MAX });
	add_row(RECORD_GROWTH, record_growth_key(made.stack[3], RECORD_GROWTH_MMAP),
		(const uint64_t[]){ 8192, 2 });
	made_add(&made, 1);
	made_add(&made, 2);
	made_close(&made);
	CU_ASSERT_PTR_NULL_FATAL(open_at(0));
	CU_ASSERT_PTR_NULL_FATAL(session_replay_figures_memory(session, &use));
	CU_ASSERT_EQUAL(use.look.all.at[MEMORY_RSIZE], 4000);
	CU_ASSERT_EQUAL(use.look.kind[MEMORY_HEAP].at[MEMORY_VSIZE], 3000);
	CU_ASSERT_EQUAL(use.look.kind[MEMORY_HEAP].at[MEMORY_PSS], UINT64_MAX);
	CU_ASSERT_EQUAL(use.look.kind[MEMORY_STACKS].at[MEMORY_RSIZE], 0);
	memory_use_free(&use);
	CU_ASSERT_PTR_NULL_FATAL(session_replay_figures_account(session, &account));
	CU_ASSERT_EQUAL_FATAL(account.vec.nr, 1);
	CU_ASSERT_STRING_EQUAL(account.vec.at[0].part, "held");
	CU_ASSERT_STRING_EQUAL(account.vec.at[0].note, "what blocks hold");
	for (uint32_t i = 0; i < SITES; i++)
		sum += made_bytes(i, 2);
	CU_ASSERT_EQUAL(account.vec.at[0].bytes, sum);
	vec_free(&account.vec);
	CU_ASSERT_EQUAL(session_replay_figures_growth_kinds(session), 1u << RECORD_GROWTH_MMAP);
	CU_ASSERT_PTR_NULL_FATAL(session_replay_figures_growth(session, RECORD_GROWTH_MMAP,
							       BEGIN + 2 * SECOND, &growth));
	CU_ASSERT_EQUAL_FATAL(growth.vec.nr, 1);
	CU_ASSERT_EQUAL(site_of(growth.vec.at[0].stack), 3);
	CU_ASSERT_EQUAL(growth.vec.at[0].bytes, 8192);
	moment_free(&growth);
	/* What was not recorded then is not nothing. */
	CU_ASSERT_EQUAL(session_replay_figures_growth(session, RECORD_GROWTH_MMAP, BEGIN,
						      &growth)->code, ERR_NOTFOUND);
	CU_ASSERT_PTR_NULL(session_replay_to(session, BEGIN));
	CU_ASSERT_EQUAL(session_replay_figures_memory(session, &use)->code, ERR_NOTFOUND);
	memory_use_free(&use);
}

/* A stack with more frames than a log has, control characters in its names, and figures that overflow. */
TEST("a hostile recording is answered from, and nothing in it is believed")
{
	struct record_names *names;
	struct record_function function = { .line = UINT32_MAX, .offset = UINT64_MAX };
	struct record_location location = { .nr = 1, .functions = &function,
					    .address = UINT64_MAX };
	struct session_replay_events events = { VEC_INIT };
	struct moment moment = MOMENT_INIT;
	uint32_t locations[RECORD_STACK_MOST], stack;
	struct log_stack_view view;
	const char *text;

	made_open(&made);
	names = record_writer_names(made.writer);
	location.module = made_string(&made, "\033[31m/no\nfile");
	location.entry = function.name = function.file = function.place =
		made_string(&made, "\033]0;x\007\n");
	CU_ASSERT_PTR_NULL_FATAL(record_names_location(names, &location, &locations[0]));
	for (size_t i = 1; i < RECORD_STACK_MOST; i++)
		locations[i] = locations[0];
	CU_ASSERT_PTR_NULL_FATAL(record_names_stack(names, &(const struct record_stack){
		.nr = RECORD_STACK_MOST, .locations = locations, .end = function.name }, &stack));
	made.nr_stacks = 1;
	made.stack[0] = stack;
	event(99, 0);
	CU_ASSERT_PTR_NULL_FATAL(record_writer_event(made.writer, &(const struct record_event){
		.time_ns = BEGIN, .kind = RECORD_EVENT_MARK, .text = function.name }));
	made_add(&made, 0);
	made_add(&made, 1);
	made_close(&made);
	CU_ASSERT_PTR_NULL_FATAL(open_at(0));
	CU_ASSERT_PTR_NULL_FATAL(session_history_moment(session, &moment));
	CU_ASSERT_EQUAL_FATAL(moment.vec.nr, 1);
	view = reader_stack(session_log(session), moment.vec.at[0].stack);
	CU_ASSERT_EQUAL(view.nr, LOG_DEPTH_MAX);
	text = session_symbols_entry(session, view.pcs[0]);
	CU_ASSERT_PTR_NOT_NULL_FATAL(text);
	CU_ASSERT_PTR_NULL(strpbrk(text, "\033\007"));
	text = symbols_text(session_symbols(session), view.pcs[1], view.generation, true,
			    SYMBOL_NAMES_FULL);
	CU_ASSERT_PTR_NULL(strpbrk(text, "\033\007"));
	moment_free(&moment);
	/* No mark can have such a name. */
	CU_ASSERT_EQUAL(session_history(session)->marks.vec.nr, 0);
	CU_ASSERT_PTR_NULL(session_replay_events(session, 0, UINT64_MAX, &events));
	vec_free(&events.vec);
}
