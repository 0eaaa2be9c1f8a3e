/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inner pointers that are as good as one to the block's start (reach.h lists them). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct block;
struct reach_range;
struct memory;

#define HEURISTIC_TABLES	256u	/* a power of two */

struct heuristic {
	struct memory *memory;
	const struct reach_range *code;
	size_t nr_code;
	/* Words that were looked at: is it the address of a table of virtual functions? */
	struct {
		uint64_t word;
		bool table;
	} seen[HEURISTIC_TABLES];
};

/* address lies in the block, behind its start. */
bool heuristic_applies(struct heuristic *heuristic, const struct block *block, uint64_t address);
