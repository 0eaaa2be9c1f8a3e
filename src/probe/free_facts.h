/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The facts of a process by which a free of an unknown block is judged (log/unknown_free.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct module;
struct probes;

/*
 * The target is stopped: fill in probes->ledger.facts, and `incomplete` if double frees cannot be
 * told. Of allocators glibc's and jemalloc's are believed: all their functions are in the table,
 * and neither keeps a block that was freed by one of them to free it by another. Another's `free`
 * may (a cache, a pool), and then the inner free would look like the second one.
 */
void free_facts_learn(struct probes *probes);
/* Is it the C library? */
bool free_facts_is_libc(const struct module *module);
/*
 * Set probes->main_low and main_high: down to where the stack may grow without meeting another
 * mapping. Not known: they stay as they are.
 */
void free_facts_find_main_stack(struct probes *probes);
