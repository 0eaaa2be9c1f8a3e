/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Follows pointers whose types are known (type_spread.h). */

#include "heap/type_spread.h"

#include <string.h>

#include "base/cancel.h"
#include "heap/reach/page_reader.h"

#define WORD		8u
#define ROUNDS		16u
#define NOT_KNOWN	0u
#define CONTRADICTED	0x7fffffffu
#define ADDRESS_MAX	(1ull << 47)
#define ADDRESS_LEAST	4096u
#define SLACK		31u	/* bytes of a chunk behind what was asked for, with glibc; at least */
#define SLACK_SHARE	5u	/* and that part of it, with allocators of size classes */
#define CANCEL_EACH	4096u

struct spreading {
	const struct type_spread_source *source;
	struct type_spread *ret;
	struct page_reader reader;
	VEC(uint32_t) queue;
	uint64_t contradictions;
};

static bool is_multiple(uint64_t size, uint64_t of, uint64_t slack)
{
	return size >= of && size % of <= slack;
}

static uint64_t slack_of(uint64_t size, bool preattach)
{
	return preattach ? MAX((uint64_t)SLACK, size / SLACK_SHARE) : 0;
}

bool type_spread_fits(const struct type_layout *layout, uint64_t size, bool preattach)
{
	if (!layout->size || size < layout->size)
		return false;
	return layout->flexible || is_multiple(size, layout->size, slack_of(size, preattach));
}

static const struct type_layout *layout_at(const struct spreading *spreading, uint32_t layout)
{
	return &spreading->source->layouts->vec.at[layout];
}

/* A pointer to a first member looks the same, where the type begins others. */
static bool is_of(const struct type_layout *layout, uint64_t size, bool preattach)
{
	return type_spread_fits(layout, size, preattach) &&
	       (!layout->begins_others ||
		size - layout->size <= slack_of(layout->size, preattach));
}

static bool begins_with(const struct spreading *spreading, uint32_t layout, uint32_t part)
{
	for (unsigned i = 0; layout != LAYOUT_NONE && i < 64; i++) {
		if (layout == part)
			return true;
		layout = layout_at(spreading, layout)->begins_with;
	}
	return false;
}

/* The block that begins at the address; false: none does. */
static bool block_at(const struct packed_list *list, uint64_t address, uint32_t *ret)
{
	for (int inner = 1; inner >= 0; inner--) {
		size_t from = inner ? list->nr_outer : 0, to = inner ? list->nr : list->nr_outer;
		size_t at = LOWER_BOUND(i, from, to, packed_at(list, i)->address < address);

		if (at < to && packed_at(list, at)->address == address) {
			*ret = (uint32_t)at;
			return true;
		}
	}
	return false;
}

static bool may_point(uint64_t word)
{
	return !word || word == UINT64_MAX || (word >= ADDRESS_LEAST && word < ADDRESS_MAX);
}

static struct err *queue_block(struct spreading *spreading, uint32_t block, uint32_t value)
{
	spreading->ret->of.at[block] = value;
	return vec_push(&spreading->queue, block);
}

static void contradict(struct spreading *spreading, uint32_t block)
{
	spreading->ret->of.at[block] = CONTRADICTED;
	spreading->contradictions++;
}

/* A pointer of that type was found. */
static struct err *give(struct spreading *spreading, uint64_t word, uint32_t layout)
{
	const struct type_spread_source *source = spreading->source;
	const struct type_layout *is = layout_at(spreading, layout);
	const struct packed_block *packed;
	uint32_t block, was;
	uint64_t size;

	if (!is->size || !word || !block_at(source->list, word, &block))
		return NULL;
	was = spreading->ret->of.at[block];
	if (was == layout + 1 || was == CONTRADICTED || was & TYPE_SPREAD_STACK)
		return NULL;
	packed = packed_at(source->list, block);
	size = packed_size(source->list, packed);
	if (!is_of(is, size, packed->preattach) ||
	    (source->settled && source->settled(source->ctx, block)))
		return NULL;
	if (was == NOT_KNOWN || begins_with(spreading, layout, was - 1))
		return queue_block(spreading, block, layout + 1);
	if (!begins_with(spreading, was - 1, layout))
		contradict(spreading, block);
	return NULL;
}

/* False: it cannot be read, or has no pointers where the layout has some. */
static struct err *follow_one(struct spreading *spreading, uint64_t address,
			      const struct type_layout *layout, bool *is_ret)
{
	const struct layout_pointer *pointer = layout->nr ?
		&spreading->source->layouts->pointers.at[layout->first] : NULL;
	struct err *err = NULL;

	*is_ret = true;
	for (uint32_t i = 0; !err && i < layout->nr; i++) {
		uint64_t word;

		if (memory_read_u64(&spreading->reader.memory, address + pointer[i].offset, &word) ||
		    !may_point(word)) {
			*is_ret = false;
			return NULL;
		}
		err = give(spreading, word, pointer[i].to);
	}
	return err;
}

static bool has_pointers(struct spreading *spreading, uint64_t address,
			 const struct type_layout *layout)
{
	const struct layout_pointer *pointer = layout->nr ?
		&spreading->source->layouts->pointers.at[layout->first] : NULL;
	uint64_t word;

	for (uint32_t i = 0; i < layout->nr; i++)
		if (memory_read_u64(&spreading->reader.memory, address + pointer[i].offset, &word) ||
		    !may_point(word))
			return false;
	return true;
}

static struct err *follow(struct spreading *spreading, uint32_t block)
{
	const struct packed_list *list = spreading->source->list;
	const struct packed_block *packed = packed_at(list, block);
	uint32_t value = spreading->ret->of.at[block];
	bool by_stack = value & TYPE_SPREAD_STACK, is = true;
	const struct type_layout *layout;
	struct err *err = NULL;
	uint64_t nr;

	if (value == CONTRADICTED || value == NOT_KNOWN)
		return NULL;
	layout = layout_at(spreading, (value & ~TYPE_SPREAD_STACK) - 1);
	nr = layout->flexible ? 1 : packed_size(list, packed) / layout->size;
	if (!by_stack && !has_pointers(spreading, packed->address, layout)) {
		contradict(spreading, block);
		return NULL;
	}
	for (uint64_t i = 0; !err && is && layout->nr && i < nr; i++) {
		err = follow_one(spreading, packed->address + i * layout->size, layout, &is);
		if (!err && i % CANCEL_EACH == CANCEL_EACH - 1)
			err = cancel_check();
	}
	return err;
}

static struct err *begin_blocks(struct spreading *spreading)
{
	const struct type_layouts *layouts = spreading->source->layouts;
	const struct packed_list *list = spreading->source->list;
	struct err *err = NULL;

	for (uint32_t i = 0; !err && i < list->nr; i++) {
		const struct packed_block *packed = packed_at(list, i);
		uint32_t *value = &spreading->ret->of.at[i];
		uint32_t known = packed->stack < layouts->of_stack.nr ?
			layouts->of_stack.at[packed->stack] : 0;

		if (*value == CONTRADICTED)
			continue;
		*value = NOT_KNOWN;
		if (known && is_of(&layouts->vec.at[known - 1], packed_size(list, packed),
				   packed->preattach))
			err = queue_block(spreading, i, known | TYPE_SPREAD_STACK);
	}
	return err;
}

static struct err *begin_roots(struct spreading *spreading)
{
	struct err *err = NULL;
	bool is;

	vec_each_while(root, &spreading->source->layouts->roots, !err)
		err = follow_one(spreading, root->address,
				 layout_at(spreading, root->layout), &is);
	return err;
}

static struct err *run_round(struct spreading *spreading)
{
	struct err *err = begin_blocks(spreading);
	size_t nr = 0;

	if (!err)
		err = begin_roots(spreading);
	while (!err && spreading->queue.nr) {
		err = follow(spreading, spreading->queue.at[--spreading->queue.nr]);
		if (!err && ++nr % CANCEL_EACH == 0)
			err = cancel_check();
	}
	return err;
}

/* What contradictions have led to in the last round is not known: then only stacks count. */
static void end(struct spreading *spreading)
{
	for (size_t i = 0; i < spreading->ret->of.nr; i++) {
		uint32_t *value = &spreading->ret->of.at[i];

		if (*value == CONTRADICTED ||
		    (spreading->contradictions && !(*value & TYPE_SPREAD_STACK)))
			*value = NOT_KNOWN;
	}
}

struct err *type_spread_find(const struct type_spread_source *source, struct type_spread *ret)
{
	struct spreading *spreading = calloc(1, sizeof(*spreading));
	size_t nr = source->list->nr;
	struct err *err;

	if (!spreading)
		return err_nomem;
	spreading->source = source;
	spreading->ret = ret;
	page_reader_init(&spreading->reader, source->memory);
	err = nr && !vec_slot(&ret->of, nr - 1) ? err_nomem : NULL;
	for (unsigned i = 0; !err && i < ROUNDS; i++) {
		spreading->contradictions = 0;
		err = run_round(spreading);
		if (!spreading->contradictions)
			break;
	}
	end(spreading);
	vec_free(&spreading->queue);
	free(spreading);
	return err;
}

void type_spread_free(struct type_spread *spread)
{
	vec_free(&spread->of);
}

void type_spread_free_layouts(struct type_layouts *layouts)
{
	vec_free(&layouts->vec);
	vec_free(&layouts->pointers);
	vec_free(&layouts->roots);
	vec_free(&layouts->of_stack);
}
