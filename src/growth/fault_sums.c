/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Adds page faults up (theory in fault_sums.h). */

#include "growth/fault_sums.h"

#include "base/page.h"

#define SUMS_MAX	((1u << 24) - 2)	/* numbers of sums have 24 bits in the table of pages */
#define FILE_PAGE	(1ull << 39)
#define FILES_MAX	65536
#define FIRST_ROOM	1024
#define HUGE_MAX	(1ull << 30)

static uint64_t mix(uint64_t x)
{
	x *= 0x9e3779b97f4a7c15ull;
	return x ^ x >> 32;
}

void fault_sums_init(struct fault_sums *sums, size_t most)
{
	*sums = (struct fault_sums){ .most = most };
}

void fault_sums_free(struct fault_sums *sums)
{
	text_set_free(&sums->files);
	vec_free(&sums->sums);
	interner_free(&sums->numbers);
	free(sums->pages);
	fault_sums_init(sums, sums->most);
}

uint32_t fault_sums_file(struct fault_sums *sums, const char *name)
{
	uint32_t nr;

	if (!sums->files.vec.nr && text_set_number(&sums->files, "", &nr))
		return 0;
	if (sums->files.vec.nr >= FILES_MAX && !text_set_has(&sums->files, name))
		return 0;
	return text_set_copy(&sums->files, name, &nr) ? 0 : nr;
}

/* Room for so many bytes more in a table, beside all others? */
static bool has_room(const struct fault_sums *sums, size_t more)
{
	size_t bytes = sums->sums.room * sizeof(*sums->sums.at) +
		       sums->numbers.room * INTERNER_BYTES +
		       sums->pages_room * sizeof(*sums->pages);

	return bytes + more <= sums->most;
}

/* Room for one sum more, and for those that the table of numbers then has room for? */
static bool has_room_for_sum(const struct fault_sums *sums)
{
	uint32_t nr = sums->numbers.nr, room = sums->numbers.room;
	size_t more = room ? 2 * (size_t)room : INTERNER_FIRST;

	return nr < room / 2 ||
	       has_room(sums, more * (INTERNER_BYTES + sizeof(*sums->sums.at) / 2));
}

/* The number of the sum + 1; 0: no room. */
static uint32_t find_sum(struct fault_sums *sums, uint32_t stack, uint32_t file)
{
	uint64_t key = (uint64_t)stack << 32 | file;
	uint32_t nr = interner_find(&sums->numbers, key);

	if (nr != UINT32_MAX)
		return nr + 1;
	if (sums->sums.nr >= SUMS_MAX || !has_room_for_sum(sums) || vec_reserve(&sums->sums, 1) ||
	    interner_number(&sums->numbers, key, &nr))
		return 0;
	sums->sums.at[sums->sums.nr++] = (struct fault_sum){ .stack = stack, .file = file };
	return nr + 1;
}

static bool grow_pages(struct fault_sums *sums)
{
	size_t room = sums->pages_room ? sums->pages_room * 2 : FIRST_ROOM;
	uint64_t *pages = has_room(sums, room * sizeof(*pages)) ?
			  calloc(room, sizeof(*pages)) : NULL;

	if (!pages)
		return false;
	for (size_t i = 0; i < sums->pages_room; i++) {
		uint64_t at = mix(sums->pages[i] >> 24);

		if (!sums->pages[i])
			continue;
		while (pages[at & (room - 1)])
			at++;
		pages[at & (room - 1)] = sums->pages[i];
	}
	free(sums->pages);
	sums->pages = pages;
	sums->pages_room = room;
	return true;
}

/* From now on the page belongs to this sum. */
static void take_page(struct fault_sums *sums, uint64_t page, uint32_t nr)
{
	uint64_t *place, at;

	if (sums->nr_pages >= sums->pages_room / 2 && !grow_pages(sums) &&
	    sums->nr_pages >= sums->pages_room / 8 * 7) {
		sums->unpaged++;
		return;
	}
	for (at = mix(page);; at++) {
		place = &sums->pages[at & (sums->pages_room - 1)];
		if (!*place || *place >> 24 == page)
			break;
	}
	if (*place)
		sums->sums.at[(*place & 0xffffff) - 1].pages--;
	else
		sums->nr_pages++;
	*place = page << 24 | nr;
	sums->sums.at[nr - 1].pages++;
}

/*
 * The table has 40 bits for a page, of which the highest says that it is a file's. A page of the
 * address space has at most 45 bits (5 levels of page tables).
 */
static uint64_t page_of(const struct fault *fault, uint64_t address)
{
	uint64_t mask = FILE_PAGE - 1, offset = fault->offset + (address - fault->address);

	if (!fault->inode)
		return address >> 12 & mask;
	return FILE_PAGE | (mix(mix(mix(fault->inode) ^ fault->dev) ^ offset >> 12) & mask);
}

/*
 * Each small page of a huge one, as it may have come before, or come again, as a small page. That
 * takes some microseconds, where the kernel has cleared 2 MB.
 */
static void take_pages(struct fault_sums *sums, const struct fault *fault, uint64_t size,
		       uint32_t nr)
{
	uint64_t start = ALIGN_DOWN(fault->address, size);

	for (uint64_t at = start; at - start < size; at += PAGE)
		take_page(sums, page_of(fault, at), nr);
}

void fault_sums_add(struct fault_sums *sums, const struct fault *fault)
{
	uint32_t nr = find_sum(sums, fault->stack, fault->file);
	uint64_t size = MIN(MAX(fault->page_size, PAGE), HUGE_MAX);

	*(fault->major ? &sums->major : &sums->minor) += 1;
	if (!nr) {
		sums->unsummed++;
		return;
	}
	*(fault->major ? &sums->sums.at[nr - 1].major : &sums->sums.at[nr - 1].minor) += 1;
	sums->sums.at[nr - 1].huge += size > PAGE;
	take_pages(sums, fault, size, nr);
}
