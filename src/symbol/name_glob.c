/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Globs for names of functions (name_glob.h). Most are a plain prefix ("zmalloc*"), which takes
 * only a comparison of a few bytes, so that two hundred of them cost less for each name than its
 * look-up.
 */

#include "symbol/name_glob.h"

#include <fnmatch.h>
#include <string.h>

#include "base/cleanup.h"
#include "symbol/fold.h"
#include "symbol/symbol.h"

void name_globs_free(struct name_globs *globs)
{
	vec_each_value(glob, &globs->vec)
		free(glob);
	vec_free(&globs->vec);
}

struct err *name_globs_add(struct name_globs *globs, const char *glob)
{
	AUTO_FREE char *copy = strdup(glob);
	struct err *err = copy ? vec_push(&globs->vec, copy) : err_nomem;

	if (!err)
		take(copy);
	return err;
}

/* Does the glob match literally, without wildcards, or except for the asterisk at its end? */
static bool matches_plainly(const char *glob, size_t len, const char *name, size_t bare)
{
	if (glob[len] == '*' && !strncmp(glob, name, len))
		return true;
	return !strcmp(glob, name) || (len == bare && !strncmp(glob, name, len) && !glob[len]);
}

static bool fits_bare(const char *glob, const char *name, size_t bare)
{
	AUTO_FREE char *copy = name[bare] ? strndup(name, bare) : NULL;

	return copy && !fnmatch(glob, copy, 0);
}

static bool is_wild(char c)
{
	return c == '*' || c == '?' || c == '[' || c == '\\';
}

static bool matches(const char *glob, const char *name, size_t bare)
{
	size_t len;

	if (!name || (*glob != *name && !is_wild(*glob)))
		return false;
	len = strcspn(glob, "*?[\\");
	if (!glob[len] || (glob[len] == '*' && !glob[len + 1]))
		return matches_plainly(glob, len, name, bare);
	/* The text before the first wildcard excludes most names. */
	if (strncmp(glob, name, len))
		return false;
	return !strcmp(glob, name) || (strlen(glob) == bare && !strncmp(glob, name, bare)) ||
	       !fnmatch(glob, name, 0) || fits_bare(glob, name, bare);
}

bool name_glob_matches(const char *glob, const struct symbol_frame *frame)
{
	if (matches(glob, frame->function, frame->function_bare))
		return true;
	if (frame->brief != frame->function && matches(glob, frame->brief, frame->brief_bare))
		return true;
	if (!frame->function)
		return frame->place && !strcmp(glob, frame->place);
	return frame->linkage && matches(glob, frame->linkage, strlen(frame->linkage));
}

bool name_glob_matches_text(const char *glob, const char *name)
{
	return matches(glob, name, name ? fold_bare(name) : 0);
}

bool name_globs_match(const struct name_globs *globs, const struct symbol_frame *frame)
{
	vec_each_value(glob, &globs->vec)
		if (name_glob_matches(glob, frame))
			return true;
	return false;
}

bool name_globs_match_text(const struct name_globs *globs, const char *name)
{
	vec_each_value(glob, &globs->vec)
		if (name_glob_matches_text(glob, name))
			return true;
	return false;
}
