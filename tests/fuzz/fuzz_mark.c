/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Marking: blocks and memory from the input's bytes. It ends, touches nothing outside, and each block has
 * one kind; who is indirectly lost has a leader who is definitely. The search for who points to a block
 * finds somebody wherever marking did.
 */
#include <stdlib.h>
#include <string.h>

#include "heap/holders.h"
#include "heap/mark.h"
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

static void check_holders(const struct mark_source *source, const struct held *held)
{
	struct holders_spec spec = { .address = held->address, .limit = 3 };
	struct holders holders;
	uint64_t all;

	if (holders_find(source, &spec, &holders))
		abort();
	all = holders.nr_firm + holders.nr_inner;
	if (holders.firm.nr != MIN(holders.nr_firm, 3) || holders.inner.nr != MIN(holders.nr_inner, 3))
		abort();
	if (holders.block != HOLDERS_NO_BLOCK) {
		enum leak_kind kind = mark_kind(held_at(source->list, holders.block));

		if ((kind == LEAK_REACHABLE && !holders.nr_firm) || (kind != LEAK_DEFINITE && !all))
			abort();
	}
	holders_free(&holders);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct held_list list = HELD_INIT;
	struct memory_array array;
	struct mark_result result;
	size_t nr = size ? MIN(data[0] % BLOCKS, size / 8) : 0, len = size & ~7ull;
	struct mark_range root = { BASE, BASE + len / 4 };
	struct mark_source source = { .unasked = UINT64_MAX, .memory = &array.memory, .list = &list,
				      .root = &root, .nr_roots = 1, .code = &root, .nr_code = 1 };
	uint8_t *bytes = malloc(size + 8);

	memcpy(bytes, data, size);
	spread(bytes, len);
	for (size_t i = 0; i < nr; i++) {
		uint16_t at, word;

		memcpy(&at, data + 4 * i, 2);
		memcpy(&word, data + 4 * i + 2, 2);
		if (held_add(&list, &(struct block){
				.address = BASE + at % (len + 8),
				.size = word % 64 ? word % 256 : (uint64_t)word << 40,
				.heap = word & 2 ? LOG_HEAP_USER : 0,
				.preattach = word & 4 }))
			abort();
	}
	memory_array_init(&array, bytes, BASE, len);
	if (held_sort(&list, NULL) || mark_run(&source, &result))
		abort();
	for (size_t i = 0; i < list.nr; i++) {
		uint32_t leader = mark_leader(&result, i);
		bool led = leader != MARK_NO_LEADER;

		if (led != (mark_kind(held_at(&list, i)) == LEAK_INDIRECT) ||
		    (led && mark_kind(held_at(&list, leader)) != LEAK_DEFINITE))
			abort();
		check_holders(&source, held_at(&list, i));
	}
	mark_free(&result);
	held_free(&list);
	free(bytes);
	return 0;
}
