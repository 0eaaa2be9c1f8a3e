/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A growing string. It is always NUL-terminated once something was added; .at is NULL before. */
#pragma once

#include <stdarg.h>
#include <stddef.h>

#include "base/err.h"

struct str {
	char *at;
	size_t len, room;
};

#define STR_INIT	{ NULL, 0, 0 }

/* Each of these leaves the string unchanged when it fails; the only error is err_nomem. */
struct err *str_add(struct str *str, const char *text) MUST_CHECK;
struct err *str_add_bytes(struct str *str, const void *bytes, size_t len) MUST_CHECK;
struct err *str_addf(struct str *str, const char *fmt, ...) PRINTF(2, 3) MUST_CHECK;
struct err *str_addv(struct str *str, const char *fmt, va_list ap) MUST_CHECK;
/* Returns the text, "" if nothing was added. */
const char *str_text(const struct str *str);
void str_clear(struct str *str);
void str_free(struct str *str);

#define AUTO_STR	__attribute__((cleanup(str_free)))
