/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What each line of the kernel's source holds: /proc/allocinfo, from Linux 6.10 on, where the
 * kernel was built to count it (CONFIG_MEM_ALLOC_PROFILING) and does (sysctl vm.mem_profiling).
 */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "base/vec.h"

#define ALLOCINFO_PLACE		160	/* bytes of a place; longer ones are cut */

struct allocinfo_line {
	uint64_t bytes, calls;		/* held, since boot */
	char place[ALLOCINFO_PLACE];	/* "mm/slub.c:2345 func:alloc_slab_page", as the kernel has it */
};

struct allocinfo {
	VEC(struct allocinfo_line) vec;	/* that hold anything; largest first */
};

/*
 * ERR_NOTFOUND: this kernel does not count; ERR_PERM: it shows it to root only. The caller frees
 * ret->vec, also after an error.
 */
struct err *allocinfo_read(struct allocinfo *ret) MUST_CHECK;
/* Parse a text that the kernel has written. */
struct err *allocinfo_parse(FILE *file, struct allocinfo *ret) MUST_CHECK;
