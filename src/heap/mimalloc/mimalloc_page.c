/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads what mimalloc knows of a page, and finds out where that is. */

#include <string.h>

#include "base/compiler.h"
#include "heap/mimalloc/mimalloc.h"

#define CAPACITY	10u		/* offsets that all versions share */
#define RESERVED	12u
#define FLAGS		14u
#define FLAG_ALIGNED	2u
#define HUGE_SIZE	(2ull << 30)	/* in place of a size that has no room in 32 bits */
#define THREAD_BITS	3u		/* of xthread_free */

static const struct mi_fields known_fields[] = {
	/* 2.0, and 2.1 up to 2.1.2: with two keys (for padding) as well */
	{ .free = 16, .used = 24, .used_len = 4, .size = 28, .size_len = 4, .local = 32,
	  .thread = 40, .heap = 48 },
	{ .free = 16, .used = 24, .used_len = 4, .size = 28, .size_len = 4, .local = 32,
	  .thread = 56, .heap = 64 },
	/* later */
	{ .free = 16, .local = 24, .used = 32, .used_len = 2, .size = 40, .size_len = 8,
	  .first = 48, .thread = 56, .heap = 64 },
	{ .free = 16, .local = 24, .used = 32, .used_len = 2, .size = 40, .size_len = 8,
	  .first = 48, .thread = 72, .heap = 80 },
};

static uint64_t field(const struct mi_page *page, unsigned offset, unsigned len)
{
	uint64_t ret = 0;

	memcpy(&ret, (const uint8_t *)page->word + offset, len);
	return ret;
}

static uint64_t offset_of_first(enum mi_rule rule, uint64_t size)
{
	switch (rule) {
	case RULE_384:
		return size <= 1024 ? 384 : 0;
	case RULE_128:
		return size <= 1024 ? 128 : 0;
	case RULE_SIZE:
		return size <= 64 ? 3 * size : size <= 512 ? size : 0;
	default:
		return 0;
	}
}

void mimalloc_page_numbers(const struct mi_layout *layout, const struct mi_page *page,
			   struct mi_numbers *ret)
{
	const struct mi_fields *fields = layout->fields;

	*ret = (struct mi_numbers){
		.size = field(page, fields->size, fields->size_len),
		.capacity = (uint32_t)field(page, CAPACITY, 2),
		.reserved = (uint32_t)field(page, RESERVED, 2),
		.used = field(page, fields->used, fields->used_len),
		.free = field(page, fields->free, 8),
		.local = field(page, fields->local, 8),
		.thread = field(page, fields->thread, 8) & ~(uint64_t)THREAD_BITS,
		.heap = field(page, fields->heap, 8),
		.aligned = field(page, FLAGS, 1) & FLAG_ALIGNED,
	};
	if (fields->size_len == 4 && ret->size == HUGE_SIZE)
		ret->size = page->slices * SLICE;
	ret->first = fields->first ? field(page, fields->first, 8) :
				     page->start + offset_of_first(layout->rule, ret->size);
}

bool mimalloc_page_in_use(const struct mi_layout *layout, const struct mi_page *page)
{
	return field(page, layout->fields->size, layout->fields->size_len);
}

bool mimalloc_page_fits(const struct mi_page *page, const struct mi_numbers *numbers)
{
	uint64_t end = page->start + page->slices * SLICE;

	return numbers->size >= 8 && numbers->size % 8 == 0 && numbers->first >= page->start &&
	       numbers->first < end && numbers->size <= end - numbers->first &&
	       numbers->first % 8 == 0 && numbers->used <= numbers->capacity &&
	       numbers->capacity <= numbers->reserved &&
	       (uint16_t)((end - numbers->first) / numbers->size) == numbers->reserved;
}

bool mimalloc_page_has(const struct mi_numbers *numbers, uint64_t address)
{
	return address >= numbers->first && (address - numbers->first) % numbers->size == 0 &&
	       (address - numbers->first) / numbers->size < numbers->capacity;
}

static bool has_lists(const struct mi_numbers *numbers)
{
	return (!numbers->free || mimalloc_page_has(numbers, numbers->free)) &&
	       (!numbers->local || mimalloc_page_has(numbers, numbers->local)) &&
	       (!numbers->thread || mimalloc_page_has(numbers, numbers->thread)) &&
	       numbers->heap % 8 == 0 && numbers->heap < BARE_ADDRESS_END;
}

/* How many pages are in use, and of how many all fits, or all but the lists. */
struct score {
	size_t in_use, fit, listed;
};

static void try_fields(const struct mimalloc *mimalloc, const struct mi_layout *layout,
		       struct score *ret)
{
	*ret = (struct score){ .in_use = 0 };
	vec_each(page, &mimalloc->pages) {
		struct mi_numbers numbers;
		bool fits;

		if (!mimalloc_page_in_use(layout, page))
			continue;
		mimalloc_page_numbers(layout, page, &numbers);
		fits = mimalloc_page_fits(page, &numbers);
		ret->in_use++;
		ret->fit += fits;
		ret->listed += fits && has_lists(&numbers);
	}
}

static bool nearly_all(size_t nr, size_t of)
{
	return nr && nr * 8 >= of * 7;
}

struct err *mimalloc_page_find_fields(struct mimalloc *mimalloc)
{
	struct score score, best = { .in_use = 0 };
	bool encoded = false;

	for (unsigned i = 0; i < ARRAY_SIZE(known_fields); i++)
		for (enum mi_rule rule = 0; rule < (known_fields[i].first ? 1 : RULES); rule++) {
			struct mi_layout layout = mimalloc->layout;

			if (known_fields[i].heap + 24u > layout.stride)
				continue;
			layout.fields = &known_fields[i];
			layout.rule = rule;
			try_fields(mimalloc, &layout, &score);
			encoded |= nearly_all(score.fit, score.in_use);
			if (!nearly_all(score.listed, score.in_use) || score.listed <= best.listed)
				continue;
			best = score;
			mimalloc->layout = layout;
		}
	if (best.listed)
		return NULL;
	if (encoded)
		return err_create(ERR_UNSUPPORTED, "mimalloc's lists of free blocks are encoded, as "
						   "in its secure and debug builds");
	return err_create(ERR_UNSUPPORTED, "mimalloc's pages are not laid out as those of any version "
					   "that is known (2.0, 2.1)");
}
