/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * /proc, parsed. Every function takes an LWP id, because a process whose first thread has ended
 * shows its maps and memory only under the ids of its other threads. ERR_GONE: the thread does not
 * exist (any more); ERR_NOTFOUND: the thread exists, but not the file, or not the target of the
 * link; ERR_PERM.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/outside.h"
#include "base/vec.h"

struct proc_map {
	uint64_t start, end, offset, inode;
	uint32_t dev_major, dev_minor;
	bool read, write, exec, shared;
	/*
	 * exec, and the kernel may have added that to read, as the thread that was asked for has
	 * READ_IMPLIES_EXEC (personality(2); old programs before Linux 5.8, setarch -X)
	 */
	bool exec_implied;
	bool deleted;		/* path ended in " (deleted)", which is cut off */
	/*
	 * A core file does not tell all: read, write and exec may be unknown, or whether it is
	 * shared.
	 */
	bool unknown_protection, unknown_sharing;
	/* "" for anonymous memory; "[heap]", "[stack]", "[vdso]" and so on are unchanged */
	char *path;
};

struct proc_maps {
	VEC(struct proc_map) vec;	/* in order of address */
};

/*
 * Read the mappings. There are none for a kernel thread and for a thread that has ended (a zombie
 * leader whose process lives in other threads).
 */
struct err *procfs_maps(pid_t tid, struct proc_maps *ret) MUST_CHECK;
/* The same from a /proc/TID/maps that is open, and so belongs to one memory for ever. */
struct err *procfs_maps_again(int fd, struct proc_maps *ret) MUST_CHECK;
/*
 * Read the mappings that have bytes from start to end (exclusive). From Linux 6.11 on the kernel is
 * asked for each (1 us); before that all are read, and *all_ret is true.
 */
struct err *procfs_maps_at(pid_t tid, uint64_t start, uint64_t end, struct proc_maps *ret,
			   bool *all_ret) MUST_CHECK;
void procparse_maps_free(struct proc_maps *maps);
/* Returns the mapping that holds addr, or NULL. */
const struct proc_map *procparse_maps_find(const struct proc_maps *maps, uint64_t addr);

/*
 * Is it private, and of no file? Such is memory without a name, with one that the program has given
 * it ([anon:NAME]), and in huge pages of hugetlbfs' pool.
 */
bool procparse_map_is_anonymous(const struct proc_map *map);
/* Was it certainly mapped to be executed? */
static inline bool proc_map_is_exec(const struct proc_map *map)
{
	return map->exec && !map->exec_implied;
}

/* Format as "rw-p", as in /proc/PID/maps; `?` stands for what is not known. */
void procparse_map_protection(const struct proc_map *map, char ret[5]);

/*
 * Count the threads of tid's process, including a first one that has ended. This takes 3 us, while
 * /proc/TID/status takes 40.
 */
struct err *procfs_nr_threads(pid_t tid, uint32_t *ret) MUST_CHECK;

/* Does mdbg's /proc have all processes of the machine? */
bool procfs_sees_all(void);

/* The threads of tid's process, in order of LWP id. */
struct proc_tasks {
	VEC(pid_t) vec;
};

struct err *procfs_tasks(pid_t tid, struct proc_tasks *ret) MUST_CHECK;

/* Read the names in a folder, /proc or one below it, that are numbers, in order. */
struct err *procfs_numbers(const char *path, struct proc_tasks *ret) MUST_CHECK;

/* /proc/TID/status; signal sets have bit n - 1 for signal n. */
struct proc_status {
	struct outside_name name;
	char state;		/* R S D T t Z X I */
	pid_t tgid, pid, ppid, tracer;
	pid_t ns_tgid;		/* tgid in its own pid namespace; 0: an old kernel does not say */
	uid_t uid, euid;
	gid_t gid;
	uint32_t threads;
	uint64_t vm_kb, rss_kb, swap_kb;	/* 0 for a kernel thread */
	uint64_t peak_kb;			/* the most that rss_kb ever was */
	uint64_t code_kb;			/* of code that is mapped beside the program's own */
	uint64_t locked_kb;			/* locked by mlock(2) */
	uint64_t anonymous_kb;			/* the part of rss_kb that belongs to no file */
	uint64_t page_tables_kb;		/* of the lowest level */
	uint64_t hugetlb_kb;			/* of hugetlbfs, which is not part of rss_kb */
	bool has_vm;				/* false: kernel thread or zombie */
	uint64_t sig_pending, shared_pending, sig_blocked, sig_ignored, sig_caught;
	uint64_t cap_permitted, cap_effective;	/* bit n: capability n */
	uint32_t seccomp;
	bool no_new_privs;
	bool shadow_stack;	/* the processor compares returns with its shadow stack */
};

struct err *procfs_status(pid_t tid, struct proc_status *ret) MUST_CHECK;
/*
 * The resident bytes of tid's process, by /proc/TID/statm; 0: tid is a kernel thread, or a first
 * thread that has ended. This takes 10 us, where /proc/TID/status takes 40.
 */
struct err *procfs_rss(pid_t tid, uint64_t *ret) MUST_CHECK;

/* The kernel's PF_KTHREAD and PF_EXITING, in proc_stat.flags. */
#define PROC_KERNEL_THREAD	0x00200000u
#define PROC_EXITING		0x00000004u

/* Parts of /proc/TID/stat that status lacks. */
struct proc_stat {
	char state;
	pid_t ppid, pgrp, session;
	uint32_t flags;			/* PROC_KERNEL_THREAD, PROC_EXITING and more */
	uint64_t min_faults, maj_faults;
	uint64_t utime, stime;		/* clock ticks */
	uint64_t start_time;		/* clock ticks after boot */
	uint64_t vm_bytes, rss_pages;
	int cpu;			/* processor that it last ran on */
	uint32_t blocked;		/* the first 31 signals: bit n - 1 for signal n */
	uint64_t start_brk;		/* 0 without the right to see it */
	int exit_signal;
	/* of a zombie, in the form of waitpid; 0 without the right to see it */
	int exit_code;
};

struct err *procfs_stat(pid_t tid, struct proc_stat *ret) MUST_CHECK;
/*
 * The same of one thread alone, while procfs_stat adds up what all threads of the process have used:
 * with many of them this is much faster. ERR_GONE or ERR_NOTFOUND: tid is no thread of pid.
 */
struct err *procfs_task_stat(pid_t pid, pid_t tid, struct proc_stat *ret) MUST_CHECK;
/*
 * Count how often a thread was given a processor, by /proc/TID/schedstat; 0 if the kernel does not
 * count (CONFIG_SCHED_INFO). This takes 5 us.
 */
struct err *procfs_runs(pid_t tid, uint64_t *ret) MUST_CHECK;
/* The ns that a thread has had a processor, by the same file; 0 if the kernel does not count. */
struct err *procfs_ran(pid_t tid, uint64_t *ret) MUST_CHECK;
/*
 * Get the number of the system call in which a thread sleeps, by /proc/TID/syscall; -1: it is in
 * none, or is running.
 */
struct err *procfs_syscall(pid_t tid, long *ret) MUST_CHECK;
/*
 * Get the stack pointer of a thread that waits, by the same file; 0: it is running, or this may not
 * be seen.
 */
struct err *procfs_stack_pointer(pid_t tid, uint64_t *ret) MUST_CHECK;
/* Read a link of /proc/TID ("exe", "cwd", "root"); the result is malloc'ed. */
struct err *procfs_link(pid_t tid, const char *name, char **ret) MUST_CHECK;
/* Open a file of /proc/TID as open(2) does. On failure -1 and errno. */
int procfs_open(pid_t tid, const char *name, int flags);
/*
 * Read a whole small file of /proc/TID ("comm", "cmdline", "wchan", "limits", "cgroup"). The result
 * is malloc'ed and NUL-terminated; *len_ret may be NULL.
 */
struct err *procfs_file(pid_t tid, const char *name, char **ret, size_t *len_ret) MUST_CHECK;
/* Get the value of type in /proc/TID/auxv, or ERR_NOTFOUND. */
struct err *procfs_auxv(pid_t tid, uint64_t type, uint64_t *ret) MUST_CHECK;
/* Read the children of one thread (this needs /proc/TID/task/TID/children). */
struct err *procfs_children(pid_t tid, struct proc_tasks *ret) MUST_CHECK;
/* The processor time of all threads of a process, in nanoseconds. False: it is not there. */
bool procfs_processor_time(pid_t pid, uint64_t *ret);
/* Read one of the kernel's clocks (clock_gettime(2)), in nanoseconds. */
uint64_t procfs_clock(clockid_t clock);
/* The same number of nanoseconds as a struct timespec. */
struct timespec procfs_timespec(uint64_t ns);
/* Get the time of the wall clock when the process started, in ns since the epoch. */
struct err *procfs_start_realtime(pid_t tid, uint64_t *ret) MUST_CHECK;
