/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who is inside code of ours, or will return into it. All threads are stopped but stuck ones. */
#ifndef PROBE_INSIDE_H
#define PROBE_INSIDE_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/state.h"
#include "target/stack.h"

struct probes;
struct regs;
struct target;
struct thread;

#define INSIDE_RANGES	(AGENT_AREAS + 1)

/* The areas, as ranges, the agent's image on its own; returns how many. */
uint32_t inside_areas(const struct probes *probes, struct stack_range range[INSIDE_RANGES]);
/* May any thread be in the agent's own code? */
bool inside_agent(struct probes *probes);

#endif
