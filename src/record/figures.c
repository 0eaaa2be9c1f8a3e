/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The figures of the machine by name: those of struct machine, called as its members are. */

#include "record/figures.h"

#include "base/compiler.h"

#define FIGURE(member)	{ #member, offsetof(struct machine, member) }
#define PRESSURE(member) { #member, offsetof(struct machine, pressure.member) }

const struct record_figure record_figures[] = {
	FIGURE(total), FIGURE(free), FIGURE(available), FIGURE(cached), FIGURE(buffers),
	FIGURE(swap_cached), FIGURE(dirty), FIGURE(writeback), FIGURE(mapped), FIGURE(shared),
	FIGURE(anonymous), FIGURE(locked), FIGURE(slab), FIGURE(slab_reclaimable),
	FIGURE(slab_unreclaimable), FIGURE(page_tables), FIGURE(second_page_tables),
	FIGURE(kernel_stacks), FIGURE(per_cpu), FIGURE(vmalloc), FIGURE(huge_pages),
	FIGURE(corrupted), FIGURE(swap_total), FIGURE(swap_free), FIGURE(commit_limit),
	FIGURE(committed), FIGURE(socket_pages), FIGURE(fragment_bytes), FIGURE(sockets),
	FIGURE(rest), FIGURE(scanned), FIGURE(scanned_kswapd), FIGURE(scanned_direct),
	FIGURE(reclaimed), FIGURE(swapped_in), FIGURE(swapped_out), FIGURE(paged_in),
	FIGURE(paged_out), FIGURE(faults), FIGURE(major_faults), FIGURE(stalls),
	FIGURE(compaction_stalls), FIGURE(refaults), FIGURE(migrated), FIGURE(oom_kills),
	PRESSURE(some_10), PRESSURE(some_60), PRESSURE(full_10), PRESSURE(full_60),
};

const size_t record_figures_nr = ARRAY_SIZE(record_figures);
