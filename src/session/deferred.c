/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finishes deferred stacks (theory in deferred.h). */

#include "session/deferred.h"

#include <stdio.h>
#include <unistd.h>

#include "arch/host.h"
#include "base/trace.h"
#include "probe/probe.h"
#include "session/private.h"
#include "tracee/region.h"
#include "tracee/target.h"

#define BX	3	/* the DWARF number of RBX */

struct job {
	struct session *session;
	struct target *target;
	struct log *log;
	struct proc_maps maps;		/* read when they are first needed */
	bool has_maps, ended;
};

/* The log could not be formatted, so there are none. */
static struct log *log_of(const struct session *session)
{
	struct region *region = session->region;

	return region && region->log.header && session->current->target ? &region->log : NULL;
}

static bool is_known(const struct target *target, uint64_t pc)
{
	return walk_map_find(&target->modules.map, pc - 1);
}

bool deferred_look(const struct session *session, struct deferred_seen *ret)
{
	const struct log *log = log_of(session);

	ret->nr = 0;
	if (log)
		log_deferred_take_look(log, ret);
	for (uint32_t i = 0; ret->nr && i < log->nr_deferred; i++)
		if (ret->claim[i] && !is_known(session->current->target, ret->pc[i]))
			return true;
	return false;
}

/*
 * If the code cannot be read the address is believed: the process has ended, and its modules are
 * those of its end.
 */
static bool may_be_return(struct job *job, uint64_t pc)
{
	struct memory *memory = &job->target->mem.bring;
	uint8_t before[CALL_BYTES];

	return job->ended || memory_read(memory, pc - CALL_BYTES, before, sizeof(before)) ||
	       call_ends(before);
}

/* The PCs of the agent's walk up to the frame, and then those of this walk. */
static uint32_t walk_on(struct job *job, struct deferred_copy *copy)
{
	const struct probes *probes = job->session->current->probes;
	const struct deferred_walk *from = &copy->walk;
	uint64_t reg[BX + 1] = { [BX] = from->bx };
	struct walk_regs regs = { from->pc, from->sp, from->fp, reg, BX + 1 };
	struct walk_stack stack = { .copy = copy->stack, .low = from->sp,
				    .high = from->sp + from->len };
	struct walk_map map = job->target->modules.map;
	const struct walk_start start = { &map, &regs, &stack, probes ? &probes->walk_area : NULL,
					  true };
	uint32_t depth = MIN(log_config(job->log).stack_depth, (uint32_t)LOG_DEPTH_MAX), nr = 0;
	enum walk_end end = WALK_DEPTH;

	map.cache = &job->target->walk_cache;
	if (from->at < depth)
		nr = walk(&start, copy->pcs + from->at, depth - from->at, &end, NULL);
	return stack_table_insert(job->log, copy->pcs, from->at + nr, (uint8_t)end, map.generation);
}

static uint32_t as_it_was(struct job *job, const struct deferred_copy *copy)
{
	return stack_table_insert(job->log, copy->pcs, copy->walk.nr, (uint8_t)copy->walk.end,
				  copy->walk.generation);
}

static void mark(struct job *job, uint64_t pc)
{
	const struct proc_map *map;

	if (!job->has_maps)
		job->has_maps = !target_maps(job->target, &job->maps);
	map = job->has_maps ? procparse_maps_find(&job->maps, pc - 1) : NULL;
	if (map && map->exec)
		log_deferred_take_mark(job->log, map->start, map->end,
				       job->target->modules.generation);
}

static void finish_one(struct job *job, const struct deferred_seen *seen, uint32_t i)
{
	struct deferred_copy copy;
	uint32_t stack, whole;

	if (!seen->claim[i] || !log_deferred_take(job->log, seen, i, &copy, &stack))
		return;
	if (is_known(job->target, copy.walk.pc) && may_be_return(job, copy.walk.pc)) {
		whole = walk_on(job, &copy);
	} else if (job->ended) {
		return;
	} else {
		mark(job, copy.walk.pc);
		whole = as_it_was(job, &copy);
	}
	log_deferred_take_finish(job->log, i, stack, whole);
}

static void finish(struct session *session, const struct deferred_seen *seen, bool ended)
{
	struct job job = { .session = session, .target = session->current->target,
			   .log = log_of(session), .maps = { VEC_INIT }, .ended = ended };

	/* An answer is being made: the next look comes soon. */
	if (!seen->nr || pthread_mutex_trylock(&session->forwards))
		return;
	for (uint32_t i = 0; i < job.log->nr_deferred; i++)
		finish_one(&job, seen, i);
	pthread_mutex_unlock(&session->forwards);
	procparse_maps_free(&job.maps);
}

/* The agent does not know the ids of threads in another pid namespace (tracee/tcb.c). */
static bool is_gone(uint32_t lwp, void *ctx)
{
	const struct target *target = ctx;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%u", target->pid, lwp);
	return access(path, F_OK) != 0;
}

void deferred_finish(struct session *session, const struct deferred_seen *seen)
{
	struct log *log = log_of(session);

	if (!log)
		return;
	finish(session, seen, false);
	log_deferred_take_renew(log, is_gone, session->current->target);
}

void deferred_settle(struct session *session)
{
	struct deferred_seen seen;
	struct err *err = deferred_look(session, &seen) ?
		target_refresh(session->current->target, NULL) : NULL;

	if (err)
		trace_line("read the modules: %s", err->msg);
	else
		deferred_finish(session, &seen);
}

void deferred_end(struct session *session)
{
	struct deferred_seen seen;

	(void)deferred_look(session, &seen);
	finish(session, &seen, true);
}

/* --- main thread --- */

void session_deferred_fix(struct session *session)
{
	pthread_mutex_lock(&session->forwards);
}

void session_deferred_release(struct session *session)
{
	pthread_mutex_unlock(&session->forwards);
}
