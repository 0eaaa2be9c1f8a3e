/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whose event it is: threads, those that come after on the same stack, signal handlers, forked
 * children, and those that cannot be told.
 */

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/ucontext.h>
#include <sys/wait.h>

#include "agent/agent.h"
#include "unit.h"
#include "world.h"

FIXTURE(world_create, world_destroy);

EACH(world_reset, NULL);

#define A	0x10000ull
#define B	0x20000ull

static uint64_t account(unsigned what)
{
	struct log_accounts accounts = reader_accounts(&world.log);

	return ((const uint64_t *)&accounts)[what];
}

#define ACCOUNT(field)	account(LOG_ACCOUNT(field))

static uint32_t thread_of(uint64_t block)
{
	struct log_record record = { .thread = UINT32_MAX };

	CU_ASSERT(log_record_lookup(&world.log, block, &record));
	return record.thread;
}

static void run(void *(*fn)(void *), pthread_attr_t *attr)
{
	pthread_t thread;

	CU_ASSERT_FATAL(!pthread_create(&thread, attr, fn, NULL));
	pthread_join(thread, NULL);
}

TEST("registry")
{
	struct log_thread_view view;

	world_new(3, MALLOC, 10, A);
	view = reader_thread(&world.log, thread_of(A));
	CU_ASSERT_EQUAL(view.lwp, (uint32_t)gettid());
	CU_ASSERT_EQUAL(view.thread_pointer, (uintptr_t)__builtin_thread_pointer());
	CU_ASSERT_PTR_NOT_NULL_FATAL(world_thread());
	CU_ASSERT_EQUAL(world_thread()->ledger.lwp, view.lwp);
	CU_ASSERT_EQUAL(world_thread()->ledger.busy, 0);
	CU_ASSERT_EQUAL(world_thread()->ledger.inserted, A);
}

static void *bounds_of_thread(void *unused)
{
	struct agent_frame frame = { .return_address = WORLD_RA };
	const struct agent_thread *thread;

	world_leave(&frame, MALLOC, A);
	thread = world_thread();
	CU_ASSERT_PTR_NOT_NULL_FATAL(thread);
	CU_ASSERT(thread->ledger.stack_low && thread->ledger.stack_low < (uintptr_t)&frame);
	CU_ASSERT(thread->ledger.stack_high > (uintptr_t)(&frame + 1));
	/* A stack that is not the thread's own: bounds stay as they are. */
	world_new(3, MALLOC, 10, B);
	CU_ASSERT(thread->ledger.stack_low < (uintptr_t)&frame);
	return unused;
}

TEST("bounds")
{
	struct agent_frame frame = { .return_address = WORLD_RA };

	if (!world.state->stack_offset || !world.state->tid_offset) {
		unit_skip("this libc's control block is not known");
		return;
	}
	run(bounds_of_thread, NULL);
	/* The main thread's block has no stack; but mdbg knows it. */
	world_leave(&frame, MALLOC, A);
	CU_ASSERT_EQUAL(world_thread()->ledger.stack_high, 0);
	world.state->main_low = (uintptr_t)&frame - 4096;
	world.state->main_high = (uintptr_t)(&frame + 1);
	world_leave(&frame, MALLOC, A);
	CU_ASSERT_EQUAL(world_thread()->ledger.stack_high, world.state->main_high);
}

static void *first_on_stack(void *unused)
{
	world_new(3, MALLOC, 10, A);
	world_begin(3, REALLOC, A, 20, 0);
	world_begin(5, REALLOC, 0, 20, 0);
	world_thread()->ledger.stack_low = (uintptr_t)world.stack_end;
	world_thread()->ledger.stack_high = (uintptr_t)world.stack_end + 1;
	world_thread()->ledger.busy = 1;	/* it dies in the agent */
	return unused;
}

static void *second_on_stack(void *unused)
{
	world_new(3, MALLOC, 30, B);
	CU_ASSERT_EQUAL(world_thread()->ledger.busy, 0);
	CU_ASSERT_EQUAL(world_thread()->ledger.lwp, (uint32_t)gettid());
	CU_ASSERT_EQUAL(world_thread()->ledger.stack_high, 0);
	CU_ASSERT_EQUAL(reader_thread(&world.log, thread_of(B)).lwp, (uint32_t)gettid());
	return unused;
}

/* Another thread at the same thread pointer: what the first had under way is void. */
TEST("another on the same stack")
{
	const size_t len = 1 << 20;
	void *stack = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_attr_t attr;

	CU_ASSERT_NOT_EQUAL_FATAL(stack, MAP_FAILED);
	pthread_attr_init(&attr);
	pthread_attr_setstack(&attr, stack, len);
	run(first_on_stack, &attr);
	CU_ASSERT_EQUAL(ACCOUNT(voided), 0);
	run(second_on_stack, &attr);
	CU_ASSERT_EQUAL(ACCOUNT(voided), 2);
	CU_ASSERT_EQUAL(ACCOUNT(frees), 1);
	CU_ASSERT_EQUAL(ACCOUNT(allocs), 2);
	CU_ASSERT_EQUAL(thread_of(B), 2);
	pthread_attr_destroy(&attr);
	munmap(stack, len);
}

static void *take_over(void *unused)
{
	world_free(3, FREE, A);
	world_new(3, MALLOC, 20, A);
	return unused;
}

/* The last block, which another thread has had meanwhile, was not made inside this call. */
TEST("the last block of another")
{
	world_new(9, MALLOC, 10, A);
	run(take_over, NULL);
	world_new(3, MALLOC, 30, A);
	CU_ASSERT_EQUAL(ACCOUNT(allocs), 3);
	CU_ASSERT_EQUAL(ACCOUNT(replaced), 1);
	CU_ASSERT_EQUAL(ACCOUNT(nested), 0);
}

/* Everything without a state: recorded with entry 0. */
static void events_alone(void)
{
	struct log_record before = { 0 }, after = { 0 };

	world_new(3, MALLOC, 10, A);
	CU_ASSERT_EQUAL(thread_of(A), 0);
	CU_ASSERT(log_record_lookup(&world.log, A, &before));
	world_begin(3, REALLOC, A, 1000, 0);
	world_end(3, REALLOC, 0);
	CU_ASSERT(log_record_lookup(&world.log, A, &after));
	CU_ASSERT(before.size == after.size && before.time == after.time &&
		  before.stack == after.stack);
	world_begin(3, REALLOC, A, 30, 0);
	world_end(3, REALLOC, B);
	CU_ASSERT_EQUAL(thread_of(B), 0);
	world_begin(3, REALLOC, A, 40, 0);	/* not known */
	world_end(3, REALLOC, 0);
	CU_ASSERT_EQUAL(world_begin(3, NEW, 10, 0, 0), 1);
	world_free(3, FREE, 0);
	world_free(3, DELETE, B);
	CU_ASSERT_EQUAL(ACCOUNT(allocs), 2);
	CU_ASSERT_EQUAL(ACCOUNT(frees), 2);
	CU_ASSERT_EQUAL(ACCOUNT(alloc_bytes), 40);
	CU_ASSERT_EQUAL(ACCOUNT(free_bytes), 40);
	CU_ASSERT_EQUAL(ACCOUNT(failed), 2);
	CU_ASSERT_EQUAL(ACCOUNT(unknown_frees), 1);
	CU_ASSERT_EQUAL(ACCOUNT(null_frees), 1);
	CU_ASSERT_EQUAL(ACCOUNT(voided), 1);
	CU_ASSERT_EQUAL(reader_live(&world.log), 0);
}

TEST("unknown thread pointer")
{
	uint32_t self = world.state->self_offset;

	world.state->self_offset = world.state->tid_offset;	/* a word that is no pointer */
	events_alone();
	CU_ASSERT_PTR_NULL(world_thread());
	world.state->self_offset = self;
	world_reset();
	world_threads(NULL);
	events_alone();
	world_threads(world.threads);
}

TEST("busy")
{
	world_free(3, FREE, 0);		/* claims the state */
	CU_ASSERT_PTR_NOT_NULL_FATAL(world_thread());
	world_thread()->ledger.busy = 1;
	log_reset(&world.log);
	events_alone();
	CU_ASSERT_EQUAL(world_thread()->ledger.busy, 1);
	world_thread()->ledger.busy = 0;
	world_new(3, MALLOC, 10, A);
	CU_ASSERT_EQUAL(thread_of(A), 1);
}

/* All places in which the thread may be are taken. */
TEST("no place")
{
	uint32_t at;

	world_free(3, FREE, 0);
	CU_ASSERT_PTR_NOT_NULL_FATAL(world_thread());
	at = (uint32_t)(world_thread() - world.threads);
	world_reset();
	for (uint32_t i = 0; i < AGENT_THREAD_WAYS; i++)
		world.threads[(at + i) % AGENT_THREADS].ledger.key = 1;
	events_alone();
	/* One is free, behind others. */
	world_reset();
	for (uint32_t i = 0; i < AGENT_THREAD_WAYS - 1; i++)
		world.threads[(at + i) % AGENT_THREADS].ledger.key = 1;
	world_new(3, MALLOC, 10, A);
	world_new(3, MALLOC, 10, B);
	CU_ASSERT_EQUAL(thread_of(A), 1);
	CU_ASSERT_EQUAL(thread_of(B), 1);
	CU_ASSERT_PTR_EQUAL(world_thread(),
			    &world.threads[(at + AGENT_THREAD_WAYS - 1) % AGENT_THREADS]);
}

static void child_of_fork(void)
{
	if (world.state->enabled || !world.state->probe[MALLOC].state)
		_exit(1);
	munmap(world.log.base, world.log.size);
	munmap(world.threads, AGENT_THREADS * sizeof(struct agent_thread));
	world_new(3, MALLOC, 10, B);
	if (!world_enter(world_frame(3), REALLOC) || !world_enter(world_frame(3), NEW))
		_exit(2);
	world_end(3, REALLOC, B);
	world_free(3, FREE, A);
	_exit(0);
}

TEST("forked child")
{
	struct log_accounts before, after;
	int status = -1;
	pid_t pid;

	world_new(3, MALLOC, 10, A);
	world_begin(3, REALLOC, A, 20, 0);
	before = reader_accounts(&world.log);
	pid = fork();
	CU_ASSERT_FATAL(pid >= 0);
	if (!pid)
		child_of_fork();
	CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
	CU_ASSERT_EQUAL(status, 0);
	after = reader_accounts(&world.log);
	CU_ASSERT(!memcmp(&before, &after, sizeof(before)));
	world_end(3, REALLOC, B);
	CU_ASSERT_EQUAL(reader_live(&world.log), 1);
}

#define THREADS		2
#define EVENTS		1000000
#define WINDOW		512

static atomic_bool failed;

/* Events of one thread on its own stack, with its own blocks; the last WINDOW stay. */
static void churn(uint64_t base, uint64_t nr)
{
	struct agent_frame frame = { .return_address = WORLD_RA };
	uint64_t sp = (uintptr_t)&frame.return_address, last = 0;
	struct log_record record;

	for (uint64_t i = 0; i < nr; i++) {
		uint64_t block = base + i % WINDOW * 112;

		frame.return_address = WORLD_RA + i % 7;
		if (i >= WINDOW)
			world_release(sp, FREE, block);
		frame.arg[0] = i % 100;
		world_leave(&frame, MALLOC, block);
		if (i % 64 == 0 && (!log_record_lookup(&world.log, block, &record) ||
				    record.size != i % 100 || record.time <= last))
			atomic_store(&failed, true);
		if (i % 64 == 0)
			last = record.time;
	}
}

static void *churn_thread(void *base)
{
	churn((uintptr_t)base, EVENTS);
	return NULL;
}

static void add_blocks(uint32_t stack, uint64_t blocks, uint64_t bytes, void *ctx)
{
	(void)stack, (void)bytes;
	*(uint64_t *)ctx += blocks;
}

/* Of all stacks, in the table and in the threads' unwind caches. */
static uint64_t stack_totals(void)
{
	uint64_t blocks = 0;

	for (uint32_t i = 1; i <= reader_stacks(&world.log); i++)
		blocks += reader_stack(&world.log, i).total;
	for (uint32_t i = 0; i < AGENT_THREADS; i++)
		if (world.threads[i].ledger.key)
			unwind_cache_each(&world.threads[i].cache, add_blocks, &blocks);
	return blocks;
}

TEST("in parallel")
{
	uint64_t bytes = 0;
	pthread_t thread[THREADS];

	atomic_store(&failed, false);
	for (uint64_t i = 0; i < THREADS; i++)
		CU_ASSERT_FATAL(!pthread_create(&thread[i], NULL, churn_thread,
						(void *)(uintptr_t)((i + 1) << 32)));
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	for (uint64_t i = 0; i < EVENTS; i++)
		bytes += i % 100;
	CU_ASSERT(!atomic_load(&failed));
	CU_ASSERT_EQUAL(ACCOUNT(allocs), THREADS * EVENTS);
	CU_ASSERT_EQUAL(ACCOUNT(alloc_bytes), THREADS * bytes);
	CU_ASSERT_EQUAL(ACCOUNT(frees), THREADS * (EVENTS - WINDOW));
	CU_ASSERT_EQUAL(reader_live(&world.log), THREADS * WINDOW);
	CU_ASSERT_EQUAL(ACCOUNT(unknown_frees) + ACCOUNT(nested) + ACCOUNT(replaced) +
			ACCOUNT(voided) + ACCOUNT(table_full), 0);
	CU_ASSERT_EQUAL(stack_totals(), THREADS * EVENTS);
}

#define EFLAGS_TF	"0x100"
#define IN_HANDLER	(1ull << 46)

static uint32_t steps, busy_steps;

/* After each instruction of the agent: an allocation and a free in a signal handler. */
static void handler(int signo, siginfo_t *info, void *context)
{
	uint64_t pc = (uint64_t)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
	struct agent_frame frame = { .return_address = WORLD_RA, .arg = { 8 } };
	struct log_record record = { .thread = UINT32_MAX };

	(void)signo, (void)info;
	if (pc - (uintptr_t)world.image >= agent_image_len)
		return;
	world_leave(&frame, MALLOC, IN_HANDLER);
	log_record_lookup(&world.log, IN_HANDLER, &record);
	world_release((uintptr_t)&frame.return_address, FREE, IN_HANDLER);
	steps++;
	if (!record.thread)
		busy_steps++;
}

static void single_step(bool on)
{
	if (on)
		__asm__ volatile("subq $128, %%rsp; pushfq; orq $" EFLAGS_TF ", (%%rsp); popfq;"
				 "addq $128, %%rsp" : : : "memory", "cc");
	else
		__asm__ volatile("subq $128, %%rsp; pushfq; andq $~" EFLAGS_TF ", (%%rsp); popfq;"
				 "addq $128, %%rsp" : : : "memory", "cc");
}

/* Events in the middle of events, at every instruction: all of them are counted. */
TEST("in signal handlers")
{
	struct sigaction old, new = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO };
	uint64_t result = A;

	steps = busy_steps = 0;
	sigaction(SIGTRAP, &new, &old);
	single_step(true);
	world_new(3, MALLOC, 10, A);
	world_begin(3, REALLOC, A, 20, 0);
	world_end(3, REALLOC, 0);
	world_begin(3, REALLOC, A, 30, 0);
	world_end(3, REALLOC, B);
	world_free(3, DELETE, B);
	world_free(3, FREE, B);
	world_begin(3, MEMALIGN_BY_REF, (uintptr_t)&result, 16, 40);
	world_end(3, MEMALIGN_BY_REF, 0);
	world_begin(3, NEW, 50, 0, 0);
	world_end(3, NEW, B);
	world_free(3, FREE, B);
	single_step(false);
	sigaction(SIGTRAP, &old, NULL);
	CU_ASSERT(steps > 1000);
	CU_ASSERT(busy_steps > steps / 2);
	CU_ASSERT_EQUAL(ACCOUNT(allocs), 4 + steps);
	CU_ASSERT_EQUAL(ACCOUNT(frees), 3 + steps);
	CU_ASSERT_EQUAL(ACCOUNT(alloc_bytes), 10 + 30 + 40 + 50 + 8ull * steps);
	CU_ASSERT_EQUAL(ACCOUNT(free_bytes), 10 + 30 + 50 + 8ull * steps);
	CU_ASSERT_EQUAL(ACCOUNT(failed), 1);
	CU_ASSERT_EQUAL(ACCOUNT(nested), 1);
	CU_ASSERT_EQUAL(ACCOUNT(unknown_frees) + ACCOUNT(replaced) + ACCOUNT(voided) +
			ACCOUNT(table_full), 0);
	CU_ASSERT_EQUAL(stack_totals(), ACCOUNT(allocs));
	CU_ASSERT_EQUAL(world_thread()->ledger.busy, 0);
	CU_ASSERT_EQUAL(world_thread()->ledger.nr_ops, 0);
}
