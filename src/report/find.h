/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is at an address of the heaps: the text of `malloc find` and `malloc check`. */
#ifndef REPORT_FIND_H
#define REPORT_FIND_H

#include <stdint.h>

#include "base/err.h"

struct out;
struct session;
struct session_heap;

/* The block or free chunk that holds address, with where it was allocated. */
struct err *find_print(struct session *session, const struct session_heap *heap, uint64_t address,
		       struct out *out) MUST_CHECK;
/* All that is damaged, with the blocks on both sides. */
struct err *damage_print(struct session *session, const struct session_heap *heap,
			 struct out *out) MUST_CHECK;

#endif
