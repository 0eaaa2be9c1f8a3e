/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Walks the heap of mimalloc 2 (2.0 and 2.1).
 *
 * Layout
 *
 *	segment		At a multiple of 32 MB, and as long (64 MB before 2.0.7), or longer if it has
 *			one huge block. It consists of slices of 64 KB. At its start is a header with
 *			an array of what is known of each slice. The segments of a process are in no
 *			list, but each has a cookie: its address xor a word of the main heap.
 *	page		Some slices side by side with blocks of one size: what is known of it is in the
 *			array at its first slice. `slice_count` leads from one page to the next. A page
 *			whose blocks have no size is free; whether the process has its memory says the
 *			segment's mask of slices that are committed.
 *	blocks		`reserved` of them fit into a page, of which `capacity` were in use at some
 *			time. Those that are free are in four lists, linked by their first words:
 *			free, local_free (freed by the thread of the page), xthread_free (by others;
 *			its two lowest bits are none of the address), and thread_delayed_free of the
 *			heap that the page belongs to (by others, when the page was full). Blocks of the
 *			last two count as used. Nothing else tells that a block is in use.
 *	alignment	A block from memalign may begin inside a block. Nothing tells where; only a page
 *			that has such blocks has a flag. So the block is listed, or of one that the log
 *			has, the part from there on.
 *	abandoned	A segment whose thread has ended has no thread, and its pages have no heap.
 *
 * Neither the place of the fields nor the place where the blocks of a page begin are believed from
 * a version. The array of slices is where the words before it say how many slices there are, and
 * its first element how many of them the header takes; the length of an element is the one by which
 * the pages end where the segment does. The cookie of one segment leads to the word in the module's
 * data, and that to all other segments. A set of fields and a rule for the start of the blocks is
 * that of this build if nearly all pages fit it: their counts, as many blocks as the page has room
 * for, and lists that lead to the start of blocks.
 *
 * Builds that encode the links of free blocks (MI_SECURE of 3 and more, debug builds) have the
 * keys, but not at a place that data show: they are refused. So are mimalloc 1 and 3, whose
 * segments and pages are others.
 *
 * What is checked: the cookie of each segment, its sums, its pages, that each list stays in its
 * page and has no block twice, that the blocks in the lists and those in use are as many as the
 * page has.
 */
#pragma once

#include "heap/bare_walk.h"

#define SLICE		65536ull
#define SEGMENT_STEP	(32ull << 20)
#define PAGE_WORDS	14u		/* the most that an element of the array may have */

/* What is known of a page; fields are read by mimalloc_page_*. */
struct mi_page {
	uint64_t start;			/* of its first slice */
	uint64_t place;			/* of its element of the array */
	uint64_t word[PAGE_WORDS];	/* that element */
	uint32_t slices;
	uint32_t segment;		/* number */
};

struct mi_segment {
	uint64_t start;
	uint64_t slices, info, used, thread;
	bool huge;
	uint64_t commit[16];		/* bits of slices */
};

/* Offsets in an element of the array, in bytes. */
struct mi_fields {
	uint8_t free, local, used, used_len, size, size_len;
	uint8_t first;			/* 0: the rule says where its blocks begin */
	uint8_t thread, heap;
};

/* Where the blocks of a page begin, behind its first slice. */
enum mi_rule {
	RULE_384,		/* of up to 1024 bytes: 384 (2.0) */
	RULE_128,		/* ... 128 */
	RULE_SIZE,		/* of up to 64 bytes three of them, of up to 512 one (2.1) */
	RULE_NONE,
	RULES,
};

struct mi_layout {
	uint32_t slices, stride;	/* of the array, in bytes */
	uint32_t cookie;		/* in words from the start of the segment */
	uint32_t commit;		/* the same; 0: not known */
	const struct mi_fields *fields;
	enum mi_rule rule;
	uint32_t delayed;		/* of thread_delayed_free in a heap, in bytes; 0: not known */
};

struct mimalloc {
	struct bare_walk bare;
	struct heap_walk walk;
	struct mi_layout layout;
	uint64_t key;			/* a cookie is that xor the address */
	uint64_t key_at;
	size_t libc;			/* whose data have the key */
	VEC(struct mi_segment) segments;	/* in order of address */
	VEC(struct mi_page) pages;
	VEC(uint64_t) delayed;		/* blocks of the lists of heaps, in order */
	VEC(uint64_t) marks;		/* bits of the blocks of a page */
};

/* The numbers of a page. */
struct mi_numbers {
	uint64_t size, first;		/* of a block; address of the first one */
	uint32_t capacity, reserved;
	uint64_t used;
	uint64_t free, local, thread, heap;
	bool aligned;
};

/* The segments, their pages, and what these consist of. To be closed in any case. */
struct err *mimalloc_walk_open(struct mimalloc *ret, const struct heap_source *source) MUST_CHECK;
void mimalloc_walk_close(struct mimalloc *mimalloc);
/* Find the segments, and their pages. ERR_NOTFOUND, ERR_UNSUPPORTED. */
struct err *mimalloc_segments_find(struct mimalloc *mimalloc) MUST_CHECK;
/* Find which fields a page has; the pages are known. ERR_UNSUPPORTED */
struct err *mimalloc_page_find_fields(struct mimalloc *mimalloc) MUST_CHECK;
void mimalloc_page_numbers(const struct mi_layout *layout, const struct mi_page *page,
			   struct mi_numbers *ret);
bool mimalloc_page_in_use(const struct mi_layout *layout, const struct mi_page *page);
/* Do the counts fit each other and the room of the page? */
bool mimalloc_page_fits(const struct mi_page *page, const struct mi_numbers *numbers);
/* Is the address that of a block that was in use at some time? */
bool mimalloc_page_has(const struct mi_numbers *numbers, uint64_t address);
/* Read the lists of blocks that other threads than their heap's have freed. */
struct err *mimalloc_delayed_read(struct mimalloc *mimalloc) MUST_CHECK;
