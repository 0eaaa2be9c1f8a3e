/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Single instructions that C has no words for. */
#pragma once

#include <stdint.h>

#include "base/compiler.h"

/* A time stamp that user code can read, the same on all processors, and never going back. */
static inline uint64_t intrinsic_stamp(void)
{
	return __builtin_ia32_rdtsc();
}

/* The same, after all instructions before it are done. */
static inline uint64_t intrinsic_stamp_in_order(void)
{
	__asm__ volatile("lfence" : : : "memory");
	return __builtin_ia32_rdtsc();
}

/* Add in one instruction, which a signal cannot divide, and which is not atomic for other threads. */
static inline void intrinsic_add(uint64_t *counter, uint64_t by)
{
	__asm__ volatile("addq %1, %0" : "+m"(*counter) : "er"(by) : "cc");
}

/* A system call as the kernel takes it: no errno, and no thread-local storage is used. */
static ALWAYS_INLINE long intrinsic_syscall(long nr, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long ret;

	__asm__ volatile("syscall" : "=a"(ret)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
}
