/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the kernel has allocated since a moment and not freed, by its own stack, on the whole
 * machine.
 *
 * BPF programs (kernel.bpf.c) at the kernel's tracepoints keep a table of what is held; mdbg maps
 * the table and reads it. Nothing else comes to mdbg, so its own work makes no events. The programs
 * go with mdbg's descriptors, however it ends.
 *
 *	kmalloc, kmem_cache_alloc, kfree, kmem_cache_free	objects
 *	mm_page_alloc, mm_page_free				pages
 *
 * Objects lie in pages that the kernel's slab allocator has taken: these pages are among the pages,
 * under stacks of the slab allocator. So the two are separate sums, which are never added.
 *
 * Cost. A walk of the kernel's stack takes microseconds. So a processor records KERNEL_BUDGET
 * allocations in 100 ms; beyond that it records those of a part of all addresses, and each stands
 * for as many as it was chosen from. At a calm rate all are recorded, and the figures are exact;
 * the answer says what part of them is estimated. `set kernel-sampling off` records all at any
 * rate.
 *
 * Who. Beside its own stack the kernel gives the process that runs, and the stack of its code by
 * frame pointers: without them that is the function that has made the system call, and perhaps
 * nothing more. What an interrupt allocates is under the process that it has interrupted. Numbers of
 * processes are those of the first pid namespace. A process at one place of its code is a user.
 *
 * What frees without a tracepoint (kmem_cache_free_bulk, kfree_rcu in bulk) seems held until its
 * address is used again. A block of pages that is split counts as freed with its first page.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/vec.h"

struct kernel_growth;

struct kernel_held {
	uint64_t key;			/* address of the object, or of its struct page */
	uint64_t age;			/* ns */
	uint32_t size, stack;
	uint32_t user;
	uint32_t weight;		/* allocations that it stands for */
	bool pages;
};

struct kernel_caller {
	pid_t pid;			/* 0: the kernel itself; -1: not known */
	char comm[16];			/* of a thread of it; not terminated if it is long */
	const uint64_t *pcs;		/* of its code, innermost first */
	uint32_t nr;
};

/* Of the time since the start. */
struct kernel_figures {
	uint64_t full;			/* allocations that the table had no room for */
	uint64_t missed;		/* events that came inside of another one */
};

/* Can this mdbg do it at all? It was built with libbpf and clang. */
bool kernel_growth_built(void);
/*
 * most: bytes of the table. sample: record a part of all addresses while they come too fast; else
 * all, whatever that costs. ERR_PERM, ERR_UNSUPPORTED.
 */
struct err *kernel_growth_open(uint64_t most, bool sample, struct kernel_growth **ret) MUST_CHECK;
void kernel_growth_close(struct kernel_growth *growth);
/* Call fn for each that is held now. */
struct err *kernel_growth_each(struct kernel_growth *growth,
			       struct err *(*fn)(const struct kernel_held *held, void *ctx),
			       void *ctx) MUST_CHECK;
/*
 * The return addresses of a stack, innermost first; *nr_ret may be 0. The first ones are those of
 * the tracepoint.
 */
const uint64_t *kernel_growth_stack(struct kernel_growth *growth, uint32_t stack, uint32_t *nr_ret);
/* The process that is the user's, and its stack. */
struct kernel_caller kernel_growth_caller(struct kernel_growth *growth, uint32_t user);
void kernel_growth_figures(struct kernel_growth *growth, struct kernel_figures *ret);
