/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The pools of probe/pools.h in a session's target. Main thread. */
#pragma once

#include <stdint.h>

#include "base/err.h"

struct session;

struct session_pools {
	uint32_t here;		/* bits, by their place in `pools`: a module has them */
	uint32_t probed;	/* their first function has a probe */
};

/* Without a target there are none. */
struct err *session_pools(struct session *session, struct session_pools *ret) MUST_CHECK;
