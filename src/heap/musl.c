/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Walks the heap of musl's mallocng (1.2.1 and later).
 *
 * Layout
 *
 *	context		__malloc_context, in libc's bss: a secret, the list of the meta areas, for
 *			each of 48 size classes a ring of the groups that have free slots, and how
 *			many slots the groups of the class have in all.
 *	meta areas	Pages with the secret, a link to the next and 101 metas each. They lie apart
 *			from all blocks, behind the brk and in mappings between guard pages.
 *	meta		What is known of a group: where it is, a bit of avail or freed for each slot
 *			that the program does not have, its class, how many slots, how many pages. A
 *			meta that is not in use has no place of a group.
 *	group		16 bytes (a pointer back to its meta, the last slot that was ever given out)
 *			and up to 32 slots of one length. A group is a mapping (maplen pages), or a
 *			slot of a group of a larger class (nested), or memory that the loader found
 *			unused between the segments of libraries (donated: one slot, maplen 0). A block
 *			of 131,052 bytes or more has a group of its own: class 63.
 *	slot		The 4 bytes before it are its header: in the last 3 the number of the slot
 *			with how many of its bytes are not asked for (5: the slot's end says), and the
 *			distance from the group's start in units of 16. A block may begin behind the
 *			slot's start, for its alignment or since the allocator goes round in the slot:
 *			then the header at the start says how far (7 in place of what is not asked
 *			for), and the block has a header as well. 6: a nested group. 255: freed.
 *
 * So a block is where a header says, which is looked at for each slot in use. The last 4 bytes of
 * each slot are the header of the next one: the chunk of a block goes to the start of the next
 * slot.
 *
 * It is found by these: a word (the secret) before which and behind which nothing is known, the
 * pointer to the first area at its place behind it, and the same word at the start of that page.
 * That area and all others have 101 metas, and the list ends where the context says. Two layouts of
 * the context are known, with the size of a page in it and without (as on x86-64).
 *
 * What is checked: a group points back to its meta; it lies in memory that the process may write,
 * and in a slot that is marked so, if it is not mapped or donated; all slots fit; the number and
 * the place in a header are those of its slot; the slots of a class are as many as the context
 * counts; groups do not overlap.
 *
 * A thread that allocates clears the bit in avail, and then writes the header; one that frees does
 * it in the order header, bit. In between the header does not fit: such a slot is free, or about to
 * be given out, and it is listed as free.
 */

#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/compiler.h"
#include "base/page.h"
#include "heap/bare_walk.h"
#include "log/log.h"

#define UNIT		16u		/* bytes of a group's header, and what slots are multiples of */
#define HEADER		4u		/* bytes before a block */
#define CLASSES		48u
#define CLASS_MAPPED	63u
#define METAS		101u		/* of an area */
#define META_WORDS	5u
#define AREA_WORDS	3u		/* before its first meta */
#define NESTED_MOST	8u		/* groups in one another: each is shorter by half and more */
#define READ_MOST	(512u << 10)	/* a group with 32 slots of a page and a half */
#define STRIDE_WHOLE	PAGE		/* longer slots are not read, but their headers */

/* Offsets in the context, in words; with the size of a page (`paged`) one more. */
enum { CONTEXT_SECRET, CONTEXT_INIT, CONTEXT_HEAD = 7, CONTEXT_TAIL, CONTEXT_ACTIVE = 10,
       CONTEXT_USAGE = CONTEXT_ACTIVE + CLASSES, CONTEXT_WORDS = CONTEXT_USAGE + CLASSES + 10 };

/* The three bits of a header beside the number of the slot. */
enum { RESERVED_AT_END = 5, RESERVED_NESTED, RESERVED_OFFSET };

static const uint16_t size_class[CLASSES] = {
	1, 2, 3, 4, 5, 6, 7, 8,
	9, 10, 12, 15,
	18, 20, 25, 31,
	36, 42, 50, 63,
	72, 84, 102, 127,
	146, 170, 204, 255,
	292, 340, 409, 511,
	584, 682, 818, 1023,
	1169, 1364, 1637, 2047,
	2340, 2730, 3276, 4095,
	4680, 5460, 6552, 8191,
};

struct group {
	uint64_t start;
	uint64_t meta;
	uint64_t pages;		/* 0: it is nested or donated */
	uint32_t free;		/* bits of slots that the program does not have */
	uint8_t last, class;
	bool freeable;		/* not donated */
	bool done;		/* it is listed, or left out for a reason that was said */
};

struct musl {
	struct bare_walk bare;
	struct heap_walk walk;
	uint64_t context;
	bool paged;
	uint64_t secret, head, tail;
	uint64_t usage[CLASSES];	/* slots by class, as the context counts them */
	VEC(struct group) groups;	/* in order of address */
};

static uint64_t stride_of(const struct group *group)
{
	if (!group->last && group->pages)
		return group->pages * PAGE - UNIT;
	return (uint64_t)UNIT * size_class[group->class];
}

static uint64_t end_of(const struct group *group)
{
	if (group->pages)
		return group->start + group->pages * PAGE;
	return group->start + UNIT + stride_of(group) * (group->last + 1u);
}

static bool is_mapped(const struct group *group)
{
	return group->class == CLASS_MAPPED;
}

static uint16_t heap_of(const struct group *group)
{
	return is_mapped(group) ? LOG_HEAP_MMAP : 0;
}

static struct err *damage_at(struct musl *musl, uint64_t address, const char *what, uint64_t word)
{
	return bare_walk_damage(&musl->bare, (struct heap_damage){ .address = address },
				"%s: 0x%" PRIx64, what, word);
}

/* The context */

static bool may_be_area(uint64_t address)
{
	return address && address % PAGE == 0 && address < BARE_ADDRESS_END;
}

static bool is_area(struct musl *musl, uint64_t address, uint64_t secret)
{
	uint64_t word[AREA_WORDS];

	return may_be_area(address) &&
	       !memory_read(musl->bare.source->memory, address, word, sizeof(word)) &&
	       word[0] == secret && (uint32_t)word[2] == METAS;
}

static bool look_for_context(void *ctx, uint64_t address, const uint64_t *word)
{
	struct musl *musl = ctx;

	if (!word[CONTEXT_SECRET])
		return false;
	for (unsigned paged = 0; paged < 2; paged++) {
		const uint64_t *at = word + paged;

		if ((uint32_t)at[CONTEXT_INIT] != 1 || (paged && word[1] != PAGE) ||
		    !may_be_area(at[CONTEXT_HEAD]) || !may_be_area(at[CONTEXT_TAIL]) ||
		    !is_area(musl, at[CONTEXT_HEAD], word[CONTEXT_SECRET]) ||
		    !is_area(musl, at[CONTEXT_TAIL], word[CONTEXT_SECRET]))
			continue;
		musl->context = address;
		musl->paged = paged;
		musl->secret = word[CONTEXT_SECRET];
		musl->head = at[CONTEXT_HEAD];
		musl->tail = at[CONTEXT_TAIL];
		memcpy(musl->usage, at + CONTEXT_USAGE, sizeof(musl->usage));
		return true;
	}
	return false;
}

/* Groups */

static const struct heap_map *map_of(const struct heap_source *source, uint64_t address)
{
	size_t low = LOWER_BOUND(i, 0, source->nr_maps, source->map[i].end <= address);

	return low < source->nr_maps && source->map[low].start <= address ? &source->map[low] : NULL;
}

/* NULL, or what is wrong with it. */
static const char *misfit(struct musl *musl, const struct group *group)
{
	const struct heap_map *map = map_of(musl->bare.source, group->start);
	uint64_t meta;

	if (group->start % UNIT || !map)
		return "no group can be here";
	if (group->class >= CLASSES && (!is_mapped(group) || group->last || !group->pages))
		return "this group is of no size class";
	if (group->pages > (map->end - group->start) / PAGE || end_of(group) > map->end ||
	    (group->pages && UNIT + stride_of(group) * (group->last + 1u) > group->pages * PAGE))
		return "the slots of this group do not fit";
	if (memory_read_u64(musl->bare.source->memory, group->start, &meta) || meta != group->meta)
		return "this group does not point back";
	return NULL;
}

static struct err *add_meta(struct musl *musl, uint64_t address, const uint64_t *word)
{
	uint32_t all;
	struct group group = {
		.start = word[2],
		.meta = address,
		.free = (uint32_t)word[3] | (uint32_t)(word[3] >> 32),
		.last = word[4] & 31,
		.freeable = word[4] >> 5 & 1,
		.class = word[4] >> 6 & 63,
		.pages = word[4] >> 12,
	};
	const char *wrong;

	if (!group.start)
		return NULL;
	wrong = misfit(musl, &group);
	if (wrong)
		return damage_at(musl, address + 16, wrong, group.start);
	all = (uint32_t)((2ull << group.last) - 1);
	if (group.free & ~all || (uint32_t)word[3] & (uint32_t)(word[3] >> 32))
		return damage_at(musl, address + 24, "the free slots of this group do not fit",
				 word[3]);
	return vec_push(&musl->groups, group);
}

static struct err *read_area(struct musl *musl, uint64_t address, const uint64_t *word)
{
	struct err *err = NULL;

	for (unsigned i = 0; i < METAS && !err; i++) {
		unsigned at = AREA_WORDS + META_WORDS * i;

		err = add_meta(musl, address + 8 * at, word + at);
	}
	return err;
}

static uint64_t areas_most(const struct heap_source *source)
{
	uint64_t pages = 0;

	for (size_t i = 0; i < source->nr_maps; i++)
		pages += (source->map[i].end - source->map[i].start) / PAGE;
	return pages;
}

/* A list that leads nowhere or round in a circle has lost what should follow. */
static struct err *read_areas(struct musl *musl)
{
	uint64_t left = areas_most(musl->bare.source), at = musl->head, next;
	uint64_t word[PAGE / 8];
	struct err *err = NULL;

	for (uint64_t from = musl->context; !err; from = at, at = next) {
		if (!left-- || !is_area(musl, at, musl->secret) ||
		    memory_read(musl->bare.source->memory, at, word, sizeof(word)))
			return damage_at(musl, from, "the next meta area cannot be found", at);
		next = word[1];
		err = read_area(musl, at, word);
		if (!err && !next && at != musl->tail)
			return damage_at(musl, at + 8, "the list of meta areas ends early", next);
		if (!next)
			break;
	}
	return err;
}

static struct err *check_usage(struct musl *musl)
{
	uint64_t slots[CLASSES] = { 0 };
	struct err *err = NULL;

	vec_each(group, &musl->groups)
		if (group->freeable && !is_mapped(group))
			slots[group->class] += group->last + 1u;
	for (unsigned i = 0; i < CLASSES && !err; i++)
		if (slots[i] != musl->usage[i])
			err = damage_at(musl, musl->context + 8 * (CONTEXT_USAGE + musl->paged + i),
					"the groups of a size class have another number of slots",
					slots[i]);
	return err;
}

/* Slots */

static struct err *list_group(struct musl *musl, struct group *group, unsigned depth);

struct slot {
	const struct group *group;
	uint64_t start, end;
	uint64_t want;		/* how many bytes behind the slot's header will be used */
	unsigned nr;
};

/* The header before address, as a word: its second byte is the number of the slot with 3 bits. */
static bool header_at(struct musl *musl, const struct slot *slot, uint64_t address, uint32_t *ret)
{
	const void *bytes = bare_walk_read(&musl->bare, address - HEADER, HEADER,
					   MAX((size_t)slot->want, (size_t)HEADER));

	if (bytes)
		memcpy(ret, bytes, HEADER);
	return bytes;
}

static uint8_t code_of(uint32_t header)
{
	return (uint8_t)(header >> 8);
}

/* Does the header of the block at address say that it is one, in this slot? */
static bool fits(struct musl *musl, const struct slot *slot, uint64_t address, uint32_t header)
{
	uint64_t offset = (address - slot->group->start - UNIT) / UNIT;
	uint8_t code = code_of(header);
	uint32_t wide;

	if ((code & 31) != slot->nr || code >> 5 > RESERVED_AT_END ||
	    (code >> 5 < RESERVED_AT_END && code >> 5 > slot->end - HEADER - address))
		return false;
	if (!(header & 0xff))
		return header >> 16 == offset;
	return !(header >> 16) && !memory_read(musl->bare.source->memory, address - 8, &wide, 4) &&
	       wide == offset;
}

/*
 * Find the block of a slot whose header says that it begins farther behind. The distance has 16
 * bits, and of large blocks with a large alignment its upper ones are lost.
 */
static bool find_behind(struct musl *musl, const struct slot *slot, uint32_t header, uint64_t *ret)
{
	uint64_t at = slot->start + (uint64_t)(header >> 16) * UNIT;

	for (unsigned i = 0; i < 1024 && at < slot->end - HEADER; i++, at += (uint64_t)UNIT << 16) {
		if (at != slot->start && header_at(musl, slot, at, &header) &&
		    fits(musl, slot, at, header)) {
			*ret = at;
			return true;
		}
	}
	return false;
}

static struct err *list_nested(struct musl *musl, const struct slot *slot, unsigned depth)
{
	size_t low = LOWER_BOUND(i, 0, musl->groups.nr, musl->groups.at[i].start < slot->start);
	struct group *group = &musl->groups.at[low];
	struct err *err;

	/* It is being made, or was just given up. */
	if (low == musl->groups.nr || group->start != slot->start || group->pages || group->done ||
	    end_of(group) > slot->end || depth == NESTED_MOST)
		return bare_walk_add(&musl->bare, slot->start, slot->end - slot->start, CHUNK_OWN, 0);
	err = list_group(musl, group, depth + 1);
	if (err)
		return err;
	return bare_walk_add(&musl->bare, end_of(group), slot->end - end_of(group), CHUNK_OWN, 0);
}

static struct err *list_unfit(struct musl *musl, const struct slot *slot, uint32_t header)
{
	uint16_t heap = heap_of(slot->group);
	struct err *err = bare_walk_damage(&musl->bare, (struct heap_damage){
					.address = slot->start - HEADER, .heap = heap,
					.after = slot->start },
					   "the header of this slot, which is in use, does not fit: "
					   "0x%" PRIx32, header);

	if (err || heap == LOG_HEAP_MMAP)
		return err;
	return bare_walk_add(&musl->bare, slot->start, slot->end - slot->start, CHUNK_FREE, heap);
}

static struct err *list_used(struct musl *musl, const struct slot *slot, unsigned depth)
{
	uint16_t heap = heap_of(slot->group);
	uint64_t block = slot->start;
	uint32_t header = 0;
	struct err *err = NULL;

	if (!header_at(musl, slot, slot->start, &header))
		return list_unfit(musl, slot, header);
	if (code_of(header) >> 5 == RESERVED_NESTED && (code_of(header) & 31) == slot->nr &&
	    !is_mapped(slot->group))
		return list_nested(musl, slot, depth);
	if (code_of(header) == RESERVED_OFFSET << 5 ? !find_behind(musl, slot, header, &block) :
						      !fits(musl, slot, block, header))
		return list_unfit(musl, slot, header);
	if (heap != LOG_HEAP_MMAP)
		err = bare_walk_add(&musl->bare, slot->start, block - slot->start, CHUNK_OWN, heap);
	return err ? err : bare_walk_add(&musl->bare, block, slot->end - block, CHUNK_USED, heap);
}

/* How much of a group is worth a read: to the end of its last slot in use, if pages are in use. */
static uint64_t wanted(const struct group *group)
{
	uint32_t all = (uint32_t)((2ull << group->last) - 1), used = all & ~group->free;
	uint64_t stride = stride_of(group);

	if (!used || stride > STRIDE_WHOLE)
		return HEADER;
	return (32u - (unsigned)__builtin_clz(used)) * stride;
}

static struct err *list_group(struct musl *musl, struct group *group, unsigned depth)
{
	uint64_t stride = stride_of(group), first = group->start + UNIT;
	uint64_t end = first + wanted(group);
	struct err *err = NULL;

	group->done = true;
	if (!is_mapped(group))
		err = bare_walk_add(&musl->bare, group->start, UNIT, CHUNK_OWN, 0);
	for (unsigned i = 0; i <= group->last && !err; i++) {
		struct slot slot = { .group = group, .nr = i, .start = first + i * stride };

		slot.end = slot.start + stride;
		slot.want = end > slot.start ? MIN(end - slot.start, (uint64_t)READ_MOST) : HEADER;
		err = group->free >> i & 1 ?
			bare_walk_add(&musl->bare, slot.start, stride, CHUNK_FREE, heap_of(group)) :
			      list_used(musl, &slot, depth);
	}
	if (!err && !is_mapped(group))
		err = bare_walk_add(&musl->bare, first + stride * (group->last + 1u),
				    end_of(group) - first - stride * (group->last + 1u), CHUNK_OWN,
				    0);
	return err;
}

COMPARE_BY(by_start, struct group, x, x->start)

static struct err *list_groups(struct musl *musl)
{
	uint64_t behind = 0;
	struct err *err = NULL;

	vec_sort(&musl->groups, by_start);
	vec_each_while(group, &musl->groups, !err) {
		if (group->done)
			continue;
		if (group->start < behind) {
			err = damage_at(musl, group->meta + 16,
					"this group lies in a slot that is not marked so",
					group->start);
			continue;
		}
		behind = end_of(group);
		err = bare_walk_span(&musl->bare, group->start, behind, heap_of(group));
		if (!err)
			err = list_group(musl, group, 0);
	}
	return err;
}

static struct err *walk_context(struct musl *musl)
{
	struct err *err = bare_walk_arena(&musl->bare, musl->context);

	musl->walk.caches_known = true;		/* there are none */
	musl->walk.mmapped_certain = true;
	if (!err)
		err = read_areas(musl);
	if (!err)
		err = check_usage(musl);
	if (!err)
		err = list_groups(musl);
	return err ? err : bare_walk_end(&musl->bare);
}

struct err *musl_walk(const struct heap_source *source, struct heap_walk *ret)
{
	struct musl musl = { .walk = HEAP_WALK_INIT };
	struct err *err = NULL;
	bool found = false;

	musl.bare = (struct bare_walk)BARE_WALK_INIT(source, &musl.walk);
	for (size_t i = 0; i < source->nr_libcs && !err && !found; i++) {
		err = bare_walk_search(&musl.bare, i, CONTEXT_WORDS + 1, look_for_context, &musl,
				       &found);
		if (!err && found)
			err = walk_context(&musl);
		vec_each(arena, &musl.walk.arenas)
			arena->libc = (uint16_t)i;
	}
	if (!err && !found)
		err = err_create(ERR_NOTFOUND, "no heap of musl's mallocng is there");
	vec_free(&musl.groups);
	bare_walk_free(&musl.bare);
	if (err)
		heap_walk_free(&musl.walk);
	else
		*ret = musl.walk;
	return err;
}
