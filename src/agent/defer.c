/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Keeps stacks that cannot be walked to the end yet. Freestanding; see defer.h. */

#include "agent/defer.h"

#include "agent/unwind_cache_find.h"
#include "base/compiler.h"
#include "log/log_deferred.h"

#define NEAR	(64ull << 20)	/* libraries loaded together lie side by side */

/* The stack from the frame at which mdbg's walk will go on. */
struct part {
	uint64_t low, len, high;	/* len: bytes that are kept */
};

static inline uint64_t mix(uint64_t hash, uint64_t word)
{
	unsigned __int128 product = (unsigned __int128)(hash ^ word ^ CACHE_MIX_1) * CACHE_MIX_2;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Could this value be a frame pointer that was saved at address `at` or below? */
static inline bool leads_up(const struct part *part, uint64_t word, uint64_t at)
{
	return word >= at && word < part->high && word % 16 == 0;
}

static inline bool matters(const struct defer *defer, const struct part *part, uint64_t word,
			   uint64_t at)
{
	return word - defer->outside->pc + NEAR < 2 * NEAR || leads_up(part, word, at) ||
	       walk_map_find(defer->walk->map, word - 1);
}

static uint64_t hash_of(const struct defer *defer, const struct part *part, uint32_t at)
{
	const struct walk_outside *outside = defer->outside;
	uint64_t hash = mix(part->high, part->low);

	hash = mix(hash, (uint64_t)defer->walk->map->generation << 32 | defer->walk->depth);
	hash = mix(hash, leads_up(part, outside->fp, part->low) ? outside->fp : 0);
	hash = mix(hash, leads_up(part, outside->bx, part->low) ? outside->bx : 0);
	for (uint32_t i = 0; i <= at; i++)
		hash = mix(hash, defer->pcs[i]);
	for (uint64_t offset = 0; offset + 8 <= part->len; offset += 8) {
		uint64_t word = stack_word(part->low + offset);

		if (matters(defer, part, word, part->low + offset))
			hash = mix(mix(hash, word), offset);
	}
	return hash;
}

/* The index of this frame among the PCs; defer->nr if the walk has dropped the frame again. */
static uint32_t place_of(const struct defer *defer)
{
	uint32_t at = 0;

	while (at < defer->nr && defer->pcs[at] != defer->outside->pc)
		at++;
	return at;
}

static uint32_t keep(const struct defer *defer, uint32_t at)
{
	const struct walk_outside *outside = defer->outside;
	const struct cache_walk *walk = defer->walk;
	struct part part = { outside->sp, 0, walk->high };
	struct deferred_walk deferred;

	part.len = MIN(walk->high - outside->sp, (uint64_t)DEFERRED_STACK);
	deferred.pc = outside->pc;
	deferred.sp = outside->sp;
	deferred.fp = outside->fp;
	deferred.bx = outside->bx;
	deferred.nr = defer->nr;
	deferred.at = at;
	deferred.generation = walk->map->generation;
	deferred.thread = walk->thread;
	deferred.len = (uint32_t)part.len;
	deferred.end = defer->end;
	return log_deferred_add(walk->log, &deferred, hash_of(defer, &part, at), defer->pcs,
				(const void *)(uintptr_t)part.low);
}

uint32_t defer_stack(const struct defer *defer, bool *whole)
{
	const struct walk_outside *outside = defer->outside;
	const struct cache_walk *walk = defer->walk;
	uint32_t at = place_of(defer), id = LOG_STACK_NONE;

	if (outside->exact || at == defer->nr || at + 2 > defer->room || outside->sp < walk->sp ||
	    outside->sp >= walk->high ||
	    log_deferred_is_marked(walk->log, outside->pc, walk->map->generation))
		return LOG_STACK_NONE;
	if (log_deferred_may(walk->log)) {
		*whole = false;
		id = keep(defer, at);
	}
	if (id == LOG_STACK_NONE && defer->end == WALK_NO_MODULE)
		registry_count(walk->log, walk->thread, LOG_ACCOUNT(undeferred), 1);
	return id;
}
