/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Areas: executable memory of ours in the target, near the modules that it serves (within reach of
 * a rel32), each a JOURNAL_MAPPING; the page behind it may count calls (tracee/call_count.h). The first area begins with the agent's image and table. Then
 * come slots, one for each probe, with the layout of agent/state.h: data for walks, displaced
 * prologue, thunk, stub.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "agent/state.h"
#include "base/err.h"
#include "tracee/backtrace.h"

struct memory;
struct proc_maps;
struct probe;
struct probes;
struct regs;
struct remote;

#define AREA_LEN	(256u << 10)
#define AREA_AGENT	AGENT_IMAGE_ROOM

/*
 * Find a slot within reach of the probe's module, in an area that exists or is mapped now.
 * ERR_UNSUPPORTED: there is no room in reach.
 */
struct err *area_slot(struct probes *probes, struct probe *probe, struct remote *remote,
		      uint64_t *ret) MUST_CHECK;
/*
 * Find a place for an area: len bytes that are free in maps, within reach of all of [start, end),
 * and not right above the heap or near the stack, which grow. 0: there is none.
 */
uint64_t area_place(const struct proc_maps *maps, uint64_t start, uint64_t end, uint64_t len);
/* How many calls that are counted are under way in the areas, as this memory of a process has them? */
uint64_t area_calls(const struct probes *probes, struct memory *memory);
/* The address of the count of the area that has this slot; 0: it has none. */
uint64_t area_counts(const struct probes *probes, uint64_t slot);
/* Update the ranges of the areas for walks. */
void area_bound(struct probes *probes);
/* The hook of struct walk_area. */
bool area_translate(void *probes, uint64_t *pc, int32_t *cfa_offset);
/* The probe whose slot contains address, or NULL. */
struct probe *area_probe(const struct probes *probes, uint64_t address);
/*
 * The registers with which a walk of this thread's stack begins: its own; or those of the calling
 * thunk, if it is in the agent's C code. memory has the stack: it is the target's, or a snapshot of
 * it.
 */
void area_walk_regs(struct probes *probes, struct memory *memory, const struct regs *regs,
		    struct regs *ret);
/*
 * For finding threads that are inside code of ours, or will return into it. All threads are stopped
 * except stuck ones.
 *
 * area_pc_ranges: the areas as ranges, the agent's image on its own; returns how many.
 */
#define AGENT_PC_RANGES	(AGENT_AREAS + 1)

uint32_t area_pc_ranges(const struct probes *probes, struct stack_range range[AGENT_PC_RANGES]);
/* May any thread be in the agent's own code? */
bool area_has_thread(struct probes *probes);
/* Is address in one of the areas? */
bool area_holds(const struct probes *probes, uint64_t address);
