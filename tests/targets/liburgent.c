/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A library for urgent: it allocates in its constructor, when it is called, and in a thread of its own, each time some
 * blocks of one size, from a loop, below frames of its own. The blocks are the library's; urgent frees none.
 */
#include "urgent.h"

#define OWN	__attribute__((noinline))

static volatile int sink;

static OWN int fill(size_t size)
{
	volatile int i;		/* the loop stays one: each block has the same stack */

	for (i = 0; i < URGENT_BLOCKS; i++) {
		void *p = malloc(size);

		KEEP(p);
		sink += p != NULL;
	}
	return sink;
}

static __attribute__((constructor)) void in_constructor(void)
{
	sink += fill(URGENT_CONSTRUCTOR);
}

int urgent_call(void);

int urgent_call(void)
{
	return fill(URGENT_CALL) + 1;
}

static void *in_thread(void *unused)
{
	sink += fill(URGENT_THREAD);
	return unused;
}

int urgent_thread(pthread_t *thread);

int urgent_thread(pthread_t *thread)
{
	return pthread_create(thread, NULL, in_thread, NULL);
}
