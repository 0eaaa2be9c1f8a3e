/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Computes the difference of two lists of sites (difference.h). */

#include "answer/difference.h"

#include "heap/moment.h"
#include "log/log.h"

static int order_of(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static uint64_t size_of(int64_t change)
{
	return change < 0 ? -(uint64_t)change : (uint64_t)change;
}

static int by_size(const void *va, const void *vb)
{
	const struct change *a = va, *b = vb;
	int order = order_of(size_of(b->bytes), size_of(a->bytes));

	if (!order)
		order = order_of(size_of(b->count), size_of(a->count));
	if (!order)
		order = order_of(a->to, b->to);
	return order ? order : order_of(a->from, b->from);
}

static int by_key(const void *va, const void *vb)
{
	const struct difference_site *a = va, *b = vb;
	int order = order_of(a->key, b->key);

	if (!order)
		order = order_of(a->to, b->to);
	return order ? order : order_of(a->index, b->index);
}

/*
 * Take sites that have the same key. The arithmetic is unsigned, because a target may have written
 * any sizes into its log, and a file may have any.
 */
static struct err *add_group(const struct difference_site *group, size_t nr, struct difference *to)
{
	const struct difference_site *largest[2] = { NULL, NULL };
	struct change change;
	uint64_t bytes = 0, count = 0, from_bytes = 0;

	for (size_t i = 0; i < nr; i++) {
		const struct difference_site *site = &group[i];
		struct sample_share *total = site->to ? &to->to : &to->from;

		total->bytes += site->bytes;
		total->blocks += site->count;
		bytes += site->to ? site->bytes : -site->bytes;
		count += site->to ? site->count : -site->count;
		from_bytes += site->to ? 0 : site->bytes;
		if (!largest[site->to] || largest[site->to]->bytes < site->bytes)
			largest[site->to] = site;
	}
	change = (struct change){
		.from = largest[0] ? largest[0]->index : DIFFERENCE_NONE,
		.to = largest[1] ? largest[1]->index : DIFFERENCE_NONE,
		.by = !largest[0] || !largest[1] ? DIFFERENCE_ONLY :
		      group->by_names ? DIFFERENCE_NAMES : DIFFERENCE_EXACT,
		.bytes = (int64_t)bytes, .count = (int64_t)count, .from_bytes = from_bytes,
	};
	to->sites[change.by]++;
	if (!bytes && !count)
		return NULL;
	if (change.bytes > 0)
		to->grown += bytes;
	else
		to->shrunk += -bytes;
	return vec_push(&to->vec, change);
}

static struct err *add_groups(struct difference_sites *sites, struct difference *to)
{
	struct err *err = NULL;
	size_t nr;

	vec_sort(&sites->vec, by_key);
	for (size_t i = 0; !err && i < sites->vec.nr; i += nr) {
		const struct difference_site *group = &sites->vec.at[i];

		for (nr = 1; i + nr < sites->vec.nr && group[nr].key == group->key;)
			nr++;
		err = add_group(group, nr, to);
	}
	return err;
}

/* of_log: an index is the stack of one log, whichever list it is in. */
static struct err *build(struct difference_sites *sites, bool of_log, struct difference *ret)
{
	struct difference difference = DIFFERENCE_INIT;
	struct err *err = add_groups(sites, &difference);

	if (err) {
		difference_free(&difference);
		return err;
	}
	if (of_log)
		vec_each(change, &difference.vec)
			change->from = change->to = MIN(change->from, change->to);
	vec_sort(&difference.vec, by_size);
	*ret = difference;
	return NULL;
}

struct err *difference_build(struct difference_sites *sites, struct difference *ret)
{
	return build(sites, false, ret);
}

static struct err *add_sums(const struct log *log, const struct moment *moment, bool to,
			    struct difference_sites *sites)
{
	struct err *err = vec_reserve(&sites->vec, moment->vec.nr);

	if (err)
		return err;
	vec_each(sum, &moment->vec) {
		uint32_t stack = log_deferred_whole(log, sum->stack);

		sites->vec.at[sites->vec.nr++] = (struct difference_site){
			.key = stack, .index = stack, .to = to, .bytes = sum->bytes,
			.count = sum->count };
	}
	return NULL;
}

struct err *difference_of_moments(const struct log *log, const struct moment *from,
				  const struct moment *to, struct difference *ret)
{
	struct difference_sites sites = { VEC_INIT };
	struct err *err = add_sums(log, from, false, &sites);

	if (!err)
		err = add_sums(log, to, true, &sites);
	if (!err)
		err = build(&sites, true, ret);
	vec_free(&sites.vec);
	if (!err)
		ret->older = (struct difference_older){
			.known = from->older.known && to->older.known,
			.bytes = (int64_t)(to->older.bytes - from->older.bytes),
			.frees = (int64_t)(to->older.frees - from->older.frees),
			.unsized = (int64_t)(to->older.unsized - from->older.unsized),
		};
	return err;
}

int64_t difference_net(const struct difference *difference)
{
	return (int64_t)(difference->grown - difference->shrunk -
			 (uint64_t)difference->older.bytes);
}

void difference_free(struct difference *difference)
{
	vec_free(&difference->vec);
}
