/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where the result of a call goes, by the code behind the call (struct arch, follow_result).
 *
 * The code is read along one way, from the return address on: the way on which the result is not
 * NULL, and otherwise straight ahead. Each register, and each word of the frame, has a value, which
 * is a number: RESULT_NONE, the result itself, or what the caller has said of a place from which it
 * was loaded. Values are moved, never computed: an address that is made of the result is not it.
 *
 * The caller says which places are typed: for a variable in a register or in the frame, a member
 * behind a pointer, or a global variable. The first of them that the result is in, or stored to,
 * is what is asked for. But a function that returns an address behind the result has laid a head
 * there, and the type is that of the head: then the result counts as lost.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RESULT_NONE	0u
#define RESULT_ITSELF	1u	/* the caller's own numbers follow */

enum result_in {
	RESULT_IN_REGISTER,	/* number: DWARF's */
	RESULT_IN_FRAME,	/* offset from the CFA */
	RESULT_IN_FP,		/* offset from the frame pointer, where the CFA is not known */
	RESULT_IN_MEMBER,	/* offset behind what the value `base` points to */
	RESULT_IN_ELEMENT,	/* the same, of an array, at an index that is not known */
	RESULT_IN_MEMORY,	/* address */
};

struct result_place {
	enum result_in in;
	uint64_t pc;		/* at this instruction, before it runs */
	uint32_t number;	/* of a register */
	uint32_t base;		/* a value */
	int64_t offset;
	uint64_t address;
};

struct result_flow {
	const uint8_t *code;	/* of the function, from its start */
	size_t len;
	uint64_t start;		/* its address */
	uint64_t pc;		/* the return address */
	/* SP and the frame pointer there, less the CFA */
	int64_t sp, fp;
	bool sp_known, fp_known;
	/* The value of what is in that place by its type; RESULT_NONE: it is not typed. */
	uint32_t (*typed)(void *ctx, const struct result_place *place);
	void *ctx;
};

enum result_end {
	RESULT_LOST,
	RESULT_RETURNED,	/* it is the function's result */
	RESULT_TYPED,		/* it is in, or was stored to, a typed place */
	RESULT_TYPED_HEAD,	/* the same, but an address behind it is made, too */
};
