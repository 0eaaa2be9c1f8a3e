/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Arithmetic (arithmetic.h). */

#include "type/arithmetic.h"

#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "type/types.h"

static struct err *wrong_operands(void)
{
	return err_create(ERR_USAGE, "these values cannot be calculated with");
}

static struct type *builtin(const struct value_world *world, enum type_builtin which)
{
	return type_builtin(types_pool(world->types), which);
}

struct value arithmetic_bool(const struct value_world *world, bool is)
{
	return value_of_integer(builtin(world, types_are_cxx(world->types) ? BUILTIN_BOOL :
									     BUILTIN_INT), is);
}

/* The type of a number after C's promotions. */
static struct type *promoted(const struct value_world *world, const struct number *number)
{
	if (number->is_float)
		return builtin(world, number->size == 4 ? BUILTIN_FLOAT : number->size == 8 ?
			       BUILTIN_DOUBLE : BUILTIN_LDOUBLE);
	if (number->size < 4)
		return builtin(world, BUILTIN_INT);
	if (number->size == 4)
		return builtin(world, number->is_signed ? BUILTIN_INT : BUILTIN_UNSIGNED);
	return builtin(world, number->is_signed ? BUILTIN_LONG : BUILTIN_ULONG);
}

/* That of a calculation with both: the larger one, and without a sign if they are as large. */
static struct type *common(const struct value_world *world, const struct number *x,
			   const struct number *y)
{
	struct type *a = promoted(world, x), *b = promoted(world, y);

	if (x->is_float != y->is_float)
		return x->is_float ? a : b;
	if (a->size != b->size)
		return a->size > b->size ? a : b;
	return a->is_signed ? b : a;
}

static struct value fit(struct type *type, uint64_t word)
{
	unsigned shift = type->size < 8 ? 64 - 8 * (unsigned)type->size : 0;

	/* A file may have a number without bytes. */
	if (!type->size)
		return value_of_integer(type, 0);
	word <<= shift;
	return value_of_integer(type, type->is_signed ? (uint64_t)((int64_t)word >> shift) :
							word >> shift);
}

static uint64_t bits_of(struct value value)
{
	uint64_t word;

	memcpy(&word, value.bytes, sizeof(word));
	return word;
}

static bool compares(enum operation op)
{
	return op >= OP_LESS && op <= OP_UNEQUAL;
}

static bool holds(enum operation op, bool less, bool equal)
{
	switch (op) {
	case OP_LESS:
		return less;
	case OP_GREATER:
		return !less && !equal;
	case OP_LESS_EQUAL:
		return less || equal;
	case OP_GREATER_EQUAL:
		return !less;
	default:
		return equal == (op == OP_EQUAL);
	}
}

static struct err *real_binary(const struct value_world *world, enum operation op, struct type *type,
			       long double x, long double y, struct value *ret)
{
	long double result;

	if (compares(op)) {
		bool nan = isnan(x) || isnan(y);

		*ret = arithmetic_bool(world, nan ? op == OP_UNEQUAL : holds(op, x < y, x == y));
		return NULL;
	}
	switch (op) {
	case OP_MULTIPLY:
		result = x * y;
		break;
	case OP_DIVIDE:
		result = x / y;
		break;
	case OP_ADD:
		result = x + y;
		break;
	case OP_SUBTRACT:
		result = x - y;
		break;
	default:
		return err_create(ERR_USAGE, "an operation that needs integers");
	}
	*ret = value_of_float(type, result);
	return NULL;
}

static struct err *divide(enum operation op, const struct type *type, uint64_t x, uint64_t y,
			  uint64_t *ret)
{
	if (!y)
		return err_create(ERR_USAGE, "division by zero");
	if (!type->is_signed)
		*ret = op == OP_DIVIDE ? x / y : x % y;
	else if (y == UINT64_MAX)	/* the least number has no positive one */
		*ret = op == OP_DIVIDE ? -x : 0;
	else
		*ret = op == OP_DIVIDE ? (uint64_t)((int64_t)x / (int64_t)y) :
					 (uint64_t)((int64_t)x % (int64_t)y);
	return NULL;
}

static uint64_t shift(enum operation op, const struct type *type, uint64_t x, uint64_t y)
{
	if (y >= 8 * type->size)
		return op == OP_RIGHT && type->is_signed && (int64_t)x < 0 ? UINT64_MAX : 0;
	if (op == OP_LEFT)
		return x << y;
	return type->is_signed ? (uint64_t)((int64_t)x >> y) : x >> y;
}

static struct err *integer_binary(const struct value_world *world, enum operation op,
				  struct type *type, uint64_t x, uint64_t y, struct value *ret)
{
	uint64_t word = 0;
	struct err *err = NULL;

	if (compares(op)) {
		/* The order of signed numbers is that of unsigned ones with the sign turned. */
		x ^= (uint64_t)type->is_signed << 63;
		y ^= (uint64_t)type->is_signed << 63;
		*ret = arithmetic_bool(world, holds(op, x < y, x == y));
		return NULL;
	}
	switch (op) {
	case OP_MULTIPLY:
		word = x * y;
		break;
	case OP_DIVIDE:
	case OP_REST:
		err = divide(op, type, x, y, &word);
		break;
	case OP_ADD:
		word = x + y;
		break;
	case OP_SUBTRACT:
		word = x - y;
		break;
	case OP_LEFT:
	case OP_RIGHT:
		word = shift(op, type, x, y);
		break;
	case OP_AND:
		word = x & y;
		break;
	case OP_XOR:
		word = x ^ y;
		break;
	default:
		word = x | y;
	}
	*ret = fit(type, word);
	return err;
}

/* What a value is when it is calculated with: an array is a pointer to its first element. */
static struct type *pointed(const struct value *value)
{
	struct type *type = type_plain(value->type);

	if (type->kind == TYPE_ARRAY || type->kind == TYPE_POINTER)
		return type_target(type);
	return type->kind == TYPE_FUNCTION ? type : NULL;
}

static struct err *pointer_step(const struct value_world *world, const struct value *pointer,
				const struct value *by, bool back, struct value *ret)
{
	struct type *to = pointed(pointer);
	struct number number;
	uint64_t at, size = 1;
	struct err *err = value_pointer(world->memory, pointer, &at);

	if (!err)
		err = value_number(world->memory, by, &number);
	if (!err && number.is_float)
		err = wrong_operands();
	if (!err)
		err = type_size(to, &size);
	if (err)
		return err;
	size *= number.integer;
	*ret = value_of_integer(type_plain(pointer->type)->kind == TYPE_POINTER ? pointer->type :
				type_pointer(to), back ? at - size : at + size);
	return NULL;
}

static struct err *pointer_distance(const struct value_world *world, const struct value *left,
				    const struct value *right, struct value *ret)
{
	uint64_t x, y, size = 1;
	struct err *err = value_pointer(world->memory, left, &x);

	if (!err)
		err = value_pointer(world->memory, right, &y);
	if (!err)
		err = type_size(pointed(left), &size);
	if (!err)
		*ret = value_of_integer(builtin(world, BUILTIN_LONG),
					(uint64_t)((int64_t)(x - y) / (int64_t)MAX(size, 1u)));
	return err;
}

struct err *arithmetic_binary(const struct value_world *world, enum operation op,
			      const struct value *left, const struct value *right,
			      struct value *ret)
{
	bool points = pointed(left), also = pointed(right);
	struct number x, y;
	struct type *type;
	struct err *err;

	if (points && also && op == OP_SUBTRACT)
		return pointer_distance(world, left, right, ret);
	if (points != also && (op == OP_ADD || (op == OP_SUBTRACT && points)))
		return points ? pointer_step(world, left, right, op == OP_SUBTRACT, ret) :
				pointer_step(world, right, left, false, ret);
	if ((points || also) && !compares(op))
		return wrong_operands();
	err = value_number(world->memory, left, &x);
	if (!err)
		err = value_number(world->memory, right, &y);
	if (err)
		return err;
	type = op == OP_LEFT || op == OP_RIGHT ? promoted(world, &x) : common(world, &x, &y);
	if (x.is_float || y.is_float)
		return real_binary(world, op, type,
				   x.is_float ? x.real : x.is_signed ? (int64_t)x.integer :
				   (long double)x.integer,
				   y.is_float ? y.real : y.is_signed ? (int64_t)y.integer :
				   (long double)y.integer, ret);
	if (op != OP_LEFT && op != OP_RIGHT)
		y.integer = bits_of(fit(type, y.integer));
	return integer_binary(world, op, type, bits_of(fit(type, x.integer)), y.integer, ret);
}

struct err *arithmetic_truth(const struct value_world *world, const struct value *value, bool *ret)
{
	struct number number;
	struct err *err = value_number(world->memory, value, &number);

	if (!err)
		*ret = number.is_float ? number.real != 0 : number.integer != 0;
	return err;
}

struct err *arithmetic_unary(const struct value_world *world, char sign, const struct value *value,
			     struct value *ret)
{
	struct number number;
	struct type *type;
	struct err *err = value_number(world->memory, value, &number);

	if (err)
		return err;
	if (sign == '!') {
		bool is = number.is_float ? number.real != 0 : number.integer != 0;

		*ret = arithmetic_bool(world, !is);
		return NULL;
	}
	type = promoted(world, &number);
	if (number.is_float && sign == '~')
		return wrong_operands();
	if (number.is_float)
		*ret = value_of_float(type, sign == '-' ? -number.real : number.real);
	else
		*ret = fit(type, sign == '-' ? -number.integer :
				 sign == '~' ? ~number.integer : number.integer);
	return NULL;
}

/* A number of C's that fits nowhere is whatever the processor makes of it; here it is the nearest. */
static uint64_t truncated(long double real)
{
	if (isnan(real))
		return 0;
	if (real < 0)
		return real <= -9223372036854775808.0L ? 1ull << 63 : (uint64_t)(int64_t)real;
	return real >= 18446744073709551616.0L ? UINT64_MAX : (uint64_t)real;
}

static struct err *cast_number(const struct value_world *world, struct type *to, struct type *plain,
			       const struct value *value, struct value *ret)
{
	struct number number;
	struct err *err = value_number(world->memory, value, &number);
	uint64_t size, word;

	if (!err)
		err = type_size(plain, &size);
	if (err)
		return err;
	if (plain->kind == TYPE_FLOAT) {
		*ret = value_of_float(plain, number.is_float ? number.real : number.is_signed ?
				      (int64_t)number.integer : (long double)number.integer);
	} else {
		word = number.is_float ? truncated(number.real) : number.integer;
		if (plain->kind == TYPE_BOOL)
			word = number.is_float ? number.real != 0 : word != 0;
		*ret = fit(plain, word);
	}
	ret->type = to;
	return NULL;
}

struct err *arithmetic_cast(const struct value_world *world, struct type *to,
			    const struct value *value, struct value *ret)
{
	struct type *plain = type_plain(to), *from = type_plain(value->type);

	/* What has no debug information is of the type that the user says. */
	if (value->lvalue && from->kind == TYPE_UNKNOWN) {
		*ret = value_at(to, value->address);
		return NULL;
	}
	if (type_is_integer(plain) || plain->kind == TYPE_FLOAT || plain->kind == TYPE_POINTER)
		return cast_number(world, to, plain, value, ret);
	*ret = *value;
	ret->type = to;
	if (plain == from || plain->kind == TYPE_VOID)
		return NULL;
	return err_create(ERR_USAGE, "a cast to that type; {TYPE} ADDRESS looks at an address");
}
