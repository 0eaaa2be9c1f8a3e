/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which frame of a stack a site is named after: its own frame. The frames come from the innermost
 * one outwards:
 *
 *	the entry of the allocator	is never the own one
 *	a wrapper (`set skip`)		is passed over
 *	a function without a name	is the own one, unless a wrapper of its module has called it,
 *					with OWN_PARTS others between them at most: then it is a part
 *					of that wrapper (static functions below palloc)
 *	any other function		is the own one; behind one without a name it is its caller
 *
 * So a search goes on behind a function without a name up to the first one with a name, by which
 * people know where they are. What starts a program or a thread in the C library is no such one.
 * If there are only wrappers, the innermost of them is the own frame.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum own_kind { OWN_ENTRY, OWN_WRAPPER, OWN_NAMELESS, OWN_NAMED };

#define OWN_NONE	((size_t)-1)
#define OWN_PARTS	2u

/* Frames are numbered from 0 in the order in which they come. OWN_NONE: none so far. */
struct own_search {
	size_t next, first, own, caller;
	const char *module;		/* of own */
	bool with_caller;		/* caller is wanted */
};

#define OWN_SEARCH_INIT	{ .first = OWN_NONE, .own = OWN_NONE, .caller = OWN_NONE }

/*
 * The next frame; module is the name of its file, NULL: none. False: own is found, and caller, too,
 * if it is wanted.
 */
bool own_frame_next(struct own_search *search, enum own_kind kind, const char *module);
/* The own frame when all frames have come; OWN_NONE: there was nothing but the entry. */
size_t own_frame_end(const struct own_search *search);
/* Is it the C library, or the loader, by the name of its file? NULL: no. */
bool own_frame_is_libc(const char *module);
