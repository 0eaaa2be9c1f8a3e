/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where frames of remote calls lie, and what is there afterwards, also if mdbg is killed. */

#include "tracee/frame_place.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include "base/cleanup.h"
#include "base/page.h"
#include "child.h"
#include "os/procfs.h"
#include "os/tracer.h"
#include "tracee/previous/previous_journal.h"
#include "unit.h"
#include "victim.h"

#define STACK	2048u
#define DATA	0xa5
#define DEEP	(300u << 10)	/* more than the kernel maps for a stack at first */

/* A stack in the midst of data. */
struct bytes {
	unsigned char below[24576], stack[STACK], above[4096];
};

enum where { PLAIN, STATIC, LOCAL, BLOCK, THREAD };

static struct shared {
	atomic_uint rounds;
	atomic_bool end, deep;
} *shared;

CHILD_SHARED(shared);
static struct victim victim;
static struct child child;
static uint64_t worker_tid;
static struct bytes static_room;
static ucontext_t home, coroutine;

static void spin(void)
{
	while (!atomic_load(&shared->end))
		atomic_fetch_add(&shared->rounds, 1);
}

static void run_coroutine(void)
{
	spin();
	swapcontext(&coroutine, &home);
}

static void work_in(struct bytes *room)
{
	memset(room, DATA, sizeof(*room));
	if (getcontext(&coroutine))
		_exit(2);
	coroutine.uc_stack.ss_sp = room->stack;
	coroutine.uc_stack.ss_size = STACK;
	makecontext(&coroutine, run_coroutine, 0);
	swapcontext(&home, &coroutine);
	for (size_t i = 0; i < sizeof(room->below); i++)
		if (room->below[i] != DATA)
			_exit(3);
	for (size_t i = 0; i < sizeof(room->above); i++)
		if (room->above[i] != DATA)
			_exit(4);
}

static void work_in_frame(void)
{
	struct bytes room;

	work_in(&room);
}

static void *be_thread(void *arg UNUSED)
{
	child_ready((uint64_t)gettid());
	work_in(&static_room);
	return NULL;
}

static void work_in_thread(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, be_thread, NULL) || pthread_join(thread, NULL))
		_exit(2);
}

static void __attribute__((noinline)) go_deep(void)
{
	volatile unsigned char bytes[DEEP];

	for (size_t i = 0; i < sizeof(bytes); i += 1024)
		bytes[i] = 1;
}

/*
 * The program of the tests, whose stack this is, may have touched all of it before: large frames of a
 * sanitizer do. What is far below SP is given back.
 */
static void make_room(void)
{
	CLEANUP(procparse_maps_free) struct proc_maps maps = { VEC_INIT };
	uint64_t sp = (uintptr_t)__builtin_frame_address(0) - (64u << 10);

	go_deep();
	if (procfs_maps(getpid(), &maps))
		_exit(5);
	vec_each(map, &maps.vec)
		if (sp >= map->start && sp < map->end &&
		    madvise((void *)map->start, ALIGN_DOWN(sp, PAGE) - map->start, MADV_DONTNEED))
			_exit(6);
}

static void worker(void *arg)
{
	enum where where = (enum where)(uintptr_t)arg;

	if (atomic_load(&shared->deep))
		go_deep();
	else
		make_room();
	if (where == THREAD)
		work_in_thread();
	else
		child_ready((uint64_t)getpid());
	if (where == PLAIN)
		spin();
	if (where == STATIC)
		work_in(&static_room);
	if (where == LOCAL)
		work_in_frame();
	if (where == BLOCK)
		work_in(malloc(sizeof(struct bytes)));
	child_wait();
}

static bool seize(void)
{
	if (victim_seize(&victim, child.pid))
		return true;
	atomic_store(&shared->end, true);
	child_end(&child);
	return false;
}

static bool begin(enum where where, bool deep)
{
	memset(shared, 0, sizeof(*shared));
	atomic_store(&shared->deep, deep);
	CU_ASSERT_TRUE_FATAL(child_start(&child, worker, (void *)where));
	CU_ASSERT_TRUE_FATAL(child_word(&child, &worker_tid));
	while (atomic_load(&shared->rounds) < 2)
		;
	return seize();
}

/* The thread goes on where it was, and all data is as it was. */
static void works_on(void)
{
	child_works(&child, &shared->rounds, 1000);
	atomic_store(&shared->end, true);
	CU_ASSERT_EQUAL(child_end(&child), 0);
}

static struct err *borrow(struct victim *v)
{
	return remote_borrow_begin(thread_find(v->target, (pid_t)worker_tid), &v->remote);
}

static struct err *ask(struct remote *remote)
{
	uint64_t unused;

	return remote_syscall(remote, &unused, SYS_getppid);
}

/* As when mdbg is killed: the kernel lets all threads go as they are. */
static void let_go(struct target *target)
{
	struct thread *thread;

	for_each_thread(thread, target)
		CU_ASSERT_PTR_NULL(tracer_detach(thread->tid, 0));
	thread_forget(target);
}

static struct err *be_killed(struct victim *v)
{
	struct err *err = borrow(v);

	if (!err)
		err = ask(&v->remote);
	let_go(v->target);
	return err;
}

static struct err *be_killed_early(struct victim *v)
{
	struct err *err = borrow(v);

	let_go(v->target);
	return err;
}

static void killed(enum where where, struct err *(*be)(struct victim *v))
{
	if (!begin(where, false))
		return;
	victim_run(&victim, be);
	CU_ASSERT_EQUAL(victim.remote.place.rank, FRAME_SPARE);
	victim_forget(&victim);
	works_on();
}

TEST("mdbg is killed in a call on a small stack")
{
	for (enum where where = PLAIN; where <= THREAD; where++) {
		killed(where, be_killed);
		killed(where, be_killed_early);
	}
}

static struct err *make_call(struct victim *v)
{
	struct err *err = borrow(v);

	if (err)
		return err;
	err = ask(&v->remote);
	return err_first(err, remote_end(&v->remote));
}

static uint64_t place_of_call(void)
{
	victim_run(&victim, make_call);
	CU_ASSERT_EQUAL(victim.remote.place.rank, FRAME_SPARE);
	return victim.remote.place.low;
}

static struct err *await_calls(struct victim *v)
{
	return previous_journal_await_calls(v->target);
}

/* By each call, by the next mdbg, and by the one after a mdbg that was killed. */
TEST("spare pages are taken again")
{
	uint64_t low;

	if (!begin(STATIC, false))
		return;
	low = place_of_call();
	CU_ASSERT_EQUAL(place_of_call(), low);
	victim_release(&victim);
	if (!seize())
		return;
	CU_ASSERT_EQUAL(place_of_call(), low);
	victim_run(&victim, be_killed_early);
	victim_forget(&victim);
	if (!seize())
		return;
	victim_run(&victim, await_calls);
	CU_ASSERT_EQUAL(place_of_call(), low);
	victim_release(&victim);
	works_on();
}

/* A killed mdbg's call is not made yet. */
static struct err *call_within(struct victim *v)
{
	struct thread *thread = thread_find(v->target, (pid_t)worker_tid);
	uint64_t low;
	struct err *err = borrow(v);

	low = v->remote.place.low;
	if (!err)
		err = ptrace_get_regs(thread->tid, &thread->regs);
	if (!err)
		err = make_call(v);
	CU_ASSERT_EQUAL(v->remote.place.rank, FRAME_SPARE);
	CU_ASSERT_NOT_EQUAL(v->remote.place.low, low);
	let_go(v->target);
	return err;
}

TEST("but not in the middle of another call")
{
	if (!begin(STATIC, false))
		return;
	victim_run(&victim, call_within);
	victim_forget(&victim);
	works_on();
}

/* All of the stack was touched. */
TEST("a stack that was touched")
{
	static const struct { enum where where; enum frame_rank rank; } is[] = {
		{ PLAIN, FRAME_BELOW }, { STATIC, FRAME_ANYWHERE },
	};

	for (size_t i = 0; i < ARRAY_SIZE(is); i++) {
		if (!begin(is[i].where, true))
			return;
		victim_run(&victim, make_call);
		CU_ASSERT_EQUAL(victim.remote.place.rank, is[i].rank);
		victim_release(&victim);
		works_on();
	}
}

/* A function is never called on a stack whose end is not known. */
static struct err *borrow_deep(struct victim *v)
{
	struct thread *thread = thread_find(v->target, (pid_t)worker_tid);
	struct remote *remote;
	struct err *err = remote_borrow_deep(thread, 32768, &remote);

	CU_ASSERT_EQUAL(!err, !atomic_load(&shared->deep));
	if (err)
		return err->code == ERR_MEMORY ? NULL : err;
	CU_ASSERT_TRUE(remote->frame - remote->place.low >= 32768);
	return remote_borrow_give_back(remote, NULL);
}

TEST("room for a function")
{
	for (int deep = 0; deep < 2; deep++) {
		if (!begin(STATIC, deep))
			return;
		victim_run(&victim, borrow_deep);
		victim_release(&victim);
		works_on();
	}
}
