/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the process holds of blocks from before the attach (theory in older.h). */

#include "session/older.h"

#include "heap/early.h"
#include "inspect/heaps.h"
#include "session/private.h"
#include "tracee/region.h"

static const struct log *log_of_one(const struct session *session)
{
	return session_recorded(session) && session->nr_processes <= 1 ? &session->region->log : NULL;
}

void older_note(struct session *session, const struct heaps *heap, const struct log_older *freed)
{
	static const struct filter all = { VEC_INIT };
	const struct filter_env env = { .log = NULL };
	const struct log *log = log_of_one(session);
	struct early early;

	if (!log || !freed->known || !heap->walked || !heap->complete || *heap->why)
		return;
	early = early_sum(&heap->walk, heap->process, true, &all, &env);
	session->older = (struct older_found){
		.bytes = early.bytes, .blocks = early.count, .freed = *freed,
		.log_start = log_clock_begin(log), .pid = session->current->pid,
	};
}

bool session_older_knowable(const struct session *session)
{
	const struct log *log = log_of_one(session);

	return log && log_older(log).known;
}

bool session_older_held(const struct session *session, struct older_held *ret)
{
	const struct older_found *found = &session->older;
	const struct log *log = log_of_one(session);
	struct log_older now;
	uint64_t bytes, blocks;

	if (!log || found->log_start != log_clock_begin(log) ||
	    found->pid != session->current->pid)
		return false;
	now = log_older(log);
	bytes = now.bytes - found->freed.bytes;
	blocks = now.frees + now.unsized - found->freed.frees - found->freed.unsized;
	*ret = (struct older_held){
		.bytes = found->bytes - MIN(found->bytes, bytes),
		.blocks = found->blocks - MIN(found->blocks, blocks),
		.at_most = now.unsized != found->freed.unsized,
	};
	return true;
}
