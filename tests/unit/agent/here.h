/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where a call comes from, as the agent sees it behind a probed function's return: the caller's PC,
 * SP, BP and RBX.
 */
#pragma once

#include <stdint.h>

/*
 * HERE(name, fn) defines uint64_t name(uint64_t arg), which calls fn(arg, pc, sp, bp, bx) with its
 * caller's registers and returns what that returns.
 */
#define HERE(name, fn) \
	uint64_t name(uint64_t arg); \
	uint64_t fn(uint64_t arg, uint64_t pc, uint64_t sp, uint64_t bp, uint64_t bx); \
	__asm__(".pushsection .text\n" \
		".type " #name ", @function\n" \
		#name ":\n" \
		"	.cfi_startproc\n" \
		"	mov (%rsp), %rsi\n" \
		"	lea 8(%rsp), %rdx\n" \
		"	mov %rbp, %rcx\n" \
		"	mov %rbx, %r8\n" \
		"	jmp " #fn "\n" \
		"	.cfi_endproc\n" \
		".size " #name ", . - " #name "\n" \
		".popsection\n")
