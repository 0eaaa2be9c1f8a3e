/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Chooses the size of a log by the room that there is (theory in room.h). */

#include "tracee/room.h"

#include <inttypes.h>
#include <stdio.h>

#include "agent/state.h"
#include "os/file.h"
#include "tracee/forkable.h"
#include "tracee/target.h"

#define MEMINFO		"/proc/meminfo"
#define MEGABYTE		(1ull << 20)
#define OTHERS			(2 * MEGABYTE)	/* areas, the agent's state, module maps */
#define THREADS_USUAL		64u		/* places that are given up last */

static uint64_t threads_bytes(uint32_t threads)
{
	return threads * sizeof(struct agent_thread);
}

static uint64_t beside_log(const struct room_facts *facts, uint32_t threads)
{
	return threads_bytes(threads) + 2 * facts->rows + OTHERS;
}

/*
 * The largest log, in whole megabytes, that fits beside so many threads in so many bytes; 0: none
 * fits.
 */
static uint64_t log_in(const struct room_facts *facts, uint64_t bytes, uint32_t threads)
{
	uint64_t other = beside_log(facts, threads);
	uint64_t log = bytes > other ? ALIGN_DOWN(bytes - other, MEGABYTE) : 0;

	return log < LOG_REGION_MIN ? 0 : log;
}

/* Places for twice the threads that there are. */
static uint32_t threads_least(const struct room_facts *facts)
{
	uint32_t least = THREADS_USUAL;

	while (least < AGENT_THREADS && least < 2 * (uint64_t)facts->threads)
		least *= 2;
	return least;
}

static void fit_addresses(const struct room_facts *facts, struct room *room)
{
	uint64_t half = facts->addresses / 2, most = facts->addresses / 4 * 3;
	uint32_t least = threads_least(facts), threads = AGENT_THREADS;

	if (facts->addresses == UINT64_MAX || log_in(facts, half, threads) >= room->log)
		return;
	while (threads > least && threads_bytes(threads) > half / 4)
		threads /= 2;
	if (!log_in(facts, half, threads)) {
		half = most;
		while (threads > AGENT_THREAD_WAYS && !log_in(facts, half, threads))
			threads /= 2;
		if (!log_in(facts, half, threads))
			return;
		half = beside_log(facts, threads) + LOG_REGION_MIN;
	}
	room->threads = threads;
	room->log = MIN(room->log, MAX(log_in(facts, half, threads), LOG_REGION_MIN));
	room->tight = true;
}

void room_choose(const struct room_facts *facts, uint64_t log, struct room *ret)
{
	uint64_t promised = ALIGN_DOWN(facts->commit, 2 * MEGABYTE);

	ret->log = MIN(log, MAX(promised, LOG_REGION_MIN));
	ret->threads = AGENT_THREADS;
	ret->tight = false;
	fit_addresses(facts, ret);
}

uint64_t room_address_limit(pid_t tid)
{
	char path[32];
	uint64_t limit;

	snprintf(path, sizeof(path), "/proc/%d/limits", tid);
	return file_number(path, "Max address space", &limit) ? limit : UINT64_MAX;
}

static uint64_t read_commit(void)
{
	uint64_t limit, used = 0;

	if (!forkable_memory_is_strict() || !file_number(MEMINFO, "CommitLimit:", &limit))
		return UINT64_MAX;
	if (file_number(MEMINFO, "Committed_AS:", &used))
		used <<= 10;
	limit <<= 10;
	return limit > used ? limit - used : 0;
}

static uint64_t rows_of(const struct target *target)
{
	const struct walk_map *map = &target->modules.map;
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < map->nr; i++) {
		const struct rows *rows = &map->module[i].rows;

		bytes += rows->nr * sizeof(*rows->row) + rows->nr_index * sizeof(*rows->index);
	}
	return bytes;
}

static void explain(const struct target *target, const struct room_facts *facts, uint64_t limit,
		    struct room *room)
{
	if (room->tight) {
		snprintf(room->why, sizeof(room->why),
			 "the address space of process %d is limited to "
			 "%" PRIu64 "M (RLIMIT_AS), of which %" PRIu64 "M are left",
			 target->pid, limit >> 20, facts->addresses >> 20);
		snprintf(room->hint, sizeof(room->hint),
			 "prlimit --pid %d --as=unlimited, then attach again", target->pid);
		return;
	}
	snprintf(room->why, sizeof(room->why), "memory is never overcommitted here "
		 "(vm.overcommit_memory), and %" PRIu64 "M are left", facts->commit >> 20);
	snprintf(room->hint, sizeof(room->hint),
		 "vm.overcommit_memory = 0, or a larger vm.overcommit_ratio");
}

void room_find(struct target *target, uint64_t log, struct room *ret)
{
	uint64_t limit = room_address_limit(target->mem.tid), used;
	struct room_facts facts = { UINT64_MAX, read_commit(), rows_of(target), 1 };
	struct proc_status status;

	if (!procfs_status(target->mem.tid, &status)) {
		used = status.vm_kb << 10;
		facts.threads = status.threads;
		if (limit != UINT64_MAX)
			facts.addresses = limit > used ? limit - used : 0;
	}
	room_choose(&facts, log, ret);
	ret->why[0] = ret->hint[0] = '\0';
	if (ret->log < log)
		explain(target, &facts, limit, ret);
}
