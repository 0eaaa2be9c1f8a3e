/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Charges the free bytes of pinned pages to the blocks on them (pins.h). */

#include "heap/pins.h"

#include "base/cancel.h"
#include "base/cleanup.h"

#define PINS_MOST	(1u << 24)
#define CANCEL_PAGES	65536u

struct charging {
	const struct pins_source *source;
	struct pins *pins;
	size_t at;			/* in source->held: behind the block that was found last */
	/* The key of a stack is asked for once a stack, not once a block. */
	struct interner stacks;
	VEC(uint64_t) keys;
	VEC(uint64_t) last_page;	/* by number: that was charged */
	uint64_t last_chunk;		/* the same of all */
	struct interner parts;		/* number of a pin << 32 | stack */
	VEC(uint64_t) part_bytes;
	const bool *gone;		/* by number; of pins_without */
	uint64_t pages;
};

static void charging_free(struct charging *charging)
{
	interner_free(&charging->stacks);
	interner_free(&charging->parts);
	vec_free(&charging->keys);
	vec_free(&charging->last_page);
	vec_free(&charging->part_bytes);
}

void pins_free(struct pins *pins)
{
	vec_free(&pins->vec);
	interner_free(&pins->keys);
	free_space_free(&pins->space);
}

/* Blocks are asked for in order of address, but for one now and then that lies on two pages. */
static bool find_recorded(struct charging *charging, uint64_t address, struct block *ret)
{
	const struct packed_list *held = charging->source->held;
	size_t at = charging->at;

	if (at && packed_at(held, at - 1)->address == address)
		at--;
	for (unsigned i = 0; i < 8 && at < held->nr_outer && packed_at(held, at)->address < address; i++)
		at++;
	if (at < held->nr_outer && packed_at(held, at)->address < address)
		at = packed_behind(held, address - 1);
	charging->at = at;
	if (at >= held->nr_outer || packed_at(held, at)->address != address)
		return false;
	charging->at++;
	*ret = packed_block(held, at);
	return true;
}

/* A block that has no record any more was freed since the walk, or is being moved by realloc. */
static struct block block_of(struct charging *charging, const struct heap_chunk *chunk)
{
	const struct walk_merge *moment = &charging->source->moment;
	struct block block;

	if (!find_recorded(charging, chunk->address, &block)) {
		block = block_of_chunk(chunk, moment->process, moment->complete);
		if (chunk->note != NOTE_EARLY && moment->log)
			reconcile_past(moment, chunk, &block);
	}
	block.heap = chunk->heap;
	return block;
}

static struct err *named_key(struct charging *charging, uint32_t stack, uint64_t *ret)
{
	const struct pins_source *source = charging->source;
	uint32_t number;
	struct err *err = interner_number(&charging->stacks, stack, &number);

	if (!err && number == charging->keys.nr)
		err = vec_push(&charging->keys,
			       source->key_of(source->ctx, stack, (enum site_by)source->by));
	if (!err)
		*ret = charging->keys.at[number];
	return err;
}

static struct err *key_of(struct charging *charging, const struct block *block, uint64_t *ret)
{
	*ret = block->stack;
	switch (charging->source->by) {
	case PIN_HEAP:
		*ret = block->heap;
		return NULL;
	case PIN_TYPE:
		*ret = charging->source->type_of(charging->source->types, block);
		return NULL;
	case PIN_SIZE:
		*ret = block->size;
		return NULL;
	case PIN_THREAD:
		*ret = block->thread;
		break;
	case PIN_STACK:
		break;
	default:
		if (!block->preattach)
			return named_key(charging, block->stack, ret);
	}
	if (block->preattach)
		*ret = block->size;
	return NULL;
}

/* Blocks without a record are apart, if they do not have what the others are added up by. */
static bool parts_early(const struct charging *charging)
{
	return charging->source->by != PIN_HEAP && charging->source->by != PIN_TYPE;
}

/* The key in pins->keys. */
static uint64_t interned(const struct charging *charging, uint64_t key, const struct block *block)
{
	bool apart = block->preattach && parts_early(charging);

	return key << 1 | apart;
}

static bool is_kept(const struct charging *charging, const struct block *block)
{
	const struct pins_source *source = charging->source;

	return !source->filter || filter_matches(source->filter, source->env, block);
}

static struct err *add_pin(struct charging *charging, uint32_t number, uint64_t key,
			   const struct block *block)
{
	const bool apart = parts_early(charging);
	struct err *err = number < PINS_MOST ? NULL :
		err_hint(err_create(ERR_RANGE, "more than %u sites keep free memory", PINS_MOST),
			 "use a filter, or add up `by` something else, to get fewer");

	if (!err)
		err = vec_push(&charging->last_page, UINT64_MAX);
	if (err)
		return err;
	return vec_push(&charging->pins->vec, ((struct pin){
		.key = key, .number = number, .stack = LOG_STACK_NONE,
		.preattach = block->preattach && apart,
		.unrecorded = block->unrecorded && apart,
	}));
}

static struct err *pin_of(struct charging *charging, const struct block *block, uint32_t *ret)
{
	uint64_t key;
	struct err *err = key_of(charging, block, &key);

	if (!err)
		err = interner_number(&charging->pins->keys, interned(charging, key, block), ret);
	if (!err && *ret == charging->pins->vec.nr)
		err = add_pin(charging, *ret, key, block);
	return err;
}

static struct err *add_part(struct charging *charging, uint32_t number, uint32_t stack,
			    uint64_t bytes)
{
	uint32_t part;
	struct err *err = interner_number(&charging->parts, (uint64_t)number << 32 | stack, &part);

	if (!err && part == charging->part_bytes.nr)
		err = vec_push(&charging->part_bytes, 0);
	if (!err)
		charging->part_bytes.at[part] += bytes;
	return err;
}

/* again: it has been charged for the page before. */
static struct err *charge_block(struct charging *charging, const struct block *block,
				const struct pinned_page *page, bool again, uint64_t bytes)
{
	struct pins *pins = charging->pins;
	struct pin *pin;
	uint32_t number;
	struct err *err;

	if (!is_kept(charging, block)) {
		pins->others += bytes;
		return NULL;
	}
	err = pin_of(charging, block, &number);
	if (!err)
		err = add_part(charging, number, block->stack, bytes);
	if (err)
		return err;
	pin = &pins->vec.at[number];
	pin->bytes += bytes;
	pins->bytes += bytes;
	pin->pages += charging->last_page.at[number] != page->address ? page->pages : 0;
	charging->last_page.at[number] = page->address;
	pin->count += !again;
	pin->held += again ? 0 : block->size;
	return NULL;
}

/* The objects of pools in a chunk's block: source->held from *first_ret on. Returns how many. */
static size_t objects_in(const struct charging *charging, const struct heap_chunk *chunk,
			 size_t *first_ret)
{
	const struct packed_list *held = charging->source->held;
	size_t first, behind;

	if (held->nr_outer == held->nr)
		return 0;
	first = LOWER_BOUND(i, held->nr_outer, held->nr,
			    packed_at(held, i)->address < chunk->address);
	behind = LOWER_BOUND(i, first, held->nr,
			     packed_at(held, i)->address < chunk->address + chunk->size);
	*first_ret = first;
	return behind - first;
}

static struct block object(const struct charging *charging, size_t i,
			   const struct heap_chunk *chunk)
{
	struct block block = packed_block(charging->source->held, i);

	block.heap = chunk->heap;
	return block;
}

/* A block that lies on two pages is the last one of the first, and the first of the other. */
static struct err *charge(struct charging *charging, const struct heap_chunk *chunk,
			  const struct pinned_page *page, uint64_t bytes)
{
	bool again = charging->last_chunk == chunk->address;
	size_t first = 0, nr = objects_in(charging, chunk, &first);
	struct block block;
	struct err *err = NULL;

	charging->last_chunk = chunk->address;
	if (!nr) {
		block = block_of(charging, chunk);
		return charge_block(charging, &block, page, again, bytes);
	}
	for (size_t i = 0; i < nr && !err; i++) {
		block = object(charging, first + i, chunk);
		err = charge_block(charging, &block, page, again, bytes / nr + (i < bytes % nr));
	}
	return err;
}

static struct err *charge_page(void *ctx, const struct pinned_page *page)
{
	struct charging *charging = ctx;
	uint64_t each = page->bytes / page->nr_live, rest = page->bytes % page->nr_live;
	struct err *err = charging->pages++ % CANCEL_PAGES ? NULL : cancel_check();

	for (size_t i = 0; !err && i < page->nr_live; i++)
		err = charge(charging, &page->live[i], page, each + (i < rest));
	return err;
}

static void choose_stacks(struct charging *charging)
{
	struct interner *parts = &charging->parts;
	struct pin *pins = charging->pins->vec.at;
	uint64_t *most = charging->last_page.at;	/* of no more use */

	memset(most, 0, charging->last_page.nr * sizeof(*most));
	for (uint32_t i = 0; i < parts->room; i++) {
		uint32_t number = (uint32_t)(parts->key[i] >> 32);
		uint64_t bytes;

		if (!parts->number[i])
			continue;
		bytes = charging->part_bytes.at[parts->number[i] - 1];
		if (bytes < most[number] || (bytes == most[number] &&
					     pins[number].stack < (uint32_t)parts->key[i]))
			continue;
		most[number] = bytes;
		pins[number].stack = (uint32_t)parts->key[i];
	}
}

COMPARE_BY(by_bytes, struct pin, x, COMPARE_KEYS(~x->bytes, x->number))

static struct free_space_source space_source(struct charging *charging)
{
	return (struct free_space_source){
		.walk = charging->source->walk,
		.pages = charging->source->pages,
		.brk = charging->source->brk,
		.ctx = charging,
	};
}

struct err *pins_build(const struct pins_source *source, struct pins *ret)
{
	struct charging charging CLEANUP(charging_free) = { .source = source, .pins = ret };
	struct free_space_source space = space_source(&charging);
	struct err *err;

	space.pinned = charge_page;
	err = free_space_add_up(&space, &ret->space);
	if (err)
		return err;
	if (ret->vec.nr)
		choose_stacks(&charging);
	vec_sort(&ret->vec, by_bytes);
	return NULL;
}

static bool is_block_gone(struct charging *charging, const struct block *block)
{
	uint32_t number;
	uint64_t key;

	if (!is_kept(charging, block) || key_of(charging, block, &key))
		return false;
	number = interner_find(&charging->pins->keys, interned(charging, key, block));
	return number != UINT32_MAX && charging->gone[number];
}

/* A pool gives back a block when no object is left in it. */
static bool is_gone(void *ctx, const struct heap_chunk *chunk)
{
	struct charging *charging = ctx;
	size_t first = 0, nr = objects_in(charging, chunk, &first);
	struct block block;
	bool gone = true;

	if (!nr) {
		block = block_of(charging, chunk);
		return is_block_gone(charging, &block);
	}
	for (size_t i = 0; i < nr && gone; i++) {
		block = object(charging, first + i, chunk);
		gone = is_block_gone(charging, &block);
	}
	return gone;
}

struct err *pins_without(const struct pins_source *source, const struct pins *pins, size_t nr,
			 struct free_space *ret)
{
	AUTO_FREE bool *gone = calloc(pins->keys.nr + 1, sizeof(*gone));
	struct charging charging CLEANUP(charging_free) = {
		.source = source, .pins = (struct pins *)pins, .gone = gone,
	};
	struct free_space_source space = space_source(&charging);

	if (!gone)
		return err_nomem;
	for (size_t i = 0; i < MIN(nr, pins->vec.nr); i++)
		gone[pins->vec.at[i].number] = true;
	space.gone = is_gone;
	return free_space_add_up(&space, ret);
}
