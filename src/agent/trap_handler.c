/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The SIGTRAP handler that lets a target outlive a killed mdbg.
 *
 * While mdbg lives, it is the tracer, sees every int3 of its probes before the target does, and
 * lets no signal of them through. When it is killed, its int3s stay. The kernel then sends SIGTRAP,
 * which would end the target. This handler is installed as long as there are breakpoints, and sends
 * the thread on to the displaced prologue, where the tracer would have sent it. Nothing is recorded
 * any more, and no thread waits. Each of these signals costs a thousand times as much as the
 * function itself, so the first thread that comes takes the breakpoints out (see below).
 *
 *	SIGTRAP: made by the kernel (si_code > 0)?
 *	yes	PC in one of our areas: the tracer had moved it just before it died, or it is the
 *		int3 of a stub, behind which the stub goes on: return
 *		an int3, and PC of a trap in the table: take out the breakpoints of this mapping.
 *		Done: set PC to the function's own text. Else to the displaced prologue. Return
 *		a single step that the thread did not ask for: the tracer died while it stepped:
 *		return
 *	else	not ours: as if we were not there, by the disposition that we replaced:
 *		ignore		sent by a program: return. A real trap cannot be ignored: as default
 *		default		make it SIG_DFL, send the same siginfo to this thread again, return,
 *				die of it
 *		a handler	block what it wants blocked and jump to it, with its frame as the
 *				kernel would have made it
 *
 * All signals are blocked while this runs: another handler of the target's might call malloc, and
 * an int3 that hits while SIGTRAP is blocked kills. SA_NODEFER instead would let handlers in
 * half-way through. A replaced handler runs with its own mask, not ours. If that mask blocks
 * SIGTRAP (it does without SA_NODEFER) and the handler then calls a probed function, the target is
 * killed, as it is for any thread that blocks SIGTRAP; mdbg names such threads. A replaced handler
 * that interrupts sigsuspend, ppoll and the like runs with the mask from outside of that call and
 * not with the call's own, because no frame has the call's mask.
 *
 * This code has no memory that it can write to, so it keeps no state, with one exception: a
 * replaced handler with SA_RESETHAND must be called only once. That is kept in the kernel: the
 * disposition is changed from agent_sigtrap to agent_sigtrap_reset, which treats the old
 * disposition as SIG_DFL.
 *
 * Taking breakpoints out. `table.owner` leads to the journal's `tracer`, a word in shared memory:
 *
 *	0			the text must be left as it is: send threads on, nothing else
 *	the tracer's id		it lives. Traps come here all the same from threads that it does not
 *				trace (clone with CLONE_UNTRACED): send them on
 *	FUTEX_OWNER_DIED	it has ended, by whatever way (os/robust.h)
 *
 * In the last case nobody wants the breakpoints any more, and:
 *
 *	mprotect	the whole mapping of the text becomes rwx, for some microseconds
 *	each trap in it	where an int3 stands, the old byte is written, by process_vm_writev
 *	mprotect	it becomes r-x again, in any case
 *
 * - The whole mapping, not the page: a private mapping of a file that was writable once is
 *   accounted for (VM_ACCOUNT) for as long as it lasts, and could never be merged with its
 *   neighbours again;
 *   /proc/PID/maps would tell. It needs no mapping more, either (vm.max_map_count).
 * - All breakpoints of the mapping are taken out, not only the one that was hit. Its text is
 *   certainly in place, because it is being executed with our int3 in it. And the system calls are
 *   made now, and not hours later by a thread that may have put itself under a seccomp filter
 *   meanwhile.
 * - Several threads do that at the same time, without a lock, which could stay locked in a forked
 *   child. One may make the text r-x again just before another one writes. A store would end the
 *   process; process_vm_writev says EFAULT, whereupon the thread goes on by the displaced prologue.
 *   Each of them makes it r-x as its last step, so it is r-x in the end. All write the same bytes;
 *   a byte is one store, and a thread that executes it sees either the int3 or the old byte.
 * - Other failures (PR_SET_MDWE, SELinux's execmod, mseal, RLIMIT_DATA) would come again: the word
 *   becomes 0, and from then on threads are sent on without another attempt.
 * - A forked child has its own text and handler, but shares the word with its parent. If its parent
 *   was in this code when it forked, the child's text stays rwx until the child hits a trap itself,
 *   which may never happen.
 *
 * Rejected: to write through /proc/self/mem. It needs no mprotect, but a descriptor: if another
 * thread calls dup2 onto its number at that moment, our byte is written into that thread's file.
 *
 * Whether the text may be changed is decided by mdbg, in probe/sigtrap.c.
 *
 * The table is changed by an mdbg that has stopped all threads, perhaps one of them in the middle
 * of a search in it; see agent/probe_table.h.
 */

#include <asm/errno.h>
#include <linux/futex.h>
#include <linux/mman.h>
#include <linux/uio.h>

#include "agent/cpu_x86_64.h"
#include "agent/probe_table.h"
#include "base/compiler.h"

#define HIDDEN	__attribute__((visibility("hidden")))

#define SIGTRAP_BIT	(1ul << (SIGTRAP - 1))
#define MASK_SIZE	8	/* bytes of the kernel's sigset_t */

/* The first is behind the image (agent.lds), the others are in entry.S. */
extern const volatile struct agent_table table HIDDEN;
extern const char sigtrap_reset[] HIDDEN;

HIDDEN uint64_t sigtrap(int signo, struct siginfo *info, struct ucontext *context, int reset);

static bool in_area(uint64_t pc, const volatile struct agent_range *area, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++)
		if (pc >= area[i].start && pc < area[i].end)
			return true;
	return false;
}

/*
 * Where a thread that trapped at pc goes on; 0: the trap is not ours. *text_ret is the mapping of
 * the breakpoint that it has hit, or AGENT_NO_TEXT.
 */
static uint64_t find_way(uint64_t pc, bool is_trap, uint32_t *text_ret)
{
	uint64_t generation, way = 0;

	do {
		uint32_t nr_traps, nr_areas, at;

		way = 0;
		*text_ret = AGENT_NO_TEXT;

		generation = table.generation;
		nr_traps = table.nr_traps;
		nr_areas = table.nr_areas;
		/* The numbers may be of two different tables: bound them. */
		if (generation != table.generation)
			continue;
		if (in_area(pc, agent_table_areas((const void *)&table, nr_traps), nr_areas))
			way = pc;
		at = LOWER_BOUND(i, 0, nr_traps, table.trap[i].pc < pc);
		if (!way && is_trap && at < nr_traps && table.trap[at].pc == pc) {
			way = table.trap[at].displaced;
			*text_ret = table.trap[at].text;
		}
	} while (generation != table.generation);
	return way;
}

static uint32_t *owner(void)
{
	return (uint32_t *)table.owner;
}

static void give_up(void)
{
	__atomic_store_n(owner(), 0, __ATOMIC_RELEASE);
}

static bool is_in(uint64_t trap)
{
	return *(const volatile uint8_t *)trap == CPU_TRAP;
}

static void write_text(uint32_t text)
{
	uint64_t pid = (uint64_t)cpu_syscall(__NR_getpid, 0, 0, 0, 0, 0);

	for (uint32_t i = 0; i < table.nr_traps; i++) {
		uint64_t address = cpu_trap_address(table.trap[i].pc);
		uint8_t byte = (uint8_t)table.trap[i].old;
		struct iovec from = { &byte, 1 }, to = { (void *)address, 1 };
		long ret;

		if (table.trap[i].text != text || !is_in(address))
			continue;
		ret = cpu_syscall(__NR_process_vm_writev, pid, (uint64_t)&from, 1, (uint64_t)&to,
				  1);
		if (ret == 1)
			continue;
		/* Another thread was here at the same time, and has made the text r-x again. */
		if (ret != -EFAULT)
			give_up();
		return;
	}
}

/* Take the breakpoints out of this mapping. True: there is none at pc any more. */
static bool take_out(uint64_t pc, uint32_t text)
{
	const struct agent_range *range;
	uint64_t len;

	if (text >= table.nr_texts || !owner() ||
	    __atomic_load_n(owner(), __ATOMIC_ACQUIRE) != FUTEX_OWNER_DIED)
		return false;
	if (!is_in(cpu_trap_address(pc)))
		return true;
	range = agent_table_texts((const void *)&table, table.nr_traps, table.nr_areas) + text;
	len = range->end - range->start;
	if (cpu_syscall(__NR_mprotect, range->start, len, PROT_READ | PROT_WRITE | PROT_EXEC, 0, 0))
		give_up();
	else
		write_text(text);
	/* A part of the mapping may be rwx even if the call has failed. */
	cpu_syscall(__NR_mprotect, range->start, len, PROT_READ | PROT_EXEC, 0, 0);
	return !is_in(cpu_trap_address(pc));
}

static void set_handler(uint64_t handler)
{
	struct agent_sigaction action;

	cpu_syscall(__NR_rt_sigaction, SIGTRAP, 0, (uint64_t)&action, MASK_SIZE, 0);
	action.handler = handler;
	cpu_syscall(__NR_rt_sigaction, SIGTRAP, (uint64_t)&action, 0, MASK_SIZE, 0);
}

/*
 * End by this signal as soon as the handler has returned, with the registers of the trap in the
 * core.
 */
static void die(const struct siginfo *info, struct ucontext *context)
{
	uint64_t pid = cpu_syscall(__NR_getpid, 0, 0, 0, 0, 0);
	uint64_t tid = cpu_syscall(__NR_gettid, 0, 0, 0, 0, 0);

	set_handler((uint64_t)SIG_DFL);
	context->uc_sigmask &= ~SIGTRAP_BIT;
	if (cpu_syscall(__NR_rt_tgsigqueueinfo, pid, tid, SIGTRAP, (uint64_t)info, 0))
		cpu_syscall(__NR_tgkill, pid, tid, SIGTRAP, 0, 0);
}

/* Do what the replaced disposition asks for. Returns the handler to jump to, or 0. */
static uint64_t pass_on(const struct siginfo *info, struct ucontext *context, bool reset)
{
	uint64_t handler = reset ? (uint64_t)SIG_DFL : table.old.handler;
	uint64_t flags = table.old.flags, mask;

	if (handler == (uint64_t)SIG_IGN && info->si_code <= 0)
		return 0;
	if (handler == (uint64_t)SIG_IGN || handler == (uint64_t)SIG_DFL) {
		die(info, context);
		return 0;
	}
	if (flags & SA_RESETHAND)
		set_handler((uint64_t)sigtrap_reset);
	mask = context->uc_sigmask | table.old.mask;
	if (!(flags & SA_NODEFER))
		mask |= SIGTRAP_BIT;
	cpu_syscall(__NR_rt_sigprocmask, SIG_SETMASK, (uint64_t)&mask, 0, MASK_SIZE, 0);
	return handler;
}

uint64_t sigtrap(int signo, struct siginfo *info, struct ucontext *context, int reset)
{
	uint64_t pc = cpu_pc(context), way;
	uint32_t text;

	(void)signo;
	if (info->si_code > 0) {
		way = find_way(pc, cpu_is_trap(info), &text);
		if (way) {
			if (take_out(pc, text))
				way = cpu_trap_address(pc);
			cpu_set_pc(context, way);
			return 0;
		}
		if (cpu_stepped_by_tracer(info, context))
			return 0;
	}
	return pass_on(info, context, reset);
}
