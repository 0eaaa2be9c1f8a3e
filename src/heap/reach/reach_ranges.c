/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ranges of addresses: sorted, merged, taken away from each other. */

#include "heap/reach/reach.h"

COMPARE_BY(by_start, struct reach_range, x, x->start)

static void normalize(struct reach_ranges *ranges)
{
	size_t nr = 0;

	vec_sort(&ranges->vec, by_start);
	for (size_t i = 0; i < ranges->vec.nr; i++) {
		struct reach_range range = ranges->vec.at[i];

		if (range.start >= range.end)
			continue;
		if (nr && ranges->vec.at[nr - 1].end >= range.start)
			ranges->vec.at[nr - 1].end = MAX(ranges->vec.at[nr - 1].end, range.end);
		else
			ranges->vec.at[nr++] = range;
	}
	ranges->vec.nr = nr;
}

struct err *reach_ranges_subtract(struct reach_ranges *ranges, struct reach_ranges *out)
{
	struct reach_ranges left = { VEC_INIT };
	struct err *err = NULL;
	size_t o = 0;

	normalize(ranges);
	normalize(out);
	for (size_t i = 0; i < ranges->vec.nr && !err; i++) {
		struct reach_range range = ranges->vec.at[i];

		while (o < out->vec.nr && out->vec.at[o].end <= range.start)
			o++;
		for (size_t j = o; j < out->vec.nr && out->vec.at[j].start < range.end && !err;
		     j++) {
			if (range.start < out->vec.at[j].start)
				err = vec_push(&left.vec, ((struct reach_range){
					range.start, out->vec.at[j].start }));
			range.start = MAX(range.start, out->vec.at[j].end);
		}
		if (range.start < range.end && !err)
			err = vec_push(&left.vec, range);
	}
	if (err) {
		vec_free(&left.vec);
		return err;
	}
	vec_free(&ranges->vec);
	*ranges = left;
	return NULL;
}
