/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Threads where probes are: in a signal handler that has interrupted malloc between its first instructions, where a
 * jump is going to be; and inside an allocator's function (a pvalloc of its own) for as long as one likes. Commands:
 *
 *	patch ADDRESS	where the jump is going to be, in malloc; decimal
 *	step [alt]	step into malloc until the PC is inside its five bytes, then wait in the handler (on a
 *			stack of its own): `ok OFFSET`
 *	go		return from the handler: `ok moved` or `ok same` (is the PC in the signal's frame still inside?),
 *			then `ok` once malloc has returned a block that holds
 *	hold		another thread calls pvalloc, and stays in it: `ok` once it is there
 *	let		it returns: `ok` if its block holds
 *	verify		`ok`
 *	quit
 */
#include "target.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <ucontext.h>

#define PATCH		5
#define TRAP_FLAG	0x100

static uint64_t patch;
static bool stepped;
static char other_stack[65536];

static bool is_inside(const ucontext_t *context)
{
	uint64_t pc = (uint64_t)context->uc_mcontext.gregs[REG_RIP];

	return pc > patch && pc - patch < PATCH;
}

static void on_trap(int signal UNUSED, siginfo_t *info UNUSED, void *ctx)
{
	ucontext_t *context = ctx;
	char *line;

	if (stepped || !is_inside(context))
		return;
	stepped = true;
	context->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
	say("ok %d", (int)((uint64_t)context->uc_mcontext.gregs[REG_RIP] - patch));
	do
		line = hear();
	while (line && strcmp(line, "go"));
	say("ok %s", is_inside(context) ? "same" : "moved");
}

/* In place from the start, so that nothing of what is looked at from outside changes. */
static bool handle_traps(bool alternate)
{
	struct sigaction action = { .sa_flags = SA_SIGINFO | (alternate ? SA_ONSTACK : 0) };
	stack_t stack = { .ss_sp = other_stack, .ss_size = sizeof(other_stack) };

	action.sa_sigaction = on_trap;
	return !sigaltstack(&stack, NULL) && !sigaction(SIGTRAP, &action, NULL);
}

static bool step(bool alternate)
{
	unsigned char *block;
	bool good;

	stepped = false;
	if (!handle_traps(alternate))
		return false;
	__asm__ volatile("pushf; orl %0, (%%rsp); popf" : : "i"(TRAP_FLAG) : "memory", "cc");
	block = malloc(1000);
	KEEP(block);
	__asm__ volatile("pushf; andl %0, (%%rsp); popf" : : "i"(~TRAP_FLAG) : "memory", "cc");
	if (!block)
		return false;
	memset(block, 0x5a, 1000);
	good = stepped && block[0] == 0x5a && block[999] == 0x5a;
	free(block);
	return good;
}

static sem_t is_held, gate;

NOINLINE void *pvalloc(size_t size)
{
	sem_post(&is_held);
	while (sem_wait(&gate))
		continue;
	return malloc(size);
}

static void *hold(void *unused UNUSED)
{
	return pvalloc(4321);
}

static bool let(pthread_t holder)
{
	void *block = NULL;
	bool good;

	sem_post(&gate);
	if (pthread_join(holder, &block) || !block)
		return false;
	memset(block, 0x5a, 4321);
	good = ((char *)block)[4320] == 0x5a;
	free(block);
	return good;
}

static const char *obey(const char *line)
{
	static pthread_t holder;
	const char *how = after(line, "step"), *where = after(line, "patch");

	if (where) {
		patch = strtoull(where, NULL, 10);
		return "ok";
	}
	if (how)
		return step(!strcmp(how, "alt")) ? "ok" : "bad";
	if (!strcmp(line, "hold")) {
		if (pthread_create(&holder, NULL, hold, NULL))
			return "bad";
		while (sem_wait(&is_held))
			continue;
		return "ok";
	}
	if (!strcmp(line, "let"))
		return let(holder) ? "ok" : "bad";
	return strcmp(line, "verify") ? "bad command" : "ok";
}

int main(void)
{
	char *line;

	free(malloc(1));
	if (!handle_traps(false))
		return 1;
	say_ready();
	while ((line = hear()) && strcmp(line, "quit"))
		say("%s", obey(line));
	return 0;
}
