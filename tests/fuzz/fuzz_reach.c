/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Marking: blocks and memory from the input's bytes. It ends, touches nothing outside, and each block has
 * one kind; who is indirectly lost has a leader who is definitely. The search for who points to a block
 * finds somebody wherever marking did.
 */
#include <stdlib.h>
#include <string.h>

#include "heap/referrers.h"
#include "heap/reach.h"
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
	if (referrers.block != REFERRERS_NO_BLOCK) {
		enum leak_kind kind = reach_kind(packed_at(source->list, referrers.block));

		if ((kind == LEAK_REACHABLE && !referrers.nr_firm) ||
		    (kind != LEAK_DEFINITE && !all))
			abort();
	}
	referrers_free(&referrers);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct packed_list list = PACKED_INIT;
	struct memory_array array;
	struct reach_result result;
	size_t nr = size ? MIN(data[0] % BLOCKS, size / 8) : 0, len = size & ~7ull;
	struct reach_range root = { BASE, BASE + len / 4 };
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
	packed_free(&list);
	free(bytes);
	return 0;
}
