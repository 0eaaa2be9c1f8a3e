/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Globs for names of functions. A glob matches a function if it matches its name, short or full,
 * with or without its parameters, or its name in the symbol table. A function without a name is
 * matched by its place as it is shown, "[libfoo.so+0x1230]". A name that is written as it is
 * shown always matches, also if it has brackets or asterisks, as names in C++ may.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/vec.h"

struct symbol_frame;

struct name_globs {
	VEC(char *) vec;
};

void name_globs_free(struct name_globs *globs);
struct err *name_globs_add(struct name_globs *globs, const char *glob) MUST_CHECK;

/* Names that are NULL match nothing. */
bool name_glob_matches(const char *glob, const struct symbol_frame *frame);
/* Like name_glob_matches, for a name that is in no symbol table. */
bool name_glob_matches_text(const char *glob, const char *name);
/* Does any of the globs match? */
bool name_globs_match(const struct name_globs *globs, const struct symbol_frame *frame);
bool name_globs_match_text(const struct name_globs *globs, const char *name);
