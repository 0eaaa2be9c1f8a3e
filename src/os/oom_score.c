/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whom the kernel kills if there is no memory (oom_score.h). The score is one of the process. */

#include "os/oom_score.h"

#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#define SCORE_FILE	"/proc/self/oom_score_adj"
#define FIRST		"1000"

static char before[16];		/* the score that mdbg had; "": it is as it was */

/* Async-signal-safe, for a child. */
static void set(const char *score)
{
	int fd = open(SCORE_FILE, O_WRONLY | O_CLOEXEC);
	ssize_t unused;

	if (fd < 0)
		return;
	unused = write(fd, score, strlen(score));
	(void)unused;		/* the kernel may not permit it: nothing is lost */
	close(fd);
}

void oom_score_before_spawn(void)
{
	if (*before)
		set(before);
}

void oom_score_after_spawn(void)
{
	if (*before)
		set(FIRST);
}

void oom_score_offer(void)
{
	int fd = *before ? -1 : open(SCORE_FILE, O_RDONLY | O_CLOEXEC);
	ssize_t len;

	if (fd < 0)
		return;
	len = read(fd, before, sizeof(before) - 1);
	close(fd);
	before[len > 0 ? len : 0] = '\0';
	if (!*before || pthread_atfork(NULL, NULL, oom_score_before_spawn)) {
		*before = '\0';
		return;
	}
	set(FIRST);
}
