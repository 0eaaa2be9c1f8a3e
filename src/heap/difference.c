/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Computes the difference of two moments. */

#include "heap/difference.h"

static uint64_t size_of(int64_t change)
{
	return change < 0 ? -(uint64_t)change : (uint64_t)change;
}

static int by_size(const void *va, const void *vb)
{
	const struct change *a = va, *b = vb;
	uint64_t one = size_of(a->bytes), other = size_of(b->bytes);

	if (one == other) {
		one = size_of(a->count);
		other = size_of(b->count);
	}
	if (one != other)
		return one > other ? -1 : 1;
	return a->stack < b->stack ? -1 : a->stack > b->stack;
}

COMPARE_BY(by_stack, struct change, x, x->stack)

/*
 * Push each sum of a moment as a change, multiplied by `sign`. The arithmetic is unsigned, because a
 * target may have written any sizes into its log.
 */
static struct err *push_sums(const struct log *log, const struct moment *moment, uint64_t sign,
			     struct difference *difference)
{
	struct err *err = NULL;

	vec_each_while(sum, &moment->vec, !err)
		err = vec_push(&difference->vec, ((struct change){
			log_stack_whole(log, sum->stack), (int64_t)(sign * sum->bytes),
			(int64_t)(sign * sum->count) }));
	return err;
}

/* Add up the changes of each stack, and remove stacks without a change. */
static void add_up(struct difference *difference)
{
	struct change *change = difference->vec.at;
	size_t nr = 0;

	for (size_t i = 0; i < difference->vec.nr;) {
		uint32_t stack = change[i].stack;
		uint64_t bytes = 0, count = 0;

		for (; i < difference->vec.nr && change[i].stack == stack; i++) {
			bytes += (uint64_t)change[i].bytes;
			count += (uint64_t)change[i].count;
		}
		if (!bytes && !count)
			continue;
		change[nr] = (struct change){ stack, (int64_t)bytes, (int64_t)count };
		if (change[nr].bytes > 0)
			difference->grown += bytes;
		else
			difference->shrunk += -bytes;
		nr++;
	}
	difference->vec.nr = nr;
}

struct err *difference_build(const struct log *log, const struct moment *from,
			     const struct moment *to, struct difference *ret)
{
	struct difference difference = { .from = moment_total(from), .to = moment_total(to) };
	struct err *err = push_sums(log, from, UINT64_MAX, &difference);

	if (!err)
		err = push_sums(log, to, 1, &difference);
	if (err) {
		difference_free(&difference);
		return err;
	}
	vec_sort(&difference.vec, by_stack);
	add_up(&difference);
	vec_sort(&difference.vec, by_size);
	*ret = difference;
	return NULL;
}

void difference_free(struct difference *difference)
{
	vec_free(&difference->vec);
}
