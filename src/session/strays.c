/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stray frees, judged. */

#include "session/strays.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/path.h"
#include "probe/lost.h"
#include "probe/probe.h"
#include "session/private.h"
#include "target/region.h"
#include "target/target.h"

struct job {
	struct session *session;
	const struct log *log;
	struct blocks blocks;		/* of the log, in order */
	struct session_strays *ret;
	struct err *err;
};

const char *session_stray_word(enum session_stray_kind kind)
{
	static const char *const words[] = {
		[SESSION_STRAY_DOUBLE] = "double",
		[SESSION_STRAY_STACK] = "stack",
		[SESSION_STRAY_INSIDE] = "inside",
		[SESSION_STRAY_MODULE] = "module",
		[SESSION_STRAY_NONE] = "unknown",
	};

	return words[kind];
}

static struct session_stray stray_of(const struct log_stray *free)
{
	return (struct session_stray){
		.kind = SESSION_STRAY_NONE,
		.free = *free,
		.address = free->address & ((1ull << LOG_PROCESS_SHIFT) - 1),
		.process = free->address >> LOG_PROCESS_SHIFT & (LOG_PROCESSES - 1),
	};
}

static bool add_double(const struct log_stray *free, void *ctx)
{
	struct session_stray stray = stray_of(free);
	struct job *job = ctx;
	const struct probes *probes = job->session->current->probes;

	stray.kind = SESSION_STRAY_DOUBLE;
	if (probes && !stray.process && lost_may_have_missed(probes, free->block.time, free->time))
		snprintf(job->ret->doubt, sizeof(job->ret->doubt),
			 "probes were gone for a moment before, and blocks may have been given out unseen");
	job->err = vec_push(&job->ret->vec, stray);
	return job->err;
}

/* The last one that begins at or before this key, or NULL. */
static const struct block *block_before(const struct blocks *blocks, uint64_t wanted)
{
	size_t low = LOWER_BOUND(i, 0, blocks->vec.nr, block_key(&blocks->vec.at[i]) <= wanted);

	return low ? &blocks->vec.at[low - 1] : NULL;
}

/*
 * A block that is live since before the free was so at the free. Unless it was freed unrecorded, while
 * the probes were out.
 */
static bool is_inside(const struct job *job, struct session_stray *stray)
{
	const struct block *block = block_before(&job->blocks, stray->free.address);

	if (!block || block->process != stray->process || stray->address == block->address ||
	    stray->address - block->address >= block->size || *job->ret->untold)
		return false;
	if (block->time <= job->log->header->gap || block->time >= stray->free.time)
		return false;
	stray->around = *block;
	return true;
}

static bool in_segments(const struct module *module, uint64_t address)
{
	const struct elf_segment *segment;
	size_t nr = 0;

	if (!module->elf || address < module->start || address >= module->end)
		return false;
	segment = elf_file_segments(module->elf, &nr);
	for (size_t i = 0; i < nr; i++)
		if (address - module->bias - segment[i].vaddr < segment[i].memsz)
			return true;
	return false;
}

/* A module that was there, then. Of followed children's nothing is known. */
static bool is_in_module(const struct job *job, struct session_stray *stray)
{
	const struct target *target = job->session->current->target;
	uint32_t generation = log_stack_get(job->log, stray->free.stack).generation;

	for (size_t i = 0; target && !stray->process && i < target->modules.all.nr; i++) {
		const struct module *module = target->modules.all.at[i];

		if (generation < module->came || generation >= module->died ||
		    !in_segments(module, stray->address))
			continue;
		snprintf(stray->module, sizeof(stray->module), "%.63s", path_base(module->path));
		return true;
	}
	return false;
}

static bool add_invalid(const struct log_stray *free, void *ctx)
{
	struct session_stray stray = stray_of(free);
	struct job *job = ctx;

	if (free->on_stack)
		stray.kind = SESSION_STRAY_STACK;
	else if (is_inside(job, &stray))
		stray.kind = SESSION_STRAY_INSIDE;
	else if (!*job->ret->untold && is_in_module(job, &stray))
		stray.kind = SESSION_STRAY_MODULE;
	else
		return false;
	job->ret->invalid++;
	job->err = vec_push(&job->ret->vec, stray);
	return job->err;
}

static void find_doubts(const struct job *job, const struct log_accounts *accounts)
{
	const struct probes *probes = job->session->current->probes;
	struct session_strays *ret = job->ret;

	if (log_config(job->log).sample)
		snprintf(ret->untold, sizeof(ret->untold), "the log samples");
	else if (probes && *probes->incomplete)
		snprintf(ret->untold, sizeof(ret->untold), "%.159s", probes->incomplete);
	if (accounts->voided)
		snprintf(ret->doubt, sizeof(ret->doubt),
			 "%" PRIu64 " calls of the allocator never returned, and may have given out blocks",
			 accounts->voided);
}

/* On the tracer thread: modules are its. */
static struct err *strays_job(struct session *session UNUSED, void *arg)
{
	struct job *job = arg;
	struct log_accounts accounts = log_accounts_get(job->log);

	job->ret->doubles = accounts.double_frees;
	find_doubts(job, &accounts);
	log_each_stray(job->log, LOG_STRAY_DOUBLE, add_double, job);
	if (!job->err)
		log_each_stray(job->log, LOG_STRAY_UNKNOWN, add_invalid, job);
	return job->err;
}

static struct err *read_blocks(const struct session *session, struct blocks *ret)
{
	struct in_hand in_hand = { VEC_INIT };
	struct err *err = session_in_hand(session, &in_hand);

	if (!err)
		err = blocks_from_log(&session->region->log, &in_hand, ret);
	vec_free(&in_hand.vec);
	return err;
}

struct err *session_strays(struct session *session, struct session_strays *ret)
{
	struct job job = { session, &session->region->log, BLOCKS_INIT, ret, NULL };
	struct err *err = read_blocks(session, &job.blocks);

	*ret = (struct session_strays){ .vec = VEC_INIT };
	if (!err)
		err = session_call(session, strays_job, &job);
	blocks_free(&job.blocks);
	if (err)
		session_strays_free(ret);
	return err;
}

void session_strays_free(struct session_strays *strays)
{
	vec_free(&strays->vec);
}
