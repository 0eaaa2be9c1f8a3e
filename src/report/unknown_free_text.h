/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Double and invalid frees: the last part of `malloc check`. */
#pragma once

#include "base/err.h"

struct out;
struct session;
struct unknown_frees;

/* Print each of them with its stacks, and a line with the sums. */
struct err *unknown_free_text_print(struct session *session,
				    const struct unknown_frees *unknown_frees,
				    struct out *out) MUST_CHECK;
