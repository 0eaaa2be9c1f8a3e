/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * replay watch: the sites at the cursor of a recording, sample by sample.
 *
 * On a terminal it stays where it is until a key goes on, with atop's keys: t to the next sample, T to
 * the one before, b and a time to that time. With SECONDS, and elsewhere, each reading is the next
 * sample, up to the last one; with SECONDS it waits for more as long as a recorder writes. The cursor
 * stays where it ends.
 */

#include <ctype.h>
#include <string.h>

#include "base/cleanup.h"
#include "cmd/moments.h"
#include "cmd/query/query.h"
#include "cmd/shell/cmd.h"
#include "cmd/shell/watch_loop.h"
#include "report/replay/replay_text.h"
#include "report/sites.h"
#include "session/replay/session_replay.h"

#define SITES_PLAIN	5u
#define LINES_BESIDE	10u	/* of the screen: what is not a site */
#define BACKSPACE	127
#define KEYS_NS		86400000000000ull	/* only keys go on */

struct watch {
	struct watch_loop loop;
	bool plays;			/* SECONDS were given */
	bool begun;			/* the first reading is where the cursor is */
	char typed[32];			/* the time behind b */
	size_t len;
	bool types;
	char note[160];			/* why a key did nothing */
};

static void keep_note(struct watch *watch, struct err *err)
{
	snprintf(watch->note, sizeof(watch->note), "%.150s", err ? err->msg : "");
}

static void step(struct watch *watch, int by)
{
	keep_note(watch, session_replay_step(watch->loop.call->session, by));
}

static struct err *read_next(void *ctx)
{
	struct watch *watch = ctx;
	struct watch_loop *loop = &watch->loop;
	struct session *session = loop->call->session;
	uint64_t before = session_replay_now(session);
	bool written = session_replay_is_written(session);

	if (watch->begun && (watch->plays || !loop->in_place)) {
		step(watch, 1);
		loop->waits = session_replay_now(session) == before && !loop->in_place;
		loop->over = loop->waits && !(watch->plays && written);
	}
	watch->begun = true;
	return NULL;
}

static struct err *print_sites(struct call *call, size_t nr, struct out *out)
{
	char limit[24];
	const char *const words[] = { "limit", limit, NULL };
	CLEANUP(query_free) struct query query;
	struct sites_when when = { .filtered = false };
	struct call sites = *call;
	struct err *err;

	snprintf(limit, sizeof(limit), "%zu", nr);
	sites.argc = 2;
	sites.argv = words;
	err = query_sites(&sites, &query);
	when.at = moments_chosen_name(&query.at, query.now_ns);
	return err ? err : sites_print_brief(&query.names, query.by, &query.sites, &when, out);
}

static struct err *print(void *ctx, struct out *out)
{
	struct watch *watch = ctx;
	bool in_place = watch->loop.in_place;
	size_t rows = watch->loop.screen.rows;

	if (in_place)
		out->columns = watch->loop.screen.columns;
	if (watch->types)
		out_f(out, "to: %s_  (Enter)\n", watch->typed);
	else if (in_place)
		out_text(out, "t: next  T: previous  b: to a time  q: quit\n");
	replay_text_print_now(watch->loop.call->session, out);
	if (*watch->note && in_place)
		out_f(out, "%s\n", watch->note);
	out_text(out, "\n");
	return print_sites(watch->loop.call,
			   !in_place ? SITES_PLAIN : rows > LINES_BESIDE ? rows - LINES_BESIDE : 1,
			   out);
}

/* A time of day is one of the cursor's day. */
static void go_to_typed(struct watch *watch)
{
	CLEANUP(moments_chosen_free) struct chosen_moment chosen = { 0 };
	struct call *call = watch->loop.call;
	char text[64];
	bool of_day = isdigit((unsigned char)watch->typed[0]) && strchr(watch->typed, ':') &&
		      !strchr(watch->typed, '-');
	struct err *err;

	snprintf(text, sizeof(text), "%.11s%s", of_day ? session_replay_now_text(call->session) : "",
		 watch->typed);
	err = moments_choose(call, text, session_replay_now(call->session), &chosen);
	keep_note(watch, err ? err : session_replay_to(call->session, chosen.moment.time_ns));
}

static void take_typed(struct watch *watch, int key)
{
	watch->types = key != '\n' && key != '\r' && key != '\033';
	if (key == '\n' || key == '\r')
		go_to_typed(watch);
	else if ((key == BACKSPACE || key == '\b') && watch->len)
		watch->typed[--watch->len] = '\0';
	else if (key > ' ' - 1 && key < BACKSPACE && watch->len + 1 < sizeof(watch->typed))
		watch->typed[watch->len++] = (char)key;
}

static void take_key(void *ctx, int key)
{
	struct watch *watch = ctx;

	if (watch->types) {
		take_typed(watch, key);
		return;
	}
	if (key == 't')
		step(watch, 1);
	else if (key == 'T')
		step(watch, -1);
	else if (key == 'b')
		watch->types = true;
	memset(watch->typed, 0, sizeof(watch->typed));
	watch->len = 0;
}

static const struct watch_kind kind = { read_next, print, take_key };

static struct err *run(struct call *call)
{
	struct watch watch = {
		.loop = { .call = call, .kind = &kind, .ctx = &watch }, .plays = call->argc,
	};
	struct err *err = watch_loop_parse(call, &watch.loop);

	if (!watch.plays)
		watch.loop.every_ns = screen_can(call->out) ? KEYS_NS : 1;
	return err ? err : watch_loop_run(&watch.loop);
}

const struct cmd cmd_replay_watch = {
	.name		= "replay watch",
	.usage		= "?SECONDS ?COUNT??",
	.brief		= "the largest sites of a recording, sample by sample",
	.help		= "On a terminal the keys are atop's: t goes to the next sample, T to the one\n"
			  "before, b to a time that is typed (03:10 is one of the cursor's day), q ends.\n"
			  "With SECONDS the next sample comes by itself after so long, and at the end of a\n"
			  "recording that is being written as soon as there is one. Elsewhere all samples\n"
			  "from the cursor on are printed, or COUNT of them.\n"
			  "\n"
			  "The cursor stays where it ends: other commands answer of that moment.\n",
	.example	= "replay watch 0.5\n",
	.need		= call_need_replay,
	.run		= run,
	.max_args	= 2,
};
