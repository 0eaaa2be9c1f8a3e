/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The sums of the blocks that a heap walk has found and of which the log has no record. */
#pragma once

#include "heap/filter.h"

struct heap_walk;

struct early {
	uint64_t bytes, count;
	bool unrecorded;	/* some of them may not be from before the attach */
};

/*
 * Add up those that the filter keeps. The walk has the notes of reconcile_merge. process is the
 * number of the process that was walked. If complete is true, the blocks are certainly from before
 * the attach.
 */
struct early early_sum(const struct heap_walk *walk, uint8_t process, bool complete,
		       const struct filter *filter, const struct filter_env *env);
