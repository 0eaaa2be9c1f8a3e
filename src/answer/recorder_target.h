/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a recording says of the process of a session: who it is, and its program (record/record.h). */
#pragma once

#include "record/names.h"

struct session;

/* Get the number of the session's process among the targets. What cannot be read is left out. */
struct err *recorder_target_number(struct session *session, struct record_names *names,
				   uint32_t *ret) MUST_CHECK;
