/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Entry stubs are run: what the called function sees, what comes back, and where the trap stops. */

#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "arch/arch.h"
#include "execute.h"
#include "unit.h"

/*
 * callee: notes SP, its return address and its first three arguments at stub_seen, returns what is
 * there, clobbers nothing else. retry: the same at stub_retried, and returns 0x7777.
 */
__asm__(
	".data\n.balign 8\nstub_seen: .quad 0,0,0,0,0,0\nstub_retried: .quad 0,0,0,0,0,0\n"
	".text\n"
	".globl stub_callee, stub_retry\n"
	".macro NOTE to\n"
	"	mov %rsp, \\to(%rip); mov (%rsp), %rax; mov %rax, \\to+8(%rip)\n"
	"	mov %rdi, \\to+16(%rip); mov %rsi, \\to+24(%rip); mov %rdx, \\to+32(%rip)\n"
	".endm\n"
	"stub_callee: NOTE stub_seen; mov stub_seen+40(%rip), %rax; ret\n"
	"stub_retry:  NOTE stub_retried; mov $0x7777, %eax; ret\n"
);

struct seen {
	uint64_t sp, ret, arg[3], value;
};

extern struct seen stub_seen, stub_retried;
extern const uint8_t stub_callee[], stub_retry[];

#define AREA	4096

static uint8_t *areas[2];	/* near, far */
static struct sigaction before;
static volatile uint64_t trap_pc, trap_ret, trap_sp;
static volatile unsigned traps;
static uint64_t counts[COUNT_BYTES / sizeof(uint64_t)]
	__attribute__((aligned(COUNT_BYTES)));
static volatile uint64_t trap_calls;

static uint64_t calls(void)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < ARRAY_SIZE(counts); i++)
		sum += counts[i];
	return sum;
}

static void on_trap(int signo, siginfo_t *info, void *context)
{
	const greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;

	(void)signo;
	(void)info;
	trap_pc = regs[REG_RIP];
	trap_ret = regs[REG_RAX];
	trap_sp = regs[REG_RSP];
	trap_calls = calls();
	traps++;
}

static int setup(void)
{
	struct sigaction action = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };

	areas[0] = area_near(stub_callee, AREA);
	areas[1] = area_far(stub_callee, AREA);
	return !areas[0] || !areas[1] || sigaction(SIGTRAP, &action, &before);
}

static int teardown(void)
{
	return munmap(areas[0], AREA) | munmap(areas[1], AREA) | sigaction(SIGTRAP, &before, NULL);
}

FIXTURE(setup, teardown);

#define BEFORE	(AREA - 16)	/* of an area: what a function's first instruction does to SP */
#define WORD	(AREA - 24)	/* of an area: the address of the count */

/* Where to begin. */
static uint8_t *build(struct stub_spec spec, uint8_t *area, struct stub *stub)
{
	uint8_t first[] = {
		0x48, 0x8d, 0x64, 0x24, -spec.undo,	/* lea rsp, [rsp-undo] */
		0xe9, 0, 0, 0, 0,			/* jmp area */
	};
	int32_t back = -(BEFORE + (int32_t)sizeof(first));

	spec.at = (uintptr_t)area;
	if (spec.counts)
		spec.counts += (uintptr_t)area;
	CU_ASSERT_PTR_NULL_FATAL(arch_x86_64.stub(&spec, stub));
	CU_ASSERT_FATAL(stub->len > 0 && stub->len <= STUB_MAX);
	memset(area, 0xf4, AREA);	/* hlt: nothing behind the stub may run */
	memcpy(area, stub->code, stub->len);
	CU_ASSERT_EQUAL(stub->code[stub->trap], arch_x86_64.trap[0]);
	CU_ASSERT_EQUAL(stub->entry != 0, spec.undo != 0);
	CU_ASSERT_EQUAL(arch_x86_64.stub_cfa(stub, 0), 8u + spec.undo);
	CU_ASSERT_EQUAL(arch_x86_64.stub_cfa(stub, stub->entry), 8);
	CU_ASSERT_EQUAL(arch_x86_64.stub_cfa(stub, stub->ret), stub->frame);
	CU_ASSERT_EQUAL(arch_x86_64.stub_cfa(stub, stub->trap + 1), stub->frame);
	memcpy(first + 6, &back, sizeof(back));
	*(uint64_t *)(area + WORD) = (uintptr_t)counts;
	memcpy(area + BEFORE, first, sizeof(first));
	return spec.undo ? area + BEFORE : area;
}

/* Run the stub, whose callee returns value. */
static void run(const uint8_t *area, uint64_t value, struct cpu *in, struct cpu *out)
{
	stub_seen = (struct seen){ .value = value };
	stub_retried = (struct seen){ .sp = 0 };
	traps = 0;
	cpu_fill(in);
	execute(area, in, out);
}

static void check_trap(const uint8_t *area, const struct stub *stub, uint64_t value, bool counted)
{
	uint64_t entry = stub_seen.sp + stub->frame;

	CU_ASSERT_EQUAL(traps, 1);
	CU_ASSERT_EQUAL(trap_calls, counted);
	CU_ASSERT_EQUAL(calls(), 0);
	CU_ASSERT_EQUAL(trap_pc, (uintptr_t)area + stub->trap + arch_x86_64.trap_pc_bias);
	CU_ASSERT_EQUAL(trap_ret, value);
	CU_ASSERT_EQUAL(trap_sp, stub_seen.sp + 8);
	CU_ASSERT_EQUAL(stub_seen.sp % 16, 8);
	CU_ASSERT_EQUAL(entry % 16, 8);
	CU_ASSERT_EQUAL(stub_seen.ret, (uintptr_t)area + stub->ret);
}

/* What a function's first instruction may have taken from SP. */
static const uint8_t undos[] = { 0, 8, ENTRY_SP_MAX };

static void check_plain(uint8_t *area, uint8_t undo, bool counted)
{
	struct stub_spec spec = { .call = (uintptr_t)stub_callee, .undo = undo,
				  .counts = counted ? WORD : 0 };
	const uint8_t *begin;
	struct stub stub;
	struct cpu in, out;

	begin = build(spec, area, &stub);
	CU_ASSERT_EQUAL(stub.frame, 16);
	run(begin, 0x1234, &in, &out);
	check_trap(area, &stub, 0x1234, counted);
	CU_ASSERT_EQUAL(out.reg[RAX], 0x1234);
	CU_ASSERT(!memcmp(&in.reg[RBX], &out.reg[RBX], (FLAGS - RBX) * sizeof(in.reg[0])));
	CU_ASSERT_TRUE(counted || !((in.reg[FLAGS] ^ out.reg[FLAGS]) & FLAGS_MASK));
	/* NULL is as good as any value here. */
	run(begin, 0, &in, &out);
	check_trap(area, &stub, 0, counted);
	CU_ASSERT_EQUAL(out.reg[RAX], 0);
	CU_ASSERT_EQUAL(stub_retried.sp, 0);
}

TEST("plain: keeps registers, flags and alignment")
{
	for (unsigned i = 0; i < ARRAY_SIZE(areas); i++)
		for (unsigned k = 0; k < ARRAY_SIZE(undos); k++)
			for (unsigned counted = 0; counted < 2; counted++)
				check_plain(areas[i], undos[k], counted);
}

static void check_retry(unsigned nr_args, uint8_t *area, uint8_t undo, bool counted)
{
	struct stub_spec spec = {
		.undo = undo,
		.call = (uintptr_t)stub_callee,
		.retry = (uintptr_t)stub_retry,
		.nothrow = 0x1122334455667788,
		.nr_args = nr_args,
		.counts = counted ? WORD : 0,
	};
	const uint8_t *begin;
	struct stub stub;
	struct cpu in, out;
	uint64_t entry;

	begin = build(spec, area, &stub);
	run(begin, 0x1234, &in, &out);
	check_trap(area, &stub, 0x1234, counted);
	entry = stub_seen.sp + stub.frame;
	CU_ASSERT_EQUAL(out.reg[RAX], 0x1234);
	CU_ASSERT_EQUAL(stub_seen.arg[0], in.reg[RDI]);
	CU_ASSERT_EQUAL(stub_seen.arg[1], nr_args == 1 ? spec.nothrow : in.reg[RSI]);
	CU_ASSERT_EQUAL(stub_seen.arg[2], nr_args == 1 ? in.reg[RDX] : spec.nothrow);
	CU_ASSERT_EQUAL(stub_retried.sp, 0);

	run(begin, 0, &in, &out);
	check_trap(area, &stub, 0, counted);
	CU_ASSERT_EQUAL(out.reg[RAX], 0x7777);
	/*
	 * As if it had been called in the first place: the same stack, the caller's return address,
	 * the arguments.
	 */
	CU_ASSERT_EQUAL(stub_retried.sp, entry);
	CU_ASSERT_NOT_EQUAL(stub_retried.ret, stub_seen.ret);
	CU_ASSERT_EQUAL(stub_retried.arg[0], in.reg[RDI]);
	if (nr_args == 2)
		CU_ASSERT_EQUAL(stub_retried.arg[1], in.reg[RSI]);
	CU_ASSERT(!memcmp(&in.reg[R8], &out.reg[R8], (FLAGS - R8) * sizeof(in.reg[0])));
	CU_ASSERT_EQUAL(out.reg[RBX], in.reg[RBX]);
	CU_ASSERT_EQUAL(out.reg[RBP], in.reg[RBP]);
}

TEST("retry: calls the nothrow form first")
{
	for (unsigned i = 0; i < ARRAY_SIZE(areas); i++)
		for (unsigned nr_args = 1; nr_args <= 2; nr_args++)
			for (unsigned k = 0; k < ARRAY_SIZE(undos); k++)
				for (unsigned counted = 0; counted < 2; counted++)
					check_retry(nr_args, areas[i], undos[k], counted);
}

TEST("numbers of arguments that it cannot keep")
{
	struct stub_spec spec = { .at = 0x1000, .call = 0x2000, .retry = 0x3000, .nr_args = 3 };
	struct stub stub = { .len = 77 };
	struct err *err = arch_x86_64.stub(&spec, &stub);

	CU_ASSERT(err && err->code == ERR_UNSUPPORTED);
	spec.nr_args = 0;
	CU_ASSERT_PTR_NOT_NULL(arch_x86_64.stub(&spec, &stub));
	CU_ASSERT_EQUAL(stub.len, 77);
}
