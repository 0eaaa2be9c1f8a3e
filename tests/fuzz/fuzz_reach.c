/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Marking: blocks and memory from the input's bytes. It ends, touches nothing outside, and each block has
 * one kind; who is indirectly lost has a leader who is definitely. The search for who points to a block
 * finds somebody wherever marking did. With part of the roots as stacks the kinds are the same.
 */
#include <stdlib.h>
#include <string.h>

#include "heap/reach/referrers.h"
#include "heap/reach/reach.h"
#include "memory_array.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BASE	0x10000ull
#define BLOCKS	64u

/* Words that are near the memory, mostly. */
static void spread(uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i + 8 <= len; i += 8) {
		uint64_t word;

		memcpy(&word, bytes + i, 8);
		if (bytes[i + 7] < 0xf0)
			word = BASE + word % (len + 64);
		memcpy(bytes + i, &word, 8);
	}
}

/*
 * Does a block of the user's lie in it? Then it is reachable without a pointer (reach.h, "Nested
 * blocks").
 */
static bool is_pool(const struct packed_list *list, const struct packed_block *held)
{
	for (size_t i = list->nr_outer; i < list->nr; i++)
		if (packed_at(list, i)->address - held->address < packed_size(list, held))
			return true;
	return false;
}

static void check_referrers(const struct reach_source *source, const struct packed_block *held)
{
	struct referrers_spec spec = { .address = held->address, .limit = 3 };
	struct referrers referrers;
	uint64_t all;

	if (referrers_find(source, &spec, &referrers))
		abort();
	all = referrers.nr_firm + referrers.nr_inner;
	if (referrers.firm.nr != MIN(referrers.nr_firm, 3) || referrers.inner.nr !=
	    MIN(referrers.nr_inner, 3))
		abort();
	if (referrers.block != REFERRERS_NO_BLOCK &&
	    !is_pool(source->list, packed_at(source->list, referrers.block))) {
		enum leak_kind kind = reach_kind(packed_at(source->list, referrers.block));

		if ((kind == LEAK_REACHABLE && !referrers.nr_firm) ||
		    (kind != LEAK_DEFINITE && !all))
			abort();
	}
	referrers_free(&referrers);
}

/*
 * Whether part of the roots are stacks makes no difference to the kinds; what hangs on a holder is not
 * lost, and holders have what hangs on them.
 */
static void check_stacks(const struct reach_source *source, const struct reach_range *data,
			 const struct reach_range *stack)
{
	struct reach_source split = *source;
	uint8_t *kinds = calloc(source->list->nr + 1, 1);
	struct reach_result result;
	uint64_t sum = 0;

	for (size_t i = 0; i < source->list->nr; i++)
		kinds[i] = (uint8_t)reach_kind(packed_at(source->list, i));
	split.root = data;
	split.stack = stack;
	split.nr_stacks = 1;
	if (reach_run(&split, &result))
		abort();
	for (size_t i = 0; i < source->list->nr; i++) {
		const struct packed_block *held = packed_at(source->list, i);
		uint32_t holder = reach_holder(&result, i);

		if (reach_kind(held) != kinds[i] ||
		    (holder != REACH_NO_HOLDER &&
		     (holder >= result.holders.nr || kinds[i] < LEAK_POSSIBLE)) ||
		    (held->likely != LIKELY_NOT && kinds[i] != LEAK_POSSIBLE) ||
		    ((held->likely == LIKELY_OFFSET || held->likely == LIKELY_FORM) &&
		     (!result.offset[i] || result.offset[i] > result.offsets.nr)))
			abort();
		sum += holder != REACH_NO_HOLDER;
	}
	vec_each(holder, &result.holders) {
		if (!holder->blocks || !holder->words)
			abort();
		sum -= holder->blocks;
	}
	if (sum)
		abort();
	reach_free(&result);
	free(kinds);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct packed_list list = PACKED_INIT;
	struct memory_array array;
	struct reach_result result;
	size_t nr = size ? MIN(data[0] % BLOCKS, size / 8) : 0, len = size & ~7ull;
	struct reach_range root = { BASE, BASE + len / 4 };
	struct reach_range front = { BASE, BASE + len / 8 / 8 * 8 }, stack = { front.end, root.end };
	struct reach_source source =
 { .unasked = UINT64_MAX, .memory = &array.memory, .list = &list,
				      .root = &root, .nr_roots = 1, .code = &root, .nr_code = 1 };
	uint8_t *bytes = malloc(size + 8);

	memcpy(bytes, data, size);
	spread(bytes, len);
	for (size_t i = 0; i < nr; i++) {
		uint16_t at, word;

		memcpy(&at, data + 4 * i, 2);
		memcpy(&word, data + 4 * i + 2, 2);
		if (packed_add(&list, &(struct block){
				.address = BASE + at % (len + 8),
				.size = word % 64 ? word % 256 : (uint64_t)word << 40,
				.heap = word & 2 ? LOG_HEAP_USER : 0,
				.preattach = word & 4 }))
			abort();
	}
	memory_array_init(&array, bytes, BASE, len);
	if (packed_sort(&list, NULL) || reach_run(&source, &result))
		abort();
	for (size_t i = 0; i < list.nr; i++) {
		uint32_t leader = reach_leader(&result, i);
		bool led = leader != REACH_NO_LEADER;

		if (led != (reach_kind(packed_at(&list, i)) == LEAK_INDIRECT) ||
		    (led && reach_kind(packed_at(&list, leader)) != LEAK_DEFINITE))
			abort();
		check_referrers(&source, packed_at(&list, i));
	}
	reach_free(&result);
	check_stacks(&source, &front, &stack);
	packed_free(&list);
	free(bytes);
	return 0;
}
