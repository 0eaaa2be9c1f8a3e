/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Control blocks of real threads, of glibc and musl. */

#include "tracee/tcb.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "child.h"
#include "unit.h"
#include "victim.h"

#define THREADS	8

static struct victim victim;
static struct tcb tcb;

static struct err *derive(struct victim *v)
{
	tcb_derive(v->target, &tcb);
	return NULL;
}

/* Is what was found true of every thread of the victim? */
static void check(struct thread *thread, unsigned *with_stack)
{
	struct target *target = thread->target;
	uint64_t tp = regs_get(&thread->regs, target->arch->tp);
	uint64_t sp = regs_get(&thread->regs, target->arch->sp);
	uint64_t self = 0, stack[2];
	uint32_t tid = 0;

	CU_ASSERT_PTR_NULL(memory_read_u64(&target->mem.memory, tp + tcb.self_offset, &self));
	CU_ASSERT_EQUAL(self, tp);
	CU_ASSERT_PTR_NULL(memory_read(&target->mem.memory, tp + tcb.tid_offset, &tid, 4));
	CU_ASSERT_EQUAL(tid, (uint32_t)thread->tid);
	if (!tcb.stack_offset || thread->tid == thread->tgid)
		return;
	CU_ASSERT_PTR_NULL(memory_read(&target->mem.memory, tp + tcb.stack_offset, stack,
				       sizeof(stack)));
	CU_ASSERT_TRUE(stack[0] <= sp && sp < stack[0] + stack[1]);
	CU_ASSERT_TRUE(stack[0] <= tp && tp < stack[0] + stack[1]);
	++*with_stack;
}

static unsigned derive_and_check(void)
{
	unsigned with_stack = 0;
	struct thread *thread;

	memset(&tcb, 0xff, sizeof(tcb));
	victim_run(&victim, derive);
	CU_ASSERT_TRUE(tcb.has_self);
	CU_ASSERT_NOT_EQUAL(tcb.tid_offset, 0);
	for_each_thread(thread, victim.target)
		check(thread, &with_stack);
	return with_stack;
}

static void *wait_for_ever(void *arg)
{
	pthread_barrier_wait(arg);
	for (;;)
		pause();
	return NULL;
}

static void threads(void *arg)
{
	unsigned nr = *(unsigned *)arg;
	pthread_barrier_t barrier;
	pthread_t thread;

	pthread_barrier_init(&barrier, NULL, nr + 1);
	for (unsigned i = 0; i < nr; i++)
		if (pthread_create(&thread, NULL, wait_for_ever, &barrier))
			_exit(1);
	pthread_barrier_wait(&barrier);
	child_ready(1);
	child_wait();
	_exit(0);
}

/* Its control block after that is in tcb. */
static bool in_child(unsigned nr, unsigned want_stacks)
{
	struct child child;
	uint64_t word;
	bool seized;

	CU_ASSERT_TRUE_FATAL(child_start(&child, threads, &nr));
	CU_ASSERT_TRUE_FATAL(child_word(&child, &word));
	seized = victim_seize(&victim, child.pid);
	if (seized) {
		CU_ASSERT_EQUAL(derive_and_check(), want_stacks);
		victim_release(&victim);
	}
	CU_ASSERT_EQUAL(child_end(&child), 0);
	return seized;
}

/* The first thread alone says the same as all together. */
TEST("glibc, one thread and many")
{
	struct tcb alone;

	if (!in_child(0, 0))
		return;
	alone = tcb;
	CU_ASSERT_NOT_EQUAL(alone.stack_offset, 0);
	in_child(1, 1);
	CU_ASSERT_EQUAL(memcmp(&alone, &tcb, sizeof(tcb)), 0);
	in_child(THREADS, THREADS);
	CU_ASSERT_EQUAL(memcmp(&alone, &tcb, sizeof(tcb)), 0);
}

static char on_heap_stack[1 << 16];

static void *spin(void *arg)
{
	child_ready((uintptr_t)arg);
	for (;;)
		pause();
	return NULL;
}

/* A stack of the program's own, that begins anywhere. */
static void own_stack(void *arg UNUSED)
{
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	if (pthread_attr_setstack(&attr, on_heap_stack + 48, sizeof(on_heap_stack) - 64) ||
	    pthread_create(&thread, &attr, spin, NULL))
		_exit(1);
	child_wait();
	_exit(0);
}

TEST("a stack of the program's own")
{
	struct child child;
	uint64_t word;

	CU_ASSERT_TRUE_FATAL(child_start(&child, own_stack, NULL));
	CU_ASSERT_TRUE_FATAL(child_word(&child, &word));
	if (victim_seize(&victim, child.pid)) {
		derive_and_check();
		victim_release(&victim);
	}
	CU_ASSERT_EQUAL(child_end(&child), 0);
}

static const char musl_source[] =
	"#include <pthread.h>\n#include <stdlib.h>\n#include <unistd.h>\n"
	"static pthread_barrier_t barrier;\n"
	"static void *run(void *arg)\n"
	"{ pthread_barrier_wait(&barrier); for (;;) pause(); return arg; }\n"
	"int main(int argc, char **argv)\n"
	"{ int nr = atoi(argv[argc - 1]); pthread_t t; char c;\n"
	"pthread_barrier_init(&barrier, 0, nr + 1);\n"
	"for (int i = 0; i < nr; i++) if (pthread_create(&t, 0, run, 0)) return 1;\n"
	"pthread_barrier_wait(&barrier);\n"
	"if (write(1, \"r\", 1) != 1) return 1;\n"
	"return read(0, &c, 1) != 0; }\n";

static char musl_program[64];

static bool build_for_musl(void)
{
	char command[200];
	FILE *source;

	if (system("command -v musl-gcc >/dev/null 2>&1")) {
		unit_skip("there is no musl-gcc");
		return false;
	}
	snprintf(musl_program, sizeof(musl_program), "/tmp/mdbg-unit-%d-musl", getpid());
	snprintf(command, sizeof(command), "musl-gcc -static -O2 -o %s -xc -", musl_program);
	source = popen(command, "w");
	CU_ASSERT_PTR_NOT_NULL_FATAL(source);
	fputs(musl_source, source);
	CU_ASSERT_EQUAL_FATAL(pclose(source), 0);
	return true;
}

/* Its pid; in and out are its standard streams. */
static pid_t run_musl(const char *nr, int *in, int *out)
{
	int to[2], from[2];
	char byte;
	pid_t pid;

	CU_ASSERT_TRUE_FATAL(!pipe2(to, O_CLOEXEC) && !pipe2(from, O_CLOEXEC));
	pid = fork();
	CU_ASSERT_TRUE_FATAL(pid >= 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(to[0], 0);
		dup2(from[1], 1);
		execl(musl_program, musl_program, nr, (char *)NULL);
		_exit(1);
	}
	close(to[0]);
	close(from[1]);
	CU_ASSERT_EQUAL_FATAL(read(from[0], &byte, 1), 1);
	*in = to[1];
	*out = from[0];
	return pid;
}

static void in_musl(const char *nr, unsigned want_stacks)
{
	int in, out, status = -1;
	pid_t pid = run_musl(nr, &in, &out);

	if (victim_seize(&victim, pid)) {
		CU_ASSERT_EQUAL(derive_and_check(), want_stacks);
		victim_release(&victim);
	}
	close(in);
	waitpid(pid, &status, 0);
	close(out);
	CU_ASSERT_EQUAL(status, 0);
}

TEST("static musl, one thread and many")
{
	if (!build_for_musl())
		return;
	in_musl("0", 0);
	CU_ASSERT_EQUAL(tcb.stack_offset, 0);
	in_musl("8", 8);
	unlink(musl_program);
}

/* In a pid namespace of its own it has other ids than those seen here. */
TEST("in a pid namespace")
{
	struct child child;
	unsigned nr = 1;
	uint64_t word;
	int here = open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC);

	if (unshare(CLONE_NEWPID)) {
		unit_skip("a pid namespace is not allowed");
		close(here);
		return;
	}
	CU_ASSERT_TRUE_FATAL(child_start(&child, threads, &nr));
	CU_ASSERT_EQUAL(setns(here, CLONE_NEWPID), 0);
	close(here);
	CU_ASSERT_TRUE_FATAL(child_word(&child, &word));
	if (victim_seize(&victim, child.pid)) {
		victim_run(&victim, derive);
		CU_ASSERT_TRUE(tcb.has_self);
		CU_ASSERT_EQUAL(tcb.tid_offset, 0);
		CU_ASSERT_NOT_EQUAL(tcb.stack_offset, 0);
		victim_release(&victim);
	}
	CU_ASSERT_EQUAL(child_end(&child), 0);
}
