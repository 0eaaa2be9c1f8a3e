/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Mappings of files that may be cut short while they are looked at. The kernel's answer to a look
 * at a page that the file no longer has is SIGBUS, in the middle of a library that knows nothing of
 * it. The handler puts a page of zeros there and notes it; the library goes on and finds what it
 * would find in a damaged file, and whoever asked it looks at `cut` afterwards.
 *
 * A SIGBUS anywhere else is what it always was.
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

/* From now on until guard_end. Main thread only; guard must not move meanwhile. */
void guard_begin(struct guard *guard, void *start, size_t len);
void guard_end(struct guard *guard);	/* one that was not begun is fine */
