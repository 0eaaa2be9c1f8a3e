/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stacks of a real, stopped process. */

#include "tracee/backtrace.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include "base/cleanup.h"
#include "child.h"
#include "log/journal.h"
#include "unit.h"
#include "victim.h"

#define OURS	0x123456789000ull	/* an address of nothing */
/*
 * And two that no other test has on its stack. (mdbg's reads copy a child's words to the stack of this process, which the
 * next child has as well.)
 */
#define NOBODYS	0x6ffdcba98000ull
#define CALLER	0x6ffdcba99008ull
#define PAGE	4096

static struct victim victim;
static struct child child;

/* A word of a live frame that is no return address: what an earlier call may have left. */
static void hold(uint64_t value)
{
	volatile uint64_t word[2] = { 1, value };

	child_ready((uintptr_t)&word[1]);
	child_wait();
	if (word[0] != 1)
		_exit(1);
}

static void with_stale_word(void *arg UNUSED)
{
	hold(OURS + 8);
}

static void with_caller(void *arg UNUSED)
{
	hold(CALLER);
}

static bool begin(void (*fn)(void *arg), uint64_t *word_ret)
{
	CU_ASSERT_TRUE_FATAL(child_start(&child, fn, NULL));
	CU_ASSERT_TRUE_FATAL(child_word(&child, word_ret));
	if (victim_seize(&victim, child.pid))
		return true;
	child_end(&child);
	return false;
}

static void end(void)
{
	victim_release(&victim);
	CU_ASSERT_EQUAL(child_end(&child), 0);
}

static const struct regs *regs(void)
{
	return &thread_any_stopped(victim.target)->regs;
}

static bool uses(uint64_t start, uint64_t end_of_it)
{
	struct stack_range range = { start, end_of_it, false };

	return stack_uses(victim.target, regs(), &range, 1);
}

static bool uses_inner(uint64_t start)
{
	struct stack_range range = { start, start + 16, true };

	return stack_uses(victim.target, regs(), &range, 1);
}

/* Whatever unwind rows say, which may be wrong: words count, but only above SP. */
TEST("what a thread will return into")
{
	uint64_t word, self = (uintptr_t)with_stale_word;

	if (!begin(with_stale_word, &word))
		return;
	CU_ASSERT_TRUE(uses(self, self + 4096));
	CU_ASSERT_TRUE(uses(OURS, OURS + 16));
	CU_ASSERT_FALSE(uses(OURS + 16, OURS + 32));
	CU_ASSERT_FALSE(uses_inner(OURS));
	CU_ASSERT_FALSE(uses_inner(self));
	CU_ASSERT_TRUE(uses_inner(regs_get(regs(), victim.target->arch->pc)));
	end();
}

/* What a signal has interrupted: a word of the stack, and the PC. */
static struct interrupted {
	uint64_t word, pc;
} interrupted;

static void on_signal(int number UNUSED, siginfo_t *info UNUSED, void *context)
{
	interrupted.pc = (uint64_t)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
	child_ready((uintptr_t)&interrupted);
	child_wait();
	_exit(0);
}

/* A thread in a signal's handler, which is on a stack of its own. */
static void with_handler(void *arg UNUSED)
{
	static uint8_t stack[65536];
	const stack_t other = { .ss_sp = stack, .ss_size = sizeof(stack) };
	struct sigaction action = { .sa_sigaction = on_signal, .sa_flags = SA_ONSTACK | SA_SIGINFO };
	volatile uint64_t word = OURS + 8;

	interrupted.word = (uintptr_t)&word;
	if (!sigaltstack(&other, NULL) && !sigaction(SIGUSR1, &action, NULL))
		raise(SIGUSR1);
	_exit(1);
}

/* The stack that it will go back to counts, and so does the PC there. */
TEST("and behind a handler that has a stack of its own")
{
	struct interrupted was;
	uint64_t at;

	if (!begin(with_handler, &at))
		return;
	CU_ASSERT_PTR_NULL_FATAL(memory_read(victim.target->memory, at, &was, sizeof(was)));
	CU_ASSERT_TRUE(was.word - regs_get(regs(), victim.target->arch->sp) > 65536);
	CU_ASSERT_TRUE(uses(OURS, OURS + 16));
	CU_ASSERT_FALSE(uses(OURS + 16, OURS + 32));
	CU_ASSERT_TRUE(uses_inner(was.pc));
	CU_ASSERT_FALSE(uses_inner(was.pc + 16));
	end();
}

/* What sigaction leaves on a stack: the restorer and the mask, and what happens to lie behind them. */
static void with_old_action(void *arg UNUSED)
{
	struct sigaction action = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };
	volatile uint64_t word[36];

	for (unsigned i = 0; i < ARRAY_SIZE(word); i++)
		word[i] = NOBODYS + i;
	if (sigaction(SIGUSR1, &action, NULL) ||
	    syscall(SYS_rt_sigaction, SIGUSR1, NULL, (void *)word, sizeof(uint64_t)))
		_exit(1);
	word[3] = word[4] = 0;
	child_ready((uintptr_t)word);
	child_wait();
	if (word[3])
		_exit(1);
}

/* It is no signal's frame, whose SP would be on no stack. */
TEST("no handler where only its disposition was set")
{
	uint64_t word;

	if (!begin(with_old_action, &word))
		return;
	CU_ASSERT_FALSE(uses(OURS, OURS + 16));
	end();
}

/* Pages that join no neighbour's mapping, whose words would be taken for words of this stack. */
static uint8_t *map_pages(size_t nr)
{
	uint8_t *page = mmap(NULL, (nr + 2) * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED || mprotect(page + PAGE, nr * PAGE, PROT_READ | PROT_WRITE))
		_exit(1);
	return page + PAGE;
}

/*
 * Four pages: a stack, a guard, and another's stack, of two pages. The words of ours are in these.
 */
static void with_neighbours(void *arg UNUSED)
{
	uint8_t *page = map_pages(4);

	if (mprotect(page + PAGE, PAGE, PROT_NONE))
		_exit(1);
	page[0] = 1;
	*(uint64_t *)(page + 2 * PAGE) = OURS + 8;
	*(uint64_t *)(page + 3 * PAGE) = OURS + 24;
	child_ready((uintptr_t)page);
	child_wait();
}

/* Of code that nothing is known of, with this SP. */
static bool uses_from(uint64_t sp, uint64_t start)
{
	struct stack_range range = { start, start + 16, false };
	struct regs at = *regs();

	regs_set(&at, victim.target->arch->pc, OURS + 1024);
	regs_set(&at, victim.target->arch->sp, sp);
	regs_set(&at, victim.target->arch->fp, 0);
	return stack_uses(victim.target, &at, &range, 1);
}

/* Eight pages of a stack, with an array in six that nothing was written to, and has no pages. */
static void with_untouched_array(void *arg UNUSED)
{
	uint8_t *page = map_pages(8);

	page[0] = 1;
	*(uint64_t *)(page + 7 * PAGE + 8) = OURS + 8;
	child_ready((uintptr_t)page);
	child_wait();
}

TEST("through an array without pages")
{
	uint64_t page;

	if (!begin(with_untouched_array, &page))
		return;
	CU_ASSERT_TRUE(uses_from(page + 64, OURS));
	CU_ASSERT_FALSE(uses_from(page + 64, OURS + 16));
	end();
}

TEST("nothing of what lies behind a stack")
{
	AUTO_FREE struct journal *journal = calloc(1, JOURNAL_SIZE);
	struct journal_entry entry = { .kind = JOURNAL_DATA, .len = PAGE };
	uint32_t index;
	uint64_t page;

	CU_ASSERT_PTR_NOT_NULL_FATAL(journal);
	if (!begin(with_neighbours, &page))
		return;
	/* Not through a guard page, which can be read like any. */
	CU_ASSERT_FALSE(uses_from(page + 64, OURS));
	CU_ASSERT_TRUE(uses_from(page + 2 * PAGE, OURS));
	/* Nor into a mapping of ours. */
	CU_ASSERT_TRUE(uses_from(page + 2 * PAGE, OURS + 16));
	journal_init(journal, JOURNAL_SIZE, JOURNAL_SIZE);
	entry.address = page + 3 * PAGE;
	CU_ASSERT_PTR_NULL(journal_plan(journal, &entry, &index));
	victim.target->left = journal;
	CU_ASSERT_FALSE(uses_from(page + 2 * PAGE, OURS + 16));
	CU_ASSERT_TRUE(uses_from(page + 2 * PAGE, OURS));
	victim.target->left = NULL;
	end();
}

/* A page of a stack, with the addresses of places in the two pages of code behind it. */
static void with_words(void *arg UNUSED)
{
	/* call +0, nop; and what a restorer begins with */
	static const uint8_t code[] = {
		0x90, 0x90, 0x90, 0xe8, 0, 0, 0, 0, 0x90, 0xff, 0x15, 0, 0, 0, 0, 0x90,
		0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05,
	};
	uint8_t *page = map_pages(3);
	uint64_t *word = (uint64_t *)page, start = (uintptr_t)page + PAGE;

	memcpy(page + PAGE, code, sizeof(code));
	if (mprotect(page + PAGE, 2 * PAGE, PROT_READ))
		_exit(1);
	for (unsigned i = 0; i < sizeof(code); i++)
		word[i] = start + i;
	word[sizeof(code)] = start + PAGE + 100;	/* where no code has ever been */
	child_ready((uintptr_t)page);
	child_wait();
}

/* A word counts if a thread can return to it: behind a call, or at a restorer; not as a mere address. */
TEST("only words that lead behind a call")
{
	uint64_t page, start;

	if (!begin(with_words, &page))
		return;
	start = page + PAGE;
	for (unsigned i = 0; i <= 25; i++) {
		struct stack_range range = { start, start + (i < 25 ? i + 1 : 2 * PAGE), false };
		struct regs at = *regs();

		regs_set(&at, victim.target->arch->pc, OURS + 1024);
		regs_set(&at, victim.target->arch->sp, page + i * 8);
		CU_ASSERT_EQUAL(stack_uses(victim.target, &at, &range, 1),
				i == 8 || i == 15 || i == 16);
	}
	end();
}

static bool is_caller(void *ctx UNUSED, uint64_t pc)
{
	return pc == CALLER;
}

static bool is_nothing(void *ctx UNUSED, uint64_t pc UNUSED)
{
	return false;
}

static uint64_t thunk_frame(uint64_t sp, bool (*is_return)(void *ctx, uint64_t pc))
{
	return stack_use_thunk_frame(victim.target, victim.target->memory, sp, is_return, NULL);
}

TEST("where the agent was called from")
{
	uint64_t word;

	if (!begin(with_caller, &word))
		return;
	CU_ASSERT_EQUAL(thunk_frame(word - 1024, is_caller), word);
	CU_ASSERT_EQUAL(thunk_frame(word, is_caller), word);
	CU_ASSERT_EQUAL(thunk_frame(word + 8, is_caller), 0);
	CU_ASSERT_EQUAL(thunk_frame(word - 2048, is_caller), 0);
	CU_ASSERT_EQUAL(thunk_frame(word, is_nothing), 0);
	end();
}

#define THREADS	70	/* more than are read at once */
#define DEPTH	128

static volatile bool enough;	/* never */
static atomic_uint nr_deep;	/* threads that are as deep as they go */

static __attribute__((noinline)) void sleep_deep(unsigned depth)
{
	volatile uint8_t frame[300];

	frame[0] = (uint8_t)depth;
	if (depth)
		sleep_deep(depth - 1);
	else
		atomic_fetch_add(&nr_deep, 1);
	while (!depth && !enough)
		pause();
	frame[0]++;
}

static void *sleep_in(void *arg)
{
	sleep_deep((unsigned)(uintptr_t)arg);
	return NULL;
}

/* Some of their stacks are deeper than any top. */
static void with_threads(void *arg UNUSED)
{
	pthread_t thread;

	for (uintptr_t i = 0; i < THREADS; i++)
		if (pthread_create(&thread, NULL, sleep_in, (void *)(i % 5 * 10)))
			_exit(1);
	while (atomic_load(&nr_deep) != THREADS)
		sched_yield();
	child_ready(1);
	child_wait();
	_exit(0);
}

struct seen {
	unsigned threads, deep, uses;
};

static void compare(struct thread *thread, const struct stack_top *top, void *ctx)
{
	uint64_t live[DEPTH], copied[DEPTH], sp = regs_get(&thread->regs, victim.target->arch->sp);
	struct seen *seen = ctx;
	struct stack_range range = { NOBODYS, NOBODYS + 8, false };
	enum walk_end end, end_copied;
	uint8_t bytes[8192];
	uint32_t nr;

	seen->threads++;
	CU_ASSERT_PTR_NOT_NULL_FATAL(top);
	CU_ASSERT_TRUE(top->low < sp && top->high > sp && top->high - top->low <= sizeof(bytes));
	CU_ASSERT_PTR_NULL(memory_read(&victim.target->mem.memory, top->low, bytes,
				       top->high - top->low));
	CU_ASSERT_EQUAL(memcmp(bytes, top->copy, top->high - top->low), 0);
	nr = backtrace_walk(victim.target, &thread->regs, NULL, live, DEPTH, &end);
	CU_ASSERT_EQUAL(backtrace_walk_top(thread, top, NULL, copied, DEPTH, &end_copied), nr);
	CU_ASSERT_EQUAL(end, end_copied);
	CU_ASSERT_EQUAL(memcmp(live, copied, nr * sizeof(*live)), 0);
	seen->deep += nr > 40;
	CU_ASSERT_FALSE(stack_use_of_thread(thread, &range, 1));
	range = (struct stack_range){ live[nr - 1] - 8, live[nr - 1] + 1, false };
	seen->uses += stack_use_of_thread(thread, &range, 1);
}

TEST("tops of many stacks")
{
	struct seen seen = { 0 };

	CU_ASSERT_TRUE_FATAL(child_start(&child, with_threads, NULL));
	CU_ASSERT_TRUE_FATAL(child_word(&child, &(uint64_t){ 0 }));
	if (!victim_seize(&victim, child.pid)) {
		child_end(&child);
		return;
	}
	backtrace_each_top(victim.target, compare, &seen);
	CU_ASSERT_EQUAL(seen.threads, THREADS + 1);
	CU_ASSERT_EQUAL(seen.deep, THREADS / 5);
	CU_ASSERT_EQUAL(seen.uses, THREADS + 1);
	end();
}
