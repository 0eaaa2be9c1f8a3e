/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rows of `malloc allocations` and `malloc freespace`. */
#pragma once

#include <sys/types.h>

#include "answer/answer.h"
#include "log/log.h"

struct block;
struct list;
struct stack_names;
struct typed_blocks;

/* A block that the process holds, with all that the log has beside it. */
struct block_row {
	uint64_t address, size, usable;
	uint64_t pthread;
	uint64_t time, age;	/* ns; the time since the epoch */
	uint64_t seq;
	pid_t pid;
	uint32_t thread, stack;
	const char *function;	/* that has allocated it, for -brief; NULL: it was not asked for */
	const char *type;	/* "?"; NULL: it was not asked for */
	uint16_t heap;
	bool recorded;		/* time, age and seq are known */
	bool preattach;
};

extern const struct relation block_relation;

/* A free chunk. */
struct chunk_row {
	uint64_t address, size;	/* of the block that it would become; size is with the header */
	const char *kind;
	uint16_t heap;
};

extern const struct relation chunk_relation;

/* Where the rows of a list come from. */
struct block_source {
	const struct log *log;
	const pid_t *pids;
	uint64_t now_ns;	/* the time that ages are counted up to, since the epoch */
	struct list *list;
	struct stack_names *names;	/* for -brief; NULL: rows have no function */
	const struct typed_blocks *typed;	/* NULL: rows have no type */
};

struct block_row block_row_of(const struct block_source *source, const struct block *block);
/*
 * The rows of the list, read as they are asked for. The list stays the caller's, and must live as
 * long as they do.
 */
struct err *block_rows(const struct block_source *source, struct answer *ret) MUST_CHECK;
/*
 * The same, of blocks or of free chunks, packed: they need neither the list nor the session then.
 * Three million blocks take 144 MB.
 */
struct err *block_rows_pack(const struct block_source *source, const struct relation *of,
			    struct answer *ret) MUST_CHECK;
