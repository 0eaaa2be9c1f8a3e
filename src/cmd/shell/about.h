/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `-about VAR`, the last words but for -each of commands whose value is a list that a search of the
 * target's memory has made (CMD_ABOUT). VAR gets a dict with what `malloc leaks` prints below its
 * sums: how much was searched, and what was not. An empty list is no better than that.
 */
#pragma once

#include "base/compiler.h"
#include "base/err.h"

struct call;
struct leaks;
struct leak_marks;

/* Take -about and VAR from the end of the call's words, which are argv, if they are there. */
struct err *about_take(struct call *call, const char **argv) MUST_CHECK;
/*
 * Set VAR, if there is one; leaks, whose verdict is in it, may be NULL. err_in_script: it cannot be
 * set.
 */
struct err *about_give(const struct call *call, const struct leak_marks *found,
		       const struct leaks *leaks) MUST_CHECK;
