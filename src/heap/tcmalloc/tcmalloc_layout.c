/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds tcmalloc's structures in the data of its module (theory in tcmalloc.h). */

#include <string.h>

#include "base/compiler.h"
#include "heap/tcmalloc/tcmalloc.h"

#define LISTS_LEAST	8u	/* heads of free_: pages of 256 KB */
#define LISTS_MOST	512u	/* pages of 4 KB */
#define CLASSES_LEAST	16u
#define STRIDE_MOST	8192u	/* bytes of an element of central_cache_ */
#define SLOTS_MOST	256u
#define SIZE_MOST	(1u << 20)	/* of a class */
#define OUR_PAGE	4096u
#define NEAR		(8ull << 20)	/* bytes; tcmalloc has less than two million of data */
#define TRIES_MOST	(1u << 22)

bool tcmalloc_layout_tries(struct tcmalloc *tc)
{
	return tc->tried < TRIES_MOST && ++tc->tried;
}

bool tcmalloc_layout_is_near(const struct tcmalloc *tc, uint64_t address)
{
	return address - tc->class[0].at + NEAR < 2 * NEAR;
}

static bool leads_home(uint64_t address, const uint64_t *word)
{
	return word[SPAN_NEXT / 8] == address && word[SPAN_PREV / 8] == address;
}

/* May address be the head of a list of spans? A thread may be changing the list. */
static bool may_be_head(struct tcmalloc *tc, uint64_t address, bool *sure_ret)
{
	uint64_t link[2], back[2];

	*sure_ret = false;
	if (!tcmalloc_layout_tries(tc) ||
	    !tcmalloc_read(tc, address + SPAN_NEXT, link, sizeof(link)) || !link[0] || !link[1] ||
	    link[0] % 8 || link[1] % 8 || !tcmalloc_word(tc, link[0] + SPAN_PREV, &back[0]) ||
	    !tcmalloc_word(tc, link[1] + SPAN_NEXT, &back[1]))
		return false;
	*sure_ret = back[0] == address && back[1] == address;
	return true;
}

/* Bytes of the system, free, returned, committed. */
static bool are_sums(struct tcmalloc *tc, uint64_t address)
{
	uint64_t sum[4];

	if (!tcmalloc_read(tc, address, sum, sizeof(sum)) || !sum[0])
		return false;
	for (unsigned i = 0; i < 4; i++)
		if (sum[i] % OUR_PAGE || sum[i] > sum[0])
			return false;
	return true;
}

/* The end of a row of heads that address is in; 0: it is none that ends with sums. */
static uint64_t row_end(struct tcmalloc *tc, uint64_t address)
{
	bool sure;

	for (unsigned i = 0; i < LISTS_MOST; i++) {
		address += SPAN_SIZE;
		if (are_sums(tc, address))
			return address;
		if (!may_be_head(tc, address, &sure))
			return 0;
	}
	return 0;
}

/*
 * How many heads there are before end: a power of two, and most of them certain. 0: there are not.
 */
static unsigned row_length(struct tcmalloc *tc, uint64_t end)
{
	unsigned nr = 0, heads = LISTS_LEAST, certain = 0;
	bool sure;

	while (nr < LISTS_MOST && may_be_head(tc, end - (nr + 1) * SPAN_SIZE, &sure))
		nr++;
	if (nr < LISTS_LEAST)
		return 0;
	while (heads * 2 <= nr)
		heads *= 2;
	for (unsigned i = 1; i <= heads; i++)
		certain += may_be_head(tc, end - i * SPAN_SIZE, &sure) && sure;
	return certain >= heads - heads / 8 ? heads : 0;
}

static bool look_for_lists(void *ctx, uint64_t address, const uint64_t *word)
{
	struct tcmalloc *tc = ctx;
	unsigned heads;

	if (!leads_home(address, word))
		return false;
	tc->sums = row_end(tc, address);
	heads = tc->sums ? row_length(tc, tc->sums) : 0;
	if (!heads)
		return false;
	tc->page_shift = 20;
	for (; heads > 2; heads /= 2)
		tc->page_shift--;
	return true;
}

static bool is_element(struct tcmalloc *tc, uint64_t address, uint64_t class)
{
	uint64_t is;
	bool sure;

	return tcmalloc_layout_tries(tc) && tcmalloc_word(tc, address + CENTRAL_CLASS, &is) &&
	       is == class &&
	       may_be_head(tc, address + CENTRAL_EMPTY, &sure) &&
	       may_be_head(tc, address + CENTRAL_NONEMPTY, &sure);
}

/* The slots of a transfer cache; 0: it has none. */
static uint64_t slots_of(struct tcmalloc *tc, uint64_t address, uint64_t stride)
{
	int32_t size[3];	/* used, now, at most */

	for (unsigned nr = SLOTS_MOST; nr; nr--)
		if (CENTRAL_SLOTS + nr * SLOT_SIZE + sizeof(size) <= stride &&
		    tcmalloc_read(tc, address + CENTRAL_SLOTS + nr * SLOT_SIZE, size,
				  sizeof(size)) &&
		    size[2] == (int32_t)nr && !size[0] && size[1] >= 0 && size[1] <= size[2])
			return nr;
	return 0;
}

static bool look_for_central(void *ctx, uint64_t address, const uint64_t *word)
{
	struct tcmalloc *tc = ctx;
	uint64_t first = address - CENTRAL_CLASS, stride;

	/* The element of no class: its number, and two lists without a span. */
	if (word[0] || !leads_home(address + 8, word + 1) ||
	    !leads_home(address + 8 + SPAN_SIZE, word + 1 + SPAN_SIZE / 8))
		return false;
	for (stride = CENTRAL_SLOTS; stride <= STRIDE_MOST; stride += 8)
		if (is_element(tc, first + stride, 1) && is_element(tc, first + 2 * stride, 2))
			break;
	if (stride > STRIDE_MOST)
		return false;
	tc->classes = 0;
	while (tc->classes < TCMALLOC_CLASSES &&
	       is_element(tc, first + tc->classes * stride, tc->classes)) {
		tc->class[tc->classes].at = first + tc->classes * stride;
		tc->classes++;
	}
	tc->slots = slots_of(tc, first, stride);
	return tc->classes >= CLASSES_LEAST;
}

/* Are these the sizes of the classes, as numbers of width bytes? */
static bool are_sizes(struct tcmalloc *tc, uint64_t address, unsigned width)
{
	uint64_t before = 0;

	for (unsigned i = 0; i < tc->classes; i++) {
		uint64_t size = 0;

		if (!tcmalloc_read(tc, address + i * width, &size, width) || size % 8 ||
		    size > SIZE_MOST || (i ? size <= before : size))
			return false;
		tc->class[i].size = before = size;
	}
	return tc->class[1].size <= 16;
}

static bool look_for_sizes(void *ctx, uint64_t address, const uint64_t *word)
{
	struct tcmalloc *tc = ctx;
	uint32_t half[6];

	memcpy(half, word, sizeof(half));
	if (!word[0] && word[1] && word[1] <= 16 && are_sizes(tc, address, 8))
		return true;
	for (unsigned i = 0; i < 2; i++)
		if (!half[i] && half[i + 1] && half[i + 1] <= 16 &&
		    are_sizes(tc, address + i * 4, 4))
			return true;
	return false;
}

uint64_t tcmalloc_layout_page(struct tcmalloc *tc, uint64_t page)
{
	unsigned bits = tcmalloc_leaf_bits(tc);
	uint64_t leaf, span;

	if (page >> tcmalloc_page_bits(tc) ||
	    !tcmalloc_word(tc, tc->root + (page >> bits) * 8, &leaf) || !leaf ||
	    !tcmalloc_word(tc, leaf + (page & ((1ull << bits) - 1)) * 8, &span))
		return 0;
	return span;
}

struct root {
	struct tcmalloc *tc;
	uint64_t span, page;	/* of one that a central list leads to */
};

/* Do the other classes' spans confirm the page map? */
static bool is_confirmed(struct tcmalloc *tc)
{
	unsigned fit = 0, differ = 0;

	for (unsigned i = 0; i < tc->classes; i++)
		for (uint64_t head = CENTRAL_EMPTY; head <= CENTRAL_NONEMPTY; head += SPAN_SIZE) {
			uint64_t list = tc->class[i].at + head, span, page;

			if (!tcmalloc_word(tc, list + SPAN_NEXT, &span) || span == list ||
			    !tcmalloc_word(tc, span, &page))
				continue;
			if (tcmalloc_layout_page(tc, page) == span)
				fit++;
			else
				differ++;
		}
	return fit > differ * 4;
}

static bool in_data(const struct tcmalloc *tc, uint64_t start, uint64_t len)
{
	const struct heap_libc *libc = &tc->bare.source->libc[tc->libc];

	for (size_t i = 0; i < libc->nr_data; i++)
		if (start >= libc->data[i].start && start < libc->data[i].end)
			return len <= libc->data[i].end - start;
	return false;
}

static bool look_for_root(void *ctx, uint64_t address, const uint64_t *word)
{
	const struct root *root = ctx;
	struct tcmalloc *tc = root->tc;
	unsigned bits = tcmalloc_leaf_bits(tc);
	uint64_t is;

	if (!*word || *word % 8 || !tcmalloc_layout_is_near(tc, address) ||
	    !tcmalloc_is_mapped(tc, *word) || !tcmalloc_layout_tries(tc) ||
	    !tcmalloc_word(tc, *word + (root->page & ((1ull << bits) - 1)) * 8, &is) ||
	    is != root->span)
		return false;
	tc->root = address - (root->page >> bits) * 8;
	return in_data(tc, tc->root, 8ull << (tcmalloc_page_bits(tc) - bits)) && is_confirmed(tc);
}

/* Any span of a class. */
static bool find_span(struct tcmalloc *tc, struct root *ret)
{
	for (unsigned i = 1; i < tc->classes; i++)
		for (uint64_t head = CENTRAL_EMPTY; head <= CENTRAL_NONEMPTY; head += SPAN_SIZE) {
			uint64_t list = tc->class[i].at + head, back;

			if (tcmalloc_word(tc, list + SPAN_NEXT, &ret->span) && ret->span != list &&
			    tcmalloc_word(tc, ret->span + SPAN_PREV, &back) && back == list &&
			    tcmalloc_word(tc, ret->span, &ret->page) &&
			    !(ret->page >> tcmalloc_page_bits(tc)))
				return true;
		}
	return false;
}

/* A pointer to memory that is not the module's: something was allocated, whatever allocates. */
static bool look_for_any(void *ctx, uint64_t address UNUSED, const uint64_t *word)
{
	const struct tcmalloc *tc = ctx;

	return *word && *word % 8 == 0 && tcmalloc_is_mapped(tc, *word) && !in_data(tc, *word, 1);
}

static struct err *lacks(struct tcmalloc *tc, const char *what)
{
	bool any;
	struct err *err = bare_walk_search(&tc->bare, tc->libc, 1, look_for_any, tc, &any);

	if (err)
		return err;
	if (!any)
		return err_create(ERR_NOTFOUND, "tcmalloc: nothing was allocated yet");
	return err_create(ERR_UNSUPPORTED, "tcmalloc: no %s found, as gperftools 2.10 has them",
			  what);
}

struct err *tcmalloc_layout_find(struct tcmalloc *tc)
{
	struct root root = { .tc = tc };
	bool found;
	struct err *err = bare_walk_search(&tc->bare, tc->libc, 6, look_for_lists, tc, &found);

	if (!err && !found)
		return lacks(tc, "lists of free spans are");
	if (!err)
		err = bare_walk_search(&tc->bare, tc->libc, 13, look_for_central, tc, &found);
	if (!err && !found)
		return lacks(tc, "central lists are");
	if (!err)
		err = bare_walk_search(&tc->bare, tc->libc, 3, look_for_sizes, tc, &found);
	if (!err && !found)
		return lacks(tc, "sizes of classes are");
	if (err)
		return err;
	if (!find_span(tc, &root))
		return err_create(ERR_NOTFOUND, "tcmalloc: nothing was allocated yet");
	err = bare_walk_search(&tc->bare, tc->libc, 1, look_for_root, &root, &found);
	return err || found ? err : lacks(tc, "leaves of a page map are");
}
