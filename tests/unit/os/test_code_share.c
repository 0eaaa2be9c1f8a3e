/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The task clock of this process, which is in known code. */

#include "os/code_share.h"

#include <time.h>
#include <unistd.h>

#include "os/procfs.h"
#include "unit.h"

#define RUN_NS	50000000u

/* Runs for so much of its own processor time, in the ranges' code or out of it. */
static NOINLINE void spin(uint64_t ns)
{
	uint64_t until = procfs_clock(CLOCK_THREAD_CPUTIME_ID) + ns;

	while (procfs_clock(CLOCK_THREAD_CPUTIME_ID) < until)
		for (unsigned i = 0; i < 100000; i++)
			__asm__ volatile("");
}

TEST("share")
{
	const struct code_range here = { (uint64_t)(uintptr_t)spin, (uint64_t)(uintptr_t)spin + 512 };
	const struct code_range none = { 4096, 8192 };
	uint64_t inside = 0, all = 0;
	struct code_share *share;
	struct err *err = code_share_open(getpid(), &share);

	if (err) {
		unit_skip(err->msg);
		return;
	}
	spin(RUN_NS);
	code_share_read(share, &here, 1, &inside, &all);
	CU_ASSERT(all >= RUN_NS / 2 && inside >= RUN_NS / 4);
	CU_ASSERT(inside <= all + CODE_SHARE_PERIOD_NS);
	inside = all = 0;
	spin(RUN_NS);
	code_share_read(share, &none, 1, &inside, &all);
	CU_ASSERT(all >= RUN_NS / 2 && !inside);
	code_share_close(share);
}

TEST("gone")
{
	struct code_share *share;

	CU_ASSERT_PTR_NOT_NULL(code_share_open(1 << 22, &share));
	code_share_close(NULL);
}
