/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which of its arguments a function passes on. */

#include "arch/arch.h"
#include "unit.h"

#define PASSED(into, code) \
	arch_x86_64.passes_on((const uint8_t *)(code), sizeof(code) - 1, into)

#define CALL	"\xe8\x00\x00\x00\x00"

enum { FIRST = 1, SECOND = 2, THIRD = 4 };

TEST("as it is, and computed from")
{
	CU_ASSERT_EQUAL(PASSED(FIRST, CALL), FIRST);
	CU_ASSERT_EQUAL(PASSED(SECOND, CALL), SECOND);
	CU_ASSERT_EQUAL(PASSED(FIRST | SECOND, CALL), FIRST | SECOND);
	/* lea 8(%rsi),%rdi */
	CU_ASSERT_EQUAL(PASSED(FIRST, "\x48\x8d\x7e\x08" CALL), SECOND);
	/* push %rbx; mov %rdi,%rbx; call; mov %rbx,%rdi; add $16,%rdi; call */
	CU_ASSERT_EQUAL(PASSED(FIRST, "\x53\x48\x89\xfb" CALL "\x48\x89\xdf\x48\x83\xc7\x10" CALL),
			FIRST);
	/* imul %rsi,%rdi */
	CU_ASSERT_EQUAL(PASSED(FIRST, "\x48\x0f\xaf\xfe" CALL), FIRST | SECOND);
	/* mov $1,%eax; test %rdi,%rdi; cmove %rax,%rdi */
	CU_ASSERT_EQUAL(PASSED(FIRST, "\xb8\x01\x00\x00\x00\x48\x85\xff\x48\x0f\x44\xf8" CALL),
			FIRST);
}

TEST("by way of the stack")
{
	/* push %rbp; mov %rsp,%rbp; sub $32,%rsp; mov %rdi,-24(%rbp); mov -24(%rbp),%rax; mov %rax,%rdi */
	CU_ASSERT_EQUAL(PASSED(FIRST, "\x55\x48\x89\xe5\x48\x83\xec\x20\x48\x89\x7d\xe8"
			       "\x48\x8b\x45\xe8\x48\x89\xc7" CALL), FIRST);
	/* sub $24,%rsp; mov %rsi,8(%rsp); call; mov 8(%rsp),%rdi */
	CU_ASSERT_EQUAL(PASSED(FIRST, "\x48\x83\xec\x18\x48\x89\x74\x24\x08" CALL
			       "\x48\x8b\x7c\x24\x08" CALL), SECOND);
	/* push %rdi; pop %rsi */
	CU_ASSERT_EQUAL(PASSED(SECOND, "\x57\x5e" CALL), FIRST);
}

TEST("what is no argument")
{
	/* mov $64,%edi */
	CU_ASSERT_EQUAL(PASSED(FIRST, "\xbf\x40\x00\x00\x00" CALL), 0);
	/* mov 8(%rdi),%rdi: an object has it */
	CU_ASSERT_EQUAL(PASSED(FIRST, "\x48\x8b\x7f\x08" CALL), 0);
	/* call; mov %rax,%rdi: what another function has returned */
	CU_ASSERT_EQUAL(PASSED(FIRST, CALL "\x48\x89\xc7" CALL), 0);
	/* xor %edi,%edi */
	CU_ASSERT_EQUAL(PASSED(FIRST, "\x31\xff" CALL), 0);
	CU_ASSERT_EQUAL(PASSED(FIRST, "\xbf\x40\x00\x00\x00"), 0);
	CU_ASSERT_EQUAL(PASSED(FIRST, "\x06" CALL), 0);
	CU_ASSERT_EQUAL(PASSED(FIRST, ""), 0);
}

TEST("on some way to the call")
{
	/* test %rdi,%rdi; jne 1f; mov $1,%edi; 1: call */
	CU_ASSERT_EQUAL(PASSED(FIRST, "\x48\x85\xff\x75\x05\xbf\x01\x00\x00\x00" CALL), FIRST);
	/* test %rdi,%rdi; je 1f; xor %edi,%edi; ret; 1: call */
	CU_ASSERT_EQUAL(PASSED(FIRST, "\x48\x85\xff\x74\x03\x31\xff\xc3" CALL), FIRST);
	/* ret; call: nothing leads there */
	CU_ASSERT_EQUAL(PASSED(FIRST, "\xc3" CALL), 0);
}
