/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rows of `malloc pymalloc`: blocks of Python's pools by type, size, or those that are lost. */
#pragma once

#include "answer/answer.h"
#include "base/vec.h"
#include "heap/python/pyobjects.h"

struct log;
struct stack_names;

enum python_by { PYTHON_BY_TYPE, PYTHON_BY_SIZE, PYTHON_BY_LOST };

struct python_row {
	const char *type;	/* "" by size */
	const char *state;	/* "lost", "indirect"; "" where that was not asked */
	const char *function;	/* of the line `in NAME`; "" */
	uint64_t size, count, bytes;	/* size: of a block; 0 by type */
	uint32_t stack;			/* of a lost one's record; LOG_STACK_NONE */
};

struct python_sums {
	VEC(struct python_row) vec;	/* type is the objects' own text */
	uint64_t lost, lost_bytes, indirect, indirect_bytes;
};

extern const struct relation python_relation;

/*
 * Add up, the largest first. PYTHON_BY_LOST: only what is lost, by type, size and stack: that of
 * the block's record in log (may be NULL), as a block of a function that the user has named. The
 * caller frees ret->vec, also after an error.
 */
struct err *python_rows_sum(const struct pyobjects *objects, enum python_by by,
			    const struct log *log, uint8_t process,
			    struct python_sums *ret) MUST_CHECK;
/* The rows are copies. */
struct err *python_rows(struct stack_names *names, const struct python_sums *sums,
			struct answer *ret) MUST_CHECK;
