/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A target that allocates tagged blocks (tagged.h) on stacks of many kinds, so that each stack can be compared with
 * what the program knows and with what a debugger shows. `KIND N` makes N blocks:
 *
 *	plain		1 on the main thread's stack
 *	ucontext	2 on four coroutines of glibc's
 *	fiber		3 on fibers as in coro.c of libev's author, which tarantool has: a mapping with a guard page; every
 *			  eighth is thrown away for a new one
 *	cothread	4 on cothreads as in libco, whose stacks are blocks of malloc's
 *	grow		5 in a call that goes to another stack and comes back, as Rust's psm and stacker do it; for every
 *			  other block from there to a third one, which lies below or above
 *	signal		6 in handlers on an alternate stack, of signals that the thread sends to itself
 *	storm		7 in such handlers, of signals that another thread sends at any moment
 *	thread		8 in threads that are made for it, four at a time
 *	verify, quit
 *
 * Functions that switch stacks have the unwind information that they have in those libraries: none in coro.c and libco,
 * by the frame pointer in psm.
 */
#include "tagged.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#ifdef __GLIBC__
#include <ucontext.h>
#endif

#define STACK	65536u
#define FIBERS	4u
#define COTHREAD_STACK	30000u	/* less than any tagged block */

enum kind { PLAIN = 1, UCONTEXT, FIBER, COTHREAD, GROW, SIGNAL, STORM, THREAD };

/* The block that is asked for next. */
static volatile unsigned next_n, next_kind;

static inline __attribute__((always_inline)) void ask_tagged(void)
{
	unsigned path = tagged_path(next_n);

	tagged_step(path, tagged_size(next_kind, path));
	KEEP(path);
}

static char *map_stack(void)
{
	char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return stack != MAP_FAILED && !mprotect(stack, 4096, PROT_NONE) ? stack : NULL;
}

static NOINLINE bool run_plain(void)
{
	ask_tagged();
	return true;
}

#ifdef __GLIBC__
static ucontext_t home, contexts[FIBERS];

static NOINLINE void context_main(unsigned i)
{
	for (;;) {
		ask_tagged();
		swapcontext(&contexts[i], &home);
	}
}

static bool run_ucontext(void)
{
	unsigned i = next_n % FIBERS;
	ucontext_t *context = &contexts[i];

	if (!context->uc_stack.ss_sp) {
		if (getcontext(context))
			return false;
		context->uc_stack.ss_sp = map_stack();
		context->uc_stack.ss_size = STACK;
		makecontext(context, (void (*)(void))context_main, 1, i);
	}
	return context->uc_stack.ss_sp && !swapcontext(&home, context);
}
#else	/* musl has none */
static bool run_ucontext(void)
{
	return false;
}
#endif

/* coro.c: the registers that a function keeps are pushed, and the stack pointers exchanged. */
void coro_transfer(void **from, void **to);
__asm__(".text\n.type coro_transfer, @function\ncoro_transfer:\n"
	"	push %rbp\n	push %rbx\n	push %r12\n	push %r13\n	push %r14\n	push %r15\n"
	"	mov %rsp, (%rdi)\n	mov (%rsi), %rsp\n"
	"	pop %r15\n	pop %r14\n	pop %r13\n	pop %r12\n	pop %rbx\n	pop %rbp\n"
	"	pop %rcx\n	jmp *%rcx\n.size coro_transfer, . - coro_transfer\n");

static void *scheduler;

static struct fiber {
	void *sp;
	char *stack;
} fibers[FIBERS];

static NOINLINE void fiber_loop(struct fiber *fiber)
{
	for (;;) {
		ask_tagged();
		coro_transfer(&fiber->sp, &scheduler);
	}
}

static void coro_init(void)
{
	fiber_loop(&fibers[next_n % FIBERS]);
	abort();
}

static bool create_fiber(struct fiber *fiber)
{
	void **sp;

	fiber->stack = map_stack();
	if (!fiber->stack)
		return false;
	sp = (void **)(void *)(fiber->stack + STACK);
	*--sp = (void *)abort;	/* (for alignment and debuggers, it says there) */
	*--sp = (void *)coro_init;
	fiber->sp = sp - 6;
	return true;
}

static bool run_fiber(void)
{
	struct fiber *fiber = &fibers[next_n % FIBERS];

	if (fiber->stack && next_n % 8 == 0) {
		if (munmap(fiber->stack, STACK))
			return false;
		fiber->stack = NULL;
	}
	if (!fiber->stack && !create_fiber(fiber))
		return false;
	coro_transfer(&scheduler, &fiber->sp);
	return true;
}

/* libco's amd64.c: the bytes of co_swap, which the library has as data. */
void co_swap(void **to, void **from);
__asm__(".text\n.type co_swap, @function\nco_swap:\n"
	"	mov %rsp, (%rsi)\n	mov (%rdi), %rsp\n	pop %rax\n"
	"	mov %rbp, 8(%rsi)\n	mov %rbx, 16(%rsi)\n	mov %r12, 24(%rsi)\n"
	"	mov %r13, 32(%rsi)\n	mov %r14, 40(%rsi)\n	mov %r15, 48(%rsi)\n"
	"	mov 8(%rdi), %rbp\n	mov 16(%rdi), %rbx\n	mov 24(%rdi), %r12\n"
	"	mov 32(%rdi), %r13\n	mov 40(%rdi), %r14\n	mov 48(%rdi), %r15\n"
	"	jmp *%rax\n.size co_swap, . - co_swap\n");

static void *main_cothread[8];
static void **cothreads[FIBERS];

static void co_crash(void)
{
	abort();
}

static NOINLINE void cothread_main(void)
{
	unsigned i = next_n % FIBERS;

	for (;;) {
		ask_tagged();
		co_swap(main_cothread, cothreads[i]);
	}
}

static bool run_cothread(void)
{
	void ***cothread = &cothreads[next_n % FIBERS];

	if (!*cothread) {
		void **sp;

		*cothread = calloc(1, COTHREAD_STACK);
		if (!*cothread)
			return false;
		sp = (void **)(((uintptr_t)*cothread + COTHREAD_STACK) & ~(uintptr_t)15);
		*--sp = (void *)co_crash;
		*--sp = (void *)cothread_main;
		(*cothread)[0] = sp;
	}
	co_swap(*cothread, main_cothread);
	return true;
}

/* psm's rust_psm_on_stack */
void on_stack(void *data, void *unused, void (*callback)(void *), void *sp);
__asm__(".text\n.type on_stack, @function\non_stack:\n.cfi_startproc\n"
	"	push %rbp\n.cfi_def_cfa %rsp, 16\n.cfi_offset %rbp, -16\n"
	"	mov %rsp, %rbp\n.cfi_def_cfa_register %rbp\n"
	"	mov %rcx, %rsp\n	call *%rdx\n	mov %rbp, %rsp\n	pop %rbp\n"
	".cfi_def_cfa %rsp, 8\n	ret\n.cfi_endproc\n.size on_stack, . - on_stack\n");

static char *grown[3];

static NOINLINE void grown_twice(void *data)
{
	ask_tagged();
	KEEP(data);
}

static NOINLINE void grown_once(void *data)
{
	if (next_n & 1)
		on_stack(data, NULL, grown_twice, grown[next_n & 2] + STACK);
	else
		ask_tagged();
	KEEP(data);
}

static NOINLINE bool run_grow(void)
{
	bool good = true;

	for (unsigned i = 0; i < 3; i++)
		if (!grown[i] && !(grown[i] = map_stack()))
			return false;
	on_stack(&good, NULL, grown_once, grown[1] + STACK);
	return good;
}

static char alternate[STACK];

static void handle_signal(int number UNUSED)
{
	ask_tagged();
}

static NOINLINE bool run_signal(void)
{
	bool good = !raise(SIGUSR1);

	KEEP(good);
	return good;
}

static volatile bool handled, stormed;
static volatile unsigned storm_round;

static void handle_storm(int number UNUSED)
{
	ask_tagged();
	handled = true;
}

/* What the storm interrupts: a prologue, a body and an epilogue, over and over. */
static NOINLINE unsigned spin(unsigned n)
{
	unsigned room[8] = { n }, sum = 0;

	KEEP(n);
	for (unsigned i = 0; i < 8; i++)
		sum += ((volatile unsigned *)room)[(i + n) % 8];
	return sum;
}

static NOINLINE void busy(void)
{
	storm_round++;
	for (unsigned i = 0; !handled; i++)
		i += spin(i) & 1;
}

static pthread_t main_thread;

static void *storm_main(void *arg)
{
	for (unsigned sent = 0, now; !stormed; sent = now) {
		usleep(50 + next_n * 7919u % 100);
		now = storm_round;
		if (now != sent)
			pthread_kill(main_thread, SIGUSR2);
	}
	return arg;
}

static bool run_storm(void)
{
	static pthread_t thread;
	static bool made;

	if (!made && pthread_create(&thread, NULL, storm_main, NULL))
		return false;
	made = true;
	handled = false;
	busy();
	return true;
}

static NOINLINE void *thread_main(void *arg)
{
	unsigned path = tagged_path((unsigned)(uintptr_t)arg);

	tagged_step(path, tagged_size(THREAD, path));
	KEEP(arg);
	return arg;
}

static pthread_t threads[4];
static unsigned nr_threads;

static bool join_threads(void)
{
	while (nr_threads)
		if (pthread_join(threads[--nr_threads], NULL))
			return false;
	return true;
}

static bool run_thread(void)
{
	if (pthread_create(&threads[nr_threads++], NULL, thread_main, (void *)(uintptr_t)next_n))
		return false;
	return nr_threads < 4 || join_threads();
}

static bool take_signals(void)
{
	const stack_t stack = { .ss_sp = alternate, .ss_size = sizeof(alternate) };
	struct sigaction action = { .sa_handler = handle_signal, .sa_flags = SA_ONSTACK };

	if (sigaltstack(&stack, NULL) || sigaction(SIGUSR1, &action, NULL))
		return false;
	action.sa_handler = handle_storm;
	return !sigaction(SIGUSR2, &action, NULL);
}

static const struct {
	const char *name;
	enum kind kind;
	bool (*run)(void);
} kinds[] = {
	{ "plain", PLAIN, run_plain }, { "ucontext", UCONTEXT, run_ucontext }, { "fiber", FIBER, run_fiber },
	{ "cothread", COTHREAD, run_cothread }, { "grow", GROW, run_grow }, { "signal", SIGNAL, run_signal },
	{ "storm", STORM, run_storm }, { "thread", THREAD, run_thread },
};

static bool obey(const char *line)
{
	const char *number = strchr(line, ' ');

	for (size_t i = 0; number && i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (strncmp(line, kinds[i].name, (size_t)(number - line)))
			continue;
		next_kind = kinds[i].kind;
		for (long n = 0, nr = strtol(number, NULL, 10); n < nr; n++) {
			next_n = (unsigned)n;
			if (!kinds[i].run())
				return false;
		}
		return join_threads();
	}
	return !strcmp(line, "verify");
}

int main(void)
{
	char *line;

	main_thread = pthread_self();
	if (!take_signals())
		return 2;
	say_ready();
	while ((line = hear()) && strcmp(line, "quit"))
		say(obey(line) ? "ok" : "bad");
	stormed = true;
	return line ? 0 : 1;
}
