/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the process holds of blocks from before the attach, by a walk if none was made so far. */
#pragma once

#include "base/err.h"
#include "session/older.h"

/* The process need not stand still for longer: nobody has asked for a walk. */
#define OLDER_PAUSE_NS	100000000ull

struct older_look {
	bool known;
	struct older_held held;		/* if known */
	char why[256];			/* why not; "": no walk tells it */
	uint64_t pause_ns;		/* for how long the process stood still; 0: it did not */
};

/* Without a walk it is not known if the process stood still for more than that, or max-pause. */
struct err *older_find(struct session *session, struct older_look *ret) MUST_CHECK;
