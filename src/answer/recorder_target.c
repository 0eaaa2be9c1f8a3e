/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Describes the process of a session for a recording. */

#include "answer/recorder_target.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/trace.h"
#include "os/memory_groups.h"
#include "os/procfs.h"
#include "session/session.h"

static void read_word(const char *path, char *ret, size_t room)
{
	FILE *file = fopen(path, "re");

	*ret = '\0';
	if (!file)
		return;
	if (fgets(ret, (int)room, file))
		ret[strcspn(ret, "\n")] = '\0';
	fclose(file);
}

/* The words of the command line, with blanks between them. */
static char *command_line(pid_t pid)
{
	size_t len = 0;
	char *text = NULL;

	if (procfs_file(pid, "cmdline", &text, &len))
		return NULL;
	for (size_t i = 0; i + 1 < len; i++)
		if (!text[i])
			text[i] = ' ';
	return text;
}

static struct err *first_build_id(void *ctx, const struct symbol_file *file)
{
	struct str *to = ctx;

	return to->at ? NULL : str_add(to, file->build_id);
}

/* The path of its memory's control group. */
static void find_group(pid_t pid, char ret[MEMORY_GROUP_PATH])
{
	size_t len;
	char *text;

	*ret = '\0';
	if (procfs_file(pid, "cgroup", &text, &len))
		return;
	memory_groups_parse(text, ret);
	free(text);
}

struct err *recorder_target_number(struct session *session, struct record_names *names, uint32_t *ret)
{
	struct record_target target = { .pid = session_pid(session) };
	char boot[64], host[256] = "", group[MEMORY_GROUP_PATH];
	AUTO_FREE char *program = NULL, *command = command_line(target.pid);
	AUTO_STR struct str build_id = STR_INIT;
	struct proc_status status = { .pid = 0 };
	struct proc_stat stat;
	struct err *err;

	if (!procfs_stat(target.pid, &stat))
		target.start = stat.start_time;
	if (procfs_status(target.pid, &status) || procfs_link(target.pid, "exe", &program))
		trace_line("record: process %d is not to be read", target.pid);
	read_word("/proc/sys/kernel/random/boot_id", boot, sizeof(boot));
	gethostname(host, sizeof(host) - 1);
	find_group(target.pid, group);
	err = symbol_file_each(session_symbols(session), first_build_id, &build_id);
	if (err)
		return err;
	const struct { const char *text; uint32_t *ret; } texts[] = {
		{ boot, &target.boot }, { host, &target.host }, { status.name.bytes, &target.name },
		{ command, &target.command }, { program, &target.program },
		{ build_id.at, &target.build_id }, { group, &target.group },
		{ session_allocator(session), &target.allocator },
	};
	for (size_t i = 0; !err && i < ARRAY_SIZE(texts); i++)
		err = record_names_string(names, texts[i].text, texts[i].ret);
	return err ? err : record_names_target(names, &target, ret);
}
