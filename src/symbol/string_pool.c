/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Strings that are shown; each is stored once. */

#include "symbol/string_pool.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/outside.h"
#include "base/sum.h"
#include "symbol/fold.h"
#include "symbol/symbol.h"

struct name {
	struct name *next;	/* with the same hash */
	const char *readable;	/* text of another name, or of this one; NULL: not needed so far */
	const char *brief;	/* short form, kept in a readable name; NULL: not needed so far */
	uint32_t len;
	/* lengths in readable and brief, valid once these are set */
	uint32_t bare, brief_bare;
	bool cxx;
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

static struct name *find_or_add(struct names *names, const char *text, size_t len)
{
	uint64_t hash = sum_bytes(0, text, len);
	struct name *first = map_get(&names->by_hash, hash);
	struct name *name;

	for (name = first; name; name = name->next)
		if (name->len == len && !memcmp(name->text, text, len))
			return name;
	name = malloc(sizeof(*name) + len + 1);
	if (!name)
		return NULL;
	*name = (struct name){ .next = first, .len = (uint32_t)len };
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

static void make_readable(struct names *names, struct name *name)
{
	AUTO_FREE char *demangled = NULL;

	if (name->readable)
		return;
	name->cxx = demangle_whole(name->text, &demangled) == MANGLED_CXX;
	if (demangled)
		name->readable = names_keep(names, demangled, SIZE_MAX);
	if (!name->readable)
		name->readable = name->text;
}

const char *names_readable(struct names *names, const char *text, size_t len,
			   const char **linkage_ret)
{
	struct name *name = keep(names, text, len);

	if (!name)
		return NULL;
	make_readable(names, name);
	if (linkage_ret)
		*linkage_ret = name->readable == name->text ? NULL : name->text;
	return name->readable;
}

static void make_brief(struct names *names, struct name *name)
{
	struct folded folded;

	if (name->brief)
		return;
	folded = name->cxx ? name_fold(name->readable) :
			     (struct folded){ .bare = name_bare(name->readable) };
	if (folded.text && strlen(folded.text) <= NAME_MAX_LEN)
		name->brief = names_keep(names, folded.text, SIZE_MAX);
	free(folded.text);
	name->bare = (uint32_t)folded.bare;
	name->brief_bare = (uint32_t)(name->brief ? folded.text_bare : folded.bare);
	if (!name->brief)
		name->brief = name->readable;
}

bool names_shown(struct names *names, const char *text, size_t len, struct shown_name *ret)
{
	struct name *name = keep(names, text, len);

	if (!name)
		return false;
	make_readable(names, name);
	make_brief(names, name);
	*ret = (struct shown_name){
		.full = name->readable,
		.brief = name->brief,
		.linkage = name->readable == name->text ? NULL : name->text,
		.full_bare = name->bare,
		.brief_bare = name->brief_bare,
	};
	return true;
}
