/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The facts of a process by which a free of an unknown block is judged (log/log_unknown_free.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct module;
struct probes;

/*
 * The target is stopped: fill in probes->ledger.facts, and `incomplete` if double frees cannot be
 * recognised. Only glibc and jemalloc are trusted for this: all their functions are in the table,
 * and neither keeps a freed block to free it again by another function. The `free` of other
 * allocators may do that (a cache, a pool), and then the inner free would look like the second one.
 */
void free_facts_learn(struct probes *probes);
/* Is it the C library? */
bool free_facts_is_libc(const struct module *module);
/*
 * Set probes->main_low and main_high; the stack can grow down to main_low without reaching another
 * mapping. If that is not known they stay as they are.
 */
void free_facts_find_main_stack(struct probes *probes);
