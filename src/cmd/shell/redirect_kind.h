/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which word begins a redirection (theory in terminal/redirect.h). */
#pragma once

#include <stdbool.h>

#include "cmd/terminal/redirect.h"

/*
 * Does word begin a redirection, if these words stand before it (the nearest is the last)? filter:
 * the command takes a FILTER.
 */
enum redirect_kind redirect_kind(const char *word, int before, const char *const *words,
				 bool filter);
/*
 * Find the first of words that begins a redirection. Returns its index, or nr; its kind is in
 * *kind_ret.
 */
int redirect_kind_find(int nr, const char *const *words, bool filter, enum redirect_kind *kind_ret);
