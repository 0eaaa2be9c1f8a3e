/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The lines of an answer that say what is not in it. */
#pragma once

#include "base/err.h"

struct out;
struct session;

/*
 * Print "Incomplete: FUNCTION is not watched: WHY" or "Incomplete: WHY", a line for each gap;
 * nothing if there is none.
 */
struct err *lack_text_print(struct session *session, struct out *out) MUST_CHECK;
