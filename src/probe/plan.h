/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Planning of single functions, for growth_functions.c (probe.h has the rest of plan.c). */
#pragma once

#include <stdint.h>

#include "base/err.h"

struct alloc_function;
struct module;
struct probes;

/* Add a probe of a function, unless its address has one already. */
struct err *plan_add(struct probes *probes, struct module *module, const struct alloc_function *fn,
		     uint64_t address) MUST_CHECK;
/* Find the functions of growth in a module, and decide how they can be probed. */
struct err *plan_growth_of(struct probes *probes, struct module *module) MUST_CHECK;
