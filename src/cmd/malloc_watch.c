/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * malloc watch: the top sites, again and again.
 *
 * On a terminal they are drawn in place (report/screen.h) until q, Ctrl-C or the last reading. Then
 * the text of before comes back, and the last reading is printed below it. Elsewhere, and on a dumb
 * terminal, there is a block of lines for each reading, and there are no escapes.
 *
 * The target is not stopped: each reading is a scan of the log, like that of `malloc sites`.
 */

#include <langinfo.h>
#include <stdio.h>

#include "base/cancel.h"
#include "base/cleanup.h"
#include "cmd/cmd.h"
#include "cmd/keys.h"
#include "cmd/shell.h"
#include "cmd/signals.h"
#include "cmd/target_commands.h"
#include "heap/filter.h"
#include "os/tracer.h"
#include "report/progress.h"
#include "report/screen.h"
#include "report/traceback.h"
#include "report/watch.h"
#include "session/history.h"

#define SHORTEST	100000000ull	/* ns between readings */
#define LONGEST		(86400 * 1000000000ull)
#define SERVE		1000000ull	/* ns that are left for events if a reading is late */
#define SITES_PLAIN	10u
#define CTRL_D		4

struct watch {
	struct call *call;
	uint64_t every_ns, count;
	pid_t pid;			/* the process whose log was read */
	struct rates rates;
	struct rates_top top;
	enum rates_sort sort;
	size_t selected;		/* row */
	bool open;			/* a site is shown alone */
	uint32_t stack;			/* its stack */
	char note[128];			/* the last mark, or why there is none */
	bool over;
	bool in_place;
	struct screen screen;
	struct keys keys;
};

static struct err *parse(struct call *call, struct watch *watch)
{
	struct err *err = parse_duration(call->argv[0], &watch->every_ns);

	if (err)
		return err;
	if (watch->every_ns < SHORTEST || watch->every_ns > LONGEST)
		return err_create(ERR_USAGE, "'%s': SECONDS are from 0.1 to 1d", call->argv[0]);
	watch->count = UINT64_MAX;
	if (call->argc < 2)
		return NULL;
	err = parse_number(call->argv[1], &watch->count);
	if (!err && !watch->count)
		err = err_create(ERR_USAGE, "COUNT is 1 or more");
	return err;
}

/*
 * All-time counts are read before the blocks (log/totals.h). The process may be another one than
 * before: scripts of events may attach.
 */
static struct err *read_log(struct watch *watch)
{
	struct session *session = watch->call->session;
	struct log *log = session_log(session);
	struct in_hand in_hand = { VEC_INIT };
	struct log_totals totals;
	struct err *err;

	if (watch->pid != session_pid(session)) {
		rates_free(&watch->rates);
		watch->rates = (struct rates)RATES_INIT;
		watch->pid = session_pid(session);
	}
	log_clock_update(log);
	session_fix_stacks(session);
	err = session_totals(session, &totals);
	if (!err) {
		err = session_in_hand(session, &in_hand);
		if (!err)
			err = rates_read(&watch->rates, log, &in_hand, &totals,
					 log_clock_realtime(log, log_now()));
		log_totals_free(&totals);
	}
	session_release_stacks(session);
	vec_free(&in_hand.vec);
	return err;
}

static struct err *print_frame(struct watch *watch, const struct watch_view *view, struct out *out)
{
	if (watch->open) {
		out_text(out, "Enter: back to the sites  q: quit\n");
		return watch_print_site(view, watch->stack, out);
	}
	return watch_print_table(view, watch->selected, watch->screen.columns, out);
}

static struct err *paint(struct watch *watch, const struct watch_view *view)
{
	AUTO_STR struct str text = STR_INIT;
	struct out frame;
	struct err *err = out_init_text(&frame, &text), *write_err;

	if (err)
		return err;
	frame.units = watch->call->out->units;
	err = print_frame(watch, view, &frame);
	write_err = out_finish(&frame);
	if (!err)
		err = write_err;
	return err ? err : screen_paint(&watch->screen, str_text(&text));
}

static size_t sites_shown(const struct watch *watch)
{
	size_t rows = watch->screen.rows;

	if (!watch->in_place)
		return SITES_PLAIN;
	return rows > WATCH_TABLE_LINES ? rows - WATCH_TABLE_LINES : 1;
}

/* Show the last reading. */
static struct err *show(struct watch *watch)
{
	struct call *call = watch->call;
	struct stack_names names;
	const struct watch_view view = {
		.session = call->session, .names = &names, .rates = &watch->rates,
		.top = &watch->top, .sort = watch->sort, .every_ns = watch->every_ns,
		.note = watch->note, .utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8"),
	};
	struct err *err = rates_top(&watch->rates, watch->sort, sites_shown(watch), &watch->top);

	if (err)
		return err;
	watch->selected = MIN(watch->selected, watch->top.vec.nr ? watch->top.vec.nr - 1 : 0);
	watch->stack = log_stack_whole(session_log(call->session), watch->stack);
	stack_names_init(&names, call->session);
	if (watch->in_place)
		err = paint(watch, &view);
	else if (watch->open)
		err = watch_print_site(&view, watch->stack, call->out);
	else
		err = watch_print_block(&view, call->out);
	stack_names_free(&names);
	out_flush(call->out);
	return err;
}

static void open_row(struct watch *watch, size_t row)
{
	if (row >= watch->top.vec.nr)
		return;
	watch->selected = row;
	watch->open = true;
	watch->stack = watch->top.vec.at[row];
}

static bool is_gone(const struct session *session)
{
	enum session_state state = session_state(session);

	return state != SESSION_RUNNING && state != SESSION_STOPPED;
}

/* A mark that cannot be set does not end the watch. */
static void set_mark(struct watch *watch)
{
	const struct mark *mark;
	struct err *err;

	if (is_gone(watch->call->session))
		return;
	err = session_mark(watch->call->session, NULL, &mark);
	snprintf(watch->note, sizeof(watch->note), "%s%.100s", err ? "no mark: " : "mark ",
		 err ? err->msg : mark->name);
	if (!watch->in_place)
		out_f(watch->call->out, "%s\n", watch->note);
}

static void take_key(struct watch *watch, int key)
{
	bool was_open = watch->open;

	watch->open = false;
	if (key == 'q' || key == CTRL_D)
		watch->over = true;
	else if (key == 's')
		watch->sort = (watch->sort + 1) % RATES_SORTS;
	else if (key == 'm')
		set_mark(watch);
	else if (key == KEY_UP && watch->selected)
		watch->selected--;
	else if (key == KEY_DOWN)
		watch->selected++;
	else if (key >= '1' && key <= '9')
		open_row(watch, (size_t)(key - '1'));
	else if ((key == '\n' || key == '\r') && !was_open)
		open_row(watch, watch->selected);
}

/* This is called 20 times a second: it sees keys, another size, and the end of the process. */
static bool is_over(void *ctx, struct err **err_ret)
{
	struct watch *watch = ctx;
	bool changed = watch->in_place && screen_resized(&watch->screen);
	int key;

	while (!watch->over && (key = keys_next(&watch->keys)) != KEY_NONE) {
		take_key(watch, key);
		changed = true;
	}
	if (is_gone(watch->call->session))
		watch->over = true;
	else if (changed && !watch->over)
		*err_ret = show(watch);
	return watch->over || out_done(watch->call->out);
}

/* A reading begins every_ns after the one before, however long that took, or as soon as it can. */
static struct err *run_readings(struct watch *watch)
{
	struct err *err = NULL;
	uint64_t due = tracer_now(), now;

	for (uint64_t nr = 1; !watch->over && !out_done(watch->call->out); nr++) {
		err = read_log(watch);
		if (!err)
			err = show(watch);
		if (err || nr == watch->count)
			break;
		now = tracer_now();
		due = MAX(due + watch->every_ns, now + SERVE);
		err = waiting(watch->call->shell, due - now, is_over, watch);
		if (err && err->code != ERR_TIMEOUT)
			break;
		err = NULL;
	}
	return err;
}

/* Ctrl-C ends a watch without an error. A signal that ends mdbg itself is one. */
static struct err *take_ctrl_c(struct err *err)
{
	if (!cancel_requested() || signals_ending())
		return err;
	cancel_clear();
	signals_take_interrupts();
	return err && err->code == ERR_CANCELLED ? NULL : err;
}

static struct err *run_in_place(struct watch *watch)
{
	struct shell *shell = watch->call->shell;
	struct err *err;

	screen_begin(&watch->screen, watch->call->out);
	shell->screen = &watch->screen;
	watch->in_place = true;
	err = take_ctrl_c(run_readings(watch));
	watch->in_place = watch->open = false;
	shell->screen = NULL;
	screen_end(&watch->screen);
	/* The last reading stays on the terminal, and the name of the last mark. */
	if (!err && watch->rates.nr)
		err = show(watch);
	if (!err && *watch->note)
		out_f(watch->call->out, "%s\n", watch->note);
	return err;
}

/* There is no progress to be shown: the command takes as long as the user wants. */
static struct err *run(struct call *call)
{
	struct shell *shell = call->shell;
	struct watch watch = { .call = call, .rates = RATES_INIT, .top = { VEC_INIT } };
	struct err *err = parse(call, &watch);
	bool before;

	if (!err)
		err = call_need_recording(call);
	if (err)
		return err;
	before = shell->ends_itself;
	progress_off();
	call->out->page = NULL;
	shell->ends_itself = true;
	keys_begin(&watch.keys, shell);
	if (screen_can(call->out) && !shell->screen)
		err = run_in_place(&watch);
	else
		err = take_ctrl_c(run_readings(&watch));
	keys_end(&watch.keys);
	shell->ends_itself = before;
	/* A reading may have found the end of the process, and then its event still waits. */
	if (is_gone(call->session))
		events_pump(shell);
	vec_free(&watch.top.vec);
	rates_free(&watch.rates);
	return err;
}

const struct cmd cmd_malloc_watch = {
	.name		= "malloc watch",
	.usage		= "SECONDS ?COUNT?",
	.brief		= "the top sites, again and again",
	.help		= "The sites are printed at once, and then every SECONDS (0.5, 90s, 5m): COUNT\n"
			  "times in all, or until Ctrl-C, which is no error, or until the process\n"
			  "ends. Each site has the bytes and blocks that are held, the growth of bytes\n"
			  "since the reading before, the allocations and frees a second since then,\n"
			  "and a letter for the bytes of each of the last 16 readings.\n"
			  "On a terminal the sites are drawn in place. These keys work:\n"
			  "    s            sort by the next one of bytes, growth, allocations, frees\n"
			  "    1 to 9       open a site: its traceback is shown\n"
			  "    up, down     choose a site\n"
			  "    Enter        open that one; go back to the table\n"
			  "    m            set a mark, for `malloc diff`: the first line names it\n"
			  "    q            end the watch\n"
			  "Elsewhere there is a block of lines for each reading, with the first 10\n"
			  "sites. The process is not stopped.\n",
	.need		= call_need_target,
	.run		= run,
	.min_args	= 1,
	.max_args	= 2,
};
