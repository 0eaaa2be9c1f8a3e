/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where the result of a call goes, by the code behind it. */

#include "arch/arch.h"
#include "unit.h"

#define START	0x1000u

/* The place that is typed; its value is 9, and that of what the pointer in rbx points to 5. */
static struct result_place wanted;

static uint32_t typed(void *ctx, const struct result_place *place)
{
	(void)ctx;
	if (place->in == RESULT_IN_REGISTER && place->number == 3 && wanted.base)
		return wanted.base;
	return place->in == wanted.in && place->number == wanted.number &&
	       place->offset == wanted.offset && place->base == wanted.base &&
	       place->address == wanted.address ? 9 : RESULT_NONE;
}

static enum result_end follow(const char *code, size_t len, struct result_place want, uint32_t *ret)
{
	const struct result_flow flow = {
		.code = (const uint8_t *)code, .len = len, .start = START, .pc = START,
		.sp = -32, .sp_known = true, .fp = -16, .fp_known = true, .typed = typed,
	};

	wanted = want;
	*ret = RESULT_NONE;
	return arch_x86_64.follow_result(&flow, ret);
}

#define TYPED(code, ...)	({ uint32_t value; \
	follow(code, sizeof(code) - 1, (struct result_place){ __VA_ARGS__ }, &value) == RESULT_TYPED && \
	value == 9; })
#define END(code)		({ uint32_t value; \
	follow(code, sizeof(code) - 1, (struct result_place){ .in = RESULT_IN_MEMORY, .address = 1 }, \
	       &value); })

#define RET	"\xc3"
#define CALL	"\xe8\x00\x00\x00\x00"
#define TEST_RAX "\x48\x85\xc0"

TEST("a variable in a register")
{
	CU_ASSERT_TRUE(TYPED(RET, .in = RESULT_IN_REGISTER, .number = 0));
	/* mov %rax,%rbp */
	CU_ASSERT_TRUE(TYPED("\x48\x89\xc5" RET, .in = RESULT_IN_REGISTER, .number = 6));
	/* The lower half alone: mov %eax,%ebp */
	CU_ASSERT_FALSE(TYPED("\x89\xc5" RET, .in = RESULT_IN_REGISTER, .number = 6));
	/* An address that is made of it: lea 16(%rax),%rbp */
	CU_ASSERT_FALSE(TYPED("\x48\x8d\x68\x10" RET, .in = RESULT_IN_REGISTER, .number = 6));
	/* mov %rax,%rcx; call; mov %rcx,%rbp */
	CU_ASSERT_FALSE(TYPED("\x48\x89\xc1" CALL "\x48\x89\xcd" RET, .in = RESULT_IN_REGISTER,
			      .number = 6));
	/* mov %rax,%r12; call; mov %r12,%rbp */
	CU_ASSERT_TRUE(TYPED("\x49\x89\xc4" CALL "\x4c\x89\xe5" RET, .in = RESULT_IN_REGISTER,
			     .number = 6));
}

TEST("memory")
{
	/* mov %rax,-8(%rbp): CFA - 24 */
	CU_ASSERT_TRUE(TYPED("\x48\x89\x45\xf8" RET, .in = RESULT_IN_FRAME, .offset = -24));
	/* mov %rax,8(%rsp) */
	CU_ASSERT_TRUE(TYPED("\x48\x89\x44\x24\x08" RET, .in = RESULT_IN_FRAME, .offset = -24));
	/* push %rdx; mov %rax,8(%rsp) */
	CU_ASSERT_TRUE(TYPED("\x52\x48\x89\x44\x24\x08" RET, .in = RESULT_IN_FRAME, .offset = -32));
	/* mov %rax,16(%rbx) */
	CU_ASSERT_TRUE(TYPED("\x48\x89\x43\x10" RET, .in = RESULT_IN_MEMBER, .base = 5,
			     .offset = 16));
	/* mov %rbx,%rdx; mov %rax,(%rdx,%rcx,8) */
	CU_ASSERT_TRUE(TYPED("\x48\x89\xda\x48\x89\x04\xca" RET, .in = RESULT_IN_ELEMENT, .base = 5));
	/* mov %rax,0x100(%rip) */
	CU_ASSERT_TRUE(TYPED("\x48\x89\x05\x00\x01\x00\x00" RET, .in = RESULT_IN_MEMORY,
			     .address = START + 7 + 0x100));
	/* By way of the frame: mov %rax,-8(%rbp); mov -8(%rbp),%rdx; mov %rdx,16(%rbx) */
	CU_ASSERT_TRUE(TYPED("\x48\x89\x45\xf8\x48\x8b\x55\xf8\x48\x89\x53\x10" RET,
			     .in = RESULT_IN_MEMBER, .base = 5, .offset = 16));
}

TEST("a head in front of what is returned")
{
	uint32_t got;

	/* mov %rax,%rbp; lea 8(%rax),%rax; ret */
	CU_ASSERT_FALSE(TYPED("\x48\x89\xc5\x48\x8d\x40\x08" RET, .in = RESULT_IN_REGISTER,
			      .number = 6));
	/* mov %rax,-8(%rbp); addq $8,-8(%rbp); mov -8(%rbp),%rax; ret */
	CU_ASSERT_FALSE(TYPED("\x48\x89\x45\xf8\x48\x83\x45\xf8\x08\x48\x8b\x45\xf8" RET,
			      .in = RESULT_IN_FRAME, .offset = -24));
	/* What is returned is something else: mov %rax,%rbp; lea 8(%rax),%rdx; ret */
	CU_ASSERT_EQUAL(follow("\x48\x89\xc5\x48\x8d\x50\x08" RET, 8, (struct result_place){
				.in = RESULT_IN_REGISTER, .number = 6 }, &got), RESULT_TYPED_HEAD);
	CU_ASSERT_EQUAL(got, 9);
}

TEST("branches, and ends")
{
	CU_ASSERT_EQUAL(END(RET), RESULT_RETURNED);
	/* xor %eax,%eax */
	CU_ASSERT_EQUAL(END("\x31\xc0" RET), RESULT_LOST);
	/* add $16,%rax */
	CU_ASSERT_EQUAL(END("\x48\x83\xc0\x10" RET), RESULT_LOST);
	/* NULL goes on at once: test; je +2; ret; xor %eax,%eax */
	CU_ASSERT_EQUAL(END(TEST_RAX "\x74\x01" RET "\x31\xc0" RET), RESULT_RETURNED);
	/* test; jne +3; xor %eax,%eax; ret; ret */
	CU_ASSERT_EQUAL(END(TEST_RAX "\x75\x03\x31\xc0" RET RET), RESULT_RETURNED);
	/* jmp 0: it ends, though the code does not */
	CU_ASSERT_EQUAL(END("\xeb\xfe"), RESULT_LOST);
	/* bytes that are no instruction, or not all of it */
	CU_ASSERT_EQUAL(END("\x06"), RESULT_LOST);
	CU_ASSERT_EQUAL(END("\x48\x89"), RESULT_LOST);
	/* out of the function: jmp -128 */
	CU_ASSERT_EQUAL(END("\xeb\x80"), RESULT_LOST);
}
