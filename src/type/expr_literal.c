/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Literals (expr_literal.h). */

#include "type/expr_literal.h"

#include <string.h>

#include "type/types.h"

static struct type *builtin(const struct value_world *world, enum type_builtin which)
{
	return type_builtin(types_pool(world->types), which);
}

static struct value integer_value(const struct value_world *world, const struct token *token)
{
	uint64_t word = token->integer;
	bool hex = !token->is_decimal;
	enum type_builtin which = BUILTIN_INT;

	if (token->is_long || word > UINT32_MAX || (word > INT32_MAX && !hex && !token->is_unsigned))
		which = word > INT64_MAX || token->is_unsigned ? BUILTIN_ULONG : BUILTIN_LONG;
	else if (token->is_unsigned || word > INT32_MAX)
		which = BUILTIN_UNSIGNED;
	return value_of_integer(builtin(world, which), word);
}

static struct err *string_value(const struct value_world *world, const struct token *token,
				struct value *ret)
{
	size_t len;
	char bytes[sizeof(ret->bytes)];
	struct err *err = token_string(token, bytes, sizeof(bytes) - 1, &len);

	if (err)
		return err_create(ERR_UNSUPPORTED, "a string of more than %zu bytes in an "
				  "expression", sizeof(bytes) - 1);
	*ret = (struct value){ .type = type_array(builtin(world, BUILTIN_CHAR), len + 1) };
	memcpy(ret->bytes, bytes, len);
	return NULL;
}

struct err *expr_literal_value(const struct value_world *world, const struct token *token,
			       struct value *ret)
{
	switch (token->kind) {
	case TOKEN_INTEGER:
		*ret = integer_value(world, token);
		return NULL;
	case TOKEN_CHAR:
		*ret = value_of_integer(builtin(world, BUILTIN_CHAR),
					(uint64_t)(int64_t)(int8_t)token->integer);
		return NULL;
	case TOKEN_REAL:
		*ret = value_of_float(builtin(world, token->suffix == 'f' ? BUILTIN_FLOAT :
					      token->suffix == 'l' ? BUILTIN_LDOUBLE :
					      BUILTIN_DOUBLE), token->real);
		return NULL;
	default:
		return string_value(world, token, ret);
	}
}
