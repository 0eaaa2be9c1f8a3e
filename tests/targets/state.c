/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * state [-a] [-t] PID: all of a process that must be the same after a detach as before the attach.
 *
 * Prints, one fact a line: tracer, stop state and blocked signals of every thread; ignored and caught signals; the
 * descriptors and what they are; the mappings; a hash of the text of every executable mapping.
 *
 * Mappings that a target grows by itself are left out, so that a busy one can be compared: private anonymous memory
 * that is not executable (arenas, stacks, big blocks), and [heap]. With -a (the target stands still) they are all printed
 * but for [heap]. [uprobes] is the kernel's, which maps it at the first hit of a uprobe and never unmaps it: it is left
 * out. With -t threads come and go: only whether any thread is traced or stopped is printed.
 */
#include "target.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>

static int pid;

static int by_number(const struct dirent **a, const struct dirent **b)
{
	return atoi((*a)->d_name) - atoi((*b)->d_name);
}

static int not_dot(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

/* Print the wanted lines of a status file, joined, after what. The stop state is told without the run states. */
static void print_status(const char *what, const char *path, const char *const *wanted)
{
	FILE *file = fopen(path, "re");
	char line[512];
	size_t i;

	if (!file)
		return;
	printf("%s", what);
	while (fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		if (strncmp(line, "State:\t", 7) == 0)
			printf(" %s", line[7] == 'T' ? "stopped" : line[7] == 't' ? "trace-stopped" : "going");
		for (i = 0; wanted[i]; i++)
			if (strncmp(line, wanted[i], strlen(wanted[i])) == 0)
				printf(" %s", line);
	}
	printf("\n");
	fclose(file);
}

static void print_threads(bool summary)
{
	static const char *const facts[] = { "TracerPid:", "SigBlk:", "Seccomp:", NULL };
	static const char *const tracer[] = { "TracerPid:", NULL };
	char path[PATH_MAX], what[NAME_MAX + 8];
	struct dirent **entry;
	int i, n;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	n = scandir(path, &entry, not_dot, by_number);
	for (i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "/proc/%d/task/%s/status", pid, entry[i]->d_name);
		snprintf(what, sizeof(what), "thread %s", entry[i]->d_name);
		if (!summary)
			print_status(what, path, facts);
		else if (atoi(entry[i]->d_name) == pid)
			print_status(what, path, tracer);
		free(entry[i]);
	}
	if (n >= 0)
		free(entry);
}

static void print_process(void)
{
	static const char *const facts[] = { "SigIgn:", "SigCgt:", NULL };
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	print_status("process", path, facts);
}

static void print_descriptors(void)
{
	char path[PATH_MAX], link[PATH_MAX];
	struct dirent **entry;
	int i, n;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	n = scandir(path, &entry, not_dot, by_number);
	for (i = 0; i < n; i++) {
		ssize_t len;

		snprintf(path, sizeof(path), "/proc/%d/fd/%s", pid, entry[i]->d_name);
		len = readlink(path, link, sizeof(link) - 1);
		if (len >= 0)
			printf("fd %s %.*s\n", entry[i]->d_name, (int)len, link);
		free(entry[i]);
	}
	if (n >= 0)
		free(entry);
}

/* FNV-1a over target memory. */
static uint64_t hash_memory(int mem, uint64_t start, uint64_t end, bool *bad)
{
	static unsigned char buffer[1 << 16];
	uint64_t hash = 0xcbf29ce484222325ull;

	while (start < end) {
		size_t len = end - start < sizeof(buffer) ? end - start : sizeof(buffer), i;

		if (pread(mem, buffer, len, (off_t)start) != (ssize_t)len) {
			*bad = true;
			break;
		}
		for (i = 0; i < len; i++)
			hash = (hash ^ buffer[i]) * 0x100000001b3ull;
		start += len;
	}
	return hash;
}

static void print_mapping(const char *line, int mem, bool all)
{
	uint64_t start, end, inode;
	int name_at = 0;
	char perms[5];
	const char *name;
	bool own, bad = false;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %*s %*s %" SCNu64 " %n", &start, &end, perms, &inode, &name_at) < 4)
		return;
	name = line + name_at;
	if (strcmp(name, "[uprobes]") == 0)
		return;
	own = inode == 0 && perms[2] != 'x' && perms[3] == 'p' &&
	      (name[0] == '\0' || strncmp(name, "[stack", 6) == 0 || strncmp(name, "[anon", 5) == 0);
	if (strncmp(name, "[heap]", 6) != 0 && (all || !own))
		printf("map %s\n", line);
	if (perms[2] == 'x' && strncmp(name, "[vsyscall]", 10) != 0) {
		uint64_t hash = hash_memory(mem, start, end, &bad);

		printf("text %" PRIx64 "-%" PRIx64 " %016" PRIx64 "%s\n", start, end, hash, bad ? " unreadable" : "");
	}
}

static bool print_mappings(bool all)
{
	char path[64], *line = NULL;
	size_t room = 0;
	FILE *maps;
	int mem;

	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	mem = open(path, O_RDONLY | O_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	maps = fopen(path, "re");
	if (mem < 0 || !maps) {
		fprintf(stderr, "state: %d: %s\n", pid, strerror(errno));
		return false;
	}
	while (getline(&line, &room, maps) > 0) {
		line[strcspn(line, "\n")] = '\0';
		print_mapping(line, mem, all);
	}
	free(line);
	fclose(maps);
	close(mem);
	return true;
}

int main(int argc, char **argv)
{
	bool all = false, summary = false;
	int opt;

	while ((opt = getopt(argc, argv, "at")) != -1) {
		if (opt == 'a')
			all = true;
		else if (opt == 't')
			summary = true;
		else
			return 2;
	}
	if (optind != argc - 1)
		return 2;
	pid = atoi(argv[optind]);
	print_threads(summary);
	print_process();
	print_descriptors();
	return print_mappings(all) ? 0 : 1;
}
