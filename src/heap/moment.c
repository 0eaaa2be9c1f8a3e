/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The sums of live blocks at earlier moments. */

#include "heap/moment.h"

struct err *moment_take(const struct live_counts *live, uint64_t time_ns, struct moment *ret)
{
	struct moment moment = { time_ns, VEC_INIT };
	struct err *err = NULL;

	for (size_t i = 0; i < live->nr && !err; i++) {
		const struct sample_share *sum = &live->at[i];

		if (sum->blocks)
			err = vec_push(&moment.vec, ((struct moment_sum){ (uint32_t)i, sum->bytes,
									  sum->blocks }));
	}
	if (err)
		moment_free(&moment);
	else
		*ret = moment;
	return err;
}

void moment_free(struct moment *moment)
{
	vec_free(&moment->vec);
}

/* Returns how many moments are old enough. */
static uint32_t old_enough(const struct moments *moments, uint64_t now_ns)
{
	uint32_t nr = 0;

	while (nr < moments->nr && moments->at[nr].time_ns + MOMENT_AGE_NS <= now_ns)
		nr++;
	return nr;
}

const struct moment *moments_before(const struct moments *moments, uint64_t now_ns)
{
	uint32_t nr = old_enough(moments, now_ns);

	return nr ? &moments->at[nr - 1] : NULL;
}

static void drop_first(struct moments *moments, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++)
		moment_free(&moments->at[i]);
	for (uint32_t i = nr; i < moments->nr; i++)
		moments->at[i - nr] = moments->at[i];
	moments->nr -= nr;
}

/*
 * Only the latest of the moments that are old enough is needed. At most one of the others is a step
 * older than this one, since steps are half of that age. So there is room.
 */
void moments_add(struct moments *moments, struct moment *moment)
{
	uint32_t nr = old_enough(moments, moment->time_ns);

	if (nr > 1)
		drop_first(moments, nr - 1);
	if (moments->nr == MOMENTS_MOST ||
	    (moments->nr &&
	     moments->at[moments->nr - 1].time_ns + MOMENT_STEP_NS > moment->time_ns))
		moment_free(moment);
	else
		moments->at[moments->nr++] = *moment;
	*moment = (struct moment)MOMENT_INIT;
}

void moments_clear(struct moments *moments)
{
	drop_first(moments, moments->nr);
}
