/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A growing string. */

#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

static struct err *reserve(struct str *str, size_t more)
{
	if (str->room - str->len > more)
		return NULL;
	return vec_grow((void **)&str->at, &str->room, str->len + more + 1, 1);
}

struct err *str_add_bytes(struct str *str, const void *bytes, size_t len)
{
	struct err *err = reserve(str, len);

	if (err)
		return err;
	memcpy(str->at + str->len, bytes, len);
	str->len += len;
	str->at[str->len] = '\0';
	return NULL;
}

struct err *str_add(struct str *str, const char *text)
{
	return str_add_bytes(str, text, strlen(text));
}

struct err *str_addv(struct str *str, const char *fmt, va_list ap)
{
	struct err *err;
	va_list again;
	int len;

	va_copy(again, ap);
	len = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	err = reserve(str, (size_t)len);
	if (err)
		return err;
	vsnprintf(str->at + str->len, (size_t)len + 1, fmt, ap);
	str->len += (size_t)len;
	return NULL;
}

struct err *str_addf(struct str *str, const char *fmt, ...)
{
	struct err *err;
	va_list ap;

	va_start(ap, fmt);
	err = str_addv(str, fmt, ap);
	va_end(ap);
	return err;
}

const char *str_text(const struct str *str)
{
	return str->at ? str->at : "";
}

void str_clear(struct str *str)
{
	str->len = 0;
	if (str->at)
		str->at[0] = '\0';
}

void str_free(struct str *str)
{
	free(str->at);
	*str = (struct str)STR_INIT;
}
