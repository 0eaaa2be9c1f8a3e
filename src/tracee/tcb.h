/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The thread control block of the target's libc, as far as the agent reads it: the offsets of a
 * thread's LWP id and of its stack's bounds. They are derived from known threads and cross-checked,
 * never assumed.
 *
 *	self	The smallest offset where each thread has its own thread pointer. The ABI of x86-64
 *		asks for one at 0 (%fs:0), and glibc and musl have it there; a program without libc
 *		(Go, raw clone) has none.
 *	tid	An int that is each thread's LWP id. One thread alone may hold its id twice: then
 *		glibc's own word for debuggers decides (_thread_db_pthread_tid). In a pid namespace
 *		of its own a process has other ids there than mdbg sees: not known.
 *	stack	Two words, lowest address and size, between which lie the thread pointer of each thread
 *		but the first, and SP of most of them (the others are on an alternate stack). glibc:
 *		stackblock; musl: map_base. Where there is only the first thread, glibc has its
 *		__libc_stack_end in place of the size, and 0 for the address.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct target;

/* Offsets from the thread pointer. 0: not known (no field of use lies at 0). */
struct tcb {
	uint32_t self_offset;	/* a word that is the thread pointer itself: see has_self */
	uint32_t tid_offset;	/* int: the LWP id */
	uint32_t stack_offset;	/* two words: lowest address and size of the stack's memory */
	bool has_self;		/* self_offset is known, and may be 0 */
};

/* The target is stopped. Offsets that cannot be found stay 0. */
void tcb_derive(struct target *target, struct tcb *ret);
