/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Real stacks of this process, walked over rows, are what libgcc finds: at every depth, and at
 * every instruction.
 */

#include <alloca.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "hand.h"
#include "self.h"
#include "unit.h"

#ifdef __clang__
#define OWN_FRAME	__attribute__((noinline, disable_tail_calls))
#else
#define OWN_FRAME	__attribute__((noinline, noclone, optimize("omit-frame-pointer", \
								   "no-optimize-sibling-calls")))
#endif

#define DEPTH_MAX	60

static struct walk_map map;
static struct trace got, want;
static volatile unsigned sink;

static int map_init(void)
{
	return !self_map_init(&map);
}

static int map_deinit(void)
{
	self_map_deinit(&map);
	return 0;
}

FIXTURE(map_init, map_deinit);

/* The end of each chain of calls: compares, and remembers how many frames there were at most. */
static uint32_t frames_seen;

static OWN_FRAME void capture(void)
{
	uint64_t reg[SELF_REGS] = { 0 };

	SELF_CAPTURE(reg);
	self_walk(&map, reg, SELF_FRAMES, &got);
	self_truth(&want);
	CU_ASSERT_EQUAL(got.end, WALK_COMPLETE);
	CU_ASSERT(self_equal(&got, 1, &want, 1));
	CU_ASSERT_EQUAL(got.pc[0], reg[16]);
	frames_seen = MAX(frames_seen, got.nr);
	sink++;
}

/* A chain of calls of many kinds of frames. What comes at the end is `last`. */
static void (*last)(void);
static void chain(int depth);

static OWN_FRAME void kind_plain(int depth)
{
	chain(depth - 1);
	sink++;
}

static OWN_FRAME void kind_alloca(int depth)
{
	volatile char *bytes = alloca(16 + (size_t)depth * 8);

	bytes[0] = 1;
	chain(depth - 1);
	sink += (unsigned char)bytes[0];
}

static OWN_FRAME void kind_aligned(int depth)
{
	_Alignas(64) volatile char aligned[64];

	aligned[0] = 1;
	chain(depth - 1);
	sink += (unsigned char)aligned[0];
}

/* Realigned and of variable size: GCC keeps the argument pointer in the frame (DRAP). */
static OWN_FRAME void kind_drap(int depth)
{
	_Alignas(64) volatile char aligned[64];
	volatile char *bytes = alloca(16 + (size_t)depth * 8);

	aligned[0] = bytes[0] = 1;
	chain(depth - 1);
	sink += (unsigned char)(aligned[0] + bytes[0]);
}

static OWN_FRAME void kind_large(int depth)
{
	volatile char bytes[5000];

	bytes[depth] = 1;
	chain(depth - 1);
	sink += (unsigned char)bytes[depth];
}

/* All registers that a callee saves, BP as an ordinary one among them. */
static OWN_FRAME void kind_registers(int depth)
{
	unsigned a = sink, b = sink, c = sink, d = sink, e = sink, f = sink, g = sink;

	chain(depth - 1);
	sink += a * b + c * d + e * f + g;
	chain(0);
	sink += a + b + c + d + e + f + g;
}

static int chain_left;

static int from_qsort(const void *a, const void *b)
{
	int depth = chain_left;

	if (depth) {
		chain_left = 0;
		chain(depth - 1);
	}
	return *(const int *)a - *(const int *)b;
}

static OWN_FRAME void kind_qsort(int depth)
{
	int numbers[3] = { 3, 1, 2 };

	chain_left = depth;
	qsort(numbers, 3, sizeof(*numbers), from_qsort);
	sink += (unsigned)numbers[0];
}

static OWN_FRAME void chain(int depth)
{
	static void (*const kinds[])(int) = {
		kind_plain, kind_alloca, kind_aligned, kind_drap, kind_large, kind_registers,
		kind_qsort,
	};

	if (!depth)
		last();
	else
		kinds[depth % 7](depth);
	sink++;
}

static void nothing(void)
{
}

TEST("every depth")
{
	uint32_t before = 0;

	last = capture;
	for (int depth = 1; depth <= DEPTH_MAX; depth++) {
		frames_seen = 0;
		chain(depth);
		CU_ASSERT(frames_seen > before);
		before = frames_seen;
	}
	CU_ASSERT(before > 2 * DEPTH_MAX);
}

/* A limit ends the walk, and says so only if there was more. */
static OWN_FRAME void capture_limited(void)
{
	uint64_t reg[SELF_REGS] = { 0 };

	SELF_CAPTURE(reg);
	self_walk(&map, reg, SELF_FRAMES, &want);
	CU_ASSERT_EQUAL(want.end, WALK_COMPLETE);
	for (uint32_t max = 1; max <= want.nr; max++) {
		self_walk(&map, reg, max, &got);
		CU_ASSERT_EQUAL(got.nr, max);
		CU_ASSERT_EQUAL(got.end, max < want.nr ? WALK_DEPTH : WALK_COMPLETE);
		CU_ASSERT(!memcmp(got.pc, want.pc, max * sizeof(*got.pc)));
	}
}

TEST("a limit")
{
	last = capture_limited;
	chain(9);
}

static void *thread_main(void *arg)
{
	(void)arg;
	chain(14);
	return NULL;
}

TEST("a thread")
{
	pthread_t thread;

	last = capture;
	frames_seen = 0;
	CU_ASSERT_FATAL(!pthread_create(&thread, NULL, thread_main, NULL));
	pthread_join(thread, NULL);
	CU_ASSERT(frames_seen > 28);
}

static void handler_capture(int sig)
{
	(void)sig;
	capture();
}

static void raise_usr1(void)
{
	raise(SIGUSR1);
	sink++;
}

static void with_handler(int flags)
{
	struct sigaction action = { .sa_handler = handler_capture, .sa_flags = flags }, old;

	sigaction(SIGUSR1, &action, &old);
	last = raise_usr1;
	for (int depth = 1; depth <= DEPTH_MAX; depth += 7) {
		frames_seen = 0;
		chain(depth);
		CU_ASSERT(frames_seen > (uint32_t)depth);
	}
	sigaction(SIGUSR1, &old, NULL);
}

TEST("a signal handler")
{
	with_handler(0);
}

/*
 * Above the thread's stack in one case, below in the other, as the mappings fall: in each, SP
 * jumps.
 */
TEST("a signal handler on its own stack")
{
	stack_t stack = { .ss_size = 1 << 17 }, old;

	stack.ss_sp = mmap(NULL, stack.ss_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			   -1, 0);
	CU_ASSERT_FATAL(stack.ss_sp != MAP_FAILED);
	sigaltstack(&stack, &old);
	with_handler(SA_ONSTACK);
	sigaltstack(&old, NULL);
	munmap(stack.ss_sp, stack.ss_size);
}

/*
 * Every instruction: with the trap flag set, SIGTRAP comes after each; its handler walks from the
 * interrupted registers and asks libgcc, which finds the handler, the restorer and then the same.
 */
static struct {
	unsigned long steps, wrong, incomplete;
	struct trace got, want;		/* the first that was wrong */
} stepped;

/* DWARF number to word of gregset_t. */
static const int greg[SELF_REGS] = {
	REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP,
	REG_R8, REG_R9, REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP,
};

static void handler_step(int sig, siginfo_t *info, void *ctx)
{
	const ucontext_t *context = ctx;
	uint64_t reg[SELF_REGS];
	uint32_t inner = 0;

	(void)sig;
	(void)info;
	for (unsigned i = 0; i < SELF_REGS; i++)
		reg[i] = (uint64_t)context->uc_mcontext.gregs[greg[i]];
	self_walk(&map, reg, SELF_FRAMES, &got);
	self_truth(&want);
	while (inner < want.nr && want.pc[inner] != reg[16])
		inner++;
	stepped.steps++;
	stepped.incomplete += got.end != WALK_COMPLETE;
	if (self_equal(&got, 0, &want, inner))
		return;
	if (!stepped.wrong++) {
		stepped.got = got;
		stepped.want = want;
	}
}

static void step_through(void (*function)(void), unsigned long least)
{
	struct sigaction action = { .sa_sigaction = handler_step, .sa_flags = SA_SIGINFO }, old;

	memset(&stepped, 0, sizeof(stepped));
	self_thread_init();
	sigaction(SIGTRAP, &action, &old);
	step_on();
	function();
	step_off();
	sigaction(SIGTRAP, &old, NULL);
	CU_ASSERT(stepped.steps >= least);
	CU_ASSERT_EQUAL(stepped.wrong, 0);
	CU_ASSERT_EQUAL(stepped.incomplete, 0);
	for (uint32_t i = 0; stepped.wrong && i < MAX(stepped.got.nr, stepped.want.nr); i++)
		printf("  %#lx %#lx\n", stepped.got.pc[i], stepped.want.pc[i]);
}

static void run_chain(void)
{
	chain(14);
}

TEST("every instruction")
{
	last = nothing;
	step_through(run_chain, 500);
}

/*
 * The first call of a function goes through the lazy PLT and the whole of the loader's symbol look-
 * up.
 */
static void call_lazily(void)
{
	sink += getpgid(0) != 0;
	sink += getsid(0) != 0;
}

TEST("every instruction of a lazy call")
{
	step_through(call_lazily, 10);
}

static void allocate(void)
{
	void *volatile block[8];

	for (unsigned i = 0; i < 8; i++)
		block[i] = malloc(100u << i);
	for (unsigned i = 0; i < 8; i++)
		block[i] = realloc(block[i], 5000);
	for (unsigned i = 0; i < 8; i++)
		free(block[i]);
}

TEST("every instruction of malloc")
{
	step_through(allocate, 500);
}

static void print_and_jump(void)
{
	char text[100];
	sigjmp_buf env;

	snprintf(text, sizeof(text), "%s %d %g", "text", 42, 0.1);
	if (!sigsetjmp(env, 0))
		sink += (unsigned char)text[0];
	memset(text, 0, sizeof(text));
	sink += (unsigned)strlen(text);
}

TEST("every instruction of snprintf")
{
	step_through(print_and_jump, 500);
}
