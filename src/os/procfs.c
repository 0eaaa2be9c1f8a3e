/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads files of /proc; procparse.c parses their texts. */

#include "os/procfs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/stat.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "os/procparse.h"

#define PROC_PATH_MAX	96	/* "/proc/TID/task/TID/" and a name that mdbg chooses */
#define READ_STEP	16384

static struct err *gone(pid_t tid)
{
	struct err *err = err_create(ERR_GONE, "process %d has ended", tid);

	err->errnum = ESRCH;
	return err;
}

/* Turn errno into an err: after ENOENT, either the thread or only the file does not exist. */
static struct err *failed(pid_t tid, const char *name)
{
	int errnum = errno;
	char dir[PROC_PATH_MAX];

	snprintf(dir, sizeof(dir), "/proc/%d", tid);
	if (errnum == ESRCH || (errnum == ENOENT && access(dir, F_OK)))
		return gone(tid);
	if (errnum == ENOENT)
		return err_create(ERR_NOTFOUND, "%s/%s: no such file", dir, name);
	errno = errnum;
	return err_sys("%s/%s", dir, name);
}

/* Read to the end, however long the file is; errno is set on failure. */
static struct err *read_all(int fd, struct str *str, bool *failed_ret)
{
	for (;;) {
		char step[READ_STEP];
		ssize_t got = read(fd, step, sizeof(step));
		struct err *err;

		*failed_ret = got < 0 && errno != EINTR;
		if (*failed_ret || !got)
			return NULL;
		if (got < 0)
			continue;
		err = str_add_bytes(str, step, (size_t)got);
		if (err)
			return err;
	}
}

int procfs_open(pid_t tid, const char *name, int flags)
{
	char path[PROC_PATH_MAX];

	snprintf(path, sizeof(path), "/proc/%d/%s", tid, name);
	return open(path, flags | O_CLOEXEC);
}

struct err *procfs_file(pid_t tid, const char *name, char **ret, size_t *len_ret)
{
	AUTO_STR struct str str = STR_INIT;
	AUTO_CLOSE int fd = procfs_open(tid, name, O_RDONLY);
	bool read_failed;
	struct err *err;

	if (fd < 0)
		return failed(tid, name);
	err = str_add(&str, "");	/* an empty file gives a text, too */
	if (!err)
		err = read_all(fd, &str, &read_failed);
	if (err)
		return err;
	if (read_failed)
		return failed(tid, name);
	if (len_ret)
		*len_ret = str.len;
	*ret = take(str.at);
	return NULL;
}

/* Define a function that reads a file of /proc/TID and parses its text. */
#define PARSED(function, type, name, parse) \
	struct err *function(pid_t tid, type *ret) \
	{ \
		AUTO_FREE char *text = NULL; \
		struct err *err = procfs_file(tid, name, &text, NULL); \
\
		return err ? err : parse(text, ret); \
	}

PARSED(procfs_status, struct proc_status, "status", procparse_status)
PARSED(procfs_stat, struct proc_stat, "stat", procparse_stat)

static bool reads_imply_exec(pid_t tid)
{
	AUTO_FREE char *text = NULL;
	struct err *err = procfs_file(tid, "personality", &text, NULL);

	return !err && strtoul(text, NULL, 16) & READ_IMPLIES_EXEC;
}

/* Few processes have memory that shows it, so that the others need not be asked. */
static void note_implied(pid_t tid, struct proc_maps *maps)
{
	bool asked = false;

	vec_each_while(map, &maps->vec, !asked)
		asked = map->exec && (map->write || map->shared);
	if (!asked || !reads_imply_exec(tid))
		return;
	vec_each(map, &maps->vec)
		map->exec_implied = map->exec && map->read;
}

struct err *procfs_maps(pid_t tid, struct proc_maps *ret)
{
	AUTO_FREE char *text = NULL;
	struct err *err = procfs_file(tid, "maps", &text, NULL);

	if (!err)
		err = procparse_maps(text, ret);
	if (!err)
		note_implied(tid, ret);
	return err;
}

struct err *procfs_maps_again(int fd, struct proc_maps *ret)
{
	AUTO_STR struct str str = STR_INIT;
	struct err *err = lseek(fd, 0, SEEK_SET) ? err_sys("maps") : str_add(&str, "");
	bool read_failed;

	if (!err)
		err = read_all(fd, &str, &read_failed);
	if (!err && read_failed)
		err = err_sys("maps");
	return err ? err : procparse_maps(str.at, ret);
}

/* The inode of the first PID namespace (PROC_PID_INIT_INO). */
#define FIRST_NAMESPACE	0xeffffffcu

bool procfs_sees_all(void)
{
	struct stat st;

	return !stat("/proc/self/ns/pid", &st) && st.st_ino == FIRST_NAMESPACE;
}

struct err *procfs_task_stat(pid_t pid, pid_t tid, struct proc_stat *ret)
{
	AUTO_FREE char *text = NULL;
	char name[PROC_PATH_MAX];
	struct err *err;

	snprintf(name, sizeof(name), "task/%d/stat", tid);
	err = procfs_file(pid, name, &text, NULL);
	return err ? err : procparse_stat(text, ret);
}

/* <linux/fs.h> of Linux 6.11. */
struct query {
	uint64_t size, flags, address, start, end, vma_flags, page_size, offset, inode;
	uint32_t dev_major, dev_minor, name_size, build_id_size;
	uint64_t name, build_id;
};

#define QUERY_VMA	_IOWR('f', 17, struct query)
#define OR_NEXT		0x10u

static struct err *add_queried(const struct query *query, const char *name, struct proc_maps *maps)
{
	struct proc_map map = {
		.start = query->start, .end = query->end, .offset = query->offset,
		.inode = query->inode, .dev_major = query->dev_major,
		.dev_minor = query->dev_minor,
		.read = query->vma_flags & 1, .write = query->vma_flags & 2,
		.exec = query->vma_flags & 4, .shared = query->vma_flags & 8,
		.path = strdup(query->name_size ? name : ""),
	};
	struct err *err = map.path ? vec_push(&maps->vec, map) : err_nomem;

	if (err)
		free(map.path);
	else
		maps->vec.at[maps->vec.nr - 1].deleted = path_cut_deleted(map.path);
	return err;
}

/* *known_ret: the kernel can be asked so. */
static struct err *query_maps(int fd, uint64_t start, uint64_t end, struct proc_maps *maps,
			      bool *known_ret)
{
	AUTO_FREE char *name = malloc(PATH_MAX);
	struct err *err = name ? NULL : err_nomem;

	*known_ret = true;
	while (!err && start < end) {
		struct query query = { .size = sizeof(query), .flags = OR_NEXT, .address = start,
				       .name = (uintptr_t)name, .name_size = PATH_MAX };

		if (ioctl(fd, QUERY_VMA, &query)) {
			*known_ret = errno == ENOENT;		/* nothing more is mapped */
			return NULL;
		}
		if (query.start >= end)
			return NULL;
		err = add_queried(&query, name, maps);
		start = query.end;
	}
	return err;
}

struct err *procfs_maps_at(pid_t tid, uint64_t start, uint64_t end, struct proc_maps *ret,
			   bool *all_ret)
{
	CLEANUP(procparse_maps_free) struct proc_maps maps = { VEC_INIT };
	AUTO_CLOSE int fd = procfs_open(tid, "maps", O_RDONLY);
	bool known;
	struct err *err;

	if (fd < 0)
		return failed(tid, "maps");
	err = query_maps(fd, start, end, &maps, &known);
	if (err)
		return err;
	*all_ret = !known;
	if (!known)
		return procfs_maps(tid, ret);
	note_implied(tid, &maps);
	*ret = maps;
	maps = (struct proc_maps){ VEC_INIT };
	return NULL;
}

/*
 * The link count of the folder: one for each thread, one for its name, and one for its own `.`
 * (proc_task_getattr).
 */
struct err *procfs_nr_threads(pid_t tid, uint32_t *ret)
{
	char path[PROC_PATH_MAX];
	struct stat stat_buf;

	snprintf(path, sizeof(path), "/proc/%d/task", tid);
	if (stat(path, &stat_buf) < 0)
		return failed(tid, "task");
	if (stat_buf.st_nlink < 3)
		return err_create(ERR_FORMAT, "%s does not tell the number of threads", path);
	*ret = (uint32_t)stat_buf.st_nlink - 2;
	return NULL;
}

struct err *procfs_runs(pid_t tid, uint64_t *ret)
{
	AUTO_FREE char *text = NULL;
	struct err *err = procfs_file(tid, "schedstat", &text, NULL);

	if (!err && sscanf(text, "%*u %*u %" SCNu64, ret) != 1)
		*ret = 0;
	return err;
}

struct err *procfs_ran(pid_t tid, uint64_t *ret)
{
	AUTO_FREE char *text = NULL;
	struct err *err = procfs_file(tid, "schedstat", &text, NULL);

	if (!err && sscanf(text, "%" SCNu64, ret) != 1)
		*ret = 0;
	return err;
}

struct err *procfs_rss(pid_t tid, uint64_t *ret)
{
	AUTO_FREE char *text = NULL;
	uint64_t pages;
	struct err *err = procfs_file(tid, "statm", &text, NULL);

	if (!err && sscanf(text, "%*u %" SCNu64, &pages) != 1)
		return err_create(ERR_FORMAT, "/proc/%d/statm has no resident pages", tid);
	if (!err)
		*ret = pages * (uint64_t)sysconf(_SC_PAGESIZE);
	return err;
}

struct err *procfs_syscall(pid_t tid, long *ret)
{
	AUTO_FREE char *text = NULL;
	struct err *err = procfs_file(tid, "syscall", &text, NULL);

	if (!err && sscanf(text, "%ld", ret) != 1)
		*ret = -1;
	return err;
}

/* "NUMBER A1 A2 A3 A4 A5 A6 SP PC", "-1 SP PC" in no call, or "running". */
struct err *procfs_stack_pointer(pid_t tid, uint64_t *ret)
{
	AUTO_FREE char *text = NULL;
	struct err *err = procfs_file(tid, "syscall", &text, NULL);

	if (!err && sscanf(text, "%*d %*x %*x %*x %*x %*x %*x %" SCNx64 " %*x", ret) != 1 &&
	    sscanf(text, "-1 %" SCNx64 " %*x", ret) != 1)
		*ret = 0;
	return err;
}

COMPARE_BY(compare_pids, pid_t, x, *x)

struct err *procfs_numbers(const char *path, struct proc_tasks *ret)
{
	struct proc_tasks tasks = { VEC_INIT };
	struct dirent *entry;
	struct err *err = NULL;
	DIR *dir = opendir(path);

	if (!dir)
		return err_sys("%s", path);
	while (!err && (entry = readdir(dir)))
		if (*entry->d_name >= '0' && *entry->d_name <= '9')
			err = vec_push(&tasks.vec, (pid_t)strtol(entry->d_name, NULL, 10));
	closedir(dir);
	if (err) {
		vec_free(&tasks.vec);
		return err;
	}
	vec_sort(&tasks.vec, compare_pids);
	*ret = tasks;
	return NULL;
}

struct err *procfs_tasks(pid_t tid, struct proc_tasks *ret)
{
	char path[PROC_PATH_MAX];
	struct err *err;

	snprintf(path, sizeof(path), "/proc/%d/task", tid);
	err = procfs_numbers(path, ret);
	if (err && err->errnum) {
		errno = err->errnum;
		return failed(tid, "task");
	}
	/*
	 * If a process ends while its folder is read, the folder is empty or cannot be read
	 * further.
	 */
	return err || ret->vec.nr ? err : gone(tid);
}

struct err *procfs_link(pid_t tid, const char *name, char **ret)
{
	char path[PROC_PATH_MAX];
	size_t room = 256;

	snprintf(path, sizeof(path), "/proc/%d/%s", tid, name);
	for (;; room *= 2) {
		AUTO_FREE char *text = malloc(room);
		ssize_t len;

		if (!text)
			return err_nomem;
		len = readlink(path, text, room);
		if (len < 0)
			return failed(tid, name);
		if ((size_t)len < room) {
			text[len] = '\0';
			*ret = take(text);
			return NULL;
		}
	}
}

struct err *procfs_auxv(pid_t tid, uint64_t type, uint64_t *ret)
{
	AUTO_FREE char *bytes = NULL;
	size_t len;
	struct err *err = procfs_file(tid, "auxv", &bytes, &len);

	if (!err)
		err = procparse_auxv(bytes, len, type, ret);
	return err;
}

struct err *procfs_children(pid_t tid, struct proc_tasks *ret)
{
	AUTO_FREE char *text = NULL;
	char name[PROC_PATH_MAX];
	struct err *err;

	snprintf(name, sizeof(name), "task/%d/children", tid);
	err = procfs_file(tid, name, &text, NULL);
	if (!err)
		err = procparse_pids(text, ret);
	return err;
}

uint64_t procfs_clock(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

bool procfs_processor_time(pid_t pid, uint64_t *ret)
{
	struct timespec time;
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &time))
		return false;
	*ret = (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
	return true;
}

struct timespec procfs_timespec(uint64_t ns)
{
	return (struct timespec){ (time_t)(ns / 1000000000u), (long)(ns % 1000000000u) };
}

struct err *procfs_start_realtime(pid_t tid, uint64_t *ret)
{
	struct proc_stat stat;
	struct err *err = procfs_stat(tid, &stat);
	uint64_t tick_ns = 1000000000 / (uint64_t)sysconf(_SC_CLK_TCK), boot;

	if (err)
		return err;
	/* This is finer than btime of /proc/stat, which is in seconds. */
	boot = procfs_clock(CLOCK_REALTIME) - procfs_clock(CLOCK_BOOTTIME);
	*ret = boot + stat.start_time * tick_ns;
	return NULL;
}
