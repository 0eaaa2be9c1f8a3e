/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ctrl-C. */

#include "base/cancel.h"

#include <signal.h>

static volatile sig_atomic_t requested;

void cancel_request(void)
{
	requested = 1;
}

void cancel_clear(void)
{
	requested = 0;
}

bool cancel_requested(void)
{
	return requested;
}

struct err *cancel_check(void)
{
	return requested ? err_create(ERR_CANCELLED, "interrupted") : NULL;
}
