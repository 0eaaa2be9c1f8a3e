/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Forms of blocks by their bytes (block_form.h). */

#include "heap/block_form.h"

#include <string.h>

#include "base/page.h"
#include "heap/reach/inner.h"

#define WORD		8u
#define TEXT_LEAST	8u	/* letters, if they fill the block */
#define TEXT_SURE	16u	/* however large it is */
#define TEXT_ROUNDED	16u	/* of a block in no record: behind the text, with its NUL */
/* The usable size of a block in no record may be this much more than was asked for. */
#define ROUNDED		24u
#define POINTERS_LEAST	4u
#define SDS_LEAST	4u	/* letters: fewer may be a number's bytes */
#define SDS_WIDE	256u	/* with less room the numbers have one byte each */
#define SDS_SHORT	0x80u	/* the header of a short one, as no text begins: 16 letters and more */

#define POOL_LEAST	128u	/* bytes */
#define MAPPED_LEAST	(128u << 10)	/* glibc may map such a block for itself: in whole pages */
#define POOL_WORDS	8u	/* in which its place and its end are */
#define SIZE_WORDS	16u	/* its size, behind a header which has it as well */
#define CONTEXT_WORDS	64u	/* the same, of the first block of a context */
#define CONTEXT_START	3u	/* words in front of these: the block's start */

const char *block_form_name(enum block_form form)
{
	static const char *const names[BLOCK_FORMS] = {
		[BLOCK_FORM_NONE] = "?", [BLOCK_FORM_TEXT] = "text", [BLOCK_FORM_SDS] = "sds",
		[BLOCK_FORM_POINTERS] = "pointers", [BLOCK_FORM_ZEROS] = "zeros",
		[BLOCK_FORM_POOL] = "pool", [BLOCK_FORM_LISTPACK] = "listpack",
		[BLOCK_FORM_ROBJ] = "robj", [BLOCK_FORM_DICT_ENTRY] = "dictEntry",
		[BLOCK_FORM_SKIP_NODE] = "zskiplistNode", [BLOCK_FORM_QUICK_NODE] = "quicklistNode",
		[BLOCK_FORM_MOSTLY_ZEROS] = "mostly zeros",
	};

	return names[form];
}

/* The length of the letter of more than one byte that begins here; 0: none does. */
static size_t wide_letter(const uint8_t *bytes, size_t len)
{
	size_t want = *bytes >= 0xc2 && *bytes < 0xe0 ? 2 : (*bytes & 0xf0) == 0xe0 ? 3 :
		      *bytes >= 0xf0 && *bytes < 0xf5 ? 4 : 0;

	if (want > len)
		return 0;
	for (size_t i = 1; i < want; i++)
		if ((bytes[i] & 0xc0) != 0x80)
			return 0;
	return want;
}

static bool is_plain(uint8_t byte)
{
	return (byte >= ' ' && byte < 127) || (byte >= '\t' && byte <= '\r');
}

/* How many bytes are text. */
static size_t text_length(const uint8_t *bytes, size_t len)
{
	size_t at = 0, wide;

	while (at < len) {
		wide = is_plain(bytes[at]) ? 1 : wide_letter(bytes + at, len - at);
		if (!wide)
			break;
		at += wide;
	}
	return at;
}

static bool is_text(const uint8_t *bytes, size_t len, uint64_t size, bool preattach)
{
	size_t nr = text_length(bytes, len);
	uint64_t left = size - nr;

	/* A letter may be cut at the end of what was read. */
	if (len < size && len - nr < 4)
		return true;
	if (nr == len || bytes[nr])
		return false;
	return nr >= TEXT_SURE || (nr >= TEXT_LEAST && left <= (preattach ? TEXT_ROUNDED : 1));
}

static uint64_t little_endian(const uint8_t *bytes, unsigned nr)
{
	uint64_t value = 0;

	while (nr--)
		value = value << 8 | bytes[nr];
	return value;
}

/*
 * Two numbers of so many bytes, and one byte with the kind of the header. The room may be more than
 * was asked for: newer versions take what malloc_usable_size gives.
 */
static bool is_sds(const uint8_t *bytes, size_t len, uint64_t size)
{
	size_t nr = *bytes >> 3;

	if (*bytes >= SDS_SHORT && !(*bytes & 7) && nr + 1 < len && nr + 2 + ROUNDED > size)
		return text_length(bytes + 1, nr) == nr && !bytes[nr + 1];
	for (unsigned type = 1; type <= 4; type++) {
		unsigned width = 1u << (type - 1), header = 2 * width + 1;
		uint64_t length, room, whole;

		if (len <= header || bytes[header - 1] != type)
			continue;
		length = little_endian(bytes, width);
		room = little_endian(bytes + width, width);
		whole = room + header + 1;
		if (length < SDS_LEAST || length > room || whole < room ||
		    (type > 1 && room < SDS_WIDE) || whole > size + ROUNDED ||
		    whole + ROUNDED < size || length >= size - header)
			continue;
		if (length >= len - header)
			return text_length(bytes + header, len - header) + 4 > len - header;
		if (text_length(bytes + header, length) == length && !bytes[header + length])
			return true;
	}
	return false;
}

static bool is_start(const struct packed_list *list, uint64_t word)
{
	size_t behind;

	if (!list->nr_outer || word < packed_at(list, 0)->address ||
	    word > packed_at(list, list->nr_outer - 1)->address)
		return false;
	behind = packed_behind(list, word);
	return behind && packed_at(list, behind - 1)->address == word;
}

static bool is_pointers(const struct packed_list *list, const uint8_t *bytes, size_t len)
{
	size_t nr = 0;
	uint64_t word;

	for (size_t at = 0; at + WORD <= len; at += WORD) {
		memcpy(&word, bytes + at, sizeof(word));
		if (word && !is_start(list, word))
			return false;
		nr += word != 0;
	}
	return nr >= POINTERS_LEAST;
}

static uint64_t word_at(const uint8_t *bytes, size_t i)
{
	uint64_t word;

	memcpy(&word, bytes + i * WORD, sizeof(word));
	return word;
}

static bool has_sizes(const struct packed_block *packed, uint64_t size, const uint8_t *bytes,
		      size_t len)
{
	const struct block block = { .size = size, .preattach = packed->preattach };
	uint64_t word[SIZE_WORDS] = { 0 };

	memcpy(word, bytes, MIN(len, sizeof(word)));
	return size >= POOL_LEAST && inner_has_sizes(&block, word, SIZE_WORDS);
}

static bool is_pool(const struct packed_block *block, uint64_t size, const uint8_t *bytes,
		    size_t len)
{
	uint64_t end = block->address + size;
	uint64_t rounded = !block->preattach ? 1 : size < MAPPED_LEAST ? TEXT_ROUNDED : PAGE;

	for (size_t i = 1; size >= POOL_LEAST && i < MIN(len / WORD, CONTEXT_WORDS); i++) {
		uint64_t place = word_at(bytes, i - 1), is_end = word_at(bytes, i);

		if (is_end > end || end - is_end >= rounded || place > is_end ||
		    place < block->address + (i + 1) * WORD)
			continue;
		if (i < POOL_WORDS || word_at(bytes, i - 1 - CONTEXT_START) == block->address)
			return true;
	}
	return false;
}

static bool is_zeros(const uint8_t *bytes, size_t len)
{
	return len && !bytes[0] && !memcmp(bytes, bytes + 1, len - 1);
}

enum block_form block_form_of(const struct packed_list *list, const struct packed_block *block,
			      const uint8_t *bytes, size_t len)
{
	uint64_t size = packed_size(list, block);
	/* The last word of glibc's usable size may be one that nobody has asked for. */
	size_t sure = block->preattach && len == size && len > 2 * WORD ? len - WORD : len;

	if (len == size && is_zeros(bytes, sure))
		return BLOCK_FORM_ZEROS;
	if (len && is_sds(bytes, len, size))
		return BLOCK_FORM_SDS;
	if (is_text(bytes, len, size, block->preattach))
		return BLOCK_FORM_TEXT;
	if (is_pointers(list, bytes, sure))
		return BLOCK_FORM_POINTERS;
	return is_pool(block, size, bytes, len) || has_sizes(block, size, bytes, len) ?
		BLOCK_FORM_POOL : BLOCK_FORM_NONE;
}
