/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Chooses the size of a log by the room that there is (theory in room.h). */

#include "tracee/room.h"

#include <inttypes.h>
#include <stdio.h>

#include "agent/state.h"
#include "os/memory_limits.h"
#include "tracee/target.h"

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
	/* Of its addresses a region fills half. */
	uint64_t pages = facts->pages == UINT64_MAX ? UINT64_MAX : 2 * (facts->pages / ROOM_PART);
	uint64_t most = ALIGN_DOWN(MIN(facts->commit, pages), 2 * MEGABYTE);

	ret->log = MIN(log, MAX(most, LOG_REGION_MIN));
	ret->threads = AGENT_THREADS;
	ret->tight = false;
	fit_addresses(facts, ret);
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

static void explain(const struct memory_limit *limit, struct room *room)
{
	snprintf(room->why, sizeof(room->why), "%s, and %" PRIu64 "M are left", limit->name,
		 limit->left >> 20);
	snprintf(room->hint, sizeof(room->hint), "%s", limit->hint);
}

/* The limit to which the log owes its size. */
static const struct memory_limit *decisive(const struct room *room,
					   const struct memory_limit *addresses,
					   const struct memory_limit *commit,
					   const struct memory_limit *pages)
{
	if (room->tight)
		return addresses;
	return commit->left <= pages->left / 2 ? commit : pages;
}

struct err *room_find(struct target *target, struct memory_limits *limits, uint64_t log,
		      struct room *ret)
{
	struct memory_limit addresses, commit, pages;
	struct room_facts facts = { .rows = rows_of(target), .threads = 1 };
	struct proc_status status;
	struct err *err;

	memory_limits_least(limits, MEMORY_LIMIT_ADDRESSES, &addresses);
	memory_limits_least(limits, MEMORY_LIMIT_COMMIT, &commit);
	memory_limits_least(limits, MEMORY_LIMITS_SHARED, &pages);
	facts.addresses = addresses.left;
	facts.commit = commit.left;
	/* The rows are written before the log is. */
	facts.pages = pages.left == UINT64_MAX ? UINT64_MAX :
		      pages.left - MIN(pages.left, 2 * facts.rows);
	err = procfs_status(target->mem.tid, &status);
	if (!err)
		facts.threads = status.threads;
	err_ignore(err);
	room_choose(&facts, log, ret);
	ret->why[0] = ret->hint[0] = '\0';
	ret->pages = pages;
	if (ret->log < log)
		explain(decisive(ret, &addresses, &commit, &pages), ret);
	if (facts.pages >= ROOM_LEAST)
		return NULL;
	return err_hint(err_create(ERR_NOMEM, "no memory for a log: %s, of which %" PRIu64 "K are "
				   "left, and %" PRIu64 "K are needed for the log and the tables of "
				   "the process's modules", pages.name, pages.left >> 10,
				   (uint64_t)((ROOM_LEAST + 2 * facts.rows) >> 10)),
			"%s; or --no-arm, which records nothing", pages.hint);
}
