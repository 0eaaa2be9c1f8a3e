/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Strings that are shown; each is stored once. */

#include "symbol/string_pool.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/limits.h"
#include "base/outside.h"
#include "symbol/fold.h"

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

void string_pool_free(struct names *names)
{
	map_free(&names->by_hash, free_chain);
}

static struct name *find_or_add(struct names *names, const char *text, size_t len)
{
	uint64_t hash = hash_bytes(text, len);
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

const char *string_pool_keep(struct names *names, const char *text, size_t len)
{
	struct name *name = keep(names, text, len);

	return name ? name->text : NULL;
}

/* Demangle by fn, within the limits. Returns what is kept; NULL: it stays as it is. */
static const char *demangle(struct names *names, const char *text,
			    enum mangling (*fn)(const char *name, char **ret),
			    enum mangling *mangling_ret)
{
	AUTO_FREE char *demangled = NULL;

	*mangling_ret = NOT_MANGLED;
	if (names->lost >= LIMIT_LOST_NAMES || names->demangled >= LIMIT_NAMES)
		return NULL;
	*mangling_ret = fn(text, &demangled);
	names->lost += *mangling_ret == MANGLED_LOST;
	if (!demangled)
		return NULL;
	names->demangled += strlen(demangled);
	return string_pool_keep(names, demangled, SIZE_MAX);
}

static void make_readable(struct names *names, struct name *name)
{
	enum mangling mangling;

	if (name->readable)
		return;
	name->readable = demangle(names, name->text, demangle_whole, &mangling);
	name->cxx = mangling == MANGLED_CXX;
	if (!name->readable)
		name->readable = name->text;
}

const char *string_pool_readable(struct names *names, const char *text, size_t len,
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

const char *string_pool_bare(struct names *names, const char *text)
{
	enum mangling mangling;

	return demangle(names, text, demangle_bare, &mangling);
}

struct err *string_pool_lack(const struct names *names)
{
	if (names->demangled >= LIMIT_NAMES)
		return limit_err("names", "too many bytes of demangled names; others stay as they are",
				 LIMIT_NAMES);
	if (names->lost >= LIMIT_LOST_NAMES)
		return limit_err("names", "too many that the demangler did not come to an end with; "
				 "others stay as they are", LIMIT_LOST_NAMES);
	return NULL;
}

static void make_brief(struct names *names, struct name *name)
{
	struct folded folded;

	if (name->brief)
		return;
	folded = name->cxx ? fold_name(name->readable) :
			     (struct folded){ .bare = fold_bare(name->readable) };
	if (folded.text && strlen(folded.text) <= NAME_MAX_LEN)
		name->brief = string_pool_keep(names, folded.text, SIZE_MAX);
	free(folded.text);
	name->bare = (uint32_t)folded.bare;
	name->brief_bare = (uint32_t)(name->brief ? folded.text_bare : folded.bare);
	if (!name->brief)
		name->brief = name->readable;
}

bool string_pool_shown(struct names *names, const char *text, size_t len, struct shown_name *ret)
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
