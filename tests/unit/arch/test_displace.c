/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Displaced prologues are run: each function below is called as it is, then through its displaced
 * copy with the patched bytes of the original made into traps, and must leave the same registers,
 * flags and data. So must a thread that is in the middle of the bytes when they are patched, and is
 * moved.
 */

#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "arch/arch.h"
#include "execute.h"
#include "unit.h"

/*
 * Functions to displace. A name and its end; what they return is compared, so all that matters is
 * that a wrong copy would return something else. Data is 64 bytes at displace_data.
 */
__asm__(
	".data\n.balign 64\n.globl displace_data\n"
	"displace_data: .quad 0x1122334455667788, 7, data_helper, 0, 0, 0, 0, 0\n"
	".text\n"
	".macro FN name\n.balign 16\n.globl fn_\\name, fn_\\name\\()_end\nfn_\\name:\n.endm\n"
	".macro END name\nfn_\\name\\()_end:\n.endm\n"
	/* rax: the return address it was given; rbx += 1 */
	"data_helper: mov (%rsp), %rax; inc %rbx; ret\n"
	"FN push\n push %rbx; mov %rdi, %rbx; lea 1(%rbx), %rax; pop %rbx; ret\n"
	"END push\n"
	"FN landing\n endbr64; push %rbx; mov %rdi, %rbx; lea 1(%rbx), %rax; pop %rbx; ret\n"
	"END landing\n"
	"FN rip_load\n mov displace_data(%rip), %rax; add %rdi, %rax; ret\n"
	"END rip_load\n"
	"FN rip_lea\n lea displace_data(%rip), %rax; mov 8(%rax), %rax; ret\n"
	"END rip_lea\n"
	"FN rip_imm\n addl $0x01020304, displace_data+8(%rip)\n"
	" cmpq $7, displace_data+8(%rip); setne %al; ret\n"
	"END rip_imm\n"
	"FN rip_sse\n movdqu displace_data(%rip), %xmm0; movq %xmm0, %rax; ret\n"
	"END rip_sse\n"
	"FN jcc_out\n test %rdi, %rdi; je 1f; mov $1, %eax; ret; 1: mov $2, %eax; ret\n"
	"END jcc_out\n"
	"FN jcc_near\n cmp $5, %edi; .byte 0x0f, 0x87; .long 1f - . - 4; mov $1, %eax; ret\n"
	" 1: mov $2, %eax; ret\n"
	"END jcc_near\n"
	"FN jcc_back\n 1: dec %rcx; jnz 1b; lea 3(%rcx), %rax; ret\n"
	"END jcc_back\n"
	"FN jcc_over\n jc 1f; inc %eax; 1: inc %ebx; inc %edx; ret\n"
	"END jcc_over\n"
	"FN loop\n 1: inc %edx; loop 1b; mov %edx, %eax; ret\n"
	"END loop\n"
	"FN loop_out\n loopne 1f; inc %edx; inc %edx; inc %edx; 1: mov %edx, %eax; ret\n"
	"END loop_out\n"
	"FN jrcxz\n jrcxz 1f; inc %edx; inc %edx; 1: mov %edx, %eax; ret\n"
	"END jrcxz\n"
	"FN call\n call data_helper; add $3, %rbx; ret\n"
	"END call\n"
	"FN call_late\n inc %edx; call data_helper; add $3, %rbx; ret\n"
	"END call_late\n"
	"FN call_mem\n call *displace_data+16(%rip); add $3, %rbx; ret\n"
	"END call_mem\n"
	"FN call_reg\n call *%rcx; add $3, %rbx; ret\n"
	"END call_reg\n"
	"FN call_pop\n call 1f; 1: pop %rax; ret\n"
	"END call_pop\n"
	"FN call_self\n inc %edx; cmp $3, %dl; jae 1f; call fn_call_self; inc %ebx; 1: ret\n"
	"END call_self\n"
	"FN jmp\n .byte 0xe9; .long fn_push - . - 4\n"
	"END jmp\n"
	"FN jmp_mem\n jmp *displace_data+16(%rip)\n"
	"END jmp_mem\n"
	"FN jmp_reg\n jmp *%rcx\n"
	"END jmp_reg\n"
	"FN jmp_short\n .byte 0xeb, 1f - . - 1; inc %edx; inc %edx; inc %edx\n"
	" 1: mov %edx, %eax; ret\n"
	"END jmp_short\n"
	"FN ret\n ret\n"
	"END ret\n"
	"FN small\n xor %eax, %eax; ret\n"
	"END small\n"
	"FN lock_skip\n je 1f; lock; 1: cmpxchg %rdx, displace_data(%rip); ret\n"
	"END lock_skip\n"
	"FN ret_pad\n xor %eax, %eax; ret; int3; nopw 0x100(%rax, %rax); nop; int3; xchg %ax, %ax\n"
	"END ret_pad\n"
	"FN jmp_pad\n .byte 0xeb, 1f - . - 1; nop; nop; nop; nop; nop; 1: mov %edx, %eax; ret\n"
	"END jmp_pad\n"
);

/* Name, offset of the patch, and min_len up to which it can be displaced (99: all of it). */
#define FUNCTIONS(f) \
	f(push, 0, 99) f(landing, 4, 99) f(rip_load, 0, 99) f(rip_lea, 0, 99) f(rip_imm, 0, 99) \
	f(rip_sse, 0, 99) f(jcc_out, 0, 11) f(jcc_near, 0, 14) f(jcc_back, 0, 99) \
	f(jcc_over, 0, 99) f(loop, 0, 99) f(loop_out, 0, 99) f(jrcxz, 0, 99) f(call, 0, 5) \
	f(call_late, 0, 7) f(call_mem, 0, 6) f(call_reg, 0, 2) f(call_pop, 0, 5) \
	f(call_self, 0, 12) f(jmp, 0, 5) f(jmp_mem, 0, 6) f(jmp_reg, 0, 2) f(jmp_short, 0, 2) \
	f(ret, 0, 1) f(small, 0, 3) f(lock_skip, 0, 3) f(ret_pad, 0, 99) f(jmp_pad, 0, 7)

#define DECLARE(name, offset, max)	extern const uint8_t fn_##name[], fn_##name##_end[];
FUNCTIONS(DECLARE)
extern uint8_t displace_data[64];

struct function {
	const char *name;
	const uint8_t *code, *end;
	size_t offset;		/* of the patch */
	size_t max;		/* min_len up to which it can be displaced; 99: whole function */
};

#define ENTRY(name, offset, max)	{ #name, fn_##name, fn_##name##_end, offset, max },
static const struct function functions[] = { FUNCTIONS(ENTRY) };

#define AREA	4096

static uint8_t *near_area, *far_area;

static int setup(void)
{
	uintptr_t page = (uintptr_t)fn_push & ~4095ul;
	uintptr_t end = ((uintptr_t)fn_jmp_pad_end + 4095) & ~4095ul;

	near_area = area_near(fn_push, AREA);
	far_area = area_far(fn_push, AREA);
	return !near_area || !far_area ||
	       mprotect((void *)page, end - page, PROT_READ | PROT_WRITE | PROT_EXEC);
}

static int teardown(void)
{
	return munmap(near_area, AREA) | munmap(far_area, AREA);
}

FIXTURE(setup, teardown);

static struct err *displace(const struct function *f, size_t min_len, const uint8_t *area,
			    struct displaced *ret)
{
	const uint8_t *from = f->code + f->offset;

	return arch_x86_64.displace(from, f->end - from, (uintptr_t)from, (uintptr_t)area, min_len,
				    ret);
}

/* Inputs that take every branch of the functions. */
static void input(unsigned variant, struct cpu *cpu)
{
	cpu_fill(cpu);
	cpu->reg[RCX] = variant & 4 ? (uintptr_t)fn_push : 1 + (variant & 1);
	cpu->reg[RDI] = variant & 1 ? 0 : 6;
	cpu->reg[RDX] = variant & 2 ? 0 : 5;
	cpu->reg[FLAGS] = 0x202 | (variant & 1) | (variant & 2 ? 0x40 : 0);	/* carry, zero */
}

static bool usable(const struct function *f, unsigned variant)
{
	bool through_rcx = !strcmp(f->name, "call_reg") || !strcmp(f->name, "jmp_reg");
	bool counts_rcx = !strncmp(f->name, "loop", 4) || !strcmp(f->name, "jcc_back");

	return !(through_rcx && !(variant & 4)) && !(counts_rcx && variant & 4);
}

static bool same(const struct cpu *a, const struct cpu *b)
{
	return !memcmp(a->reg, b->reg, FLAGS * sizeof(a->reg[0])) &&
	       !((a->reg[FLAGS] ^ b->reg[FLAGS]) & FLAGS_MASK);
}

/* What a run leaves; the data is then as before. */
struct outcome {
	struct cpu cpu;
	uint8_t data[64];
};

static void run(const void *code, const struct cpu *in, struct outcome *ret)
{
	uint8_t data[64];

	memcpy(data, displace_data, sizeof(data));
	execute(code, in, &ret->cpu);
	memcpy(ret->data, displace_data, sizeof(data));
	memcpy(displace_data, data, sizeof(data));
}

static void compare(const struct outcome *original, const struct outcome *copy,
		    const struct function *f, size_t min_len, unsigned variant)
{
	if (same(&original->cpu, &copy->cpu) &&
	    !memcmp(original->data, copy->data, sizeof(copy->data)))
		return;
	printf("%s, min_len %zu, variant %u: runs differently\n", f->name, min_len, variant);
	CU_FAIL("a displaced prologue runs differently");
}

/* Run the function as it is, then displaced to area with its first min_len bytes made traps. */
static void compare_runs(const struct function *f, unsigned variant, size_t min_len, uint8_t *area,
			 const struct displaced *displaced)
{
	uint8_t *from = (uint8_t *)f->code + f->offset;
	struct outcome original, copy;
	uint8_t kept[16];
	struct cpu in;

	input(variant, &in);
	run(f->code, &in, &original);

	memcpy(kept, from, min_len);
	memset(area, 0xcc, AREA);
	memcpy(area, displaced->code, displaced->len);
	memset(from, 0xcc, min_len);
	run(area, &in, &copy);
	memcpy(from, kept, min_len);
	compare(&original, &copy, f, min_len, variant);
}

/* The map of instructions must start at 0, rise on both sides and stay inside. */
static void check_map(const struct function *f, size_t min_len, const struct displaced *d)
{
	size_t from = 0;
	char text[96];

	CU_ASSERT(d->consumed >= min_len && d->len <= DISPLACED_MAX && d->nr > 0);
	CU_ASSERT(d->insn[0].from == 0 && d->insn[0].to == 0);
	for (size_t i = 0; i < d->nr; i++) {
		CU_ASSERT_EQUAL(d->insn[i].from, from);
		CU_ASSERT(i == 0 || d->insn[i].to > d->insn[i - 1].to);
		CU_ASSERT(d->insn[i].to < d->len);
		from += arch_x86_64.insn_text(f->code + f->offset + from, 15, 0, text, sizeof(text));
	}
	CU_ASSERT(from == d->consumed || (strstr(f->name, "_pad") && from < d->consumed));
	/* The jump back, if there is one, follows. */
	CU_ASSERT_EQUAL(d->insn[d->nr].from, d->consumed);
	CU_ASSERT(d->insn[d->nr].to == d->len || d->insn[d->nr].to == d->len - 5 ||
		  d->insn[d->nr].to == d->len - 14);
}

/*
 * What was not displaced, or a call of the function itself, goes to the patch: a probe there would
 * lead it on, but the traps of this test cannot.
 */
static bool comes_back(const struct function *f, const struct displaced *d, size_t min_len)
{
	const uint8_t *from = f->code + f->offset, *rest = from + d->consumed;

	return !strcmp(f->name, "call_self") ||
	       arch_x86_64.jumps_into(rest, f->end - rest, (uintptr_t)rest, (uintptr_t)from,
				      (uintptr_t)from + min_len, NULL);
}

static void run_function(const struct function *f, uint8_t *area)
{
	for (size_t min_len = 1; min_len <= 14 && min_len <= (size_t)(f->end - f->code) - f->offset;
	     min_len++) {
		struct displaced d;
		struct err *err = displace(f, min_len, area, &d);

		if (min_len > f->max) {
			if (!err || err->code != ERR_UNSUPPORTED) {
				printf("%s, min_len %zu: %s\n", f->name, min_len,
				       err ? err->msg : "not refused");
				CU_FAIL("not refused as it should be");
			}
			continue;
		}
		if (area == far_area && err && err->code == ERR_RANGE)
			continue;	/* counted in test_far */
		if (err)
			printf("%s, min_len %zu: %s\n", f->name, min_len, err->msg);
		CU_ASSERT_PTR_NULL_FATAL(err);
		check_map(f, min_len, &d);
		for (unsigned variant = 0; variant < 8 && !comes_back(f, &d, min_len); variant++)
			if (usable(f, variant))
				compare_runs(f, variant, min_len, area, &d);
	}
}

TEST("copies near the function run alike")
{
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++)
		run_function(&functions[i], near_area);
}

TEST("copies far away run alike or say why not")
{
	unsigned out_of_range = 0;

	for (size_t i = 0; i < ARRAY_SIZE(functions); i++) {
		struct displaced d;
		struct err *err = displace(&functions[i], 1, far_area, &d);

		if (err) {
			CU_ASSERT_EQUAL(err->code, ERR_RANGE);
			CU_ASSERT_PTR_NOT_NULL(strstr(err->msg, "[0x"));
			out_of_range++;
		}
		run_function(&functions[i], far_area);
	}
	/*
	 * rip_load, rip_lea, rip_imm, rip_sse, call_mem, jmp_mem: all else can be moved anywhere.
	 */
	CU_ASSERT_EQUAL(out_of_range, 6);
}

TEST("calls")
{
	struct displaced d;
	uint32_t rel;

	/* The call of itself goes to the original, where the probe is. */
	CU_ASSERT_PTR_NULL_FATAL(arch_x86_64.displace(fn_call_self, fn_call_self_end - fn_call_self,
						      (uintptr_t)fn_call_self, (uintptr_t)near_area,
						      8, &d));
	memcpy(&rel, d.code + d.len - 4, 4);
	CU_ASSERT_EQUAL((uintptr_t)near_area + d.len + (int32_t)rel, (uintptr_t)fn_call_self);
}

/*
 * The thread to be moved stops at an int3; then the patch is written, and the thread goes on in the
 * copy. A second stop is one in the patch: it should never have got there.
 */
static struct {
	uint8_t *patch;
	size_t len, at;		/* at: offset of the int3 */
	uint8_t kept[16];	/* what the patch replaces */
	const uint8_t *to;
	unsigned stops;
} move;

static void on_trap(int signo, siginfo_t *info, void *context)
{
	greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;

	(void)signo;
	(void)info;
	if (!move.stops++) {
		memset(move.patch, 0xcc, move.len);
		regs[REG_RIP] = (greg_t)move.to;
	} else {
		memcpy(move.patch, move.kept, move.len);
		regs[REG_RIP]--;
	}
}

/* Stop before instruction i of the original and go on in the copy; returns whether it got there. */
static bool run_moved(const struct function *f, unsigned variant, size_t min_len, size_t i,
		      const struct displaced *d)
{
	struct outcome original, copy;
	struct cpu in;

	input(variant, &in);
	run(f->code, &in, &original);
	move.patch = (uint8_t *)f->code + f->offset;
	move.len = min_len;
	move.to = near_area + d->insn[i].to;
	move.stops = 0;
	memcpy(move.kept, move.patch, min_len);
	move.patch[d->insn[i].from] = 0xcc;
	run(f->code, &in, &copy);
	memcpy(move.patch, move.kept, min_len);
	CU_ASSERT(move.stops <= 1);
	compare(&original, &copy, f, min_len, variant);
	return move.stops;
}

static unsigned move_all(const struct function *f, size_t min_len)
{
	unsigned moved = 0;
	struct displaced d;

	if (displace(f, min_len, near_area, &d) || comes_back(f, &d, min_len))
		return 0;
	memset(near_area, 0xcc, AREA);
	memcpy(near_area, d.code, d.len);
	for (size_t i = 1; i < d.nr && d.insn[i].from < min_len; i++)
		for (unsigned variant = 0; variant < 8; variant++)
			if (usable(f, variant))
				moved += run_moved(f, variant, min_len, i, &d);
	return moved;
}

TEST("a thread in the patch is moved")
{
	struct sigaction action = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO }, before;
	unsigned jumps = 0;

	CU_ASSERT_FATAL(!sigaction(SIGTRAP, &action, &before));
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++) {
		const struct function *f = &functions[i];
		size_t len = f->end - f->code - f->offset;

		for (size_t min_len = 2; min_len <= MIN(len, (size_t)14); min_len++)
			if (move_all(f, min_len) && min_len == arch_x86_64.jump_len)
				jumps++;
	}
	CU_ASSERT_FATAL(!sigaction(SIGTRAP, &before, NULL));
	/*
	 * push, landing, jcc_out, jcc_near, jcc_back, jcc_over, loop, loop_out, jrcxz, call_late,
	 * ret_pad: all others are refused, or have no instruction inside a jump but the first.
	 */
	CU_ASSERT_EQUAL(jumps, 11);
}

static void refuse(const char *what, const void *code, size_t len, size_t min_len,
		   const char *message)
{
	struct displaced d = { .len = 77 };
	struct err *err = arch_x86_64.displace(code, len, 0x401000, 0x501000, min_len, &d);

	if (!err || err->code != ERR_UNSUPPORTED || !strstr(err->msg, message)) {
		printf("%s: %s\n", what, err ? err->msg : "not refused");
		CU_FAIL("not refused as it should be");
	}
	CU_ASSERT_EQUAL(d.len, 77);	/* a failed function has changed nothing */
}

/* A call of two bytes at each offset: one that would return into the patch is refused. */
TEST("calls that would return into the patch")
{
	for (size_t at = 0; at < 5; at++) {
		uint8_t code[8] = { 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90 };
		char where[64];
		struct displaced d;

		memcpy(code + at, "\xff\xd0", 2);	/* call rax */
		snprintf(where, sizeof(where), "0x40100%zu: 'call rax' cannot be moved: it returns",
			 at);
		if (at + 2 < 5)
			refuse("call", code, sizeof(code), 5, where);
		else
			CU_ASSERT_PTR_NULL(arch_x86_64.displace(code, sizeof(code), 0x401000,
								0x501000, 5, &d));
		/* Nothing returns into a patch of one byte. */
		CU_ASSERT_PTR_NULL(arch_x86_64.displace(code, sizeof(code), 0x401000, 0x501000, 1,
							&d));
	}
	refuse("call rel32", "\x90\xe8\0\1\0\0\x90", 7, 7, "it returns into the patch");
}

TEST("what cannot be moved is refused")
{
	refuse("int3", "\xcc\x90\x90\x90\x90", 5, 1, "trap");
	refuse("int 3", "\xcd\x03\x90\x90\x90", 5, 1, "trap");
	refuse("ud2", "\x0f\x0b\x90\x90\x90", 5, 1, "trap");
	refuse("hlt", "\xf4\x90\x90\x90\x90", 5, 1, "trap");
	refuse("iretq", "\x48\xcf\x90\x90\x90", 5, 1, "");
	refuse("not an instruction", "\x06\x90\x90\x90\x90", 5, 1, "0x401000: not an instruction");
	refuse("cut off", "\x48\x8b\x05", 3, 1, "not an instruction");
	refuse("no bytes", "", 0, 1, "too short");
	refuse("too short", "\x90\x90\x90\x90", 4, 5, "0x401000: too short for the patch");
	refuse("ret first", "\x90\xc3\x90\x31\xc0", 5, 5,
	       "0x401001: 'ret' cannot be moved: the function ends");
	refuse("jmp first", "\xeb\x10\x90\xcc\x55", 5, 5, "cannot be moved: the function ends");
	refuse("ret last", "\x90\x90\x90\xc3", 4, 5, "too short for the patch: 4 of 5 bytes");
	refuse("padding of another's", "\xc3\x90\x90\x90\xcc\xcc", 4, 5, "too short");
	refuse("padding that is branched to", "\x74\x01\xc3\x90\x90\xc3", 6, 5,
	       "0x401000: 'jz 0x0000000000401003' cannot be moved: it goes into the middle");
	refuse("jmp 16 bits", "\x66\xe9\x10\x00\x90\x90\x90", 7, 1, "16-bit");
	refuse("jmp far", "\xff\x2c\x24\x90\x90", 5, 1, "far branch");
	refuse("xbegin", "\xc7\xf8\x10\x00\x00\x00", 6, 1, "relative");
	refuse("call [rsp+8]", "\xff\x54\x24\x08\x90", 5, 1, "stack pointer");
	refuse("call into the patch", "\xe8\xfe\xff\xff\xff", 5, 5, "calls into the patch");
	refuse("jump into an instruction", "\xb8\x90\x90\x90\x90\x75\xfa\x90", 8, 7,
	       "middle of the patch");
	refuse("mov eax, [eip+8]", "\x67\x8b\x05\x08\x00\x00\x00", 7, 1, "32-bit address");
	refuse("far too many",
	       "\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90", 18, 18,
	       "too many");
}
