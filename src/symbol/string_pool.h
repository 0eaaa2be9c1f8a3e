/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Strings that are shown, each kept once. They come from untrusted files and end on somebody's
 * terminal: what one would obey is shown instead (base/outside.h), and what is longer than
 * NAME_MAX_LEN is cut.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/map.h"

#define NAME_MAX_LEN	65536

struct names {
	struct map by_hash;	/* of struct name, chained */
};

#define NAMES_INIT	{ MAP_INIT }

void names_free(struct names *names);
/* The kept copy of len bytes of text. NULL only for lack of memory. Lives as long as names. */
const char *names_keep(struct names *names, const char *text, size_t len);
/*
 * The kept copy, demangled if it is mangled. *linkage_ret (may be NULL) is the kept name as it was,
 * or NULL if that is no other.
 */
const char *names_readable(struct names *names, const char *text, size_t len,
			   const char **linkage_ret);

/* Does it look like a C++ or Rust name? */
bool is_mangled(const char *name);
/*
 * Demangle as symbol_demangle (symbol.h) does, without parameters: "std::vector<int>::push_back".
 */
char *demangle_bare(const char *name);
