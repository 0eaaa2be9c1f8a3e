/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table itself: registers, patches, single instructions. */

#include <elf.h>
#include <stddef.h>
#include <sys/user.h>

#include "arch/arch.h"
#include "unit.h"

static const struct arch *const arch = &arch_x86_64;

TEST("found by machine and class")
{
	CU_ASSERT_PTR_EQUAL(arch_find(EM_X86_64, ELFCLASS64), &arch_x86_64);
	CU_ASSERT_PTR_NULL(arch_find(EM_X86_64, ELFCLASS32));	/* x32 */
	CU_ASSERT_PTR_NULL(arch_find(EM_386, ELFCLASS32));
	CU_ASSERT_PTR_NULL(arch_find(EM_AARCH64, ELFCLASS64));
	CU_ASSERT_PTR_NOT_NULL(arch_host());
}

#define WORD(field)	(offsetof(struct user_regs_struct, field) / 8)
#define NAME(field)	{ WORD(field), #field }

TEST("words of the register set")
{
	static const struct {
		size_t word;
		const char *name;
	} names[] = {
		NAME(r15), NAME(r14), NAME(r13), NAME(r12), NAME(rbp), NAME(rbx), NAME(r11),
		NAME(r10), NAME(r9), NAME(r8), NAME(rax), NAME(rcx), NAME(rdx), NAME(rsi),
		NAME(rdi), NAME(orig_rax), NAME(rip), NAME(cs), NAME(eflags), NAME(rsp), NAME(ss),
		NAME(fs_base), NAME(gs_base), NAME(ds), NAME(es), NAME(fs), NAME(gs),
	};

	CU_ASSERT_EQUAL(arch->regs_words, sizeof(struct user_regs_struct) / 8);
	CU_ASSERT(arch->regs_words <= REGS_WORDS);
	CU_ASSERT_EQUAL(arch->pc, WORD(rip));
	CU_ASSERT_EQUAL(arch->sp, WORD(rsp));
	CU_ASSERT_EQUAL(arch->fp, WORD(rbp));
	CU_ASSERT_EQUAL(arch->ret, WORD(rax));
	CU_ASSERT_EQUAL(arch->tp, WORD(fs_base));
	CU_ASSERT_EQUAL(arch->flags, WORD(eflags));
	CU_ASSERT_EQUAL(arch->orig_syscall, WORD(orig_rax));
	CU_ASSERT_EQUAL(arch->syscall_nr, WORD(rax));
	CU_ASSERT_EQUAL(arch->arg[0], WORD(rdi));
	CU_ASSERT_EQUAL(arch->arg[3], WORD(rcx));
	CU_ASSERT_EQUAL(arch->syscall_arg[3], WORD(r10));
	CU_ASSERT_EQUAL(arch->syscall_arg[5], WORD(r9));
	for (unsigned i = 0; i < ARRAY_SIZE(names); i++)
		CU_ASSERT_STRING_EQUAL(arch->reg_names[names[i].word], names[i].name);
}

TEST("DWARF numbers")
{
	static const char *const names[] = {
		"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp",
		"r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
	};

	for (unsigned i = 0; i < ARRAY_SIZE(names); i++)
		CU_ASSERT_STRING_EQUAL(arch->reg_names[arch->dwarf_to_word[i]], names[i]);
	for (unsigned i = ARRAY_SIZE(names); i < ARRAY_SIZE(arch->dwarf_to_word); i++)
		CU_ASSERT_EQUAL(arch->dwarf_to_word[i], 0xff);
}

/* Length and SP bytes of a first instruction that stays, or -1. */
static int stays(const char *code, size_t len, unsigned args)
{
	struct entry_insn insn;

	return arch->entry_insn((const uint8_t *)code, len, args, &insn) ? insn.len << 8 | insn.sp : -1;
}

#define STAYS(code, args)	stays(code, sizeof(code) - 1, args)

TEST("first instructions that stay")
{
	/* endbr64, nop, nop of five bytes */
	CU_ASSERT_EQUAL(STAYS("\xf3\x0f\x1e\xfa\x55", 3), 0x400);
	CU_ASSERT_EQUAL(STAYS("\x90", 3), 0x100);
	CU_ASSERT_EQUAL(STAYS("\x0f\x1f\x44\x00\x00", 3), 0x500);
	/* push rbx, push r12, push 1; sub rsp, 24; lea rsp, [rsp-8] */
	CU_ASSERT_EQUAL(STAYS("\x53", 3), 0x108);
	CU_ASSERT_EQUAL(STAYS("\x41\x54", 3), 0x208);
	CU_ASSERT_EQUAL(STAYS("\x6a\x01", 3), 0x208);
	CU_ASSERT_EQUAL(STAYS("\x48\x83\xec\x18", 3), 0x418);
	CU_ASSERT_EQUAL(STAYS("\x48\x8d\x64\x24\xf8", 3), 0x508);
	/* test rdi, rdi; cmp rdi, 4096; cmp byte [rip], 0; xor eax, eax; mov rax, [rip] */
	CU_ASSERT_EQUAL(STAYS("\x48\x85\xff", 3), 0x300);
	CU_ASSERT_EQUAL(STAYS("\x48\x81\xff\x00\x10\x00\x00", 3), 0x700);
	CU_ASSERT_EQUAL(STAYS("\x80\x3d\x00\x00\x00\x00\x00", 3), 0x700);
	CU_ASSERT_EQUAL(STAYS("\x31\xc0", 3), 0x200);
	CU_ASSERT_EQUAL(STAYS("\x48\x8b\x05\x00\x00\x00\x00", 3), 0x700);
	/* mov rax, rdi; lea rcx, [rdi+8]; mov eax, esi */
	CU_ASSERT_EQUAL(STAYS("\x48\x89\xf8", 3), 0x300);
	CU_ASSERT_EQUAL(STAYS("\x48\x8d\x4f\x08", 3), 0x400);
	CU_ASSERT_EQUAL(STAYS("\x89\xf0", 3), 0x200);
}

TEST("first instructions that do not")
{
	/* mov rdx, rdi: the third argument, if anybody looks at it */
	CU_ASSERT_EQUAL(STAYS("\x48\x89\xfa", 2), 0x300);
	CU_ASSERT_EQUAL(STAYS("\x48\x89\xfa", 3), -1);
	/* lea rax, [rax+8]; add rax, 8; xor eax, edi: not the same if done twice */
	CU_ASSERT_EQUAL(STAYS("\x48\x8d\x40\x08", 3), -1);
	CU_ASSERT_EQUAL(STAYS("\x48\x83\xc0\x08", 3), -1);
	CU_ASSERT_EQUAL(STAYS("\x31\xf8", 3), -1);
	/* mov rbx, rdi; mov rbp, rsp: their caller's registers */
	CU_ASSERT_EQUAL(STAYS("\x48\x89\xfb", 3), -1);
	CU_ASSERT_EQUAL(STAYS("\x48\x89\xe5", 3), -1);
	/* mov [rdi], rax; push qword [rdi]; push ax */
	CU_ASSERT_EQUAL(STAYS("\x48\x89\x07", 3), -1);
	CU_ASSERT_EQUAL(STAYS("\xff\x37", 3), -1);
	CU_ASSERT_EQUAL(STAYS("\x66\x50", 3), -1);
	/* sub rsp, 128; sub rsp, 4; lea rsp, [rsp+8]; mov rsp, rdi: out of bounds, or no constant */
	CU_ASSERT_EQUAL(STAYS("\x48\x81\xec\x80\x00\x00\x00", 3), -1);
	CU_ASSERT_EQUAL(STAYS("\x48\x83\xec\x04", 3), -1);
	CU_ASSERT_EQUAL(STAYS("\x48\x8d\x64\x24\x08", 3), -1);
	CU_ASSERT_EQUAL(STAYS("\x48\x89\xfc", 3), -1);
	/* jmp, ret, call, int3, mov fs, eax, endbr32, half an endbr64, nothing */
	CU_ASSERT_EQUAL(STAYS("\xe9\x00\x00\x00\x00", 3), -1);
	CU_ASSERT_EQUAL(STAYS("\xc3", 3), -1);
	CU_ASSERT_EQUAL(STAYS("\xe8\x00\x00\x00\x00", 3), -1);
	CU_ASSERT_EQUAL(STAYS("\xcc", 3), -1);
	CU_ASSERT_EQUAL(STAYS("\x8e\xe0", 3), -1);
	CU_ASSERT_EQUAL(STAYS("\xf3\x0f\x1e\xfb\x55", 3), -1);
	CU_ASSERT_EQUAL(STAYS("\xf3\x0f\x1e", 3), -1);
	CU_ASSERT_EQUAL(STAYS("", 3), -1);
}

TEST("jumps")
{
	uint8_t code[5] = { 0 };
	size_t len = 0;
	struct err *err;

	CU_ASSERT_PTR_NULL(arch->jump(0x401000, 0x402005, code, &len));
	CU_ASSERT_EQUAL(len, arch->jump_len);
	CU_ASSERT(!memcmp(code, "\xe9\x00\x10\x00\x00", 5));
	CU_ASSERT_PTR_NULL(arch->jump(0x401000, 0x400ff0, code, &len));
	CU_ASSERT(!memcmp(code, "\xe9\xeb\xff\xff\xff", 5));
	/* The last byte that can be reached, and the next, on both sides. */
	CU_ASSERT_PTR_NULL(arch->jump(0x1000, 0x1005 + 0x7fffffffull, code, &len));
	err = arch->jump(0x1000, 0x1005 + 0x80000000ull, code, &len);
	CU_ASSERT(err && err->code == ERR_RANGE);
	CU_ASSERT_PTR_NULL(arch->jump(0x180000000, 0x180000005 - 0x80000000ull, code, &len));
	CU_ASSERT_PTR_NOT_NULL(arch->jump(0x180000000, 0x180000004 - 0x80000000ull, code, &len));
}

TEST("branches into a range")
{
	/*
	 * 0: jmp 9; 5: je 2; 7: nop; 8: ret; 9: call [rip]; f: lea rax, [rip - 0x13] (0x401003);
	 * 16: jmp rax; 18: ret
	 */
	static const uint8_t code[] = {
		0xe9, 4, 0, 0, 0, 0x74, 0xfb, 0x90, 0xc3, 0xff, 0x15, 0, 0, 0, 0,
		0x48, 0x8d, 0x05, 0xed, 0xff, 0xff, 0xff, 0xff, 0xe0, 0xc3,
	};
	static const uint8_t bad[] = { 0x90, 0x06, 0xc3 };
	uint64_t target = 1;

	CU_ASSERT_TRUE(arch->jumps_into(code, sizeof(code), 0x401000, 0x401001, 0x401005, &target));
	CU_ASSERT_EQUAL(target, 0x401002);
	CU_ASSERT_TRUE(arch->jumps_into(code, sizeof(code), 0x401000, 0x401001, 0x401005, NULL));
	CU_ASSERT_TRUE(arch->jumps_into(code, sizeof(code), 0x401000, 0x401009, 0x40100a, &target));
	CU_ASSERT_EQUAL(target, 0x401009);
	target = 1;
	CU_ASSERT_FALSE(arch->jumps_into(code, sizeof(code), 0x401000, 0x401003, 0x401009, NULL));
	/* Neither what an operand names nor an indirect jump counts. */
	CU_ASSERT_FALSE(
		arch->jumps_into(code, sizeof(code), 0x401000, 0x401003, 0x401005, &target));
	CU_ASSERT_FALSE(
		arch->jumps_into(code, sizeof(code), 0x401000, 0x40100a, 0x402000, &target));
	CU_ASSERT_EQUAL(target, 1);
	CU_ASSERT_TRUE(arch->jumps_into(bad, sizeof(bad), 0x401000, 0x500000, 0x500001, &target));
	CU_ASSERT_EQUAL(target, 0);
	/* Cut off in the middle of an instruction. */
	CU_ASSERT_TRUE(arch->jumps_into(code, 3, 0x401000, 0x500000, 0x500001, NULL));
	CU_ASSERT_FALSE(arch->jumps_into(code, 0, 0x401000, 0, UINT64_MAX, NULL));
}

TEST("jumps out")
{
	/* je +0x10; jmp -4; call +0x100; jmp +0x200; jne -0x20; jmp rax; ret */
	static const uint8_t code[] = "\x74\x10\xeb\xfc\xe8\x00\x01\x00\x00\xe9\x00\x02\x00\x00"
				      "\x75\xe0\xff\xe0\xc3";
	size_t len = sizeof(code) - 1, at = 0;

	CU_ASSERT_EQUAL(arch->jump_out(code, len, 0x401000, &at), 0x40100e + 0x200);
	CU_ASSERT_EQUAL(arch->jump_out(code, len, 0x401000, &at), 0x401010 - 0x20);
	CU_ASSERT_EQUAL(arch->jump_out(code, len, 0x401000, &at), 0);
	CU_ASSERT_EQUAL(at, len);
	at = 0;
	CU_ASSERT_EQUAL(arch->jump_out(code, 4, 0x401000, &at), 0x401012);
	CU_ASSERT_EQUAL(arch->jump_out((const uint8_t *)"\x06\xeb\x7f", 3, 0x401000, &(size_t){ 0 }), 0);
}

TEST("calls out")
{
	/* call +0x100; jmp +0x200; call -4; call rax; ret */
	static const uint8_t code[] = "\xe8\x00\x01\x00\x00\xe9\x00\x02\x00\x00"
				      "\xe8\xfc\xff\xff\xff\xff\xd0\xc3";
	size_t len = sizeof(code) - 1, at = 0;

	CU_ASSERT_EQUAL(arch->call_out(code, len, 0x401000, &at), 0x401005 + 0x100);
	CU_ASSERT_EQUAL(arch->call_out(code, len, 0x401000, &at), 0);
	CU_ASSERT_EQUAL(at, len);
}

struct change_case {
	const char *code;
	size_t len;
	unsigned changed, popped;	/* numbers of registers */
};

TEST("registers that code changes")
{
	static const struct change_case cases[] = {
		{ "\x89\xd8\xb1\x01", 4, 2, 0 },		/* mov eax, ebx; mov cl, 1 */
		{ "\x0f\x44\xf7", 3, 1, 0 },			/* cmove esi, edi */
		{ "\x4c\x89\x04\x24\x48\x39\xc8", 7, 0, 0 },	/* mov [rsp], r8; cmp rax, rcx */
		{ "\x48\xf7\xe1", 3, 2, 0 },			/* mul rcx: rax and rdx */
		{ "\x0f\x05", 2, 2, 0 },			/* syscall: rcx and r11 */
		{ "\x66\x90\x0f\x1f\x40\x00\x90", 7, 0, 0 },	/* padding */
		{ "\x5a\x41\x5b\x5b", 4, 2, 2 },		/* pop rdx; pop r11; pop rbx */
		{ "\x49\x87\xc9", 3, 2, 0 },			/* xchg r9, rcx */
		{ "\x55\x48\x89\xe5\xe8\0\0\0\0\xff\xd0\xc9\xc3", 13, 0, 0 },
	};

	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		uint32_t changed = 0, popped = 0;

		CU_ASSERT_TRUE(arch->changed_registers((const uint8_t *)cases[i].code,
						       cases[i].len, &changed, &popped));
		CU_ASSERT_EQUAL((unsigned)__builtin_popcount(changed), cases[i].changed);
		CU_ASSERT_EQUAL((unsigned)__builtin_popcount(popped), cases[i].popped);
		CU_ASSERT_EQUAL(popped & ~changed, 0);
	}
	CU_ASSERT_FALSE(arch->changed_registers((const uint8_t *)"\x06", 1, &(uint32_t){ 0 },
						&(uint32_t){ 0 }));
}

TEST("loops at the patch")
{
	/* 0: nop; 1: call 0; 6: jmp 1; 8: ret */
	static const uint8_t code[] = { 0x90, 0xe8, 0xfa, 0xff, 0xff, 0xff, 0xeb, 0xf9, 0xc3 };

	CU_ASSERT_TRUE(arch->loops_at(code, sizeof(code), 0x401000, 0x401001));
	/* Recursion, and places near by. */
	CU_ASSERT_FALSE(arch->loops_at(code, sizeof(code), 0x401000, 0x401000));
	CU_ASSERT_FALSE(arch->loops_at(code, sizeof(code), 0x401000, 0x401002));
	CU_ASSERT_FALSE(arch->loops_at(code, 6, 0x401000, 0x401001));
	/* What is not understood is jumps_into's to say. */
	CU_ASSERT_FALSE(arch->loops_at(code, 7, 0x401000, 0x401001));
	CU_ASSERT_TRUE(arch->jumps_into(code, sizeof(code), 0x401000, 0x401000, 0x401001, NULL));
}

TEST("length and text of an instruction")
{
	static const uint8_t mov[] = { 0x48, 0x89, 0xd8, 0x90 };
	static const uint8_t call[] = { 0xe8, 0xfb, 0x0f, 0, 0 };
	char text[64], tiny[6];

	CU_ASSERT_EQUAL(arch->insn_text(mov, 2, 0x401000, text, sizeof(text)), 0);
	CU_ASSERT_EQUAL(arch->insn_text(mov, sizeof(mov), 0x401000, text, sizeof(text)), 3);
	CU_ASSERT_STRING_EQUAL(text, "mov rax, rbx");
	CU_ASSERT_EQUAL(arch->insn_text(call, sizeof(call), 0x401000, text, sizeof(text)), 5);
	CU_ASSERT_STRING_EQUAL(text, "call 0x0000000000402000");
	CU_ASSERT_EQUAL(arch->insn_text((const uint8_t *)"\x06", 1, 0, text, sizeof(text)), 0);
	CU_ASSERT_EQUAL(arch->insn_text(call, sizeof(call), 0x401000, tiny, sizeof(tiny)), 5);
	CU_ASSERT_STRING_EQUAL(tiny, "call");
}

static void check_reference(const char *code, size_t len, uint64_t target, bool word)
{
	struct code_reference reference;
	size_t at = 0;

	CU_ASSERT_TRUE_FATAL(arch->reference((const uint8_t *)code, len, 0x401000, &at, &reference));
	CU_ASSERT_EQUAL(reference.target, target);
	CU_ASSERT_EQUAL(reference.word, word);
	CU_ASSERT_FALSE(arch->reference((const uint8_t *)code, len, 0x401000, &at, &reference));
}

TEST("references")
{
	/* lea rax, [rip+0x100]; mov rax, [rip+0x100]; call [rip+0x100]; jmp [rip+0x100] */
	check_reference("\x48\x8d\x05\x00\x01\x00\x00", 7, 0x401107, false);
	check_reference("\x48\x8b\x05\x00\x01\x00\x00", 7, 0x401107, true);
	check_reference("\xff\x15\x00\x01\x00\x00", 6, 0x401106, true);
	check_reference("\xf2\xff\x25\x00\x01\x00\x00", 7, 0x401107, true);
	/* nop; mov eax, 0x401234; ret */
	check_reference("\x90\xb8\x34\x12\x40\x00\xc3", 7, 0x401234, false);
	/* direct branches, small numbers, and what does not decode */
	CU_ASSERT_FALSE(arch->reference((const uint8_t *)"\xe8\x00\x01\x00\x00\xb0\x07\x06", 8,
					0x401000, &(size_t){ 0 }, &(struct code_reference){ 0 }));
}

static bool ends_in_call(const char *code, size_t len)
{
	return arch->ends_in_call((const uint8_t *)code, len);
}

#define CALLS(code)	ends_in_call(code, sizeof(code) - 1)

TEST("code that ends in a call")
{
	CU_ASSERT_TRUE(CALLS("\x90\xe8\0\0\0\0"));
	CU_ASSERT_TRUE(CALLS("\xff\x15\0\0\0\0"));		/* [rip+0] */
	CU_ASSERT_TRUE(CALLS("\xff\xd0"));			/* rax */
	CU_ASSERT_TRUE(CALLS("\x41\xff\x94\xc4\1\2\3\4"));	/* [r12+rax*8+x] */
	CU_ASSERT_FALSE(CALLS(""));
	CU_ASSERT_FALSE(CALLS("\0\0\0\0"));			/* the end of one */
	CU_ASSERT_FALSE(CALLS("\xe8\0\0\0\0\x90"));
	CU_ASSERT_FALSE(CALLS("\xe9\0\0\0\0"));
	CU_ASSERT_FALSE(CALLS("\xff\x25\0\0\0\0"));		/* jmp */
	CU_ASSERT_EQUAL(arch->call_most, 8);
}
