/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * For how long the process stood still for an answer, which is said in one way everywhere. Nothing
 * is printed if it did not stand still, or stood anyhow (pause_ns is 0).
 */
#pragma once

#include <stdint.h>

struct out;
struct leak_marks;

/* no_snapshot: why it could not be looked at while it runs on; or "". */
void stood_text_print(struct out *out, uint64_t pause_ns, const char *no_snapshot);
/* The same among the lines about a search for leaks. */
void stood_text_print_search(struct out *out, const struct leak_marks *found);
