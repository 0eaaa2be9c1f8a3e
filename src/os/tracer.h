/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The tracer thread (tracer.c), and all ptrace requests (ptrace.c).
 *
 * Linux ties a tracee to one thread, so that one thread makes every ptrace call and handles every
 * stop. The main thread gives it work: tracer_call runs a function on the tracer thread between two
 * stops and waits until it has returned.
 *
 *	tracer thread:	run the request, if there is one
 *			run the poll, if it is due
 *			no tracee: sleep until a request comes, or a poll
 *			else wait for a stop (waitpid), pass it to `stopped`, again
 *
 * The wait is a plain blocking waitid, after a moment of looking without sleep if a single thread
 * stops again and again. A request interrupts it by a signal (TRACER_SIGNAL) without SA_RESTART;
 * since the signal may come just before waitid is entered, the caller repeats it every few
 * milliseconds until its request was taken up.
 *
 * Requests that wait for stops themselves (stopping all threads, remote calls) use tracer_wait with
 * a deadline.
 */
#pragma once

#include <signal.h>
#include <sys/types.h>

#include "arch/arch.h"

struct robust;
struct tracer;

/*
 * Handle a wait status of a tracee or child of the tracer thread. A stop for a signal must be ended
 * (tracer_cont, tracer_syscall, tracer_step, tracer_detach) before the next wait, which would
 * report it again: see wait_status in tracer.c.
 */
typedef void tracer_stopped_fn(void *ctx, pid_t tid, int status);

struct err *tracer_create(tracer_stopped_fn *stopped, void *ctx, struct tracer **ret) MUST_CHECK;
/* End the thread. The kernel releases all that are still traced. */
void tracer_destroy(struct tracer *tracer);
/* Run fn(arg) on the tracer thread; the error is in the caller's own ring. Main thread only. */
struct err *tracer_call(struct tracer *tracer, struct err *(*fn)(void *arg), void *arg) MUST_CHECK;
/*
 * Count one tracee more (1) or less (-1); while there is none, the thread does not wait for stops.
 * Tracer thread only.
 */
void tracer_count(struct tracer *tracer, int by);

/* The rest is for the tracer thread only. */

/*
 * From now on call poll(ctx of tracer_create) about every `every` nanoseconds, between stops and
 * requests, also when nothing is traced. NULL ends this. A busy tracer is late.
 */
typedef void tracer_poll_fn(void *ctx);
struct err *tracer_set_poll(struct tracer *tracer, tracer_poll_fn *on_poll,
			    uint64_t every) MUST_CHECK;

/*
 * Returns the words that report the end of this thread, and with it the end of tracing (robust.h).
 */
struct robust *tracer_robust(struct tracer *tracer);

/*
 * From now on this thread has precedence over all others that want its processor, if mdbg may do so
 * (SCHED_FIFO: as root, or by RLIMIT_RTPRIO); false: back to normal. This is for a pass over the
 * threads that waits for nobody: a thread that it waits for may want the same processor.
 */
void tracer_hurry(const struct tracer *tracer, bool hurry);

/* Monotonic nanoseconds, for deadlines. */
uint64_t tracer_now(void);
/*
 * Take the next wait status until the deadline; ERR_TIMEOUT, or ERR_GONE when there is nothing to
 * wait for.
 */
struct err *tracer_wait(const struct tracer *tracer, uint64_t deadline, pid_t *tid_ret,
			int *status_ret) MUST_CHECK;
/* Does tid have a status? If so, it is taken as by a wait. */
bool tracer_poll(pid_t tid, int *status_ret);
/* Is there a stop of a tracee that nobody has heard of? The stop is not taken. */
bool tracer_any_stops(void);
/* Like tracer_wait, for one tracee. */
struct err *tracer_wait_for(pid_t tid, uint64_t deadline, int *status_ret) MUST_CHECK;
/*
 * From now on only tracer_wait_for takes the end of tid, because its parent hears of it at that
 * moment: tracer_wait does not, and it is not taken between requests as long as nobody else is
 * traced. 0 ends this.
 */
void tracer_keep_end(struct tracer *tracer, pid_t tid);

/*
 * Seize a thread. Every tracee has these options: fork, vfork, clone and exec events, marked system
 * call stops; with suspend_seccomp also no filter. ERR_BUSY (only if there is a poll): the thread
 * executes another program and waits for one of our tracees, whose end must be taken first
 * (tracer_wait).
 */
struct err *ptrace_seize(struct tracer *tracer, pid_t tid) MUST_CHECK;
/* Set the options of a stopped tracee again, with or without suspend_seccomp. */
struct err *ptrace_set_options(struct tracer *tracer, pid_t tid, bool suspend_seccomp) MUST_CHECK;
/* trace: whether options that are set from now on include PTRACE_O_TRACEEXIT. */
void ptrace_trace_exits(struct tracer *tracer, bool trace);
/*
 * From now on the kernel kills tid when this thread ends, for whatever reason. tid then has no
 * other option, so that no events of it are reported.
 */
struct err *ptrace_exit_kill(pid_t tid) MUST_CHECK;
struct err *tracer_interrupt(pid_t tid) MUST_CHECK;
struct err *tracer_cont(pid_t tid, int signal) MUST_CHECK;
struct err *tracer_listen(pid_t tid) MUST_CHECK;
struct err *tracer_syscall(pid_t tid) MUST_CHECK;
struct err *tracer_step(pid_t tid) MUST_CHECK;
struct err *tracer_detach(pid_t tid, int signal) MUST_CHECK;
struct err *ptrace_event_message(pid_t tid, unsigned long *ret) MUST_CHECK;
struct err *ptrace_get_regs(pid_t tid, struct regs *ret) MUST_CHECK;
struct err *ptrace_set_regs(pid_t tid, const struct regs *regs) MUST_CHECK;
/* Set one register, which is cheaper. */
struct err *ptrace_set_reg(pid_t tid, unsigned word, uint64_t value) MUST_CHECK;
/* Get the extended state (note_extended of struct arch); *len_ret is its length, at most room. */
struct err *ptrace_get_xstate(pid_t tid, void *buf, size_t room, size_t *len_ret) MUST_CHECK;
struct err *ptrace_set_xstate(pid_t tid, const void *buf, size_t len) MUST_CHECK;
struct err *ptrace_get_sigmask(pid_t tid, uint64_t *ret) MUST_CHECK;
struct err *ptrace_set_sigmask(pid_t tid, uint64_t mask) MUST_CHECK;
struct err *ptrace_siginfo(pid_t tid, siginfo_t *ret) MUST_CHECK;
/* Is a signal that the kernel forced (int3's SIGTRAP) pending for this thread itself? */
struct err *ptrace_trap_pending(pid_t tid, bool *ret) MUST_CHECK;
/* Is a SIGCHLD of this child pending for the process? child is its id in the namespace of tid. */
struct err *ptrace_child_pending(pid_t tid, pid_t child, bool *ret) MUST_CHECK;
/*
 * Would a system call, behind whose instruction PC is pc, raise SIGSYS in this thread
 * (PR_SET_SYSCALL_USER_DISPATCH) if its selector did not let it through? *selector_ret is the
 * address of the selector, a byte that is 0 when calls are let through, or 0 if there is none.
 * False also if the kernel cannot tell (before 6.4).
 */
bool ptrace_dispatches(pid_t tid, uint64_t pc, uint64_t *selector_ret);
/* Returns the address of the thread's struct rseq; 0: it has none, or an old kernel cannot tell. */
uint64_t ptrace_rseq(pid_t tid);
