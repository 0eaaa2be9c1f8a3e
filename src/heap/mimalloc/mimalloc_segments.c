/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds the segments of mimalloc, and what they say of their pages. */

#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/compiler.h"
#include "heap/mimalloc/mimalloc.h"

#define HEADER_WORDS	80u		/* before the array of slices, and its first element */
#define SLICES_MOST	1024u		/* of a segment that is not huge */
#define HUGE_MOST	(1ull << 31)
#define SEARCHES_MOST	64u		/* for the key in the data */

/* Words before the array of slices. */
enum { BEFORE_LENGTH = 5, BEFORE_INFO = 4, BEFORE_KIND = 3 };
/* Behind the mask of committed slices: links, visits, how many pages are abandoned. */
#define MASK_TO_USED	4u

/*
 * The places where a segment may be: multiples of its alignment in anonymous memory. What the process
 * has only reserved, which may be terabytes, is passed over.
 */
struct places {
	const struct heap_source *source;
	size_t map;
	uint64_t next, part_end;
};

static bool next_in(struct places *places, const struct heap_map *map, uint64_t *ret)
{
	uint64_t at = ALIGN_UP(MAX(places->next, map->start), SEGMENT_STEP), start;

	while (at < map->end && map->end - at >= SLICE) {
		if (at < places->part_end) {
			places->next = at + SEGMENT_STEP;
			*ret = at;
			return true;
		}
		if (!memory_next(places->source->memory, at, map->end, &start, &places->part_end))
			break;
		at = ALIGN_UP(start, SEGMENT_STEP);
	}
	return false;
}

static bool next_place(struct places *places, uint64_t *ret)
{
	const struct heap_source *source = places->source;

	for (; places->map < source->nr_maps; places->map++, places->part_end = 0)
		if (source->map[places->map].anonymous &&
		    next_in(places, &source->map[places->map], ret))
			return true;
	return false;
}

static bool read_header(struct mimalloc *mimalloc, uint64_t start, uint64_t word[HEADER_WORDS])
{
	const struct heap_source *source = mimalloc->bare.source;

	return !memory_read(source->memory, start, word, HEADER_WORDS * 8);
}

/* Does the array of slices begin behind these words? */
static bool is_array(const uint64_t *word, uint32_t at)
{
	uint64_t length = word[at - BEFORE_LENGTH], info = word[at - BEFORE_INFO];
	uint64_t kind = word[at - BEFORE_KIND], one = word[at - 2], other = word[at - 1];
	uint64_t most = MIN(length, (uint64_t)SLICES_MOST);
	bool counts = one == most || other == most || one == SLICES_MOST / 2 ||
		      other == SLICES_MOST / 2;

	if (!info || info > 16 || info >= length || word[at] != info || kind > 1 || !counts)
		return false;
	return kind ? length < HUGE_MOST : length == SLICES_MOST || length == SLICES_MOST / 2;
}

struct key_search {
	uint64_t key;
	uint64_t address;
};

static bool is_key(void *ctx, uint64_t address, const uint64_t *word)
{
	struct key_search *search = ctx;

	search->address = address;
	return *word == search->key;
}

/* Do the data of one of the modules have the word by which this cookie was made? */
static struct err *find_key(struct mimalloc *mimalloc, uint64_t key, bool *found_ret)
{
	struct key_search search = { .key = key };
	struct err *err = NULL;

	*found_ret = false;
	for (size_t i = 0; key && i < mimalloc->bare.source->nr_libcs && !err && !*found_ret; i++) {
		err = bare_walk_search(&mimalloc->bare, i, 1, is_key, &search, found_ret);
		mimalloc->libc = i;
		mimalloc->key_at = search.address;
	}
	mimalloc->key = key;
	return err;
}

/*
 * Find the layout by a segment whose cookie the data know. The cookie stands before the length, or
 * before two links that later versions have there.
 */
static struct err *find_layout(struct mimalloc *mimalloc, const uint64_t *word, uint64_t start,
			       unsigned *searches, bool *found_ret)
{
	static const uint32_t before[] = { BEFORE_LENGTH + 1, BEFORE_LENGTH + 3 };
	struct err *err = NULL;

	*found_ret = false;
	for (uint32_t at = 16; at < HEADER_WORDS - PAGE_WORDS && !err && !*found_ret; at++)
		for (unsigned i = 0; is_array(word, at) && i < ARRAY_SIZE(before) && !err &&
				     !*found_ret && *searches < SEARCHES_MOST; i++) {
			uint32_t cookie = at - before[i];

			++*searches;
			err = find_key(mimalloc, word[cookie] ^ start, found_ret);
			mimalloc->layout.slices = 8 * at;
			mimalloc->layout.cookie = cookie;
		}
	return err;
}

static uint32_t entries_of(const struct mi_segment *segment)
{
	return (uint32_t)MIN(segment->slices, (uint64_t)SLICES_MOST);
}

static uint32_t count_at(const uint8_t *array, uint32_t stride, uint64_t i)
{
	uint32_t count;

	memcpy(&count, array + i * stride, sizeof(count));
	return count;
}

/* The array of a segment, for elements of so many bytes; NULL: it cannot be read. */
static uint8_t *read_array(struct mimalloc *mimalloc, const struct mi_segment *segment,
			   uint32_t stride)
{
	size_t len = (segment->huge ? segment->info + 1 : entries_of(segment)) * (size_t)stride;
	AUTO_FREE uint8_t *bytes = calloc(1, len + PAGE_WORDS * 8);

	/* A page of it that was never written has no pages of blocks. */
	if (!bytes || !memory_read_holes(mimalloc->bare.source->memory,
					 segment->start + mimalloc->layout.slices, bytes, len))
		return NULL;
	return take(bytes);
}

/* Do the pages of a segment lead to its end? */
static bool leads_to_end(const struct mi_segment *segment, const uint8_t *array, uint32_t stride)
{
	uint64_t i = segment->info;

	while (i < segment->slices) {
		uint32_t count = count_at(array, stride, i);

		if (!count || count > segment->slices - i)
			return false;
		i += count;
	}
	return true;
}

static void take_header(const struct mimalloc *mimalloc, uint64_t start, const uint64_t *word,
			struct mi_segment *ret)
{
	uint32_t at = mimalloc->layout.slices / 8;
	uint64_t one = word[at - 2], other = word[at - 1];

	*ret = (struct mi_segment){ .start = start, .slices = word[at - BEFORE_LENGTH],
				    .info = word[at - BEFORE_INFO],
				    .huge = (uint32_t)word[at - BEFORE_KIND],
				    .used = word[mimalloc->layout.cookie - 1],
				    /* the other one is how many slices there are */
				    .thread = MAX(one, other) };
	if (one < SLICE && other < SLICE)
		ret->thread = 0;
}

static bool find_stride(struct mimalloc *mimalloc, const struct mi_segment *segment)
{
	for (uint32_t stride = 72; !segment->huge && stride <= PAGE_WORDS * 8; stride += 8) {
		AUTO_FREE uint8_t *array = read_array(mimalloc, segment, stride);

		if (array && leads_to_end(segment, array, stride)) {
			mimalloc->layout.stride = stride;
			return true;
		}
	}
	return false;
}

static struct err *damage_at(struct mimalloc *mimalloc, uint64_t address, const char *what,
			     uint64_t word)
{
	return bare_walk_damage(&mimalloc->bare, (struct heap_damage){ .address = address },
				"%s: 0x%" PRIx64, what, word);
}

static struct err *add_page(struct mimalloc *mimalloc, const struct mi_segment *segment,
			    const uint8_t *array, uint64_t i, uint32_t count)
{
	uint32_t stride = mimalloc->layout.stride;
	struct mi_page page = {
		.start = segment->start + i * SLICE, .slices = count,
		.place = segment->start + mimalloc->layout.slices + i * stride,
		.segment = (uint32_t)mimalloc->segments.nr,
	};

	memcpy(page.word, array + i * stride, MIN((size_t)stride, sizeof(page.word)));
	return vec_push(&mimalloc->pages, page);
}

/* The slices of the page that begins at slice i; 0: none does. */
static uint32_t length_of(const struct mimalloc *mimalloc, const struct mi_segment *segment,
			  const uint8_t *array, uint64_t i)
{
	uint32_t count = count_at(array, mimalloc->layout.stride, i);

	return count <= segment->slices - i ? count : 0;
}

static struct err *add_pages(struct mimalloc *mimalloc, const struct mi_segment *segment)
{
	AUTO_FREE uint8_t *array = read_array(mimalloc, segment, mimalloc->layout.stride);
	uint64_t i = segment->info, place = segment->start + mimalloc->layout.slices;
	struct err *err = NULL;

	if (!array)
		return damage_at(mimalloc, place, "the pages of this segment cannot be read",
				 segment->slices);
	if (segment->huge)
		return add_page(mimalloc, segment, array, i, (uint32_t)(segment->slices - i));
	while (i < segment->slices && !err) {
		uint32_t count = length_of(mimalloc, segment, array, i);

		if (count) {
			err = add_page(mimalloc, segment, array, i, count);
			i += count;
			continue;
		}
		err = damage_at(mimalloc, place + i * mimalloc->layout.stride,
				"this page of a segment has a wrong length", count);
		while (i < segment->slices && !length_of(mimalloc, segment, array, i))
			i++;
	}
	return err;
}

/* A segment is where the header fits, or the cookie; if only one of them does it is damaged. */
static struct err *add_segment(struct mimalloc *mimalloc, uint64_t start,
			       const uint64_t word[HEADER_WORDS], uint64_t *end_ret)
{
	const struct mi_layout *layout = &mimalloc->layout;
	bool fits = is_array(word, layout->slices / 8);
	bool known = word[layout->cookie] == (mimalloc->key ^ start);
	struct mi_segment segment;
	struct err *err = NULL;

	*end_ret = start + SEGMENT_STEP;
	if (!known && !fits)
		return NULL;
	take_header(mimalloc, start, word, &segment);
	if (!fits)
		return damage_at(mimalloc, start, "the header of this segment does not fit",
				 segment.slices);
	if (!known)
		return damage_at(mimalloc, start + 8 * layout->cookie,
				 "this segment has a wrong cookie", word[layout->cookie]);
	if (layout->commit && !segment.huge)
		memcpy(segment.commit, word + layout->commit, entries_of(&segment) / 8);
	else
		memset(segment.commit, 0xff, sizeof(segment.commit));
	*end_ret = MAX(*end_ret, start + segment.slices * SLICE);
	err = add_pages(mimalloc, &segment);
	return err ? err : vec_push(&mimalloc->segments, segment);
}

/*
 * The mask of slices that are committed stands before four words that lead to `used`. Its first
 * bits are those of the header, so they are set.
 */
static void find_mask(struct mimalloc *mimalloc, const uint64_t *word, uint32_t entries)
{
	uint32_t end = mimalloc->layout.cookie - 1 - MASK_TO_USED;
	uint32_t words = entries / 64;

	if (mimalloc->layout.cookie > MASK_TO_USED + words && word[end - words] & 1)
		mimalloc->layout.commit = end - words;
}

static struct err *find_first(struct mimalloc *mimalloc, unsigned *searches, bool *found_ret)
{
	struct places places = { .source = mimalloc->bare.source };
	uint64_t word[HEADER_WORDS], start;
	struct mi_segment segment;
	struct err *err = NULL;

	*found_ret = false;
	while (!err && !*found_ret && next_place(&places, &start)) {
		if (!read_header(mimalloc, start, word))
			continue;
		err = find_layout(mimalloc, word, start, searches, found_ret);
		if (err || !*found_ret)
			continue;
		take_header(mimalloc, start, word, &segment);
		*found_ret = find_stride(mimalloc, &segment);
		find_mask(mimalloc, word, entries_of(&segment));
	}
	return err;
}

struct err *mimalloc_segments_find(struct mimalloc *mimalloc)
{
	struct places places = { .source = mimalloc->bare.source };
	uint64_t word[HEADER_WORDS], start;
	unsigned searches = 0;
	bool found;
	struct err *err = find_first(mimalloc, &searches, &found);

	if (!err && !found && searches)
		err = err_create(ERR_UNSUPPORTED, "mimalloc's segments are not laid out as those of "
						  "any version that is known (2.0, 2.1)");
	else if (!err && !found)
		err = err_create(ERR_NOTFOUND, "mimalloc 2 has no segments");
	if (!err)
		err = bare_walk_arena(&mimalloc->bare, mimalloc->key_at);
	while (!err && next_place(&places, &start))
		if (read_header(mimalloc, start, word))
			err = add_segment(mimalloc, start, word, &places.next);
	return err;
}
