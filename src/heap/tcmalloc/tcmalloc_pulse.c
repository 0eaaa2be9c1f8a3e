/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How many blocks tcmalloc's heap has, and whether it changes, while the process runs
 * (heap_walk.h).
 */

#include "heap/tcmalloc/tcmalloc.h"

static void add_pulse(const struct tcmalloc_span *span, struct heap_pulse *ret)
{
	uint64_t refs = span->nr ? span->refs : span->where == SPAN_USED;

	ret->sum = (ret->sum ^ span->start ^ span->bytes ^ (uint64_t)span->where << 50 ^
		    refs << 54) * 0x9e3779b97f4a7c15ull;
	ret->blocks += refs;
	ret->acquired += span->where == SPAN_RETURNED ? 0 : span->bytes;
}

struct err *tcmalloc_pulse(const struct heap_source *source, struct heap_pulse *ret)
{
	struct heap_pulse pulse = { .counted = true };
	struct err *err = NULL, *lacks = NULL;
	bool any = false;

	for (size_t i = 0; i < source->nr_libcs && !(err && err->code == ERR_NOMEM); i++) {
		struct tcmalloc *tc;

		err = tcmalloc_spans_look(source, i, &tc);
		for (size_t j = 0; !err && j < tc->spans.nr; j++)
			add_pulse(&tc->spans.at[j], &pulse);
		lacks = err ? err : lacks;
		any |= !err;
		tcmalloc_close(tc);
	}
	if (any)
		*ret = pulse;
	return any ? NULL : lacks;
}
