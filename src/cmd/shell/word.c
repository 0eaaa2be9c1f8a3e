/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The word at the end of a line (theory in word.h).
 *
 * The levels are those of Tcl: a line, a command in brackets, a script in braces. Each has the
 * words of its command so far. A closing bracket or brace goes back to the level outside.
 */

#include "cmd/shell/word.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <tcl.h>

#include "base/cleanup.h"
#include "base/outside.h"
#include "cmd/shell/alias.h"
#include "cmd/shell/cmd.h"

#define LEVELS_MAX	32

struct span {
	size_t start, end;
};

struct level {
	char close;		/* what ends it: ']', '}'; 0: the line */
	bool inside;		/* of a word */
	bool quoted;		/* the word began with a quote */
	bool substituted;	/* the word has a variable or a command */
	size_t start;		/* of the word, with its quote */
	int nr;
	struct span words[WORDS_MAX];
};

struct scan {
	const char *line;
	size_t at, len;
	bool comment;
	int depth;
	struct level levels[LEVELS_MAX];
};

static struct level *top(struct scan *scan)
{
	return &scan->levels[scan->depth];
}

static void begin_command(struct scan *scan)
{
	top(scan)->nr = 0;
	top(scan)->inside = false;
}

static void end_word(struct scan *scan)
{
	struct level *level = top(scan);

	if (level->inside && level->nr < WORDS_MAX)
		level->words[level->nr++] = (struct span){ level->start, scan->at };
	level->inside = false;
}

static bool enter(struct scan *scan, char close)
{
	if (scan->depth + 1 == LEVELS_MAX)
		return false;
	scan->depth++;
	*top(scan) = (struct level){ .close = close };
	return true;
}

/* The word outside goes on behind a bracket, and ends with a brace. */
static void leave(struct scan *scan)
{
	bool brace = top(scan)->close == '}';

	scan->depth--;
	top(scan)->substituted = true;
	scan->at++;
	if (brace)
		end_word(scan);
}

static void begin_word(struct scan *scan)
{
	struct level *level = top(scan);

	level->inside = true;
	level->start = scan->at;
	level->substituted = false;
	level->quoted = scan->line[scan->at] == '"';
	scan->at += level->quoted;
}

/* One step between two words. False: the line is too deep. */
static bool between(struct scan *scan)
{
	char c = scan->line[scan->at];

	if (c == top(scan)->close && c) {
		leave(scan);
	} else if (isspace((unsigned char)c) || c == ';') {
		if (c == ';' || c == '\n')
			begin_command(scan);
		scan->at++;
	} else if (c == '#' && !top(scan)->nr) {
		scan->comment = true;
		scan->at = scan->len;
	} else {
		begin_word(scan);
		if (c == '{') {
			scan->at++;
			return enter(scan, '}');
		}
	}
	return true;
}

/* One step inside of a word. */
static bool within(struct scan *scan)
{
	struct level *level = top(scan);
	char c = scan->line[scan->at];

	if (c == '\\' && scan->at + 1 < scan->len) {
		scan->at += 2;
	} else if (c == '[') {
		scan->at++;
		return enter(scan, ']');
	} else if (level->quoted && c == '"') {
		level->quoted = false;
		level->substituted = true;	/* nothing more may come here */
		scan->at++;
	} else if (!level->quoted && (isspace((unsigned char)c) || c == ';')) {
		end_word(scan);
	} else if (!level->quoted && c == level->close) {
		end_word(scan);
		leave(scan);
	} else {
		level->substituted |= c == '$';
		scan->at++;
	}
	return true;
}

/* What a word means: without its quotes or braces, and with its backslashes. */
static struct err *add_meaning(struct str *to, const char *at, size_t len)
{
	struct err *err = NULL;

	if (len > 1 && *at == '{' && at[len - 1] == '}')
		return str_add_bytes(to, at + 1, len - 2);
	if (len && *at == '"') {
		at++;
		len -= len > 1 && at[len - 2] == '"' ? 2 : 1;
	}
	while (len && !err) {
		size_t plain = strcspn(at, "\\");
		char bytes[TCL_UTF_MAX + 1];
		int used = 0, made;

		plain = plain < len ? plain : len;
		err = str_add_bytes(to, at, plain);
		at += plain;
		len -= plain;
		if (err || !len)
			continue;
		made = Tcl_UtfBackslash(at, &used, bytes);
		used = (size_t)used < len ? used : (int)len;
		err = str_add_bytes(to, bytes, (size_t)made);
		at += used;
		len -= (size_t)used;
	}
	return err;
}

static struct err *take_words(struct scan *scan, struct word *ret)
{
	const struct level *level = top(scan);
	struct err *err = NULL;

	for (int i = 0; i < level->nr && !err; i++) {
		AUTO_STR struct str text = STR_INIT;
		const struct span *span = &level->words[i];

		err = add_meaning(&text, scan->line + span->start, span->end - span->start);
		if (!err)
			err = str_add(&text, "");
		if (!err && !(ret->before[ret->nr] = strdup(str_text(&text))))
			err = err_nomem;
		ret->nr += !err;
	}
	return err;
}

/* Does the first command of the line, or a `|` in it, give the rest to a shell? From where? */
static const char *shell_part(const struct shell *shell, struct scan *scan)
{
	const struct level *level = &scan->levels[0];
	const char *first = scan->line + level->words[0].start, *full[8];
	AUTO_FREE char *name = NULL;
	const struct cmd *cmd;
	int used;

	if (scan->depth)
		return NULL;
	for (int i = 0; i < level->nr; i++) {
		const char *word = scan->line + level->words[i].start;

		if (word[0] == '|' && word[1] != '|')
			return word + 1;
	}
	if (level->inside && scan->line[level->start] == '|')
		return scan->line + level->start + 1;
	if (!level->nr || first != scan->line + strspn(scan->line, " \t\n"))
		return NULL;
	name = strndup(first, level->words[0].end - level->words[0].start);
	if (!name || !alias_expand(shell, 1, (const char *const[]){ name }, ARRAY_SIZE(full), full) ||
	    cmd_lookup(1, full, &cmd, &used) || !cmd || !(cmd->flags & CMD_RAW))
		return NULL;
	return scan->line + level->words[0].end;
}

/* The last word for a shell, if it has nothing but plain and escaped characters. */
static struct err *find_shell_word(const char *line, const char *rest, struct word *ret)
{
	const char *start = rest, *at;
	bool quoted = false, special = false;
	struct err *err = NULL;

	for (at = rest; *at; at++) {
		if (*at == '\\' && at[1]) {
			at++;
		} else if (isspace((unsigned char)*at)) {
			start = at + 1;
			special = false;
		} else {
			quoted |= strchr("'\"`", *at) != NULL;
			special |= strchr("$(){};|&<>*?[]~#\\", *at) != NULL;
		}
	}
	ret->kind = quoted || special ? WORD_UNKNOWN : WORD_SHELL;
	ret->start = (size_t)(start - line);
	for (at = start; *at && !err; at++) {
		at += *at == '\\' && at[1];
		err = str_add_bytes(&ret->text, at, 1);
	}
	return err;
}

struct err *word_find(const struct shell *shell, const char *line, struct word *ret)
{
	AUTO_FREE struct scan *scan = calloc(1, sizeof(*scan));
	const struct level *level;
	const char *rest;
	bool deep = false;
	struct err *err;

	if (!scan)
		return err_nomem;
	scan->line = line;
	scan->len = strlen(line);
	while (scan->at < scan->len && !deep && scan->depth >= 0)
		deep = top(scan)->inside ? !within(scan) : !between(scan);
	level = top(scan);
	ret->start = level->inside ? level->start + level->quoted : scan->len;
	ret->kind = level->inside && level->quoted ? WORD_QUOTED : WORD_BARE;
	if (deep || scan->comment || (level->inside && level->substituted)) {
		ret->kind = WORD_UNKNOWN;
		return NULL;
	}
	rest = shell_part(shell, scan);
	if (rest)
		return find_shell_word(line, rest, ret);
	err = take_words(scan, ret);
	return err || !level->inside ? err :
		add_meaning(&ret->text, line + ret->start, scan->len - ret->start);
}

void word_free(struct word *word)
{
	str_free(&word->text);
	while (word->nr)
		free(word->before[--word->nr]);
}

/* Quoting */

/* A character that is shown by its number elsewhere is written by its number here. */
static struct err *add_number(struct str *to, enum word_kind kind, const char *text, size_t *used)
{
	Tcl_UniChar number = 0;
	char back[TCL_UTF_MAX + 1];

	*used = (size_t)Tcl_UtfToUniChar(text, &number);
	/* Bytes that are no UTF-8 do not come back as they were. */
	if (kind == WORD_SHELL || (size_t)Tcl_UniCharToUtf(number, back) != *used ||
	    memcmp(back, text, *used))
		return err_create(ERR_FORMAT, "no word of it");
	return str_addf(to, "\\u%04x", (unsigned)number);
}

static bool needs_backslash(enum word_kind kind, char c, bool first)
{
	if (kind == WORD_QUOTED)
		return strchr("\"$[\\", c);
	if (kind == WORD_SHELL)
		return !isalnum((unsigned char)c) && !strchr("_./,:=@%+-", c) &&
		       (unsigned char)c < 0x80;
	return strchr(" ;\"$[]{}\\", c) || (first && c == '#');
}

static struct err *quote(struct str *to, enum word_kind kind, const char *text)
{
	struct err *err = NULL;
	bool first = true;
	size_t used;

	for (; *text && !err; text += used, first = false) {
		bool plain = outside_plain(text, strnlen(text, 4), OUTSIDE_ONE_LINE) > 0;

		used = 1;
		if (!plain)
			err = add_number(to, kind, text, &used);
		else
			err = str_addf(to, "%s%c",
				       needs_backslash(kind, *text, first) ? "\\" : "", *text);
		/* The other bytes of a character that is plain. */
		while (!err && plain && (text[used] & 0xc0) == 0x80)
			err = str_add_bytes(to, text + used++, 1);
	}
	return err;
}

bool word_quote(struct str *to, enum word_kind kind, const char *text)
{
	AUTO_STR struct str quoted = STR_INIT;

	return !quote(&quoted, kind, text) && !str_add(to, str_text(&quoted));
}
