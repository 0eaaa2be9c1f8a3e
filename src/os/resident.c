/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which pages are in memory (resident.h). */

#include "os/resident.h"

#include "base/cleanup.h"
#include "base/page.h"
#include "os/pagemap.h"

#define PAGE_SHIFT	12
#define WORD_BITS	64u

void resident_free(struct resident *resident)
{
	vec_free(&resident->parts);
	vec_free(&resident->bits);
}

static struct err *make_room(struct resident *is, size_t nr)
{
	size_t words = (nr + WORD_BITS - 1) / WORD_BITS;
	struct err *err = vec_reserve(&is->bits, words);

	if (err)
		return err;
	memset(is->bits.at + is->bits.nr, 0, words * sizeof(*is->bits.at));
	is->bits.nr += words;
	return NULL;
}

struct err *resident_add(struct resident *ret, uint64_t start, const uint64_t *entry, size_t nr)
{
	struct resident_part part = { .page = start >> PAGE_SHIFT, .nr = nr,
				      .bit = ret->bits.nr * WORD_BITS };
	struct err *err = make_room(ret, nr);

	if (!err)
		err = vec_push(&ret->parts, part);
	if (err)
		return err;
	for (size_t i = 0; i < nr; i++)
		if (entry[i] & PAGEMAP_PRESENT)
			ret->bits.at[(part.bit + i) / WORD_BITS] |= 1ull << (part.bit + i) % WORD_BITS;
	return NULL;
}

/* The first page that was not added yet. */
static uint64_t behind_last(const struct resident *is)
{
	const struct resident_part *last;

	if (!is->parts.nr)
		return 0;
	last = &is->parts.at[is->parts.nr - 1];
	return last->page + last->nr;
}

struct err *resident_read(int fd, uint64_t start, uint64_t end, struct resident *ret)
{
	AUTO_FREE uint64_t *entry = malloc(PAGEMAP_ENTRIES * sizeof(*entry));
	uint64_t page = MAX(start >> PAGE_SHIFT, behind_last(ret));
	uint64_t to = ALIGN_UP(end, PAGE) >> PAGE_SHIFT;
	struct err *err = entry ? NULL : err_nomem;

	while (!err && page < to) {
		size_t got = pagemap_read(fd, page << PAGE_SHIFT, entry,
					  MIN(to - page, PAGEMAP_ENTRIES));

		if (!got)
			return err_create(ERR_GONE, "pagemap does not say what is resident");
		err = resident_add(ret, page << PAGE_SHIFT, entry, got);
		page += got;
	}
	return err;
}

/* How many parts begin at the page or before it; the last one of them may have it. */
static size_t parts_to(const struct resident *is, uint64_t page)
{
	return LOWER_BOUND(i, 0, is->parts.nr, is->parts.at[i].page <= page);
}

static bool has_bit(const struct resident *is, size_t bit)
{
	return is->bits.at[bit / WORD_BITS] >> bit % WORD_BITS & 1;
}

bool resident_is(const struct resident *resident, uint64_t address)
{
	uint64_t page = address >> PAGE_SHIFT;
	size_t to = parts_to(resident, page);
	const struct resident_part *part = to ? &resident->parts.at[to - 1] : NULL;

	return part && page - part->page < part->nr &&
	       has_bit(resident, part->bit + (page - part->page));
}

/* How many of nr bits from `bit` on are set, a word at a time. */
static uint64_t count_bits(const struct resident *is, size_t bit, size_t nr)
{
	uint64_t sum = 0;

	while (nr) {
		size_t from = bit % WORD_BITS, take = MIN(nr, WORD_BITS - from);
		uint64_t word = is->bits.at[bit / WORD_BITS] >> from;

		if (take < WORD_BITS)
			word &= (1ull << take) - 1;
		sum += (uint64_t)__builtin_popcountll(word);
		bit += take;
		nr -= take;
	}
	return sum;
}

uint64_t resident_pages(const struct resident *resident, uint64_t start, uint64_t end)
{
	uint64_t page = start >> PAGE_SHIFT, to = end >> PAGE_SHIFT, sum = 0;
	size_t first = parts_to(resident, page);

	for (size_t i = first ? first - 1 : 0; i < resident->parts.nr; i++) {
		const struct resident_part *part = &resident->parts.at[i];
		uint64_t low = MAX(page, part->page), high = MIN(to, part->page + part->nr);

		if (part->page >= to)
			break;
		if (low < high)
			sum += count_bits(resident, part->bit + (low - part->page), high - low);
	}
	return sum;
}
