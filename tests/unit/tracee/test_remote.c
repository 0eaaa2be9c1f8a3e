/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Remote calls that do not come back in time. */

#include "tracee/remote.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include "base/cleanup.h"
#include "child.h"
#include "os/procfs.h"
#include "unit.h"
#include "victim.h"

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH	59
#define PR_SYS_DISPATCH_ON		1
#endif

#define LIMIT_NS	1000000000ull	/* enough to enter a call on a busy machine */
#define FUNCTION_ROOM	16384u

static struct shared {
	atomic_uint rounds;	/* of the child's work */
	atomic_bool end;
	atomic_uchar selector;	/* of system calls: 0 if they are let through */
	atomic_ulong called;	/* with what a function was */
	atomic_bool lost;	/* a vector register was not as before */
} *shared;

CHILD_SHARED(shared);
static struct victim victim;
static struct child child;
static bool is_hidden;		/* the restorer, from mdbg */

/* Works on its stack, in calls, without a system call. */
static unsigned work(unsigned depth)
{
	volatile unsigned char block[64];

	for (unsigned i = 0; i < sizeof(block); i++)
		block[i] = (unsigned char)(depth + i);
	if (depth && work(depth - 1) != depth - 1)
		_Exit(2);
	for (unsigned i = 0; i < sizeof(block); i++)
		if (block[i] != (unsigned char)(depth + i))
			_Exit(3);
	return depth;
}

static void worker(void *arg UNUSED)
{
	child_ready(1);
	while (!atomic_load(&shared->end)) {
		work(50);
		atomic_fetch_add(&shared->rounds, 1);
	}
	child_wait();
}

/* Whatever libc has, no code is what this processor would have for a restorer. */
static void hide_restorer(void)
{
	static struct arch arch;

	arch = *victim.target->arch;
	memset(arch.restorer_gadget, 0xf1, sizeof(arch.restorer_gadget));
	arch.restorer_gadget_len = sizeof(arch.restorer_gadget);
	victim.target->arch = &arch;
	victim.target->gadgets = (struct gadgets){ 0 };
}

static bool seize(void)
{
	if (!victim_seize(&victim, child.pid))
		return false;
	if (is_hidden)
		hide_restorer();
	return true;
}

static void release(void)
{
	CU_ASSERT_EQUAL(!victim.target->gadgets.restorer, is_hidden);
	CU_ASSERT_EQUAL(!victim.target->gadgets.pop, !is_hidden);
	victim_release(&victim);
}

static bool begin_with(void (*fn)(void *arg))
{
	uint64_t word;

	memset(shared, 0, sizeof(*shared));
	CU_ASSERT_TRUE_FATAL(child_start(&child, fn, NULL));
	CU_ASSERT_TRUE_FATAL(child_word(&child, &word));
	while (!atomic_load(&shared->rounds) && !kill(child.pid, 0))
		;
	if (seize())
		return true;
	kill(child.pid, SIGKILL);
	child_end(&child);
	return false;
}

static bool begin(void)
{
	return begin_with(worker);
}

static void works_on(void)
{
	child_works(&child, &shared->rounds, 1000);
	atomic_store(&shared->end, true);
	CU_ASSERT_EQUAL(child_end(&child), 0);
}

static struct err *pauses(struct victim *v)
{
	uint64_t unused;

	v->remote.limit = LIMIT_NS;
	return remote_syscall(&v->remote, &unused, SYS_pause);
}

/* As in a frozen control group: an interrupt brings it back. */
static void broken_off(void)
{
	struct err *err;

	if (!begin())
		return;
	err = victim_try(&victim, pauses);
	CU_ASSERT_FATAL(err && err->code == ERR_TIMEOUT);
	CU_ASSERT_PTR_NOT_NULL(thread_any_stopped(victim.target));
	release();
	works_on();
}

TEST("a call that is broken off")
{
	broken_off();
}

static struct err *is_stopped_meanwhile(struct victim *v)
{
	uint64_t unused;

	kill(v->pid, SIGSTOP);
	return remote_syscall(&v->remote, &unused, SYS_getpid);
}

static struct err *is_continued_meanwhile(struct victim *v)
{
	struct err *err = is_stopped_meanwhile(v);

	kill(v->pid, SIGCONT);
	return err;
}

static bool is_stopped(pid_t pid)
{
	struct proc_stat stat;

	return !procfs_stat(pid, &stat) && stat.state == 'T';
}

/* A SIGSTOP that comes in a call has its effect after it, ... */
TEST("a SIGSTOP meanwhile")
{
	if (!begin())
		return;
	CU_ASSERT_PTR_NULL(victim_try(&victim, is_stopped_meanwhile));
	release();
	while (!is_stopped(child.pid))
		;
	kill(child.pid, SIGCONT);
	works_on();
}

/* ... but not if a SIGCONT comes behind it. */
TEST("and a SIGCONT")
{
	if (!begin())
		return;
	CU_ASSERT_PTR_NULL(victim_try(&victim, is_continued_meanwhile));
	release();
	works_on();
}

static struct err *asks(struct victim *v)
{
	uint64_t pid;
	struct err *err = remote_syscall(&v->remote, &pid, SYS_getpid);

	CU_ASSERT_TRUE(err || pid == (uint64_t)v->pid);
	return err;
}

/* With SP in the lowest page of its stack, which has not grown further. */
static void worker_at_the_end(void *arg UNUSED)
{
	child_ready(1);
	__asm__ volatile("mov %%rsp, %%rbx\n\t"
			 "sub $0x200000, %%rsp\n\t"
			 "and $-4096, %%rsp\n\t"
			 "add $256, %%rsp\n"
			 "1:\tincl (%%rsp)\n\t"
			 "incl (%0)\n\t"
			 "cmpb $0, (%1)\n\t"
			 "je 1b\n\t"
			 "mov %%rbx, %%rsp"
			 : : "r"(&shared->rounds), "r"(&shared->end) : "rbx", "cc", "memory");
	child_wait();
}

/* As at the deepest point of a recursion: the stack grows, as it would for the thread itself. */
TEST("at the end of a stack")
{
	if (!begin_with(worker_at_the_end))
		return;
	CU_ASSERT_PTR_NULL(victim_try(&victim, asks));
	release();
	works_on();
}

/* There is no code at the place of the system call any more. */
static struct err *cannot_call(struct victim *v)
{
	uint64_t unused;

	v->remote.call_pc = (uintptr_t)shared;
	return remote_syscall(&v->remote, &unused, SYS_getpid);
}

/* SIGSEGV would come again and again: the call ends with the first one, and the thread is as it was. */
TEST("a call that faults")
{
	struct err *err;

	if (!begin())
		return;
	err = victim_try(&victim, cannot_call);
	CU_ASSERT_FATAL(err && err->code == ERR_STATE);
	CU_ASSERT_PTR_NOT_NULL(strstr(err->msg, "SIGSEGV"));
	CU_ASSERT_PTR_NULL(victim_try(&victim, asks));
	release();
	works_on();
}

/* Sends signals that stop a process, and those that let it go on, as fast as it can. */
static void storm(void *arg)
{
	pid_t pid = *(pid_t *)arg;

	child_ready(1);
	while (!atomic_load(&shared->end)) {
		kill(pid, SIGSTOP);
		kill(pid, SIGCONT);
	}
	child_wait();
}

TEST("stops without end meanwhile")
{
	struct child sender;
	uint64_t word;

	if (!begin())
		return;
	CU_ASSERT_TRUE_FATAL(child_start(&sender, storm, &child.pid));
	CU_ASSERT_TRUE_FATAL(child_word(&sender, &word));
	for (int i = 0; i < 100; i++)
		CU_ASSERT_PTR_NULL(victim_try(&victim, asks));
	atomic_store(&shared->end, true);
	CU_ASSERT_EQUAL(child_end(&sender), 0);
	atomic_store(&shared->end, false);
	release();
	kill(child.pid, SIGCONT);
	works_on();
}

static struct err *vforks(struct victim *v)
{
	uint64_t unused;

	v->remote.limit = LIMIT_NS;
	return remote_syscall(&v->remote, &unused, SYS_vfork);
}

/* Uninterruptible, as long as its child lives, which is never let run. */
static void stuck(void (*fn)(void *arg))
{
	struct proc_tasks children = { VEC_INIT };
	struct err *err;

	if (!begin_with(fn))
		return;
	err = victim_try(&victim, vforks);
	CU_ASSERT_FATAL(err && err->code == ERR_TIMEOUT);
	CU_ASSERT_EQUAL(thread_find(victim.target, child.pid)->state, THREAD_STUCK);
	CU_ASSERT_PTR_NULL(procfs_children(child.pid, &children));
	CU_ASSERT_EQUAL_FATAL(children.vec.nr, 1);
	kill(children.vec.at[0], SIGKILL);
	vec_free(&children.vec);
	release();
	works_on();
}

static void thread_stuck(void)
{
	stuck(worker);
}

TEST("a thread that does not come back")
{
	thread_stuck();
}

/* Are the halves of a vector register that SSE does not know kept, for some 100 us? */
static bool keeps_vector(void)
{
	static const uint64_t is[4] = { 1, 2, 3, 4 };
	uint64_t was[4] = { 0 }, turns = 100000;

	__asm__ volatile("vmovdqu (%[is]), %%ymm15\n"
			 "1:	dec %[turns]\n"
			 "	jnz 1b\n"
			 "	vmovdqu %%ymm15, (%[was])\n"
			 "	vzeroupper\n"
			 : [turns] "+r"(turns)
			 : [is] "r"(is), [was] "r"(was)
			 : "memory", "cc", "xmm15");
	return !memcmp(is, was, sizeof(is));
}

static void vector_keeper(void *arg UNUSED)
{
	child_ready(1);
	while (!atomic_load(&shared->end)) {
		if (!keeps_vector())
			_Exit(4);
		atomic_fetch_add(&shared->rounds, 1);
	}
	child_wait();
}

TEST("and one that has vector registers")
{
	if (!__builtin_cpu_supports("avx"))
		unit_skip("no AVX");
	else
		stuck(vector_keeper);
}

/* Protection keys: it works on a stack of its own making, and has no access to that which it was made with. */
static struct {
	ucontext_t before, on;
	int key;
} apart;

static void protect_first_stack(int key)
{
	CLEANUP(procparse_maps_free) struct proc_maps maps = { VEC_INIT };

	if (procfs_maps(getpid(), &maps))
		_Exit(4);
	vec_each(map, &maps.vec)
		if (!strcmp(map->path, "[stack]") &&
		    pkey_mprotect((void *)(uintptr_t)map->start, map->end - map->start,
				  PROT_READ | PROT_WRITE, key))
			_Exit(4);
}

static void on_other_stack(void)
{
	protect_first_stack(apart.key);
	child_ready(1);
	while (!atomic_load(&shared->end)) {
		work(50);
		if (pkey_get(apart.key) != PKEY_DISABLE_ACCESS)
			_Exit(5);
		atomic_fetch_add(&shared->rounds, 1);
	}
	child_wait();
	pkey_set(apart.key, 0);
}

static void kept_apart(void *arg UNUSED)
{
	apart.key = pkey_alloc(0, PKEY_DISABLE_ACCESS);
	getcontext(&apart.on);
	apart.on.uc_stack.ss_size = 1 << 20;
	apart.on.uc_stack.ss_sp = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE,
				       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	apart.on.uc_link = &apart.before;
	makecontext(&apart.on, on_other_stack, 0);
	swapcontext(&apart.before, &apart.on);
}

static struct err *asks_for_time(struct victim *v)
{
	struct timespec time = { 0 };
	uint64_t at, unused;
	struct err *err = remote_scratch(&v->remote, &time, sizeof(time), &at);

	return err ? err : remote_syscall(&v->remote, &unused, SYS_clock_gettime, CLOCK_REALTIME, at);
}

static bool has_keys(void)
{
	int key = pkey_alloc(0, 0);

	if (key < 0)
		unit_skip("no protection keys");
	else
		pkey_free(key);
	return key >= 0;
}

TEST("a thread that has kept itself from the memory of its frame")
{
	if (!has_keys() || !begin_with(kept_apart))
		return;
	for (int i = 0; i < 10; i++)
		CU_ASSERT_PTR_NULL(victim_try(&victim, asks_for_time));
	release();
	works_on();
}

TEST("and one that restores itself")
{
	if (has_keys())
		stuck(kept_apart);
}

static void dispatcher(void *arg)
{
	bool can = !prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, 0, 0,
			  &shared->selector);

	child_ready(can);
	atomic_store(&shared->selector, (unsigned char)(uintptr_t)arg);
	while (can && !atomic_load(&shared->end)) {
		work(50);
		atomic_fetch_add(&shared->rounds, 1);
	}
	atomic_store(&shared->selector, 0);
	child_wait();
}

static void dispatch(uintptr_t selector)
{
	struct err *err;
	uint64_t can;

	memset(shared, 0, sizeof(*shared));
	CU_ASSERT_TRUE_FATAL(child_start(&child, dispatcher, (void *)selector));
	CU_ASSERT_TRUE_FATAL(child_word(&child, &can));
	while (can && atomic_load(&shared->rounds) < 2)
		;
	if (!can || !victim_seize(&victim, child.pid)) {
		atomic_store(&shared->end, true);
		child_end(&child);
		if (!can)
			unit_skip("no system call dispatch");
		return;
	}
	err = victim_try(&victim, asks);
	if (selector)
		CU_ASSERT_TRUE(err && err->code == ERR_UNSUPPORTED);
	if (!selector)
		CU_ASSERT_PTR_NULL(err);
	release();
	works_on();
}

TEST("a thread whose calls come back as SIGSYS")
{
	dispatch(1);
}

TEST("one whose calls do not at the moment")
{
	dispatch(0);
}

/* What a call may change that no system call does. */
static void be_called(unsigned long arg)
{
	for (unsigned i = 0; i < 3; i++)
		syscall(SYS_getppid);
	__asm__ volatile("pxor %%xmm6, %%xmm6\n\tpxor %%xmm15, %%xmm15\n\t" : : : "xmm6", "xmm15");
	atomic_store(&shared->called, arg);
}

/* Keeps two vector registers all the time. */
static void keeper(void *arg UNUSED)
{
	uint64_t word[2] = { 0x123456789abcdef0, 0xfedcba9876543210 }, low, high;

	child_ready(1);
	__asm__ volatile("movq %0, %%xmm6\n\tmovq %1, %%xmm15" : : "r"(word[0]), "r"(word[1])
			 : "xmm6", "xmm15");
	while (!atomic_load(&shared->end)) {
		__asm__ volatile("movq %%xmm6, %0\n\tmovq %%xmm15, %1" : "=r"(low), "=r"(high));
		if (low != word[0] || high != word[1])
			atomic_store(&shared->lost, true);
		atomic_fetch_add(&shared->rounds, 1);
	}
	child_wait();
}

static struct err *calls(struct victim *v)
{
	struct err *err = remote_function(&v->remote, (uintptr_t)be_called,
					  (const uint64_t[]){ 42 }, 1);
	uint64_t pid;

	/* And the thread makes calls as before. */
	if (!err)
		err = remote_syscall(&v->remote, &pid, SYS_getpid);
	CU_ASSERT_TRUE(err || pid == (uint64_t)v->pid);
	return err;
}

static void function(void)
{
	uint64_t word;

	memset(shared, 0, sizeof(*shared));
	CU_ASSERT_TRUE_FATAL(child_start(&child, keeper, NULL));
	CU_ASSERT_TRUE_FATAL(child_word(&child, &word));
	while (atomic_load(&shared->rounds) < 2)
		;
	if (!seize()) {
		atomic_store(&shared->end, true);
		child_end(&child);
		return;
	}
	victim.room = FUNCTION_ROOM;
	CU_ASSERT_PTR_NULL(victim_try(&victim, calls));
	CU_ASSERT_EQUAL(atomic_load(&shared->called), 42);
	release();
	works_on();
	CU_ASSERT_FALSE(atomic_load(&shared->lost));
}

TEST("a function")
{
	function();
}

static void never_return(unsigned long arg UNUSED)
{
	while (!atomic_load(&shared->called))
		;
}

static struct err *waits(struct victim *v)
{
	v->remote.limit = LIMIT_NS;
	return remote_function(&v->remote, (uintptr_t)never_return, NULL, 0);
}

/* It may hold a lock: it is not broken off, and comes back by itself, though nobody waits any more. */
static void function_stuck(void)
{
	struct err *err;

	if (!begin())
		return;
	victim.room = FUNCTION_ROOM;
	err = victim_try(&victim, waits);
	CU_ASSERT_FATAL(err && err->code == ERR_TIMEOUT);
	CU_ASSERT_EQUAL(thread_find(victim.target, child.pid)->state, THREAD_STUCK);
	atomic_store(&shared->called, 1);
	release();
	works_on();
}

TEST("a function that does not come back")
{
	function_stuck();
}

/* What comes back by itself does so by way of the frame. */
TEST("and in a program without a restorer")
{
	is_hidden = true;
	broken_off();
	thread_stuck();
	function();
	function_stuck();
	is_hidden = false;
}
