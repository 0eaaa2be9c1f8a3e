/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Strings that are shown, each kept once. */

#include "symbol/string_pool.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/outside.h"
#include "symbol/symbol.h"

struct name {
	struct name *next;	/* same hash */
	const char *readable;	/* of another name, or this one's text; NULL: not asked yet */
	size_t len;
	char text[];
};

static void free_chain(void *value)
{
	for (struct name *name = value, *next; name; name = next) {
		next = name->next;
		free(name);
	}
}

void names_free(struct names *names)
{
	map_free(&names->by_hash, free_chain);
}

/* FNV-1a. */
static uint64_t hash_of(const char *text, size_t len)
{
	uint64_t hash = 0xcbf29ce484222325;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3;
	return hash;
}

static struct name *find_or_add(struct names *names, const char *text, size_t len)
{
	uint64_t hash = hash_of(text, len);
	struct name *first = map_get(&names->by_hash, hash);
	struct name *name;

	for (name = first; name; name = name->next)
		if (name->len == len && !memcmp(name->text, text, len))
			return name;
	name = malloc(sizeof(*name) + len + 1);
	if (!name)
		return NULL;
	*name = (struct name){ .next = first, .len = len };
	memcpy(name->text, text, len);
	name->text[len] = '\0';
	if (map_put(&names->by_hash, hash, name)) {
		free(name);
		return NULL;
	}
	return name;
}

static struct name *keep(struct names *names, const char *text, size_t len)
{
	struct str shown AUTO_STR = STR_INIT;

	len = strnlen(text, MIN(len, (size_t)NAME_MAX_LEN));
	if (outside_plain(text, len, OUTSIDE_ONE_LINE) == len)
		return find_or_add(names, text, len);
	if (outside_add(&shown, text, len, OUTSIDE_ONE_LINE))
		return NULL;
	return find_or_add(names, shown.at, shown.len);
}

const char *names_keep(struct names *names, const char *text, size_t len)
{
	struct name *name = keep(names, text, len);

	return name ? name->text : NULL;
}

const char *names_readable(struct names *names, const char *text, size_t len,
			   const char **linkage_ret)
{
	struct name *name = keep(names, text, len);

	if (!name)
		return NULL;
	if (!name->readable) {
		char *demangled AUTO_FREE = symbol_demangle(name->text);

		if (demangled)
			name->readable = names_keep(names, demangled, SIZE_MAX);
		if (!name->readable)
			name->readable = name->text;
	}
	if (linkage_ret)
		*linkage_ret = name->readable == name->text ? NULL : name->text;
	return name->readable;
}
