/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Limits of resources that mdbg itself was started with. A shell or a service may have lowered them
 * for a program of many small threads, and mdbg is started from the same one. If it ran out of stack
 * while it works on a process, it would end there, in the middle.
 */
#pragma once

#include "base/err.h"

/*
 * Give threads that are made from now on a stack that is large enough, and see to it that the first
 * one may have such a stack. ERR_RANGE: it may not.
 */
struct err *own_limits_begin(void) MUST_CHECK;
/*
 * Raise the limits of open files and of the first thread's stack. Programs that are started from now
 * on inherit them.
 */
void own_limits_raise(void);
