/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who is inside code of ours (inside.h). */

#include "probe/inside.h"

#include "agent/agent.h"
#include "probe/area.h"
#include "probe/probe.h"
#include "target/target.h"

uint32_t inside_areas(const struct probes *probes, struct stack_range range[INSIDE_RANGES])
{
	uint32_t nr = 0;

	for (size_t i = 0; i < MIN(probes->areas.nr, (size_t)AGENT_AREAS); i++) {
		const struct area *area = &probes->areas.at[i];
		uint64_t start = area->address;

		/* The SIGTRAP handler, which the kernel calls, is in the same image. */
		if (area->agent && !probes->has_sigaction) {
			range[nr++] = (struct stack_range){ start, start + AREA_AGENT, true };
			start += AREA_AGENT;
		}
		range[nr++] = (struct stack_range){ start, area->address + area->len, false };
	}
	return nr;
}

struct look {
	struct stack_range range;
	bool found;
};

static void look(struct thread *thread, const struct stack_top *top, void *ctx)
{
	struct look *at = ctx;

	at->found = at->found || stack_of_uses(thread, top, &at->range, 1);
}

bool inside_agent(struct probes *probes)
{
	struct look at = { .range = { probes->agent, probes->agent + agent_image_len, false } };

	stack_each_top(probes->target, look, &at);
	return at.found;
}
