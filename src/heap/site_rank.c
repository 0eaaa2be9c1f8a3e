/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compares sites by what they are sorted by. */

#include "heap/site_rank.h"

/*
 * All sites have grown for the same time, so rate is in the order of growth; and so is callrate in
 * that of calls. If that time is not known, the rate is 0, and the sites are in the order of bytes.
 */
static int64_t rank_of(const struct site *site, enum site_sort sort)
{
	switch (sort) {
	case SITE_SORT_COUNT:
		return (int64_t)site->count;
	case SITE_SORT_AGE:
		return (int64_t)site->oldest;
	case SITE_SORT_GROWTH:
	case SITE_SORT_RATE:
		return site->growth;
	case SITE_SORT_TOTAL:
		return (int64_t)site->total_bytes;
	case SITE_SORT_CALLS:
	case SITE_SORT_CALLRATE:
		return (int64_t)site->total;
	case SITE_SORT_TEMPORARY:
		return (int64_t)site->freed;
	case SITE_SORT_BYTES:
		break;
	}
	return (int64_t)site->bytes;
}

int site_rank_compare(const void *va, const void *vb, void *ctx)
{
	const struct site *a = va, *b = vb;
	enum site_sort sort = *(const enum site_sort *)ctx;
	int64_t one = rank_of(a, sort), other = rank_of(b, sort);
	bool growth = sort == SITE_SORT_GROWTH || sort == SITE_SORT_RATE;

	if (one != other)
		return one > other ? -1 : 1;
	if (growth && a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	return a->key < b->key ? -1 : a->key > b->key;
}
