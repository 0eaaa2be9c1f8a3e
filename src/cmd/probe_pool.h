/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `probe pool`, for the commands that need it themselves. */
#pragma once

#include "base/err.h"

struct call;

/*
 * Record the pools of the target that lie in memory which they map, and say so: who maps it names
 * whoever needs more next, and not who holds it.
 */
struct err *probe_pool_mapped(struct call *call) MUST_CHECK;
