/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The agent's use of x86-64: system calls, the interrupted thread's registers, the thread
 * pointer. Freestanding.
 */
#pragma once

#include <asm/errno.h>
#include <asm/signal.h>

#include <asm/sigcontext.h>
#include <asm/siginfo.h>
#include <asm/ucontext.h>
#include <asm/unistd.h>
#include <stdbool.h>
#include <stdint.h>

#include "arch/host.h"

#define EFLAGS_TF	0x100u
#define CPU_TRAP	0xcc		/* int3 */

/* The sixth argument of the system call is 0. */
static inline long cpu_syscall(long nr, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e)
{
	return intrinsic_syscall(nr, (long)a, (long)b, (long)c, (long)d, (long)e, 0);
}

/*
 * Can the eight bytes at address be read? The kernel reads a signal mask there, and then refuses to
 * do anything with it, since 8 is no way to change a mask (rt_sigprocmask(2): EINVAL); EFAULT says
 * that it cannot.
 */
static inline bool cpu_can_read(uint64_t address)
{
	return cpu_syscall(__NR_rt_sigprocmask, 8, address, 0, 8, 0) != -EFAULT;
}

static inline uint64_t cpu_pc(const struct ucontext *context)
{
	return context->uc_mcontext.rip;
}

static inline void cpu_set_pc(struct ucontext *context, uint64_t pc)
{
	context->uc_mcontext.rip = pc;
}

/*
 * Was the signal caused by a trap instruction (int3: SI_KERNEL)? Single steps and watchpoints,
 * which may stop behind any instruction, have another code.
 */
static inline bool cpu_is_trap(const struct siginfo *info)
{
	return info->si_code == SI_KERNEL || info->si_code == TRAP_BRKPT;
}

/* The address of the trap instruction that has just run: PC is behind it. */
static inline uint64_t cpu_trap_address(uint64_t pc)
{
	return pc - 1;
}

/*
 * Did a tracer make the thread single-step (then the kernel hides the flag from the frame), and not
 * the thread itself?
 */
static inline bool cpu_stepped_by_tracer(const struct siginfo *info, const struct ucontext *context)
{
	return info->si_code == TRAP_TRACE && !(context->uc_mcontext.eflags & EFLAGS_TF);
}

/*
 * The thread pointer, if the word at self_offset in the control block has the same value: glibc and
 * musl both keep it at offset 0, too. It is read through FS only, so a wrong value cannot make this
 * function read elsewhere.
 */
static inline bool cpu_thread_pointer(uint64_t self_offset, uint64_t *ret)
{
	bool same;

	__asm__ volatile("movq %%fs:0, %0\n\t"
			 "cmpq %%fs:(%2), %0" : "=&r" (*ret), "=@cce" (same) : "r" (self_offset));
	if (!same)
		return false;
	return *ret;
}

/* The same word without that check, for one who knows what a checked one is. */
static inline uint64_t cpu_unchecked_thread_pointer(void)
{
	uint64_t tp;

	__asm__ volatile("movq %%fs:0, %0" : "=r" (tp));
	return tp;
}

/* The word at an offset in the control block, read through FS as well. */
static inline uint32_t cpu_thread_word(uint64_t offset)
{
	uint32_t word;

	__asm__ volatile("movl %%fs:(%1), %0" : "=r" (word) : "r" (offset));
	return word;
}
