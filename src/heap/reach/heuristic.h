/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Recognises inner pointers that count as pointers to the block's start (reach.h lists them). */
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
	/* A cache of answers: is this word the address of a table of virtual functions? */
	struct {
		uint64_t word;
		bool table;
	} seen[HEURISTIC_TABLES];
};

/* address lies in the block, behind its start. */
bool heuristic_applies(struct heuristic *heuristic, const struct block *block, uint64_t address);
/*
 * Is the block an object of std::make_shared, with its reference counts before it, of libstdc++ or
 * libc++? Each of its owners points to the start, so that an inner pointer is of none.
 */
bool heuristic_is_shared(struct heuristic *heuristic, const struct block *block);
