/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Heuristics for inner pointers, after those of valgrind's memcheck (mc_leakcheck.c). */

#include "heap/reach/heuristic.h"

#include <string.h>

#include "heap/reach/reach.h"

#define WORD		8u
#define STRING_HEADER	(3 * WORD)	/* length, capacity, reference count */
#define COUNT_MAX	(1u << 24)	/* of owners */
#define FAR		(1 << 20)	/* no object has its table's object that far away */

/*
 * May the program have asked for the block with this size? For a block without a record only the
 * usable size is known.
 */
static bool has_size(const struct block *block, uint64_t size)
{
	return block->preattach ? size <= block->size && block->size - size < 16 + WORD :
				  size == block->size;
}

static bool is_code(const struct heuristic *heuristic, uint64_t address)
{
	size_t low = LOWER_BOUND(i, 0, heuristic->nr_code, heuristic->code[i].end <= address);

	return low < heuristic->nr_code && heuristic->code[low].start <= address;
}

/*
 * In the Itanium C++ ABI, two words come before the address of a table: the distance of the object
 * from its part, and its type; functions follow.
 */
static bool read_table(const struct heuristic *heuristic, uint64_t address)
{
	uint64_t word[3];
	struct err *err;

	if (address % WORD || address < 2 * WORD || is_code(heuristic, address))
		return false;
	err = memory_read(heuristic->memory, address - 2 * WORD, word, sizeof(word));
	if (err)
		return false;	/* not even memory */
	return (int64_t)word[0] > -FAR && (int64_t)word[0] < FAR && is_code(heuristic, word[2]);
}

static bool is_table(struct heuristic *heuristic, uint64_t word)
{
	unsigned i = (unsigned)(word >> 3) % HEURISTIC_TABLES;

	if (heuristic->seen[i].word != word) {
		heuristic->seen[i].word = word;
		heuristic->seen[i].table = read_table(heuristic, word);
	}
	return heuristic->seen[i].table;
}

static bool is_string(const struct block *block, const uint64_t *head, uint64_t offset)
{
	uint64_t length = head[0], capacity = head[1];

	return offset == STRING_HEADER && length <= capacity && capacity < block->size &&
	       has_size(block, STRING_HEADER + capacity + 1);
}

/*
 * Can the block be a number (nr) with so many bytes, or so many elements of equal size, behind it?
 * The sizes have to fit exactly: a random number seldom does.
 */
static bool is_counted(const struct block *block, uint64_t nr)
{
	uint64_t rest = block->size - WORD;

	return (nr < block->size && has_size(block, WORD + nr)) ||
	       (nr && nr <= rest && has_size(block, WORD + rest / nr * nr));
}

bool heuristic_applies(struct heuristic *heuristic, const struct block *block, uint64_t address)
{
	uint64_t offset = address - block->address, head[2] = { 0, 0 }, word;
	struct err *err;

	if (offset % WORD || block->size < 2 * WORD)
		return false;
	err = memory_read(heuristic->memory, block->address, head, sizeof(head));
	if (err)
		return false;	/* nothing can be checked */
	if (is_string(block, head, offset))
		return true;
	/* These are length64 and newarray. */
	if (offset == WORD && is_counted(block, head[0]))
		return true;
	if (!is_table(heuristic, head[0]) || block->size - offset < WORD)
		return false;
	err = memory_read_u64(heuristic->memory, address, &word);
	return !err && is_table(heuristic, word);
}

/* The name of the class is that of a type behind the table's second word, if there is one. */
static bool has_counts_name(const struct heuristic *heuristic, uint64_t type)
{
	static const char *const names[] = {
		"St23_Sp_counted_ptr_inplace",			/* libstdc++ */
		"St19_Sp_counted_deleter",
		"NSt3__120__shared_ptr_emplace",		/* libc++ */
	};
	char name[40] = "";
	uint64_t at;
	size_t len;

	if (memory_read_u64(heuristic->memory, type + WORD, &at) ||
	    memory_read_some(heuristic->memory, at, name, sizeof(name) - 1, &len))
		return false;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strncmp(name + (*name == '*'), names[i], strlen(names[i])))
			return true;
	return false;
}

bool heuristic_is_shared(struct heuristic *heuristic, const struct block *block)
{
	uint64_t head[2], type;

	if (block->size < sizeof(head) ||
	    memory_read(heuristic->memory, block->address, head, sizeof(head)) ||
	    !is_table(heuristic, head[0]) ||
	    memory_read_u64(heuristic->memory, head[0] - WORD, &type))
		return false;
	if (type)
		return has_counts_name(heuristic, type);
	/* Without names of types two counts of 32 bits have to do. */
	return (uint32_t)head[1] < COUNT_MAX && head[1] >> 32 && head[1] >> 32 < COUNT_MAX;
}
