/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The memory of the target that the agent needs, laid down in the region's file behind the log
 * and mapped into the target:
 *
 *	offset 0		the journal		region.h, mapped rw
 *	JOURNAL_SIZE		the log			mapped rw (JOURNAL_LOG)
 *	region size		struct agent_thread[]	the same mapping
 *	behind			module maps and rows	mapped r-- (JOURNAL_LOG), grows
 *	at the end		history			not mapped
 *
 * The file is sparse and its size is fixed. Of the last part, the target maps twice as much as is
 * in use; when more is needed, it is mapped at another place, and old maps stay valid as long as
 * their mapping does. A walk_map and all that it points to never changes once it is published: a
 * new module set makes a new one, which shares the rows of the modules that stayed. Room that the
 * last map did not use is used again when a new map is made while all threads are stopped outside
 * the agent.
 *
 * Mapping without a descriptor. The target's descriptor is closed at the end of region_create: one
 * kept open would be seen by the program (closefrom, a check of /proc/self/fd, a limit that it is
 * close to), and one opened again needs /proc in the target's mount namespace. Instead a mapping is
 * made from another one, by mremap with an old length of 0 (patch_map_log): it begins with the same
 * page of the file, and has any length. The log is mapped from the journal's last page on, the
 * module maps from the last page of the threads on (later ones from their own first page), so that
 * no two of our mappings are ever merged by the kernel, and the mapping at offset 0 is always the
 * journal's. If all of it were mapped at the beginning, it would count against RLIMIT_AS even when
 * only the journal is needed (breakpoints).
 *
 * mlockall(MCL_FUTURE): a mapping made by mremap is locked only if the one that it was made from
 * is, and region_create unlocks the journal's; so a log of 1G is not populated at once.
 *
 * The history (provenance.h) is for a later mdbg that goes on with the log.
 *
 * Row tables are large and are written by mdbg through its own descriptor: share_prepare does it
 * before the target is stopped for share_log and share_modules.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct agent_thread;
struct region;
struct remote;
struct share;
struct target;

/* Bytes of the region's file for a log of this size, and so many of the agent's threads. */
uint64_t share_file_size(uint64_t log_size, uint32_t threads);

/*
 * When the target has a region, do everything that needs no stop: fault in the pages that the agent
 * will touch first, and write the rows of the modules known now. Optional; may be repeated.
 */
struct err *share_prepare(struct target *target) MUST_CHECK;
/*
 * Map log and agent threads into the target, if they are not mapped yet; mdbg faults in as much as
 * the start needs. region->log_address is then the address at which file offset 0 would lie.
 * ERR_UNSUPPORTED: this target cannot have it (RLIMIT_AS); the message says why.
 */
struct err *share_log(struct target *target, struct remote *remote) MUST_CHECK;
/*
 * Write the target's present modules with their rows; *map_ret is the address in the target of the
 * struct walk_map (its generation is modules.generation, its cache NULL). The target is stopped,
 * and share_log was called. quiet: no thread is inside the agent, so the room of all maps before
 * the last one may be used again.
 */
struct err *share_modules(struct target *target, struct remote *remote, bool quiet,
			  uint64_t *map_ret) MUST_CHECK;
/*
 * Unmap all of it, if it is mapped. No thread is inside the agent any more. It can be mapped again
 * by share_log; the threads' entries stay as they are, and can be read here as before.
 */
struct err *share_withdraw(struct target *target, struct remote *remote) MUST_CHECK;
/* Unmap what a forked child has inherited of it. */
struct err *share_withdraw_forked_copy(const struct target *target,
				       struct remote *child) MUST_CHECK;
/* For region_free; share may be NULL. */
void share_free(struct share *share);

/*
 * Set marks in the log for a later mdbg. SHARE_WHOLE: all probes are in place, and have been since
 * the log began; without it share_adopt refuses the log, since events are missing in it. The mark
 * is removed before the first probe is put in or taken out. SHARE_LACKS: a block that is not in the
 * log may be younger than the log (after `malloc reset`).
 */
#define SHARE_WHOLE	1u
#define SHARE_LACKS	2u

struct err *share_set_marks(const struct region *region, uint64_t marks) MUST_CHECK;
/*
 * Continue with the maps and rows that an earlier mdbg, whose agent is still at work, has written
 * in the region's file. Its maps stay untouched until share_forget_old, modules that were there
 * before keep their age, and generations go on; *generation_ret is the last one of the earlier
 * mdbg. ERR_FORMAT: the layout is another one. ERR_STATE: the log is not whole.
 */
struct err *share_adopt(struct target *target, uint32_t *generation_ret,
			uint64_t *marks_ret) MUST_CHECK;
void share_forget_old(struct target *target);

/*
 * Fault in the pages that the agent will touch next, so that the target's control group does not
 * pay for them. Call this now and then (100 ms) while the agent writes.
 */
struct err *share_reserve(struct target *target) MUST_CHECK;

/*
 * Call fn for each agent thread that was ever in use, as it is mapped here; also when the region is
 * in no target any more.
 */
void share_each_thread(const struct region *region,
		       void (*fn)(struct agent_thread *thread, void *ctx), void *ctx);
/* The address of the agent's threads in the target. */
uint64_t share_threads_address(const struct target *target);
