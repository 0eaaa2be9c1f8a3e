/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Makes C++ names short (fold.h).
 *
 * The name is copied from left to right. A bracket is a scope, which ends with its counterpart.
 * Each scope knows where the name that is being copied ("std::map") began. When the `>` of a
 * template comes, its folded arguments are in the copy, behind that name: they are compared with
 * the defaults from the last one on, and the copy is cut behind the first argument that stays. A
 * `<` opens arguments only behind a name; in an expression it is copied within parentheses, and
 * anywhere else the name is left as it is.
 */

#include "symbol/fold.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/compiler.h"
#include "base/str.h"
#include "symbol/fold_table.h"

#define DEPTH_MAX	128	/* scopes of 200 bytes of stack each; real names have some 30 */
#define LEN_MAX		(1u << 17)
#define ANONYMOUS	"(anonymous namespace)::"

struct folder {
	const char *start, *at;	/* start of the name; next character to copy */
	struct str out;
	unsigned depth;
	size_t params, out_params;	/* where the parameters begin; SIZE_MAX: none so far */
};

struct scope {
	char closer;
	size_t name;	/* where the current name begins in the copy */
	bool joined;	/* the name continues, as a :: has come */
	bool opens;	/* the next < opens template arguments */
};

static bool fold_scope(struct folder *folder, struct scope *scope);

static bool emit(struct folder *folder, const char *text, size_t len)
{
	return folder->out.len + len <= LEN_MAX && !str_add_bytes(&folder->out, text, len);
}

static bool copy(struct folder *folder, size_t len)
{
	const char *from = folder->at;

	folder->at += len;
	return emit(folder, from, len);
}

/* Copy anything else. It ends the name before it. */
static bool copy_plain(struct folder *folder, struct scope *scope, size_t len)
{
	scope->opens = scope->joined = false;
	return copy(folder, len);
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

static void begin_name(const struct folder *folder, struct scope *scope)
{
	if (!scope->joined)
		scope->name = folder->out.len;
}

/* Returns the length of the symbol behind `operator`; 0 if a type, new or delete follows. */
static size_t operator_len(const char *at)
{
	static const char *const longest_first[] = {
		"<<=", ">>=", "<=>", "->*", "<<", ">>", "<=", ">=", "->", "()", "[]", "\"\"",
		"==", "!=", "&&", "||", "++", "--", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=",
		"<", ">", ",", "+", "-", "*", "/", "%", "&", "|", "^", "~", "!", "=",
	};

	for (size_t i = 0; i < ARRAY_SIZE(longest_first); i++) {
		size_t len = strlen(longest_first[i]);

		if (!strncmp(at, longest_first[i], len))
			return len;
	}
	return 0;
}

/*
 * Copy an operator's name. The demangler puts a blank between `operator<` and its template
 * arguments.
 */
static bool copy_operator(struct folder *folder, struct scope *scope)
{
	size_t len = operator_len(folder->at);

	scope->opens = len;
	scope->joined = false;
	if (!copy(folder, len))
		return false;
	if (len && folder->at[-1] == '<' && !strncmp(folder->at, " <", 2))
		return copy(folder, 1);
	return true;
}

static bool in_std(const struct folder *folder, const struct scope *scope)
{
	return folder->out.len - scope->name >= 5 &&
	       !memcmp(folder->out.at + scope->name, "std::", 5);
}

static bool fold_word(struct folder *folder, struct scope *scope)
{
	const char *word = folder->at;
	size_t len = 0;

	while (is_word(word[len]))
		len++;
	if (isdigit((unsigned char)*word))
		return copy_plain(folder, scope, len);
	begin_name(folder, scope);
	if (scope->joined && in_std(folder, scope) && !strncmp(word + len, "::", 2) &&
	    fold_table_is_inline(word, len)) {
		folder->at += len + 2;
		return true;
	}
	if (!copy_plain(folder, scope, len))
		return false;
	scope->opens = true;
	return len == 8 && !memcmp(word, "operator", 8) ? copy_operator(folder, scope) : true;
}

/* Copy a bracket and its contents. */
static bool fold_bracket(struct folder *folder, struct scope *outer, char closer)
{
	struct scope inner = { .closer = closer };
	bool understood;

	if (folder->depth == DEPTH_MAX || !copy_plain(folder, outer, 1))
		return false;
	folder->depth++;
	understood = fold_scope(folder, &inner) && *folder->at == closer && copy(folder, 1);
	folder->depth--;
	return understood;
}

static bool fold_parenthesis(struct folder *folder, struct scope *scope)
{
	if (!strncmp(folder->at, ANONYMOUS, strlen(ANONYMOUS))) {
		begin_name(folder, scope);
		scope->joined = true;
		scope->opens = false;
		return copy(folder, strlen(ANONYMOUS));
	}
	/* These are the parameters, as they come last: f(int)::{lambda(int)#1}::operator()(int). */
	if (!folder->depth && folder->at > folder->start) {
		folder->params = (size_t)(folder->at - folder->start);
		folder->out_params = folder->out.len;
	}
	return fold_bracket(folder, scope, ')');
}

/* Copy a tag. It belongs to the name before it, which continues: to_string[abi:cxx11]<int>(). */
static bool fold_square(struct folder *folder, struct scope *scope)
{
	const char *end = folder->at + 5;

	if (strncmp(folder->at, "[abi:", 5))
		return fold_bracket(folder, scope, ']');
	while (is_word(*end))
		end++;
	if (*end != ']')
		return false;
	folder->at = end + 1;
	return true;
}

static bool fold_brace(struct folder *folder, struct scope *scope)
{
	begin_name(folder, scope);
	return fold_bracket(folder, scope, '}');
}

/* Copy arguments and store them in args; *nr_ret counts those beyond ARGS_MAX, too. */
static bool fold_each_argument(struct folder *folder, struct fold_arg *args, size_t *nr_ret)
{
	for (*nr_ret = 0;;) {
		struct scope inner = { .closer = '>' };
		size_t start = folder->out.len, nr = (*nr_ret)++;

		if (!fold_scope(folder, &inner))
			return false;
		if (nr < FOLD_ARGS_MAX)
			args[nr] = (struct fold_arg){ start, folder->out.len - start };
		if (*folder->at++ == '>')
			return true;
		while (*folder->at == ' ')
			folder->at++;
		if (!emit(folder, ", ", 2))
			return false;
	}
}

static void cut(struct folder *folder, size_t len)
{
	folder->out.len = len;
	folder->out.at[len] = '\0';
}

/*
 * Leave out the last arguments that are defaults, and write the `>`. False: the copy is too long.
 */
static bool close_arguments(struct folder *folder, const struct scope *scope, size_t start,
			    const struct fold_arg *args, size_t nr)
{
	const struct fold_template *template = NULL;
	const char *at = folder->out.at;
	const char *alias = NULL;

	if (nr <= FOLD_ARGS_MAX && in_std(folder, scope))
		template = fold_table_template(at + scope->name, start - scope->name);
	if (template)
		nr = fold_table_kept(template, at, args, nr);
	if (template && nr == 1)
		alias = fold_table_alias(template, at + args[0].start, args[0].len);
	if (template)
		cut(folder, args[nr - 1].start + args[nr - 1].len);
	if (alias) {
		cut(folder, scope->name + 5);	/* keeps `std::` */
		return emit(folder, alias, strlen(alias)) &&
		       emit(folder, template->alias, strlen(template->alias));
	}
	if (folder->out.at[folder->out.len - 1] == '>' && !emit(folder, " ", 1))
		return false;
	return emit(folder, ">", 1);
}

static bool fold_arguments(struct folder *folder, struct scope *scope)
{
	struct fold_arg args[FOLD_ARGS_MAX];
	size_t start = folder->out.len, nr;
	bool understood;

	if (folder->depth == DEPTH_MAX || !copy_plain(folder, scope, 1))
		return false;
	folder->depth++;
	understood = fold_each_argument(folder, args, &nr);
	folder->depth--;
	return understood && close_arguments(folder, scope, start, args, nr);
}

static bool fold_angle(struct folder *folder, struct scope *scope)
{
	if (*folder->at == '<' && scope->opens)
		return fold_arguments(folder, scope);
	/* It is a comparison. */
	return scope->closer == ')' && copy_plain(folder, scope, 1);
}

static bool fold_blank(struct folder *folder, struct scope *scope)
{
	size_t len = strspn(folder->at, " ");

	if (scope->closer != '>' || folder->at[len] != '>')
		return copy_plain(folder, scope, len);
	folder->at += len;
	return true;
}

static bool fold_one(struct folder *folder, struct scope *scope)
{
	const char *at = folder->at;

	if (is_word(*at))
		return fold_word(folder, scope);
	switch (*at) {
	case ':':
		if (at[1] != ':')
			return copy_plain(folder, scope, 1);
		scope->joined = true;
		scope->opens = false;
		return copy(folder, 2);
	case '(':
		return fold_parenthesis(folder, scope);
	case '[':
		return fold_square(folder, scope);
	case '{':
		return fold_brace(folder, scope);
	case '<':
	case '>':
		return fold_angle(folder, scope);
	case ' ':
		return fold_blank(folder, scope);
	case '-':
		return copy_plain(folder, scope, at[1] == '>' ? 2 : 1);
	case ')':
	case ']':
	case '}':
	case '"':
	case '\'':
		return false;
	default:
		return copy_plain(folder, scope, 1);
	}
}

/* Copy up to the closer, or up to a comma between arguments; the caller copies that. */
static bool fold_scope(struct folder *folder, struct scope *scope)
{
	while (*folder->at != scope->closer && (scope->closer != '>' || *folder->at != ',')) {
		if (!*folder->at || !fold_one(folder, scope))
			return false;
	}
	return true;
}

/*
 * This is done last: while arguments are compared, a type in an anonymous namespace must differ
 * from one of the same name outside.
 */
static void leave_out_anonymous(struct folder *folder)
{
	char *to = folder->out.at, *from = to;
	size_t len = strlen(ANONYMOUS), params = folder->out_params;

	while (*from) {
		if (*from != '(' || strncmp(from, ANONYMOUS, len)) {
			*to++ = *from++;
			continue;
		}
		if (folder->out_params != SIZE_MAX && from < folder->out.at + folder->out_params)
			params -= len;
		from += len;
	}
	*to = '\0';
	folder->out_params = params;
}

size_t fold_bare(const char *name)
{
	size_t len = strcspn(name, "(");

	return len ? len : strlen(name);
}

struct folded fold_name(const char *name)
{
	struct folder folder = { .start = name, .at = name, .out = STR_INIT,
				 .params = SIZE_MAX, .out_params = SIZE_MAX };
	struct scope scope = { .closer = '\0' };
	struct folded folded = { .bare = fold_bare(name) };

	if (fold_scope(&folder, &scope) && folder.out.len) {
		leave_out_anonymous(&folder);
		folded.bare = MIN(folder.params, strlen(name));
		folded.text_bare = MIN(folder.out_params, strlen(folder.out.at));
		if (strcmp(folder.out.at, name))
			folded.text = take(folder.out.at);
	}
	str_free(&folder.out);
	return folded;
}
