/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Forms of blocks. The input is a byte with the number of blocks; 4 bytes for each, its offset and its size,
 * whose lowest bit says whether it is in no record; the rest is memory, in which a word whose highest byte
 * is 0xfe is a pointer to somewhere in it. No byte is read behind those of a block that were given. If the
 * first byte has TOGETHER, all are looked at together, too (by pages, with a cache, which takes long),
 * and have the same forms.
 */
#include <stdlib.h>
#include <string.h>

#include "heap/block_types.h"
#include "heap/redis_form.h"
#include "heap/zero_form.h"
#include "memory_array.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BASE	0x10f00ull	/* a page ends in it */
#define BLOCKS	32u
#define TOGETHER 0xe0u
#define POINTER	0xfeu		/* highest byte of a word */

static void add_blocks(struct packed_list *list, const uint8_t *data, size_t nr, size_t len)
{
	for (size_t i = 0; i < nr; i++) {
		uint16_t at, size;

		memcpy(&at, data + 4 * i, 2);
		memcpy(&size, data + 4 * i + 2, 2);
		if (packed_add(list, &(struct block){ .address = BASE + at % (len + 8), .size = size / 2 + 1,
						      .preattach = size & 1 }))
			abort();
	}
	if (packed_sort(list, NULL))
		abort();
}

static void make_pointers(uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i + 8 <= len; i += 8) {
		uint64_t word;

		memcpy(&word, bytes + i, 8);
		if (bytes[i + 7] == POINTER)
			word = BASE + (word & 0xffff) % (len + 8);
		memcpy(bytes + i, &word, 8);
	}
}

/* From a copy that ends where the block's bytes do. */
static enum block_form form_alone(struct memory_array *array, const struct packed_list *list, size_t i)
{
	const struct packed_block *block = packed_at(list, i);
	size_t want = MIN(packed_size(list, block), BLOCK_FORM_READ);
	uint8_t *bytes = malloc(want);
	enum block_form form = BLOCK_FORM_NONE;

	if (!memory_read(&array->memory, block->address, bytes, want)) {
		form = block_form_of(list, block, bytes, want);
		if (form == BLOCK_FORM_NONE)
			form = redis_form_of(&array->memory, list, block, bytes, want);
		if (form == BLOCK_FORM_NONE)
			form = zero_form_of(&array->memory, list, i);
	}
	free(bytes);
	return form;
}

static void check_together(struct memory_array *array, const struct packed_list *list,
			   const enum block_form *alone)
{
	struct block_types_source source = { .memory = &array->memory, .list = list };
	struct block_types types;

	if (block_types_find(&source, &types) || types.of.nr != list->nr)
		abort();
	for (size_t i = 0; i < list->nr; i++) {
		const struct block_kind *kind = &types.kinds.at[types.of.at[i]];

		if (kind->class || kind->form != alone[i])
			abort();
	}
	block_types_free(&types);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t nr = size ? MIN(data[0] % BLOCKS, (size - 1) / 4) : 0, head = MIN(1 + 4 * nr, size);
	struct packed_list list = PACKED_INIT;
	enum block_form alone[BLOCKS];
	struct memory_array array;
	uint8_t *bytes = malloc(size - head + 1);

	memcpy(bytes, data + head, size - head);
	make_pointers(bytes, size - head);
	memory_array_init(&array, bytes, BASE, size - head);
	add_blocks(&list, data + 1, nr, size - head);
	for (size_t i = 0; i < list.nr; i++)
		alone[i] = form_alone(&array, &list, i);
	if (size && (data[0] & TOGETHER) == TOGETHER)
		check_together(&array, &list, alone);
	packed_free(&list);
	free(bytes);
	return 0;
}
