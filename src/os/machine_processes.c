/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads the resident size of each process. /proc/PID/stat has it with the name, in one read. */

#include <stdio.h>

#include "base/cleanup.h"
#include "os/machine.h"
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

static struct err *add(const char *proc, pid_t pid, uint64_t page, struct machine_processes *to)
{
	struct machine_process process = { .pid = pid };
	AUTO_FREE char *text = NULL;
	struct proc_stat stat;
	char path[4096];

	snprintf(path, sizeof(path), "%s/%d/stat", proc, pid);
	if (kernel_text(path, &text) || procparse_stat(text, &stat) || stat.state == 'Z' ||
	    stat.flags & PROC_KERNEL_THREAD || stat.rss_pages > UINT64_MAX / 2 / page)
		return NULL;
	process.start_time = stat.start_time;
	process.resident = stat.rss_pages * page;
	take_name(text, &process.name);
	return vec_push(&to->vec, process);
}

struct err *machine_processes(const char *proc, struct machine_processes *ret)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	struct machine_processes processes = { VEC_INIT };
	struct proc_tasks pids = { VEC_INIT };
	struct err *err = procfs_numbers(proc, &pids);

	for (size_t i = 0; !err && i < pids.vec.nr; i++)
		err = add(proc, pids.vec.at[i], page, &processes);
	vec_free(&pids.vec);
	if (err) {
		vec_free(&processes.vec);
		return err;
	}
	*ret = processes;
	return NULL;
}

const struct machine_process *machine_process_find(const struct machine_processes *processes,
						   const struct machine_process *is)
{
	size_t at = LOWER_BOUND(i, 0, processes->vec.nr, processes->vec.at[i].pid < is->pid);

	if (at == processes->vec.nr || processes->vec.at[at].pid != is->pid ||
	    processes->vec.at[at].start_time != is->start_time)
		return NULL;
	return &processes->vec.at[at];
}
