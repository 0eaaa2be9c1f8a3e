/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds the caches of tcmalloc's threads (theory in tcmalloc.h). */

#include <inttypes.h>
#include <string.h>

#include "base/compiler.h"
#include "heap/tcmalloc/tcmalloc.h"

#define LIST_SIZE	32u	/* bytes of a list of a cache: head, length, three numbers, size */
#define LIST_CLASS	24u	/* the size of its blocks, 4 bytes */
#define LISTS_BEFORE	16u	/* bytes of a cache before its lists: none, or these ... */
#define LISTS_BEHIND	256u	/* ... and behind them, at most */
#define CACHES_MOST	65536u

struct caches {
	struct tcmalloc *tc;
	VEC(uint64_t) head;	/* what words of the data lead to */
	uint64_t lists;		/* offset of the lists in a cache */
	uint64_t next;		/* of the pointer to the next one; prev is behind it */
};

/* Are there lists at address, with the sizes of all classes? */
static bool are_lists(struct tcmalloc *tc, uint64_t address)
{
	uint32_t size;

	if (!tcmalloc_layout_tries(tc))
		return false;
	/* The last class first: most words lead elsewhere. */
	for (unsigned i = tc->classes - 1; i < tc->classes; i--)
		if (!tcmalloc_read(tc, address + i * LIST_SIZE + LIST_CLASS, &size, sizeof(size)) ||
		    size != tc->class[i].size)
			return false;
	return true;
}

static bool look_for_cache(void *ctx, uint64_t address, const uint64_t *word)
{
	struct caches *caches = ctx;

	if (!*word || *word % 8 || !tcmalloc_layout_is_near(caches->tc, address) ||
	    !tcmalloc_is_mapped(caches->tc, *word))
		return false;
	for (uint64_t lists = 0; lists <= LISTS_BEFORE; lists += LISTS_BEFORE)
		if (are_lists(caches->tc, *word + lists)) {
			caches->lists = lists;
			/* Without memory it is not found. */
			if (vec_push(&caches->head, *word))
				return true;
			break;
		}
	return false;
}

/* How many caches there are from this one on, if next is at that offset; 0: it is not there. */
static unsigned chain_length(struct caches *caches, uint64_t cache, uint64_t next)
{
	uint64_t before = 0, link[2];
	unsigned nr = 0;

	for (; cache; cache = link[0]) {
		if (nr++ == CACHES_MOST || !are_lists(caches->tc, cache + caches->lists) ||
		    !tcmalloc_read(caches->tc, cache + next, link, sizeof(link)) ||
		    link[1] != before)
			return 0;
		before = cache;
	}
	return nr;
}

/* The offset and the head that make the longest chain. */
static uint64_t find_chain(struct caches *caches)
{
	uint64_t lists = (uint64_t)caches->tc->classes * LIST_SIZE;
	uint64_t room = 128 * LIST_SIZE, first = 0;
	unsigned longest = 0;

	room = MAX(room, lists) + LISTS_BEHIND;
	vec_each_value(head, &caches->head)
		for (uint64_t next = 0; next < caches->lists + room; next += 8) {
			unsigned nr;

			if (next == caches->lists)
				next += lists;
			nr = chain_length(caches, head, next);
			if (nr <= longest)
				continue;
			longest = nr;
			first = head;
			caches->next = next;
		}
	return first;
}

static struct err *mark_cache(struct tcmalloc *tc, uint64_t lists)
{
	struct err *err = NULL;

	for (unsigned i = 1; i < tc->classes && !err; i++) {
		struct tcmalloc_list list = { .where = lists + i * LIST_SIZE, .class = i,
					      .kind = CHUNK_CACHED,
					      .count_at = lists + i * LIST_SIZE + 8 };
		uint32_t length;

		if (!tcmalloc_word(tc, list.where, &list.head) ||
		    !tcmalloc_read(tc, list.count_at, &length, sizeof(length)))
			continue;
		list.count = length;
		if (list.head || length)
			err = tcmalloc_lists_follow(tc, &list);
	}
	return err;
}

struct err *tcmalloc_caches_mark(struct tcmalloc *tc)
{
	struct caches caches = { .tc = tc };
	uint64_t cache = 0;
	bool stopped;
	struct err *err = bare_walk_search(&tc->bare, tc->libc, 1, look_for_cache, &caches,
					   &stopped);

	if (!err && stopped)
		err = err_nomem;
	if (!err)
		cache = find_chain(&caches);
	tc->bare.walk->caches_known = cache;
	while (cache && !err) {
		err = mark_cache(tc, cache + caches.lists);
		if (!tcmalloc_word(tc, cache + caches.next, &cache))
			break;
	}
	vec_free(&caches.head);
	return err;
}
