/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The processes of a service (theory in service.h). */

#include "growth/service.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "os/kernel_text.h"
#include "os/machine/machine_family.h"
#include "os/procfs.h"

#define LEAST_MEMBERS	3u
#define NORMAL		1.4826

static uint64_t size_of(const struct service *service, const struct service_member *member)
{
	return service->private ? member->private + member->swap : member->resident;
}

static struct err *add_members(const struct machine_holders *processes, struct service *to)
{
	struct err *err = NULL;

	vec_each_while(process, &processes->vec, !err) {
		struct service_member member = {
			.pid = process->pid, .start_time = process->start_time,
			.name = process->name, .resident = process->bytes, .pss = process->pss,
			.private = process->private, .swap = process->swap,
		};

		if (process->stranger)
			continue;
		if (!kernel_is_number(member.private) || !kernel_is_number(member.swap))
			to->unread++;
		err = vec_push(&to->vec, member);
	}
	to->private = !to->unread;
	vec_each(member, &to->vec)
		member->size = size_of(to, member);
	return err;
}

/* Those of the first one's groups that a process is in, too, begin there or further up. */
static size_t common_from(const struct memory_groups *all, pid_t pid, size_t from)
{
	struct memory_groups groups;
	struct err *err = memory_groups_read(pid, &groups);

	if (err) {
		err_ignore(err);	/* it has ended */
		return from;
	}
	while (from < all->vec.nr && groups.vec.nr &&
	       !memory_groups_below(groups.vec.at[0].path, all->vec.at[from].path))
		from++;
	memory_groups_free(&groups);
	return from;
}

static void read_groups(struct service *service)
{
	struct err *err = memory_groups_read(service->vec.at[0].pid, &service->groups);

	if (err) {
		err_ignore(err);
		service->groups = (struct memory_groups){ .vec = VEC_INIT };
		return;
	}
	for (size_t i = 1; i < service->vec.nr; i++)
		service->common = common_from(&service->groups, service->vec.at[i].pid,
					      service->common);
}

struct err *service_look(const char *proc, const char *what, struct service *ret)
{
	struct machine_holders processes = { .vec = VEC_INIT };
	struct service service = { .what = strdup(what), .vec = VEC_INIT };
	struct err *err = service.what ? machine_holder_processes(proc, &processes) : err_nomem;

	service.time_ns = procfs_clock(CLOCK_MONOTONIC);
	if (!err) {
		machine_family_service(proc, what, &processes);
		err = add_members(&processes, &service);
	}
	vec_free(&processes.vec);
	if (!err && !service.vec.nr)
		err = err_hint(err_create(ERR_NOTFOUND, "no process of this name, and none in such a "
					  "control group: %s", what),
			       "a group is named by its path, as in /proc/PID/cgroup");
	if (err) {
		service_free(&service);
		return err;
	}
	read_groups(&service);
	*ret = service;
	return NULL;
}

void service_free(struct service *service)
{
	free(service->what);
	vec_free(&service->vec);
	memory_groups_free(&service->groups);
	*service = (struct service){ .what = NULL };
}

static const struct service_member *find(const struct service *in, const struct service_member *is)
{
	size_t at = LOWER_BOUND(i, 0, in->vec.nr, in->vec.at[i].pid < is->pid);

	return at < in->vec.nr && in->vec.at[at].pid == is->pid &&
	       in->vec.at[at].start_time == is->start_time ? &in->vec.at[at] : NULL;
}

/* Both looks are compared by what both know. */
static void find_growth(const struct service *before, struct service *now)
{
	bool private = before->private && now->private;

	now->interval_ns = now->time_ns - before->time_ns;
	vec_each(member, &now->vec) {
		const struct service_member *was = find(before, member);
		uint64_t from = !was ? 0 : private ? was->private + was->swap : was->resident;
		uint64_t to = private ? member->private + member->swap : member->resident;

		member->stayed = was;
		if (was) {
			member->growth = (int64_t)(to - from);
			now->growth += member->growth;
		} else {
			now->came++;
			now->came_bytes += to;
		}
	}
	vec_each(was, &before->vec)
		if (!find(now, was)) {
			now->gone++;
			now->gone_bytes += private ? was->private + was->swap : was->resident;
		}
}

COMPARE_BY(compare_reals, double, x, *x)

static double median_of(double *at, size_t nr)
{
	qsort(at, nr, sizeof(*at), compare_reals);
	return nr % 2 ? at[nr / 2] : (at[nr / 2 - 1] + at[nr / 2]) / 2;
}

struct measure {
	double median, apart;
};

/* value is sorted afterwards, and overwritten by distances. */
static struct measure measure_of(double *value, size_t nr, double least, double part)
{
	struct measure is = { .median = median_of(value, nr) };
	double floor = MAX(least, part * is.median);

	for (size_t i = 0; i < nr; i++)
		value[i] = value[i] < is.median ? is.median - value[i] : value[i] - is.median;
	is.apart = MAX(NORMAL * median_of(value, nr), floor);
	return is;
}

static struct err *score_sizes(struct service *service)
{
	size_t nr = service->vec.nr;
	AUTO_FREE double *value = calloc(nr, sizeof(*value));
	struct measure is;

	if (!value)
		return err_nomem;
	for (size_t i = 0; i < nr; i++)
		value[i] = (double)service->vec.at[i].size;
	is = measure_of(value, nr, SIZE_LEAST, 0.05);
	service->median = (uint64_t)is.median;
	vec_each(member, &service->vec)
		member->by_size = ((double)member->size - is.median) / is.apart;
	return NULL;
}

static struct err *score_growth(struct service *service)
{
	AUTO_FREE double *value = calloc(service->vec.nr, sizeof(*value));
	struct measure is;
	size_t nr = 0;

	if (!value)
		return err_nomem;
	vec_each(member, &service->vec)
		if (member->stayed)
			value[nr++] = (double)member->growth;
	if (nr < LEAST_MEMBERS)
		return NULL;
	is = measure_of(value, nr, GROWTH_LEAST, 0);
	service->median_growth = (int64_t)is.median;
	vec_each(member, &service->vec)
		if (member->stayed && member->growth > 0)
			member->by_growth = ((double)member->growth - is.median) / is.apart;
	return NULL;
}

static double score(const struct service_member *member, bool growth)
{
	return growth ? member->by_growth : member->by_size;
}

static void choose(struct service *service, bool growth)
{
	vec_each(member, &service->vec) {
		if (score(member, growth) <= OUTLIER_TIMES)
			continue;
		service->outliers++;
		if (!service->outlier || score(member, growth) > score(service->outlier, growth))
			service->outlier = member;
	}
	service->grows = growth && service->outlier;
}

struct err *service_compare(const struct service *before, struct service *now)
{
	struct err *err = NULL;

	if (before)
		find_growth(before, now);
	if (now->vec.nr < LEAST_MEMBERS)
		return NULL;
	err = score_sizes(now);
	if (!err && before)
		err = score_growth(now);
	if (err)
		return err;
	choose(now, true);
	if (!now->outlier)
		choose(now, false);
	return NULL;
}
