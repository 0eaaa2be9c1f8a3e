/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Strings that are shown, each kept once. They come from untrusted files and end on somebody's
 * terminal: what one would obey is shown instead (base/outside.h), and what is longer than
 * NAME_MAX_LEN is cut.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/*
 * All forms of a name. Each name is demangled once and shortened (symbol/fold.h) once, when it is
 * first asked for. False for lack of memory.
 */
struct shown_name {
	const char *full;	/* as names_readable gives it */
	const char *brief;	/* full, if there is nothing to leave out */
	const char *linkage;	/* NULL: it is no other */
	uint32_t full_bare, brief_bare;	/* their lengths without parameters */
};

bool names_shown(struct names *names, const char *text, size_t len, struct shown_name *ret);

/* Does it look like a C++ or Rust name? */
bool is_mangled(const char *name);
enum mangling { NOT_MANGLED, MANGLED_CXX, MANGLED_RUST };

/* symbol_demangle (symbol.h), with the language. */
enum mangling demangle_whole(const char *name, char **ret);
/*
 * Demangle as symbol_demangle (symbol.h) does, without parameters: "std::vector<int>::push_back".
 */
char *demangle_bare(const char *name);
