/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the suites of calls on the made-up stack (world.h) have in common: blocks, what the log has
 * of them, and that each test runs with the fast paths and without.
 */
#pragma once

#include "world.h"

#define A	0x10000ull
#define B	0x20000ull
#define C	0x30000ull
#define D	0x40000ull

#define EXPECT(...)	scripts_expect(&world.log, (struct log_accounts){ __VA_ARGS__ }, \
				       CU_get_current_test()->pName)

/* The record of a block that has one. */
struct log_record record_at(uint64_t block);

/*
 * All blocks that were ever counted to the stacks of the function at this address (0: of all), in
 * the table and in this thread's unwind cache; and the same by the function's probe.
 */
uint64_t blocks_counted(uint64_t function);
uint64_t stack_total(enum script_function probe);

/* Two suites, of which the second takes the slow path: both must come to the same. */
#define RECORD_SUITES(name)                              \
	SUITE(name, world_create, world_destroy);        \
	SUITE(name ", the slow path", record_slow, world_destroy)
int record_slow(void);
