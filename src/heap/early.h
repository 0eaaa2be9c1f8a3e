/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The blocks of a heap walk that are in no record, added up: those from before the attach. */
#pragma once

#include "heap/filter.h"

struct heap_walk;

struct early {
	uint64_t bytes, count;
	bool unrecorded;	/* they are perhaps not from before the attach */
};

/*
 * Of a walk with notes (walk_merge), those that the filter keeps. process is the number of the one
 * that was walked; complete: they are from before the attach for sure.
 */
struct early early_sum(const struct heap_walk *walk, uint8_t process, bool complete,
		       const struct filter *filter, const struct filter_env *env);
