/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The blocks of an answer for scripts, apart from the session they are of: 40 bytes each, and what
 * is common to many (threads, processes) once. Three million are 120 MB, where their dicts would be
 * 1.6 GB.
 */
#pragma once

#include "base/vec.h"
#include "cmd/values.h"
#include "log/log.h"

struct call;
struct query;

struct block_value {
	uint64_t address : 48, heap : 16;
	uint64_t size : 48, process : 8, free_kind : 4, preattach : 1;
	uint64_t realtime;		/* ns since the epoch; 0 where it is not known, as seq is then */
	uint64_t seq;
	uint32_t thread, stack;
};

_Static_assert(sizeof(struct block_value) == 40, "there are millions");

struct block_values {
	VEC(struct block_value) vec;
	VEC(struct log_thread_view) threads;	/* by number, as far as one is asked for */
	pid_t pids[LOG_PROCESSES];
	uint64_t now_ns;
	struct dicts dicts;
};

/*
 * The answer to `ask` (query_blocks, query_free_chunks): a dict for each of its blocks, which
 * dict_of (ctx: struct block_values) makes.
 */
struct err *block_values_give(struct call *call,
			      struct err *(*ask)(const struct call *call, struct query *query),
			      Tcl_Obj *(*dict_of)(void *ctx, size_t i), Tcl_Obj **ret) MUST_CHECK;
