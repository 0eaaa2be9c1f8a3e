/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The report that glibc's malloc_stats(3) prints, read from memory: that function writes to the
 * standard error of the process, by stdio, which may allocate and take locks of its own.
 */
#pragma once

#include "base/err.h"

struct heaps;
struct out;

/*
 * Print the lines of malloc_stats for heaps that were walked, in its order: the main arena, then
 * the youngest first. (Its sums wrap at 4 GB; these do not.) Of several C libraries the arenas of one
 * follow those of the other, and the total is that of all.
 */
void allocator_stats_print(const struct heaps *heap, struct out *out);
/*
 * Print the XML document of malloc_info(3), as glibc writes it since 2.27, for heaps that were walked
 * with SESSION_HEAP_LISTS. ERR_UNSUPPORTED: they are not those of one glibc; ERR_STATE: they are
 * damaged, or being changed.
 */
struct err *allocator_stats_print_xml(const struct heaps *heap, struct out *out) MUST_CHECK;
