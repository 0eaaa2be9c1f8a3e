/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Thunks are run: what the function and the agent see, what comes back, and that each return is
 * from the call that came last. The figures of the frame are written out here, as in
 * agent/state.h: both sides must come to the same.
 */

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "arch/arch.h"
#include "execute.h"
#include "unit.h"

void suite_thunk(void);

/* Words of the frame, lowest address first. */
enum {
	F_BP, F_BX, F_R11, F_R10, F_R9, F_R8, F_DI, F_SI, F_DX, F_CX, F_AX, F_PAD, F_OP, F_UNUSED,
	F_ARG, F_RETURN = F_ARG + 3, F_WORDS = F_RETURN + 5,	/* a wide frame has four more */
};

/*
 * Functions note SP, the return address and all registers, change rcx and rdx (thunk_nothrow rdi
 * and rsi too) and return `value`. Functions of the agent note their arguments and the stack from
 * SP on, change all that C may change, and return `value`; thunk_enter leaves 0x5e in the frame's
 * op[0]. thunk_start notes SP at entry, takes as much from it as the first
 * instruction of a function would, and goes on to the thunk.
 */
__asm__(
	".data\n.balign 8\n"
	"thunk_clock: .quad 0\nthunk_code: .quad 0\nthunk_entry: .quad 0\nthunk_taken: .quad 0\n"
	".globl thunk_clock, thunk_code, thunk_entry, thunk_taken\n"
	".globl seen_callee, seen_nothrow, seen_enter, seen_leave, seen_release, seen_unknown_free\n"
	"seen_callee: .fill 19, 8, 0\nseen_nothrow: .fill 19, 8, 0\n"
	"seen_enter: .fill 29, 8, 0\nseen_leave: .fill 29, 8, 0\nseen_release: .fill 29, 8, 0\n"
	"seen_unknown_free: .fill 32, 8, 0\n"
	".text\n"
	".globl thunk_start, thunk_callee, thunk_nothrow, thunk_enter, thunk_leave, thunk_release\n"
	".globl thunk_unknown_free\n"
	".macro TICK to\n"
	"	incq thunk_clock(%rip); mov thunk_clock(%rip), %rax; mov %rax, \\to(%rip)\n"
	"	mov %rsp, \\to+16(%rip); mov (%rsp), %rax; mov %rax, \\to+24(%rip)\n"
	".endm\n"
	".macro FUNCTION to\n"
	"	mov %rax, \\to+32(%rip); mov %rbx, \\to+40(%rip); mov %rcx, \\to+48(%rip)\n"
	"	mov %rdx, \\to+56(%rip); mov %rsi, \\to+64(%rip); mov %rdi, \\to+72(%rip)\n"
	"	mov %rbp, \\to+80(%rip); mov %r8, \\to+88(%rip); mov %r9, \\to+96(%rip)\n"
	"	mov %r10, \\to+104(%rip); mov %r11, \\to+112(%rip); mov %r12, \\to+120(%rip)\n"
	"	mov %r13, \\to+128(%rip); mov %r14, \\to+136(%rip); mov %r15, \\to+144(%rip)\n"
	"	TICK \\to; mov $0xc0c0, %ecx; mov $0xd0d0, %edx; mov \\to+8(%rip), %rax\n"
	".endm\n"
	".macro AGENT to\n"
	"	mov %rdi, \\to+32(%rip); mov %rsi, \\to+40(%rip); mov %rdx, \\to+48(%rip)\n"
	"	TICK \\to\n"
	"	lea 8(%rsp), %rsi; lea \\to+56(%rip), %rdi; mov $22, %ecx; rep movsq\n"
	"	mov $0xbad, %ecx; mov %rcx, %rdx; mov %rcx, %rsi; mov %rcx, %rdi; mov %rcx, %r8\n"
	"	mov %rcx, %r9; mov %rcx, %r10; mov %rcx, %r11; cmp %rcx, %rcx\n"
	"	mov \\to+8(%rip), %rax\n"
	".endm\n"
	"thunk_start: mov %rsp, thunk_entry(%rip); sub thunk_taken(%rip), %rsp\n"
	"	jmp *thunk_code(%rip)\n"
	"thunk_callee: FUNCTION seen_callee; ret\n"
	"thunk_nothrow: FUNCTION seen_nothrow; mov $0xf0f0, %edi; mov $0x0f0f, %esi; ret\n"
	"thunk_enter: AGENT seen_enter; movq $0x5e, 104(%rsp); ret\n"
	"thunk_leave: AGENT seen_leave; ret\n"
	"thunk_release: AGENT seen_release; ret\n"
	"thunk_unknown_free: mov %rcx, seen_unknown_free+232(%rip); mov %r8, seen_unknown_free+240(%rip)\n"
	"	mov %r9, seen_unknown_free+248(%rip)\n"
	"	AGENT seen_unknown_free; ret\n"
);

struct seen {
	uint64_t clock;		/* 0: was not called */
	uint64_t value;
	uint64_t sp, ret;
	uint64_t reg[15];	/* as struct cpu */
};

struct agent_seen {
	uint64_t clock;
	uint64_t value;
	uint64_t sp, ret;
	uint64_t arg[3];
	uint64_t stack[F_WORDS];
};

struct unknown_free_seen {
	struct agent_seen agent;
	uint64_t bp, bx, said;	/* the arguments after the first three */
};

extern uint64_t thunk_clock, thunk_entry, thunk_taken;
extern const uint8_t *thunk_code;
extern struct seen seen_callee, seen_nothrow;
extern struct agent_seen seen_enter, seen_leave, seen_release;
extern struct unknown_free_seen seen_unknown_free;
extern const uint8_t thunk_start[], thunk_callee[], thunk_nothrow[];
extern const uint8_t thunk_enter[], thunk_leave[], thunk_release[], thunk_unknown_free[];

#define AREA	4096
#define PROBE	0x7123456789abcdefull
#define NOTHROW	0x1122334455667788ull
#define LANDING	2048		/* of an area: jumps to the functions */

static uint8_t *areas[2];	/* near, far */
static uint64_t direct_ret;	/* of a call by execute() */

/* Where the thunk lies, and where what it calls; both ways are by a jump there, if not here. */
static const struct place {
	unsigned thunk;
	bool function_away, agent_away;		/* not in the thunk's reach */
	uint8_t undo;				/* bytes that the first instruction takes from SP */
} places[] = {
	{ 0, false, false, 0 }, { 0, true, false, 0 }, { 1, false, true, 0 }, { 1, true, true, 0 },
	{ 0, false, false, 8 }, { 1, true, true, ENTRY_SP_MAX },
};

static uint64_t land(uint8_t *at, const uint8_t *to)
{
	uint64_t address = (uintptr_t)to;

	memcpy(at, "\xff\x25\0\0\0\0", 6);	/* jmp [rip+0] */
	memcpy(at + 6, &address, 8);
	return (uintptr_t)at;
}

/* The thunk's area is filled with hlt: nothing behind the thunk may run. */
static const uint8_t *build(const struct place *place, struct thunk_spec spec, struct thunk *thunk)
{
	uint8_t *area = areas[place->thunk];
	uint8_t *functions = areas[place->thunk ^ place->function_away] + LANDING;
	uint8_t *agent = areas[place->thunk ^ place->agent_away] + LANDING + 256;
	struct err *err;

	memset(area, 0xf4, LANDING);
	thunk_taken = spec.undo = place->undo;
	spec.at = (uintptr_t)area;
	spec.probe = PROBE;
	spec.displaced = land(functions, thunk_callee);
	if (spec.nothrow_call)
		spec.nothrow_call = land(functions + 16, thunk_nothrow);
	spec.enter = land(agent, thunk_enter);
	spec.leave = land(agent + 16, thunk_leave);
	spec.release = land(agent + 32, thunk_release);
	spec.unknown = land(agent + 48, thunk_unknown_free);
	err = arch_x86_64.thunk(&spec, thunk);
	CU_ASSERT_PTR_NULL_FATAL(err);
	CU_ASSERT_FATAL(thunk->len > 0 && thunk->len <= THUNK_MAX);
	memcpy(area, thunk->code, thunk->len);
	return area;
}

/*
 * A shadow stack, by single steps from the call in execute() to the return there: step() is told of
 * each instruction before it runs.
 */
#define TRAP_FLAG	0x100u
#define STEPS_MAX	1000

static struct {
	uint64_t ret[8];
	unsigned nr, wrong, steps;
	bool called, returned;
} shadow;

static void on_step(int signo, siginfo_t *info, void *context)
{
	greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;
	const uint8_t *pc = (const uint8_t *)regs[REG_RIP];

	(void)signo;
	(void)info;
	if (shadow.called && shadow.nr < ARRAY_SIZE(shadow.ret))
		shadow.ret[shadow.nr++] = *(uint64_t *)regs[REG_RSP];
	if (shadow.returned && (!shadow.nr || shadow.ret[--shadow.nr] != (uintptr_t)pc))
		shadow.wrong++;
	if ((shadow.returned && !shadow.nr) || ++shadow.steps == STEPS_MAX)
		regs[REG_EFL] &= ~TRAP_FLAG;
	shadow.called = pc[0] == 0xe8 || (pc[0] == 0xff && (pc[1] & 0x38) == 0x10);
	shadow.returned = pc[0] == 0xc3;
}

static struct sigaction before;

static int setup(void)
{
	struct sigaction action = { .sa_sigaction = on_step, .sa_flags = SA_SIGINFO };
	struct cpu in, out;

	areas[0] = area_near(thunk_callee, AREA);
	areas[1] = area_far(thunk_callee, AREA);
	if (!areas[0] || !areas[1] || sigaction(SIGTRAP, &action, &before))
		return 1;
	cpu_fill(&in);
	execute(thunk_callee, &in, &out);
	direct_ret = seen_callee.ret;
	return 0;
}

static int teardown(void)
{
	return munmap(areas[0], AREA) | munmap(areas[1], AREA) | sigaction(SIGTRAP, &before, NULL);
}

/* What the called functions return in a run. */
struct values {
	uint64_t callee, nothrow, enter, release;
};

static void forget(const struct values *values)
{
	thunk_clock = 0;
	seen_callee = (struct seen){ .value = values->callee };
	seen_nothrow = (struct seen){ .value = values->nothrow };
	seen_enter = (struct agent_seen){ .value = values->enter };
	seen_leave = (struct agent_seen){ .value = 0xbad };
	seen_release = (struct agent_seen){ .value = values->release };
	seen_unknown_free = (struct unknown_free_seen){ .agent = { .value = 0xbad } };
}

/* Step by step the kernel has put signal frames there. */
static NOINLINE void clear_below(void)
{
	volatile char room[8192];

	for (unsigned i = 0; i < sizeof(room); i++)
		room[i] = 0;
}

/* Twice, the first time step by step. */
static void run(const uint8_t *code, struct values values, struct cpu *in, struct cpu *out)
{
	thunk_code = code;
	forget(&values);
	memset(&shadow, 0, sizeof(shadow));
	cpu_fill(in);
	in->reg[FLAGS] |= TRAP_FLAG;
	execute(thunk_start, in, out);
	CU_ASSERT(shadow.steps > 20 && shadow.steps < STEPS_MAX);
	CU_ASSERT_EQUAL(shadow.wrong, 0);
	CU_ASSERT_EQUAL(shadow.nr, 0);

	forget(&values);
	in->reg[FLAGS] &= ~TRAP_FLAG;
	clear_below();
	execute(thunk_start, in, out);
	/* Nothing below SP looks as if somebody were still to return to the thunk. */
	for (unsigned i = 1; i <= 32; i++)
		CU_ASSERT(((const volatile uint64_t *)thunk_entry)[-(int)i] - (uintptr_t)code >= THUNK_MAX);
}

static void check_regs(const uint64_t *got, const uint64_t *want, const char *who)
{
	for (unsigned i = 0; i < 15; i++)
		if (got[i] != want[i]) {
			printf("%s: register %u is %#llx, not %#llx\n", who, i,
			       (unsigned long long)got[i], (unsigned long long)want[i]);
			CU_FAIL("a register is not as it should be");
		}
}

/* Called as the caller has called: its stack, its return address, its arguments. */
static void check_place(const struct seen *seen, const struct cpu *in)
{
	CU_ASSERT_EQUAL(seen->reg[RDI], in->reg[RDI]);
	CU_ASSERT_EQUAL(seen->reg[RSI], in->reg[RSI]);
	CU_ASSERT_EQUAL(seen->reg[RDX], in->reg[RDX]);
	CU_ASSERT_EQUAL(seen->sp, thunk_entry);
	CU_ASSERT_EQUAL(seen->ret, direct_ret);
}

/* And with its registers. */
static void check_as_called(const struct seen *seen, const struct cpu *in)
{
	if (!seen_nothrow.clock)	/* which loses what is nobody's after a call of it */
		check_regs(seen->reg, in->reg, "displaced");
	check_place(seen, in);
}

/* Called by the thunk, with the registers of want. */
static void check_called(const struct seen *seen, const struct thunk *thunk, const uint8_t *code,
			 const uint64_t *want)
{
	check_regs(seen->reg, want, "function");
	CU_ASSERT_EQUAL(seen->ret, (uintptr_t)code + thunk->call_ret);
	CU_ASSERT_EQUAL(seen->sp % 16, 8);
	CU_ASSERT(thunk->call_cfa == 48 || thunk->call_cfa == 80);	/* of a wide frame */
}

/* The agent called with a frame that shows what every thunk shows. */
static void check_frame_of_new(const struct agent_seen *seen, const uint64_t *regs)
{
	CU_ASSERT_EQUAL(seen->sp % 16, 8);
	CU_ASSERT_EQUAL(seen->sp + 144, thunk_entry);	/* that is: SP behind the return + 144 = the CFA */
	CU_ASSERT_EQUAL(seen->arg[0], seen->sp + 8);
	CU_ASSERT_EQUAL(seen->arg[1], PROBE);
	CU_ASSERT_EQUAL(seen->stack[F_BP], regs[RBP]);
	CU_ASSERT_EQUAL(seen->stack[F_BX], regs[RBX]);
	CU_ASSERT_EQUAL(seen->stack[F_AX], regs[RAX]);
	CU_ASSERT_EQUAL(seen->stack[F_RETURN], direct_ret);
}

/* One that shows regs, args, and op as well. */
static void check_frame(const struct agent_seen *seen, const uint64_t *regs, const struct cpu *in,
			uint64_t op)
{
	static const uint8_t word[] = { RBP, RBX, R11, R10, R9, R8, RDI, RSI, RDX, RCX, RAX };

	check_frame_of_new(seen, regs);
	for (unsigned i = 0; i < ARRAY_SIZE(word); i++)
		CU_ASSERT_EQUAL(seen->stack[i], regs[word[i]]);
	CU_ASSERT_EQUAL(seen->stack[F_OP], op);
	CU_ASSERT_EQUAL(seen->stack[F_UNUSED], 0);
	CU_ASSERT_EQUAL(seen->stack[F_ARG], in->reg[RDI]);
	CU_ASSERT_EQUAL(seen->stack[F_ARG + 1], in->reg[RSI]);
	CU_ASSERT_EQUAL(seen->stack[F_ARG + 2], in->reg[RDX]);
}

/* What a function that returned value leaves of the registers that it found. */
static void left(const uint64_t *found, uint64_t value, uint64_t *ret)
{
	memmove(ret, found, 15 * sizeof(ret[0]));
	ret[RAX] = value;
	ret[RCX] = 0xc0c0;
	ret[RDX] = 0xd0d0;
}

/* Code of functions, and the registers that it changes. */
static const struct change {
	const char *code;
	size_t len;
	uint8_t reg[9];
	unsigned nr;
} changes[] = {
	{ "", 0, { 0 }, 0 },
	{ "\x31\xc9\x45\x31\xd2", 5, { RCX, R10 }, 2 },		/* xor ecx, ecx; xor r10d, r10d */
	{ "\x31\xc0\x31\xc9\x31\xd2\x31\xf6\x31\xff"
	  "\x45\x31\xc0\x45\x31\xc9\x45\x31\xd2\x45\x31\xdb", 22,
	  { RAX, RCX, RDX, RSI, RDI, R8, R9, R10, R11 }, 9 },
};

static uint32_t changed_by(const struct change *change)
{
	uint32_t changed = 0, popped = 0;

	CU_ASSERT_TRUE(arch_x86_64.changed_registers((const uint8_t *)change->code, change->len,
						     &changed, &popped));
	return changed;
}

/* The thunk has zeroed what the function changes, but for these. */
static void zeroed(const struct change *change, const uint8_t *but, unsigned nr_but, uint64_t *reg)
{
	for (unsigned i = 0; i < change->nr; i++)
		if (!memchr(but, change->reg[i], nr_but))
			reg[change->reg[i]] = 0;
}

static void check_new(const struct place *place, const struct change *change, unsigned args)
{
	static const uint8_t arg[] = { RDI, RSI, RDX }, result[] = { RAX };
	struct thunk_spec spec = {
		.kind = THUNK_NEW, .args = (uint8_t)args, .changed = changed_by(change),
	};
	struct values values = { .callee = 0x1234 };
	uint64_t want[15];
	struct thunk thunk;
	struct cpu in, out;
	const uint8_t *code;

	code = build(place, spec, &thunk);
	run(code, values, &in, &out);
	left(in.reg, 0x1234, want);
	check_called(&seen_callee, &thunk, code, in.reg);
	CU_ASSERT_EQUAL(seen_callee.sp + thunk.call_cfa, thunk_entry);
	check_frame_of_new(&seen_leave, want);
	for (unsigned i = 0; i < args; i++)
		CU_ASSERT_EQUAL(seen_leave.stack[F_ARG + i], in.reg[arg[i]]);
	CU_ASSERT_EQUAL(seen_leave.ret, (uintptr_t)code + thunk.leave_ret);
	CU_ASSERT_EQUAL(thunk.agent_cfa, 144);
	zeroed(change, result, 1, want);
	check_regs(out.reg, want, "new");
	CU_ASSERT(seen_callee.clock == 1 && seen_leave.clock == 2 && !seen_enter.clock);
	CU_ASSERT(!thunk.enter_ret && !thunk.release_ret && !thunk.unknown_free_ret);
	CU_ASSERT_EQUAL(thunk.code[thunk.ret], 0xc3);
}

static void test_new(void)
{
	for (unsigned i = 0; i < ARRAY_SIZE(places); i++)
		for (unsigned k = 0; k < ARRAY_SIZE(changes); k++)
			for (unsigned args = 0; args <= 3; args++)
				check_new(&places[i], &changes[k], args);
}

/* enter said no: as if there had been no thunk. */
static void check_bypass(const uint8_t *code, uint64_t enter)
{
	struct values values = { .callee = 0x4321, .enter = enter };
	uint64_t want[15];
	struct cpu in, out;

	run(code, values, &in, &out);
	left(in.reg, 0x4321, want);
	check_frame(&seen_enter, in.reg, &in, 0);
	check_as_called(&seen_callee, &in);
	check_regs(out.reg, want, "bypass");
	CU_ASSERT(seen_enter.clock == 1 && seen_callee.clock == 2);
	CU_ASSERT(!seen_leave.clock && !seen_nothrow.clock);
}

static void check_enter(const struct place *place)
{
	struct values values = { .callee = 0x1234 };
	uint64_t want[15];
	struct thunk thunk;
	struct cpu in, out;
	const uint8_t *code;

	code = build(place, (struct thunk_spec){ .kind = THUNK_ENTER }, &thunk);
	run(code, values, &in, &out);
	left(in.reg, 0x1234, want);
	check_frame(&seen_enter, in.reg, &in, 0);
	CU_ASSERT_EQUAL(seen_enter.ret, (uintptr_t)code + thunk.enter_ret);
	check_called(&seen_callee, &thunk, code, in.reg);
	CU_ASSERT_EQUAL(seen_callee.sp + thunk.call_cfa, thunk_entry);
	check_frame(&seen_leave, want, &in, 0x5e);
	CU_ASSERT_EQUAL(seen_leave.ret, (uintptr_t)code + thunk.leave_ret);
	CU_ASSERT_EQUAL(thunk.agent_cfa, 144);
	check_regs(out.reg, want, "enter");
	CU_ASSERT(seen_enter.clock == 1 && seen_callee.clock == 2 && seen_leave.clock == 3);
	CU_ASSERT_EQUAL(thunk.release_ret, 0);
	CU_ASSERT_EQUAL(thunk.code[thunk.ret], 0xc3);
	/* NULL is as good as any value here. */
	run(code, (struct values){ .callee = 0 }, &in, &out);
	CU_ASSERT_EQUAL(out.reg[RAX], 0);
	CU_ASSERT_EQUAL(seen_callee.clock, 2);
	check_bypass(code, 1);
	check_bypass(code, (uint64_t)1 << 63);
}

static void test_enter(void)
{
	for (unsigned i = 0; i < ARRAY_SIZE(places); i++)
		check_enter(&places[i]);
}

static void check_block(const uint8_t *code, const struct thunk *thunk, unsigned nr_args)
{
	struct values values = { .callee = 0x4321, .nothrow = 0x1234 };
	uint64_t want[15], passed[15];
	struct cpu in, out;

	run(code, values, &in, &out);
	memcpy(passed, in.reg, sizeof(passed));
	passed[nr_args == 1 ? RSI : RDX] = NOTHROW;
	check_called(&seen_nothrow, thunk, code, passed);
	left(in.reg, 0x1234, want);
	want[RDI] = 0xf0f0;
	want[RSI] = 0x0f0f;
	check_frame(&seen_leave, want, &in, 0x5e);
	/* The arguments are as at entry again. */
	want[RDI] = in.reg[RDI];
	want[RSI] = in.reg[RSI];
	want[RDX] = in.reg[RDX];
	check_regs(out.reg, want, "nothrow");
	CU_ASSERT(seen_enter.clock == 1 && seen_nothrow.clock == 2 && seen_leave.clock == 3);
	CU_ASSERT_EQUAL(seen_callee.clock, 0);
}

static void check_nothrow(const struct place *place, unsigned nr_args)
{
	struct thunk_spec spec = {
		.kind = THUNK_ENTER, .nothrow_call = 1, .nothrow = NOTHROW, .nr_args = nr_args,
	};
	struct thunk thunk;
	struct cpu in, out;
	const uint8_t *code = build(place, spec, &thunk);

	check_block(code, &thunk, nr_args);
	run(code, (struct values){ .callee = 0x4321, .nothrow = 0 }, &in, &out);
	CU_ASSERT_EQUAL(seen_leave.stack[F_AX], 0);
	check_as_called(&seen_callee, &in);
	run(code, (struct values){ .callee = 0x4321, .nothrow = 0 }, &in, &out);
	CU_ASSERT(seen_nothrow.clock == 2 && seen_leave.clock == 3 && seen_callee.clock == 4);
	CU_ASSERT_EQUAL(out.reg[RAX], 0x4321);
	CU_ASSERT_EQUAL(out.reg[RDX], 0xd0d0);
	check_bypass(code, 1);
	CU_ASSERT_EQUAL(thunk.code[thunk.ret], 0xc3);
}

static void test_nothrow(void)
{
	for (unsigned i = 0; i < ARRAY_SIZE(places); i++)
		for (unsigned nr_args = 1; nr_args <= 2; nr_args++)
			check_nothrow(&places[i], nr_args);
}

static void check_free(const struct place *place, const struct change *change, unsigned ptr_arg)
{
	static const uint8_t arg[] = { RDI, RSI, RDX };
	struct thunk_spec spec = {
		.kind = THUNK_FREE, .ptr_arg = (uint8_t)ptr_arg, .changed = changed_by(change),
	};
	uint64_t want[15];
	struct thunk thunk;
	struct cpu in, out;
	const uint8_t *code = build(place, spec, &thunk);

	run(code, (struct values){ .callee = 0x1234 }, &in, &out);
	CU_ASSERT_EQUAL(seen_release.sp % 16, 8);
	CU_ASSERT_EQUAL(seen_release.ret, (uintptr_t)code + thunk.release_ret);
	CU_ASSERT_EQUAL(seen_release.sp + thunk.agent_cfa, thunk_entry);
	CU_ASSERT_EQUAL(seen_release.arg[0], in.reg[arg[ptr_arg]]);
	CU_ASSERT_EQUAL(seen_release.arg[1], thunk_entry);
	CU_ASSERT_EQUAL(seen_release.arg[2], PROBE);
	check_place(&seen_callee, &in);
	memcpy(want, in.reg, sizeof(want));
	zeroed(change, arg, ARRAY_SIZE(arg), want);
	check_regs(seen_callee.reg, want, "displaced");
	left(want, 0x1234, want);
	check_regs(out.reg, want, "free");
	CU_ASSERT(seen_release.clock == 1 && seen_callee.clock == 2 &&
		  !seen_unknown_free.agent.clock);
	CU_ASSERT(!thunk.call_ret && !thunk.enter_ret && !thunk.leave_ret && !thunk.ret);
	CU_ASSERT_EQUAL(thunk.call_cfa, 0);
}

/* The agent wants the stack: it is called again, with what it has said, and the registers that a walk needs. */
static void check_unknown_free(const struct place *place, const struct change *change,
			       unsigned ptr_arg)
{
	static const uint8_t arg[] = { RDI, RSI, RDX };
	struct thunk_spec spec = {
		.kind = THUNK_FREE, .ptr_arg = (uint8_t)ptr_arg, .changed = changed_by(change),
	};
	uint64_t want[15];
	struct thunk thunk;
	struct cpu in, out;
	const uint8_t *code = build(place, spec, &thunk);

	run(code, (struct values){ .callee = 0x1234, .release = 1ull << 63 }, &in, &out);
	CU_ASSERT_EQUAL(seen_unknown_free.agent.sp % 16, 8);
	CU_ASSERT_EQUAL(seen_unknown_free.agent.ret, (uintptr_t)code + thunk.unknown_free_ret);
	CU_ASSERT_EQUAL(seen_unknown_free.agent.sp + thunk.agent_cfa, thunk_entry);
	CU_ASSERT_EQUAL(seen_unknown_free.agent.arg[0], in.reg[arg[ptr_arg]]);
	CU_ASSERT_EQUAL(seen_unknown_free.agent.arg[1], thunk_entry);
	CU_ASSERT_EQUAL(seen_unknown_free.agent.arg[2], PROBE);
	CU_ASSERT_EQUAL(seen_unknown_free.bp, in.reg[RBP]);
	CU_ASSERT_EQUAL(seen_unknown_free.bx, in.reg[RBX]);
	CU_ASSERT_EQUAL(seen_unknown_free.said, 1ull << 63);
	check_place(&seen_callee, &in);
	memcpy(want, in.reg, sizeof(want));
	zeroed(change, arg, ARRAY_SIZE(arg), want);
	check_regs(seen_callee.reg, want, "displaced");
	left(want, 0x1234, want);
	check_regs(out.reg, want, "stray");
	CU_ASSERT(seen_release.clock == 1 && seen_unknown_free.agent.clock == 2 &&
		  seen_callee.clock == 3);
}

static void test_free(void)
{
	for (unsigned i = 0; i < ARRAY_SIZE(places); i++)
		for (unsigned ptr_arg = 0; ptr_arg <= 2; ptr_arg++)
			for (unsigned k = 0; k < ARRAY_SIZE(changes); k++) {
				check_free(&places[i], &changes[k], ptr_arg);
				check_unknown_free(&places[i], &changes[k], ptr_arg);
			}
}

/* Six arguments: the frame has three more, and a word, between the third and the return address. */
static void check_wide(const struct place *place)
{
	struct values values = { .callee = 0x1234 };
	uint64_t want[15];
	struct thunk thunk;
	struct cpu in, out;
	const uint8_t *code;

	code = build(place, (struct thunk_spec){ .kind = THUNK_ENTER, .wide = true }, &thunk);
	run(code, values, &in, &out);
	left(in.reg, 0x1234, want);
	check_called(&seen_callee, &thunk, code, in.reg);
	CU_ASSERT_EQUAL(seen_callee.sp + thunk.call_cfa, thunk_entry);
	CU_ASSERT(thunk.call_cfa == 80 && thunk.agent_cfa == 176);
	check_regs(out.reg, want, "wide");
	for (unsigned i = 0; i < 2; i++) {
		const uint64_t *stack = i ? seen_leave.stack : seen_enter.stack;

		CU_ASSERT_EQUAL(stack[F_ARG], in.reg[RDI]);
		CU_ASSERT_EQUAL(stack[F_ARG + 1], in.reg[RSI]);
		CU_ASSERT_EQUAL(stack[F_ARG + 2], in.reg[RDX]);
		CU_ASSERT_EQUAL(stack[F_ARG + 3], in.reg[RCX]);
		CU_ASSERT_EQUAL(stack[F_ARG + 4], in.reg[R8]);
		CU_ASSERT_EQUAL(stack[F_ARG + 5], in.reg[R9]);
		CU_ASSERT_EQUAL(stack[F_ARG + 7], direct_ret);
	}
	CU_ASSERT(seen_enter.clock == 1 && seen_callee.clock == 2 && seen_leave.clock == 3);
	values.enter = 1;
	run(code, values, &in, &out);
	check_as_called(&seen_callee, &in);
	CU_ASSERT(!seen_leave.clock && out.reg[RAX] == 0x1234);
}

static void test_wide(void)
{
	for (unsigned i = 0; i < ARRAY_SIZE(places); i++)
		check_wide(&places[i]);
}

static void refuse(struct thunk_spec spec)
{
	struct thunk thunk = { .len = 77 };
	struct err *err = arch_x86_64.thunk(&spec, &thunk);

	CU_ASSERT(err && err->code == ERR_UNSUPPORTED);
	CU_ASSERT_EQUAL(thunk.len, 77);
}

static void test_refused(void)
{
	refuse((struct thunk_spec){ .kind = THUNK_FREE, .ptr_arg = 3 });
	refuse((struct thunk_spec){ .kind = THUNK_NEW, .nothrow_call = 1, .nr_args = 1 });
	refuse((struct thunk_spec){ .kind = THUNK_FREE, .nothrow_call = 1, .nr_args = 1 });
	refuse((struct thunk_spec){ .kind = THUNK_ENTER, .nothrow_call = 1, .nr_args = 0 });
	refuse((struct thunk_spec){ .kind = THUNK_ENTER, .nothrow_call = 1, .nr_args = 3 });
	refuse((struct thunk_spec){ .kind = THUNK_NEW, .wide = true });
}

static void check_cfa_at(const struct place *place, struct thunk_spec spec)
{
	struct thunk thunk;

	build(place, spec, &thunk);
	CU_ASSERT_EQUAL(arch_x86_64.thunk_cfa(&thunk, 0), 8u + place->undo);
	CU_ASSERT_EQUAL(arch_x86_64.thunk_cfa(&thunk, thunk.entry), 8);
	/* The first thing of THUNK_ENTER is a push. */
	if (spec.kind == THUNK_ENTER)
		CU_ASSERT_EQUAL(arch_x86_64.thunk_cfa(&thunk, thunk.entry + 1), 16);
	if (thunk.call_ret)
		CU_ASSERT_EQUAL(arch_x86_64.thunk_cfa(&thunk, thunk.call_ret), thunk.call_cfa);
	if (thunk.enter_ret)
		CU_ASSERT_EQUAL(arch_x86_64.thunk_cfa(&thunk, thunk.enter_ret), thunk.agent_cfa);
	if (thunk.leave_ret)
		CU_ASSERT_EQUAL(arch_x86_64.thunk_cfa(&thunk, thunk.leave_ret), thunk.agent_cfa);
	if (thunk.release_ret)
		CU_ASSERT_EQUAL(arch_x86_64.thunk_cfa(&thunk, thunk.release_ret), thunk.agent_cfa);
	if (thunk.unknown_free_ret)
		CU_ASSERT_EQUAL(arch_x86_64.thunk_cfa(&thunk, thunk.unknown_free_ret),
				thunk.agent_cfa);
	if (thunk.ret)
		CU_ASSERT_EQUAL(arch_x86_64.thunk_cfa(&thunk, thunk.ret), 8);
	/* Behind it, the frame is as at the jump that leads there. */
	if (spec.kind == THUNK_ENTER)
		CU_ASSERT_EQUAL(arch_x86_64.thunk_cfa(&thunk, thunk.ret + 1), thunk.call_cfa);
	if (spec.kind == THUNK_ENTER)
		CU_ASSERT_EQUAL(arch_x86_64.thunk_cfa(&thunk, thunk.ret + 6), 8);
}

static void check_cfa(struct thunk_spec spec)
{
	/* A thunk and its displaced prologue share a slot. */
	for (unsigned i = 0; i < ARRAY_SIZE(places); i++)
		if (!places[i].function_away)
			check_cfa_at(&places[i], spec);
}

static void test_cfa(void)
{
	check_cfa((struct thunk_spec){ .kind = THUNK_NEW });
	check_cfa((struct thunk_spec){ .kind = THUNK_NEW, .changed = UINT32_MAX, .args = 2 });
	check_cfa((struct thunk_spec){ .kind = THUNK_FREE, .changed = UINT32_MAX });
	check_cfa((struct thunk_spec){ .kind = THUNK_ENTER });
	check_cfa((struct thunk_spec){ .kind = THUNK_ENTER, .wide = true });
	check_cfa((struct thunk_spec){ .kind = THUNK_ENTER, .nothrow_call = 1, .nothrow = 2,
				       .nr_args = 1 });
	check_cfa((struct thunk_spec){ .kind = THUNK_FREE });
}

void suite_thunk(void)
{
	CU_pSuite suite = CU_add_suite("thunk", setup, teardown);

	CU_add_test(suite, "new: frame, result, registers", test_new);
	CU_add_test(suite, "enter: before and after, or not at all", test_enter);
	CU_add_test(suite, "nothrow form first, then the throwing one", test_nothrow);
	CU_add_test(suite, "free: each argument, no frame", test_free);
	CU_add_test(suite, "the frame at each instruction", test_cfa);
	CU_add_test(suite, "wide: six arguments", test_wide);
	CU_add_test(suite, "what cannot be made is refused", test_refused);
}
