/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Expressions (expr.h), by descent: each function reads what binds at least as tightly as it says,
 * from `token` on, and leaves `token` behind it. They call one another for each parenthesis and each
 * sign, so DEPTH bounds them.
 */

#include "type/expr.h"

#include <string.h>

#include "base/cancel.h"
#include "base/compiler.h"
#include "type/arithmetic.h"
#include "type/expr_literal.h"
#include "type/expr_member.h"
#include "type/expr_name.h"
#include "type/token.h"
#include "type/type_parse.h"
#include "type/types.h"

#define DEPTH		200u
#define COUNT_MOST	(1 << 30)	/* of ARRAY@COUNT */

struct parser {
	struct type_parse in;		/* text and token, and what names are types */
	const struct value_world *world, *zeros;	/* zeros: without the target's memory */
	unsigned depth;
	bool skipped;			/* its value is not wanted: it is read, and not evaluated */
	struct expr *out;
};

/* A reference is what it leads to, wherever its value is used. */
static struct err *follow(struct parser *p, struct value *value)
{
	return p->skipped ? NULL : value_follow(p->world->memory, value);
}

static struct err *parse_any(struct parser *p, struct value *ret);
static struct err *parse_unary(struct parser *p, struct value *ret);

static bool at(const struct parser *p, const char *sign)
{
	return token_is(&p->in.token, sign);
}

static struct err *advance(struct parser *p)
{
	return type_parse_advance(&p->in);
}

static struct err *expect(struct parser *p, const char *sign)
{
	if (!at(p, sign))
		return p->in.token.kind == TOKEN_END ?
			err_create(ERR_USAGE, "the expression ends where a '%s' is missing", sign) :
			err_create(ERR_USAGE, "a '%s' is missing before '%.30s'", sign,
				   p->in.token.at);
	return advance(p);
}

static struct type *builtin(const struct parser *p, enum type_builtin which)
{
	return type_builtin(types_pool(p->world->types), which);
}

static struct value nothing_of(const struct parser *p)
{
	return value_of_integer(builtin(p, BUILTIN_INT), 0);
}

static struct err *literal(struct parser *p, struct value *ret)
{
	struct err *err = expr_literal_value(p->world, &p->in.token, ret);

	return err ? err : advance(p);
}

static struct err *parse_name(struct parser *p, struct value *ret)
{
	struct str file AUTO_STR = STR_INIT;
	struct str name AUTO_STR = STR_INIT;
	struct err *err = NULL;

	if (p->in.token.kind == TOKEN_QUOTED) {
		err = str_add_bytes(&file, p->in.token.at + 1, p->in.token.len - 2);
		if (!err)
			err = advance(p);
		if (!err)
			err = expect(p, "::");
	}
	if (!err)
		err = type_parse_name(&p->in, &name);
	if (!err && p->skipped)
		*ret = nothing_of(p);
	else if (!err)
		err = expr_name_value(p->world, file.at, str_text(&name), p->out->unknown, ret);
	return err;
}

/* (EXPR), (TYPE) EXPR. */
static struct err *parse_parenthesis(struct parser *p, struct value *ret)
{
	struct type *type;
	bool is_type;
	struct value value;
	struct err *err = advance(p);

	if (!err)
		err = type_parse(&p->in, &type, &is_type);
	if (err)
		return err;
	if (!is_type) {
		err = parse_any(p, ret);
		return err ? err : expect(p, ")");
	}
	err = expect(p, ")");
	if (!err)
		err = parse_unary(p, &value);
	if (!err)
		err = follow(p, &value);
	if (err || p->skipped)
		return err;
	return arithmetic_cast(p->world, type, &value, ret);
}

static struct err *parse_primary(struct parser *p, struct value *ret)
{
	switch (p->in.token.kind) {
	case TOKEN_INTEGER:
	case TOKEN_REAL:
	case TOKEN_CHAR:
	case TOKEN_STRING:
		return literal(p, ret);
	case TOKEN_NAME:
	case TOKEN_QUOTED:
		return parse_name(p, ret);
	case TOKEN_END:
		return err_create(ERR_USAGE, "the expression is not complete");
	default:
		break;
	}
	if (at(p, "("))
		return parse_parenthesis(p, ret);
	if (at(p, "::"))
		return parse_name(p, ret);
	return err_create(ERR_USAGE, "'%.30s' is no expression", p->in.token.at);
}

/* a[i]; of a struct, a pointer to it does as well, as in gdb. */
static struct err *index_value(struct parser *p, struct value *value)
{
	struct value index = nothing_of(p);
	struct number number;
	struct err *err = advance(p);

	if (!err)
		err = parse_any(p, &index);
	if (!err)
		err = follow(p, &index);
	if (!err)
		err = expect(p, "]");
	if (err || p->skipped)
		return err;
	err = value_number(p->world->memory, &index, &number);
	if (!err && number.is_float)
		err = err_create(ERR_USAGE, "an index that is no integer");
	if (err)
		return err;
	return value_element(p->world->memory, value, (int64_t)number.integer, value);
}

static struct err *member_value(struct parser *p, struct value *value)
{
	struct str name AUTO_STR = STR_INIT;
	struct err *err = advance(p);

	if (!err && p->in.token.kind != TOKEN_NAME)
		err = err_create(ERR_USAGE, "a member's name is missing before '%.30s'",
				 p->in.token.at);
	if (!err)
		err = str_add_bytes(&name, p->in.token.at, p->in.token.len);
	if (!err)
		err = advance(p);
	return err || p->skipped ? err : expr_member_value(p->world, name.at, p->out->unknown, value);
}

static struct err *parse_postfix(struct parser *p, struct value *ret)
{
	struct err *err = parse_primary(p, ret);

	while (!err) {
		if (at(p, "[") || at(p, ".") || at(p, "->"))
			err = follow(p, ret);
		if (!err && at(p, "->"))
			err = p->skipped ? NULL : expr_member_unwrap(p->world, ret);
		if (err)
			break;
		if (at(p, "["))
			err = index_value(p, ret);
		else if (at(p, ".") || at(p, "->"))
			err = member_value(p, ret);
		else if (at(p, "("))
			return err_create(ERR_UNSUPPORTED,
					  "print runs none of the target's functions");
		else if (at(p, "++") || at(p, "--"))
			return err_create(ERR_UNSUPPORTED, "print does not change the target");
		else
			break;
		if (!err)
			err = cancel_check();
	}
	return err;
}

/* What stands behind a sign. */
static struct err *parse_operand(struct parser *p, struct value *ret)
{
	struct err *err = parse_unary(p, ret);

	return err ? err : follow(p, ret);
}

static struct err *address_of(struct parser *p, struct value *ret)
{
	struct value value;
	struct err *err = parse_operand(p, &value);

	if (err || p->skipped)
		return err;
	if (value.nowhere)
		return value_nowhere(&value);
	if (!value.lvalue)
		return err_create(ERR_USAGE, "the address of a value that is not in memory");
	*ret = value_of_integer(type_pointer(value.type), value.address);
	return NULL;
}

static struct err *dereference(struct parser *p, struct value *ret)
{
	struct value value;
	struct type *type;
	uint64_t address;
	struct err *err = parse_operand(p, &value);

	if (!err && !p->skipped)
		err = expr_member_unwrap(p->world, &value);
	if (err || p->skipped)
		return err;
	type = type_plain(value.type);
	if (type->kind == TYPE_FUNCTION) {
		*ret = value;
		return NULL;
	}
	if (type->kind == TYPE_ARRAY || type->kind == TYPE_POINTER) {
		type = type_target(type);
		if (type_plain(type)->kind == TYPE_VOID)
			return err_create(ERR_USAGE, "what a void pointer points to has no type; "
					  "{TYPE} ADDRESS says one");
	} else if (type_is_integer(type)) {
		type = builtin(p, BUILTIN_LONG);
	} else {
		return err_create(ERR_USAGE, "* needs a pointer");
	}
	err = value_pointer(p->world->memory, &value, &address);
	if (!err)
		*ret = value_at(type, address);
	return err;
}

/* sizeof EXPR, sizeof (TYPE): nothing is read. */
static struct err *size_of(struct parser *p, struct value *ret)
{
	struct type *type;
	bool is_type = false;
	struct value value;
	uint64_t size;
	struct type_parse before = p->in;
	struct err *err = NULL;

	if (at(p, "(")) {
		err = advance(p);
		if (!err)
			err = type_parse(&p->in, &type, &is_type);
		if (!err && is_type)
			err = expect(p, ")");
	}
	if (!err && !is_type) {
		const struct value_world *world = p->world;

		p->in = before;
		p->world = p->zeros;
		err = parse_unary(p, &value);
		type = value.type;
		p->world = world;
	}
	if (!err && type_is_reference(type_plain(type)))
		type = type_target(type_plain(type));
	if (err || p->skipped)
		return err;
	err = type_size(type, &size);
	if (!err)
		*ret = value_of_integer(builtin(p, BUILTIN_ULONG), size);
	return err;
}

/* {TYPE} ADDRESS. */
static struct err *at_address(struct parser *p, struct value *ret)
{
	struct type *type;
	bool is_type;
	struct value value;
	uint64_t address;
	struct err *err = type_parse(&p->in, &type, &is_type);

	if (!err && !is_type)
		err = err_create(ERR_NOTFOUND, "'%.60s' is no type", p->in.token.at);
	if (!err)
		err = expect(p, "}");
	if (!err)
		err = parse_operand(p, &value);
	if (err || p->skipped)
		return err;
	err = value_pointer(p->world->memory, &value, &address);
	if (!err)
		*ret = value_at(type, address);
	return err;
}

static struct err *parse_sign(struct parser *p, struct value *ret)
{
	const struct token sign = p->in.token;
	struct value value;
	struct err *err = advance(p);

	if (err)
		return err;
	if (token_is(&sign, "sizeof"))
		return size_of(p, ret);
	switch (*sign.at) {
	case '&':
		return address_of(p, ret);
	case '*':
		return dereference(p, ret);
	case '{':
		return at_address(p, ret);
	default:
		err = parse_operand(p, &value);
		if (err || p->skipped)
			return err;
		return arithmetic_unary(p->world, *sign.at, &value, ret);
	}
}

static struct err *parse_unary(struct parser *p, struct value *ret)
{
	const struct token *token = &p->in.token;
	struct err *err;

	*ret = nothing_of(p);
	if (p->depth == DEPTH)
		return err_create(ERR_USAGE, "parentheses and signs are nested more than %u deep",
				  DEPTH);
	if (at(p, "++") || at(p, "--"))
		return err_create(ERR_UNSUPPORTED, "print does not change the target");
	p->depth++;
	err = (token->kind == TOKEN_SIGN && token->len == 1 && strchr("&*-+~!{", *token->at)) ||
	      at(p, "sizeof") ? parse_sign(p, ret) : parse_postfix(p, ret);
	p->depth--;
	return err;
}

static const struct {
	const char *sign;
	int rank;		/* the higher binds more tightly */
	enum operation op;
} binaries[] = {
	{ "*", 10, OP_MULTIPLY }, { "/", 10, OP_DIVIDE }, { "%", 10, OP_REST },
	{ "+", 9, OP_ADD }, { "-", 9, OP_SUBTRACT },
	{ "@", 8, OP_ADD },
	{ "<<", 7, OP_LEFT }, { ">>", 7, OP_RIGHT },
	{ "<", 6, OP_LESS }, { ">", 6, OP_GREATER }, { "<=", 6, OP_LESS_EQUAL },
	{ ">=", 6, OP_GREATER_EQUAL },
	{ "==", 5, OP_EQUAL }, { "!=", 5, OP_UNEQUAL },
	{ "&", 4, OP_AND }, { "^", 3, OP_XOR }, { "|", 2, OP_OR },
};

/* ARRAY@COUNT: so many of what is there. */
static struct err *count_of(struct parser *p, const struct value *first, const struct value *count,
			    struct value *ret)
{
	struct number number;
	struct err *err = value_number(p->world->memory, count, &number);

	if (!err && !first->lvalue)
		err = err_create(ERR_USAGE, "what stands before @ is not in memory");
	if (!err && (number.is_float || !number.integer || number.integer > COUNT_MOST))
		err = err_create(ERR_USAGE, "the number behind @ is from 1 to %d", COUNT_MOST);
	if (!err)
		*ret = value_at(type_array(first->type, number.integer), first->address);
	return err;
}

static struct err *parse_binary(struct parser *p, int rank, struct value *ret)
{
	struct err *err = parse_unary(p, ret);

	while (!err) {
		size_t i = 0;
		struct value left = *ret, right;

		while (i < ARRAY_SIZE(binaries) &&
		       !(binaries[i].rank >= rank && at(p, binaries[i].sign)))
			i++;
		if (i == ARRAY_SIZE(binaries))
			break;
		err = advance(p);
		if (!err)
			err = parse_binary(p, binaries[i].rank + 1, &right);
		if (!err)
			err = follow(p, &left);
		if (!err)
			err = follow(p, &right);
		if (err || p->skipped)
			continue;
		err = *binaries[i].sign == '@' ? count_of(p, &left, &right, ret) :
			arithmetic_binary(p->world, binaries[i].op, &left, &right, ret);
	}
	return err;
}

static struct err *truth(struct parser *p, struct value *value, bool *ret)
{
	struct err *err = follow(p, value);

	return err ? err : arithmetic_truth(p->world, value, ret);
}

/* && and ||: what is behind one that decides is read, and not evaluated. */
static struct err *parse_logic(struct parser *p, bool any, struct value *ret)
{
	struct err *err = any ? parse_logic(p, false, ret) : parse_binary(p, 0, ret);
	bool before = p->skipped;

	while (!err && at(p, any ? "||" : "&&")) {
		bool left = false, right = false;
		struct value value;

		if (!p->skipped)
			err = truth(p, ret, &left);
		if (!err)
			err = advance(p);
		if (err)
			break;
		p->skipped |= left == any;
		err = any ? parse_logic(p, false, &value) : parse_binary(p, 0, &value);
		if (!err && !p->skipped)
			err = truth(p, &value, &right);
		p->skipped = before;
		if (!err)
			*ret = arithmetic_bool(p->world, any ? left || right : left && right);
	}
	return err;
}

static struct err *parse_any(struct parser *p, struct value *ret)
{
	struct err *err = parse_logic(p, true, ret);
	bool before = p->skipped, is = false;
	struct value other;

	if (!err && at(p, "="))
		return err_create(ERR_UNSUPPORTED, "print does not change the target (== compares)");
	if (err || !at(p, "?"))
		return err;
	if (!before)
		err = truth(p, ret, &is);
	if (!err)
		err = advance(p);
	p->skipped = before || !is;
	if (!err)
		err = parse_any(p, ret);
	if (!err)
		err = expect(p, ":");
	p->skipped = before || is;
	if (!err)
		err = parse_any(p, &other);
	p->skipped = before;
	if (!err && !is)
		*ret = other;
	return err;
}

static struct err *parse_whole(struct parser *p)
{
	struct expr *out = p->out;
	struct err *err = advance(p);

	if (!err && p->in.token.kind == TOKEN_END)
		return err_create(ERR_USAGE, "an expression is missing");
	if (!err)
		err = type_parse(&p->in, &out->value.type, &out->is_type);
	if (!err && !out->is_type)
		err = parse_any(p, &out->value);
	if (!err && p->in.token.kind != TOKEN_END)
		err = err_create(ERR_USAGE, "'%.30s' is left over", p->in.token.at);
	return err;
}

struct err *expr_evaluate(const struct value_world *world, const char *text, struct expr *ret)
{
	struct value_world zeros = *world;
	struct parser p = {
		.in = { .at = text, .world = world },
		.world = world, .zeros = &zeros, .out = ret,
	};
	struct err *err;

	zeros.memory = value_zeros();
	*ret = (struct expr){ .is_type = false };
	if (strlen(text) > EXPR_MOST)
		return err_create(ERR_RANGE, "an expression of more than %u bytes", EXPR_MOST);
	err = parse_whole(&p);
	return !err && types_pool(world->types)->nomem ? err_nomem : err;
}

struct err *expr_type(const struct value_world *world, const char *text, struct expr *ret)
{
	struct value_world zeros = *world;

	zeros.memory = value_zeros();
	return expr_evaluate(&zeros, text, ret);
}
