/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds tcmalloc's spans by its page map (theory in tcmalloc.h). */

#include <inttypes.h>

#include "base/compiler.h"
#include "heap/tcmalloc/tcmalloc.h"

#define CUT_MOST	(8ull << 20)	/* bytes of a span that is cut into objects */
#define STATES_A_CHUNK	16u		/* objects for each chunk that there may be */
#define BAD_MOST	16u		/* entries that lead to no span, whatever others do */

/* Goes through the page map. */
struct pages {
	uint64_t next;		/* the first page behind the last span */
	bool bad;		/* the entry before led to no span */
	uint64_t nr_bad;
};

/* Why the page map's entry leads to no span; NULL: it does. *ret has all but `first`. */
static const char *read_span(struct tcmalloc *tc, uint64_t at, uint64_t page,
			     struct tcmalloc_span *ret)
{
	uint64_t span[SPAN_SIZE / 8], length, bits;

	if (at % 8 || !tcmalloc_read(tc, at, span, sizeof(span)))
		return "leads to no span";
	length = span[SPAN_LENGTH / 8];
	bits = span[SPAN_BITS / 8];
	*ret = (struct tcmalloc_span){
		.start = page << tc->page_shift, .bytes = length << tc->page_shift, .at = at,
		.objects = span[SPAN_OBJECTS / 8], .refs = (uint16_t)bits,
		.class = (uint8_t)(bits >> 16), .where = bits >> 24 & 3,
	};
	if (span[0] != page)
		return "leads to a span that begins elsewhere";
	if (!length || length >> tcmalloc_page_bits(tc) ||
	    tcmalloc_layout_page(tc, page + length - 1) != at)
		return "leads to a span of another length";
	if (!tcmalloc_is_mapped(tc, ret->start))
		return "has a span where no memory is";
	if (ret->where > SPAN_RETURNED || ret->class >= tc->classes ||
	    (ret->class && (ret->where != SPAN_USED || ret->bytes > CUT_MOST ||
			    ret->bytes < tc->class[ret->class].size)))
		return "leads to a span that cannot be";
	return NULL;
}

static struct err *add_span(struct tcmalloc *tc, struct tcmalloc_span span)
{
	uint64_t most = tc->bare.source->most_chunks;

	span.first = tc->objects;
	if (span.class) {
		struct tcmalloc_class *class = &tc->class[span.class];

		span.nr = (uint32_t)(span.bytes / class->size);
		class->spans++;
		tc->objects += span.nr;
	}
	if (most && tc->objects / STATES_A_CHUNK > most)
		return err_create(ERR_RANGE, "more than %" PRIu64 " chunks", most);
	return vec_push(&tc->spans, span);
}

static struct err *look_at_entry(struct tcmalloc *tc, struct pages *pages, uint64_t page,
				 uint64_t where, uint64_t entry)
{
	struct tcmalloc_span span;
	const char *why = NULL;
	bool bad = pages->bad;

	/* What is inside of a span is not looked at. */
	if (page < pages->next)
		return NULL;
	pages->bad = false;
	if (!entry)
		return NULL;
	why = read_span(tc, entry, page, &span);
	if (!why) {
		pages->next = page + (span.bytes >> tc->page_shift);
		return add_span(tc, span);
	}
	/* One that was a span has as many entries as pages. */
	pages->bad = true;
	pages->nr_bad += !bad;
	return bad ? NULL : bare_walk_damage(&tc->bare, (struct heap_damage){ .address = where },
					     "the page map %s", why);
}

static struct err *look_at_leaf(struct tcmalloc *tc, struct pages *pages, uint64_t first,
				uint64_t leaf)
{
	uint64_t end = leaf + (8ull << tcmalloc_leaf_bits(tc)), at = leaf, start, stop;
	struct err *err = NULL;

	while (!err && at < end && memory_next(tc->bare.source->memory, at, end, &start, &stop)) {
		for (at = leaf + ALIGN_UP(start - leaf, 8); at + 8 <= stop && !err; at += 8) {
			uint64_t entry;

			if (tcmalloc_word(tc, at, &entry))
				err = look_at_entry(tc, pages, first + (at - leaf) / 8, at, entry);
		}
		at = stop;
	}
	return err;
}

/* How many leaves there is memory for: no more are looked at. */
static uint64_t leaves_most(const struct tcmalloc *tc)
{
	const struct heap_source *source = tc->bare.source;
	uint64_t bytes = 0;

	for (size_t i = 0; i < source->nr_maps; i++)
		bytes += source->map[i].end - source->map[i].start;
	return bytes / (8ull << tcmalloc_leaf_bits(tc));
}

static struct err *look_at_leaves(struct tcmalloc *tc, struct pages *pages)
{
	unsigned bits = tcmalloc_leaf_bits(tc);
	uint64_t room = leaves_most(tc), leaf;
	struct err *err = NULL;

	for (uint64_t i = 0; i < 1ull << (tcmalloc_page_bits(tc) - bits) && !err; i++) {
		uint64_t where = tc->root + i * 8;

		if (!tcmalloc_word(tc, where, &leaf) || !leaf)
			continue;
		if (room && leaf % 8 == 0 && tcmalloc_is_mapped(tc, leaf)) {
			err = look_at_leaf(tc, pages, i << bits, leaf);
			room--;
			continue;
		}
		err = bare_walk_damage(&tc->bare, (struct heap_damage){ .address = where },
				       "the page map has no such leaf: 0x%" PRIx64, leaf);
	}
	return err;
}

struct err *tcmalloc_spans_find(struct tcmalloc *tc)
{
	struct pages pages = { .next = 0 };
	struct err *err = look_at_leaves(tc, &pages);

	if (err)
		return err;
	if (pages.nr_bad > BAD_MOST && pages.nr_bad > tc->spans.nr / 4)
		return err_create(ERR_UNSUPPORTED, "tcmalloc: its spans are not laid out as in "
				  "gperftools 2.10");
	tc->state = calloc(tc->objects / 4 + 1, 1);
	return tc->state ? NULL : err_nomem;
}

struct err *tcmalloc_spans_look(const struct heap_source *source, size_t libc,
			       struct tcmalloc **ret)
{
	struct heap_walk walk = HEAP_WALK_INIT;
	struct err *err;

	*ret = tcmalloc_open(source, libc, &walk);
	err = *ret ? tcmalloc_layout_find(*ret) : err_nomem;
	if (!err)
		err = tcmalloc_spans_find(*ret);
	heap_walk_free(&walk);
	return err;
}
