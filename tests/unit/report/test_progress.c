/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Progress, as a terminal gets it. */

#include "report/progress.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <termios.h>

#include "os/tracer.h"
#include "report/out.h"
#include "unit.h"

#define WAIT_MS	10000

static int terminal, saved;

static int open_terminal(void)
{
	int slave;

	terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (terminal < 0 || grantpt(terminal) || unlockpt(terminal))
		return 1;
	slave = open(ptsname(terminal), O_RDWR | O_NOCTTY | O_CLOEXEC);
	saved = dup(STDERR_FILENO);
	return slave < 0 || dup2(slave, STDERR_FILENO) < 0 || close(slave);
}

static int close_terminal(void)
{
	return dup2(saved, STDERR_FILENO) < 0 || close(saved) || close(terminal);
}

FIXTURE(open_terminal, close_terminal);

/* Read on until what was drawn ends with the text. */
static bool shows(const char *text)
{
	struct pollfd wait = { .fd = terminal, .events = POLLIN };
	char seen[4096];
	size_t len = 0, end = strlen(text);

	while (len < sizeof(seen) && poll(&wait, 1, WAIT_MS) == 1) {
		ssize_t nr = read(terminal, seen + len, sizeof(seen) - len);

		if (nr <= 0)
			return false;
		len += (size_t)nr;
		if (len >= end && !memcmp(seen + len - end, text, end))
			return true;
	}
	return false;
}

static bool shows_nothing(void)
{
	struct pollfd wait = { .fd = terminal, .events = POLLIN };

	return !poll(&wait, 1, 0);
}

TEST("shows the seconds, and wipes them")
{
	progress_begin("malloc leaks");
	CU_ASSERT_TRUE(shows("\rmdbg: malloc leaks: 1 s\033[K"));
	CU_ASSERT_TRUE(shows("\rmdbg: malloc leaks: 2 s\033[K"));
	progress_end();
	CU_ASSERT_TRUE(shows("\r\033[K"));
	CU_ASSERT_TRUE(shows_nothing());
}

/* The outer command's name, then what the inner one knows, then the name again. */
TEST("shows the share that is done")
{
	progress_begin("attach");
	progress_begin("inner");
	progress_end();
	CU_ASSERT_TRUE(shows("\rmdbg: attach: 1 s\033[K"));
	progress_step("listing sites", 30, 40);
	CU_ASSERT_TRUE(shows("\rmdbg: listing sites: 75 %\033[K"));
	progress_step(NULL, 0, 0);
	CU_ASSERT_TRUE(shows("\rmdbg: attach: 2 s\033[K"));
	progress_end();
	CU_ASSERT_TRUE(shows("\r\033[K"));
}

/* What others write stands on a line of its own, and progress comes back behind it. */
TEST("gives way to what others write")
{
	progress_begin("detach");
	CU_ASSERT_TRUE(shows("\rmdbg: detach: 1 s\033[K"));
	progress_hide();
	CU_ASSERT_TRUE(shows("\r\033[K"));
	CU_ASSERT_EQUAL(write(STDERR_FILENO, "note", 4), 4);
	CU_ASSERT_TRUE(shows("note"));
	progress_show();
	CU_ASSERT_TRUE(shows("s\033[K"));
	progress_off();
	CU_ASSERT_TRUE(shows("\r\033[K"));
	progress_end();
	CU_ASSERT_TRUE(shows_nothing());
}

/* A pipe's reader may be a pager; what goes to a file leaves the terminal as it is. */
TEST("gives way to the reader of a pipe")
{
	int ends[2], file = memfd_create("file", MFD_CLOEXEC);
	struct out out;

	CU_ASSERT_EQUAL_FATAL(pipe2(ends, O_CLOEXEC), 0);
	progress_begin("malloc sites");
	CU_ASSERT_TRUE(shows("\rmdbg: malloc sites: 1 s\033[K"));
	for (int is_file = 1; is_file >= 0; is_file--) {
		CU_ASSERT_PTR_NULL_FATAL(out_init_fd(&out, is_file ? file : ends[1], "out"));
		out_text(&out, "line\n");
		CU_ASSERT_PTR_NULL(out_finish(&out));
		CU_ASSERT_TRUE(shows(is_file ? "\rmdbg: malloc sites: 2 s\033[K" : "\r\033[K"));
	}
	progress_end();
	CU_ASSERT_TRUE(shows_nothing());
	close(file);
	close(ends[0]);
	close(ends[1]);
}

/* The terminal is stopped while something is to be drawn. (A hang ends by SIGALRM.) */
TEST("keeps nobody waiting after Ctrl-S")
{
	uint64_t end = tracer_now() + 2000000000;

	alarm(20);
	progress_begin("malloc leaks");
	CU_ASSERT_TRUE(shows("\rmdbg: malloc leaks: 1 s\033[K"));
	CU_ASSERT_EQUAL(tcflow(STDERR_FILENO, TCOOFF), 0);
	while (tracer_now() < end)
		progress_step("malloc leaks", 0, 0);
	CU_ASSERT_TRUE(shows_nothing());
	CU_ASSERT_EQUAL(tcflow(STDERR_FILENO, TCOON), 0);
	CU_ASSERT_TRUE(shows("s\033[K"));
	progress_end();
	CU_ASSERT_TRUE(shows("\r\033[K"));
	alarm(0);
}
