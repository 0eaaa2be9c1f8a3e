/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The processes of a service, beside one another: what each holds, by how much it has grown between
 * two looks, and which of them is not as the others are.
 *
 * Nothing is done to a process: its figures are those of /proc/PID/stat and smaps_rollup. A process
 * whose smaps_rollup may not be read has resident memory alone. Then the resident memory of all is
 * compared, else what is private to each, in memory and in swap.
 *
 * Who is not as the others. Of the sizes of all, the median is what is usual, and the median of the
 * distances from it how far apart usual ones are, which one process, or a third of them, cannot
 * change. One that is more than OUTLIER_TIMES as far above the median is an outlier. How far apart is
 * 1.4826 times the median distance (the standard deviation, if they were normally distributed), but
 * at least a twentieth of the median and SIZE_LEAST: twins of the same size would make outliers of a
 * page. The same rule finds who grows, by the growth between two looks; it needs no twentieth, and
 * GROWTH_LEAST for what processes take and give back all the time. Growth says more than size: who
 * grows is named first. Of fewer than three processes nobody is an outlier.
 *
 * What comes and goes. A process is known by its id and the time of its start. Growth is that of
 * processes that are in both looks. Those that came hold what they hold, those that went held what
 * they held: the change of the sum is the growth of those that stayed, and what came, less what went.
 */
#pragma once

#include "os/machine/machine.h"
#include "os/memory_groups.h"

#define OUTLIER_TIMES	5
#define SIZE_LEAST	(256u << 10)
#define GROWTH_LEAST	(32u << 10)

struct service_member {
	pid_t pid;
	uint64_t start_time;
	struct outside_name name;
	/* Bytes; KERNEL_UNKNOWN: they may not be read. */
	uint64_t resident, pss, private, swap;
	uint64_t size;			/* that is compared */
	bool stayed;			/* it is in the look before, and growth is known */
	int64_t growth;			/* of size */
	/* How far it is above the others; 1 is as far as usual ones are apart. */
	double by_size, by_growth;
};

struct service {
	char *what;			/* as the user has named it */
	uint64_t time_ns;		/* by the monotonic clock */
	VEC(struct service_member) vec;	/* in order of pid */
	bool private;			/* size is private memory and swap; else resident memory */
	size_t unread;			/* processes whose smaps_rollup may not be read */
	struct memory_groups groups;	/* of the first one; those that all are in, from `common` on */
	size_t common;
	/* By service_compare; 0, 0, … without a look before. */
	uint64_t interval_ns;
	size_t came, gone;
	uint64_t came_bytes, gone_bytes;
	int64_t growth;			/* of those that stayed */
	const struct service_member *outlier;	/* NULL: none */
	bool grows;			/* it is one by growth; else by size */
	size_t outliers;		/* by the same measure */
	uint64_t median;		/* of sizes */
	int64_t median_growth;
};

/* Take a look (os/machine/machine_family.h). ERR_NOTFOUND: there is no such process or group. */
struct err *service_look(const char *proc, const char *what, struct service *ret) MUST_CHECK;
/* Find the growth since an earlier look (NULL: there is none), and the outlier. */
struct err *service_compare(const struct service *before, struct service *now) MUST_CHECK;
/* It may be called on zeros. */
void service_free(struct service *service);
