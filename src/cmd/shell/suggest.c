/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hints for what was mistyped (theory in suggest.h). */

#include "cmd/shell/suggest.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "cmd/shell/cmd.h"
#include "cmd/shell/settings.h"
#include "cmd/shell/shell.h"

#define WORD_MAX	32	/* a longer word is near no name */
#define FILES_MAX	8u	/* names in a hint */

static char plain(char letter)
{
	return letter == '_' ? '-' : letter;
}

/*
 * Levenshtein's distance; row[j] is the distance between the letters of x so far and the first j
 * letters of y.
 */
static size_t distance(const char *x, size_t x_len, const char *y, size_t y_len)
{
	size_t row[WORD_MAX + 1];

	for (size_t j = 0; j <= y_len; j++)
		row[j] = j;
	for (size_t i = 0; i < x_len; i++) {
		size_t corner = row[0];

		row[0] = i + 1;
		for (size_t j = 0; j < y_len; j++) {
			size_t changed = corner + (plain(x[i]) != plain(y[j]));
			size_t shifted;

			corner = row[j + 1];
			shifted = MIN(corner, row[j]) + 1;
			row[j + 1] = MIN(shifted, changed);
		}
	}
	return row[y_len];
}

/*
 * Is word near name? It is if a letter or two were added, left out or changed (fewer in short
 * words, and not all), or if word is the beginning of name. `_` counts as `-`.
 */
static bool near_word(const char *word, const char *name)
{
	size_t word_len = strlen(word), name_len = strlen(name), most;

	if (!word_len || word_len > WORD_MAX || name_len > WORD_MAX)
		return false;
	if (word_len >= 3 && !strncmp(word, name, word_len))
		return true;
	most = MIN(word_len, name_len) < 5 ? 1 : 2;
	return distance(word, word_len, name, name_len) <= MIN(most, MAX(word_len, name_len) - 1);
}

/* Do they have the same letters, without regard to case, `-` and `_`? */
static bool near_same(const char *word, const char *name)
{
	for (;; word++, name++) {
		word += strspn(word, "-_");
		name += strspn(name, "-_");
		if (tolower((unsigned char)*word) != tolower((unsigned char)*name))
			return false;
		if (!*word)
			return true;
	}
}

bool suggest_is_near(const char *word, const char *name)
{
	return near_same(word, name) || near_word(word, name);
}

static struct err *add_if_near(struct str *list, const char *word, const char *name)
{
	return near_word(word, name) ?
		       str_addf(list, "%s%s", list->len ? ", " : "near it: ", name) : NULL;
}

static void look_at_name(struct shell *shell, const char *name)
{
	const char *setting, *meant = NULL;

	for (size_t i = 0; (setting = settings_word(NULL, i)); i++) {
		if (!strcmp(name, setting))
			return;
		if (near_same(name, setting) || (strchr(name, '-') && near_word(name, setting)))
			meant = setting;
	}
	if (!meant || Tcl_GetVar(shell->tcl, name, TCL_GLOBAL_ONLY))
		return;
	terminal_err(&shell->terminal,
		     err_hint(err_create(ERR_USAGE, "set: %s is no setting, but a new variable", name),
			      "near it: %s; `set` lists the settings", meant));
}

/* The text of a word without substitutions; NULL: it has some. */
static const Tcl_Token *plain_word(const Tcl_Token *word)
{
	return word->type == TCL_TOKEN_SIMPLE_WORD ? word + 1 : NULL;
}

static void look_at_command(struct shell *shell, const Tcl_Parse *parse)
{
	const Tcl_Token *first = parse->tokenPtr, *command, *name;
	char text[64];

	if (parse->numWords != 3)
		return;
	command = plain_word(first);
	name = plain_word(first + first->numComponents + 1);
	if (!command || !name || command->size != 3 || memcmp(command->start, "set", 3) ||
	    (size_t)name->size >= sizeof(text))
		return;
	memcpy(text, name->start, (size_t)name->size);
	text[name->size] = '\0';
	look_at_name(shell, text);
}

void suggest_settings(struct shell *shell, const char *text, size_t len)
{
	const char *end = text + len;
	Tcl_Parse parse;

	while (text < end && Tcl_ParseCommand(NULL, text, (int)(end - text), 0, &parse) == TCL_OK) {
		look_at_command(shell, &parse);
		text = parse.commandStart + parse.commandSize;
		Tcl_FreeParse(&parse);
	}
}

/* The word that is in quotes in one of Tcl's messages. */
static char *quoted(const char *message)
{
	const char *begin = strchr(message, '"'), *end = strrchr(message, '"');

	return begin && end > begin ? strndup(begin + 1, (size_t)(end - begin - 1)) : NULL;
}

/* Add the names that are near the word, and the command that lists all of them. */
static struct err *add_names(const char *word, bool commands, struct str *ret)
{
	struct err *err = NULL;
	const char *setting;
	char name[CMD_WORD_MAX];

	for (unsigned i = 0; word && commands && !err && cmd_next_word(&i, name);)
		err = add_if_near(ret, word, name);
	for (size_t i = 0; word && !commands && !err && (setting = settings_word(NULL, i)); i++)
		err = add_if_near(ret, word, setting);
	return err ? err : str_addf(ret, "%s%s", ret->len ? "; " : "",
				    commands ? "`help` lists the commands" :
					       "`set` lists the settings");
}

static struct err *add_file(const char *name, struct str *ret)
{
	Tcl_DString native;
	struct err *err;

	/* A ~ stands for a user's folder, which Tcl fills in. */
	if (!name || !Tcl_TranslateFileName(NULL, name, &native))
		return NULL;
	err = suggest_file(Tcl_DStringValue(&native), ret);
	Tcl_DStringFree(&native);
	return err;
}

/*
 * The command that failed. errorInfo has the innermost one first. If errorInfo has none (`break`),
 * the message quotes its name.
 */
static char *failed_command(const char *message, const char *info)
{
	static const char executing[] = "while executing\n\"";
	const char *begin = strstr(info, executing);

	if (!begin)
		return quoted(message);
	begin += sizeof(executing) - 1;
	return strndup(begin, strcspn(begin, "\"\n"));
}

bool suggest_is_unread(const char *message)
{
	return !strncmp(message, "couldn't read file ", 19);
}

struct err *suggest_for(const char *message, const char *info, struct str *ret)
{
	AUTO_FREE char *word = quoted(message), *failed = failed_command(message, info);
	bool command = !strncmp(message, "invalid command name", 20);
	const char *answer = failed ? suggest_foreign(failed) : NULL;

	if (answer)
		return str_add(ret, answer);
	/* This is for `set NAME` itself, and not for a variable of a script. */
	if (command || (!strncmp(message, "can't read", 10) && strstr(info, "\"set ")))
		return add_names(word, command, ret);
	return suggest_is_unread(message) ? add_file(word, ret) : NULL;
}

/*
 * Find the first component of path that stat cannot reach, and copy the path up to and with it to
 * start. Returns its length; 0: all can be reached.
 */
static size_t first_bad(const char *path, char start[PATH_MAX])
{
	size_t len = strspn(path, "/");
	struct stat st;

	while (path[len]) {
		len += strcspn(path + len, "/");
		snprintf(start, PATH_MAX, "%.*s", (int)len, path);
		if (stat(start, &st))
			return len;
		len += strspn(path + len, "/");
	}
	return 0;
}

/* The folder that contains path, as a path of its own. */
static void folder_of(const char *path, char ret[PATH_MAX])
{
	size_t len = (size_t)(path_base(path) - path);

	while (len > 1 && path[len - 1] == '/')
		len--;
	snprintf(ret, PATH_MAX, "%.*s", (int)len, path);
	if (!len && !getcwd(ret, PATH_MAX))
		strcpy(ret, ".");
}

static struct err *missing(const char *path, struct str *ret)
{
	const char *name = path_base(path);
	char folder[PATH_MAX];
	struct err *err = NULL;
	const struct dirent *entry;
	unsigned nr = 0;
	DIR *dir;

	folder_of(path, folder);
	dir = opendir(folder);
	while (dir && !err && nr < FILES_MAX && (entry = readdir(dir))) {
		size_t before = ret->len;

		if (*entry->d_name != '.' || *name == '.')
			err = add_if_near(ret, name, entry->d_name);
		nr += ret->len > before;
	}
	if (dir)
		closedir(dir);
	return err || nr ? err : str_addf(ret, "%s has no file of that name", folder);
}

/* path ends with the component that stat cannot reach. */
static struct err *bad(const char *path, bool is_last, struct str *ret)
{
	char folder[PATH_MAX], link[PATH_MAX];
	struct stat st;
	ssize_t len;
	int why = stat(path, &st) ? errno : 0;

	folder_of(path, folder);
	if (why == EACCES)
		return str_addf(ret, "user %u may not look into %s", geteuid(), folder);
	if (why == ENOTDIR)
		return str_addf(ret, "%s is no folder", folder);
	if (why != ENOENT)
		return NULL;
	len = readlink(path, link, sizeof(link));
	if (len > 0)
		return str_addf(ret, "%s is a link to %.*s, which is not there", path, (int)len,
				link);
	return is_last ? missing(path, ret) : str_addf(ret, "there is no folder %s", path);
}

struct err *suggest_file(const char *path, struct str *ret)
{
	char start[PATH_MAX];
	struct stat st;
	size_t bad_len;

	if (!*path)
		return str_add(ret, "the name is empty");
	if (strlen(path) >= sizeof(start))
		return NULL;
	bad_len = first_bad(path, start);
	if (bad_len)
		return bad(start, !path[bad_len + strspn(path + bad_len, "/")], ret);
	if (stat(path, &st))
		return NULL;
	if (S_ISDIR(st.st_mode))
		return str_add(ret, "it is a folder: name a file in it");
	if (access(path, R_OK))
		return str_addf(ret, "it is user %u's, and user %u may not read it", st.st_uid,
				geteuid());
	return NULL;
}

struct err *suggest_file_hint(struct err *err, const char *path)
{
	AUTO_STR struct str why = STR_INIT;

	if (*err->hint || suggest_file(path, &why))
		return err;
	return why.len ? err_hint(err, "%s", str_text(&why)) : err;
}
