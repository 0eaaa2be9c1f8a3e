/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Free memory of the heaps for scripts. */

#include "cmd/free_dict.h"

#include "cmd/shell/dict.h"
#include "heap/free_space.h"

void free_dict_add(Tcl_Obj *dict, const struct free_sum *sum, bool paged)
{
	dict_number(dict, "unused", sum->bytes);
	dict_number(dict, "cached", sum->cached);
	if (!paged)
		return;
	dict_number(dict, "unusedresident", sum->resident);
	dict_number(dict, "trimmable", sum->kept[FREE_TRIMMED]);
	dict_number(dict, "pinned", sum->kept[FREE_PINNED]);
	dict_number(dict, "ends", sum->kept[FREE_END]);
	dict_number(dict, "cachedresident", sum->cached_resident);
}
