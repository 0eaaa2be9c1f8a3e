/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A process that is held before its death (death.c): its thread can do anything, and then dies as it would have. */

#include "tracee/target.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "child.h"
#include "os/procfs.h"
#include "os/tracer.h"
#include "unit.h"
#include "victim.h"

#define PATIENCE_NS	20000000000ull

static struct victim victim;
static struct child child;

static void on_signal(int signal UNUSED)
{
}

static void no_core(void)
{
	const struct rlimit none = { 0, 0 };

	setrlimit(RLIMIT_CORE, &none);
	child_ready(1);
	child_wait();
}

static void die_of_abort(void *arg UNUSED)
{
	signal(SIGABRT, SIG_DFL);
	no_core();
	abort();
}

static void die_of_fault(void *arg UNUSED)
{
	signal(SIGSEGV, SIG_DFL);
	no_core();
	__asm__ volatile("hlt");
}

static void die_while_blocked(void *arg UNUSED)
{
	sigset_t set;

	signal(SIGILL, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, SIGILL);
	sigprocmask(SIG_BLOCK, &set, NULL);
	no_core();
	__asm__ volatile("ud2");
}

/* The handler is used up, and the second one is fatal. */
static void die_the_second_time(void *arg UNUSED)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND };

	sigaction(SIGQUIT, &action, NULL);
	no_core();
	raise(SIGQUIT);
	raise(SIGQUIT);
}

/* Neither is a death, and the process ends by itself. */
static void live_on(void *arg UNUSED)
{
	signal(SIGSEGV, on_signal);
	signal(SIGQUIT, SIG_IGN);
	no_core();
	raise(SIGSEGV);
	raise(SIGQUIT);
	_exit(7);
}

/* SIGTERM asks a process to end, and is not held. */
static void end_by_term(void *arg UNUSED)
{
	signal(SIGTERM, SIG_DFL);
	no_core();
	raise(SIGTERM);
}

static bool begin(void (*body)(void *arg))
{
	uint64_t word;

	CU_ASSERT_TRUE_FATAL(child_start(&child, body, NULL));
	CU_ASSERT_TRUE_FATAL(child_word(&child, &word));
	if (!victim_seize(&victim, child.pid)) {
		child_end(&child);
		return false;
	}
	victim.holds = true;
	victim_resume(&victim);
	return true;
}

/* Let it come to its death, and wait until that is held. */
static void come(int signal)
{
	uint64_t until = tracer_now() + PATIENCE_NS;

	close(child.end);
	while (!victim.held && tracer_now() < until)
		usleep(100);
	CU_ASSERT_EQUAL_FATAL(victim.held, signal);
	victim_stop(&victim);
}

/* As long as it is traced, a wait of this thread would take its stops. */
static int status_of(bool traced)
{
	uint64_t until = tracer_now() + PATIENCE_NS;
	int status = -1;

	if (!traced)
		CU_ASSERT_EQUAL(waitpid(child.pid, &status, 0), child.pid);
	while (traced && victim.status < 0 && tracer_now() < until)
		usleep(100);
	close(child.ready);
	return traced ? victim.status : status;
}

static struct err *call_once(struct victim *of)
{
	uint64_t pid;
	struct err *err = remote_syscall(&of->remote, &pid, SYS_getpid);

	CU_ASSERT(err || pid == (uint64_t)of->pid);
	return err;
}

/* It stands, the signal is pending and not blocked, and a resume of all others does not let it go. */
static struct err *look(struct victim *of)
{
	struct thread *thread = thread_find(of->target, of->pid);
	struct proc_status status;

	CU_ASSERT_TRUE(of->target->dying);
	CU_ASSERT_EQUAL(thread->state, THREAD_STOPPED);
	CU_ASSERT_EQUAL(thread->death, of->held);
	CU_ASSERT_PTR_NULL(target_run_for(of->target, 1000000));
	CU_ASSERT_EQUAL(thread->state, THREAD_STOPPED);
	CU_ASSERT_PTR_NULL_FATAL(procfs_status(of->pid, &status));
	CU_ASSERT_TRUE((status.sig_pending | status.shared_pending) >> (of->held - 1) & 1);
	CU_ASSERT_FALSE(status.sig_blocked >> (of->held - 1) & 1);
	CU_ASSERT_FALSE(stop_can_move(of->target, NULL, NULL));
	return NULL;
}

static struct err *let_die(struct victim *of)
{
	death_let_die(of->target);
	return NULL;
}

static void check_held(void (*body)(void *arg), int signal, bool release)
{
	if (!begin(body))
		return;
	come(signal);
	victim_run(&victim, look);
	victim_remote(&victim, call_once);
	victim_run(&victim, look);
	if (!release) {
		victim_run(&victim, let_die);
		victim_resume(&victim);
	} else {
		victim_release(&victim);
	}
	CU_ASSERT_EQUAL(status_of(!release), signal);
	if (!release)
		victim_forget(&victim);
}

TEST("held, looked at, and let die")
{
	check_held(die_of_abort, SIGABRT, false);
	check_held(die_of_fault, SIGSEGV, false);
	check_held(die_while_blocked, SIGILL, false);
	check_held(die_the_second_time, SIGQUIT, false);
}

TEST("released while it is held")
{
	check_held(die_of_abort, SIGABRT, true);
	check_held(die_of_fault, SIGSEGV, true);
	check_held(die_while_blocked, SIGILL, true);
}

static void check_not_held(void (*body)(void *arg), int status)
{
	if (!begin(body))
		return;
	close(child.end);
	CU_ASSERT_EQUAL(status_of(true), status);
	CU_ASSERT_EQUAL(victim.held, 0);
	victim_forget(&victim);
}

TEST("what is no death")
{
	check_not_held(live_on, 7 << 8);
	check_not_held(end_by_term, SIGTERM);
}
