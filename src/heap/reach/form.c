/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Forms of blocks (form.h). */

#include "heap/reach/form.h"

#include <string.h>

#include "base/compiler.h"
#include "base/memory.h"
#include "base/page.h"
#include "heap/block.h"
#include "heap/reach/inner.h"

#define WORD		8u
/*
 * A block in no record may be longer than the program asked for, by less than this: glibc rounds up
 * to 16 bytes, leaves another 16 where they would make no chunk, and maps whole pages.
 */
#define ROUNDED		16u
#define ROUNDED_MOST	32u
#define HEADER_MAX	32u	/* bytes; longer ones are no headers of an allocator */
#define SIZE_LEAST	16u	/* of a block in no record: smaller numbers fit by chance */

/* hashbrown's raw/mod.rs and control/tag.rs, with SSE2, as on each x86-64. */
#define GROUP		16u	/* control bytes that are looked at together */
#define BUCKETS_LEAST	4u
#define EMPTY		0xffu
#define DELETED		0x80u
#define LOOKED_AT	64u	/* control bytes; of eight buckets one is empty, at least */

#define COUNT_MAX	(1u << 24)	/* of references */

#define TYPES_MOST	3u	/* from an object of Python's to the type that is its own */

#define PAGE_LEAST	512u	/* bytes, of SQLite */
#define PAGE_HEADER_MAX	256u	/* where what belongs to the page is, behind its header's start */

const char *form_text(enum form form)
{
	static const char *const texts[FORMS] = {
		[FORM_NONE] = "",
		[FORM_SDS] = "as sds strings have",
		[FORM_SIZED] = "behind a header with their size",
		[FORM_COUNTED] = "behind two reference counts",
		[FORM_TABLE] = "as hash tables of Rust have",
		[FORM_PAGE] = "at a header behind the data, as SQLite's pages have",
		[FORM_TAGGED] = "by their flags in its low bits",
		[FORM_PYTHON] = "behind the header of Python's collector",
	};

	return texts[form];
}

/* May the program have asked for the block with this size? */
static bool has_size(const struct block *block, uint64_t size, uint64_t rounded)
{
	if (!block->preattach)
		return size == block->size;
	if (block->heap == LOG_HEAP_MMAP)
		rounded = PAGE;
	return size <= block->size && block->size - size < rounded;
}

/* Is it the size of the block, or of what is behind the offset? */
static bool is_size(const struct block *block, uint64_t word, uint64_t offset)
{
	return word <= block->size && (!block->preattach || word >= SIZE_LEAST) &&
	       (has_size(block, word + offset, ROUNDED) || has_size(block, word, ROUNDED));
}

static bool is_sized(const struct block *block, const uint64_t *head, uint64_t offset)
{
	for (uint64_t i = 0; i < offset / WORD; i++)
		/* MariaDB rounds it up to 8 and has flags in it. */
		if (is_size(block, head[i], offset) || is_size(block, head[i] & ~7ull, offset))
			return true;
	return false;
}

static bool is_count(uint64_t word)
{
	return word && word < COUNT_MAX;
}

static bool fits_table(const struct block *block, uint64_t offset, uint64_t buckets)
{
	/* The entries take a whole number of bytes each; then there is padding. */
	return has_size(block, offset + buckets + GROUP, ROUNDED_MOST) && offset >= buckets &&
	       (buckets <= GROUP || offset % buckets < GROUP);
}

/* The most buckets, of a power of two, whose control bytes there is room for. */
static uint64_t most_buckets(const struct block *block, uint64_t offset)
{
	uint64_t behind = block->size - MIN(offset, block->size);

	return offset % GROUP || behind < BUCKETS_LEAST + GROUP ? 0 :
		1ull << (63 - __builtin_clzll(behind - GROUP));
}

uint64_t form_table_buckets(const struct block *block, uint64_t offset)
{
	uint64_t buckets = most_buckets(block, offset);

	while (buckets >= BUCKETS_LEAST && !fits_table(block, offset, buckets))
		buckets /= 2;
	return buckets >= BUCKETS_LEAST ? buckets : 0;
}

static bool are_controls(const uint8_t *control, uint64_t nr)
{
	bool any_free = false;

	for (uint64_t i = 0; i < nr; i++) {
		if (control[i] > DELETED && control[i] != EMPTY)
			return false;
		any_free |= control[i] >= DELETED;
	}
	return any_free;
}

/* The first group of control bytes is there once more behind the last one. */
static bool has_controls(struct memory *memory, uint64_t at, uint64_t buckets)
{
	uint64_t whole = MAX(buckets, GROUP), nr = MIN(whole, LOOKED_AT);
	uint64_t mirrored = MIN(buckets, GROUP);
	uint8_t control[LOOKED_AT], behind[GROUP];

	if (memory_read(memory, at, control, nr) ||
	    memory_read(memory, at + whole, behind, mirrored))
		return false;
	/* What a small table lacks in its group is empty. */
	for (uint64_t i = buckets; i < whole; i++)
		if (control[i] != EMPTY)
			return false;
	return are_controls(control, MIN(buckets, nr)) && !memcmp(control, behind, mirrored);
}

/* Where the size is rounded up, a small table may have several numbers of buckets. */
static bool is_table(struct memory *memory, const struct block *block, uint64_t offset)
{
	for (uint64_t buckets = form_table_buckets(block, offset); buckets >= BUCKETS_LEAST;
	     buckets /= 2)
		if (fits_table(block, offset, buckets) &&
		    has_controls(memory, block->address + offset, buckets))
			return true;
	return false;
}

static bool is_page(struct memory *memory, const struct block *block, uint64_t offset)
{
	uint64_t word[2], at = block->address + offset;

	if (offset % WORD || offset < PAGE_LEAST || block->size - offset < sizeof(word) ||
	    memory_read(memory, at, word, sizeof(word)))
		return false;
	return word[0] >= block->address && word[0] <= at - PAGE_LEAST && !(word[0] % WORD) &&
	       word[1] >= at + sizeof(word) && word[1] - at <= PAGE_HEADER_MAX &&
	       word[1] <= block->address + block->size;
}

/* At byte 4, a number might begin that an earlier owner of the memory has pointed to. */
static bool is_tagged(struct memory *memory, const struct block *block, uint64_t offset)
{
	uint64_t first, there;

	return offset < WORD / 2 && block->size >= sizeof(first) &&
	       !memory_read(memory, block->address, &first, sizeof(first)) && first && !(first % WORD) &&
	       !memory_read(memory, first, &there, sizeof(there));
}

/* The header has two words, or four where the object has a dictionary of its own. */
static bool is_python(struct memory *memory, const struct block *block, uint64_t offset)
{
	uint64_t object[2], at = block->address + offset;

	if ((offset != 2 * WORD && offset != 4 * WORD) || block->size - offset < sizeof(object))
		return false;
	for (unsigned i = 0; i <= TYPES_MOST; i++) {
		/* Some count to 2^32 - 1 as the references of what is never freed. */
		if (memory_read(memory, at, object, sizeof(object)) || !object[0] ||
		    object[0] > UINT32_MAX || object[1] % WORD)
			return false;
		if (object[1] == at)
			return i;
		at = object[1];
	}
	return false;
}

enum form form_of(struct memory *memory, const struct block *block, uint64_t offset)
{
	uint64_t head[HEADER_MAX / WORD];

	if (offset >= block->size)
		return FORM_NONE;
	if (inner_is_sds(memory, block, offset))
		return FORM_SDS;
	if (is_table(memory, block, offset))
		return FORM_TABLE;
	if (is_page(memory, block, offset))
		return FORM_PAGE;
	if (is_tagged(memory, block, offset))
		return FORM_TAGGED;
	if (is_python(memory, block, offset))
		return FORM_PYTHON;
	if (offset % WORD || offset > HEADER_MAX ||
	    memory_read(memory, block->address, head, offset))
		return FORM_NONE;
	if (is_sized(block, head, offset))
		return FORM_SIZED;
	return offset == 2 * WORD && is_count(head[0]) && is_count(head[1]) ? FORM_COUNTED :
		FORM_NONE;
}
