/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * For how long a target would stand still, asked before it does.
 *
 * Nothing is stopped for it, and no page is read that the process has not touched. So it is an
 * estimate:
 *
 *	fork	by the mappings, and the pages that page tables have to be copied for
 *	walk	by the number of chunks: as many as the log has blocks, and for the rest of glibc's
 *		heaps, whose bytes the arenas tell, as many as there would be if all were as long as
 *		the first ones of the main heap are on average. jemalloc counts its blocks. Other
 *		allocators' heaps may be all of the process's own memory
 *		glibc's chunks that are mapped on their own are looked for at each page outside of its
 *		heaps, if they do not all begin a mapping
 *	read	by the pages of the process's own
 *	search	by the chunks as well, and by the memory that is read. What the process shares, or
 *		has of files, is counted by who knows how much of it he reads (session/look.c)
 *
 * docs/bench/README.md has the measured rates. A machine that is slower, or busy, takes longer.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct session;

struct stop_estimate {
	uint64_t pages;		/* of the process's own, in memory or swapped */
	uint64_t chunks;
	/* in ns, each by itself */
	uint64_t fork_ns, walk_ns, read_ns, search_ns;
};

/* To read a page that is not the process's alone. It takes a system call of its own. */
#define STOP_ESTIMATE_SHARED_NS	1500u

/* What is known of a process; for stop_estimate_of. */
struct stop_facts {
	uint64_t own_bytes;	/* memory that is its own, present or swapped */
	uint64_t maps;		/* how many mappings */
	bool looks_at_pages;	/* not all chunks that are mapped on their own begin a mapping */
	uint64_t heap_bytes;	/* of glibc's heaps, with what is not in use; or all */
	uint64_t counted;	/* blocks of heaps that count theirs */
	uint64_t blocks, block_bytes;	/* that the log has */
	/* of the first chunks of the main heap; 0: not known */
	uint64_t sampled, sampled_bytes;
};

struct stop_estimate stop_estimate_of(const struct stop_facts *facts);

/* Main thread; there is a live target. ERR_GONE, ERR_PERM. */
struct err *stop_estimate_get(struct session *session, struct stop_estimate *ret) MUST_CHECK;

/*
 * ERR_STATE if ns is longer than `set max-pause` allows: the error has the estimate, what for, and
 * the way out. why_not: why there is no snapshot; or NULL, if the pause is that of one.
 */
struct err *stop_estimate_check(const struct session *session, uint64_t ns,
				const char *why_not) MUST_CHECK;
