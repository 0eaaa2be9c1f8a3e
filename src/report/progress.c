/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Progress on standard error. */

#include "report/progress.h"

#include <stdio.h>
#include <unistd.h>

#include "os/tracer.h"

#define SECOND	1000000000ull

void progress_start(struct progress *progress, const char *what)
{
	*progress = (struct progress){
		.what = what,
		.next_ns = tracer_now() + SECOND,
		.enabled = isatty(STDERR_FILENO) && !isatty(STDOUT_FILENO),
	};
}

void progress_step(struct progress *progress, uint64_t done, uint64_t total)
{
	uint64_t now;

	if (!progress->enabled)
		return;
	now = tracer_now();
	if (now < progress->next_ns)
		return;
	progress->next_ns = now + SECOND / 4;
	progress->shown = true;
	fprintf(stderr, "\rmdbg: %s: %u %%\033[K", progress->what,
		total ? (unsigned)(done * 100 / total) : 0);
}

void progress_end(struct progress *progress)
{
	if (progress->shown)
		fputs("\r\033[K", stderr);
	progress->shown = false;
}
