/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is at an address, in one line: a variable with its member, a symbol, a block. */
#pragma once

#include "base/str.h"
#include "type/value_text.h"

struct call;
struct heaps;
struct stack_names;
struct typed_blocks;

struct places {
	const struct call *call;
	const struct value_world *world;
	struct heaps *heap;		/* of the log, or with a walk */
	struct stack_names *names;
	const struct typed_blocks *typed;	/* types of blocks; NULL: not asked for */
};

/* The block of an address; block 0: it is in none that is known. */
struct found_place {
	uint64_t block;
	const char *type;		/* as long as places->typed; NULL: not asked for */
};

/*
 * Append "global server.clients+4 (struct redisServer) in redis-server", "byte 16 of a block of 64
 * bytes at 0x…, allocated by NAME, TYPE", "function main+6", "stack of thread 17", "byte 16 of FILE";
 * nothing, if nothing is known.
 */
struct err *place_add(const struct places *places, uint64_t address, struct str *to) MUST_CHECK;
/* The same, which also says which block it is. */
struct err *place_find(const struct places *places, uint64_t address, struct found_place *ret,
		       struct str *to) MUST_CHECK;
