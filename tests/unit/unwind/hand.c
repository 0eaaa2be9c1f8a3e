/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Functions written by hand: every form of CFI that compilers, linkers and C libraries write, and
 * some that they do not.
 */

#include "hand.h"

__asm__(
"	.pushsection .text.hand, \"ax\", @progbits\n"

/* Stack realignment as GCC does it: the argument pointer in r10, then kept in the frame. */
"	.balign 16\n"
"hand_drap_entry:\n"
"	.cfi_startproc\n"
"	leaq 8(%rsp), %r10\n"
"	.cfi_def_cfa 10, 0\n"
"hand_drap_r10:\n"
"	andq $-64, %rsp\n"
"	pushq -8(%r10)\n"
"	pushq %rbp\n"
"	movq %rsp, %rbp\n"
"	.cfi_escape 0x10, 6, 2, 0x76, 0\n"		/* rbp at breg6 0 */
"hand_drap_rbp:\n"
"	pushq %r10\n"
"	.cfi_escape 0x0f, 3, 0x76, 0x78, 6\n"		/* CFA: breg6 -8; deref */
"hand_drap_body:\n"
"	subq $104, %rsp\n"
"	addq $104, %rsp\n"
"	popq %r10\n"
"	.cfi_def_cfa 10, 0\n"
"	popq %rbp\n"
"	leaq -8(%r10), %rsp\n"
"	.cfi_def_cfa 7, 8\n"
"hand_drap_ret:\n"
"	ret\n"
"	.cfi_endproc\n"
"	.fill 80, 1, 0xcc\n"

/* Two entries of a lazy PLT. */
"	.balign 16\n"
"hand_plt:\n"
"	.cfi_startproc\n"
"	.cfi_escape 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22\n"
"	.fill 32, 1, 0x90\n"
"	.cfi_endproc\n"

/* OpenSSL: the old SP is kept in the frame, the CFA is 8 above it. */
"hand_sp_mem:\n"
"	.cfi_startproc\n"
"	.cfi_escape 0x0f, 5, 0x77, 40, 6, 0x23, 8\n"
"	nop\n"
"	.cfi_endproc\n"

/* libgcrypt: the same, and then a register with the offset that was set before. */
"	.cfi_startproc\n"
"	.cfi_def_cfa 7, 56\n"
"	.cfi_escape 0x0f, 5, 0x77, 40, 6, 0x23, 8\n"
"	nop\n"
"	.cfi_def_cfa_register 6\n"
"hand_register_again:\n"
"	nop\n"
"	.cfi_endproc\n"

/* vfork: the return address is popped into rdi. */
"	.cfi_startproc\n"
"	popq %rdi\n"
"	.cfi_adjust_cfa_offset -8\n"
"	.cfi_register 16, 5\n"
"hand_ra_reg:\n"
"	nop\n"
"	.cfi_endproc\n"

/* The CFA by r12, which is saved, as is r15 far away; and the word at r13 - 16, plus 8. */
"	.cfi_startproc\n"
"	.cfi_def_cfa 12, 16\n"
"	.cfi_offset 12, -16\n"
"	.cfi_offset 15, -800\n"
"hand_r12:\n"
"	nop\n"
"	.cfi_escape 0x0f, 5, 0x7d, 0x70, 6, 0x23, 8\n"
"hand_r13_mem:\n"
"	nop\n"
"	.cfi_endproc\n"

/* The return address in r15, and moved down to CFA - 24; BP kept in r14. */
"	.cfi_startproc\n"
"	.cfi_def_cfa 6, 16\n"
"	.cfi_register 16, 15\n"
"	.cfi_offset 13, -24\n"
"hand_ra_r15:\n"
"	nop\n"
"	.cfi_def_cfa 7, 32\n"
"	.cfi_offset 16, -24\n"
"hand_ra_at:\n"
"	nop\n"
"	.cfi_offset 16, -8\n"
"	.cfi_register 6, 14\n"
"	.cfi_undefined 12\n"
"hand_fp_r14:\n"
"	nop\n"
"	.cfi_endproc\n"

"hand_end:\n"
"	.cfi_startproc\n"
"	.cfi_undefined 16\n"
"	nop\n"
"	.cfi_endproc\n"

/* SP + 8 * r9: no row can say that. */
"hand_complex:\n"
"	.cfi_startproc\n"
"	.cfi_escape 0x0f, 7, 0x77, 8, 0x79, 0, 0x38, 0x1e, 0x22\n"
"	nop\n"
"	.cfi_endproc\n"

/* The word at SP + 8, plus 100,000: more than a row's number holds. */
"hand_far_add:\n"
"	.cfi_startproc\n"
"	.cfi_escape 0x0f, 7, 0x77, 8, 6, 0x23, 0xa0, 0x8d, 6\n"
"	nop\n"
"	.cfi_endproc\n"

/* BP saved 160,000 bytes below the CFA. */
"hand_far_fp:\n"
"	.cfi_startproc\n"
"	.cfi_def_cfa 7, 160016\n"
"	.cfi_offset 6, -160000\n"
"	nop\n"
"	.cfi_endproc\n"

"	.cfi_startproc\n"
"	pushq %rbp\n"
"	.cfi_adjust_cfa_offset 8\n"
"	.cfi_offset 6, -16\n"
"hand_remember:\n"
"	.cfi_remember_state\n"
"	.cfi_remember_state\n"
"	popq %rbp\n"
"	.cfi_adjust_cfa_offset -8\n"
"	.cfi_restore 6\n"
"	ret\n"
"	.cfi_restore_state\n"
"	nop\n"
"	.cfi_escape 0x2e, 32\n"				/* GNU_args_size */
"	.cfi_same_value 6\n"
"	nop\n"
"	.cfi_restore_state\n"
"hand_remembered:\n"
"	.cfi_escape 0x14, 3, 3\n"				/* rbx is CFA - 24 */
"	.cfi_undefined 0\n"
"	nop\n"
"	.cfi_endproc\n"

/* Advances of one, two and four bytes; the CFA from a register that is not saved. */
"	.cfi_startproc\n"
"	.skip 100, 0x90\n"
"	.cfi_def_cfa_offset 16\n"
"hand_advance1:\n"
"	.skip 1000, 0x90\n"
"	.cfi_def_cfa_register 3\n"
"hand_advance2:\n"
"	.skip 100000, 0x90\n"
"	.cfi_def_cfa 7, 24\n"
"hand_advance4:\n"
"	nop\n"
"	.cfi_endproc\n"

"hand_gap:\n"
"	.skip 100, 0xcc\n"

/* glibc's restorer: it begins a byte early, for the walk that looks one byte back. */
"	.cfi_startproc simple\n"
"	.cfi_signal_frame\n"
"	.cfi_escape 0x0f, 4, 0x77, 0xa0, 1, 6\n"	/* CFA: breg7 160; deref */
"	.cfi_escape 0x10, 3, 3, 0x77, 0x80, 1\n"	/* rbx at breg7 128 */
"	.cfi_escape 0x10, 6, 3, 0x77, 0xf8, 0\n"	/* rbp at breg7 120 */
"	.cfi_escape 0x10, 7, 3, 0x77, 0xa0, 1\n"	/* rsp at breg7 160 */
"	.cfi_escape 0x10, 12, 3, 0x77, 0xc8, 0\n"	/* r12 at breg7 72, and so on */
"	.cfi_escape 0x10, 13, 3, 0x77, 0xd0, 0\n"
"	.cfi_escape 0x10, 14, 3, 0x77, 0xd8, 0\n"
"	.cfi_escape 0x10, 15, 3, 0x77, 0xe0, 0\n"
"	.cfi_escape 0x10, 16, 3, 0x77, 0xa8, 1\n"	/* rip at breg7 168 */
"	nop\n"
"hand_signal:\n"
"	movq $15, %rax\n"
"	syscall\n"
"	.cfi_endproc\n"

/* musl's: the same, and no CFI. */
"	.skip 100, 0xcc\n"
"hand_restorer:\n"
"	movq $15, %rax\n"
"	syscall\n"
"	.skip 100, 0xcc\n"

/* Called: the trap flag on and off. */
"step_on:\n"
"	.cfi_startproc\n"
"	pushfq\n"
"	.cfi_adjust_cfa_offset 8\n"
"	orl $0x100, (%rsp)\n"
"	popfq\n"
"	.cfi_adjust_cfa_offset -8\n"
"	ret\n"
"	.cfi_endproc\n"
"step_off:\n"
"	.cfi_startproc\n"
"	pushfq\n"
"	.cfi_adjust_cfa_offset 8\n"
"	andl $~0x100, (%rsp)\n"
"	popfq\n"
"	.cfi_adjust_cfa_offset -8\n"
"	ret\n"
"	.cfi_endproc\n"

"	.globl step_on, step_off\n"
"	.globl hand_drap_entry, hand_drap_r10, hand_drap_rbp, hand_drap_body, hand_drap_ret\n"
"	.globl hand_plt, hand_sp_mem, hand_register_again, hand_ra_reg, hand_end, hand_complex\n"
"	.globl hand_far_add, hand_far_fp\n"
"	.globl hand_r12, hand_r13_mem, hand_ra_r15, hand_ra_at, hand_fp_r14\n"
"	.globl hand_remember, hand_remembered\n"
"	.globl hand_advance1, hand_advance2, hand_advance4, hand_gap, hand_signal, hand_restorer\n"
"	.popsection\n"
);
