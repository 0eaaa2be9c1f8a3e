/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What jemalloc's extents say of themselves while the process runs (struct heap_pulse). */

#include <stdlib.h>

#include "heap/jemalloc/jemalloc.h"

struct pulse {
	struct jemalloc jemalloc;	/* first */
	struct heap_pulse *ret;
};

static struct err *add_pulse(struct jemalloc *jemalloc, const struct jemalloc_extent *extent)
{
	struct heap_pulse *ret = ((struct pulse *)jemalloc)->ret;
	uint64_t regions = extent->slab && extent->size ? extent->pages / extent->size : 1;

	ret->sum = (ret->sum ^ extent->base ^ extent->pages ^ (uint64_t)extent->state << 50 ^
		    (uint64_t)extent->free << 54) * 0x9e3779b97f4a7c15ull;
	if (extent->state == JEMALLOC_RETAINED)
		return NULL;
	ret->acquired += extent->pages;
	if (extent->state == JEMALLOC_ACTIVE)
		ret->blocks += regions - MIN(regions, extent->free);
	return NULL;
}

struct err *jemalloc_pulse(const struct heap_source *source, struct heap_pulse *ret)
{
	struct pulse pulse = {
		.jemalloc = { .source = source, .bare = BARE_WALK_INIT(source, NULL), .looks = true,
			      .page = calloc(PAGES_KEPT, sizeof(struct jemalloc_page)) },
		.ret = ret,
	};
	struct err *err = pulse.jemalloc.page ? jemalloc_root_find(&pulse.jemalloc) : err_nomem;

	*ret = (struct heap_pulse){ .counted = true };
	if (!err)
		err = jemalloc_extents_each(&pulse.jemalloc, add_pulse);
	jemalloc_extents_free(&pulse.jemalloc);
	return err;
}
