/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Completion at the prompt: the names of files, the line that is made, and readline. */

#include "cmd/shell/complete_line.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <tcl.h>

#include <readline/readline.h>

#include "base/cleanup.h"
#include "base/outside.h"
#include "base/path.h"
#include "cmd/shell/complete.h"
#include "cmd/shell/word.h"

#define FILES_MAX	10000u

/* readline gives its callbacks no context. */
static struct shell *completing;

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct match *)a)->name, ((const struct match *)b)->name);
}

/* Files */

/*
 * A name that would not be a file's there: a user's folder, an option, a redirection. It gets the
 * current folder.
 */
static bool needs_folder(const char *name)
{
	return strchr("~->|<#&", *name);
}

static void offer_file(struct matches *matches, int dir_fd, const char *folder, const char *name)
{
	AUTO_STR struct str path = STR_INIT;
	struct stat st;
	bool is_folder = !fstatat(dir_fd, name, &st, 0) && S_ISDIR(st.st_mode);

	if (!str_addf(&path, "%s%s%s%s", !*folder && needs_folder(name) ? "./" : "", folder, name,
		      is_folder ? "/" : ""))
		complete_offer(matches, path.at, name);
}

/* The folder of the file that is typed, as the kernel takes it; NULL: there is no such user. */
static char *native_folder(const char *folder)
{
	Tcl_DString native;
	char *copy;

	if (!*folder)
		return strdup(".");
	if (!Tcl_TranslateFileName(NULL, folder, &native))
		return NULL;
	copy = strdup(Tcl_DStringValue(&native));
	Tcl_DStringFree(&native);
	return copy;
}

static void offer_files(struct matches *matches)
{
	const char *typed = matches->prefix, *base = path_base(typed);
	AUTO_FREE char *folder = strndup(typed, (size_t)(base - typed));
	AUTO_FREE char *native = folder ? native_folder(folder) : NULL;
	DIR *dir = native ? opendir(native) : NULL;
	const struct dirent *entry;

	matches->prefix = "";
	while (dir && (entry = readdir(dir)) && matches->vec.nr < FILES_MAX) {
		const char *name = entry->d_name;

		if (!strncmp(name, base, strlen(base)) && (*name != '.' || *base == '.') &&
		    strcmp(name, ".") && strcmp(name, ".."))
			offer_file(matches, dirfd(dir), folder, name);
	}
	if (dir)
		closedir(dir);
	matches->prefix = typed;
	if (matches->vec.nr)
		qsort(matches->vec.at, matches->vec.nr, sizeof(*matches->vec.at), by_name);
}

/* Of the line */

static void collect(struct shell *shell, const struct word *word, struct matches *ret)
{
	*ret = (struct matches){ .prefix = str_text(&word->text), .vec = VEC_INIT };
	if (word->kind == WORD_SHELL)
		ret->files = true;
	else if (word->kind != WORD_UNKNOWN)
		complete_find(shell, word->nr, (const char *const *)word->before, ret);
	/* Names of files are completed only where nothing else can stand. */
	if (ret->files && !ret->vec.nr)
		offer_files(ret);
}

/*
 * A name where globs are expected, as the glob that it alone matches. Its first character must not
 * make it a redirection or an option.
 */
static struct err *add_glob(struct str *to, const char *name)
{
	struct err *err = *name && strchr("><|'-", *name) ? str_add(to, "\\") : NULL;

	for (; *name && !err; name++)
		err = str_addf(to, "%s%c", strchr("*?[\\", *name) ? "\\" : "", *name);
	return err;
}

/* Append the word, or the part of one, that means this name. False: it cannot stand there. */
static bool add_name(struct str *to, const struct matches *matches, const struct word *word,
		     const char *name)
{
	AUTO_STR struct str glob = STR_INIT;

	if (matches->globs)
		return !add_glob(&glob, name) && word_quote(to, word->kind, str_text(&glob));
	/* Behind a command these words redirect it, quoted or not. */
	return (!word->nr || !strchr("><|", *name) || complete_is_relation(name)) &&
	       word_quote(to, word->kind, name);
}

/* What all names begin with, in whole characters. */
static char *common_of(const struct matches *matches)
{
	char *common = strdup(matches->vec.at[0].name);
	size_t len = common ? strlen(common) : 0;

	vec_each(match, &matches->vec) {
		size_t same = 0;

		while (same < len && match->name[same] == common[same])
			same++;
		len = same;
	}
	while (len && common && (common[len] & 0xc0) == 0x80)
		len--;
	if (common)
		common[len] = '\0';
	return common;
}

/* Leave out the names of which no word can be made. */
static void drop_wordless(struct matches *matches, const struct word *word)
{
	for (size_t i = matches->vec.nr; i-- > 0;) {
		AUTO_STR struct str made = STR_INIT;

		if (add_name(&made, matches, word, matches->vec.at[i].name))
			continue;
		free(matches->vec.at[i].name);
		free(matches->vec.at[i].shown);
		vec_remove(&matches->vec, i);
	}
}

static bool ends_folder(const char *name)
{
	size_t len = strlen(name);

	return len && name[len - 1] == '/';
}

/* The line with what is common to all names; it stays as it was typed where that adds nothing. */
static struct err *make_line(const char *line, const struct word *word,
			     const struct matches *matches, struct completion *ret)
{
	AUTO_FREE char *common = common_of(matches);
	AUTO_STR struct str made = STR_INIT;
	bool single = matches->vec.nr == 1;
	struct err *err = common ? str_add_bytes(&made, line, word->start) : err_nomem;

	if (err)
		return err;
	ret->ends_word = single && !ends_folder(common);
	if (!single && strlen(common) <= word->text.len)
		err = str_add(&made, line + word->start);
	else if (!add_name(&made, matches, word, common))
		err = err_create(ERR_FORMAT, "no word of it");
	if (!err && ret->ends_word && word->kind == WORD_QUOTED)
		err = str_add(&made, "\"");
	if (!err)
		err = str_add(&made, "");
	ret->line = err ? NULL : take(made.at);
	return err;
}

static struct err *take_names(struct matches *matches, struct completion *ret)
{
	struct err *err = NULL;

	vec_each_while(match, &matches->vec, !err) {
		AUTO_STR struct str shown = STR_INIT;
		const char *name = match->shown ? match->shown : match->name;

		err = outside_add(&shown, name, strlen(name), OUTSIDE_ONE_LINE);
		if (!err)
			err = str_add(&shown, "");
		if (!err)
			err = vec_push(&ret->names, shown.at);
		if (!err)
			shown.at = NULL;
	}
	return err;
}

struct err *complete_line(struct shell *shell, const char *line, struct completion *ret)
{
	CLEANUP(complete_matches_free) struct matches matches = { .vec = VEC_INIT };
	CLEANUP(word_free) struct word word = WORD_INIT;
	struct err *err = word_find(shell, line, &word);

	if (err)
		return err;
	collect(shell, &word, &matches);
	drop_wordless(&matches, &word);
	if (!matches.vec.nr)
		return NULL;
	err = make_line(line, &word, &matches, ret);
	return err ? err : take_names(&matches, ret);
}

void complete_line_free(struct completion *completion)
{
	free(take(completion->line));
	while (completion->names.nr)
		free(completion->names.at[--completion->names.nr]);
	vec_free(&completion->names);
}

/* readline */

/* What was completed last, for the list of all. */
static struct completion last;

/* readline wants the line, and then as many more as there are names; it frees them. */
static char **lines_of(const struct completion *completion)
{
	size_t nr = completion->names.nr;
	char **lines = calloc(nr + 2, sizeof(*lines));

	for (size_t i = 0; lines && i < (nr == 1 ? 1 : nr + 1); i++)
		lines[i] = strdup(completion->line);
	return lines;
}

/* The whole line is the word for readline, since its own words are not Tcl's. */
static char **attempt(const char *text, int start UNUSED, int end UNUSED)
{
	rl_attempted_completion_over = 1;
	complete_line_free(&last);
	if (complete_line(completing, text, &last) || !last.line)
		return NULL;
	rl_completion_append_character = last.ends_word ? ' ' : '\0';
	return lines_of(&last);
}

/* Instead of the lines the names are shown. */
static void show_names(char **lines UNUSED, int nr UNUSED, int longest UNUSED)
{
	AUTO_FREE char **list = calloc(last.names.nr + 2, sizeof(*list));
	size_t most = 0;

	if (!list)
		return;
	list[0] = (char *)"";
	for (size_t i = 0; i < last.names.nr; i++) {
		list[i + 1] = last.names.at[i];
		most = MAX(most, strlen(list[i + 1]));
	}
	rl_display_match_list(list, (int)last.names.nr, (int)most);
	rl_forced_update_display();
}

void complete_line_init(struct shell *shell)
{
	completing = shell;
	rl_attempted_completion_function = attempt;
	rl_completion_display_matches_hook = show_names;
	rl_completer_word_break_characters = (char *)"";
	rl_ignore_completion_duplicates = 0;
	rl_sort_completion_matches = 0;
}
