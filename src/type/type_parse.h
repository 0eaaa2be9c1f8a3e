/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names and types in an expression: "unsigned long", "struct node *", "int (*)[4]", "ns::type<int>". */
#pragma once

#include "base/str.h"
#include "type/token.h"
#include "type/type.h"

struct value_world;

struct type_parse {
	const char *at;		/* behind the token */
	struct token token;	/* that is looked at */
	const struct value_world *world;
};

struct err *type_parse_advance(struct type_parse *parse) MUST_CHECK;
/*
 * If a type stands here, go behind it. A name that is a variable's as well is no type, as in C.
 * ERR_NOTFOUND: there is no struct of that name; ERR_USAGE.
 */
struct err *type_parse(struct type_parse *parse, struct type **ret, bool *is_ret) MUST_CHECK;
/* Read a name with its scopes and template arguments, as DWARF writes it. */
struct err *type_parse_name(struct type_parse *parse, struct str *ret) MUST_CHECK;
