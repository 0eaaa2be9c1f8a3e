/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The sites of `malloc watch`, and the terminal that they are drawn on. */

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "fake_session.h"
#include "report/screen.h"
#include "report/traceback.h"
#include "report/watch.h"
#include "text_out.h"
#include "unwind/walk.h"

#define SECOND	1000000000ull
#define WAIT_MS	10000

static struct session *session;
static struct rates rates;
static struct rates_top top;
static uint32_t stack;
static const char *note = "";

static int start(void)
{
	if (session_create(&session))
		return 1;
	fake_attach(session);
	stack = fake_stack(session, WALK_COMPLETE);
	fake_block(session, 0x1000, 100, stack);
	fake_block(session, 0x2000, 5000, stack);
	fake_block(session, 0x3000, 24, LOG_STACK_NONE);
	return 0;
}

static int end(void)
{
	rates_free(&rates);
	vec_free(&top.vec);
	session_destroy(session);
	return 0;
}

FIXTURE(start, end);

static void read_at(uint64_t seconds)
{
	const struct in_hand none = { VEC_INIT };
	struct log *log = session_log(session);
	CLEANUP(log_totals_free) struct log_totals totals;

	CU_ASSERT_PTR_NULL_FATAL(log_totals_init(log, &totals));
	log_totals_begin(log, &totals);
	log_totals_end(&totals);
	CU_ASSERT_PTR_NULL_FATAL(rates_read(&rates, log, &none, &totals, seconds * SECOND));
	CU_ASSERT_PTR_NULL_FATAL(rates_top(&rates, RATES_BYTES, 10, &top));
}

enum form { BLOCK, TABLE, SITE };

static char *print(enum form form, bool utf8, size_t columns)
{
	struct str text = STR_INIT;
	CLEANUP(stack_names_free) struct stack_names names;
	const struct watch_view view = {
		.session = session, .names = &names, .rates = &rates, .top = &top,
		.sort = RATES_GROWTH, .every_ns = 2 * SECOND, .note = note, .utf8 = utf8,
	};
	struct out out;

	stack_names_init(&names, session);
	CU_ASSERT_PTR_NULL_FATAL(out_init_text(&out, &text));
	CU_ASSERT_PTR_NULL(form == BLOCK ? watch_print_block(&view, &out) :
			   form == TABLE ? watch_print_table(&view, 1, columns, &out) :
			   watch_print_site(&view, stack, &out));
	CU_ASSERT_PTR_NULL(out_finish(&out));
	return text.at;
}

static void has(char *text, const char *part)
{
	CU_ASSERT_PTR_NOT_NULL(strstr(text, part));
	if (!strstr(text, part))
		printf("[no '%s' in '%s'] ", part, text);
	free(text);
}

TEST("prints readings")
{
	read_at(100);
	has(print(BLOCK, false, 0), "  5124 bytes in 3 blocks, growth - bytes, - allocations/s, - frees/s  _\n\n"
	    "#1  5100 bytes in 2 blocks, growth - bytes, - allocations/s, - frees/s  _\n"
	    "    in fake_load (fake_session.c:");
	has(print(BLOCK, false, 0), "#2  24 bytes in 1 blocks, growth - bytes, - allocations/s, - frees/s  _\n"
	    "    (no stack)\n\n");
	fake_block(session, 0x4000, 900, stack);
	fake_block(session, 0x5000, 4000, stack);
	fake_free(session, 0x5000);
	read_at(104);
	has(print(BLOCK, false, 0), "  6024 bytes in 4 blocks, growth +900 bytes, 0.5 allocations/s, 0.2 frees/s  _#\n");
	has(print(BLOCK, false, 0), "#2  24 bytes in 1 blocks, growth +0 bytes, - allocations/s, - frees/s  __\n");
	has(print(BLOCK, true, 0), "#1  6000 bytes in 3 blocks, growth +900 bytes, 0.5 allocations/s, 0.2 frees/s"
	    "  \xe2\x96\x81\xe2\x96\x88\n");
	fake_free(session, 0x4000);
	read_at(105);
	has(print(BLOCK, false, 0), "growth -900 bytes, 0.0 allocations/s, 1.0 frees/s  _#_\n");
	has(print(SITE, false, 0), "\n5100 bytes in 2 blocks, growth -900 bytes");
	has(print(SITE, false, 0), "\n        0x0000000000010000 malloc\n");
}

TEST("prints a table")
{
	read_at(110);
	has(print(TABLE, false, 80), "every 2.0 s, by growth\ns: sort ");
	has(print(TABLE, false, 80), "  #       BYTES   BLOCKS     GROWTH  ALLOCS/S   FREES/S BYTES    SITE\n"
	    "  1        5100        2         +0       0.0       0.0 ");
	has(print(TABLE, false, 80), "\n> 2          24        1         +0         -         - ");
	has(print(TABLE, false, 80), " (no stack)\n");
	note = "mark m1";
	has(print(TABLE, false, 80), "every 2.0 s, by growth, mark m1\ns: sort ");
	note = "";
	/* Eight readings where the terminal is narrow, sixteen where it is wide. */
	for (uint64_t i = 0; i < 20; i++)
		read_at(111 + i);
	has(print(TABLE, false, 80), " ________ fake_load (");
	has(print(TABLE, false, 160), " ________________ fake_load (");
	fake_miss(session, "malloc", "somebody is there");
	has(print(TABLE, false, 80), "\nIncomplete: malloc is not watched: somebody is there\n");
	has(print(BLOCK, false, 80), "\nIncomplete: malloc is not watched: somebody is there\n");
}

static int open_terminal(int *slave_ret)
{
	struct winsize size = { .ws_row = 3, .ws_col = 10 };
	int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);

	CU_ASSERT_FATAL(master >= 0 && !grantpt(master) && !unlockpt(master));
	*slave_ret = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
	CU_ASSERT_FATAL(*slave_ret >= 0 && !ioctl(*slave_ret, TIOCSWINSZ, &size));
	return master;
}

/* What is written to the terminal is this, and comes in pieces. */
static bool shows(int master, const char *want)
{
	struct pollfd wait = { .fd = master, .events = POLLIN };
	char text[4096];
	size_t len = 0, all = strlen(want);

	while (len < all && poll(&wait, 1, WAIT_MS) == 1) {
		ssize_t nr = read(master, text + len, all - len);

		if (nr <= 0)
			return false;
		len += (size_t)nr;
	}
	return len == all && !memcmp(text, want, all) && !poll(&wait, 1, 0);
}

#define BEGIN	"\033[?1049h\033[?25l\033[?7l\033[H"
#define END	"\033[?7h\033[?25h\033[?1049l"

TEST("draws in place")
{
	struct winsize size = { .ws_row = 2, .ws_col = 4 };
	struct screen screen;
	struct out out;
	int slave, master = open_terminal(&slave);

	setenv("TERM", "xterm", 1);
	CU_ASSERT_PTR_NULL_FATAL(out_init_fd(&out, slave, "terminal"));
	CU_ASSERT_TRUE(screen_can(&out));
	out.columns = 10;
	screen_begin(&screen, &out);
	CU_ASSERT(screen.rows == 3 && screen.columns == 10);
	CU_ASSERT_TRUE(shows(master, BEGIN "\r\n\033[J"));
	CU_ASSERT_PTR_NULL(screen_paint(&screen, "one\ntwelve letters\n"));
	CU_ASSERT_TRUE(shows(master, "\033[H\033[Kone\r\n\033[Ktwelve let\r\n\033[J"));
	/* UTF-8 by character, as many lines as there are rows, and nothing from outside that is obeyed. */
	CU_ASSERT_PTR_NULL(screen_paint(&screen, "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4"
					"\xc3\xa4\xc3\xa4\xc3\xa4\n\033[2J\nthree\nfour\n"));
	CU_ASSERT_TRUE(shows(master, "\033[H\033[K\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4"
			       "\xc3\xa4\xc3\xa4\xc3\xa4\r\n\033[K\\x1b[2J\r\n\033[Kthree"));
	screen_hide(&screen);
	CU_ASSERT_TRUE(shows(master, END));
	screen_hide(&screen);
	CU_ASSERT_PTR_NULL(screen_paint(&screen, "unseen\n"));
	screen_show(&screen);
	CU_ASSERT_FALSE(screen_resized(&screen));
	CU_ASSERT_FALSE(ioctl(slave, TIOCSWINSZ, &size));
	CU_ASSERT_TRUE(screen_resized(&screen));
	screen_show(&screen);
	CU_ASSERT_TRUE(shows(master, BEGIN "\033[Kunse\r\n\033[J"));
	screen_end(&screen);
	CU_ASSERT_TRUE(shows(master, END));
	CU_ASSERT_EQUAL(out.columns, 10);
	setenv("TERM", "dumb", 1);
	CU_ASSERT_FALSE(screen_can(&out));
	unsetenv("TERM");
	CU_ASSERT_FALSE(screen_can(&out));
	CU_ASSERT_PTR_NULL(out_finish(&out));
	close(slave);
	close(master);
}

TEST("knows what is no terminal")
{
	AUTO_STR struct str text = STR_INIT;
	struct out out;

	setenv("TERM", "xterm", 1);
	text_out_init(&out);
	CU_ASSERT_FALSE(screen_can(&out));
	text_out_finish(&out, &text);
	unsetenv("TERM");
}
