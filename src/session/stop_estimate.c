/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Estimates for how long a target would stand still (stop_estimate.h). */

#include "session/stop_estimate.h"

#include <inttypes.h>
#include <string.h>

#include "base/page.h"
#include "heap/heap_walk.h"
#include "inspect/allocator_libcs.h"
#include "log/log.h"
#include "probe/allocators.h"
#include "session/private.h"
#include "tracee/region.h"
#include "tracee/target.h"

#define FORK_NS		80u		/* a page */
#define FORK_MAP_NS	3000u		/* a mapping */
#define CHUNK_NS	150u		/* of a walk, with the comparison with the log */
#define MARK_NS		250u		/* a chunk of a search, beside its walk */
#define READ_NS		1000u		/* a page of a search */
#define LOOK_NS		1500u		/* a page at which a mapped chunk may begin */
#define SAMPLE		1000u		/* chunks */
#define CHUNK_LEAST	32u
#define CHUNK_USUAL	96u		/* if nothing is known */
#define SIZE_FLAGS	7ull

static uint64_t per_chunk(const struct stop_facts *facts)
{
	uint64_t mean = facts->sampled ? facts->sampled_bytes / facts->sampled : CHUNK_USUAL;

	return MAX(mean, CHUNK_LEAST);
}

struct stop_estimate stop_estimate_of(const struct stop_facts *facts)
{
	uint64_t heap = MIN(facts->heap_bytes, facts->own_bytes);
	uint64_t unknown = heap - MIN(heap, facts->block_bytes);
	struct stop_estimate is = {
		.pages = facts->own_bytes / PAGE,
		.chunks = MAX(facts->blocks, facts->counted) + unknown / per_chunk(facts),
	};

	is.fork_ns = is.pages * FORK_NS + facts->maps * FORK_MAP_NS;
	is.walk_ns = is.chunks * CHUNK_NS;
	if (facts->looks_at_pages)
		is.walk_ns += MIN((facts->own_bytes - heap) / PAGE, HEAP_PAGES_MAX) * LOOK_NS;
	is.read_ns = is.pages * READ_NS;
	is.search_ns = is.walk_ns + is.chunks * MARK_NS + is.read_ns;
	return is;
}

/*
 * Add up the first chunks. The process runs, so one may be half changed: the sample ends there. The
 * top chunk is the last one with a header.
 */
static void sample(struct memory *memory, const struct proc_map *heap, struct stop_facts *facts)
{
	uint64_t at = heap->start, size;

	while (facts->sampled < SAMPLE && at + 16 <= heap->end &&
	       !memory_read_u64(memory, at + 8, &size)) {
		size &= ~SIZE_FLAGS;
		if (size < CHUNK_LEAST || size % 16 || size >= heap->end - at)
			break;
		facts->sampled++;
		facts->sampled_bytes += size;
		at += size;
	}
}

/* What cannot be read is not walked either. Of an allocator without a pulse all memory may be. */
static struct err *look_at_arenas(struct session *session, void *arg)
{
	const struct target *target = session->current->target;
	struct stop_facts *facts = arg;
	struct heap_pulse pulse = { 0 };
	struct walkable walkable;

	err_ignore(allocator_libcs_pulse(target, &pulse));
	allocators_to_walk(&target->modules, &walkable);
	for (unsigned i = 0; i < walkable.nr; i++)
		if (!walkable.at[i].allocator->pulse)
			pulse.acquired = UINT64_MAX;
	facts->looks_at_pages = !allocator_libcs_mapped_known(target);
	facts->heap_bytes = pulse.acquired;
	facts->counted = pulse.blocks;
	return NULL;
}

struct err *stop_estimate_get(struct session *session, struct stop_estimate *ret)
{
	struct target *target = session->current->target;
	struct stop_facts facts = { .own_bytes = 0 };
	struct proc_maps maps = { VEC_INIT };
	struct proc_status status;
	struct err *err = procfs_status(session->current->pid, &status);

	if (!err)
		err = procfs_maps(session->current->pid, &maps);
	if (err)
		return err;
	facts.own_bytes = (status.anonymous_kb + status.swap_kb) << 10;
	vec_each(map, &maps.vec) {
		if (!facts.sampled && !strcmp(map->path, "[heap]"))
			sample(target->memory, map, &facts);
	}
	facts.maps = maps.vec.nr;
	procparse_maps_free(&maps);
	err = session_call(session, look_at_arenas, &facts);
	if (err)
		return err;
	if (session->region) {
		struct log_accounts accounts = reader_accounts(&session->region->log);

		facts.blocks = reader_live(&session->region->log);
		facts.block_bytes = accounts.alloc_bytes - accounts.free_bytes;
	}
	*ret = stop_estimate_of(&facts);
	return NULL;
}

struct err *stop_estimate_check(const struct session *session, uint64_t ns, const char *why_not)
{
	uint64_t most = session->config.max_pause_ns;
	struct err *err;

	if (!most || ns <= most)
		return NULL;
	err = err_create(ERR_STATE,
			 "the process would stand still for some %.4g ms, and max-pause is %.4g ms "
			 "(%s)", (double)ns / 1e6, (double)most / 1e6,
			 why_not ? why_not : "for the fork of a snapshot");
	return err_hint(err, "`set max-pause none` has it stand for as long as it takes");
}
