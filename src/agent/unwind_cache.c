/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The verified unwind cache. Freestanding; see unwind_cache.h for how it works. */

#include "agent/defer.h"
#include "agent/unwind_cache_find.h"

#define BX		3		/* the DWARF number of RBX */
/* Entries that were dropped before they were used again, minus those that were used again. */
#define PRESSURE_HIGH	32
#define PRESSURE_MAX	64
#define PRESSURE_PASS	8		/* under pressure, one walk in so many is remembered */

_Static_assert((sizeof(struct unwind_cache) - offsetof(struct unwind_cache,
						       none)) / CACHE_UNIT < UINT16_MAX,
	       "units");
_Static_assert(sizeof(struct cache_branch) % CACHE_UNIT == 0, "branch");
_Static_assert(sizeof(struct cache_entry) % CACHE_UNIT == 0, "entry");

static inline uint32_t unit_of(const struct unwind_cache *cache, const struct cache_item *item)
{
	return (uint32_t)(item - &cache->none);
}

/* Take an item out of the index, if it is still there. */
static void item_withdraw(struct unwind_cache *cache, struct cache_item *item)
{
	if ((cache->index[item->place] & UINT16_MAX) == unit_of(cache, item))
		cache->index[item->place] = 0;
}

/* Put an item that is complete into the index. Another item may be dropped from its place. */
static void item_publish(struct unwind_cache *cache, struct cache_item *item, enum cache_kind kind,
			 uint64_t key)
{
	uint32_t *bucket = bucket_of(cache, key), tag = tag_of(key);
	unsigned way = (unsigned)(cache->misses % CACHE_WAYS);

	for (unsigned i = 0; i < CACHE_WAYS; i++)
		way = bucket[i] ? way : i;
	for (unsigned i = 0; i < CACHE_WAYS; i++)
		way = bucket[i] && (bucket[i] ^ tag) <= UINT16_MAX ? i : way;
	item->kind = (uint8_t)kind;
	item->place = (uint16_t)(&bucket[way] - cache->index);
	bucket[way] = tag | unit_of(cache, item);
}

/* Mark [from, to) as empty, so that readers can go through the ring at any moment. */
static void gap_put(struct unwind_cache *cache, uint32_t from, uint32_t to)
{
	struct cache_item *gap = (struct cache_item *)(cache->room + from);

	if (from == to)
		return;
	gap->kind = CACHE_GAP;
	gap->units = (uint16_t)((to - from) / CACHE_UNIT);
}

/* Drop the item at cache->limit. */
static void ring_evict(struct unwind_cache *cache, struct log *log)
{
	struct cache_entry *entry = (struct cache_entry *)(cache->room + cache->limit);

	if (entry->item.kind == CACHE_NONE) {
		cache->limit = CACHE_ROOM;
		return;
	}
	if (entry->item.kind == CACHE_ENTRY) {
		item_withdraw(cache, &entry->item);
		/* Out of the ring before they are in the table: no reader meets them twice. */
		__atomic_store_n(&entry->item.kind, CACHE_GAP, __ATOMIC_RELEASE);
		stack_table_count(log, entry->stack, entry->blocks, entry->bytes);
		if (entry->blocks > 1)
			cache->pressure -= MIN(cache->pressure, 4u);
		else
			cache->pressure = MIN(cache->pressure + 1, (uint32_t)PRESSURE_MAX);
	}
	cache->limit += entry->item.units * CACHE_UNIT;
}

/* A new entry. Readers still see it as a gap, and it is in no place of the index. */
static struct cache_entry *ring_take(struct unwind_cache *cache, struct log *log, uint32_t bytes)
{
	uint32_t at = cache->next;

	if (at + bytes > CACHE_ROOM) {
		while (cache->limit < CACHE_ROOM)
			ring_evict(cache, log);
		cache->next = cache->limit = at = 0;
	}
	while (cache->limit < at + bytes)
		ring_evict(cache, log);
	gap_put(cache, at + bytes, cache->limit);
	gap_put(cache, at, at + bytes);
	cache->next = at + bytes;
	return (struct cache_entry *)(cache->room + at);
}

/* Find a branch that was not used since the last search for one. */
static struct cache_branch *branch_take(struct unwind_cache *cache)
{
	struct cache_branch *branch;

	do {
		branch = &cache->branch[cache->next_branch++ % CACHE_BRANCHES];
		branch->used >>= 1;
	} while (branch->used);
	if (branch->item.kind == CACHE_FORK)
		item_withdraw(cache, &branch->item);
	branch->item.units = sizeof(*branch) / CACHE_UNIT;
	branch->nr = branch->narrowed = 0;
	branch->bp = 0;
	return branch;
}

static void branch_fill(struct cache_branch *branch)
{
	branch->reach = 0;
	for (unsigned i = 0; i < CACHE_WORDS; i++) {
		if (i >= branch->nr)
			branch->offset[i] = branch->nr ? branch->offset[0] : 0;
		branch->reach = MAX(branch->reach, branch->offset[i] + (uint32_t)sizeof(uint64_t));
	}
}

static inline uint32_t slot_offset(const struct walk_trace *trace, uint32_t i, uint64_t sp)
{
	return (uint32_t)(trace->address[i] - sp);
}

/*
 * Add words in which the entry and the trace, which have the same start, differ. False: there are
 * none.
 */
static bool branch_widen(struct cache_branch *branch, const struct cache_entry *entry,
			 const struct walk_trace *trace, uint64_t bp)
{
	const uint32_t *offset = entry_offsets(entry);
	bool by_bp = !branch->bp && (entry->regs_used & CACHE_USED_BP) && trace->fp_used &&
		     entry->bp != bp;
	unsigned nr = branch->nr;

	for (uint32_t i = 0; i < MIN(trace->nr, entry->nr) && branch->nr < CACHE_WORDS; i++) {
		if (slot_offset(trace, i, entry->sp) != offset[i])
			break;
		if (trace->value[i] != entry->value[i])
			branch->offset[branch->nr++] = offset[i];
	}
	if (by_bp)
		branch->bp = UINT64_MAX;
	branch_fill(branch);
	return by_bp || branch->nr > nr;
}

/* Keep only the words that are slots of the trace. False: none is left. */
static bool branch_narrow(struct cache_branch *branch, const struct walk_trace *trace, uint64_t sp)
{
	bool by_bp = branch->bp && trace->fp_used;
	unsigned nr = 0;

	for (unsigned i = 0; i < branch->nr; i++) {
		uint32_t j = 0;

		while (j < trace->nr && slot_offset(trace, j, sp) != branch->offset[i])
			j++;
		if (j < trace->nr)
			branch->offset[nr++] = branch->offset[i];
	}
	if (nr == branch->nr && by_bp == !!branch->bp)
		return true;
	branch->nr = (uint8_t)nr;
	branch->bp = by_bp ? UINT64_MAX : 0;
	branch->narrowed = 1;
	branch_fill(branch);
	return nr || by_bp;
}

/*
 * The entry at key, behind parent (or NULL), is of another stack than the trace. Make or extend a
 * branch that tells the two apart, and return it. NULL: they must share the place. When a branch
 * gets more words, the entries behind it are no longer found; their stacks get new entries when
 * they come again.
 */
static struct cache_branch *branch_for(struct unwind_cache *cache, struct cache_branch *parent,
				       uint64_t key,
				       const struct cache_entry *entry,
				       const struct cache_walk *walk)
{
	struct cache_branch *branch;

	if (!entry_starts(entry, walk))
		return NULL;
	if (parent && !parent->narrowed && parent->nr < CACHE_WORDS &&
	    branch_widen(parent, entry, &cache->trace, walk->bp))
		return parent;
	branch = branch_take(cache);
	branch->key = key;
	if (!branch_widen(branch, entry, &cache->trace, walk->bp)) {
		branch->item.kind = CACHE_NONE;
		return NULL;
	}
	item_publish(cache, &branch->item, CACHE_FORK, key);
	return branch;
}

/* The key under which the stack of the trace will be stored. */
static uint64_t trace_key(struct unwind_cache *cache, const struct cache_walk *walk)
{
	struct cache_branch *branch = NULL;
	uint64_t key = walk_key(walk);

	for (unsigned level = 0; level < CACHE_LEVELS - 1; level++) {
		struct cache_item *item = item_find(cache, key);

		if (item->kind == CACHE_ENTRY)
			branch = branch_for(cache, branch, key, (struct cache_entry *)item, walk);
		else
			branch = branch_at(item, key);
		if (!branch || !branch_reads(branch, walk) ||
		    !branch_narrow(branch, &cache->trace, walk->sp))
			break;
		key = branch_key(branch, walk);
	}
	return key;
}

static NOINLINE void remember(struct unwind_cache *cache, const struct cache_walk *walk,
			      uint32_t stack)
{
	const struct walk_trace *trace = &cache->trace;
	uint32_t nr = ALIGN_UP(trace->nr, 4u), *offset;
	uint32_t size = (uint32_t)(sizeof(struct cache_entry) + nr * (8 + sizeof(*offset)));
	uint64_t key = trace_key(cache, walk);
	struct cache_entry *entry = ring_take(cache, walk->log, size);

	entry->regs_used =
		(trace->fp_used ? CACHE_USED_BP : 0) | (trace->bx_used ? CACHE_USED_BX : 0);
	entry->stack = stack;
	entry->nr = (uint16_t)nr;
	entry->pc = walk->pc;
	entry->sp = walk->sp;
	entry->high = walk->high;
	entry->function = walk->function;
	entry->setting = walk->setting;
	entry->bp = walk->bp;
	entry->bx = walk->bx;
	entry->blocks = entry->bytes = 0;
	offset = entry_offsets(entry);
	for (uint32_t i = 0; i < nr; i++) {
		entry->value[i] = trace->value[i < trace->nr ? i : 0];
		offset[i] = slot_offset(trace, i < trace->nr ? i : 0, walk->sp);
	}
	item_publish(cache, &entry->item, CACHE_ENTRY, key);
	cache->last = unit_of(cache, &entry->item);
}

/*
 * cache->outside says where the walk came to code that is in no module. LOG_STACK_NONE: the stack
 * is not deferred.
 */
static NOINLINE uint32_t defer(struct unwind_cache *cache, const struct cache_walk *walk,
			       uint32_t nr, enum walk_end end)
{
	struct defer defer = { walk, &cache->outside, cache->pcs, nr, LOG_DEPTH_MAX, end };

	return defer_stack(&defer, &cache->trace.whole);
}

/*
 * Walk the stack and return its id. pcs gets its PCs, at most depth of them. cache and trace may be
 * NULL. Without a cache no stack is deferred: that would need too much of the target's stack.
 */
static uint32_t find_stack(const struct cache_walk *from, struct cache_scratch *scratch,
			   struct unwind_cache *cache, uint64_t *pcs, uint32_t depth,
			   struct walk_trace *trace)
{
	uint64_t *reg = cache ? cache->reg : scratch->few;
	const struct walk_start start = {
		.map = &scratch->map,
		.regs = &scratch->regs,
		.stack = &scratch->stack,
		.area = from->area,
		.in_caller = true,
	};
	uint32_t nr = 1, id = LOG_STACK_NONE;
	enum walk_end end = WALK_DEPTH;

	scratch->map = *from->map;
	scratch->map.cache = cache ? &cache->rows : NULL;
	reg[BX] = from->bx;
	scratch->regs = (struct walk_regs){ from->pc, from->sp, from->bp, reg,
					    cache ? CACHE_REGS : BX + 1 };
	scratch->stack = (struct walk_stack){
		.copy = (const void *)(uintptr_t)from->sp,
		.low = from->sp,
		.high = from->high,
		.more = cache ? cache->more : NULL,
		.ctx = cache ? &cache->others : NULL,
		.outside = cache ? &cache->outside : NULL,
	};
	pcs[0] = from->function;
	if (depth > 1)
		nr += walk(&start, pcs + 1, depth - 1, &end, trace);
	if (UNLIKELY(end == WALK_MEMORY) && scratch->stack.more && !cache->others.refused)
		end = WALK_STACK;
	if (cache && UNLIKELY(cache->outside.pc))
		id = defer(cache, from, nr, end);
	if (id == LOG_STACK_NONE)
		id = stack_table_insert(from->log, pcs, nr, (uint8_t)end, from->map->generation);
	if (id == LOG_STACK_NONE)
		registry_count(from->log, from->thread, LOG_ACCOUNT(unstacked), 1);
	return id;
}

static NOINLINE uint32_t shallow(const struct cache_walk *walk)
{
	struct cache_scratch scratch;
	uint64_t pcs[CACHE_SHALLOW];

	return find_stack(walk, &scratch, NULL, pcs, MIN(walk->depth, (uint32_t)CACHE_SHALLOW),
			  NULL);
}

/* Can the stack be identified by its slots, and do their offsets fit in 32 bits? */
static bool trace_good(const struct walk_trace *trace, uint64_t sp)
{
	uint64_t all = 0;

	for (uint32_t i = 0; i < trace->nr; i++)
		all |= trace->address[i] - sp;
	return trace->whole && all < UINT32_MAX - 8;
}

/* Whoever has died in here has left the turn odd. The thread is its only writer. */
static void remember_in_turn(struct unwind_cache *cache, const struct cache_walk *walk,
			     uint32_t stack)
{
	uint64_t turn = cache->turn | 1;

	__atomic_store_n(&cache->turn, turn, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	remember(cache, walk, stack);
	__atomic_store_n(&cache->turn, turn + 1, __ATOMIC_RELEASE);
}

static NOINLINE uint32_t miss(struct unwind_cache *cache, const struct cache_walk *walk)
{
	/*
	 * If entries are dropped before they are used again, it is not worth while to remember most
	 * walks; and the few that are remembered stay longer.
	 */
	bool worth = cache->pressure < PRESSURE_HIGH || !(cache->passed++ % PRESSURE_PASS);
	struct walk_trace *trace = worth ? &cache->trace : NULL;
	uint32_t depth = MIN(walk->depth, (uint32_t)LOG_DEPTH_MAX), id;

	/* The trace of a walk that has no frame. */
	cache->trace.whole = true;
	cache->trace.fp_used = cache->trace.bx_used = false;
	cache->trace.nr = 0;
	cache->outside.pc = 0;
	id = find_stack(walk, &cache->scratch, cache, cache->pcs, depth, trace);
	if (trace && id != LOG_STACK_NONE && trace_good(trace, walk->sp)) {
		cache->misses++;
		remember_in_turn(cache, walk, id);
	} else {
		cache->uncached++;
		cache->last = 0;
	}
	return id;
}

static uint32_t find(struct unwind_cache *cache, const struct cache_walk *walk)
{
	struct cache_entry *entry = unwind_cache_find(cache, walk);

	if (UNLIKELY(!entry))
		return miss(cache, walk);
	cache->last = unit_of(cache, &entry->item);
	return entry->stack;
}

/* Only the function matters, wherever it was called from. */
static NOINLINE uint32_t find_function(struct unwind_cache *cache, const struct cache_walk *walk)
{
	struct cache_walk flat = {
		.map = walk->map,
		.log = walk->log,
		.function = walk->function,
		.depth = 1,
		.thread = walk->thread,
	};

	return find(cache, &flat);
}

uint32_t unwind_cache_stack(struct unwind_cache *cache, const struct cache_walk *walk)
{
	if (UNLIKELY(!cache))
		return shallow(walk);
	if (UNLIKELY(walk->depth <= 1))
		return find_function(cache, walk);
	return find(cache, walk);
}
