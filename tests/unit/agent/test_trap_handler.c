/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The SIGTRAP handler. Whatever is not the agent's own must be as without it: each scenario runs in
 * a child of its own, once without the agent and once with it, and both must have seen the same.
 */

#include <execinfo.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>

#include "agent_offsets.h"
#include "child.h"
#include "image.h"
#include "unit.h"

#define CALLS	25000
#define THREADS	4

/* What one run of the replaced handler saw. */
struct seen {
	int signo;
	int code;
	int sender;		/* of a signal that somebody sent: was it this process? */
	uint64_t mask;		/* while it ran */
	uint64_t mask_before;	/* in its ucontext */
	bool alternate;		/* on the alternate stack */
	bool at_trap;		/* its ucontext has the PC behind the foreign int3 */
	bool has_siginfo;
	int frames;		/* that backtrace() finds from there */
};

struct outcome {
	int status;
	uint64_t mask_after;
	unsigned nr;
	struct seen seen[4];
};

static struct outcome *outcome;		/* shared with the children */
static char alternate_stack[65536];
static sigjmp_buf jump_out;
static bool raise_again, do_jump_out;

extern const char foreign_trap_end[];

__attribute__((noinline)) static void foreign_trap(void)
{
	__asm__ volatile("int3\n.globl foreign_trap_end\nforeign_trap_end:");
}

static uint64_t mask_now(void)
{
	uint64_t mask = 0;

	syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &mask, 8);
	return mask;
}

static void note(int signo, siginfo_t *info, void *context)
{
	struct seen *seen = &outcome->seen[outcome->nr++ % 4];
	void *frames[64];
	char here;

	seen->signo = signo;
	seen->mask = mask_now();
	seen->alternate =
		&here >= alternate_stack && &here < alternate_stack + sizeof(alternate_stack);
	seen->frames = backtrace(frames, 64);
	if (info) {
		seen->has_siginfo = true;
		seen->code = info->si_code;
		seen->sender = info->si_code <= 0 && info->si_pid == getpid();
	}
	if (context) {
		ucontext_t *uc = context;

		memcpy(&seen->mask_before, &uc->uc_sigmask, 8);
		seen->at_trap = uc->uc_mcontext.gregs[REG_RIP] == (greg_t)foreign_trap_end;
	}
	if (raise_again) {
		raise_again = false;
		raise(SIGTRAP);
	}
	if (do_jump_out)
		siglongjmp(jump_out, 1);
}

static void on_siginfo(int signo, siginfo_t *info, void *context)
{
	note(signo, info, context);
}

static void on_plain(int signo)
{
	note(signo, NULL, NULL);
}

struct scenario {
	const char *name;
	void *handler;		/* SIG_DFL, SIG_IGN, on_plain, on_siginfo */
	int flags;
	bool mask_usr1;		/* in sa_mask */
	bool by_trap;		/* a foreign int3, else sent */
	bool in_area;		/* sent while PC is in an area of the agent */
	bool suspended;		/* sent while it is blocked, let in by sigsuspend */
	bool twice;
	bool again;		/* sent once more by the handler itself */
	bool jump;		/* the handler does not return */
	int term;		/* signal that must end it, 0: none */
};

static const struct scenario scenarios[] = {
	{ .name = "sent, default", .handler = SIG_DFL, .term = SIGTRAP },
	{ .name = "sent, ignored", .handler = SIG_IGN },
	{ .name = "sent, plain", .handler = on_plain },
	{ .name = "sent, siginfo", .handler = on_siginfo, .flags = SA_SIGINFO },
	{ .name = "sent, mask", .handler = on_siginfo, .flags = SA_SIGINFO, .mask_usr1 = true },
	{ .name = "sent, nodefer",
	  .handler = on_siginfo,
	  .flags = SA_SIGINFO | SA_NODEFER,
	  .mask_usr1 = true },
	{ .name = "sent, alternate stack",
	  .handler = on_siginfo,
	  .flags = SA_SIGINFO | SA_ONSTACK },
	{ .name = "sent, restart", .handler = on_plain, .flags = SA_RESTART },
	{ .name = "sent twice", .handler = on_siginfo, .flags = SA_SIGINFO, .twice = true },
	{ .name = "sent, nested",
	  .handler = on_siginfo,
	  .flags = SA_SIGINFO | SA_NODEFER,
	  .again = true },
	{ .name = "sent, deferred", .handler = on_siginfo, .flags = SA_SIGINFO, .again = true },
	{ .name = "sent, jumps out",
	  .handler = on_siginfo,
	  .flags = SA_SIGINFO,
	  .jump = true,
	  .twice = true },
	{ .name = "sent once, reset", .handler = on_siginfo, .flags = SA_SIGINFO | SA_RESETHAND },
	{ .name = "sent twice, reset",
	  .handler = on_plain,
	  .flags = SA_RESETHAND,
	  .twice = true,
	  .term = SIGTRAP },
	{ .name = "sent in area", .handler = on_siginfo, .flags = SA_SIGINFO, .in_area = true },
	{ .name = "sent in area, default", .handler = SIG_DFL, .in_area = true, .term = SIGTRAP },
	{ .name = "suspended, default", .handler = SIG_DFL, .suspended = true, .term = SIGTRAP },
	{ .name = "trap, default", .handler = SIG_DFL, .by_trap = true, .term = SIGTRAP },
	{ .name = "trap, ignored", .handler = SIG_IGN, .by_trap = true, .term = SIGTRAP },
	{ .name = "trap, plain", .handler = on_plain, .by_trap = true },
	{ .name = "trap, siginfo",
	  .handler = on_siginfo,
	  .flags = SA_SIGINFO,
	  .by_trap = true,
	  .twice = true },
	{ .name = "trap, alternate stack",
	  .handler = on_siginfo,
	  .flags = SA_SIGINFO | SA_ONSTACK,
	  .by_trap = true },
	{ .name = "trap twice, reset",
	  .handler = on_siginfo,
	  .flags = SA_SIGINFO | SA_RESETHAND,
	  .by_trap = true,
	  .twice = true,
	  .term = SIGTRAP },
};

static void send_suspended(void)
{
	sigset_t trap, none;

	sigemptyset(&none);
	sigemptyset(&trap);
	sigaddset(&trap, SIGTRAP);
	sigprocmask(SIG_BLOCK, &trap, NULL);
	raise(SIGTRAP);
	sigsuspend(&none);
	outcome->nr += 100;	/* it came back */
}

static void cause(const struct scenario *s)
{
	if (s->jump && sigsetjmp(jump_out, 1))
		return;
	if (s->by_trap)
		foreign_trap();
	else if (s->in_area)
		image_syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), SIGTRAP);
	else if (s->suspended)
		send_suspended();
	else
		syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), SIGTRAP);
}

static void run_scenario(const struct scenario *s, bool with_agent)
{
	struct sigaction action = { .sa_flags = s->flags };
	sigset_t blocked;
	stack_t stack = { .ss_sp = alternate_stack, .ss_size = sizeof(alternate_stack) };

	action.sa_handler = (void (*)(int))s->handler;
	if (s->mask_usr1)
		sigaddset(&action.sa_mask, SIGUSR1);
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGUSR2);
	sigprocmask(SIG_BLOCK, &blocked, NULL);
	sigaltstack(&stack, NULL);
	sigaction(SIGTRAP, &action, NULL);
	if (with_agent)
		image_install();
	raise_again = s->again;
	do_jump_out = s->jump;
	cause(s);
	/* In between, a probe must still work, reset or not. */
	if (with_agent && (victim(41) != 42 || image_stub() != 77))
		_exit(99);
	if (s->twice)
		cause(s);
	if (with_agent && victim(1) != 2)
		_exit(98);
	outcome->mask_after = mask_now();
	_exit(0);
}

static void in_child(const struct scenario *s, bool with_agent, struct outcome *ret)
{
	pid_t pid;

	memset(outcome, 0, sizeof(*outcome));
	pid = fork();
	CU_ASSERT_FATAL(pid >= 0);
	if (!pid)
		run_scenario(s, with_agent);
	CU_ASSERT_EQUAL_FATAL(waitpid(pid, &outcome->status, 0), pid);
	outcome->status &= ~0x80;	/* whether there was a core depends on limits */
	*ret = *outcome;
}

static bool seen_equal(const struct seen *a, const struct seen *b)
{
	return a->signo == b->signo && a->code == b->code && a->sender == b->sender &&
	       a->mask == b->mask && a->mask_before == b->mask_before &&
	       a->alternate == b->alternate && a->at_trap == b->at_trap &&
	       a->has_siginfo == b->has_siginfo && a->frames == b->frames;
}

TEST("what is not ours is as without us")
{
	void *frames[2];

	backtrace(frames, 2);	/* loads the unwinder now, not in a handler */
	for (size_t i = 0; i < ARRAY_SIZE(scenarios); i++) {
		const struct scenario *s = &scenarios[i];
		struct outcome without, with;
		bool same;

		in_child(s, false, &without);
		in_child(s, true, &with);
		same = without.status == with.status && without.nr == with.nr &&
		       without.mask_after == with.mask_after;
		for (unsigned n = 0; n < 4; n++)
			same = same && seen_equal(&without.seen[n], &with.seen[n]);
		if (!same)
			printf("%s: status %#x and %#x, calls %u and %u, frames %d and %d: ",
			       s->name, without.status, with.status, without.nr, with.nr,
			       without.seen[0].frames, with.seen[0].frames);
		CU_ASSERT(same);
		CU_ASSERT((without.nr > 0) ==
			  (s->handler != (void *)SIG_DFL && s->handler != (void *)SIG_IGN));
		CU_ASSERT_EQUAL(WTERMSIG(without.status), s->term);
	}
}

static volatile unsigned long nested;

static void on_usr1(int signo)
{
	(void)signo;
	if (victim(7) == 8)
		__atomic_add_fetch(&nested, 1, __ATOMIC_RELAXED);
}

static void *call_victim(void *arg)
{
	long wrong = 0;

	(void)arg;
	for (long i = 0; i < CALLS; i++)
		wrong += victim(i) != i + 1;
	return (void *)wrong;
}

/*
 * Threads run into the trap all the time, signals come in between whose handler runs into it as
 * well.
 */
static void storm(void)
{
	struct sigaction usr1 = { .sa_handler = on_usr1, .sa_flags = SA_RESTART };
	pthread_t threads[THREADS];
	long wrong = 0;

	sigaction(SIGUSR1, &usr1, NULL);
	image_install();
	for (unsigned i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, call_victim, NULL))
			_exit(2);
	for (unsigned n = 0; n < 4000; n++) {
		unsigned long before = nested;

		if (syscall(SYS_tgkill, getpid(), getpid(), SIGUSR1) || nested == before)
			_exit(3);
		pthread_kill(threads[n % THREADS], SIGUSR1);
	}
	for (unsigned i = 0; i < THREADS; i++) {
		void *ret;

		pthread_join(threads[i], &ret);
		wrong += (long)ret;
	}
	_exit(wrong ? 4 : 0);
}

/* Wherever the trap stands in tables of any length. */
static void search(void)
{
	image_install();
	for (uint32_t nr = 1; nr <= 33; nr++)
		for (uint32_t index = 0; index < nr; index++) {
			image_refill(index, nr);
			if (victim(41) != 42 || image_stub() != 77)
				_exit(1);
		}
	_exit(0);
}

TEST("a trap is found wherever it stands in the table")
{
	pid_t pid = fork();
	int status;

	CU_ASSERT_FATAL(pid >= 0);
	if (!pid)
		search();
	CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
	CU_ASSERT_EQUAL(status, 0);
}

TEST("traps of probes, four threads, signals in between")
{
	pid_t pid = fork();
	int status;

	CU_ASSERT_FATAL(pid >= 0);
	if (!pid)
		storm();
	CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
	CU_ASSERT_EQUAL(status, 0);
}

TEST("entry points of the image")
{
	static const uint8_t restorer[] = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 };
	static const uint8_t gadget[] = { 0x0f, 0x05, 0xc3 };

	CU_ASSERT(agent_image_len > 0 && agent_image_len <= AGENT_TABLE);
	CU_ASSERT_EQUAL(AGENT_TABLE % 16, 0);
	CU_ASSERT(AGENT_TABLE - agent_image_len < 16);
	CU_ASSERT(!memcmp(agent_image + AGENT_RESTORER, restorer, sizeof(restorer)));
	CU_ASSERT(!memcmp(agent_image + AGENT_SYSCALL, gadget, sizeof(gadget)));
	CU_ASSERT_EQUAL(sizeof(struct agent_sigaction), 32);
	CU_ASSERT_EQUAL(agent_table_size(2, 3, 1), sizeof(struct agent_table) + 2 * 24 + 4 * 16);
}

TEST("the disposition to install")
{
	struct agent_sigaction new, old = {
		.handler = 0x1234,
		.flags = SA_NODEFER | SA_RESETHAND,
		.mask = 1,
	};

	new = agent_sigaction(0x1000, 0x2000, &old);
	CU_ASSERT_EQUAL(new.handler, 0x1000);
	CU_ASSERT_EQUAL(new.restorer, 0x2000);
	CU_ASSERT_EQUAL(new.mask, UINT64_MAX);
	CU_ASSERT_EQUAL(new.flags, SA_SIGINFO | AGENT_SA_RESTORER);
	old.flags = SA_ONSTACK | SA_RESTART | SA_SIGINFO;
	CU_ASSERT_EQUAL(agent_sigaction(0x1000, 0x2000, &old).flags, old.flags | AGENT_SA_RESTORER);
	old = (struct agent_sigaction){ .handler = (uintptr_t)SIG_IGN };
	CU_ASSERT_EQUAL(agent_sigaction(0x1000, 0x2000, &old).flags,
			SA_SIGINFO | SA_ONSTACK | SA_RESTART | AGENT_SA_RESTORER);
}

static int setup(void)
{
	outcome = child_share(sizeof(*outcome));
	return !outcome || image_load();
}

static int teardown(void)
{
	return munmap(outcome, sizeof(*outcome)) | image_unload();
}

FIXTURE(setup, teardown);
