/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Keeps names that were recorded with an address among those that were found for addresses. */

#include "symbol/symbol_recorded.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "symbol/resolved.h"
#include "symbol/string_pool.h"
#include "symbol/symbol_private.h"

/* False: there is no memory. */
static bool keep(struct names *names, const char *text, const char **ret)
{
	*ret = text ? string_pool_keep(names, text, SIZE_MAX) : NULL;
	return *ret || !text;
}

static struct err *fill(struct names *names, const struct symbol_recorded *from,
			struct symbol_frame *ret)
{
	struct shown_name shown = { .full = NULL };

	if (from->name && !string_pool_shown(names, from->name, SIZE_MAX, &shown))
		return err_nomem;
	ret->function = shown.full;
	ret->brief = shown.brief;
	ret->linkage = shown.linkage;
	ret->function_bare = shown.full_bare;
	ret->brief_bare = shown.brief_bare;
	ret->offset = from->offset;
	ret->line = from->file ? from->line : 0;
	return keep(names, from->place, &ret->place) && keep(names, from->file, &ret->file) ?
		NULL : err_nomem;
}

const char *symbol_recorded_text(struct symbols *symbols, const char *text)
{
	return string_pool_keep(symbols_names(symbols), text, SIZE_MAX);
}

struct err *symbol_recorded_add(struct symbols *symbols, uint64_t pc, uint32_t generation,
				bool return_address, size_t nr,
				const struct symbol_recorded *frames)
{
	struct resolved_cache *cache = symbols_resolved(symbols);
	uint32_t number = symbols_module_number(symbols, pc - (return_address && pc), generation);
	const struct module *module = number == NO_MODULE ? NULL : symbols_module(symbols, number);
	AUTO_FREE struct symbol_frame *made = NULL;
	struct resolved *resolved;
	struct err *err = NULL;

	if (resolved_find(cache, pc, number, return_address))
		return NULL;
	if (cache->nr_frames >= LIMIT_FRAMES)
		return err_create(ERR_RANGE, "more than %llu names of code", LIMIT_FRAMES);
	made = calloc(nr, sizeof(*made));
	if (!made)
		return err_nomem;
	for (size_t i = 0; !err && i < nr; i++) {
		err = fill(symbols_names(symbols), &frames[i], &made[i]);
		made[i].pc = pc;
		made[i].module = module ? module->name : NULL;
		made[i].path = module ? module->path : NULL;
		made[i].inlined = i + 1 < nr;
	}
	if (err)
		return err;
	resolved = resolved_create(pc, number, return_address, nr, made);
	return resolved && resolved_add(cache, resolved, true) ? NULL : err_nomem;
}
