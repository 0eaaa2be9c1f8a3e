/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `growth kernel` (growth/kernel.h): it is of the machine, and needs no process. Main thread.
 */
#pragma once

#include "growth/kernel.h"

struct session;

/* NULL: it is not recorded. */
struct kernel_growth *session_kernel(const struct session *session);
struct err *session_kernel_start(struct session *session) MUST_CHECK;
void session_kernel_stop(struct session *session);
