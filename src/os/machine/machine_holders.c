/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads what holds the machine's memory: the resident size of each process, which /proc/PID/stat
 * has with the name in one read, and the slab caches of /proc/slabinfo.
 */

#include <stdio.h>

#include "base/cleanup.h"
#include "os/machine/machine.h"
#include "os/procparse.h"

/* "1234 (name) S ...": the kernel writes the name as it is, and it may have any byte. */
static void take_name(const char *text, struct outside_name *ret)
{
	const char *from = strchr(text, '('), *to = strrchr(text, ')');
	size_t len = from && to > from ? (size_t)(to - from) - 1 : 0;

	len = MIN(len, sizeof(ret->bytes) - 1);
	if (len)
		memcpy(ret->bytes, from + 1, len);
	ret->bytes[len] = '\0';
}

static struct err *add(const char *proc, pid_t pid, uint64_t page, struct machine_holders *to)
{
	struct machine_holder process = {
		.pid = pid, .private = KERNEL_UNKNOWN, .pss = KERNEL_UNKNOWN,
		.swap = KERNEL_UNKNOWN,
	};
	AUTO_FREE char *text = NULL;
	struct proc_stat stat;
	char path[4096];

	snprintf(path, sizeof(path), "%s/%d/stat", proc, pid);
	if (kernel_text(path, &text) || procparse_stat(text, &stat) || stat.state == 'Z' ||
	    stat.flags & PROC_KERNEL_THREAD || stat.rss_pages > UINT64_MAX / 2 / page)
		return NULL;
	process.start_time = stat.start_time;
	process.parent = stat.ppid;
	process.bytes = stat.rss_pages * page;
	take_name(text, &process.name);
	return vec_push(&to->vec, process);
}

struct err *machine_holder_processes(const char *proc, struct machine_holders *ret)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	struct machine_holders processes = { .vec = VEC_INIT };
	struct proc_tasks pids = { VEC_INIT };
	struct err *err = procfs_numbers(proc, &pids);

	for (size_t i = 0; !err && i < pids.vec.nr; i++)
		err = add(proc, pids.vec.at[i], page, &processes);
	vec_free(&pids.vec);
	if (err) {
		vec_free(&processes.vec);
		return err;
	}
	processes.known = true;
	*ret = processes;
	return NULL;
}

static int compare_names(const void *left, const void *right)
{
	const struct machine_holder *a = left, *b = right;

	return strcmp(a->name.bytes, b->name.bytes);
}

/*
 * "NAME ACTIVE OBJECTS SIZE PERSLAB PAGESPERSLAB : tunables … : slabdata ACTIVE SLABS SHARED". A
 * module may have given its cache a name with blanks, so the numbers are counted from the colons.
 */
static bool parse_cache(char *line, uint64_t page, struct machine_holder *ret)
{
	char *tunables = strstr(line, " : tunables "), *slabs = strstr(line, " : slabdata ");
	unsigned long long active, pages, nr_slabs;
	char *at = tunables;

	if (!tunables || !slabs || slabs < tunables)
		return false;
	*tunables = '\0';
	for (unsigned numbers = 0; at > line && numbers < 5; numbers++) {
		while (at > line && at[-1] == ' ')
			at--;
		while (at > line && at[-1] >= '0' && at[-1] <= '9')
			at--;
	}
	if (at == line || at[-1] != ' ' ||
	    sscanf(at, "%llu %*u %*u %*u %llu", &active, &pages) != 2 ||
	    sscanf(slabs, " : slabdata %*u %llu", &nr_slabs) != 1 ||
	    __builtin_mul_overflow(pages, page, &ret->bytes) ||
	    __builtin_mul_overflow(ret->bytes, nr_slabs, &ret->bytes))
		return false;
	while (at > line && at[-1] == ' ')
		*--at = '\0';
	ret->objects = active;
	snprintf(ret->name.bytes, sizeof(ret->name.bytes), "%s", line);
	return at > line;
}

struct err *machine_holder_caches(const char *proc, struct machine_holders *ret)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	struct machine_holders caches = { .vec = VEC_INIT };
	AUTO_FREE char *text = NULL;
	struct err *err = NULL;
	char path[4096], *line, *rest;

	*ret = caches;
	snprintf(path, sizeof(path), "%s/slabinfo", proc);
	err = kernel_text(path, &text);
	if (err)
		return err;
	for (rest = text; !err && (line = strsep(&rest, "\n"));) {
		struct machine_holder cache = { .pid = 0 };

		if (parse_cache(line, page, &cache))
			err = vec_push(&caches.vec, cache);
	}
	if (err) {
		vec_free(&caches.vec);
		return err;
	}
	vec_sort(&caches.vec, compare_names);
	caches.known = true;
	*ret = caches;
	return NULL;
}

static bool goes_before(const struct machine_holder *a, const struct machine_holder *b)
{
	return a->pid || b->pid ? a->pid < b->pid : compare_names(a, b) < 0;
}

const struct machine_holder *machine_holder_find(const struct machine_holders *holders,
						 const struct machine_holder *is)
{
	size_t at = LOWER_BOUND(i, 0, holders->vec.nr, goes_before(&holders->vec.at[i], is));

	if (at == holders->vec.nr || goes_before(is, &holders->vec.at[at]) ||
	    holders->vec.at[at].start_time != is->start_time)
		return NULL;
	return &holders->vec.at[at];
}
