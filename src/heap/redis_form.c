/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Structs of redis by their words (redis_form.h). */

#include "heap/redis_form.h"

#include <string.h>

#include "base/compiler.h"
#include "base/memory.h"
#include "heap/reach/inner.h"

#define WORD		8u
#define WORDS		5u	/* that are looked at */

#define EMBEDDED	19u	/* where the text of an object's own string begins */
#define ENCODING_RAW	0x00u	/* encoding and type, four bits each */
#define ENCODING_EMBEDDED 0x80u
#define SDS_8		1u
#define SHORT_MOST	31u	/* letters behind a header of one byte */
#define COUNT_MOST	(1u << 20)	/* of references; or INT32_MAX, of what is never freed */
#define LISTPACK_FIRST	0xb1u	/* of a list, a set, ... */
#define LISTPACK_LAST	0xb4u	/* ... or a hash */

#define ENTRY_LEAST	24u	/* bytes: of dictEntry, ... */
#define ENTRY_MOST	32u	/* ... of its size class, or with one word more */
#define NODE_LEAST	40u	/* of zskiplistNode */
#define QUICK_LEAST	32u	/* of quicklistNode; and its size class */
#define QUICK_MOST	48u

#define PACK_HEADER	6u
#define PACK_END	0xffu
#define PACK_MANY	0xffffu	/* entries are not counted any more */
#define PACK_WHOLE	256u	/* bytes; such a one is read up to its end */
#define PACK_SEEN	4u	/* entries that prove a listpack whose end was not read */

struct look {
	struct memory *memory;
	const struct packed_list *list;
	uint64_t start, size;
	const uint8_t *bytes;
	size_t len;
	uint64_t word[WORDS];
};

static uint64_t number(const uint8_t *bytes, unsigned nr)
{
	uint64_t value = 0;

	while (nr--)
		value = value << 8 | bytes[nr];
	return value;
}

/* The block that the address lies in. */
static bool find(const struct look *look, uint64_t address, struct block *ret)
{
	size_t behind = packed_behind(look->list, address);

	if (!behind)
		return false;
	*ret = packed_block(look->list, behind - 1);
	return address - ret->address < ret->size;
}

/* One byte is no proof of a header: its text has letters alone. */
static bool has_letters(const struct look *look, uint64_t header)
{
	uint8_t text[SHORT_MOST + 1];
	unsigned length;

	if (memory_read(look->memory, header, text, 1))
		return false;
	length = text[0] >> 3;
	if (!length || memory_read(look->memory, header + 1, text, length))
		return false;
	while (length && text[length - 1] >= ' ' && text[length - 1] < 127)
		length--;
	return !length;
}

static bool is_string(const struct look *look, uint64_t word)
{
	struct block block;

	return find(look, word, &block) && inner_may_be_sds(word - block.address) &&
	       inner_is_sds(look->memory, &block, word - block.address) &&
	       (word - block.address > 1 || has_letters(look, block.address));
}

/* The start of another block, whose size is from least to most; *first_ret is its first word. */
static bool is_start(const struct look *look, uint64_t word, uint64_t least, uint64_t most,
		     uint64_t *first_ret)
{
	struct block block;

	return word && word != look->start && find(look, word, &block) && block.address == word &&
	       block.size >= least && block.size <= most &&
	       !memory_read(look->memory, word, first_ret, sizeof(*first_ret));
}

/* Or 0. Like this one, the other block begins with an sds string. */
static bool is_peer(const struct look *look, uint64_t word, uint64_t least, uint64_t most)
{
	uint64_t first;

	return !word || (is_start(look, word, least, most, &first) && is_string(look, first));
}

/* How long an entry is without its length behind it; 0: it is none. */
static uint64_t entry_length(const uint8_t *at, size_t left)
{
	static const uint8_t of_number[] = { 3, 4, 5, 9 };

	if (!(*at & 0x80))
		return 1;
	if ((*at & 0xc0) == 0x80)
		return 1 + (*at & 0x3f);
	if ((*at & 0xe0) == 0xc0)
		return 2;
	if ((*at & 0xf0) == 0xe0)
		return left < 2 ? 0 : 2 + ((*at & 0xfu) << 8 | at[1]);
	if (*at == 0xf0)
		return left < 5 ? 0 : 5 + number(at + 1, 4);
	return *at > 0xf0 && *at < 0xf5 ? of_number[*at - 0xf1] : 0;
}

/* The bytes of an entry's length behind it, which is read backwards; 0: it is another one, or too long. */
static unsigned check_length(const uint8_t *behind, size_t left, uint64_t length)
{
	if (length < 128)
		return left >= 1 && behind[0] == length ? 1 : 0;
	return length < 16384 && left >= 2 && behind[0] == length >> 7 &&
	       behind[1] == (length & 127) + 128 ? 2 : 0;
}

/* Do entries follow, up to the end? If that is behind what was read, so many of them. */
static bool are_entries(const uint8_t *bytes, size_t len, uint64_t total)
{
	uint64_t at = PACK_HEADER, entries = number(bytes + 4, 2), seen = 0;

	while (at < MIN(total - 1, (uint64_t)len)) {
		uint64_t length = entry_length(bytes + at, len - at);
		unsigned behind;

		if (total > len && (!length || at + length + 2 > len))
			return seen >= PACK_SEEN && seen < entries;
		if (!length || at + length >= total)
			return false;
		behind = check_length(bytes + at + length, len - at - length, length);
		if (!behind)
			return false;
		at += length + behind;
		seen++;
	}
	if (at == total - 1)
		return entries == seen || entries == PACK_MANY;
	return at == len && total > len && seen >= PACK_SEEN && seen < entries;
}

/* It may be longer than was asked for, since redis takes all that the allocator gives. */
static bool is_listpack(const struct look *look)
{
	uint8_t whole[PACK_WHOLE], end;
	uint64_t total;

	if (look->len <= PACK_HEADER)
		return false;
	total = number(look->bytes, 4);
	if (total <= PACK_HEADER || total > look->size + look->size / 4 + 2 * WORD ||
	    memory_read(look->memory, look->start + total - 1, &end, 1) || end != PACK_END)
		return false;
	if (total <= look->len || total > sizeof(whole))
		return are_entries(look->bytes, look->len, total);
	return !memory_read(look->memory, look->start, whole, total) &&
	       are_entries(whole, total, total);
}

/* The start of a listpack; *ret is its size. */
static bool leads_to_listpack(const struct look *look, uint64_t word, uint64_t *ret)
{
	uint64_t first;
	uint8_t end;

	if (!is_start(look, word, PACK_HEADER + 1, UINT64_MAX, &first))
		return false;
	*ret = (uint32_t)first;
	return *ret > PACK_HEADER && !memory_read(look->memory, word + *ret - 1, &end, 1) &&
	       end == PACK_END;
}

static bool has_own_string(const struct look *look)
{
	uint64_t length, room;

	if (look->len <= EMBEDDED || look->word[1] != look->start + EMBEDDED ||
	    look->bytes[EMBEDDED - 1] != SDS_8)
		return false;
	length = look->bytes[EMBEDDED - 3];
	room = look->bytes[EMBEDDED - 2];
	return length <= room && EMBEDDED + length < look->len && !look->bytes[EMBEDDED + length];
}

static bool is_object(const struct look *look)
{
	uint8_t kind = look->bytes[0];
	uint64_t count = look->word[0] >> 32, total;

	if (!count || (count > COUNT_MOST && count != INT32_MAX))
		return false;
	if (kind == ENCODING_EMBEDDED)
		return has_own_string(look);
	if (look->size > ENTRY_MOST)
		return false;
	if (kind == ENCODING_RAW)
		return is_string(look, look->word[1]);
	return kind >= LISTPACK_FIRST && kind <= LISTPACK_LAST &&
	       leads_to_listpack(look, look->word[1], &total);
}

static bool is_dict_entry(const struct look *look)
{
	return look->size >= ENTRY_LEAST && look->size <= ENTRY_MOST &&
	       is_string(look, look->word[0]) &&
	       is_peer(look, look->word[2], ENTRY_LEAST, ENTRY_MOST);
}

static bool is_skip_node(const struct look *look)
{
	return look->size >= NODE_LEAST && (look->word[2] || look->word[3]) &&
	       look->word[4] <= UINT32_MAX && is_string(look, look->word[0]) &&
	       is_peer(look, look->word[2], NODE_LEAST, UINT64_MAX) &&
	       is_peer(look, look->word[3], NODE_LEAST, UINT64_MAX);
}

static bool is_quick_node(const struct look *look)
{
	uint64_t first, total;

	if (look->size < QUICK_LEAST || look->size > QUICK_MOST)
		return false;
	for (unsigned i = 0; i < 2; i++)
		if (look->word[i] &&
		    !is_start(look, look->word[i], QUICK_LEAST, QUICK_MOST, &first))
			return false;
	return leads_to_listpack(look, look->word[2], &total) && look->word[3] == total;
}

enum block_form redis_form_of(struct memory *memory, const struct packed_list *list,
			      const struct packed_block *block, const uint8_t *bytes, size_t len)
{
	struct look look = { .memory = memory, .list = list, .start = block->address,
			     .size = packed_size(list, block), .bytes = bytes, .len = len };

	memcpy(look.word, bytes, MIN(len, sizeof(look.word)));
	if (is_listpack(&look))
		return BLOCK_FORM_LISTPACK;
	if (len < 2 * WORD)
		return BLOCK_FORM_NONE;
	if (is_object(&look))
		return BLOCK_FORM_ROBJ;
	if (is_dict_entry(&look))
		return BLOCK_FORM_DICT_ENTRY;
	if (is_skip_node(&look))
		return BLOCK_FORM_SKIP_NODE;
	return is_quick_node(&look) ? BLOCK_FORM_QUICK_NODE : BLOCK_FORM_NONE;
}
