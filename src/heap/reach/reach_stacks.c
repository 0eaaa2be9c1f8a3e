/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Marking: stacks and registers (reach_private.h).
 *
 * A word that a call has left on a stack, or in a register, looks like a variable. So these roots
 * are read last, one word after the other, when all blocks that other roots lead to are known. If a
 * word leads to a block that nothing has led to yet, it is the holder of that block and of all
 * blocks that the block leads to. Words that point to the start of a block come first, so that the
 * holder is rather a pointer to the block than one into it; then words of outer frames come before
 * those of inner ones, since outer frames have the head of a list while inner ones walk along it.
 */

#include "heap/reach/reach_private.h"

#include <stdlib.h>

/*
 * More words than these become roots like the others: programs have a few hundred, and a stack can
 * be as large as its process makes it.
 */
#define WORDS_MAX	65536u

struct err *reach_stacks_collect(struct marker *marker, uint64_t place, const uint64_t *word,
				 size_t nr, bool is_register)
{
	struct err *err = NULL;

	for (size_t i = 0; i < nr && !err; i++) {
		struct extent_found is = extents_find(&marker->extents, word[i]);
		struct stack_word found = { .word = word[i], .block = is.block,
					    .is_register = is_register };

		if (is.block == EXTENT_NONE ||
		    (marker_at(marker, is.block)->state == REACHABLE &&
		     (is.outer == EXTENT_NONE || marker_at(marker, is.outer)->state == REACHABLE)))
			continue;
		if (marker->stack_words.nr == WORDS_MAX) {
			reach_words(marker, &word[i], 1);
			continue;
		}
		found.place = is_register ? place + i : place + i * sizeof(*word);
		found.strong = word[i] == marker_at(marker, is.block)->address;
		err = vec_push(&marker->stack_words, found);
	}
	return err;
}

static int by_weight(const void *va, const void *vb)
{
	const struct stack_word *a = va, *b = vb;

	if (a->strong != b->strong)
		return a->strong ? -1 : 1;
	if (a->is_register != b->is_register)
		return a->is_register ? 1 : -1;
	if (a->place != b->place)
		return (a->place < b->place) == a->is_register ? -1 : 1;
	return 0;
}

#define SWEPT	64u

/*
 * Follow all pending blocks. A whole program may depend on a few variables of main's: sweeps are
 * for that. They look at all windows, which would take too long for the many words of inner frames.
 */
static struct err *follow(struct marker *marker)
{
	struct err *err;

	if (!marker->nr_pending && !marker->nr_ready && !marker->nr_targets)
		return NULL;
	if (marker->ret->holders.nr <= SWEPT) {
		marker->draining = false;
		err = reach_sweep(marker);
		marker->draining = true;
		if (err)
			return err;
	}
	return reach_follow_pending(marker);
}

static struct err *look_at(struct marker *marker, const struct stack_word *at)
{
	struct reach_result *ret = marker->ret;
	uint32_t holder = ret->holder[at->block];
	struct err *err;

	if (holder && ret->holders.at[holder - 1].block == at->block)
		ret->holders.at[holder - 1].words++;
	if (marker_at(marker, at->block)->state == UNREACHED) {
		err = vec_push(&ret->holders, ((struct reach_holder){
			.place = at->place, .word = at->word, .block = at->block, .words = 1,
			.is_register = at->is_register }));
		if (err)
			return err;
		marker->holder = (uint32_t)ret->holders.nr;
	}
	marker->strength = FIRM;
	marker->origin = EXTENT_NONE;
	reach_words(marker, &at->word, 1);
	reach_words_end(marker);
	err = follow(marker);
	marker->holder = 0;
	return err;
}

/*
 * Add up the blocks of each holder. ret->holder has an entry for each block of the list; most are
 * 0.
 */
static void add_up(struct marker *marker)
{
	struct reach_result *ret = marker->ret;

	for (uint32_t i = 0; ret->holders.nr && i < marker->list->nr; i++) {
		struct reach_holder *holder = ret->holder[i] ?
						      &ret->holders.at[ret->holder[i] - 1] : NULL;

		if (!holder)
			continue;
		holder->blocks++;
		holder->bytes += packed_size(marker->list, marker_at(marker, i));
	}
}

struct err *reach_stacks_scan(struct marker *marker)
{
	const struct reach_source *source = marker->source;
	struct err *err = NULL;

	marker->on_stack = true;
	marker->collecting = true;
	marker->strength = FIRM;
	marker->origin = EXTENT_NONE;
	for (size_t i = 0; i < source->nr_stacks && !err; i++)
		err = reach_read_gaps(marker, source->stack[i].start, source->stack[i].end,
				      &marker->ret->unread_roots);
	marker->collecting = false;
	if (!err && source->nr_words > source->nr_certain)
		err = reach_stacks_collect(marker, source->nr_certain, source->word +
					   source->nr_certain,
					   source->nr_words - source->nr_certain, true);
	reach_words_end(marker);
	if (!err)
		err = follow(marker);
	if (err)
		return err;
	vec_sort(&marker->stack_words, by_weight);
	for (size_t i = 0; i < marker->stack_words.nr && !err; i++)
		err = look_at(marker, &marker->stack_words.at[i]);
	marker->on_stack = false;
	add_up(marker);
	return err;
}
