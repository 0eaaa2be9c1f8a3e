/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The inside of the session without a process (fake_session.h). */
#pragma once

#include "fake_session.h"
#include "memory_array.h"
#include "probe/probe.h"
#include "session/lacks.h"
#include "session/private.h"
#include "tracee/region.h"
#include "tracee/target.h"

#define FAKE_ENTRY	0x10000ull	/* of the probed malloc: in no module */

struct fake {
	struct session session;		/* first: it is what callers have */
	struct target target;
	struct probes probes;
	struct region region;
	bool fail_detach;
	struct log_record held;		/* address 0: none */
	struct session_lacks lacks;
	uint8_t bytes[64];
	struct memory_array memory;
	struct fake_asked asked;
};

static inline struct fake *fake_of(const struct session *session)
{
	return (struct fake *)session;
}

/* End the test program if err is an error. */
void fake_check(struct err *err);
