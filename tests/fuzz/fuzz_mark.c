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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BASE	0x10000ull
#define BLOCKS	64u

static int by_key(const void *a, const void *b)
{
	const struct block *one = a, *other = b;

	if ((one->heap == LOG_HEAP_USER) != (other->heap == LOG_HEAP_USER))
		return one->heap == LOG_HEAP_USER ? 1 : -1;
	return one->address < other->address ? -1 : one->address > other->address;
}

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

static void check_holders(const struct mark_source *source, const struct mark_result *mark,
			  const struct block *block)
{
	struct holders_spec spec = { .address = block->address, .limit = 3 };
	struct holders holders;
	uint64_t all;

	if (holders_find(source, &spec, &holders))
		abort();
	all = holders.nr_firm + holders.nr_inner;
	if (holders.firm.nr != MIN(holders.nr_firm, 3) || holders.inner.nr != MIN(holders.nr_inner, 3))
		abort();
	if (holders.block != HOLDERS_NO_BLOCK) {
		enum leak_kind kind = mark->kind[holders.block];

		if ((kind == LEAK_REACHABLE && !holders.nr_firm) || (kind != LEAK_DEFINITE && !all))
			abort();
	}
	holders_free(&holders);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct block block[BLOCKS];
	struct memory_array array;
	struct mark_result result;
	size_t nr = size ? MIN(data[0] % BLOCKS, size / 8) : 0, len = size & ~7ull;
	struct mark_range root = { BASE, BASE + len / 4 };
	struct mark_source source = { .memory = &array.memory, .block = block, .nr_blocks = nr,
				      .root = &root, .nr_roots = 1, .code = &root, .nr_code = 1 };
	uint8_t *bytes = malloc(size + 8);

	memcpy(bytes, data, size);
	spread(bytes, len);
	for (size_t i = 0; i < nr; i++) {
		uint16_t at, word;

		memcpy(&at, data + 4 * i, 2);
		memcpy(&word, data + 4 * i + 2, 2);
		block[i] = (struct block){ .address = BASE + at % (len + 8),
					   .size = word % 64 ? word % 256 : (uint64_t)word << 40,
					   .heap = word & 2 ? LOG_HEAP_USER : 0,
					   .preattach = word & 4 };
	}
	qsort(block, nr, sizeof(*block), by_key);
	memory_array_init(&array, bytes, BASE, len);
	if (mark_run(&source, &result))
		abort();
	for (size_t i = 0; i < nr; i++) {
		bool led = result.leader[i] != MARK_NO_LEADER;

		if (led != (result.kind[i] == LEAK_INDIRECT) ||
		    (led && result.kind[result.leader[i]] != LEAK_DEFINITE))
			abort();
		check_holders(&source, &result, &block[i]);
	}
	mark_free(&result);
	free(bytes);
	return 0;
}
