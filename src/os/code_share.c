/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How much of its processor time a process spends in given code (theory in code_share.h). */

#include "os/code_share.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "os/perf.h"
#include "os/procfs.h"

#define NOTES_MOST	4096	/* of a thread in one look */
#define RANKED_MOST	1024	/* threads; to ask for one takes some 10 us */

struct watched_thread {
	int fd;
	uint64_t seen_ns;
	struct perf_ring ring;
};

struct code_share {
	struct watched_thread thread[CODE_SHARE_THREADS];
	size_t nr;
	/* of the call of code_share_read that is under way */
	const struct code_range *range;
	size_t nr_ranges;
	uint64_t inside;		/* notes */
};

static struct err *watch(struct code_share *share, pid_t tid)
{
	struct watched_thread *thread = &share->thread[share->nr];
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_TASK_CLOCK,
		.sample_period = CODE_SHARE_PERIOD_NS,
		.sample_type = PERF_SAMPLE_IP,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.wakeup_events = 1 << 30,	/* nobody waits for the ring */
	};
	struct err *err = perf_event_open(&attr, tid, -1, &thread->fd);

	if (err)
		return err->code == ERR_GONE ? NULL : err;	/* the thread has ended */
	err = perf_ring_map(thread->fd, 1, &thread->ring);
	if (err) {
		close(thread->fd);
		return err;
	}
	share->nr++;
	return NULL;
}

struct ranked {
	pid_t tid;
	uint64_t ns;
};

COMPARE_BY(by_time, struct ranked, x, ~x->ns)

/* The threads that have had most time come first. */
static struct err *rank(const struct proc_tasks *tasks, struct ranked **ret)
{
	struct ranked *ranked = calloc(tasks->vec.nr + 1, sizeof(*ranked));

	if (!ranked)
		return err_nomem;
	for (size_t i = 0; i < tasks->vec.nr; i++) {
		ranked[i].tid = tasks->vec.at[i];
		if (tasks->vec.nr > CODE_SHARE_THREADS && i < RANKED_MOST)
			err_ignore(procfs_ran(ranked[i].tid, &ranked[i].ns));	/* it has ended */
	}
	qsort(ranked, tasks->vec.nr, sizeof(*ranked), by_time);
	*ret = ranked;
	return NULL;
}

struct err *code_share_open(pid_t pid, struct code_share **ret)
{
	struct code_share *share = calloc(1, sizeof(*share));
	struct proc_tasks tasks = { VEC_INIT };
	struct err *err = share ? procfs_tasks(pid, &tasks) : err_nomem;
	AUTO_FREE struct ranked *ranked = NULL;

	if (!err)
		err = rank(&tasks, &ranked);
	for (size_t i = 0; !err && i < MIN(tasks.vec.nr, (size_t)CODE_SHARE_THREADS); i++)
		err = watch(share, ranked[i].tid);
	vec_free(&tasks.vec);
	if (err)
		code_share_close(share);
	else
		*ret = share;
	return err;
}

static void take_note(void *ctx, const struct perf_event_header *record)
{
	struct code_share *share = ctx;
	const uint64_t *pc = (const void *)(record + 1);

	if (record->type != PERF_RECORD_SAMPLE || record->size < sizeof(*record) + sizeof(*pc))
		return;
	for (size_t i = 0; i < share->nr_ranges; i++)
		if (*pc - share->range[i].start < share->range[i].end - share->range[i].start) {
			share->inside++;
			return;
		}
}

void code_share_read(struct code_share *share, const struct code_range *range, size_t nr,
		     uint64_t *inside, uint64_t *all)
{
	share->range = range;
	share->nr_ranges = nr;
	share->inside = 0;
	for (size_t i = 0; i < share->nr; i++) {
		struct watched_thread *thread = &share->thread[i];
		uint64_t ns;

		perf_ring_take(&thread->ring, NOTES_MOST, take_note, share);
		if (read(thread->fd, &ns, sizeof(ns)) != (ssize_t)sizeof(ns))
			continue;
		*all += ns - MIN(thread->seen_ns, ns);
		thread->seen_ns = ns;
	}
	*inside += share->inside * CODE_SHARE_PERIOD_NS;
}

void code_share_close(struct code_share *share)
{
	if (!share)
		return;
	for (size_t i = 0; i < share->nr; i++) {
		perf_ring_unmap(&share->thread[i].ring);
		close(share->thread[i].fd);
	}
	free(share);
}
