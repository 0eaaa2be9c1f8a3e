/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * malloc watch: the top sites, again and again.
 *
 * The target is not stopped: each reading is a scan of the log, like that of `malloc sites`.
 */

#include <langinfo.h>
#include <stdio.h>
#include <string.h>

#include "answer/wrapper.h"
#include "cmd/shell/cmd.h"
#include "cmd/shell/watch_loop.h"
#include "report/traceback.h"
#include "report/watch.h"
#include "session/history.h"
#include "session/session.h"

#define SITES_PLAIN	10u

struct watch {
	struct watch_loop loop;
	pid_t pid;			/* the process whose log was read */
	struct rates rates;
	struct rates_top top;
	enum rates_sort sort;
	size_t selected;		/* row */
	bool open;			/* a site is shown alone */
	uint32_t stack;			/* its stack */
	char note[128];			/* the last mark, or why there is none */
};

/*
 * All-time counts are read before the blocks (log/log_totals.h). The process may be another one
 * than before: scripts of events may attach.
 */
static struct err *read_log(void *ctx)
{
	struct watch *watch = ctx;
	struct session *session = watch->loop.call->session;
	struct log *log = session_log(session);
	struct in_hand in_hand = { VEC_INIT };
	uint64_t now_ns = session_history_now(session);
	struct log_totals totals;
	struct err *err;

	if (watch->pid != session_pid(session)) {
		rates_free(&watch->rates);
		watch->rates = (struct rates)RATES_INIT;
		watch->pid = session_pid(session);
	}
	session_deferred_fix(session);
	err = session_agent_totals(session, &totals);
	if (!err) {
		err = session_agent_in_hand(session, &in_hand);
		if (!err)
			err = rates_read(&watch->rates, log, &in_hand, &totals,
					 now_ns);
		log_totals_free(&totals);
	}
	session_deferred_release(session);
	vec_free(&in_hand.vec);
	return err;
}

static struct err *print_frame(struct watch *watch, const struct watch_view *view, struct out *out)
{
	if (watch->open) {
		out_text(out, "Enter: back to the sites  q: quit\n");
		return watch_print_site(view, watch->stack, out);
	}
	return watch_print_table(view, watch->selected, watch->loop.screen.columns, out);
}

static size_t sites_shown(const struct watch *watch)
{
	size_t rows = watch->loop.screen.rows;

	if (!watch->loop.in_place)
		return SITES_PLAIN;
	return rows > WATCH_TABLE_LINES ? rows - WATCH_TABLE_LINES : 1;
}

/* The last reading of all shows the sites, whatever the screen has shown. */
static struct err *print(void *ctx, struct out *out)
{
	struct watch *watch = ctx;
	struct session *session = watch->loop.call->session;
	struct stack_names names;
	const struct watch_view view = {
		.session = session, .names = &names, .rates = &watch->rates,
		.top = &watch->top, .sort = watch->sort, .every_ns = watch->loop.every_ns,
		.note = watch->note, .utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8"),
	};
	struct err *err = rates_top(&watch->rates, watch->sort, sites_shown(watch), &watch->top);

	if (err)
		return err;
	watch->selected = MIN(watch->selected, watch->top.vec.nr ? watch->top.vec.nr - 1 : 0);
	watch->stack = log_deferred_whole(session_log(session), watch->stack);
	wrapper_find(session);
	stack_names_init(&names, session);
	if (watch->loop.in_place)
		err = print_frame(watch, &view, out);
	else if (watch->open && !watch->loop.was_in_place)
		err = watch_print_site(&view, watch->stack, out);
	else
		err = watch_print_block(&view, out);
	stack_names_free(&names);
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

/* A mark that cannot be set does not end the watch. */
static void set_mark(struct watch *watch)
{
	const struct mark *mark;
	struct err *err;

	if (watch_loop_is_gone(&watch->loop))
		return;
	err = session_history_mark(watch->loop.call->session, NULL, &mark);
	snprintf(watch->note, sizeof(watch->note), "%s%.100s", err ? "no mark: " : "mark ",
		 err ? err->msg : mark->name);
	if (!watch->loop.in_place)
		out_f(watch->loop.call->out, "%s\n", watch->note);
}

static void take_key(void *ctx, int key)
{
	struct watch *watch = ctx;
	bool was_open = watch->open;

	watch->open = false;
	if (key == 's')
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

static const struct watch_kind kind = { read_log, print, take_key };

/* `sort KEY` at the end of the words, which are cut there. */
static struct err *parse_sort(struct call *call, enum rates_sort *ret)
{
	const char *key = call->argc ? call->argv[call->argc - 1] : "";

	if (call->argc < 2 || strcmp(call->argv[call->argc - 2], "sort"))
		return call->argc > 2 || !strcmp(key, "sort") ? call_bad_word(key) : NULL;
	call->argc -= 2;
	for (enum rates_sort sort = 0; sort < RATES_SORTS; sort++)
		if (!strcmp(key, watch_sort_words[sort])) {
			*ret = sort;
			return NULL;
		}
	return err_hint(err_create(ERR_USAGE, "'%s' is nothing to sort by", key),
			"sort bytes, growth, allocations or frees");
}

static struct err *run(struct call *whole)
{
	struct call copy = *whole, *call = &copy;
	struct watch watch = {
		.loop = { .call = call, .kind = &kind, .ctx = &watch },
		.rates = RATES_INIT, .top = { VEC_INIT },
	};
	struct err *err = parse_sort(call, &watch.sort);

	if (!err)
		err = watch_loop_parse(call, &watch.loop);
	if (!err)
		err = call_need_recording(call);
	if (err)
		return err;
	err = watch_loop_run(&watch.loop);
	/* On the screen the name of the last mark has gone with it. */
	if (!err && watch.loop.was_in_place && *watch.note)
		out_f(call->out, "%s\n", watch.note);
	vec_free(&watch.top.vec);
	rates_free(&watch.rates);
	return err;
}

const struct cmd cmd_malloc_watch = {
	.name		= "malloc watch",
	.usage		= "?SECONDS ?COUNT?? ?sort bytes|growth|allocations|frees?",
	.brief		= "the top sites, again and again",
	.help		= "The sites are printed at once, and then every SECONDS (1, 0.5, 90s, 5m): COUNT\n"
			  "times in all, or until Ctrl-C, which is no error, or until the process ends.\n"
			  "Each site has the bytes and blocks that are held, the growth of bytes since\n"
			  "the reading before, the allocations and frees a second since then, and a\n"
			  "letter for the bytes of each of the last 16 readings. If blocks from before\n"
			  "the attach were freed meanwhile, a line has the growth with these set off.\n"
			  "\n"
			  "On a terminal the sites are drawn in place. These keys work:\n"
			  "    s            sort by the next one of bytes, growth, allocations, frees\n"
			  "    1 to 9       open a site: its traceback is shown\n"
			  "    up, down     choose a site\n"
			  "    Enter        open that one; go back to the table\n"
			  "    m            set a mark, for `malloc diff`: the first line names it\n"
			  "    q            end the watch\n"
			  "\n"
			  "`sort KEY` is the first order. Elsewhere there is a block of lines for\n"
			  "each reading, with the first 10 sites.\n"
			  "The process is not stopped.\n",
	.example	= "malloc watch 5 12\n",
	.need		= call_need_target,
	.run		= run,
	.max_args	= 4,
};
