/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `set skip`: the wrappers of allocators that sites pass over. */
#pragma once

#include "base/err.h"
#include "symbol/name_glob.h"

struct str;

/*
 * Get the globs of a Tcl list, in which the word `default` stands for the built-in ones, and `found`
 * says that wrappers are to be found, too (answer/wrapper.h). *text_ret is the same list without
 * the word `default`. ERR_USAGE if it is no list.
 */
struct err *skip_parse(const char *list, struct name_globs *ret, bool *found_ret,
		       struct str *text_ret) MUST_CHECK;
