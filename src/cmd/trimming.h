/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `malloc trim every TIME`: a timer of Tcl's event loop that trims the target's heaps as long as
 * mdbg is attached to it. No more than one call is made at a time, and none while another command
 * works. Where the call cannot be made at the moment, the next one is.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"

struct out;
struct shell;

#define TRIMMING_LEAST_NS	1000000000ull

/* The first call is made after that time. ERR_USAGE: it is too short. ERR_STATE: no process. */
struct err *trimming_begin(struct shell *shell, uint64_t every_ns) MUST_CHECK;
/* It may not have been begun. */
void trimming_end(struct shell *shell);
/* Print in a line what was done so far, or that nothing is. */
void trimming_print(const struct shell *shell, struct out *out);
