/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The blocks of an answer for scripts. They do not need the session that they come from. Each takes
 * 40 bytes, and what many have in common (threads, processes) is kept once. Three million blocks
 * take 120 MB; as dicts they would take 1.6 GB.
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
	uint64_t realtime;		/* ns since the epoch; it and seq are 0 if not known */
	uint64_t seq;
	uint32_t thread, stack;
};

_Static_assert(sizeof(struct block_value) == 40, "there are millions");

struct block_values {
	VEC(struct block_value) vec;
	VEC(struct log_thread_view) threads;	/* by number, up to the highest of a block */
	pid_t pids[LOG_PROCESSES];
	uint64_t now_ns;
	struct dicts dicts;
};

/*
 * Give the answer to `ask` (query_blocks, query_free_chunks): a dict for each of its blocks, which
 * dict_of makes (its ctx is the struct block_values).
 */
struct err *block_values_give(struct call *call,
			      struct err *(*ask)(const struct call *call, struct query *query),
			      Tcl_Obj *(*dict_of)(void *ctx, size_t i), Tcl_Obj **ret) MUST_CHECK;
