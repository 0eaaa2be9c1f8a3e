/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The SIGTRAP handler that lets a target outlive a killed mdbg.
 *
 * While mdbg lives, it is the tracer, sees every int3 of its probes before the target does, and
 * lets no signal of them through. When it is killed, its int3s stay. The kernel then sends SIGTRAP,
 * which would end the target; this handler, there as long as breakpoints are, sends the thread on
 * to the displaced prologue, where the tracer would have sent it. Nothing is recorded any more, and
 * nobody waits.
 *
 *	SIGTRAP: made by the kernel (si_code > 0)?
 *	yes	PC in one of our areas: the tracer had moved it just before it died, or it is the
 *		int3 of a stub, behind which the stub goes on: return
 *		PC of a trap in the table: set PC to the displaced prologue, return
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
 * half-way through. A replaced handler runs with its own mask, not ours. If that blocks SIGTRAP (it
 * does without SA_NODEFER) and the handler then calls a probed function, the target is killed, like
 * any thread that blocks SIGTRAP; mdbg names those. One that interrupts sigsuspend, ppoll and the
 * like finds the mask from outside of the call blocked, not the call's: no frame tells that one.
 *
 * Nothing here can be written, so there is no state but one: SA_RESETHAND of the replaced handler,
 * which must be called once. That is kept in the kernel: the disposition is changed from
 * agent_sigtrap to agent_sigtrap_reset, which takes the old one for SIG_DFL.
 *
 * The table is changed by an mdbg that has stopped all threads, perhaps one of them in the middle
 * of find_trap; see agent/table.h.
 */

#include "agent/cpu_x86_64.h"
#include "agent/table.h"

#define HIDDEN	__attribute__((visibility("hidden")))

#define SIGTRAP_BIT	(1ul << (SIGTRAP - 1))
#define MASK_SIZE	8	/* bytes of the kernel's sigset_t */

/* Behind the image (agent.lds), and in entry.S. */
extern const volatile struct agent_table table HIDDEN;
extern const char sigtrap_reset[] HIDDEN;

HIDDEN uint64_t sigtrap(int signo, struct siginfo *info, struct ucontext *context, int reset);

static uint64_t find_trap(uint64_t pc, uint32_t nr)
{
	uint32_t low = 0, high = nr;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (table.trap[middle].pc == pc)
			return table.trap[middle].displaced;
		if (table.trap[middle].pc < pc)
			low = middle + 1;
		else
			high = middle;
	}
	return 0;
}

static bool in_area(uint64_t pc, const volatile struct agent_range *area, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++)
		if (pc >= area[i].start && pc < area[i].end)
			return true;
	return false;
}

/* Where a thread that trapped at pc goes on, or 0: not ours. */
static uint64_t find_way(uint64_t pc)
{
	uint64_t generation, way = 0;

	do {
		uint32_t nr_traps, nr_areas;

		generation = table.generation;
		nr_traps = table.nr_traps;
		nr_areas = table.nr_areas;
		/* Numbers of two tables together could lead out of both. */
		if (generation != table.generation)
			continue;
		if (in_area(pc, agent_table_areas((const void *)&table, nr_traps), nr_areas))
			way = pc;
		else
			way = find_trap(pc, nr_traps);
	} while (generation != table.generation);
	return way;
}

static void set_handler(uint64_t handler)
{
	struct agent_sigaction action;

	cpu_syscall(__NR_rt_sigaction, SIGTRAP, 0, (uint64_t)&action, MASK_SIZE);
	action.handler = handler;
	cpu_syscall(__NR_rt_sigaction, SIGTRAP, (uint64_t)&action, 0, MASK_SIZE);
}

/*
 * End by this signal as soon as the handler has returned, with the registers of the trap in the
 * core.
 */
static void die(const struct siginfo *info, struct ucontext *context)
{
	uint64_t pid = cpu_syscall(__NR_getpid, 0, 0, 0, 0);
	uint64_t tid = cpu_syscall(__NR_gettid, 0, 0, 0, 0);

	set_handler((uint64_t)SIG_DFL);
	context->uc_sigmask &= ~SIGTRAP_BIT;
	if (cpu_syscall(__NR_rt_tgsigqueueinfo, pid, tid, SIGTRAP, (uint64_t)info))
		cpu_syscall(__NR_tgkill, pid, tid, SIGTRAP, 0);
}

/* What the replaced disposition asks for; returns the handler to go on to, or 0. */
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
	cpu_syscall(__NR_rt_sigprocmask, SIG_SETMASK, (uint64_t)&mask, 0, MASK_SIZE);
	return handler;
}

uint64_t sigtrap(int signo, struct siginfo *info, struct ucontext *context, int reset)
{
	uint64_t way;

	(void)signo;
	if (info->si_code > 0) {
		way = find_way(cpu_pc(context));
		if (way) {
			cpu_set_pc(context, way);
			return 0;
		}
		if (cpu_stepped_by_tracer(info, context))
			return 0;
	}
	return pass_on(info, context, reset);
}
