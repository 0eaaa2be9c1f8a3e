/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Remote calls (theory in remote.h). */

#include "tracee/remote.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/rseq.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "arch/sigframe.h"
#include "base/cancel.h"
#include "base/cleanup.h"
#include "base/trace.h"
#include "os/tracer.h"
#include "tracee/gadget.h"

#define SYSCALL_STOP	(SIGTRAP | 0x80)
/* Kernel-internal codes in the result register of an interrupted system call. */
#define ERESTARTSYS		512
#define ERESTARTNOINTR		513
#define ERESTARTNOHAND		514
#define ERESTART_RESTARTBLOCK	516
/* How often to check whether the thread that is waited for has died. */
#define LOOK_NS			10000000ull
/* Of a frame, beside the extended state: less than 400 bytes, and gaps. */
#define FRAME_BESIDES		512
/* How long a function may take in all. */
#define FUNCTION_NS		60000000000ull

static const struct arch *arch_of(const struct remote *remote)
{
	return remote->thread->target->arch;
}

/*
 * The registers as rt_sigreturn should restore them: an interrupted system call starts again, which
 * the kernel would not do in this case. A relative time limit starts anew; but this happens only if
 * mdbg is killed.
 */
static void translate_restart(const struct arch *arch, struct regs *regs)
{
	int64_t result = (int64_t)regs_get(regs, arch->syscall_ret);

	if ((int64_t)regs_get(regs, arch->orig_syscall) < 0)	/* in none */
		return;
	if (result != -ERESTARTSYS && result != -ERESTARTNOINTR && result != -ERESTARTNOHAND &&
	    result != -ERESTART_RESTARTBLOCK)
		return;
	regs_set(regs, arch->syscall_nr, regs_get(regs, arch->orig_syscall));
	regs_set(regs, arch->pc, regs_get(regs, arch->pc) - arch->syscall_insn_len);
}

/*
 * A PC in a restartable sequence is moved to its abort handler: the kernel cannot do that, because
 * it will find the PC elsewhere.
 */
static void abort_rseq(struct thread *thread, struct regs *regs)
{
	struct target *target = thread->target;
	uint64_t rseq = ptrace_rseq(thread->tid), cs_addr, pc = regs_get(regs, target->arch->pc);
	struct rseq_cs cs;

	if (!rseq ||
	    memory_read_u64(&target->mem.bring, rseq + offsetof(struct rseq, rseq_cs), &cs_addr) ||
	    !cs_addr || memory_read(&target->mem.bring, cs_addr, &cs, sizeof(cs)))
		return;
	if (pc - cs.start_ip < cs.post_commit_offset)
		regs_set(regs, target->arch->pc, cs.abort_ip);
}

/* Memory that is there and may not be read may be somebody's to deliver: a write would wait. */
static struct err *check_unmapped(struct target *target, uint64_t address)
{
	CLEANUP(procparse_maps_free) struct proc_maps maps = { VEC_INIT };
	struct err *err = target_maps(target, &maps);

	if (!err && procparse_maps_find(&maps, address))
		err = err_create(ERR_MEMORY, "cannot read memory at 0x%" PRIx64, address);
	return err;
}

/*
 * Read what lies where the frame will. Below the lowest page of the first thread's stack there is
 * nothing until somebody writes to it: then the kernel lets the stack grow, as it would for the
 * thread itself.
 */
static struct err *save(struct remote *remote, size_t len)
{
	struct target *target = remote->thread->target;
	const uint64_t low = remote->frame - REMOTE_SCRATCH;
	struct err *err = memory_read(&target->mem.bring, low, remote->saved, len);

	if (!err || err->code != ERR_MEMORY)
		return err;
	err = check_unmapped(target, low);
	if (!err)
		err = procmem_write(&target->mem, low, &(uint8_t){ 0 }, 1);
	return err ? err : memory_read(&target->mem.bring, low, remote->saved, len);
}

static struct err *find_place(struct remote *remote, enum frame_rank rank, size_t len)
{
	struct thread *thread = remote->thread;

	if (frame_place_find(thread, rank, len + FRAME_BESIDES + REMOTE_SCRATCH, &remote->place))
		return NULL;
	return err_create(ERR_MEMORY, "the stack of thread %d has no room for a frame", thread->tid);
}

/* Put the frame in a place of this rank; the bytes that were there are kept. */
static struct err *lay_frame(struct remote *remote, const struct gadgets *gadgets,
			     enum frame_rank rank, size_t room)
{
	const struct arch *arch = arch_of(remote);
	struct target *target = remote->thread->target;
	struct regs restored = remote->regs;
	AUTO_FREE uint8_t *buf = malloc(REMOTE_FRAME_MAX);
	struct sigframe_spec spec = { .regs = &restored, .mask = remote->mask };
	struct gadget_frame frame;
	struct err *err;

	if (!buf)
		return err_nomem;
	translate_restart(arch, &restored);
	err = ptrace_get_xstate(remote->thread->tid, remote->xstate, sizeof(remote->xstate),
				&remote->xstate_len);
	if (!err)
		err = find_place(remote, rank, remote->xstate_len + room);
	if (err)
		return err;
	spec.xstate = remote->xstate;
	spec.xstate_len = remote->xstate_len;
	spec.below = remote->place.high;
	err = gadget_frame(arch, gadgets, &spec, buf, REMOTE_FRAME_MAX, &frame);
	if (err)
		return err;
	remote->frame = frame.sp;
	remote->frame_len = (uint32_t)frame.len;
	remote->way_len = (uint32_t)gadget_way_len(gadgets);
	if (frame.sp - REMOTE_SCRATCH < remote->place.low)
		return err_create(ERR_RANGE, "a signal frame takes %zu bytes", frame.len);
	err = save(remote, REMOTE_SCRATCH + frame.len);
	if (!err)
		err = procmem_write(&target->mem, remote->frame, buf, frame.len);
	return err ? err_wrap(err, "stack of thread %d", remote->thread->tid) : NULL;
}

/* Registers at the `syscall; ret`, about to make call nr. */
static struct regs call_regs(const struct remote *remote, long nr)
{
	const struct arch *arch = arch_of(remote);
	struct regs regs = remote->regs;

	regs_set(&regs, arch->pc, remote->call_pc);
	regs_set(&regs, arch->sp, remote->frame);
	regs_set(&regs, arch->syscall_nr, (uint64_t)nr);
	regs_set(&regs, arch->orig_syscall, UINT64_MAX);
	return regs;
}

/*
 * Each thread has its own filters, and may have got one since the attach, so this is checked each
 * time.
 */
static struct err *suspend_seccomp(struct remote *remote)
{
	pid_t tid = remote->thread->tid;
	struct proc_status status;
	struct err *err = procfs_status(tid, &status);

	if (err || !status.seccomp)
		return err;
	err = ptrace_set_options(remote->thread->target->tracer, tid, true);
	if (err)
		return err_hint(err_wrap(err, "process %d runs under a seccomp filter",
					 remote->thread->target->pid),
				"run mdbg with CAP_SYS_ADMIN (as root) and without a filter of its "
				"own, so that the filter can be suspended for the moment of the "
				"attach (docker run --privileged, kubectl debug --profile=sysadmin)");
	remote->seccomp = true;
	return NULL;
}

/*
 * Syscall user dispatch (Wine has it) turns the calls of some code into SIGSYS. The selector says
 * whether it does now; it does not change, as only the thread itself does that.
 */
static struct err *check_dispatch(struct thread *thread, uint64_t pc)
{
	uint8_t selector = 0;
	uint64_t at;

	if (!ptrace_dispatches(thread->tid, pc, &at))
		return NULL;
	if (at && !memory_read(&thread->target->mem.bring, at, &selector, sizeof(selector)) &&
	    !selector)
		return NULL;
	return err_create(ERR_UNSUPPORTED, "thread %d has its system calls dispatched to itself "
			  "(PR_SET_SYSCALL_USER_DISPATCH)", thread->tid);
}

struct err *remote_begin_at(struct thread *thread, enum frame_rank rank, size_t room,
			    struct remote *ret)
{
	struct target *target = thread->target;
	struct regs regs;
	struct gadgets gadgets;
	struct err *err;

	memset(ret, 0, offsetof(struct remote, saved));
	ret->thread = thread;
	ret->limit = TARGET_TIMEOUT_NS;
	ret->room = room;
	ret->regs = thread->regs;
	abort_rseq(thread, &ret->regs);
	err = gadget_find(target, &gadgets);
	if (err)
		return err;
	ret->call_pc = gadgets.call;
	err = check_dispatch(thread, ret->call_pc + target->arch->syscall_insn_len);
	if (!err)
		err = suspend_seccomp(ret);
	if (!err)
		err = ptrace_get_sigmask(thread->tid, &ret->mask);
	if (!err)
		err = lay_frame(ret, &gadgets, rank, room);
	if (!err)
		err = remote_keys_open(ret);
	if (err) {
		if (ret->seccomp)	/* no remote_end follows this error */
			err_ignore(ptrace_set_options(target->tracer, thread->tid, false));
		return err;
	}
	/*
	 * The frame restores the mask. So the PC must be on the way to the frame before the mask is
	 * changed.
	 */
	regs = call_regs(ret, SYS_getpid);
	err = ptrace_set_regs(thread->tid, &regs);
	return err ? err : ptrace_set_sigmask(thread->tid, UINT64_MAX);
}

static struct err *gone(const struct remote *remote)
{
	return err_create(ERR_GONE, "thread %d has ended, or executes another program",
			  remote->thread->tid);
}

/* The thread belongs to no target any more: questions about it are answered from the copy. */
static struct err *lose(struct remote *remote)
{
	remote->lost = true;
	remote->last = *remote->thread;
	remote->thread = &remote->last;
	return gone(remote);
}

/* The thread runs: wait until it stops, up to the time `end`. */
static struct err *wait_for_stop(struct remote *remote, uint64_t end, int *status)
{
	pid_t tid = remote->thread->tid;
	uint64_t now;
	struct proc_stat stat;
	struct err *err;

	do {
		now = tracer_now();
		err = tracer_wait_for(tid, MIN(now + LOOK_NS, end), status);
		/*
		 * The end of a first thread is reported after all others, so it is not waited for
		 * here.
		 */
		if (err && err->code == ERR_TIMEOUT && !procfs_stat(tid, &stat) &&
		    stat.state == 'Z') {
			remote->thread->state = THREAD_STUCK;
			return lose(remote);
		}
	} while (err && err->code == ERR_TIMEOUT && now < end);
	remote->away = err;
	if (err && err->code == ERR_TIMEOUT)
		return err_hint(err, "does it get a processor, or is its control group frozen?");
	if (err || (WIFSTOPPED(*status) && *status >> 16 != PTRACE_EVENT_EXEC))
		return err;
	/*
	 * It has ended, or another thread has executed a program and goes on as the first, under
	 * the id of the one that was borrowed: its registers are the new program's then.
	 */
	err = lose(remote);
	thread_dispatch(remote->last.target, tid, *status);
	return err;
}

static struct err *check_there(const struct remote *remote)
{
	if (remote->lost)
		return gone(remote);
	if (remote->away)
		return err_create(ERR_TIMEOUT, "thread %d is in another call still",
				  remote->thread->tid);
	return NULL;
}

/*
 * Is this a stop that may come on the way to another one? All signals are blocked, so only SIGSTOP
 * can be delivered; it is sent again afterwards. The kernel also delivers what the thread brings
 * upon itself (SIGSEGV, SIGSYS): this is no stop on the way, as it would come again and again.
 */
static bool is_on_the_way(struct remote *remote, int status)
{
	unsigned long made;

	switch (status >> 16) {
	case 0:
		remote->resend_stop |= WSTOPSIG(status) == SIGSTOP;
		return WSTOPSIG(status) == SIGSTOP;
	case PTRACE_EVENT_FORK:
	case PTRACE_EVENT_VFORK:
	case PTRACE_EVENT_CLONE:
		if (!ptrace_event_message(remote->thread->tid, &made))
			remote->made = (pid_t)made;
		return true;
	default:
		return true;
	}
}

static struct err *not_expected(const struct remote *remote, int status)
{
	const int signal = WSTOPSIG(status);

	if (status >> 16 || signal == SYSCALL_STOP || signal == SIGSTOP)
		return err_create(ERR_TIMEOUT, "thread %d is stopped again and again",
				  remote->thread->tid);
	return err_create(ERR_STATE, "thread %d cannot make it: it gets SIG%s instead",
			  remote->thread->tid, sigabbrev_np(signal) ? sigabbrev_np(signal) : "?");
}

/*
 * Run to the next system call stop. No event of the other side makes this take longer than the
 * limit: each SIGCONT that somebody sends is a stop more.
 */
static struct err *to_syscall_stop(struct remote *remote)
{
	uint64_t end = tracer_now() + remote->limit;
	int status = 0;

	do {
		struct err *err = tracer_syscall(remote->thread->tid);

		if (!err)
			err = wait_for_stop(remote, end, &status);
		if (err)
			return err;
		if (WSTOPSIG(status) == SYSCALL_STOP)
			return NULL;
	} while (is_on_the_way(remote, status) && tracer_now() < end);
	remote->in_function = false;	/* it stands, so it can be taken back */
	return not_expected(remote, status);
}

struct err *remote_call(struct remote *remote, long nr, const uint64_t *args, unsigned nr_args,
			uint64_t *ret)
{
	const struct arch *arch = arch_of(remote);
	pid_t tid = remote->thread->tid;
	struct regs regs = call_regs(remote, nr);
	struct err *err = check_there(remote);
	int64_t result;

	if (err)
		return err;
	for (unsigned i = 0; i < nr_args; i++)
		regs_set(&regs, arch->syscall_arg[i], args[i]);
	err = ptrace_set_regs(tid, &regs);
	if (!err)
		err = to_syscall_stop(remote);	/* entry */
	if (!err)
		err = to_syscall_stop(remote);	/* exit */
	if (!err)
		err = ptrace_get_regs(tid, &regs);
	if (err)
		return err_wrap(err, "remote call %ld", nr);
	result = (int64_t)regs_get(&regs, arch->syscall_ret);
	if (result < 0 && result > -4096) {
		errno = (int)-result;
		return err_sys("remote call %ld", nr);
	}
	*ret = (uint64_t)result;
	return NULL;
}

/* The function has returned, and its return address led into rt_sigreturn. */
static bool has_returned(const struct remote *remote, const struct regs *regs)
{
	const struct arch *arch = arch_of(remote);

	return regs_get(regs, arch->orig_syscall) == SYS_rt_sigreturn &&
	       regs_get(regs, arch->sp) == remote->frame + remote->way_len + sizeof(uint64_t);
}

/* A function that makes system calls without end goes on by itself: it may hold a lock. */
static struct err *to_return(struct remote *remote)
{
	uint64_t end = tracer_now() + FUNCTION_NS;
	pid_t tid = remote->thread->tid;
	struct regs regs;
	struct err *err;

	for (;;) {
		err = to_syscall_stop(remote);
		if (!err)
			err = ptrace_get_regs(tid, &regs);
		if (err || has_returned(remote, &regs))
			return err;
		if (tracer_now() > end || cancel_requested()) {
			err_ignore(tracer_cont(tid, 0));
			return err_create(ERR_TIMEOUT, "thread %d does not return", tid);
		}
	}
}

static struct err *run_function(struct remote *remote, uint64_t address, const uint64_t *args,
				unsigned nr_args)
{
	const struct arch *arch = arch_of(remote);
	pid_t tid = remote->thread->tid;
	struct regs regs = call_regs(remote, 0);
	struct err *err;

	regs_set(&regs, arch->pc, address);
	regs_set(&regs, arch->flags, arch->entry_flags);
	for (unsigned i = 0; i < nr_args; i++)
		regs_set(&regs, arch->arg[i], args[i]);
	err = ptrace_set_regs(tid, &regs);
	if (err)
		return err;
	remote->in_function = true;
	err = to_return(remote);
	if (err)
		return err;
	regs = call_regs(remote, SYS_getpid);
	err = ptrace_set_regs(tid, &regs);
	if (err)
		return err;
	remote->in_function = false;
	return to_syscall_stop(remote);		/* exit, of no call */
}

struct err *remote_function(struct remote *remote, uint64_t address, const uint64_t *args,
			    unsigned nr_args)
{
	AUTO_FREE uint8_t *xstate = malloc(REMOTE_FRAME_MAX);
	pid_t tid = remote->thread->tid;
	size_t len;
	struct err *err = xstate ? check_there(remote) : err_nomem;

	if (err)
		return err;
	err = ptrace_get_xstate(tid, xstate, REMOTE_FRAME_MAX, &len);
	if (!err)
		err = run_function(remote, address, args, nr_args);
	if (!err)
		err = ptrace_set_xstate(tid, xstate, len);
	return err ? err_wrap(err, "remote function") : NULL;
}

struct err *remote_deep_bytes(struct remote *remote, const void *bytes, size_t len, uint64_t *ret)
{
	if (len > remote->room)
		return err_create(ERR_RANGE, "%zu bytes for a function", len);
	*ret = remote->frame - remote->room;
	return procmem_write(&remote->thread->target->mem, *ret, bytes, len);
}

struct err *remote_scratch(struct remote *remote, const void *bytes, size_t len, uint64_t *ret)
{
	*ret = remote->frame - REMOTE_SCRATCH;
	return remote_scratch_at(remote, *ret, bytes, len);
}

struct err *remote_scratch_at(struct remote *remote, uint64_t at, const void *bytes, size_t len)
{
	uint64_t below = remote->frame - at;

	if (below > REMOTE_SCRATCH || len > below)
		return err_create(ERR_RANGE, "%zu bytes of arguments", len);
	return procmem_write(&remote->thread->target->mem, at, bytes, len);
}

/*
 * Bring the thread from the exit stop of the last call to EVENT_STOP, before it runs an
 * instruction; or out of a call that takes too long.
 */
static struct err *to_event_stop(struct remote *remote)
{
	uint64_t end = tracer_now() + remote->limit;
	pid_t tid = remote->thread->tid;
	int status = 0;

	do {
		/* anew each time: see go_on in thread.c */
		struct err *err = tracer_interrupt(tid);

		if (!err && !remote->away)
			err = tracer_cont(tid, remote->keeps);
		remote->keeps = 0;
		if (!err)
			err = wait_for_stop(remote, end, &status);
		if (err)
			return err;
		if (status >> 16 == PTRACE_EVENT_STOP) {
			remote->thread->group_signal =
				WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
			return NULL;
		}
		/* A signal that the thread has brought upon itself in a call was of no use to it. */
		(void)is_on_the_way(remote, status);
	} while (tracer_now() < end);
	return not_expected(remote, status);
}

/* The frame will restore the thread, so the old bytes must not be put back over it. */
static void leave_to_frame(struct remote *remote)
{
	remote->thread->state = THREAD_STUCK;
	trace_line("thread %d does not come back from a remote call", remote->thread->tid);
}

/* A pending SIGCONT came after any SIGSTOP, since a SIGSTOP would have removed it (signal(7)). */
static bool continues(pid_t tid)
{
	struct proc_status status;

	return !procfs_status(tid, &status) &&
	       (status.sig_pending | status.shared_pending) >> (SIGCONT - 1) & 1;
}

struct err *remote_end(struct remote *remote)
{
	struct thread *thread = remote->thread;
	struct target *target;
	struct err *err;

	if (remote->lost)
		return gone(remote);
	target = thread->target;
	if (remote->in_function) {
		leave_to_frame(remote);
		return err_create(ERR_TIMEOUT, "thread %d is in a function still", thread->tid);
	}
	/* The kernel must not take these registers for those of a system call to restart. */
	err = to_event_stop(remote);
	if (remote->lost)
		return err;
	if (remote->away) {
		leave_to_frame(remote);
		return err;
	}
	/*
	 * This order is needed: until the registers are back, the thread of a killed mdbg still
	 * goes through the frame.
	 */
	err = err_first(err, ptrace_set_sigmask(thread->tid, remote->mask));
	err = err_first(err, ptrace_set_regs(thread->tid, &remote->regs));
	err = err_first(err, remote_keys_restore(remote));
	err = err_first(err, procmem_write(&target->mem, remote->frame - REMOTE_SCRATCH,
					   remote->saved, REMOTE_SCRATCH + remote->frame_len));
	if (remote->seccomp)
		err = err_first(err, ptrace_set_options(target->tracer, thread->tid, false));
	thread->regs = remote->regs;
	thread->regs_changed = false;
	thread->state = THREAD_STOPPED;
	if (remote->resend_stop && !continues(thread->tid))
		kill(thread->tgid, SIGSTOP);
	return err;
}

struct err *remote_unmap(struct remote *remote, uint64_t address, uint64_t len)
{
	uint64_t unused;

	return remote_syscall(remote, &unused, SYS_munmap, address, len);
}

bool remote_is_left(const struct thread *thread)
{
	const struct arch *arch = thread->target->arch;

	return thread->state == THREAD_STOPPED &&
		gadget_is_call(thread->target, regs_get(&thread->regs, arch->pc)) &&
		gadget_leads_home(thread->target, regs_get(&thread->regs, arch->sp));
}
