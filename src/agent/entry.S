/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The agent's entry points on x86-64. Their offsets in the image are in the generated
 * agent_offsets.h.
 */

	.text

/*
 * The handler, entered by the kernel with (signo, siginfo, ucontext) and the restorer's address on
 * the stack. If the C part returns another handler, this code jumps to it with the frame as the
 * kernel made it: the return address is the restorer's, so tracebacks and exceptions find no frame
 * of mdbg's.
 */
	.globl	agent_sigtrap
	.type	agent_sigtrap, @function
	.balign	16
agent_sigtrap:
	xorl	%ecx, %ecx
1:	pushq	%rdi
	pushq	%rsi
	pushq	%rdx
	call	sigtrap			/* SP is divisible by 16 here, as the ABI asks */
	popq	%rdx
	popq	%rsi
	popq	%rdi
	testq	%rax, %rax
	jz	2f
	jmpq	*%rax
2:	ret
	.size	agent_sigtrap, . - agent_sigtrap

	.globl	agent_sigtrap_reset
	.type	agent_sigtrap_reset, @function
	.balign	16
agent_sigtrap_reset:
	movl	$1, %ecx
	jmp	1b
	.size	agent_sigtrap_reset, . - agent_sigtrap_reset

/* Do not change a byte here: unwinders recognise a signal frame by these two instructions. */
	.globl	agent_restorer
	.type	agent_restorer, @function
	.balign	16
	nop				/* unwinders look at the byte before, too */
agent_restorer:
	movq	$15, %rax		/* rt_sigreturn: 48 c7 c0 0f 00 00 00 */
	syscall
	.size	agent_restorer, . - agent_restorer

	.globl	agent_syscall
	.type	agent_syscall, @function
	.balign	16
agent_syscall:
	syscall
	ret
	.size	agent_syscall, . - agent_syscall

/* name(frame, probe) is name_kept(frame, probe, r12, r13, r14, r15), of slow_path.h. */
	.macro	kept	name
	.globl	\name
	.type	\name, @function
	.balign	16
\name:
	movq	%r12, %rdx
	movq	%r13, %rcx
	movq	%r14, %r8
	movq	%r15, %r9
	jmp	\name\()_kept
	.size	\name, . - \name
	.endm

	kept	agent_enter
	kept	agent_growth_enter
	kept	slow_path_leave
	.hidden	slow_path_leave

/* Behind six arguments they are on the stack; SP is divisible by 16 at the call. */
	.globl	agent_unknown_free
	.type	agent_unknown_free, @function
	.balign	16
agent_unknown_free:
	pushq	%rax
	pushq	%r15
	pushq	%r14
	pushq	%r13
	pushq	%r12
	call	agent_unknown_free_kept
	addq	$40, %rsp
	ret
	.size	agent_unknown_free, . - agent_unknown_free

	.section .note.GNU-stack, "", @progbits
