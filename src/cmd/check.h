/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What `malloc check` and `mdbg::check` show. */
#ifndef CMD_CHECK_H
#define CMD_CHECK_H

#include "session/heap.h"
#include "session/strays.h"

struct call;

struct check {
	struct session_heap heap;	/* not walked where there is no process, or no glibc */
	bool core;			/* nothing is known of frees, and strays are empty */
	struct session_strays strays;
};

struct err *check_get(struct call *call, struct check *ret) MUST_CHECK;
void check_free(struct check *check);

#endif
