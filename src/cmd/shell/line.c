/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Parse a line as it is typed.
 *
 * The words of the line are found as Tcl would find them (braces, quotes, brackets, backslashes),
 * without substitution. So a `>` inside of any of these is no redirection. The text after a `|` is
 * the shell's and need not be Tcl, so it is not looked at.
 */

#include "cmd/shell/line.h"

#include "base/cleanup.h"
#include "base/vec.h"
#include "cmd/shell/alias.h"
#include "cmd/shell/redirect_kind.h"

struct words {
	VEC(char *) vec;
};

static void words_clear(struct words *words)
{
	while (words->vec.nr)
		free(words->vec.at[--words->vec.nr]);
}

static void words_free(struct words *words)
{
	words_clear(words);
	vec_free(&words->vec);
}

static struct err *words_add(struct words *words, const char *at, size_t len)
{
	char *word = strndup(at, len);
	struct err *err;

	if (!word)
		return err_nomem;
	err = vec_push(&words->vec, word);
	if (err)
		free(word);
	return err;
}

/* Skip blanks inside a command; a backslash before the end of a line makes it a blank. */
static const char *skip_blanks(const char *at)
{
	for (;;) {
		if (*at == ' ' || *at == '\t' || *at == '\r')
			at++;
		else if (at[0] == '\\' && at[1] == '\n')
			at += 2;
		else
			return at;
	}
}

/* Skip to behind the closing brace, or to the end of the text. */
static const char *skip_braces(const char *at)
{
	unsigned depth = 0;

	for (; *at; at++) {
		if (*at == '\\' && at[1])
			at++;
		else if (*at == '{')
			depth++;
		else if (*at == '}' && --depth == 0)
			return at + 1;
	}
	return at;
}

static const char *skip_brackets(const char *at)
{
	unsigned depth = 0;

	while (*at) {
		if (*at == '\\' && at[1]) {
			at += 2;
		} else if (*at == '{') {
			at = skip_braces(at);
		} else {
			if (*at == '[')
				depth++;
			else if (*at == ']' && --depth == 0)
				return at + 1;
			at++;
		}
	}
	return at;
}

static bool ends_bare(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == ';' || !c;
}

/* Skip the word that begins at `at`. */
static const char *skip_word(const char *at)
{
	bool quoted = *at == '"';

	if (*at == '{')
		at = skip_braces(at);
	else if (quoted)
		at++;
	while (*at && (quoted || !ends_bare(*at))) {
		if (*at == '\\' && at[1]) {
			at += 2;
		} else if (*at == '[') {
			at = skip_brackets(at);
		} else if (at[0] == '$' && at[1] == '{') {
			at += strcspn(at, "}");
			at += *at == '}';
		} else {
			if (quoted && *at == '"')
				quoted = false;
			at++;
		}
	}
	return at;
}

/*
 * If the command that these words begin has this flag, return it, else NULL. An alias counts as its
 * command.
 */
static const struct cmd *flagged(const struct shell *shell, const struct words *words,
				 enum cmd_flags flag)
{
	const char *full[8];
	const struct cmd *cmd;
	int nr, used;

	nr = alias_expand(shell, (int)words->vec.nr, (const char *const *)words->vec.at,
			  ARRAY_SIZE(full), full);
	if (!nr || cmd_lookup(nr, full, &cmd, &used) || !cmd || !(cmd->flags & flag))
		return NULL;
	return cmd;
}

/* The length of the first word, if it names a raw command; a format may be behind its name. */
static size_t raw_name(const struct shell *shell, struct words *words, const struct cmd **ret)
{
	char *word = words->vec.at[0], *slash = strchr(word, '/');
	size_t len = strlen(word);

	*ret = flagged(shell, words, CMD_RAW);
	if (*ret || !slash)
		return len;
	*slash = '\0';
	*ret = flagged(shell, words, CMD_FORMAT);
	*slash = '/';
	return (size_t)(slash - word);
}

/* A redirection to a file ends the line: `set op >; …` is Tcl. */
static bool ends_line(const char *rest)
{
	rest = skip_blanks(rest);
	if (!*rest)
		return false;
	rest = skip_blanks(skip_word(rest));
	while (*rest == '\n')
		rest = skip_blanks(rest + 1);
	return !*rest;
}

/*
 * Look at the last of words, which is the text from `at` on. True if it begins a redirection, or if
 * it is the first word and names a raw command; *ret is complete then.
 */
static bool ends_tcl(const struct shell *shell, const char *text, struct words *words,
		     const char *at, struct line *ret)
{
	const char *word = words->vec.at[words->vec.nr - 1], *rest;
	enum redirect_kind kind;

	if (at == text + strspn(text, " \t\n")) {
		size_t len = raw_name(shell, words, &ret->raw);

		if (ret->raw) {
			ret->rest = at + len;
			ret->head_len = (size_t)(ret->rest - text);
			return true;
		}
	}
	words->vec.nr--;
	kind = redirect_kind(word, (int)words->vec.nr, (const char *const *)words->vec.at,
			     flagged(shell, words, CMD_FILTER) != NULL);
	words->vec.nr++;
	rest = at + (kind == REDIRECT_APPEND ? 2 : 1);
	if (!kind || (kind != REDIRECT_PIPE && !ends_line(rest)))
		return false;
	ret->kind = kind;
	ret->rest = rest;
	ret->head_len = (size_t)(at - text);
	return true;
}

struct err *line_parse(const struct shell *shell, const char *text, struct line *ret)
{
	CLEANUP(words_free) struct words words = { VEC_INIT };
	const char *at = text, *end;
	struct err *err = NULL;

	*ret = (struct line){ .head_len = strlen(text) };
	while (!err && *(at = skip_blanks(at))) {
		if (*at == ';' || *at == '\n') {
			words_clear(&words);
			at++;
		} else if (*at == '#' && !words.vec.nr) {
			at += strcspn(at, "\n");
		} else {
			end = skip_word(at);
			err = words_add(&words, at, (size_t)(end - at));
			if (!err && ends_tcl(shell, text, &words, at, ret))
				return NULL;
			at = end;
		}
	}
	return err;
}
