/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The walk of tcmalloc's heap (gperftools 2.10, and others of its layout; 64 bits). Shared by the
 * files of the walk.
 *
 * tcmalloc takes memory from the kernel and never unmaps it. All of it is divided into spans of
 * whole pages of its own (mostly 8 KB). A span is a block, or is cut into objects of one size
 * class, or is free: kept (normal), or returned to the kernel by madvise. Small blocks that are
 * free are in the list of their span, in a transfer cache (chains of them, one for each slot of
 * their class), or in the list of a thread's cache. A list goes through the first words of its
 * blocks and ends with 0.
 *
 * Nothing is known of the build but the order of some fields. It is found in the module's data,
 * and no symbol is needed:
 *
 *	free_		Two heads of lists of spans, normal and returned, for each length up to a
 *			megabyte: a row of heads, 48 bytes each, most of which lead back to
 *			themselves. How many there are tells the size of a page (a megabyte divided
 *			by it, times two). Behind them are the sums of bytes: of the system, free,
 *			returned, committed. A place where these fit ends the row.
 *	central_cache_	An array with an element for each size class, which has its number, the
 *			heads of the lists of its spans without and with free objects, how many
 *			spans and free objects there are, and the slots of the transfer cache. The
 *			first element is of no class; its second and third successors tell how long
 *			one is. The number of slots is the one that an element has behind so many.
 *	class_to_size_	As many sizes as there are elements, ascending from 0; of 4 or 8 bytes.
 *	page map	A table of leaves. Of a span that the central lists lead to, the entry for
 *			its first page must lead to it; only one word of the data is the leaf that
 *			makes this so.
 *	threads' caches	A cache has a list for each class, with the size of the class.
 *			A word of the data leads to one. Behind the lists are next and prev: they
 *			are where all caches lead to one another.
 *
 * A span counts if the page map's entries of its first and its last page lead to it, and it says
 * that it begins there. Entries inside of a span are stale. Then its class, and where it is, must
 * fit. Its objects that are not free must be as many as it says, the spans of a class and their
 * free objects as many as the class says, and all spans together as long as the sums say. What
 * does not fit is damage; it is in doubt as long as a thread is inside tcmalloc. If most spans do
 * not fit, the build is another one, and nothing is walked.
 *
 * A thread that is inside may have a chain on its way between a cache and the central lists:
 * nothing but its words in flight lead to it. Such chains are loose (heap_walk.h).
 *
 * The rest of a span behind its last object belongs to the allocator (CHUNK_OWN); tcmalloc's own
 * figures count it as free in the central cache.
 *
 * Not supported: a page map of three levels (TCMALLOC_SMALL_BUT_SLOW), which is refused, as is the
 * tcmalloc that Google publishes by itself, whose data are others; and the debugging library,
 * whose blocks lie in the heap's. Where lists of caches have no sizes (old versions), caches are
 * not found.
 */
#pragma once

#include "heap/bare_walk.h"

#define TCMALLOC_CLASSES	256u	/* 128 in all builds */

struct tcmalloc_span {
	uint64_t start;		/* its memory */
	uint64_t bytes;
	uint64_t at;		/* of its struct Span */
	uint64_t objects;	/* its list */
	uint64_t first;		/* of its objects, in the states */
	uint32_t nr;		/* objects; 0: it is not cut */
	uint16_t refs;		/* objects that are not in its list */
	uint8_t class, where;	/* enum tcmalloc_where */
};

enum tcmalloc_where { SPAN_USED, SPAN_NORMAL, SPAN_RETURNED };

struct tcmalloc_class {
	uint64_t at;		/* its element of central_cache_ */
	uint64_t size;
	uint64_t spans, free;	/* that were found */
};

#define READER_PAGES	1024u

/* Pages that were read: lists go all over the heap, but stay in a part of it for long. */
struct tcmalloc_reader {
	uint8_t *bytes;		/* READER_PAGES pages */
	uint64_t page[READER_PAGES];	/* addresses; 0: none */
};

struct tcmalloc {
	struct bare_walk bare;
	struct tcmalloc_reader reader;
	size_t libc;		/* whose data are searched: its place in the source */
	unsigned page_shift;
	unsigned tried;		/* places that were looked at closely */
	uint64_t sums;		/* of bytes, behind free_ */
	uint64_t slots;		/* of a class's transfer cache */
	struct tcmalloc_class class[TCMALLOC_CLASSES];
	unsigned classes;	/* with number 0 */
	uint64_t root;		/* of the page map */
	VEC(struct tcmalloc_span) spans;	/* in order of address */
	/* what each object is, 2 bits: enum chunk_kind less CHUNK_USED, see tcmalloc_lists.c */
	uint8_t *state;
	uint64_t objects;
};

/* Offsets in a struct Span, and how long it is. */
#define SPAN_LENGTH	8u
#define SPAN_NEXT	16u
#define SPAN_PREV	24u
#define SPAN_OBJECTS	32u
#define SPAN_BITS	40u
#define SPAN_SIZE	48u

/* Offsets in an element of central_cache_. */
#define CENTRAL_CLASS		8u
#define CENTRAL_EMPTY		16u
#define CENTRAL_NONEMPTY	64u
#define CENTRAL_SPANS		112u
#define CENTRAL_FREE		120u
#define CENTRAL_SLOTS		128u
#define SLOT_SIZE		16u

/* The page that a word of the map is for. */
static inline unsigned tcmalloc_page_bits(const struct tcmalloc *tc)
{
	return 48 - tc->page_shift;
}

static inline unsigned tcmalloc_leaf_bits(const struct tcmalloc *tc)
{
	return (tcmalloc_page_bits(tc) + 1) / 2;
}

/* NULL: no memory. walk gets what is damaged. */
struct tcmalloc *tcmalloc_open(const struct heap_source *source, size_t libc,
			       struct heap_walk *walk);
void tcmalloc_close(struct tcmalloc *tc);

/* False: it cannot be read. */
bool tcmalloc_read(struct tcmalloc *tc, uint64_t address, void *buf, size_t len);
bool tcmalloc_word(struct tcmalloc *tc, uint64_t address, uint64_t *ret);
/* Is address in a private writable mapping? */
bool tcmalloc_is_mapped(const struct tcmalloc *tc, uint64_t address);

/*
 * Find all of tc but the spans. ERR_NOTFOUND: nothing was allocated yet; ERR_UNSUPPORTED: it is
 * laid out otherwise.
 */
struct err *tcmalloc_layout_find(struct tcmalloc *tc) MUST_CHECK;
/* May one more place be looked at closely? Whatever is in the data, the search ends. */
bool tcmalloc_layout_tries(struct tcmalloc *tc);
/* Is address near the central lists? All of tcmalloc's data is, also where it is linked in. */
bool tcmalloc_layout_is_near(const struct tcmalloc *tc, uint64_t address);
/* What the page map has for a page; 0: nothing. */
uint64_t tcmalloc_layout_page(struct tcmalloc *tc, uint64_t page);
/* Find the spans, and room for the states of their objects. */
struct err *tcmalloc_spans_find(struct tcmalloc *tc) MUST_CHECK;
/*
 * For looks without a walk: open one of the source's modules, and find its spans. *ret is the
 * caller's to close, in any case.
 */
struct err *tcmalloc_spans_look(const struct heap_source *source, size_t libc,
				struct tcmalloc **ret) MUST_CHECK;
/* Find out which objects are free. */
struct err *tcmalloc_lists_mark(struct tcmalloc *tc) MUST_CHECK;
/* CHUNK_USED, CHUNK_CACHED or CHUNK_FREE. */
enum chunk_kind tcmalloc_lists_kind(const struct tcmalloc *tc, uint64_t object);
/* Mark what the caches of threads have. */
struct err *tcmalloc_caches_mark(struct tcmalloc *tc) MUST_CHECK;

/* Objects of a class that are linked. */
struct tcmalloc_list {
	uint64_t where;		/* the word that leads to the first */
	uint64_t head;
	unsigned class;
	enum chunk_kind kind;	/* what they are */
	const struct tcmalloc_span *span;	/* they are in this one; NULL: in any */
	uint64_t count;		/* how many they should be ... */
	uint64_t count_at;	/* ... as this word says; 0: it is not known */
};

struct err *tcmalloc_lists_follow(struct tcmalloc *tc, const struct tcmalloc_list *list) MUST_CHECK;
