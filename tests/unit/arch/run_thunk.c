/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Running thunks: what they call notes what it sees, and each return is checked step by step. */

#include "run_thunk.h"

#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "unit.h"

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

extern uint64_t thunk_clock, thunk_taken;
extern const uint8_t *thunk_code;
extern const uint8_t thunk_start[], thunk_callee[], thunk_nothrow[];
extern const uint8_t thunk_enter[], thunk_leave[], thunk_release[], thunk_unknown_free[];

#define AREA	4096
#define LANDING	2048		/* of an area: jumps to the functions */
#define WORD	4088		/* of an area: the address of the count */

static uint8_t *areas[2];	/* near, far */
uint64_t thunk_direct_ret;

const struct thunk_place thunk_places[THUNK_PLACES] = {
	{ 0, false, false, 0, false }, { 0, true, false, 0, false },
	{ 1, false, true, 0, false }, { 1, true, true, 0, false },
	{ 0, false, false, 8, false }, { 1, true, true, ENTRY_SP_MAX, false },
	{ 0, false, false, 8, true }, { 1, true, true, ENTRY_SP_MAX, true },
};

static uint64_t counts[COUNT_BYTES / sizeof(uint64_t)]
	__attribute__((aligned(COUNT_BYTES)));
static bool counted;

static uint64_t calls(void)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < ARRAY_SIZE(counts); i++)
		sum += counts[i];
	return sum;
}

static uint64_t land(uint8_t *at, const uint8_t *to)
{
	uint64_t address = (uintptr_t)to;

	memcpy(at, "\xff\x25\0\0\0\0", 6);	/* jmp [rip+0] */
	memcpy(at + 6, &address, 8);
	return (uintptr_t)at;
}

const uint8_t *thunk_build(const struct thunk_place *place, struct thunk_spec spec,
			   struct thunk *thunk)
{
	uint8_t *area = areas[place->thunk];
	uint8_t *functions = areas[place->thunk ^ place->function_away] + LANDING;
	uint8_t *agent = areas[place->thunk ^ place->agent_away] + LANDING + 256;
	struct err *err;

	memset(area, 0xf4, LANDING);
	thunk_taken = spec.undo = place->undo;
	spec.at = (uintptr_t)area;
	spec.probe = THUNK_PROBE;
	spec.displaced = land(functions, thunk_callee);
	if (spec.nothrow_call)
		spec.nothrow_call = land(functions + 16, thunk_nothrow);
	spec.enter = land(agent, thunk_enter);
	spec.leave = land(agent + 16, thunk_leave);
	spec.release = land(agent + 32, thunk_release);
	spec.unknown = land(agent + 48, thunk_unknown_free);
	counted = place->counted && spec.kind != THUNK_FREE;
	if (counted) {
		spec.counts = (uintptr_t)area + WORD;
		*(uint64_t *)(area + WORD) = (uintptr_t)counts;
	}
	err = arch_x86_64.thunk(&spec, thunk);
	CU_ASSERT_PTR_NULL_FATAL(err);
	CU_ASSERT_FATAL(thunk->len > 0 && thunk->len <= THUNK_MAX);
	memcpy(area, thunk->code, thunk->len);
	return area;
}

/*
 * A shadow stack, by single steps from the call in execute() to the return there: on_step() is told
 * of each instruction before it runs.
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
	if (counted && (pc == thunk_callee || pc == thunk_nothrow))
		shadow.wrong += calls() != (*(uint64_t *)regs[REG_RSP] != thunk_direct_ret);
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

int thunk_set_up(void)
{
	struct sigaction action = { .sa_sigaction = on_step, .sa_flags = SA_SIGINFO };
	struct cpu in, out;

	areas[0] = area_near(thunk_callee, AREA);
	areas[1] = area_far(thunk_callee, AREA);
	if (!areas[0] || !areas[1] || sigaction(SIGTRAP, &action, &before))
		return 1;
	cpu_fill(&in);
	execute(thunk_callee, &in, &out);
	thunk_direct_ret = seen_callee.ret;
	return 0;
}

int thunk_tear_down(void)
{
	return munmap(areas[0], AREA) | munmap(areas[1], AREA) | sigaction(SIGTRAP, &before, NULL);
}

static void forget(const struct thunk_values *values)
{
	thunk_clock = 0;
	seen_callee = (struct seen){ .value = values->callee };
	seen_nothrow = (struct seen){ .value = values->nothrow };
	seen_enter = (struct agent_seen){ .value = values->enter };
	seen_leave = (struct agent_seen){ .value = 0xbad };
	seen_release = (struct agent_seen){ .value = values->release };
	seen_unknown_free = (struct unknown_free_seen){ .agent = { .value = 0xbad } };
}

void thunk_run(const uint8_t *code, struct thunk_values values, struct cpu *in, struct cpu *out)
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
	execute(thunk_start, in, out);
	CU_ASSERT_EQUAL(calls(), 0);
	/* Nothing below SP looks as if somebody were still to return to the thunk. */
	for (unsigned i = 0; i < ARRAY_SIZE(out->below); i++)
		CU_ASSERT(out->below[i] - (uintptr_t)code >= THUNK_MAX);
}
