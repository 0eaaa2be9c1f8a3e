/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds blocks that cannot be as large as was said (user_sizes.h). */

#include "session/pool/user_sizes.h"

#include "heap/block.h"
#include "os/procfs.h"
#include "session/private.h"
#include "tracee/region.h"

struct look {
	const struct proc_maps *maps;
	uint8_t process;
	uint64_t until;		/* blocks that are older than the maps */
	struct user_sizes found;
};

/* Is the block's beginning mapped, and the rest of it not? */
static bool is_impossible(const struct proc_maps *maps, const struct block *block)
{
	const struct proc_map *map = procparse_maps_find(maps, block->address);
	const struct proc_map *end = maps->vec.at + maps->vec.nr;
	uint64_t to;

	if (!map)
		return false;	/* its pool is gone */
	if (__builtin_add_overflow(block->address, block->size, &to))
		return true;
	while (map + 1 < end && map->end < to && map[1].start == map->end)
		map++;
	return map->end < to;
}

static bool look_at(const struct log_record *record, uint64_t slot UNUSED, void *ctx)
{
	struct look *look = ctx;
	struct block block = block_of_record(record);

	if (block.heap != LOG_HEAP_USER || block.process != look->process ||
	    block.time > look->until || !is_impossible(look->maps, &block))
		return false;
	look->found.impossible++;
	if (block.size >= look->found.bytes) {
		look->found.bytes = block.size;
		look->found.stack = block.stack;
	}
	return false;
}

struct err *user_sizes(struct session *session, struct user_sizes *ret)
{
	const struct process *process = session->current;
	struct proc_maps maps = { VEC_INIT };
	struct look look = { .maps = &maps, .until = log_now() };

	*ret = look.found;
	if (process_has_ended(process->state) || procfs_maps(process->pid, &maps))
		return NULL;	/* it has just ended */
	look.process = (uint8_t)(process - session->process);
	reader_each(&session->region->log, look_at, &look);
	procparse_maps_free(&maps);
	*ret = look.found;
	return NULL;
}
