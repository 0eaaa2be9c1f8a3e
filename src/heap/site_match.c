/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Matches the sites of two lists, and computes their difference (site_match.h). */

#include "heap/site_match.h"

#include "base/cleanup.h"

enum { FROM, TO, SIDES };

/* What a frame is compared by: build and offset, or 0 and name. */
struct key {
	uint64_t build, at;
};

/* A site of one of the lists. */
struct ref {
	const uint8_t *builds;		/* by number: a bit for each list that has it */
	const struct match_frame *at, *end;
	const struct match_site *site;
	uint64_t hash;			/* of the keys */
	uint32_t side, index;
};

struct ref_list {
	VEC(struct ref) vec;
};

static bool is_by_build(const uint8_t *builds, const struct match_frame *frame)
{
	return frame->build &&
	       (!frame->name || builds[frame->build] == (1 << FROM | 1 << TO));
}

/* Get the next key from *at on. False: there is no other. */
static bool next_key(const struct ref *ref, const struct match_frame **at, struct key *ret)
{
	while (*at != ref->end) {
		const struct match_frame *frame = (*at)++;

		if (!is_by_build(ref->builds, frame)) {
			*ret = (struct key){ 0, frame->name };
			return true;
		}
		if (!frame->inlined) {
			*ret = (struct key){ frame->build, frame->offset };
			return true;
		}
	}
	return false;
}

static uint64_t hash_of(const struct ref *ref)
{
	const struct match_frame *at = ref->at;
	uint64_t hash = 0xcbf29ce484222325;
	struct key key;

	while (next_key(ref, &at, &key)) {
		hash = (hash ^ key.build) * 0x9e3779b97f4a7c15;
		hash = (hash ^ hash >> 32 ^ key.at) * 0x9e3779b97f4a7c15;
		hash ^= hash >> 29;
	}
	return hash;
}

static int order_of(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int by_keys(const struct ref *a, const struct ref *b)
{
	const struct match_frame *a_at = a->at, *b_at = b->at;
	int order = order_of(a->hash, b->hash);

	while (!order) {
		struct key one = { 0, 0 }, other = { 0, 0 };
		bool more = next_key(a, &a_at, &one), others = next_key(b, &b_at, &other);

		order = order_of(more, others);
		if (!order)
			order = order_of(one.build, other.build);
		if (!order)
			order = order_of(one.at, other.at);
		if (!more || !others)
			break;
	}
	return order;
}

/* Equal sites stand together, those of the first list before the others. */
static int by_stack(const void *va, const void *vb)
{
	const struct ref *a = va, *b = vb;
	int order = by_keys(a, b);

	if (!order)
		order = order_of(a->side, b->side);
	return order ? order : order_of(a->index, b->index);
}

static uint64_t size_of(int64_t change)
{
	return change < 0 ? -(uint64_t)change : (uint64_t)change;
}

static int by_size(const void *va, const void *vb)
{
	const struct match_change *a = va, *b = vb;
	int order = order_of(size_of(b->bytes), size_of(a->bytes));

	if (!order)
		order = order_of(size_of(b->count), size_of(a->count));
	if (!order)
		order = order_of(a->to, b->to);
	return order ? order : order_of(a->from, b->from);
}

/* Note which lists have each build. */
static struct err *find_builds(const struct match_side *const *sides, uint8_t **ret)
{
	uint32_t highest = 0;

	for (unsigned side = 0; side < SIDES; side++)
		vec_each(frame, &sides[side]->frames)
			highest = MAX(highest, frame->build);
	*ret = calloc((size_t)highest + 1, 1);
	if (!*ret)
		return err_nomem;
	for (unsigned side = 0; side < SIDES; side++)
		vec_each(frame, &sides[side]->frames)
			(*ret)[frame->build] |= (uint8_t)(1 << side);
	return NULL;
}

static struct err *add_refs(const struct match_side *side, unsigned number, const uint8_t *builds,
			    struct ref_list *list)
{
	struct err *err = NULL;

	for (size_t i = 0; !err && i < side->sites.nr; i++) {
		const struct match_site *site = &side->sites.at[i];
		struct ref ref = { .builds = builds, .site = site, .side = number,
				   .index = (uint32_t)i };

		if (site->nr) {
			ref.at = side->frames.at + site->first;
			ref.end = ref.at + site->nr;
		}
		ref.hash = hash_of(&ref);
		err = vec_push(&list->vec, ref);
	}
	return err;
}

static enum match_by how_matched(const struct ref *ref)
{
	const struct match_frame *at = ref->at;
	struct key key;

	while (next_key(ref, &at, &key))
		if (!key.build)
			return MATCH_NAMES;
	return MATCH_BUILD;
}

/* Take a group of equal sites. The arithmetic is unsigned, as in difference.c. */
static struct err *add_group(const struct ref *ref, size_t nr, struct match *match)
{
	const struct match_site *largest[SIDES] = { NULL, NULL };
	uint32_t index[SIDES] = { MATCH_NONE, MATCH_NONE };
	uint64_t bytes = 0, count = 0;
	enum match_by by;

	for (size_t i = 0; i < nr; i++) {
		const struct match_site *site = ref[i].site;
		unsigned side = ref[i].side;
		struct sample_share *total = side == FROM ? &match->from : &match->to;

		total->bytes += site->bytes;
		total->blocks += site->count;
		bytes += side == FROM ? -site->bytes : site->bytes;
		count += side == FROM ? -site->count : site->count;
		if (largest[side] && largest[side]->bytes >= site->bytes)
			continue;
		largest[side] = site;
		index[side] = ref[i].index;
	}
	by = largest[FROM] && largest[TO] ? how_matched(ref) : MATCH_ONLY;
	match->sites[by]++;
	if (!bytes && !count)
		return NULL;
	if ((int64_t)bytes > 0)
		match->grown += bytes;
	else
		match->shrunk += -bytes;
	return vec_push(&match->vec, ((struct match_change){
		index[FROM], index[TO], by, (int64_t)bytes, (int64_t)count }));
}

static struct err *add_groups(const struct ref_list *list, struct match *match)
{
	struct err *err = NULL;
	size_t nr;

	for (size_t i = 0; !err && i < list->vec.nr; i += nr) {
		const struct ref *ref = &list->vec.at[i];

		for (nr = 1; i + nr < list->vec.nr && !by_keys(ref, ref + nr);)
			nr++;
		err = add_group(ref, nr, match);
	}
	return err;
}

struct err *match_build(const struct match_side *from, const struct match_side *to,
			struct match *ret)
{
	const struct match_side *const sides[SIDES] = { from, to };
	struct match match = MATCH_INIT;
	struct ref_list list = { VEC_INIT };
	AUTO_FREE uint8_t *builds = NULL;
	struct err *err = find_builds(sides, &builds);

	for (unsigned side = 0; !err && side < SIDES; side++)
		err = add_refs(sides[side], side, builds, &list);
	if (!err) {
		vec_sort(&list.vec, by_stack);
		err = add_groups(&list, &match);
	}
	vec_free(&list.vec);
	if (err) {
		match_free(&match);
		return err;
	}
	vec_sort(&match.vec, by_size);
	*ret = match;
	return NULL;
}

void match_free(struct match *match)
{
	vec_free(&match->vec);
}

void match_side_free(struct match_side *side)
{
	vec_free(&side->frames);
	vec_free(&side->sites);
}
