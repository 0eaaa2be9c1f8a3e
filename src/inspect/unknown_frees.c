/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Judges the unknown frees of the log. */

#include "inspect/unknown_frees.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/path.h"
#include "probe/patch_watch.h"
#include "probe/probe.h"
#include "tracee/module.h"

struct job {
	const struct unknown_frees_by *by;
	struct unknown_frees *ret;
	struct err *err;
};

const char *unknown_frees_word(enum unknown_free_kind kind)
{
	static const char *const words[] = {
		[UNKNOWN_FREE_DOUBLE] = "double",
		[UNKNOWN_FREE_STACK] = "stack",
		[UNKNOWN_FREE_INSIDE] = "inside",
		[UNKNOWN_FREE_MODULE] = "module",
		[UNKNOWN_FREE_NONE] = "unknown",
	};

	return words[kind];
}

static struct unknown_free unknown_free_of(const struct log_unknown_free *free)
{
	return (struct unknown_free){
		.kind = UNKNOWN_FREE_NONE,
		.free = *free,
		.address = free->address & ((1ull << LOG_PROCESS_SHIFT) - 1),
		.process = free->address >> LOG_PROCESS_SHIFT & (LOG_PROCESSES - 1),
	};
}

static bool add_double(const struct log_unknown_free *free, void *ctx)
{
	struct unknown_free unknown = unknown_free_of(free);
	struct job *job = ctx;
	const struct probes *probes = job->by->probes;

	unknown.kind = UNKNOWN_FREE_DOUBLE;
	if (probes && !unknown.process &&
	    patch_watch_may_have_missed(probes, free->block.time, free->time))
		snprintf(job->ret->doubt, sizeof(job->ret->doubt),
			 "probes were gone for a moment before, and blocks may have been given out unseen");
	job->err = vec_push(&job->ret->vec, unknown);
	return job->err;
}

/* The last block that begins at or before this key, or NULL. */
static const struct block *block_before(const struct blocks *blocks, uint64_t wanted)
{
	size_t low = LOWER_BOUND(i, 0, blocks->vec.nr, block_key(&blocks->vec.at[i]) <= wanted);

	return low ? &blocks->vec.at[low - 1] : NULL;
}

/*
 * A block that is live and older than the free was live at the free, unless it was freed without a
 * record while the probes were out.
 */
static bool is_inside(const struct job *job, struct unknown_free *unknown)
{
	const struct block *block = block_before(job->by->blocks, unknown->free.address);

	if (!block || block->process != unknown->process || unknown->address == block->address ||
	    unknown->address - block->address >= block->size || *job->ret->untold)
		return false;
	if (block->time <= job->by->log->header->gap || block->time >= unknown->free.time)
		return false;
	unknown->around = *block;
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

/* The module that was mapped at that time. Modules of followed children are not known. */
static bool is_in_module(const struct job *job, struct unknown_free *unknown)
{
	const struct modules *modules = job->by->modules;
	uint32_t generation = reader_stack(job->by->log, unknown->free.stack).generation;

	for (size_t i = 0; modules && !unknown->process && i < modules->all.nr; i++) {
		const struct module *module = modules->all.at[i];

		if (generation < module->came || generation >= module->died ||
		    !in_segments(module, unknown->address))
			continue;
		snprintf(unknown->module, sizeof(unknown->module), "%.63s",
			 path_base(module->path));
		return true;
	}
	return false;
}

static bool add_invalid(const struct log_unknown_free *free, void *ctx)
{
	struct unknown_free unknown = unknown_free_of(free);
	struct job *job = ctx;

	if (free->on_stack)
		unknown.kind = UNKNOWN_FREE_STACK;
	else if (is_inside(job, &unknown))
		unknown.kind = UNKNOWN_FREE_INSIDE;
	else if (!*job->ret->untold && is_in_module(job, &unknown))
		unknown.kind = UNKNOWN_FREE_MODULE;
	else
		return false;
	job->ret->invalid++;
	job->err = vec_push(&job->ret->vec, unknown);
	return job->err;
}

static void find_doubts(const struct job *job, const struct log_accounts *accounts)
{
	const struct probes *probes = job->by->probes;
	struct unknown_frees *ret = job->ret;

	if (log_config(job->by->log).sample)
		snprintf(ret->untold, sizeof(ret->untold), "the log samples");
	else if (probes && *probes->incomplete)
		snprintf(ret->untold, sizeof(ret->untold), "%.159s", probes->incomplete);
	if (accounts->voided)
		snprintf(ret->doubt, sizeof(ret->doubt),
			 "%" PRIu64 " calls of the allocator never returned, and may have given out blocks",
			 accounts->voided);
}

struct err *unknown_frees_judge(const struct unknown_frees_by *by, struct unknown_frees *ret)
{
	struct job job = { by, ret, NULL };
	struct log_accounts accounts = reader_accounts(by->log);

	*ret = (struct unknown_frees){ .vec = VEC_INIT, .doubles = accounts.double_frees };
	find_doubts(&job, &accounts);
	reader_each_unknown_free(by->log, LOG_UNKNOWN_FREE_DOUBLE, add_double, &job);
	if (!job.err)
		reader_each_unknown_free(by->log, LOG_UNKNOWN_FREE_OTHER, add_invalid, &job);
	if (job.err)
		unknown_frees_free(ret);
	return job.err;
}

void unknown_frees_free(struct unknown_frees *unknown_frees)
{
	vec_free(&unknown_frees->vec);
}
