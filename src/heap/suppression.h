/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Leaks that must not be reported: patterns in LeakSanitizer's format.
 *
 * A file has lines `leak:PATTERN`, empty ones and comments (`#` first). A block that is lost is
 * suppressed if PATTERN is found in the name of a function, a source file or a module of any frame
 * of its allocation: `*` stands for any text, `^` at the front and `$` at the end for the name's
 * ends. What is lost with it alone is suppressed with it.
 *
 * Patterns for the C library's own leaks are built in (suppression.c says which, and why).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

#define SUPPRESS_NONE	UINT32_MAX
#define SUPPRESS_MAX	65535u

struct suppression {
	char *pattern;
	bool built_in;
	bool caller;	/* only the frame that has called the allocator is compared */
};

struct suppressions {
	VEC(struct suppression) vec;
};

/* The built-in ones. */
struct err *suppressions_init(struct suppressions *ret) MUST_CHECK;
/* Add those of a file. On failure suppressions are as before; ERR_USAGE names the line. */
struct err *suppressions_read(struct suppressions *suppressions, const char *file) MUST_CHECK;
void suppressions_free(struct suppressions *suppressions);

/* An empty or unknown (NULL) name matches nothing. */
bool suppression_matches(const char *pattern, const char *name);
