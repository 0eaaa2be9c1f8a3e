/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Why a process cannot be attached to. */

#include "tracee/refuse.h"

#include <ctype.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "os/file.h"
#include "os/identity.h"
#include "os/memory_lock.h"
#include "os/tracer.h"
#include "tracee/refuse_facts.h"
#include "tracee/translator.h"

#define YAMA_FILE	"/proc/sys/kernel/yama/ptrace_scope"
/* How long a tracer that was killed may take to let go, and how often it is looked at. */
#define ENDING_NS	2000000000ull
#define ENDING_POLL_US	1000

/* A name that another has chosen, for a line of ours. */
static void printable(const char *name, char *ret, size_t room)
{
	size_t i;

	for (i = 0; name[i] && i + 1 < room; i++)
		ret[i] = isprint((unsigned char)name[i]) ? name[i] : '?';
	ret[i] = '\0';
}

/* "process 12 (name)" of a process or thread; "process 12" where it cannot be seen. */
static void describe(pid_t pid, char *ret, size_t room)
{
	struct proc_status status;
	char name[REFUSE_NAME_MAX];

	if (procfs_status(pid, &status)) {
		snprintf(ret, room, "process %d", pid);
		return;
	}
	if (status.tgid != pid && !procfs_status(status.tgid, &status))
		pid = status.tgid;
	printable(status.name.bytes, name, sizeof(name));
	snprintf(ret, room, "process %d (%s)", pid, name);
}

static PRINTF(2, 3) struct err *refused(pid_t pid, const char *fmt, ...)
{
	char process[REFUSE_NAME_MAX + 32], why[256];
	va_list args;

	va_start(args, fmt);
	vsnprintf(why, sizeof(why), fmt, args);
	va_end(args);
	describe(pid, process, sizeof(process));
	return err_create(ERR_ATTACH, "cannot attach to %s: %s", process, why);
}

/* The thread's status could not be read. */
static struct err *not_seen(pid_t pid, struct err *err)
{
	if (err->code == ERR_NOMEM || fd_lacking(err))
		return err;
	if (pid > 0 && (!kill(pid, 0) || errno == EPERM)) {
		err = err_create(ERR_ATTACH,
				 "cannot attach to process %d: /proc does not show it to this user "
				 "(hidepid)",
				 pid);
		return err_hint(err, "sudo mdbg -p %d", pid);
	}
	err = err_create(ERR_ATTACH, "cannot attach to process %d: no such process", pid);
	return err_hint(
		err,
		"ps -e lists the processes there are; the number is that of this pid namespace");
}

static struct err *is_thread(pid_t pid, pid_t process)
{
	char name[REFUSE_NAME_MAX + 32];

	describe(process, name, sizeof(name));
	return err_hint(err_create(ERR_ATTACH, "cannot attach to %d: a thread of %s", pid, name),
			"mdbg -p %d", process);
}

static struct err *is_zombie(pid_t pid, pid_t parent)
{
	char process[REFUSE_NAME_MAX + 32];

	describe(parent, process, sizeof(process));
	return err_hint(refused(pid, "it has ended already (a zombie)"),
			"only its exit status is left, for its parent, %s, to collect", process);
}

struct err *refuse_traced(pid_t pid, pid_t tracer)
{
	char process[REFUSE_NAME_MAX + 32];
	struct proc_status status;
	bool seen = !procfs_status(tracer, &status);
	bool is_self = seen && status.tgid == getpid();
	bool is_mdbg = seen && !procfs_status(status.tgid, &status) && !strcmp(status.name.bytes, "mdbg");

	describe(tracer, process, sizeof(process));
	if (is_self)
		return err_hint(refused(pid, "already traced by this mdbg"), "detach");
	if (is_mdbg)
		return err_hint(refused(pid, "already traced by %s", process),
				"detach it first: type detach in that mdbg, or end it");
	return err_hint(refused(pid, "already traced by %s", process),
			"a process can have one tracer only: have %s detach first", process);
}

/* It has been killed, or is on its way out: it traces until its memory is gone. */
static bool is_ending(pid_t tracer)
{
	struct proc_status status;
	struct proc_stat stat;
	struct err *err = procfs_status(tracer, &status);

	if (!err)
		err = procfs_stat(tracer, &stat);
	if (err)
		return err->code == ERR_GONE;
	return stat.flags & PROC_EXITING || status.sig_pending >> (SIGKILL - 1) & 1;
}

/* A thread's status after a tracer that is ending has released it. */
static struct err *settled_status(pid_t tid, struct proc_status *ret)
{
	uint64_t end = tracer_now() + ENDING_NS;
	struct err *err = procfs_status(tid, ret);

	while (!err && ret->tracer && is_ending(ret->tracer) && tracer_now() < end) {
		usleep(ENDING_POLL_US);
		err = procfs_status(tid, ret);
	}
	return err;
}

/*
 * Look at each thread: is one traced, does one live? A process whose first thread has ended may
 * well go on in others.
 */
static struct err *check_threads(pid_t pid, const struct proc_tasks *tasks, pid_t *alive_ret)
{
	struct proc_status status;

	*alive_ret = 0;
	for (size_t i = 0; i < tasks->vec.nr; i++) {
		struct err *err = settled_status(tasks->vec.at[i], &status);

		if (err && err->code == ERR_NOMEM)
			return err;
		if (err)
			continue;
		if (status.tracer)
			return refuse_traced(pid, status.tracer);
		/*
		 * A displaced call pushes its return address by hand, and a borrowed thread finds
		 * home by a `ret` that no call goes with: the processor would end the process for
		 * either.
		 */
		if (status.shadow_stack)
			return err_hint(refused(pid, "its returns are checked against a shadow "
						     "stack"),
					"start it with GLIBC_TUNABLES=glibc.cpu.x86_shstk=off in "
					"its environment");
		if (!*alive_ret && status.state != 'Z' && status.state != 'X')
			*alive_ret = tasks->vec.at[i];
	}
	return NULL;
}

static struct err *wrong_processor(pid_t pid, uint16_t machine, uint8_t class)
{
	struct err *err;

	if (machine == EM_386)
		err = refused(pid, "a 32-bit program (i386)");
	else if (machine == EM_X86_64 && class == ELFCLASS32)
		err = refused(pid, "an x32 program");
	else
		err = refused(pid, "a program of another processor (ELF machine %u, %u bits)",
			      machine, class == ELFCLASS32 ? 32 : 64);
	return err_hint(err, "this mdbg debugs 64-bit programs of %s only",
			arch_host()->name);
}

/*
 * For a file that may be run but not read, check the auxiliary vector: its entries are pairs of
 * words that are as long as those of the program.
 */
static struct err *check_auxv(pid_t pid, pid_t tid)
{
	AUTO_FREE char *bytes = NULL;
	uint64_t type;
	size_t len;
	struct err *err = procfs_file(tid, "auxv", &bytes, &len);

	if (err || len < sizeof(type))
		return NULL;	/* not to be known: PTRACE_SEIZE has the last word */
	memcpy(&type, bytes, sizeof(type));
	/* Two words of 32 bits make a type that is none. */
	return type > UINT16_MAX ? wrong_processor(pid, EM_386, ELFCLASS32) : NULL;
}

static struct err *check_program(pid_t pid, pid_t tid)
{
	Elf32_Ehdr header;	/* its first fields are those of Elf64_Ehdr too */
	AUTO_CLOSE int fd = -1;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/exe", tid);
	if (file_open(AT_FDCWD, path, false, UINT64_MAX, &fd) ||
	    pread(fd, &header, sizeof(header), 0) != (ssize_t)sizeof(header) ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG))
		return check_auxv(pid, tid);
	if (arch_find(header.e_machine, header.e_ident[EI_CLASS]))
		return NULL;
	return wrong_processor(pid, header.e_machine, header.e_ident[EI_CLASS]);
}

/* tid: one that may have memory still. What cannot be read is for PTRACE_SEIZE to refuse. */
static struct err *check_translator(pid_t pid, pid_t tid)
{
	CLEANUP(procparse_maps_free) struct proc_maps maps = { VEC_INIT };
	const struct translator *translator;

	if (procfs_maps(tid, &maps))
		return NULL;
	translator = translator_find(&maps);
	return translator ? err_hint(refused(pid, "%s", translator->what), "%s",
				     translator->instead) : NULL;
}

static struct err *check_alive(pid_t pid, pid_t parent)
{
	struct proc_tasks tasks;
	pid_t alive = 0;
	struct err *err = procfs_tasks(pid, &tasks);

	if (err)
		return not_seen(pid, err);
	/* All that follows looks at its memory. */
	if (tasks.vec.nr)
		err = memory_lock_check(tasks.vec.at[tasks.vec.nr - 1]);
	/* First: rr traces its processes, and says more about them than that they are traced. */
	if (!err && tasks.vec.nr)
		err = check_translator(pid, tasks.vec.at[tasks.vec.nr - 1]);
	if (!err)
		err = check_threads(pid, &tasks, &alive);
	vec_free(&tasks.vec);
	if (err)
		return err;
	return alive ? check_program(pid, alive) : is_zombie(pid, parent);
}

struct err *refuse_check_proc(void)
{
	struct statfs is;

	if (identity_proc_is_own())
		return NULL;
	if (statfs("/proc", &is) || is.f_type != PROC_SUPER_MAGIC)
		return err_hint(err_create(ERR_ATTACH, "cannot attach: /proc is not mounted"),
				"mount -t proc proc /proc");
	return err_hint(err_create(ERR_ATTACH, "cannot attach: /proc shows the processes of another "
				   "PID namespace than that of mdbg, under other numbers"),
			"nsenter with -m besides -p, or unshare with --mount-proc");
}

struct err *refuse_check(pid_t pid)
{
	struct proc_status status;
	struct proc_stat stat;
	struct err *err = refuse_check_proc();

	if (err)
		return err;
	err = procfs_status(pid, &status);
	if (!err)
		err = procfs_stat(pid, &stat);
	if (err)
		return not_seen(pid, err);
	if (status.tgid == getpid())
		return err_hint(refused(pid, "it is mdbg itself"),
				"another mdbg can attach to this one");
	if (status.tgid != pid)
		return is_thread(pid, status.tgid);
	if (stat.flags & PROC_KERNEL_THREAD)
		return err_hint(
			refused(pid, "it is a thread of the kernel"),
			"it has no memory of its own; ftrace and bpftrace look into the kernel");
	return check_alive(pid, status.ppid);
}

static enum refuse_border find_border(pid_t pid)
{
	AUTO_FREE char *self = NULL;
	AUTO_FREE char *target = NULL;

	if (procfs_link(getpid(), "ns/user", &self) || procfs_link(pid, "ns/user", &target))
		return BORDER_UNKNOWN;
	return strcmp(self, target) ? BORDER_OTHER : BORDER_NONE;
}

/* A thread of pid that lives: links of one that has ended lead nowhere. */
static pid_t find_alive(pid_t pid)
{
	struct proc_tasks tasks;
	pid_t alive = 0;

	if (!procfs_tasks(pid, &tasks)) {
		err_ignore(check_threads(pid, &tasks, &alive));	/* told by refuse_check before */
		vec_free(&tasks.vec);
	}
	return alive ? alive : pid;
}

/* mdbg has seized some of its threads, which cannot be released yet. */
static bool is_held_by_self(pid_t pid)
{
	struct proc_tasks tasks = { VEC_INIT };
	struct proc_status status;
	bool held = false;

	err_ignore(procfs_tasks(pid, &tasks));	/* gone: the list is empty */
	vec_each_while(tid, &tasks.vec, !held)
		held = !procfs_status(*tid, &status) && status.tracer &&
		       !procfs_status(status.tracer, &status) && status.tgid == getpid();
	vec_free(&tasks.vec);
	return held;
}

struct err *refuse_explain(pid_t pid, int errnum)
{
	struct refuse_facts facts = { .errnum = errnum, .uid = getuid(), .gid = getgid() };
	pid_t alive = find_alive(pid);
	uint64_t yama;
	AUTO_FREE char *exe = NULL;
	char path[32];
	struct stat st;
	struct err *err;

	if (is_held_by_self(pid))
		return err_hint(refused(pid, "another tracer held one of its threads just now"),
				"try again");
	err = refuse_check(pid);
	if (!err)
		err = procfs_status(getpid(), &facts.self);
	if (err)
		return err;
	err = procfs_status(pid, &facts.target);
	if (err)
		return not_seen(pid, err);
	printable(facts.target.name.bytes, facts.name, sizeof(facts.name));
	if (file_number(YAMA_FILE, "", &yama))
		facts.yama = (int)yama;
	facts.exe_readable = !procfs_link(alive, "exe", &exe);
	snprintf(path, sizeof(path), "/proc/%d", alive);
	facts.proc_of_root = !stat(path, &st) && !st.st_uid;
	facts.border = find_border(alive);
	return refuse_facts_check(&facts);
}
