/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Types in an expression (type_parse.h). */

#include "type/type_parse.h"

#include <ctype.h>
#include <string.h>

#include "base/compiler.h"
#include "type/locals.h"
#include "type/type_index.h"
#include "type/types.h"

#define DECLARATORS	64u	/* signs behind a type's name */

struct err *type_parse_advance(struct type_parse *parse)
{
	return token_next(&parse->at, &parse->token);
}

static bool is(const struct type_parse *parse, const char *sign)
{
	return token_is(&parse->token, sign);
}

/* The text from a < to its >, or NULL; `a < b` has none. */
static const char *arguments_end(const char *at)
{
	int depth = 0;

	for (; *at; at++) {
		if (*at == '<')
			depth++;
		else if (*at == '>' && !--depth)
			return at + 1;
		else if (!isalnum((unsigned char)*at) && !strchr("_:, *&[]()'-", *at))
			return NULL;
	}
	return NULL;
}

/*
 * Template arguments belong to the name if a type has that name. DWARF writes "a<b, c<d> >": one
 * blank behind a comma, and between two >.
 */
static struct err *take_arguments(struct type_parse *parse, struct str *name)
{
	const char *from = parse->token.at, *end = arguments_end(from);
	struct str whole AUTO_STR = STR_INIT;
	struct type *type;
	bool found;
	struct err *err;

	if (!end)
		return NULL;
	err = str_add(&whole, str_text(name));
	for (const char *at = from; at < end && !err; at++) {
		if (isspace((unsigned char)*at))
			continue;
		if (at > from && (at[-1] == ',' || (*at == '>' && whole.at[whole.len - 1] == '>') ||
				  (isspace((unsigned char)at[-1]) && isalnum((unsigned char)*at) &&
				   isalnum((unsigned char)whole.at[whole.len - 1]))) &&
		    whole.at[whole.len - 1] != ' ')
			err = str_add(&whole, " ");
		if (!err)
			err = str_add_bytes(&whole, at, 1);
		if (!err && *at == ',')
			err = str_add(&whole, " ");
	}
	if (!err)
		err = types_find_type(parse->world->types, whole.at, &type, &found);
	if (err || !found)
		return err;
	str_clear(name);
	parse->at = end;
	err = str_add(name, whole.at);
	return err ? err : type_parse_advance(parse);
}

struct err *type_parse_name(struct type_parse *parse, struct str *ret)
{
	struct err *err = is(parse, "::") ? type_parse_advance(parse) : NULL;

	for (;;) {
		/* (anonymous namespace):: is left out by the index. */
		if (!err && parse->token.kind != TOKEN_NAME)
			err = err_create(ERR_USAGE, "a name is missing before '%.30s'",
					 parse->token.at);
		if (!err)
			err = str_add_bytes(ret, parse->token.at, parse->token.len);
		if (!err)
			err = type_parse_advance(parse);
		if (!err && is(parse, "<"))
			err = take_arguments(parse, ret);
		if (err || !is(parse, "::"))
			return err;
		err = str_add(ret, "::");
		if (!err)
			err = type_parse_advance(parse);
	}
}

/* The words of C's own types, in any order. */
struct words {
	unsigned nr, longs;
	bool is_unsigned, is_signed, is_short, is_char, is_int, is_float, is_double, is_bool, is_void,
		is_wide;
};

static bool take_word(const struct type_parse *parse, struct words *words)
{
	if (is(parse, "unsigned"))
		words->is_unsigned = true;
	else if (is(parse, "signed"))
		words->is_signed = true;
	else if (is(parse, "long"))
		words->longs++;
	else if (is(parse, "short"))
		words->is_short = true;
	else if (is(parse, "char"))
		words->is_char = true;
	else if (is(parse, "int"))
		words->is_int = true;
	else if (is(parse, "float"))
		words->is_float = true;
	else if (is(parse, "double"))
		words->is_double = true;
	else if (is(parse, "bool") || is(parse, "_Bool"))
		words->is_bool = true;
	else if (is(parse, "void"))
		words->is_void = true;
	else if (is(parse, "__int128"))
		words->is_wide = true;
	else
		return false;
	words->nr++;
	return true;
}

static struct type *type_of_words(struct type_pool *pool, const struct words *words)
{
	bool is_unsigned = words->is_unsigned;
	enum type_builtin which = is_unsigned ? BUILTIN_UNSIGNED : BUILTIN_INT;

	if (words->is_void)
		return pool->nothing;
	if (words->is_char)
		which = is_unsigned ? BUILTIN_UCHAR : words->is_signed ? BUILTIN_SCHAR :
									 BUILTIN_CHAR;
	else if (words->is_double)
		which = words->longs ? BUILTIN_LDOUBLE : BUILTIN_DOUBLE;
	else if (words->is_float)
		which = BUILTIN_FLOAT;
	else if (words->is_bool)
		which = BUILTIN_BOOL;
	else if (words->is_short)
		which = is_unsigned ? BUILTIN_USHORT : BUILTIN_SHORT;
	else if (words->is_wide)
		which = is_unsigned ? BUILTIN_UINT128 : BUILTIN_INT128;
	else if (words->longs > 1)
		which = is_unsigned ? BUILTIN_ULLONG : BUILTIN_LLONG;
	else if (words->longs)
		which = is_unsigned ? BUILTIN_ULONG : BUILTIN_LONG;
	return type_builtin(pool, which);
}

static struct err *skip_qualifiers(struct type_parse *parse)
{
	struct err *err = NULL;

	while (!err && (is(parse, "const") || is(parse, "volatile") || is(parse, "restrict")))
		err = type_parse_advance(parse);
	return err;
}

static struct err *parse_tag(struct type_parse *parse, enum type_kind kind, struct type **ret)
{
	struct str name AUTO_STR = STR_INIT;
	struct err *err = type_parse_advance(parse);
	bool found;

	if (!err)
		err = type_parse_name(parse, &name);
	if (!err)
		err = types_find_tag(parse->world->types, kind, name.at, ret, &found);
	if (!err && !found)
		err = err_create(ERR_NOTFOUND, "no struct, union, class or enum %.200s", name.at);
	return err;
}

/* A name is a type if nothing else has it; one of C's structs needs `struct`. */
static struct err *parse_named(struct type_parse *parse, struct type **ret, bool *is_ret)
{
	struct type_parse before = *parse;
	struct str name AUTO_STR = STR_INIT;
	struct named named;
	struct value local;
	bool is_local = false;
	struct err *err = type_parse_name(parse, &name);

	*is_ret = false;
	if (!err && parse->world->frame)
		err = locals_find(parse->world, str_text(&name), &local, &is_local);
	if (!err && !is_local)
		err = types_find(parse->world->types, NULL, str_text(&name), &named, is_ret);
	if (!err && *is_ret && named.kind == NAME_TYPE)
		*ret = named.is.type;
	else if (!err && !*is_ret && type_index_last(str_text(&name)) != name.at)
		err = types_find_type(parse->world->types, str_text(&name), ret, is_ret);
	else
		*is_ret = false;
	if (!*is_ret)
		*parse = before;
	/* Several files have a variable of that name: who evaluates it says so. */
	return err && err->code == ERR_USAGE ? NULL : err;
}

static struct err *parse_base(struct type_parse *parse, struct type **ret, bool *is_ret)
{
	static const struct {
		const char *word;
		enum type_kind kind;
	} tags[] = {
		{ "struct", TYPE_STRUCT }, { "class", TYPE_CLASS }, { "union", TYPE_UNION },
		{ "enum", TYPE_ENUM },
	};
	struct words words = { .nr = 0 };
	struct err *err = skip_qualifiers(parse);

	*is_ret = true;
	for (size_t i = 0; !err && i < ARRAY_SIZE(tags); i++)
		if (is(parse, tags[i].word))
			return parse_tag(parse, tags[i].kind, ret);
	while (!err && take_word(parse, &words))
		err = type_parse_advance(parse);
	if (!err && words.nr) {
		*ret = type_of_words(types_pool(parse->world->types), &words);
		return NULL;
	}
	*is_ret = false;
	return err || parse->token.kind != TOKEN_NAME || is(parse, "sizeof") ? err :
		parse_named(parse, ret, is_ret);
}

/* [N], once for each dimension; the last one is the innermost. */
static struct err *parse_dimensions(struct type_parse *parse, struct type **type)
{
	uint64_t counts[DECLARATORS];
	unsigned nr = 0;
	struct err *err = NULL;

	while (!err && is(parse, "[")) {
		err = type_parse_advance(parse);
		if (!err && (parse->token.kind != TOKEN_INTEGER || nr == DECLARATORS))
			err = err_create(ERR_USAGE, "a number is missing before '%.30s'",
					 parse->token.at);
		if (err)
			return err;
		counts[nr++] = parse->token.integer;
		err = type_parse_advance(parse);
		if (!err && !is(parse, "]"))
			err = err_create(ERR_USAGE, "a ']' is missing");
		if (!err)
			err = type_parse_advance(parse);
	}
	while (nr)
		*type = type_array(*type, counts[--nr]);
	return err;
}

static struct err *parse_pointers(struct type_parse *parse, unsigned *nr_ret)
{
	struct err *err = skip_qualifiers(parse);

	*nr_ret = 0;
	while (!err && is(parse, "*")) {
		if (++*nr_ret > DECLARATORS)
			return err_create(ERR_USAGE, "more than %u pointers to pointers",
					  DECLARATORS);
		err = type_parse_advance(parse);
		if (!err)
			err = skip_qualifiers(parse);
	}
	return err;
}

/* TYPE * [N], and TYPE (*) [N], a pointer to arrays. */
static struct err *parse_declarator(struct type_parse *parse, struct type **type)
{
	unsigned nr, inner = 0;
	struct type_parse before;
	struct err *err = parse_pointers(parse, &nr);

	for (; !err && nr; nr--)
		*type = type_pointer(*type);
	before = *parse;
	if (!err && is(parse, "(")) {
		err = type_parse_advance(parse);
		if (!err)
			err = parse_pointers(parse, &inner);
		if (!err && inner && is(parse, ")")) {
			err = type_parse_advance(parse);
		} else {
			*parse = before;
			inner = 0;
		}
	}
	if (!err)
		err = parse_dimensions(parse, type);
	for (; !err && inner; inner--)
		*type = type_pointer(*type);
	return err;
}

struct err *type_parse(struct type_parse *parse, struct type **ret, bool *is_ret)
{
	struct err *err = parse_base(parse, ret, is_ret);

	return err || !*is_ret ? err : parse_declarator(parse, ret);
}
