/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prints readings again and again (theory in watch_loop.h). */

#include "cmd/shell/watch_loop.h"

#include "base/cancel.h"
#include "base/cleanup.h"
#include "cmd/shell/cmd.h"
#include "cmd/shell/events.h"
#include "cmd/shell/shell.h"
#include "cmd/shell/target_commands.h"
#include "cmd/terminal/signals.h"
#include "heap/filter.h"
#include "os/tracer.h"
#include "report/progress.h"

#define SHORTEST	100000000ull	/* ns between readings */
#define UNASKED		1000000000ull	/* the same, if SECONDS are not given */
#define LONGEST		(86400 * 1000000000ull)
#define SERVE		1000000ull	/* ns that are left for events if a reading is late */
#define EVENT		10000000000ull	/* ns for the event of a process that has ended */
#define CTRL_D		4

struct err *watch_loop_parse(struct call *call, struct watch_loop *loop)
{
	struct err *err;

	loop->every_ns = UNASKED;
	loop->count = UINT64_MAX;
	if (!call->argc)
		return NULL;
	err = parse_duration(call->argv[0], &loop->every_ns);
	if (err)
		return err;
	if (loop->every_ns < SHORTEST || loop->every_ns > LONGEST)
		return err_create(ERR_USAGE, "'%s': SECONDS are from 0.1 to 1d", call->argv[0]);
	if (call->argc < 2)
		return NULL;
	err = parse_number(call->argv[1], &loop->count);
	if (!err && !loop->count)
		err = err_create(ERR_USAGE, "COUNT is 1 or more");
	return err;
}

static struct err *paint(struct watch_loop *loop)
{
	AUTO_STR struct str text = STR_INIT;
	struct out frame;
	struct err *err = out_init_text(&frame, &text), *write_err;

	if (err)
		return err;
	frame.units = loop->call->out->units;
	err = loop->kind->print(loop->ctx, &frame);
	write_err = out_finish(&frame);
	if (!err)
		err = write_err;
	return err ? err : screen_paint(&loop->screen, str_text(&text));
}

/* Show the last reading. */
static struct err *show(struct watch_loop *loop)
{
	struct out *out = loop->call->out;
	struct err *err = loop->in_place ? paint(loop) : loop->kind->print(loop->ctx, out);

	out_flush(out);
	return err;
}

bool watch_loop_is_gone(const struct watch_loop *loop)
{
	enum session_state state = session_state(loop->call->session);

	/* A recording does not end while it is looked at. */
	return state != SESSION_RUNNING && state != SESSION_STOPPED && state != SESSION_REPLAY;
}

/* This is called 20 times a second: it sees keys, another size, and the end of the process. */
static bool is_over(void *ctx, struct err **err_ret)
{
	struct watch_loop *loop = ctx;
	bool changed = loop->in_place && screen_resized(&loop->screen);
	int key;

	while (!loop->over && (key = keys_next(&loop->keys)) != KEY_NONE) {
		if (loop->kind->key)
			loop->kind->key(loop->ctx, key);
		loop->over = key == 'q' || key == CTRL_D;
		changed = true;
	}
	if (watch_loop_is_gone(loop))
		loop->over = true;
	else if (changed && !loop->over)
		*err_ret = show(loop);
	return loop->over || out_done(loop->call->out);
}

/* Serve events until the session knows that the process has ended, too. */
static struct err *await_end(struct watch_loop *loop)
{
	struct err *err = target_command_wait(loop->call->shell, EVENT, is_over, loop);

	return err && err->code == ERR_TIMEOUT ? NULL : err;
}

/* A reading begins every_ns after the one before, however long that took, or as soon as it can. */
static struct err *run_readings(struct watch_loop *loop)
{
	struct err *err = NULL;
	uint64_t due = tracer_now(), now;

	while (!loop->over && !out_done(loop->call->out)) {
		loop->waits = false;
		err = loop->kind->read(loop->ctx);
		if (!err && loop->ended)
			return await_end(loop);
		if (!err && !loop->over && !loop->waits) {
			loop->readings++;
			err = show(loop);
		}
		if (err || loop->readings == loop->count)
			break;
		now = tracer_now();
		due = MAX(due + loop->every_ns, now + SERVE);
		err = target_command_wait(loop->call->shell, due - now, is_over, loop);
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

static struct err *run_in_place(struct watch_loop *loop)
{
	struct shell *shell = loop->call->shell;
	struct err *err;

	screen_begin(&loop->screen, loop->call->out);
	shell->terminal.screen = &loop->screen;
	loop->in_place = true;
	err = take_ctrl_c(run_readings(loop));
	loop->in_place = false;
	loop->was_in_place = true;
	shell->terminal.screen = NULL;
	screen_end(&loop->screen);
	/* The last reading stays on the terminal. */
	return err || !loop->readings ? err : show(loop);
}

struct err *watch_loop_run(struct watch_loop *loop)
{
	struct call *call = loop->call;
	struct shell *shell = call->shell;
	bool before = shell->ends_itself;
	struct err *err;

	progress_off();
	call->out->page = NULL;
	shell->ends_itself = true;
	/* A program that mdbg has started without a prompt reads standard input itself. */
	if (shell->interactive || !session_started(shell->session))
		keys_begin(&loop->keys);
	if (screen_can(call->out) && !shell->terminal.screen)
		err = run_in_place(loop);
	else
		err = take_ctrl_c(run_readings(loop));
	keys_end(&loop->keys);
	shell->ends_itself = before;
	/* A reading may have found the end of the process, and then its event still waits. */
	if (watch_loop_is_gone(loop))
		events_pump(shell);
	return err;
}
