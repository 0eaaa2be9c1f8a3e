/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which frame of a stack a site is named after (theory in own_frame.h). */

#include "answer/own_frame.h"

#include <string.h>

#include "base/compiler.h"

static bool is_same(const char *module, const char *other)
{
	return module && other && (module == other || !strcmp(module, other));
}

bool own_frame_is_libc(const char *module)
{
	static const char *const files[] = { "libc.", "libc-", "ld-", "libpthread" };

	for (size_t i = 0; module && i < ARRAY_SIZE(files); i++)
		if (!strncmp(module, files[i], strlen(files[i])))
			return true;
	return false;
}

/* Is what lies behind own of no importance to it? */
static bool is_final(const struct own_search *search, size_t number)
{
	return search->own != OWN_NONE && number - search->own > OWN_PARTS + 1;
}

bool own_frame_next(struct own_search *search, enum own_kind kind, const char *module)
{
	size_t number = search->next++;
	bool final = is_final(search, number);

	if (kind == OWN_ENTRY)
		return true;
	if (search->first == OWN_NONE)
		search->first = number;
	if (kind == OWN_WRAPPER) {
		if (!final && search->own != OWN_NONE && is_same(module, search->module))
			search->own = OWN_NONE;
		return !final || search->with_caller;
	}
	if (search->own == OWN_NONE) {
		search->own = number;
		search->module = module;
		return kind == OWN_NAMELESS;
	}
	if (kind == OWN_NAMELESS)
		return !final || search->with_caller;
	/* A function of the program's is no part of a wrapper, and neither is what it has called. */
	if (own_frame_is_libc(module) && !is_same(module, search->module))
		return search->with_caller;
	search->caller = number;
	return false;
}

size_t own_frame_end(const struct own_search *search)
{
	return search->own != OWN_NONE ? search->own : search->first;
}
