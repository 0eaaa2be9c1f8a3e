/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Values of the target (value.h). */

#include "type/value.h"

#include <inttypes.h>
#include <string.h>

#include "base/compiler.h"
#include "type/location.h"

#define STRUCTS	1000u	/* bases and what has no name, in all, where a member is looked for */

struct value value_at(struct type *type, uint64_t address)
{
	return (struct value){ .type = type, .lvalue = true, .address = address };
}

struct value value_of_integer(struct type *type, uint64_t integer)
{
	struct value value = { .type = type };

	memcpy(value.bytes, &integer, sizeof(integer));
	/* Only __int128 has more bytes. */
	if ((int64_t)integer < 0 && type->is_signed)
		memset(value.bytes + 8, 0xff, 8);
	return value;
}

struct value value_of_float(struct type *type, long double real)
{
	struct value value = { .type = type };
	double wide = (double)real;
	float narrow = (float)real;

	if (type->size == sizeof(narrow))
		memcpy(value.bytes, &narrow, sizeof(narrow));
	else if (type->size == sizeof(wide))
		memcpy(value.bytes, &wide, sizeof(wide));
	else
		memcpy(value.bytes, &real, 10);
	return value;
}

struct err *value_nowhere(const struct value *value)
{
	if (value->why)
		return err_create(ERR_UNSUPPORTED, "the value is not known: %s", value->why);
	return err_create(ERR_UNSUPPORTED, "value has been optimized out");
}

bool value_has_lost(const struct value *value, size_t len)
{
	return value->lost & (len < sizeof(value->bytes) ? (1u << len) - 1 : UINT16_MAX);
}

struct err *value_read(struct memory *memory, const struct value *value, void *buf, size_t len)
{
	if (value->nowhere)
		return value_nowhere(value);
	if (value->lvalue)
		return memory_read(memory, value->address, buf, len);
	if (value_has_lost(value, len))
		return value_nowhere(value);
	memset(buf, 0, len);
	memcpy(buf, value->bytes, MIN(len, sizeof(value->bytes)));
	return NULL;
}

/* A bit field is at most 64 bits, which may lie in nine bytes. */
static struct err *read_bits(struct memory *memory, const struct value *value, uint64_t *ret)
{
	size_t len = (value->bit_offset + value->bit_size + 7) / 8;
	unsigned __int128 word = 0;
	struct err *err = value_read(memory, value, &word, MIN(len, sizeof(word)));

	if (err)
		return err;
	word >>= value->bit_offset;
	if (value->bit_size < 64)
		word &= ((unsigned __int128)1 << value->bit_size) - 1;
	*ret = (uint64_t)word;
	return NULL;
}

static uint64_t extend(uint64_t word, unsigned bits, bool is_signed)
{
	if (bits >= 64)
		return word;
	word &= (1ull << bits) - 1;
	if (is_signed && word >> (bits - 1) & 1)
		word |= -1ull << bits;
	return word;
}

static struct err *read_float(struct memory *memory, const struct value *value, uint64_t size,
			      struct number *ret)
{
	long double extended = 0;
	double wide;
	float narrow;
	struct err *err;

	ret->is_float = ret->is_signed = true;
	if (size == sizeof(narrow)) {
		err = value_read(memory, value, &narrow, sizeof(narrow));
		ret->real = err ? 0 : narrow;
	} else if (size == sizeof(wide)) {
		err = value_read(memory, value, &wide, sizeof(wide));
		ret->real = err ? 0 : wide;
	} else if (size == 16 || size == 12) {
		err = value_read(memory, value, &extended, 10);
		ret->real = extended;
	} else {
		err = err_create(ERR_UNSUPPORTED, "a number of %" PRIu64 " bytes", size);
	}
	return err;
}

struct err *value_number(struct memory *memory, const struct value *value, struct number *ret)
{
	struct type *type = type_plain(value->type);
	uint64_t size, word = 0;
	struct err *err;

	*ret = (struct number){ .is_signed = type->is_signed };
	if (type->kind == TYPE_ENUM && !type->is_signed)
		ret->is_signed = type_plain(type_target(type))->is_signed;
	if (type->kind == TYPE_ARRAY || type->kind == TYPE_FUNCTION) {
		ret->size = 8;
		return value_pointer(memory, value, &ret->integer);
	}
	if (!type_is_integer(type) && type->kind != TYPE_FLOAT && type->kind != TYPE_POINTER &&
	    !type_is_reference(type))
		return err_create(ERR_USAGE, "not a number");
	err = type_size(type, &size);
	if (err)
		return err;
	ret->size = (uint32_t)MIN(size, 16u);
	if (type->kind == TYPE_FLOAT)
		return read_float(memory, value, size, ret);
	if (value->bit_size) {
		err = read_bits(memory, value, &word);
		ret->integer = extend(word, value->bit_size, ret->is_signed);
		return err;
	}
	err = value_read(memory, value, &word, MIN(size, sizeof(word)));
	ret->integer = extend(word, (unsigned)MIN(8 * size, 64u), ret->is_signed);
	return err;
}

struct err *value_pointer(struct memory *memory, const struct value *value, uint64_t *ret)
{
	const struct type *type = type_plain(value->type);
	struct number number;
	struct err *err;

	if (type->kind == TYPE_ARRAY || type->kind == TYPE_FUNCTION) {
		if (!value->lvalue)
			return value->nowhere ? value_nowhere(value) :
				err_create(ERR_USAGE, "a value that is not in memory");
		*ret = value->address;
		return NULL;
	}
	if (type->kind == TYPE_FLOAT)
		return err_create(ERR_USAGE, "a floating point number is no address");
	err = value_number(memory, value, &number);
	if (!err)
		*ret = number.integer;
	return err;
}

struct err *value_follow(struct memory *memory, struct value *value)
{
	struct type *type = type_plain(value->type);
	uint64_t address;
	struct err *err;

	if (!type_is_reference(type))
		return NULL;
	err = value_pointer(memory, value, &address);
	if (!err)
		*value = value_at(type_target(type), address);
	return err;
}

/* Of a struct that is in registers. */
static struct err *member_of_bytes(const struct value *value, const struct member *member,
				   struct value *ret)
{
	*ret = (struct value){ .type = member->type, .bit_offset = member->bit_offset,
			       .bit_size = member->bit_size };
	if (member->offset >= sizeof(value->bytes) || (member->base && member->is_virtual))
		return err_create(ERR_USAGE, "a struct that is not in memory");
	memcpy(ret->bytes, value->bytes + member->offset, sizeof(value->bytes) - member->offset);
	ret->lost = (uint16_t)(value->lost >> member->offset);
	return NULL;
}

struct err *value_member(struct memory *memory, const struct value *value,
			 const struct member *member, struct value *ret)
{
	Dwarf_Die die = member->die;

	if (value->nowhere) {
		*ret = (struct value){ .type = member->type, .nowhere = true, .why = value->why };
		return NULL;
	}
	if (!value->lvalue)
		return member_of_bytes(value, member, ret);
	*ret = value_at(member->type, value->address + member->offset);
	ret->bit_offset = member->bit_offset;
	ret->bit_size = member->bit_size;
	return member->base && member->is_virtual ?
		location_of_member(&die, memory, value->address, &ret->address) : NULL;
}

static struct err *find_member(struct memory *memory, const struct value *value, const char *name,
			       unsigned *left, struct value *ret, const struct member **found_ret)
{
	struct type *type = type_plain(value->type);
	const struct members *members = type_members(type);
	struct err *err = NULL;
	struct value inner;

	vec_each(member, &members->vec)
		if (member->name && !member->base && !strcmp(member->name, name)) {
			*found_ret = member;
			return member->is_static ? NULL : value_member(memory, value, member, ret);
		}
	vec_each_while(member, &members->vec, !err && !*found_ret) {
		if (!member->base && (member->name || member->is_static))
			continue;
		if (!type_is_struct(type_plain(member->type)) || !*left)
			continue;
		--*left;
		err = value_member(memory, value, member, &inner);
		if (!err)
			err = find_member(memory, &inner, name, left, ret, found_ret);
	}
	return err;
}

struct err *value_find_member(struct memory *memory, const struct value *value, const char *name,
			      struct value *ret, const struct member **found_ret)
{
	unsigned left = STRUCTS;

	*found_ret = NULL;
	return find_member(memory, value, name, &left, ret, found_ret);
}

static struct err *read_zeros(struct memory *memory UNUSED, uint64_t addr UNUSED, void *buf,
			      size_t len, size_t *len_ret)
{
	memset(buf, 0, len);
	*len_ret = len;
	return NULL;
}

struct memory *value_zeros(void)
{
	static struct memory zeros = { .read = read_zeros };

	return &zeros;
}

/* Of an array that is in registers, or of a string in the expression. */
static struct err *element_of_bytes(const struct value *value, struct type *of, uint64_t i,
				    uint64_t size, struct value *ret)
{
	struct value element = { .type = of };

	if (!size || i >= sizeof(value->bytes) / size)
		return err_create(ERR_USAGE, "an element that is not there");
	memcpy(element.bytes, value->bytes + i * size, size);
	element.lost = (uint16_t)(value->lost >> (i * size));
	*ret = element;
	return NULL;
}

struct err *value_element(struct memory *memory, const struct value *value, int64_t i,
			  struct value *ret)
{
	struct type *type = type_plain(value->type), *of;
	uint64_t address, size;
	struct err *err;

	if (type->kind != TYPE_ARRAY && type->kind != TYPE_POINTER)
		return err_create(ERR_USAGE, "neither an array nor a pointer");
	of = type_target(type);
	err = type_size(of, &size);
	if (!err && type->kind == TYPE_ARRAY && !value->lvalue && !value->nowhere)
		return element_of_bytes(value, of, (uint64_t)i, size, ret);
	if (!err)
		err = value_pointer(memory, value, &address);
	if (!err)
		*ret = value_at(of, address + (uint64_t)i * size);
	return err;
}
