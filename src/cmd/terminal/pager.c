/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Long output on a terminal. */

#include "cmd/terminal/pager.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "cmd/terminal/spawn.h"
#include "os/trust.h"
#include "report/out.h"

/*
 * less reads its keys from HOME, and there they can be commands. It runs because the text was long,
 * not because somebody called it: so it reads none where HOME is not trusted.
 */
static void keep_less_at_home(void)
{
	static const char *const variables[] = { "HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME",
						 "XDG_STATE_HOME" };

	for (size_t i = 0; i < ARRAY_SIZE(variables); i++) {
		const char *folder = getenv(variables[i]);

		if (folder && *folder && trust_path(folder)) {
			setenv("LESSSECURE", "1", 0);
			setenv("LESSHISTFILE", "-", 0);
		}
	}
}

/* If this fails, the text goes to the terminal as it would without a pager. */
static void start(struct out *out)
{
	const char *command = getenv("PAGER");
	struct pager *pager = out->page_ctx;
	struct err *err;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return;
	setenv("LESS", "FRX", 0);
	keep_less_at_home();
	err = spawn_shell(command && *command ? command : "less -FRX", ends[0], &pager->pid);
	close(ends[0]);
	if (err) {
		close(ends[1]);
		pager->pid = 0;
		return;
	}
	pager->fd = ends[1];
	out->fd = ends[1];
	out->reader_may_leave = true;
}

void pager_offer(struct pager *pager, unsigned rows, struct out *out)
{
	if (rows < 2 || !isatty(STDIN_FILENO))
		return;
	out->page = start;
	out->page_ctx = pager;
	out->page_lines = rows - 1;
}

void pager_end(struct pager *pager)
{
	if (!pager->pid)
		return;
	close(pager->fd);
	spawn_wait(pager->pid);
}
