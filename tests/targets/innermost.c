/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Two blocks that threads which wait in the kernel have: one of 456 bytes is in the frame of hold_in_frame, from which one
 * thread has called pause, and in the frame of wait_innermost, which is itself the innermost one of another thread; one of
 * 616 is in a register of a third one, which has called the kernel from hold_in_register. Commands: verify, quit.
 */
#include "target.h"

#include <pthread.h>

static void *volatile both, *volatile one;
static pthread_barrier_t there;

/* It never comes back. */
static inline void wait_here(void *block)
{
	__asm__ volatile("1: movl $34, %%eax\n\t"		/* pause */
			 "syscall\n\t"
			 "jmp 1b"
			 : : "b"(block) : "rax", "rcx", "r11", "memory");
}

static NOINLINE void *wait_innermost(void *arg UNUSED)
{
	void *volatile held = both;

	pthread_barrier_wait(&there);
	wait_here(NULL);
	KEEP(held);
	return NULL;
}

static NOINLINE void *hold_in_frame(void *arg UNUSED)
{
	void *volatile held = both;

	pthread_barrier_wait(&there);
	for (;;)
		pause();
	KEEP(held);
	return NULL;
}

static NOINLINE void *hold_in_register(void *arg UNUSED)
{
	void *block;

	pthread_barrier_wait(&there);
	/* Nothing is called from here on that would leave it below the stack. */
	block = one;
	one = NULL;
	wait_here(block);
	return NULL;
}

int main(void)
{
	static void *(*const function[])(void *) = { wait_innermost, hold_in_frame, hold_in_register };
	pthread_t thread;
	char *line;

	both = malloc(456);
	one = malloc(616);
	pthread_barrier_init(&there, NULL, 4);
	for (unsigned i = 0; i < 3; i++)
		pthread_create(&thread, NULL, function[i], NULL);
	pthread_barrier_wait(&there);
	both = NULL;
	while (one)
		nap_us(100);
	say_ready();
	while ((line = hear()) && strcmp(line, "quit"))
		say(!strcmp(line, "verify") ? "ok" : "bad: not understood");
	_exit(0);
}
