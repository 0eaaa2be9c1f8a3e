/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Strings that are shown; each is stored once. They come from untrusted files and are printed to a
 * terminal: control sequences are escaped (base/outside.h), and a string longer than NAME_MAX_LEN
 * is cut. Once the readable forms take LIMIT_NAMES, and once the demangler was lost in
 * LIMIT_LOST_NAMES, further names stay as they are.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/map.h"

#define NAME_MAX_LEN	65536

struct names {
	struct map by_hash;	/* of struct name, chained */
	/* Of what the demangler has made of names; a few letters may stand for NAME_MAX_LEN. */
	uint64_t demangled;	/* bytes so far */
	uint32_t lost;		/* names in which it has crashed, or found no end */
};

#define NAMES_INIT	{ MAP_INIT, 0, 0 }

void string_pool_free(struct names *names);
/*
 * Returns the stored copy of len bytes of text, which lives as long as names. NULL: out of memory.
 */
const char *string_pool_keep(struct names *names, const char *text, size_t len);
/*
 * Returns the stored copy, demangled if it is mangled. *linkage_ret (may be NULL) is the stored
 * name before that, or NULL if it is the same.
 */
const char *string_pool_readable(struct names *names, const char *text, size_t len,
				 const char **linkage_ret);
/* Returns the same without parameters; NULL: it is not mangled, or there is no memory. */
const char *string_pool_bare(struct names *names, const char *text);
/*
 * What the user should know of names that are not demangled although they are mangled: ERR_RANGE
 * (base/limits.h); NULL: nothing.
 */
struct err *string_pool_lack(const struct names *names);

/*
 * All forms of a name. Each name is demangled once and shortened (symbol/fold.h) once, when it is
 * first needed. False: out of memory.
 */
struct shown_name {
	const char *full;	/* as returned by string_pool_readable */
	const char *brief;	/* equals full if nothing can be left out */
	const char *linkage;	/* NULL: it equals full */
	uint32_t full_bare, brief_bare;	/* lengths of full and brief without parameters */
};

bool string_pool_shown(struct names *names, const char *text, size_t len, struct shown_name *ret);

/* Does it look like a C++ or Rust name? */
bool demangle_is_mangled(const char *name);
/* MANGLED_LOST: the demangler has crashed, or found no end. */
enum mangling { NOT_MANGLED, MANGLED_CXX, MANGLED_RUST, MANGLED_LOST };

/*
 * *ret is a C++ or Rust name in readable form (malloc'ed), or NULL if it is not mangled, or is one
 * that would cost too much (symbol/demangle.c).
 */
enum mangling demangle_whole(const char *name, char **ret);
/* The same without parameters: "std::vector<int>::push_back". */
enum mangling demangle_bare(const char *name, char **ret);
