/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds the machine's processes by name. */

#include "os/processes.h"

#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "os/procfs.h"

static bool runs_program(pid_t pid, const char *name)
{
	AUTO_FREE char *path = NULL;

	if (procfs_link(pid, "exe", &path))
		return false;
	path_cut_deleted(path);
	return !strcmp(path_base(path), name);
}

/* A process that ends meanwhile is left out. */
static struct err *add(pid_t pid, const char *name, struct process_names *names)
{
	struct process_name found = { .pid = pid };
	struct proc_status status;

	if (pid == getpid() || procfs_status(pid, &status) || !status.has_vm)
		return NULL;
	found.name = status.name;
	if (name && strcmp(found.name.bytes, name) && !runs_program(pid, name))
		return NULL;
	return vec_push(&names->vec, found);
}

struct err *processes_named(const char *name, struct process_names *ret)
{
	struct process_names names = { VEC_INIT };
	struct proc_tasks pids;
	struct err *err = procfs_numbers("/proc", &pids);

	if (err)
		return err;
	for (size_t i = 0; i < pids.vec.nr && !err; i++)
		err = add(pids.vec.at[i], name, &names);
	vec_free(&pids.vec);
	if (err) {
		vec_free(&names.vec);
		return err;
	}
	*ret = names;
	return NULL;
}
