/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Facts of x86-64 that a stack walk needs: DWARF register numbers (psABI, figure 3.36), where a
 * call leaves the return address, and where the kernel saves the registers when it delivers a
 * signal (struct rt_sigframe, its ucontext's sigcontext). Only constants, freestanding: the walk in
 * the agent includes this file, too.
 */
#pragma once

/* rbx, and r12 to r15: the other registers that a walk follows */
#define FRAME_BX		3
#define FRAME_KEPT		12
#define FRAME_FP		6	/* rbp */
#define FRAME_SP		7	/* rsp */
#define FRAME_RA		16	/* the return address column */
#define FRAME_REGS		17
#define FRAME_RA_OFFSET		(-8)	/* offset of the return address from the CFA */

/*
 * Offset of each register, by DWARF number, from SP when the handler has returned to the restorer:
 * SP then points to struct ucontext, 40 bytes before its sigcontext.
 */
#define FRAME_SIGNAL_OFFSETS { \
	/* rax */ 144, /* rdx */ 136, /* rcx */ 152, /* rbx */ 128, \
	/* rsi */ 112, /* rdi */ 104, /* rbp */ 120, /* rsp */ 160, \
	/* r8 */ 40, 48, 56, 64, 72, 80, 88, 96, \
	/* rip */ 168, \
}

/*
 * The code of restorers: `mov $15, %rax; syscall` (rt_sigreturn), in the two encodings that C
 * libraries use.
 */
#define FRAME_RESTORERS { \
	{ 9, { 0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05 } }, \
	{ 7, { 0xb8, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05 } }, \
}
