/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Records of the log, compared by what they say: what lies between the fields is anything. */
#pragma once

#include "log/log.h"

static inline bool same_record(const struct log_record *a, const struct log_record *b)
{
	return a->address == b->address && a->size == b->size && a->time == b->time &&
	       a->thread == b->thread && a->stack == b->stack && a->heap == b->heap;
}
