/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The kernel's allocations by stack, and the text of `growth kernel`. */
#pragma once

#include "base/vec.h"
#include "growth/kernel.h"
#include "heap/filter.h"
#include "os/machine/allocinfo.h"
#include "os/kallsyms.h"

struct out;
struct process_code;
struct process_codes;

struct kernel_sum {
	uint32_t stack;
	uint32_t user;			/* with by_user */
	bool pages;
	uint64_t bytes, count;		/* estimated, where one stands for several */
	uint64_t seen;			/* records that they are from */
	uint64_t estimated;		/* of count: from records that stand for several */
	uint64_t time;			/* of the earliest one, ns since the epoch */
};

struct kernel_sums {
	VEC(struct kernel_sum) vec;	/* largest first */
	uint64_t bytes[2], count[2];	/* of objects, and of pages */
	uint64_t estimated;		/* of count, in both: from records that stand for several */
};

/* The kernel's names; if they are hidden, the text that says why. */
struct kernel_names {
	struct kallsyms syms;
	bool known;
	struct err why;
};

void kernel_names_read(struct kernel_names *names);
void kernel_names_free(struct kernel_names *names);
/* Get a stack without the frames of the tracepoint. Returns its PCs; *nr_ret may be 0. */
const uint64_t *kernel_stack(struct kernel_growth *growth, const struct kernel_names *names,
			     uint32_t stack, uint32_t *nr_ret);

/* The code of a caller whose earliest allocation of a sum was made at a time (ns since the epoch). */
const struct process_code *kernel_code(struct process_codes *codes,
				       const struct kernel_caller *caller, uint64_t time);

/*
 * Add up what a filter keeps: address, size, time, age, function and module; by_user: also by process
 * and the stack of its code. now_ns is the time since the epoch. The caller frees vec, also after an error: ERR_PERM if a filter has names, and
 * the kernel hides them.
 */
struct err *kernel_add_up(struct kernel_growth *growth, const struct kernel_names *names,
			  const struct filter *filter, bool by_user, uint64_t now_ns,
			  struct kernel_sums *ret) MUST_CHECK;
/*
 * Print the first `limit` sums, and what is not in them; codes: they are by user, and each has its
 * process, with the names of its code; else NULL.
 */
struct err *kernel_print(struct kernel_growth *growth, const struct kernel_names *names,
			 const struct kernel_sums *sums, struct process_codes *codes, uint64_t limit,
			 struct out *out) MUST_CHECK;
/* Print the first `limit` lines of /proc/allocinfo. */
void kernel_print_allocinfo(const struct allocinfo *info, uint64_t limit, struct out *out);
