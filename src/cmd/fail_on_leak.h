/* SPDX-License-Identifier: GPL-3.0-or-later */
/* --fail-on-leak (theory in fail_on_leak.c). */
#pragma once

#include "base/err.h"

struct shell;

/* Look for leaks at the end from now on. */
struct err *fail_on_leak_close(struct shell *shell) MUST_CHECK;
/* Call this when there is a new target. */
void fail_on_leak_begin(struct shell *shell);
/* Call this when the target's end has come: it looks for leaks, once. */
void fail_on_leak_search(struct shell *shell);
/* The exit status of mdbg; `status` is the one that it would have without --fail-on-leak. */
int fail_on_leak_status(const struct shell *shell, int status);
