/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Protects reads of mapped files that may be cut short meanwhile. If a page is read that the file
 * no longer has, the kernel sends SIGBUS, in the middle of a library that cannot handle it. The
 * handler maps a page of zeros there and sets `cut`. The library continues, as if the file were
 * damaged, and its caller checks `cut` afterwards.
 *
 * A SIGBUS anywhere else is handled as before.
 */
#pragma once

#include <signal.h>
#include <stddef.h>
#include <stdint.h>

struct guard {
	uint8_t *start;
	size_t len;
	volatile sig_atomic_t cut;	/* a page was gone */
	struct guard *volatile next;
};

/* Protect the mapping until guard_end. Main thread only; guard must not move meanwhile. */
void guard_begin(struct guard *guard, void *start, size_t len);
void guard_end(struct guard *guard);	/* a guard that was not begun is allowed */
