/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The agent's state in a target (agent/state.h): one or more private pages with the probes, and
 * log, threads and module map in the shared region (tracee/share.h).
 *
 *	made		agent_state_make		by the first arm with a jump in it
 *	kept up		agent_state_add_probe, agent_state_publish, agent_state_follow_modules
 *	taken away	agent_state_remove		when nobody is inside the agent, nor will
 *							return to it
 *	abandoned	agent_state_abandon		somebody stays inside: from then on the
 *						agent passes everything through
 *
 * probes->state is a copy of the state in the target. All threads are stopped.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct probe;
struct probes;
struct remote;

/* Make the state; it is not enabled yet. On failure nothing of it is in the target. */
struct err *agent_state_make(struct probes *probes, struct remote *remote) MUST_CHECK;
/*
 * Take an entry for a probe (entered: the kind of its thunk); *ret is its address. ERR_RANGE: there
 * are too many.
 */
struct err *agent_state_add_probe(struct probes *probes, struct probe *probe, bool entered,
				  uint64_t *ret) MUST_CHECK;
/* Write everything that was added, and enable the agent. */
struct err *agent_state_publish(struct probes *probes) MUST_CHECK;
/* Tell the agent that probes->ledger.facts have changed. */
struct err *agent_state_tell_facts(struct probes *probes) MUST_CHECK;
/* From now on no double free is reported, until agent_state_tell_facts. The target may run. */
void agent_state_doubt_facts(struct probes *probes);
/* Tell the agent that the log remembers more frees than before, or fewer. */
struct err *agent_state_tell_provenance(struct probes *probes) MUST_CHECK;
/*
 * Tell the agent what mdbg has written to state->stacks: all of it, or only until when it is valid.
 */
struct err *agent_state_tell_stacks(struct probes *probes, bool all) MUST_CHECK;
/* Give the agent the module map, which has changed. quiet: no thread is inside the agent. */
struct err *agent_state_follow_modules(struct probes *probes, struct remote *remote,
				       bool quiet) MUST_CHECK;
struct err *agent_state_remove(struct probes *probes, struct remote *remote) MUST_CHECK;
void agent_state_abandon(struct probes *probes);
