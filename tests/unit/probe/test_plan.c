/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which engine a function gets, and why: this program itself is planned, with functions of its own
 * that have an allocator's names and never run.
 */

#include <sys/mman.h>

#include "probe/probe.h"
#include "self.h"
#include "tracee/target.h"
#include "unit.h"

__asm__(".text\n"
	/* nothing against it */
	"	.globl mi_malloc\n	.type mi_malloc, @function\n"
	"mi_malloc:\n"
	"	push %rbx\n	mov %rdi, %rbx\n	test %rbx, %rbx\n	jz 1f\n"
	"	xor %eax, %eax\n1:	pop %rbx\n	ret\n"
	"	.size mi_malloc, .-mi_malloc\n"
	/* a branch into the five bytes */
	"	.globl mi_zalloc\n	.type mi_zalloc, @function\n"
	"mi_zalloc:\n"
	"	push %rbx\n1:	mov %rdi, %rbx\n	test %rbx, %rbx\n	jz 1b\n"
	"	pop %rbx\n	ret\n"
	"	.size mi_zalloc, .-mi_zalloc\n"
	/* a loop around the entry itself */
	"	.globl mi_malloc_small\n	.type mi_malloc_small, @function\n"
	"mi_malloc_small:\n"
	"	mov %rdi, %rax\n	dec %rdi\n	test %rdi, %rdi\n	jnz mi_malloc_small\n	ret\n"
	"	.size mi_malloc_small, .-mi_malloc_small\n"
	/* too short for a jump */
	"	.globl mi_free\n	.type mi_free, @function\n"
	"mi_free:\n"
	"	xor %eax, %eax\n	ret\n"
	"	.size mi_free, .-mi_free\n"
	"	ud2\n"
	/* another function begins in the middle */
	"	.globl mi_free_size\n	.type mi_free_size, @function\n"
	"	.globl inner_of_free\n	.type inner_of_free, @function\n"
	"mi_free_size:\n"
	"	xor %eax, %eax\ninner_of_free:\n	mov %rdi, %rax\n	mov %rsi, %rax\n	ret\n"
	"	.size inner_of_free, .-inner_of_free\n"
	"	.size mi_free_size, .-mi_free_size\n"
	/* the first instruction leaves */
	"	.globl mi_free_aligned\n	.type mi_free_aligned, @function\n"
	"mi_free_aligned:\n"
	"	jmp .Laway\n	nop\n	nop\n	nop\n"
	"	.size mi_free_aligned, .-mi_free_aligned\n"
	"	.skip 200\n.Laway:	ret\n"
	/* in two pages, at either place */
	"	.balign 4096\n	.skip 4092\n"
	"	.globl mi_mallocn\n	.type mi_mallocn, @function\n"
	"mi_mallocn:\n"
	"	mov %rdi, %rax\n	mov %rsi, %rax\n	ret\n"
	"	.size mi_mallocn, .-mi_mallocn\n"
	/* chosen at load time, of two functions by their addresses, of one by a word, and by nothing */
	"	.type ifunc_one, @function\n	.type ifunc_two, @function\n"
	"ifunc_one:\n	mov %rdi, %rax\n	mov %rsi, %rax\n	ret\n	.size ifunc_one, .-ifunc_one\n"
	"ifunc_two:\n	mov %rsi, %rax\n	mov %rdi, %rax\n	ret\n	.size ifunc_two, .-ifunc_two\n"
	"	.globl mi_zalloc_small, ifunc_one, ifunc_two\n"
	"	.type mi_zalloc_small, @gnu_indirect_function\n"
	"mi_zalloc_small:\n"
	"	lea ifunc_one(%rip), %rax\n	lea ifunc_two(%rip), %rdx\n	test %edi, %edi\n"
	"	cmovne %rdx, %rax\n	ret\n	.size mi_zalloc_small, .-mi_zalloc_small\n"
	"	.globl mi_realloc, ifunc_three\n"
	"	.type mi_realloc, @gnu_indirect_function\n	.type ifunc_three, @function\n"
	"ifunc_three:\n	mov %rdx, %rax\n	mov %rdi, %rax\n	ret\n"
	"	.size ifunc_three, .-ifunc_three\n"
	"mi_realloc:\n	mov ifunc_three@GOTPCREL(%rip), %rax\n	ret\n"
	"	.size mi_realloc, .-mi_realloc\n"
	"	.globl mi_calloc\n	.type mi_calloc, @gnu_indirect_function\n"
	"mi_calloc:\n	mov %rdi, %rax\n	jmp *%rdi\n	.size mi_calloc, .-mi_calloc\n"
	/* operators of a pool, and of malloc by way of another function */
	"	.globl _Znwm, _Znam, new_for_array\n"
	"	.type _Znwm, @function\n	.type _Znam, @function\n	.type new_for_array, @function\n"
	"_Znwm:\n	mov %rdi, %rax\n	mov %rsi, %rax\n	ret\n	.size _Znwm, .-_Znwm\n"
	"_Znam:\n	test %rdi, %rdi\n	jmp new_for_array\n	.size _Znam, .-_Znam\n"
	"new_for_array:\n	push %rbx\n	call malloc@PLT\n	pop %rbx\n	ret\n"
	"	.size new_for_array, .-new_for_array\n");

extern char mi_malloc[], mi_zalloc[], mi_malloc_small[], mi_free[], mi_free_size[],
	    mi_free_aligned[], mi_mallocn[], ifunc_one[], ifunc_two[], ifunc_three[], _Znwm[], _Znam[];

static struct target target;
static struct probes *probes;

static void plan(enum probe_policy policy)
{
	probes = self_begin(&target, NULL);
	probes->policy = policy;
	CU_ASSERT_PTR_NULL_FATAL(plan_probes(probes));
}

static const struct probe *find(const void *function)
{
	for (size_t i = 0; i < probes->all.nr; i++)
		if (probes->all.at[i]->address == (uint64_t)(uintptr_t)function)
			return probes->all.at[i];
	CU_FAIL_FATAL("not planned");
	return NULL;
}

static void check(const void *function, enum probe_state state, enum probe_engine engine,
		  const char *why)
{
	const struct probe *probe = find(function);

	CU_ASSERT_EQUAL(probe->state, state);
	CU_ASSERT_TRUE(state == PROBE_REFUSED || probe->engine == engine);
	CU_ASSERT_TRUE(why ? strstr(probe->why, why) != NULL : !probe->why[0]);
}

TEST("auto")
{
	plan(PROBE_AUTO);
	check(mi_malloc, PROBE_PLANNED, PROBE_JUMP, NULL);
	CU_ASSERT_EQUAL(find(mi_malloc)->nr_tails, 1);	/* itself; where it goes on was looked for */
	check(mi_free_aligned, PROBE_PLANNED, PROBE_JUMP,
	      "on its first instruction, where no other tool may put a probe: 'jmp ");
	check(mi_zalloc, PROBE_PLANNED, PROBE_BREAKPOINT, "no jump: a branch in the function");
	check(mi_malloc_small, PROBE_REFUSED, PROBE_BREAKPOINT, "begins with a loop");
	check(mi_free, PROBE_PLANNED, PROBE_BREAKPOINT, "no jump: ");
	check(mi_free_size, PROBE_PLANNED, PROBE_BREAKPOINT, "inner_of_free begins inside");
	check(mi_mallocn, PROBE_PLANNED, PROBE_BREAKPOINT, "no jump: it would lie in two pages");
	self_end(probes);
}

/* The address of a symbol of this program, of an IFUNC its resolver's. */
static const void *symbol_at(const char *name)
{
	vec_each_value(module, &target.modules.all) {
		struct elf_symbol symbol;

		if (module->elf && !elf_symbol_named(module->elf, name, &symbol))
			return (const void *)(uintptr_t)(symbol.value + module->bias);
	}
	CU_FAIL_FATAL("no symbol");
	return NULL;
}

TEST("IFUNCs")
{
	plan(PROBE_AUTO);
	CU_ASSERT_STRING_EQUAL(find(ifunc_one)->fn->symbol, "mi_zalloc_small");
	CU_ASSERT_STRING_EQUAL(find(ifunc_two)->fn->symbol, "mi_zalloc_small");
	CU_ASSERT_STRING_EQUAL(find(ifunc_three)->fn->symbol, "mi_realloc");
	CU_ASSERT_EQUAL(find(ifunc_one)->state, PROBE_PLANNED);
	check(symbol_at("mi_calloc"), PROBE_REFUSED, PROBE_BREAKPOINT, "(IFUNC)");
	self_end(probes);
}

/* What a throwing operator gets is recorded elsewhere only where it was seen to call malloc. */
TEST("operators of a pool")
{
	plan(PROBE_AUTO);
	check(_Znwm, PROBE_REFUSED, PROBE_BREAKPOINT, "no call of malloc was found");
	CU_ASSERT_FALSE(find(_Znwm)->elsewhere);
	check(_Znam, PROBE_REFUSED, PROBE_BREAKPOINT, "is recorded there");
	CU_ASSERT_TRUE(find(_Znam)->elsewhere);
	self_end(probes);
}

static void check_place(const void *function, uint64_t stays, uint64_t sp)
{
	const struct probe *probe = find(function);

	CU_ASSERT_EQUAL(probe->patch, probe->address + stays);
	CU_ASSERT_EQUAL(probe->stays.len, stays);
	CU_ASSERT_EQUAL(probe->stays.sp, sp);
}

/* Behind the first instruction, but where that, or something that goes there, is in the way. */
TEST("places")
{
	static const enum probe_policy policies[] = { PROBE_AUTO, PROBE_ONLY_BREAKPOINT };

	for (unsigned i = 0; i < ARRAY_SIZE(policies); i++) {
		plan(policies[i]);
		check_place(mi_malloc, 1, 8);
		check_place(mi_zalloc, 0, 0);
		check_place(mi_free, 2, 0);
		check_place(mi_free_size, 0, 0);
		check_place(mi_free_aligned, 0, 0);
		check_place(mi_mallocn, 3, 0);
		self_end(probes);
	}
}

static void set_text(char *at, char byte)
{
	char *page = (char *)((uintptr_t)at & ~4095ul);

	CU_ASSERT_EQUAL_FATAL(mprotect(page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC), 0);
	*(volatile char *)at = byte;
	CU_ASSERT_EQUAL_FATAL(mprotect(page, 8192, PROT_READ | PROT_EXEC), 0);
}

/* A kernel uprobe's trap on the entry: it stands for the instruction that stays. */
TEST("another tool's trap")
{
	char malloc_byte = mi_malloc[0], zalloc_byte = mi_zalloc[0], free_byte = mi_free[1];

	set_text(mi_malloc, (char)0xcc);
	set_text(mi_zalloc, (char)0xcc);
	set_text(mi_free + 1, (char)0xcc);
	plan(PROBE_AUTO);
	check(mi_malloc, PROBE_PLANNED, PROBE_JUMP, NULL);
	check(mi_zalloc, PROBE_REFUSED, PROBE_JUMP, "another tool has a trap on its first byte");
	check(mi_free, PROBE_REFUSED, PROBE_JUMP, "is not as in its file");
	self_end(probes);
	set_text(mi_malloc, malloc_byte);
	set_text(mi_zalloc, zalloc_byte);
	set_text(mi_free + 1, free_byte);
}

TEST("jump only")
{
	plan(PROBE_ONLY_JUMP);
	check(mi_malloc, PROBE_PLANNED, PROBE_JUMP, NULL);
	check(mi_zalloc, PROBE_REFUSED, PROBE_JUMP, "a branch in the function");
	check(mi_free, PROBE_REFUSED, PROBE_JUMP, "");
	/* The loader's hook is a breakpoint all the same. */
	for (size_t i = 0; i < probes->all.nr; i++)
		if (!probes->all.at[i]->fn) {
			CU_ASSERT_EQUAL(probes->all.at[i]->state, PROBE_PLANNED);
			CU_ASSERT_EQUAL(probes->all.at[i]->engine, PROBE_BREAKPOINT);
		}
	self_end(probes);
}

TEST("breakpoint only")
{
	plan(PROBE_ONLY_BREAKPOINT);
	for (size_t i = 0; i < probes->all.nr; i++)
		CU_ASSERT_EQUAL(probes->all.at[i]->engine, PROBE_BREAKPOINT);
	check(mi_malloc, PROBE_PLANNED, PROBE_BREAKPOINT, NULL);
	check(mi_zalloc, PROBE_PLANNED, PROBE_BREAKPOINT, "a branch in the function");
	self_end(probes);
}

/* The C library's own functions, with a reason wherever it is no jump. */
TEST("the C library")
{
	plan(PROBE_AUTO);
	for (size_t i = 0; i < probes->all.nr; i++) {
		const struct probe *probe = probes->all.at[i];

		if (probe->fn && probe->state == PROBE_PLANNED && probe->engine == PROBE_BREAKPOINT)
			CU_ASSERT_NOT_EQUAL(probe->why[0], 0);
	}
	CU_ASSERT_EQUAL(find((const void *)(uintptr_t)free)->engine, PROBE_JUMP);
	self_end(probes);
}

