/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Says why free memory is resident (free_text.h). */

#include "report/free_text.h"

#include <inttypes.h>

#include "heap/free_space.h"
#include "report/out.h"

static const char *const reasons[FREE_KEPTS] = {
	[FREE_TRIMMED]	= "go by `malloc trim`",
	[FREE_PINNED]	= "are kept by live blocks on the same pages (`malloc pins`)",
	[FREE_CACHED]	= "are kept by blocks in threads' caches on the same pages",
	[FREE_HEADER]	= "are kept by data of the allocator itself on the same pages",
};

static void print_ends(const struct free_space *space, struct out *out)
{
	uint64_t arenas = 0;

	vec_each(sum, &space->arenas)
		arenas += sum->kept[FREE_END] != 0;
	out_f(out, "at the end%s of %" PRIu64 " arena%s: malloc_trim gives back that of the main one "
		   "alone (MALLOC_ARENA_MAX, M_TRIM_THRESHOLD)",
	      arenas == 1 ? "" : "s", arenas, arenas == 1 ? "" : "s");
}

void free_text_print(const struct free_space *space, struct out *out)
{
	const struct free_sum *all = &space->all;

	out_f(out, "%s bytes are free in the heaps, %s of them resident%s\n",
	      number_text_size(out, all->bytes).at, number_text_size(out, all->resident).at,
	      all->resident ? ":" : "");
	for (unsigned i = 0; i < FREE_KEPTS; i++) {
		if (!all->kept[i] && (i != FREE_TRIMMED || !all->resident))
			continue;
		out_f(out, "    %12s  ", number_text_size(out, all->kept[i]).at);
		if (i == FREE_END)
			print_ends(space, out);
		else
			out_text(out, reasons[i]);
		out_text(out, "\n");
	}
	if (space->huge_page)
		out_f(out, "Parts of pages of %s bytes, which this process asks for (glibc.malloc.hugetlb), "
			   "do not go: what is said of them is too much\n",
		      number_text_size(out, space->huge_page).at);
	if (all->cached)
		out_f(out, "%s bytes more are in threads' caches, %s of them resident\n",
		      number_text_size(out, all->cached).at,
		      number_text_size(out, all->cached_resident).at);
}
