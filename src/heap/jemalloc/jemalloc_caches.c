/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Finds the free blocks in the caches of threads (jemalloc.h).
 *
 * A bin of 5.3 has a pointer to the first block of its stack, and the lower 16 bits of where its stack
 * begins and ends. One of 5.0 to 5.2 has the number of its blocks, and a pointer to the end. In both,
 * the stack of a bin ends where that of the next one begins, which is what an array of bins is known
 * by. Its distance from the thread pointer is the same in all threads of a process.
 */

#include "heap/jemalloc/jemalloc.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define BIN_WORDS	3u
#define BINS_LEAST	12u		/* end to end, or it is no array of bins */
#define BINS_MOST	128u
#define STACK_MOST	65536u		/* bytes of a bin's stack */
#define TLS_BYTES	65536u		/* of static TLS that are searched, below the thread pointer */

struct bin {
	uint64_t first, nr;		/* address of its first cached block's pointer; how many */
	uint64_t start, end;		/* of its stack; start is 0 where only the end is known */
};

/* 5.3: { void **stack_head; uint64_t nrequests; uint16_t low_water, full, empty; } */
static bool get_bin(const uint64_t *word, struct bin *ret)
{
	uint16_t head = (uint16_t)word[0], full = (uint16_t)(word[2] >> 16),
		 empty = (uint16_t)(word[2] >> 32);
	uint16_t held = (uint16_t)(empty - head), room = (uint16_t)(empty - full);

	if (!word[0] || word[0] % 8 || held % 8 || room % 8 || !room || held > room)
		return false;
	*ret = (struct bin){ word[0], held / 8, word[0] + held - room, word[0] + held };
	return true;
}

/* 5.0 to 5.2: { int32_t low_water, ncached; uint64_t nrequests; void **avail; } */
static bool get_counted_bin(const uint64_t *word, struct bin *ret)
{
	uint64_t nr = word[0] >> 32;

	if (!word[2] || word[2] % 8 || nr > STACK_MOST / 8)
		return false;
	*ret = (struct bin){ word[2] - nr * 8, nr, 0, word[2] };
	return true;
}

static bool follows(const struct bin *bin, const struct bin *before)
{
	if (bin->start)
		return bin->start == before->end;
	return bin->end > before->end && bin->end - before->end <= STACK_MOST &&
	       bin->first >= before->end;
}

/* The bins that begin at this word; 0: it is no array of bins. */
static unsigned bins_at(const struct jemalloc *jemalloc, const uint64_t *word, size_t nr_words,
			struct bin bin[BINS_MOST])
{
	bool counted = jemalloc->layout->counted_bins;
	unsigned nr = 0;

	while (nr < BINS_MOST && nr_words >= BIN_WORDS &&
	       (counted ? get_counted_bin(word, &bin[nr]) : get_bin(word, &bin[nr])) &&
	       (!nr || follows(&bin[nr], &bin[nr - 1]))) {
		word += BIN_WORDS;
		nr_words -= BIN_WORDS;
		nr++;
	}
	return nr >= BINS_LEAST ? nr : 0;
}

static struct err *add_bin(struct jemalloc *jemalloc, const struct bin *bin)
{
	uint64_t block[STACK_MOST / 8];
	size_t len;
	struct err *err = vec_push(&jemalloc->own.vec, bin->end - 8);

	if (err || !bin->nr)
		return err;
	if (memory_read_some(jemalloc->source->memory, bin->first, block, bin->nr * 8, &len))
		return NULL;
	for (size_t i = 0; i < len / 8 && !err; i++)
		err = vec_push(&jemalloc->cached.vec, block[i]);
	return err;
}

/* The static TLS below a thread pointer. Below that, a stack has pages that nobody has written. */
static size_t read_tls(const struct jemalloc *jemalloc, uint64_t tp, uint64_t *word)
{
	const struct heap_source *source = jemalloc->source;
	size_t i = LOWER_BOUND(j, 0, source->nr_maps, source->map[j].end < tp);
	uint64_t start;

	if (tp % 8 || i == source->nr_maps || source->map[i].start >= tp)
		return 0;
	start = MAX(source->map[i].start, tp - MIN(tp, TLS_BYTES));
	return memory_read_holes(source->memory, start, word, tp - start) ? (tp - start) / 8 : 0;
}

/*
 * Look at a thread's bins. *from_end: how many words before the thread pointer they are; 0: this is
 * not known yet. False: it has none, as a thread that has not allocated.
 */
static bool find_bins(const struct jemalloc *jemalloc, const uint64_t *word, size_t nr_words,
		      size_t *from_end, struct bin *bin, unsigned *nr_ret)
{
	if (*from_end) {
		if (*from_end > nr_words)
			return false;
		*nr_ret = bins_at(jemalloc, &word[nr_words - *from_end], *from_end, bin);
		return *nr_ret;
	}
	for (size_t i = 0; i + BIN_WORDS <= nr_words; i++) {
		*nr_ret = bins_at(jemalloc, &word[i], nr_words - i, bin);
		if (*nr_ret) {
			*from_end = nr_words - i;
			return true;
		}
	}
	return false;
}

struct err *jemalloc_caches_find(struct jemalloc *jemalloc)
{
	const struct heap_source *source = jemalloc->source;
	AUTO_FREE uint64_t *word = malloc(TLS_BYTES);
	struct bin bin[BINS_MOST];
	size_t from_end = 0;
	struct err *err = word ? NULL : err_nomem;
	unsigned nr;

	for (size_t i = 0; i < source->nr_threads && !err; i++) {
		size_t nr_words = read_tls(jemalloc, source->thread[i], word);

		if (find_bins(jemalloc, word, nr_words, &from_end, bin, &nr))
			for (unsigned j = 0; j < nr && !err; j++)
				err = add_bin(jemalloc, &bin[j]);
	}
	word_list_sort(&jemalloc->cached);
	word_list_sort(&jemalloc->own);
	jemalloc->walk->caches_known = source->all_threads && from_end;
	return err;
}
