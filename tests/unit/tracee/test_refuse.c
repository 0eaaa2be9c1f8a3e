/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Refusals of real processes, by the real kernel where it can be had to refuse. */

#include "tracee/refuse.h"

#include <elf.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "child.h"
#include "os/procfs.h"
#include "unit.h"

#define NOBODY	65534

/* Is err an ERR_ATTACH with a hint, whose message begins as it must and has text in it? */
static bool says(const struct err *err, pid_t pid, const char *text)
{
	char start[64];
	bool good;

	snprintf(start, sizeof(start), "cannot attach to process %d", pid);
	good = err && err->code == ERR_ATTACH && err->hint[0] && strstr(err->msg, text) &&
	       !strncmp(err->msg, start, strlen(start));
	if (!good)
		printf("[%s | %s] ", err ? err->msg : "no error", err ? err->hint : "");
	return good;
}

static void live(void *arg UNUSED)
{
	child_ready((uint64_t)gettid());
	child_wait();
}

static pid_t start(struct child *child, void (*body)(void *arg), void *arg)
{
	uint64_t word;

	CU_ASSERT_TRUE_FATAL(child_start(child, body, arg));
	CU_ASSERT_TRUE_FATAL(child_word(child, &word));
	return (pid_t)word;
}

TEST("nothing against it")
{
	CLEANUP(child_end) struct child child;

	start(&child, live, NULL);
	CU_ASSERT_PTR_NULL(refuse_check(child.pid));
}

TEST("no such process")
{
	struct child child;

	start(&child, live, NULL);
	child_end(&child);
	CU_ASSERT_TRUE(says(refuse_check(child.pid), child.pid, ": no such process"));
	CU_ASSERT_TRUE(says(refuse_explain(child.pid, ESRCH), child.pid, ": no such process"));
	CU_ASSERT_TRUE(says(refuse_check(0), 0, ": no such process"));
	CU_ASSERT_TRUE(says(refuse_check(-5), -5, ": no such process"));
}

TEST("a zombie")
{
	siginfo_t info;
	char parent[64];
	CLEANUP(child_end) struct child child;
	struct err *err;

	start(&child, live, NULL);
	close(child.end);
	child.end = -1;
	CU_ASSERT_EQUAL_FATAL(waitid(P_PID, (id_t)child.pid, &info, WEXITED | WNOWAIT), 0);
	err = refuse_check(child.pid);
	CU_ASSERT_TRUE(says(err, child.pid, "zombie"));
	snprintf(parent, sizeof(parent), "process %d (", getpid());
	CU_ASSERT_PTR_NOT_NULL(strstr(err->hint, parent));
}

#define ARCH_SHSTK_ENABLE	0x5001
#define ARCH_SHSTK_SHSTK	1

/* May not return any more, only call. */
static void live_with_shadow_stack(void *arg UNUSED)
{
	long ret;

	__asm__ volatile("syscall" : "=a" (ret)
			 : "a" (SYS_arch_prctl), "D" (ARCH_SHSTK_ENABLE), "S" (ARCH_SHSTK_SHSTK)
			 : "rcx", "r11", "memory");
	child_ready(ret == 0);
	child_wait();
	_exit(0);
}

TEST("a shadow stack")
{
	CLEANUP(child_end) struct child child;

	if (start(&child, live_with_shadow_stack, NULL)) {
		CU_ASSERT_TRUE(says(refuse_check(child.pid), child.pid, "shadow stack"));
	} else {
		unit_skip("this processor or kernel has none");
	}
}

static void leave_leader(void *arg UNUSED)
{
	child_end_leader();
}

TEST("a first thread that has ended")
{
	CLEANUP(child_end) struct child child;

	start(&child, leave_leader, NULL);
	CU_ASSERT_PTR_NULL(refuse_check(child.pid));
}

static void *live_as_thread(void *arg UNUSED)
{
	live(NULL);
	return NULL;
}

static void start_thread(void *arg UNUSED)
{
	pthread_t thread;

	prctl(PR_SET_NAME, "odd\n\x01name");
	pthread_create(&thread, NULL, live_as_thread, NULL);
	pthread_join(thread, NULL);
}

TEST("a thread")
{
	char text[128], hint[64];
	CLEANUP(child_end) struct child child;
	struct err *err;
	pid_t tid = start(&child, start_thread, NULL);

	err = refuse_check(tid);
	CU_ASSERT_PTR_NOT_NULL_FATAL(err);
	snprintf(text, sizeof(text), "cannot attach to %d: a thread of process %d (odd??name)", tid,
		 child.pid);
	snprintf(hint, sizeof(hint), "mdbg -p %d", child.pid);
	CU_ASSERT_EQUAL(err->code, ERR_ATTACH);
	CU_ASSERT_STRING_EQUAL(err->msg, text);
	CU_ASSERT_STRING_EQUAL(err->hint, hint);
}

TEST("mdbg itself")
{
	CU_ASSERT_TRUE(says(refuse_check(getpid()), getpid(), "mdbg itself"));
}

TEST("a kernel thread")
{
	struct proc_stat stat;

	if (procfs_stat(2, &stat) || !(stat.flags & PROC_KERNEL_THREAD)) {
		unit_skip("process 2 is no kernel thread here");
		return;
	}
	CU_ASSERT_TRUE(says(refuse_check(2), 2, "(kthreadd): it is a thread of the kernel"));
	CU_ASSERT_TRUE(says(refuse_explain(2, EPERM), 2, "it is a thread of the kernel"));
}

static void be_traced(void *arg UNUSED)
{
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	live(NULL);
}

TEST("traced by this process")
{
	CLEANUP(child_end) struct child child;

	start(&child, be_traced, NULL);
	CU_ASSERT_TRUE(says(refuse_check(child.pid), child.pid, "already traced by this mdbg"));
	kill(child.pid, SIGKILL);
}

struct tracer {
	pid_t target;
	const char *name;
};

static void trace(void *arg)
{
	struct tracer *tracer = arg;

	prctl(PR_SET_NAME, tracer->name);
	if (ptrace(PTRACE_SEIZE, tracer->target, NULL, NULL))
		return;
	live(NULL);
}

static void traced_by(const char *name, const char *hint)
{
	struct child target, other;
	struct tracer tracer = { .name = name };
	char text[64];
	struct err *err;
	pid_t tid = start(&target, start_thread, NULL);

	/* Not its first thread, and not by all that would find out. */
	tracer.target = tid;
	start(&other, trace, &tracer);
	snprintf(text, sizeof(text), "already traced by process %d (%s)", other.pid, name);
	CU_ASSERT_TRUE(says(refuse_check(target.pid), target.pid, text));
	err = refuse_explain(target.pid, EPERM);
	CU_ASSERT_TRUE(says(err, target.pid, text));
	CU_ASSERT_PTR_NOT_NULL(strstr(err->hint, hint));
	child_end(&other);
	CU_ASSERT_PTR_NULL(refuse_check(target.pid));
	child_end(&target);
}

TEST("traced by others")
{
	traced_by("gdb", "have process");
	traced_by("mdbg", "type detach in that mdbg");
}

#define BALLAST	(256u << 20)

/* It takes long to end: what it traces is let go when its memory is gone. */
static void trace_with_ballast(void *arg)
{
	char *ballast = malloc(BALLAST);

	if (!ballast)
		return;
	memset(ballast, 1, BALLAST);
	__asm__ volatile("" : : "r"(ballast) : "memory");
	trace(arg);
}

TEST("traced by one that was killed")
{
	struct child target, other;
	struct tracer tracer = { .name = "mdbg" };

	tracer.target = start(&target, start_thread, NULL);
	start(&other, trace_with_ballast, &tracer);
	kill(other.pid, SIGKILL);
	CU_ASSERT_PTR_NULL(refuse_check(target.pid));
	child_end(&other);
	child_end(&target);
}

/* pause() for ever, in 32-bit code. */
static const struct {
	Elf32_Ehdr ehdr;
	Elf32_Phdr phdr;
	uint8_t code[9];
} small_program = {
	.ehdr = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS32, ELFDATA2LSB,
			     EV_CURRENT },
		.e_type = ET_EXEC,
		.e_machine = EM_386,
		.e_version = EV_CURRENT,
		.e_entry = 0x8048000 + sizeof(Elf32_Ehdr) + sizeof(Elf32_Phdr),
		.e_phoff = sizeof(Elf32_Ehdr),
		.e_ehsize = sizeof(Elf32_Ehdr),
		.e_phentsize = sizeof(Elf32_Phdr),
		.e_phnum = 1,
	},
	.phdr = {
		.p_type = PT_LOAD,
		.p_vaddr = 0x8048000,
		.p_filesz = sizeof(small_program),
		.p_memsz = sizeof(small_program),
		.p_flags = PF_R | PF_X,
		.p_align = 4096,
	},
	/* mov $29, %eax; int $0x80; jmp back */
	.code = { 0xb8, 29, 0, 0, 0, 0xcd, 0x80, 0xeb, 0xf7 },
};

static void run_program(void *arg)
{
	child_ready(0);
	execl(arg, arg, (char *)NULL);
	child_ready((uint64_t)errno);
}

TEST("a 32-bit program")
{
	struct child child;
	char path[64];
	uint64_t word;
	int fd;

	snprintf(path, sizeof(path), "/tmp/mdbg-unit-%d-i386", getpid());
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
	CU_ASSERT_TRUE_FATAL(fd >= 0);
	CU_ASSERT_EQUAL_FATAL(write(fd, &small_program, sizeof(small_program)),
			      sizeof(small_program));
	close(fd);
	start(&child, run_program, path);
	/* The pipe is closed by the exec. */
	if (child_word(&child, &word))
		unit_skip("this kernel runs no 32-bit programs");
	else
		CU_ASSERT_TRUE(says(refuse_check(child.pid), child.pid, "a 32-bit program (i386)"));
	kill(child.pid, SIGKILL);
	child_end(&child);
	unlink(path);
}

/*
 * What the kernel says to a PTRACE_SEIZE from a process of other rights, and what refuse_explain
 * makes of it.
 */

struct attempt {
	pid_t pid;
	void (*lose)(void);	/* rights */
	struct err err;
	bool seized;
	int fd;
};

static void attempt(void *arg)
{
	struct attempt *job = arg;
	int fd = job->fd;

	job->lose();
	job->seized = !ptrace(PTRACE_SEIZE, job->pid, NULL, NULL);
	if (!job->seized)
		err_copy(&job->err, refuse_explain(job->pid, errno));
	if (write(fd, job, sizeof(*job)) != sizeof(*job))
		_exit(1);
}

/* The error of an attempt made by a process that has lost some rights. */
static struct err *attempted(pid_t pid, void (*lose)(void), struct attempt *job)
{
	CLEANUP(child_end) struct child child;
	int fds[2];

	CU_ASSERT_EQUAL_FATAL(pipe2(fds, O_CLOEXEC), 0);
	*job = (struct attempt){ .pid = pid, .lose = lose, .fd = fds[1] };
	CU_ASSERT_TRUE_FATAL(child_start(&child, attempt, job));
	close(fds[1]);
	CU_ASSERT_EQUAL_FATAL(read(fds[0], job, sizeof(*job)), sizeof(*job));
	close(fds[0]);
	return job->seized ? NULL : &job->err;
}

static void become_nobody(void)
{
	if (setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) ||
	    setresuid(NOBODY, NOBODY, NOBODY))
		_exit(1);
}

static void lose_ptrace(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &header, data))
		_exit(1);
	data[0].effective &= ~(1u << CAP_SYS_PTRACE);
	data[0].permitted &= ~(1u << CAP_SYS_PTRACE);
	if (syscall(SYS_capset, &header, data))
		_exit(1);
}

static void enter_namespace(void)
{
	if (unshare(CLONE_NEWUSER))
		_exit(1);
}

static void leave_leader_as_nobody(void *arg)
{
	become_nobody();
	prctl(PR_SET_DUMPABLE, 1);
	leave_leader(arg);
}

static void live_as_nobody(void *arg)
{
	become_nobody();
	prctl(PR_SET_DUMPABLE, (uintptr_t)arg);
	live(NULL);
}

static bool is_root(void)
{
	struct proc_status self;

	if (!procfs_status(getpid(), &self) && !self.euid &&
	    self.cap_effective & (1u << CAP_SYS_PTRACE))
		return true;
	unit_skip("needs root");
	return false;
}

/* What an attempt at a process that runs fn(arg) comes to, made by one that has lost some rights. */
static void attempt_at(void (*fn)(void *arg), uintptr_t arg, void (*lose)(void), const char *what,
		       const char *hint)
{
	struct attempt job;
	CLEANUP(child_end) struct child child;
	struct err *err;

	start(&child, fn, (void *)arg);
	err = attempted(child.pid, lose, &job);
	CU_ASSERT_TRUE(says(err, child.pid, what));
	CU_ASSERT_PTR_NOT_NULL(strstr(job.err.hint, hint));
}

TEST("somebody else's")
{
	if (is_root())
		attempt_at(live, 0, become_nobody, "it runs as user root, and mdbg as user nobody",
			   "sudo mdbg -p");
}

TEST("not dumpable")
{
	if (is_root())
		attempt_at(live_as_nobody, 0, become_nobody, "it is not dumpable", "");
}

/* Its first thread has ended, and with it what /proc/PID/exe leads to: that is not the reason. */
TEST("dumpable, without its first thread")
{
	struct attempt job;
	struct child child;

	if (!is_root())
		return;
	start(&child, leave_leader_as_nobody, NULL);
	job.err.msg[0] = '\0';
	err_ignore(attempted(child.pid, become_nobody, &job));
	CU_ASSERT_PTR_NULL(strstr(job.err.msg, "dumpable"));
	child_end(&child);
}

/* The same, but dumpable: the kernel lets it be traced, unless yama is there. */
TEST("dumpable")
{
	struct attempt job;
	struct child child;
	struct err *err;

	if (!is_root())
		return;
	start(&child, live_as_nobody, (void *)1);
	err = attempted(child.pid, become_nobody, &job);
	if (err)
		CU_ASSERT_TRUE(says(err, child.pid, "yama"));
	child_end(&child);
}

TEST("root without the capability")
{
	const char *what = "root, but without the capability CAP_SYS_PTRACE";

	if (!is_root())
		return;
	attempt_at(live_as_nobody, 1, lose_ptrace, what, "--cap-add SYS_PTRACE");
	/* One of root's own, which has the capability that mdbg lacks. */
	attempt_at(live, 0, lose_ptrace, what, "");
}

TEST("from a user namespace")
{
	if (is_root())
		attempt_at(live_as_nobody, 1, enter_namespace, "user namespace", "");
}

