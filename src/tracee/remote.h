/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Remote calls: system calls that a thread of the target makes for mdbg, and that complete without
 * mdbg if it is killed.
 *
 * A thread is borrowed (remote_borrow_begin), makes any number of calls, and is given back
 * (remote_end) as it was:
 *
 *	1. Its whole state (registers, extended state, signal mask; restart codes of an interrupted
 *	   system call translated) is laid as a signal frame where nothing is anybody's
 *	   (frame_place.h): at the low end of its stack, or else below the red zone. What lay there
 *	   is kept and put back.
 *	2. All signals are blocked, and PC set to a `syscall; ret` whose return address is the start
 *	   of the frame: the address of a `mov $__NR_rt_sigreturn, %eax; syscall`, or of code that
 *	   leads to the same (gadget.c). Should mdbg be killed from here on, the thread makes the
 *	   call, returns into rt_sigreturn and goes on as if a signal handler had returned. No text
 *	   is touched for it: both pieces are found in the target's own executable mappings (every
 *	   libc has them).
 *	3. PTRACE_SYSCALL to the entry, again to the exit; the result is read; the next call starts
 *	   at 2 with PC set back.
 *	4. Otherwise mdbg puts the registers back itself, in EVENT_STOP again, where the kernel
 *	   still knows how to restart what was interrupted (rt_sigreturn would have dropped the
 *	   kernel's restart_block: nanosleep and poll would end with EINTR).
 *
 * A call that takes too long (the target's control group is frozen, or gets no processor) is broken
 * off by an interrupt. If that does not help (the thread sleeps uninterruptibly), the thread is
 * left to the frame, which must then stay as it is: the thread is `stuck`, and restores itself when
 * it wakes.
 *
 * Nothing that the other side does keeps mdbg in a call: a stop that is not expected ends it with
 * ERR_STATE, too long a time with ERR_TIMEOUT. A fault in the call (its code has lost the right to
 * be executed) is the call's, not the thread's, and is not delivered; by then the kernel has set the
 * disposition of that signal to SIG_DFL, since the signal was blocked.
 *
 * A function of the target's (remote_function) is entered in place of step 2's `syscall; ret`,
 * with the same return address, so that it completes itself as well: it runs to its end, and
 * returns into rt_sigreturn. It is let run from one system call to the next. At the entry of
 * rt_sigreturn, which nobody else makes with this SP, all registers are set at once: to those of
 * step 2, and no system call (-1) in place of the one that was entered. So the thread is where it
 * is after any other call, and never half way between. A function must not be broken off, since
 * it may hold a lock: if it does not come back it is left to its frame. It changes what a system
 * call does not: vector registers, which are put back before all others (the frame has them,
 * too), what lies below the frame, where it has room of its own (remote_borrow_deep), and errno,
 * which nobody can put back: see session/trim/trim.h.
 *
 * A PC in a restartable sequence (rseq) is moved to its abort handler first, as the kernel does for
 * a signal. Under a seccomp filter the filter is suspended (needs CAP_SYS_ADMIN), else ERR_PERM: a
 * wrong call would kill the target. A thread whose calls are dispatched to itself (SIGSYS) is not
 * borrowed.
 *
 * A thread may have kept itself from memory by protection keys (pkeys(7)), such as that of its own
 * stack while it is on another one. The kernel obeys them too, in a call's arguments and in
 * rt_sigreturn, which ends the thread then. So all keys are open meanwhile (remote_keys.c).
 */
#pragma once

#include "tracee/frame_place.h"
#include "tracee/target.h"

/*
 * Bytes of the stack that are kept under the frame: fixed part of a frame and the largest
 * extended state (AMX).
 */
#define REMOTE_FRAME_MAX	16384
/* Bytes below the frame for arguments in memory. */
#define REMOTE_SCRATCH		512

struct remote {
	struct thread *thread;
	struct regs regs;		/* as borrowed */
	uint64_t mask;
	uint64_t call_pc;		/* `syscall; ret` */
	struct frame_place place;	/* of the frame */
	uint64_t frame;			/* SP during calls: the way into the frame, and the frame */
	uint32_t frame_len;
	size_t room;			/* bytes below the frame for a function (remote_borrow_deep) */
	uint32_t way_len;		/* bytes of the way */
	uint64_t limit;			/* nanoseconds: of each wait for the thread */
	bool resend_stop;		/* a SIGSTOP came meanwhile: send it again */
	/* the signal whose stop it was borrowed in, and with which it goes on: see death.c; or 0 */
	int keeps;
	bool lost;			/* the thread was killed, or executes another program */
	bool away;			/* in a call that has taken longer than limit */
	bool in_function;		/* which does not come back */
	bool seccomp;			/* its filter is suspended */
	bool keys;			/* its protection keys are open */
	/* the process that a clone has made, as mdbg sees its id; 0 */
	pid_t made;
	struct thread last;		/* a copy of the thread, if it is lost */
	uint8_t saved[REMOTE_SCRATCH + REMOTE_FRAME_MAX];
	size_t xstate_len;
	uint8_t xstate[REMOTE_FRAME_MAX];	/* extended state, as borrowed */
};

/*
 * thread is STOPPED, or in the signal stop that is being handled. Its frame lies in the best place
 * that there is.
 */
struct err *remote_borrow_begin(struct thread *thread, struct remote *ret) MUST_CHECK;
/* *ret is the result, 0 or more; errors of the call come as err_sys. */
struct err *remote_call(struct remote *remote, long nr, const uint64_t *args, unsigned nr_args,
			uint64_t *ret) MUST_CHECK;
/*
 * Call the function at address with up to six arguments. Its result is not known. limit is for each part
 * of it between two system calls. The thread was borrowed with room for it (remote_borrow_deep). The
 * caller must be sure of everything else, above all that no lock is held that the function takes.
 */
struct err *remote_function(struct remote *remote, uint64_t address, const uint64_t *args,
			    unsigned nr_args) MUST_CHECK;
/*
 * Put bytes at the low end of the room of remote_borrow_deep, for a function that needs less than all
 * of it. They stay there, as what a function leaves on the stack does.
 */
struct err *remote_deep_bytes(struct remote *remote, const void *bytes, size_t len,
			      uint64_t *ret) MUST_CHECK;
/*
 * Put bytes (at most REMOTE_SCRATCH) in the target, for the next calls. Returns their address
 * there.
 */
struct err *remote_scratch(struct remote *remote, const void *bytes, size_t len,
			   uint64_t *ret) MUST_CHECK;
/* remote_scratch at this very address, no more than REMOTE_SCRATCH below the frame. */
struct err *remote_scratch_at(struct remote *remote, uint64_t at, const void *bytes,
			      size_t len) MUST_CHECK;
/*
 * Give the thread back: it is in EVENT_STOP again (STOPPED), with its own registers. After an error
 * it may be stuck on its way there. Must always be called, also after a failed call.
 */
struct err *remote_end(struct remote *remote) MUST_CHECK;

#define remote_syscall(remote, ret, nr, ...) \
	remote_call(remote, nr, (const uint64_t[]){ __VA_ARGS__ }, \
		    sizeof((const uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t), ret)

struct err *remote_unmap(struct remote *remote, uint64_t address, uint64_t len) MUST_CHECK;

/*
 * Was this thread (STOPPED) borrowed by an mdbg that was killed, and must it still make that mdbg's
 * call? This lasts a moment at most, unless something keeps the thread from running. The mappings
 * may differ afterwards.
 */
bool remote_is_left(const struct thread *thread);

/*
 * Begin with a place of this very rank, and with room for a function below the frame. ERR_MEMORY:
 * there is none.
 */
struct err *remote_begin_at(struct thread *thread, enum frame_rank rank, size_t room,
			    struct remote *ret) MUST_CHECK;
/*
 * Begin with the best suited stopped thread of the target: the first thread, if there is a good
 * place for its frame; else one of the others that has one. A thread that cannot make a call now
 * (ERR_UNSUPPORTED) is skipped.
 */
struct err *remote_borrow_begin_any(struct target *target, struct remote *ret) MUST_CHECK;

/* Open the protection keys of the thread, whose extended state is known, and put them back. */
struct err *remote_keys_open(struct remote *remote) MUST_CHECK;
struct err *remote_keys_restore(struct remote *remote) MUST_CHECK;

/*
 * The two as a bracket: remote_borrow_begin of thread, or remote_borrow_begin_any of target if that
 * is NULL; and remote_end, which gives err, or what is wrong with the end.
 *
 *	err = remote_borrow(target, NULL, &remote);
 *	if (err)
 *		return err;
 *	err = ...
 *	return remote_borrow_give_back(remote, err);
 */
struct err *remote_borrow(struct target *target, struct thread *thread,
			  struct remote **ret) MUST_CHECK;
struct err *remote_borrow_give_back(struct remote *remote, struct err *err) MUST_CHECK;
/*
 * remote_borrow of this thread for remote_function, with room for the function's own frames, on a
 * stack whose end is known. ERR_MEMORY: there is none.
 */
struct err *remote_borrow_deep(struct thread *thread, size_t room,
			       struct remote **ret) MUST_CHECK;
