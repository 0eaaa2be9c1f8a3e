/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The error for a file that is over a limit. */

#include "base/limits.h"

#include <inttypes.h>

struct err *limit_err(const char *name, const char *what, uint64_t most)
{
	return err_create(ERR_RANGE, "%s: %s (at most %" PRIu64 ")", name, what, most);
}
