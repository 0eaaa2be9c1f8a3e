/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tables that kernel.bpf.c writes in the kernel and kernel.c reads. */
#pragma once

#include <linux/types.h>

#define KERNEL_WAYS	8		/* slots of a bucket; less than 16 */
#define KERNEL_COUNTS	16		/* buckets whose taken slots are counted in a word of 64 bits */
#define KERNEL_DEPTH	28		/* frames of a stack */
#define KERNEL_USER_DEPTH 20		/* of a user's stack */
#define KERNEL_COMM	16		/* bytes of a thread's name */
#define KERNEL_PROBES	8		/* places where a stack can be */
#define KERNEL_PAGES	0x80000000u	/* in kernel_slot.stack: pages, not an object */
#define KERNEL_SHIFT_AT	24		/* in kernel_slot.stack: it stands for 1 << these 5 bits */
#define KERNEL_SHIFT_MAX 10
#define KERNEL_NO_STACK	0xffffffu

/* A processor records so many allocations in a window, and then a sample of them. */
#define KERNEL_WINDOW	100000000ull	/* ns */
#define KERNEL_BUDGET	250

/*
 * An allocation that is not freed. key is written first, and cleared when it is freed; time is 0
 * while the others are not valid.
 */
struct kernel_slot {
	__u64 key;		/* address of the object, or of struct page; 0: free */
	__u32 size;
	__u32 stack;		/* its number, the shift, KERNEL_PAGES */
	__u64 time;		/* CLOCK_MONOTONIC */
	__u32 user;		/* the number of who has allocated it; KERNEL_NO_STACK */
	__u32 pad;
};

struct kernel_bucket {
	struct kernel_slot slot[KERNEL_WAYS];
};

struct kernel_stack {
	__u64 hash;		/* 0: free */
	__u32 nr, pad;		/* nr is written last */
	__u64 pc[KERNEL_DEPTH];
};

/* The words that tell a user from others. pid is 0 of the kernel itself. */
struct kernel_who {
	__u64 pid;
	__u64 comm[KERNEL_COMM / 8];	/* of the thread that was seen first */
	__u64 pc[KERNEL_USER_DEPTH];	/* 0 behind the last one */
};

/* A process at a place of its own code. */
struct kernel_user {
	__u64 hash;		/* 0: free */
	__u64 ready;		/* `who` was written */
	struct kernel_who who;
};

/* Of a processor. */
struct kernel_cpu {
	__u64 pc[KERNEL_DEPTH];
	struct kernel_who who;
	__u64 full;		/* allocations without a slot */
	__u64 busy;		/* an allocation is being recorded */
	__u64 nested;		/* allocations that came inside of that */
	__u64 window, taken;	/* when it began; allocations recorded in it */
	__u64 shift;		/* 1 of 1 << shift addresses is recorded */
};
