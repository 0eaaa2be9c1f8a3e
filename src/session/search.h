/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The search for leaks in a view: what are roots, and what do they lead to (theory in leaks.h). */
#ifndef SESSION_SEARCH_H
#define SESSION_SEARCH_H

#include <stdbool.h>

#include "base/err.h"

struct heap_walk;
struct session;
struct session_leaks;
struct view;
struct proc_map;

/*
 * *ret has the blocks, and what is known of the walk that they come from (walk is not read unless they
 * do); those of other processes are dropped, the rest are marked. The view is deep. Any thread.
 */
struct err *search_run(const struct session *session, const struct view *view,
		       const struct heap_walk *walk, struct session_leaks *ret) MUST_CHECK;
/* Is it searched for pointers, as far as it is not of glibc's heaps or mdbg's? */
bool search_is_root(const struct proc_map *map);

#endif
