/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What `malloc find` and mdbg::find look at. */
#ifndef CMD_FIND_H
#define CMD_FIND_H

#include "base/err.h"
#include "session/find.h"

struct call;

struct found {
	uint64_t address;
	/* If it was searched who points to it; else heap alone is of use, and why says why it was not. */
	struct session_find find;
	char why[256];
};

/* ADDRESS ?limit N?, and look. */
struct err *found_get(struct call *call, struct found *ret) MUST_CHECK;
void found_free(struct found *found);

#endif
