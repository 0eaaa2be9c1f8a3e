/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Leaks that must not be reported (suppression.h). */

#include "heap/suppression.h"

#include <ctype.h>
#include <string.h>

#include "base/cleanup.h"
#include "os/input.h"

#define FILE_MAX	(16u << 20)

/*
 * Blocks that glibc 2.36 and libstdc++ 12 (Debian 12) lose, or seem to, in a program that uses all
 * of locales, iconv, threads, dlopen, nss, timers, aio, streams ... libstdc++ loses nothing: its
 * pool for exceptions, whatever it says at the end of a program under valgrind, is reachable.
 * glibc's search trees, whose nodes' colour is in the low bit of a pointer, give possibly lost
 * blocks to setenv alone.
 */
static const struct {
	const char *pattern;
	bool caller;
} built_in[] = {
	/*
	 * The loader's own blocks. It points to the middle of them: the table of dynamic
	 * TLS (dtv) of a thread that has ended, whose stack is kept for the next one; the table
	 * that tells the unwinder of objects, which is aligned inside of what malloc gave.
	 */
	{ "^ld-linux", true },
	/* A stream opened with ",ccs=": fclose forgets both conversions (_IO_new_fclose). */
	{ "^_IO_file_fopen$", false },
	/*
	 * glibc's setenv keeps every value that it was given in a search tree, and never frees one.
	 */
	{ "^__add_to_environ$", false },
};

static struct err *add(struct suppressions *suppressions, const char *pattern, size_t len,
		       struct suppression like)
{
	struct err *err;

	if (suppressions->vec.nr == SUPPRESS_MAX)
		return err_create(ERR_RANGE, "more than %u suppressions", SUPPRESS_MAX);
	like.pattern = strndup(pattern, len);
	if (!like.pattern)
		return err_nomem;
	err = vec_push(&suppressions->vec, like);
	if (err)
		free(like.pattern);
	return err;
}

struct err *suppressions_init(struct suppressions *ret)
{
	struct suppressions made = { VEC_INIT };
	struct err *err = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(built_in) && !err; i++)
		err = add(&made, built_in[i].pattern, strlen(built_in[i].pattern),
			  (struct suppression){ .built_in = true, .caller = built_in[i].caller });
	if (err)
		suppressions_free(&made);
	else
		*ret = made;
	return err;
}

static void cut(struct suppressions *suppressions, size_t nr)
{
	while (suppressions->vec.nr > nr)
		free(suppressions->vec.at[--suppressions->vec.nr].pattern);
}

void suppressions_free(struct suppressions *suppressions)
{
	cut(suppressions, 0);
	vec_free(&suppressions->vec);
}

static struct err *bad_line(const char *text)
{
	int kind = (int)strcspn(text, ":");

	if (strlen(text) == strlen("leak:"))
		return err_hint(err_create(ERR_USAGE, "a pattern is missing after leak:"),
				"`leak:*` suppresses all leaks that have a stack");
	if (text[kind] && !strpbrk(text, " {"))
		return err_hint(err_create(ERR_USAGE, "'%.*s' is nothing to suppress", kind, text),
				"lines are `leak:PATTERN`, as LeakSanitizer's; the kinds of other "
				"sanitizers have no meaning here");
	return err_hint(err_create(ERR_USAGE, "'%.40s' is no suppression", text),
			"lines are `leak:PATTERN`, as LeakSanitizer's, or `# comment`; valgrind "
			"has another format");
}

/* text ends with its line, and may be cut. */
static struct err *add_line(struct suppressions *suppressions, char *text, size_t len)
{
	if (strlen(text) != len)
		return err_hint(err_create(ERR_USAGE, "a zero byte"), "it is no text file");
	while (len && isspace((unsigned char)text[len - 1]))
		text[--len] = '\0';
	while (isspace((unsigned char)*text)) {
		text++;
		len--;
	}
	if (!len || *text == '#')
		return NULL;
	if (strncmp(text, "leak:", 5) || len == 5)
		return bad_line(text);
	return add(suppressions, text + 5, len - 5, (struct suppression){ .built_in = false });
}

static struct err *read_lines(struct suppressions *suppressions, FILE *stream, const char *file)
{
	AUTO_FREE char *line = NULL;
	struct err *err = NULL;
	unsigned long number = 1;
	size_t room = 0;
	ssize_t len;

	for (; !err && (len = getline(&line, &room, stream)) >= 0; number++) {
		err = add_line(suppressions, line, (size_t)len);
		if (err)
			err = err_wrap(err, "suppressions: %s: line %lu", file, number);
	}
	return !err && ferror(stream) ? err_sys("suppressions: read %s", file) : err;
}

struct err *suppressions_read(struct suppressions *suppressions, const char *file)
{
	size_t before = suppressions->vec.nr;
	AUTO_STR struct str text = STR_INIT;
	AUTO_FCLOSE FILE *stream = NULL;
	struct err *err = input_read(file, FILE_MAX, &text);

	if (err) {
		err = err_wrap(err, "suppressions: open %s", file);
		return *err->hint ? err : err_hint(err, "it is a file of lines `leak:PATTERN`");
	}
	if (!text.len)
		return NULL;
	stream = fmemopen(text.at, text.len, "r");
	if (!stream)
		return err_nomem;
	err = read_lines(suppressions, stream, file);
	if (err)
		cut(suppressions, before);
	return err;
}

/*
 * Each piece between two stars is matched at its first place, except that the piece before `$` must
 * be at the end, and the piece behind `^` at the front. A `$` ends the pattern, as in
 * LeakSanitizer.
 */
bool suppression_matches(const char *pattern, const char *name)
{
	bool front = *pattern == '^';

	if (!name || !*name)
		return false;
	for (pattern += front; ; pattern++) {
		size_t len = strcspn(pattern, "*$"), rest = strlen(name);

		if (pattern[len] == '$')
			return (front ? rest == len : rest >= len) &&
			       !memcmp(name + rest - len, pattern, len);
		if (front && strncmp(name, pattern, len))
			return false;
		name = memmem(name, rest, pattern, len);
		if (!name || !pattern[len])
			return name;
		name += len;
		pattern += len;
		front = false;
	}
}
