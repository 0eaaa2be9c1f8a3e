/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Loss records (leak.h). */

#include "heap/leak.h"

#include "base/cancel.h"
#include "heap/interner.h"

static const struct {
	const char *name, *word;
} kinds[] = {
	[LEAK_DEFINITE] = { "definitely lost", "definite" },
	[LEAK_INDIRECT] = { "indirectly lost", "indirect" },
	[LEAK_POSSIBLE] = { "possibly lost", "possible" },
	[LEAK_REACHABLE] = { "still reachable", "reachable" },
};

const char *leak_kind_name(enum leak_kind kind)
{
	return kinds[kind].name;
}

const char *leak_kind_word(enum leak_kind kind)
{
	return kinds[kind].word;
}

struct build {
	const struct packed_list *list;
	const struct reach_result *mark;
	const struct leak_spec *spec;
	struct interner keys;
	struct leaks leaks;
};

/* There are fewer than 2^16 suppressions, of which none is as large as SUPPRESS_NONE's low bits. */
static uint64_t key_of(const struct block *block, enum leak_kind kind, uint32_t suppression)
{
	return (uint64_t)(suppression & 0xffff) << 48 | (uint64_t)kind << 40 |
	       (uint64_t)block->unrecorded << 33 | (uint64_t)block->preattach << 32 | block->stack;
}

static enum leak_kind kind_of(const struct build *build, uint32_t i)
{
	return reach_kind(packed_at(build->list, i));
}

static uint32_t own_suppression(const struct build *build, uint32_t i)
{
	const struct leak_spec *spec = build->spec;
	struct block block;

	if (!spec->suppression_of || kind_of(build, i) == LEAK_REACHABLE)
		return SUPPRESS_NONE;
	block = packed_block(build->list, i);
	return spec->suppression_of(spec->suppress_ctx, &block);
}

static uint32_t suppression_of(const struct build *build, uint32_t i)
{
	uint32_t suppression = own_suppression(build, i);
	uint32_t leader = reach_leader(build->mark, i);

	return suppression != SUPPRESS_NONE || leader == REACH_NO_LEADER ?
		       suppression : own_suppression(build, leader);
}

static void add_share(struct leak_sum *sum, struct sample_share share)
{
	sum->blocks += share.blocks;
	sum->bytes += share.bytes;
}

static void add_offset(struct leak *leak, const struct reach_offset *at)
{
	leak->form = !leak->nr_offsets || leak->form == at->form ? at->form : FORM_NONE;
	for (uint32_t i = 0; i < leak->nr_offsets; i++)
		if (leak->offset[i] == at->offset)
			return;
	if (leak->nr_offsets < LEAK_OFFSETS)
		leak->offset[leak->nr_offsets++] = at->offset;
}

static void add_likely(const struct build *build, uint32_t i, struct sample_share share,
		       struct leak *leak)
{
	uint32_t likely = packed_at(build->list, i)->likely;

	if (likely == LIKELY_NOT)
		return;
	leak->likely_blocks += share.blocks;
	leak->likely_bytes += share.bytes;
	leak->likely_kinds |= 1u << likely;
	if (likely == LIKELY_OFFSET || likely == LIKELY_FORM)
		add_offset(leak, &build->mark->offsets.at[build->mark->offset[i] - 1]);
}

/* Is it lost through a ring of blocks? */
static bool is_in_ring(const struct build *build, uint32_t i)
{
	uint32_t leader = reach_leader(build->mark, i);
	uint32_t at = leader == REACH_NO_LEADER ? i : leader;

	return kind_of(build, at) == LEAK_DEFINITE && reach_is_ring(build->mark, at);
}

static struct err *add_to_list(struct build *build, uint32_t i, const struct block *block,
			       uint32_t suppression, struct sample_share share)
{
	const struct leak_spec *spec = build->spec;
	const char *type = spec->type_of ? spec->type_of(spec->types, block) : NULL;
	enum leak_kind kind = kind_of(build, i);
	struct leak *leak;
	uint32_t number;
	struct err *err = interner_number(&build->keys, key_of(block, kind, suppression), &number);

	if (!err && number == build->leaks.vec.nr)
		err = vec_push(&build->leaks.vec,
			       ((struct leak){ .kind = kind, .stack = block->stack,
					       .preattach = block->preattach,
					       .unrecorded = block->unrecorded,
					       .suppression = suppression, .first = i, .type = type }));
	if (err)
		return err;
	leak = &build->leaks.vec.at[number];
	leak->types_differ |= leak->type != type;
	leak->blocks += share.blocks;
	leak->bytes += share.bytes;
	add_share(&build->leaks.listed, share);
	add_likely(build, i, share, leak);
	leak->ring_blocks += is_in_ring(build, i) ? share.blocks : 0;
	if (reach_holder(build->mark, i) != REACH_NO_HOLDER) {
		leak->stack_blocks += share.blocks;
		leak->stack_bytes += share.bytes;
	}
	return NULL;
}

static void add_to_sums(struct build *build, uint32_t i, struct sample_share share)
{
	struct leaks *leaks = &build->leaks;
	uint32_t holder = reach_holder(build->mark, i);

	add_share(&leaks->sum[kind_of(build, i)], share);
	if (packed_at(build->list, i)->likely != LIKELY_NOT)
		add_share(&leaks->likely[packed_at(build->list, i)->likely], share);
	if (holder == REACH_NO_HOLDER)
		return;
	add_share(&leaks->on_stack, share);
	add_share(&leaks->by_holder.at[holder], share);
}

static struct err *add(struct build *build, uint32_t i)
{
	const struct leak_spec *spec = build->spec;
	struct block block = packed_block(build->list, i);
	enum leak_kind kind = kind_of(build, i);
	struct sample_share share = block_share(spec->mean, &block);
	uint32_t suppression = suppression_of(build, i);
	uint32_t bit = suppression == SUPPRESS_NONE ? 1u << kind : LEAK_SUPPRESSED;

	if (suppression == SUPPRESS_NONE) {
		add_to_sums(build, i, share);
	} else {
		add_share(&build->leaks.suppressed, share);
		add_share(&build->leaks.by_suppression.at[suppression], share);
	}
	if (!(spec->kinds & bit) || (spec->keep && !spec->keep(spec->ctx, &block)))
		return NULL;
	return add_to_list(build, i, &block, suppression, share);
}

/*
 * Count an indirectly lost block to the definite record that is listed, and through which it is
 * lost.
 */
static void add_indirect(struct build *build, uint32_t i)
{
	uint32_t leader = reach_leader(build->mark, i), number, suppression;
	struct sample_share share;
	struct block block;

	if (leader == REACH_NO_LEADER)
		return;
	suppression = own_suppression(build, leader);
	if (suppression == SUPPRESS_NONE && suppression_of(build, i) != SUPPRESS_NONE)
		return;
	block = packed_block(build->list, leader);
	number = interner_find(&build->keys, key_of(&block, LEAK_DEFINITE, suppression));
	if (number == UINT32_MAX ||
	    (build->spec->keep && !build->spec->keep(build->spec->ctx, &block)))
		return;
	block = packed_block(build->list, i);
	share = block_share(build->spec->mean, &block);
	build->leaks.vec.at[number].indirect_blocks += share.blocks;
	build->leaks.vec.at[number].indirect_bytes += share.bytes;
}

static int by_size(const void *va, const void *vb)
{
	const struct leak *a = va, *b = vb;
	uint64_t one = a->bytes + a->indirect_bytes, other = b->bytes + b->indirect_bytes;
	uint64_t unknown = a->bytes - a->likely_bytes, other_unknown = b->bytes - b->likely_bytes;

	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (a->kind == LEAK_POSSIBLE && unknown != other_unknown)
		return unknown > other_unknown ? -1 : 1;
	if (one != other)
		return one > other ? -1 : 1;
	return a->stack < b->stack ? -1 : a->stack > b->stack;
}

struct leak_verdict leaks_verdict(const struct leaks *leaks)
{
	const struct leak_sum *sum = leaks->sum;
	struct leak_verdict verdict = {
		.lost = sum[LEAK_DEFINITE], .in_use = sum[LEAK_REACHABLE],
		.unknown = sum[LEAK_POSSIBLE],
	};

	verdict.lost.blocks += sum[LEAK_INDIRECT].blocks;
	verdict.lost.bytes += sum[LEAK_INDIRECT].bytes;
	for (unsigned i = LIKELY_NOT + 1; i < LIKELY_KINDS; i++) {
		verdict.in_use.blocks += leaks->likely[i].blocks;
		verdict.in_use.bytes += leaks->likely[i].bytes;
		verdict.unknown.blocks -= leaks->likely[i].blocks;
		verdict.unknown.bytes -= leaks->likely[i].bytes;
	}
	return verdict;
}

struct err *leaks_build(const struct packed_list *list, const struct reach_result *mark,
			const struct leak_spec *spec, struct leaks *ret)
{
	struct build build = { .list = list, .mark = mark, .spec = spec, .keys = INTERNER_INIT,
			       .leaks.kinds = spec->kinds };
	struct err *err = NULL;

	for (size_t i = 0; i < spec->nr_suppressions && !err; i++)
		err = vec_push(&build.leaks.by_suppression, ((struct leak_sum){ 0, 0 }));
	for (size_t i = 0; i < mark->holders.nr && !err; i++)
		err = vec_push(&build.leaks.by_holder, ((struct leak_sum){ 0, 0 }));
	for (uint32_t i = 0; i < list->nr && !err; i++) {
		err = add(&build, i);
		if (!err && i % 65536 == 0)
			err = cancel_check();
	}
	for (uint32_t i = 0; i < list->nr && !err; i++)
		add_indirect(&build, i);
	interner_free(&build.keys);
	if (err) {
		leaks_free(&build.leaks);
		return err;
	}
	vec_sort(&build.leaks.vec, by_size);
	*ret = build.leaks;
	return NULL;
}

static bool is_stale(const struct log *log, enum leak_kind kind, const struct block *block,
		     uint64_t now_ns, uint64_t age)
{
	uint64_t then;

	if (block->preattach || (kind != LEAK_REACHABLE && kind != LEAK_POSSIBLE))
		return false;
	then = log_clock_realtime(log, block->time);
	return now_ns > then && now_ns - then > age;
}

struct err *leaks_stale(struct packed_list *list, const struct log *log, uint64_t now_ns,
			uint64_t age,
			struct blocks *ret)
{
	struct err *err = NULL;

	for (size_t i = 0; i < list->nr && !err; i++) {
		struct block block = packed_block(list, i);

		if (is_stale(log, reach_kind(packed_at(list, i)), &block, now_ns, age))
			err = vec_push(&ret->vec, block);
	}
	ret->live.at = list->live.at;
	ret->live.nr = list->live.nr;
	list->live.at = NULL;
	list->live.nr = list->live.room = 0;
	return err;
}

void leaks_free(struct leaks *leaks)
{
	vec_free(&leaks->vec);
	vec_free(&leaks->by_suppression);
	vec_free(&leaks->by_holder);
}
