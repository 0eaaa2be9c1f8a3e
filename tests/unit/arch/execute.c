/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Running pieces of machine code with every register known before and after. */

#include "execute.h"

#include <sys/mman.h>

__asm__(
	".text\n"
	".globl execute\n"
	".type execute, @function\n"
	"execute:\n"
	"	push %rbx; push %rbp; push %r12; push %r13; push %r14; push %r15\n"
	"	push %rdx\n"		/* out: 24(%rsp) at the end */
	"	push %rdi\n"		/* code */
	"	sub $8, %rsp\n"
	"	mov %rsi, %rdx\n"
	"	lea -264(%rsp), %rdi; xor %eax, %eax; mov $32, %ecx; cld; rep stosq\n"
	"	mov %rdx, %rax\n"
	"	pushq 120(%rax); popfq\n"
	"	mov 8(%rax), %rbx; mov 16(%rax), %rcx; mov 24(%rax), %rdx; mov 32(%rax), %rsi\n"
	"	mov 40(%rax), %rdi; mov 48(%rax), %rbp; mov 56(%rax), %r8; mov 64(%rax), %r9\n"
	"	mov 72(%rax), %r10; mov 80(%rax), %r11; mov 88(%rax), %r12; mov 96(%rax), %r13\n"
	"	mov 104(%rax), %r14; mov 112(%rax), %r15; mov (%rax), %rax\n"
	"	call *8(%rsp)\n"
	"	pushfq\n"
	"	mov %rax, 8(%rsp)\n"
	"	mov 24(%rsp), %rax\n"
	"	mov %rbx, 8(%rax); mov %rcx, 16(%rax); mov %rdx, 24(%rax); mov %rsi, 32(%rax)\n"
	"	mov %rdi, 40(%rax); mov %rbp, 48(%rax); mov %r8, 56(%rax); mov %r9, 64(%rax)\n"
	"	mov %r10, 72(%rax); mov %r11, 80(%rax); mov %r12, 88(%rax); mov %r13, 96(%rax)\n"
	"	mov %r14, 104(%rax); mov %r15, 112(%rax)\n"
	"	lea -256(%rsp), %rsi; lea 128(%rax), %rdi; mov $32, %ecx; cld; rep movsq\n"
	"	popq 120(%rax)\n"
	"	popq (%rax)\n"
	"	add $16, %rsp\n"
	"	pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx\n"
	"	ret\n"
	".size execute, . - execute\n");

void cpu_fill(struct cpu *cpu)
{
	for (unsigned i = 0; i < NR_EXECUTE; i++)
		cpu->reg[i] = 0x0123456789abcdefu * (i + 1);
	cpu->reg[FLAGS] = 0x202 | 0x1;	/* interrupts on, always one, carry */
}

static void *area(uint64_t from, uint64_t to, uint64_t step, size_t len)
{
	for (uint64_t at = from; at < to; at += step) {
		void *p = mmap((void *)at, len, PROT_READ | PROT_WRITE | PROT_EXEC,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

		if (p != MAP_FAILED)
			return p;
	}
	return NULL;
}

#define MB	((uint64_t)1 << 20)

void *area_near(const void *near, size_t len)
{
	uint64_t at = ((uint64_t)near & ~(MB - 1)) + 16 * MB;
	void *p = area(at, at + 1000 * MB, MB, len);

	return p ? p : area(at - 1000 * MB, at - 32 * MB, MB, len);
}

void *area_far(const void *near, size_t len)
{
	uint64_t at = (uint64_t)near & ~(MB - 1);

	at = at > 64 * 1024 * MB ? at - 32 * 1024 * MB : at + 32 * 1024 * MB;
	return area(at, at + 8 * 1024 * MB, 64 * MB, len);
}
