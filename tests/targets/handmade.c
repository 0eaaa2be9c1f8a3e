/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Functions as people write them in assembly, whose frames hang from R12 to R15.
 *
 *	call N		each of them N times, with a function that leaves these registers alone, and with one that uses
 *			them, each of which allocates a block: `ok`
 *	verify, quit
 */
#include "target.h"

#define KINDS	5

/* Each calls the function that it is given. */
void frame_by_r12(void (*fn)(void));
void return_in_r13(void (*fn)(void));
void return_moved(void (*fn)(void));
void bp_in_r14(void (*fn)(void));
void frame_by_word(void (*fn)(void));

__asm__(
	".text\n"
	/* The frame's address is in r12, while SP is aligned. */
	".globl frame_by_r12\n.type frame_by_r12, @function\nframe_by_r12:\n"
	"	.cfi_startproc\n"
	"	push %r12\n	.cfi_def_cfa_offset 16\n	.cfi_offset %r12, -16\n"
	"	mov %rsp, %r12\n	.cfi_def_cfa_register %r12\n"
	"	sub $200, %rsp\n	and $-128, %rsp\n"
	"	call *%rdi\n"
	"	mov %r12, %rsp\n	.cfi_def_cfa_register %rsp\n"
	"	pop %r12\n	.cfi_def_cfa_offset 8\n"
	"	ret\n	.cfi_endproc\n	.size frame_by_r12, . - frame_by_r12\n"
	/* The return address is in a register. */
	".globl return_in_r13\n.type return_in_r13, @function\nreturn_in_r13:\n"
	"	.cfi_startproc\n"
	"	push %r13\n	.cfi_def_cfa_offset 16\n	.cfi_offset %r13, -16\n"
	"	mov 8(%rsp), %r13\n	.cfi_register 16, %r13\n"
	"	movq $0, 8(%rsp)\n"
	"	sub $8, %rsp\n	.cfi_def_cfa_offset 24\n"
	"	call *%rdi\n"
	"	add $8, %rsp\n	.cfi_def_cfa_offset 16\n"
	"	mov %r13, 8(%rsp)\n	.cfi_offset 16, -8\n"
	"	pop %r13\n	.cfi_def_cfa_offset 8\n"
	"	ret\n	.cfi_endproc\n	.size return_in_r13, . - return_in_r13\n"
	/* It was moved down to CFA - 24. */
	".globl return_moved\n.type return_moved, @function\nreturn_moved:\n"
	"	.cfi_startproc\n"
	"	pop %rax\n	.cfi_def_cfa_offset 0\n	.cfi_register 16, %rax\n"
	"	sub $32, %rsp\n	.cfi_def_cfa_offset 32\n"
	"	mov %rax, 8(%rsp)\n	.cfi_offset 16, -24\n"
	"	call *%rdi\n"
	"	mov 8(%rsp), %rax\n	.cfi_register 16, %rax\n"
	"	add $32, %rsp\n	.cfi_def_cfa_offset 0\n"
	"	push %rax\n	.cfi_def_cfa_offset 8\n	.cfi_offset 16, -8\n"
	"	ret\n	.cfi_endproc\n	.size return_moved, . - return_moved\n"
	/* BP is kept in another register. Its caller has a frame by BP. */
	".globl bp_in_r14\n.type bp_in_r14, @function\nbp_in_r14:\n"
	"	.cfi_startproc\n"
	"	push %r14\n	.cfi_def_cfa_offset 16\n	.cfi_offset %r14, -16\n"
	"	mov %rbp, %r14\n	.cfi_register %rbp, %r14\n"
	"	xor %ebp, %ebp\n"
	"	sub $8, %rsp\n	.cfi_def_cfa_offset 24\n"
	"	call *%rdi\n"
	"	add $8, %rsp\n	.cfi_def_cfa_offset 16\n"
	"	mov %r14, %rbp\n	.cfi_restore %rbp\n"
	"	pop %r14\n	.cfi_def_cfa_offset 8\n"
	"	ret\n	.cfi_endproc\n	.size bp_in_r14, . - bp_in_r14\n"
	/* The old SP is a word in memory that r15 points to: the CFA is that plus 8. */
	".globl frame_by_word\n.type frame_by_word, @function\nframe_by_word:\n"
	"	.cfi_startproc\n"
	"	push %r15\n	.cfi_def_cfa_offset 16\n	.cfi_offset %r15, -16\n"
	"	lea 8(%rsp), %rax\n"
	"	sub $136, %rsp\n	.cfi_def_cfa_offset 152\n"
	"	and $-64, %rsp\n"
	"	.cfi_escape 0x0f, 3, 0x70, 8, 0x96\n"		/* breg0 8, nop: by rax for a moment */
	"	lea 64(%rsp), %r15\n"
	"	mov %rax, 16(%r15)\n"
	"	.cfi_escape 0x0f, 5, 0x7f, 16, 6, 0x23, 8\n"	/* breg15 16, deref, plus 8 */
	"	call *%rdi\n"
	"	mov 16(%r15), %rax\n"
	"	.cfi_escape 0x0f, 3, 0x70, 8, 0x96\n"
	"	lea -8(%rax), %rsp\n	.cfi_def_cfa %rsp, 16\n"
	"	pop %r15\n	.cfi_def_cfa_offset 8\n	.cfi_restore %r15\n"
	"	ret\n	.cfi_endproc\n	.size frame_by_word, . - frame_by_word\n"
);

static void (*const kind[KINDS])(void (*fn)(void)) = {
	frame_by_r12, return_in_r13, return_moved, bp_in_r14, frame_by_word,
};

static void *block[4096];
static unsigned nr;

static NOINLINE void take_plainly(void)
{
	void *p = malloc(100);

	KEEP(p);
	block[nr++ % 4096] = p;
}

static NOINLINE void take_busily(void)
{
	void *p;

	__asm__ volatile("mov $1, %%r12; mov $2, %%r13; mov $3, %%r14; mov $4, %%r15" : : :
			 "r12", "r13", "r14", "r15");
	p = malloc(200);
	KEEP(p);
	block[nr++ % 4096] = p;
}

/* The frame of a function with an array of any size is by BP. */
static NOINLINE void call_all(unsigned long times)
{
	char room[times % 64 + 1];

	KEEP(times);
	room[0] = (char)times;
	__asm__ volatile("" : : "r"(room) : "memory");
	for (unsigned i = 0; i < KINDS; i++) {
		kind[i](take_plainly);
		kind[i](take_busily);
	}
	__asm__ volatile("" : : "r"(room) : "memory");
}

int main(void)
{
	const char *line, *rest;

	say_ready();
	while ((line = hear()) && strcmp(line, "quit")) {
		if ((rest = after(line, "call"))) {
			for (unsigned long i = strtoul(rest, NULL, 10); i; i--)
				call_all(i);
			say("ok");
		} else {
			say(strcmp(line, "verify") ? "bad: what?" : "ok");
		}
	}
	return 0;
}
