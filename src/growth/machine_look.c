/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compares two looks at the machine's memory. */

#include "growth/machine_look.h"

#include <stdio.h>
#include <time.h>

#include "os/procfs.h"

/* What cannot be read is not known; without memory there is no look. */
static struct err *or_unknown(struct err *err)
{
	if (err && err->code == ERR_NOMEM)
		return err;
	err_ignore(err);
	return NULL;
}

static struct err *read_lists(struct machine_look *look)
{
	struct err *err = or_unknown(machine_holder_processes("/proc", &look->processes));

	if (!err)
		err = or_unknown(machine_holder_caches("/proc", &look->caches));
	return err ? err : oom_kills_read(&look->kills);
}

static struct err *read_groups(struct machine_look *look)
{
	struct err *err = memory_groups_read(look->pid, &look->groups);

	if (err && err->code != ERR_NOMEM)
		snprintf(look->groups.why, sizeof(look->groups.why), "%.*s",
			 (int)sizeof(look->groups.why) - 1, err->msg);
	return or_unknown(err);
}

struct err *machine_look_read(pid_t pid, bool lists, struct machine_look *ret)
{
	struct machine_look look = {
		.time_ns = procfs_clock(CLOCK_MONOTONIC),
		.real_ns = procfs_clock(CLOCK_REALTIME), .processes = { .vec = VEC_INIT },
		.caches = { .vec = VEC_INIT }, .kills = { .vec = VEC_INIT }, .pid = pid,
		.groups = { .vec = VEC_INIT },
	};
	struct err *err = lists ? read_lists(&look) : NULL;

	machine_read("/proc", &look.machine);
	if (!err && pid)
		err = read_groups(&look);
	if (err) {
		machine_look_free(&look);
		return err;
	}
	*ret = look;
	return NULL;
}

uint64_t machine_look_kill_time(const struct machine_look *look, const struct oom_kill *kill)
{
	return look->real_ns - look->time_ns + kill->time_ns;
}

void machine_look_free(struct machine_look *look)
{
	vec_free(&look->processes.vec);
	vec_free(&look->caches.vec);
	vec_free(&look->kills.vec);
	memory_groups_free(&look->groups);
}

bool machine_look_change(uint64_t before, uint64_t now, int64_t *ret)
{
	if (!kernel_is_number(before) || !kernel_is_number(now))
		return false;
	return !__builtin_sub_overflow(now, before, ret);
}

bool machine_look_rate(uint64_t before, uint64_t now, uint64_t ns, double *ret)
{
	int64_t change;

	if (!ns || !machine_look_change(before, now, &change) || change < 0)
		return false;
	*ret = (double)change * 1e9 / (double)ns;
	return true;
}

/* Largest first; those that are alike as they are listed. */
COMPARE_BY(compare_held, struct machine_rank, x,
	   COMPARE_KEYS(~x->holder->bytes, (uintptr_t)x->holder))

static int compare_grown(const void *left, const void *right)
{
	const struct machine_rank *a = left, *b = right;

	if (a->change != b->change)
		return a->change < b->change ? 1 : -1;
	return a->holder < b->holder ? -1 : 1;
}

static struct err *all_ranks(const struct machine_holders *before,
			     const struct machine_holders *now, struct machine_ranks *ret)
{
	struct machine_ranks ranks = { VEC_INIT };
	struct err *err = vec_reserve(&ranks.vec, now->vec.nr);

	if (err)
		return err;
	vec_each(holder, &now->vec) {
		const struct machine_holder *old =
			before ? machine_holder_find(before, holder) : NULL;
		struct machine_rank rank = { .holder = holder, .known = old };

		if (holder->stranger)
			continue;
		if (old && !machine_look_change(old->bytes, holder->bytes, &rank.change))
			rank.known = false;
		ranks.vec.at[ranks.vec.nr++] = rank;
	}
	*ret = ranks;
	return NULL;
}

struct err *machine_look_largest(const struct machine_holders *before,
				 const struct machine_holders *now, size_t most,
				 struct machine_ranks *ret)
{
	struct err *err = all_ranks(before, now, ret);

	if (err)
		return err;
	vec_sort(&ret->vec, compare_held);
	ret->vec.nr = MIN(ret->vec.nr, most);
	return NULL;
}

struct err *machine_look_grown(const struct machine_holders *before,
			       const struct machine_holders *now, size_t most,
			       struct machine_ranks *ret)
{
	struct machine_ranks ranks;
	struct err *err;
	size_t nr = 0;

	*ret = (struct machine_ranks){ VEC_INIT };
	if (!before || !before->known)
		return NULL;
	err = all_ranks(before, now, &ranks);
	if (err)
		return err;
	vec_each(rank, &ranks.vec) {
		if (!rank->known)
			rank->change = (int64_t)MIN(rank->holder->bytes, (uint64_t)INT64_MAX);
		if (rank->change > 0)
			ranks.vec.at[nr++] = *rank;
	}
	ranks.vec.nr = nr;
	vec_sort(&ranks.vec, compare_grown);
	ranks.vec.nr = MIN(nr, most);
	*ret = ranks;
	return NULL;
}

static const struct memory_group *find_group(const struct memory_groups *groups, const char *path)
{
	vec_each(group, &groups->vec)
		if (!strcmp(group->path, path))
			return group;
	return NULL;
}

void machine_look_forecast(const struct machine_look *before, const struct machine_look *now,
			   const struct memory_group *group, struct machine_forecast *ret)
{
	const struct memory_group *old = before ? find_group(&before->groups, group->path) : NULL;
	uint64_t left = memory_group_left(group);
	int64_t change;

	*ret = (struct machine_forecast){ .known = false };
	if (!old || before->groups.version != now->groups.version ||
	    now->time_ns <= before->time_ns ||
	    !machine_look_change(memory_group_hard_use(old), memory_group_hard_use(group), &change))
		return;
	ret->known = true;
	ret->rate = (double)change * 1e9 / (double)(now->time_ns - before->time_ns);
	ret->fills = change > 0 && kernel_is_number(left);
	if (ret->fills)
		ret->seconds = (double)left / ret->rate;
}
