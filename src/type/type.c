/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Types by DWARF (theory in type.h). */

#include "type/type.h"

#include <string.h>

#include "base/cancel.h"
#include "base/compiler.h"
#include "type/die.h"
#include "type/type_scope.h"

struct err *type_pool_init(struct type_pool *pool)
{
	pool->unknown = type_base(pool, TYPE_UNKNOWN, "<data variable, no debug info>", 0, false);
	pool->nothing = type_base(pool, TYPE_VOID, "void", 1, false);
	return pool->unknown && pool->nothing ? NULL : err_nomem;
}

void type_pool_free(struct type_pool *pool)
{
	vec_each_value(type, &pool->all) {
		vec_free(&type->members.vec);
		if (type->enumerators)
			vec_free(&type->enumerators->vec);
		free(type->enumerators);
		free(type);
	}
	vec_free(&pool->all);
	vec_each_value(text, &pool->texts)
		free(text);
	vec_free(&pool->texts);
	map_free(&pool->by_die, NULL);
}

const char *type_pool_keep(struct type_pool *pool, const char *text)
{
	char *copy = strdup(text);

	if (!copy || vec_push(&pool->texts, copy)) {
		free(copy);
		pool->nomem = true;
		return "?";
	}
	return copy;
}

static struct type *new_type(struct type_pool *pool, enum type_kind kind)
{
	struct type *type = calloc(1, sizeof(*type));

	if (!type || vec_push(&pool->all, type)) {
		free(type);
		pool->nomem = true;
		return pool->unknown;
	}
	type->kind = kind;
	type->pool = pool;
	return type;
}

struct type *type_base(struct type_pool *pool, enum type_kind kind, const char *name, uint64_t size,
		       bool is_signed)
{
	struct type *type = new_type(pool, kind);

	if (type && type != pool->unknown) {
		type->name = name;
		type->size = size;
		type->sized = kind != TYPE_UNKNOWN;
		type->is_signed = is_signed;
	}
	return type;
}

struct type *type_builtin(struct type_pool *pool, enum type_builtin which)
{
	static const struct {
		enum type_kind kind;
		const char *name;
		uint8_t size;
		bool is_signed;
	} all[BUILTINS] = {
		[BUILTIN_INT] = { TYPE_INT, "int", 4, true },
		[BUILTIN_UNSIGNED] = { TYPE_INT, "unsigned int", 4, false },
		[BUILTIN_LONG] = { TYPE_INT, "long", 8, true },
		[BUILTIN_ULONG] = { TYPE_INT, "unsigned long", 8, false },
		[BUILTIN_CHAR] = { TYPE_CHAR, "char", 1, true },
		[BUILTIN_SCHAR] = { TYPE_CHAR, "signed char", 1, true },
		[BUILTIN_UCHAR] = { TYPE_CHAR, "unsigned char", 1, false },
		[BUILTIN_SHORT] = { TYPE_INT, "short", 2, true },
		[BUILTIN_USHORT] = { TYPE_INT, "unsigned short", 2, false },
		[BUILTIN_LLONG] = { TYPE_INT, "long long", 8, true },
		[BUILTIN_ULLONG] = { TYPE_INT, "unsigned long long", 8, false },
		[BUILTIN_BOOL] = { TYPE_BOOL, "bool", 1, false },
		[BUILTIN_FLOAT] = { TYPE_FLOAT, "float", 4, true },
		[BUILTIN_DOUBLE] = { TYPE_FLOAT, "double", 8, true },
		[BUILTIN_LDOUBLE] = { TYPE_FLOAT, "long double", 16, true },
		[BUILTIN_INT128] = { TYPE_INT, "__int128", 16, true },
		[BUILTIN_UINT128] = { TYPE_INT, "unsigned __int128", 16, false },
		[BUILTIN_CODE] = { TYPE_FUNCTION, "<text variable, no debug info>", 1, false },
		[BUILTIN_FUNCTION] = { TYPE_FUNCTION, NULL, 1, false },
		[BUILTIN_INT8] = { TYPE_INT, "int8_t", 1, true },
		[BUILTIN_INT16] = { TYPE_INT, "int16_t", 2, true },
		[BUILTIN_INT32] = { TYPE_INT, "int32_t", 4, true },
		[BUILTIN_INT64] = { TYPE_INT, "int64_t", 8, true },
	};

	struct type *type = pool->builtins[which];

	if (type)
		return type;
	type = type_base(pool, all[which].kind, all[which].name, all[which].size,
			 all[which].is_signed);
	if (type->kind == TYPE_FUNCTION && !type->name) {
		type->target = pool->nothing;
		type->has_target = true;
	}
	pool->builtins[which] = type;
	return type;
}

static struct type *refer(struct type *to, enum type_kind kind)
{
	struct type *type = new_type(to->pool, kind);

	if (type == to->pool->unknown)
		return type;
	type->target = to;
	type->has_target = true;
	return type;
}

struct type *type_pointer(struct type *to)
{
	if (!to->pointer) {
		struct type *type = refer(to, TYPE_POINTER);

		type->size = 8;
		type->sized = type->kind == TYPE_POINTER;
		to->pointer = type;
	}
	return to->pointer;
}

struct type *type_array(struct type *of, uint64_t count)
{
	struct type *type = refer(of, TYPE_ARRAY);

	type->count = count;
	type->counted = true;
	return type;
}

static void read_base(struct type *type)
{
	uint64_t encoding = 0;

	die_number(&type->die, DW_AT_encoding, &encoding);
	switch (encoding) {
	case DW_ATE_boolean:
		type->kind = TYPE_BOOL;
		break;
	case DW_ATE_signed_char:
	case DW_ATE_unsigned_char:
	case DW_ATE_UTF:
	case DW_ATE_ASCII:
		type->kind = TYPE_CHAR;
		break;
	case DW_ATE_float:
		type->kind = TYPE_FLOAT;
		break;
	case DW_ATE_signed:
	case DW_ATE_unsigned:
		/* wchar_t is a plain integer there, and shown as a character. */
		type->kind = type->name && !strcmp(type->name, "wchar_t") ? TYPE_CHAR : TYPE_INT;
		break;
	default:
		type->kind = TYPE_UNKNOWN;
	}
	type->is_signed = encoding == DW_ATE_signed || encoding == DW_ATE_signed_char;
}

bool type_die_is_cxx(Dwarf_Die *die)
{
	Dwarf_Die unit;

	if (!dwarf_diecu(die, &unit, NULL, NULL))
		return false;
	switch (dwarf_srclang(&unit)) {
	case DW_LANG_C_plus_plus:
	case DW_LANG_C_plus_plus_03:
	case DW_LANG_C_plus_plus_11:
	case DW_LANG_C_plus_plus_14:
	case DW_LANG_Rust:
	case 0x2b:	/* C++17 */
	case 0x2c:	/* C++20 */
		return true;
	default:
		return false;
	}
}

static enum type_kind kind_of(int tag)
{
	switch (tag) {
	case DW_TAG_base_type:
		return TYPE_INT;
	case DW_TAG_enumeration_type:
		return TYPE_ENUM;
	case DW_TAG_pointer_type:
		return TYPE_POINTER;
	case DW_TAG_reference_type:
		return TYPE_REFERENCE;
	case DW_TAG_rvalue_reference_type:
		return TYPE_RVALUE;
	case DW_TAG_structure_type:
		return TYPE_STRUCT;
	case DW_TAG_class_type:
	case DW_TAG_interface_type:
		return TYPE_CLASS;
	case DW_TAG_union_type:
		return TYPE_UNION;
	case DW_TAG_array_type:
		return TYPE_ARRAY;
	case DW_TAG_subroutine_type:
	case DW_TAG_subprogram:
		return TYPE_FUNCTION;
	case DW_TAG_typedef:
	case DW_TAG_template_alias:
		return TYPE_TYPEDEF;
	case DW_TAG_const_type:
	case DW_TAG_volatile_type:
	case DW_TAG_restrict_type:
	case DW_TAG_atomic_type:
		return TYPE_QUALIFIED;
	case DW_TAG_ptr_to_member_type:
		return TYPE_MEMBER_POINTER;
	default:
		return TYPE_UNKNOWN;
	}
}

/* The dimensions of an array are children of one DIE; here each is an array of the next. */
static bool read_count(Dwarf_Die *range, uint64_t *ret)
{
	uint64_t lower = 0;
	int64_t upper;

	if (die_number(range, DW_AT_count, ret))
		return true;
	die_number(range, DW_AT_lower_bound, &lower);
	if (!die_signed(range, DW_AT_upper_bound, &upper))
		return false;
	*ret = (uint64_t)upper - lower + 1;
	return true;
}

static void read_array(struct type *type)
{
	struct type *at = type;
	unsigned nr = 0;
	Dwarf_Die range;

	if (dwarf_child(&type->die, &range) == 0)
		do {
			if (dwarf_tag(&range) != DW_TAG_subrange_type || nr == TYPE_DEPTH)
				continue;
			if (nr++) {
				struct type *next = new_type(type->pool, TYPE_ARRAY);

				at->target = next;
				at->has_target = true;
				if (next == type->pool->unknown)
					return;
				at = next;
			}
			at->counted = read_count(&range, &at->count);
		} while (die_next(&range));
	if (nr > 1) {
		at->target = type_of(type->pool, &type->die);
		at->has_target = true;
	}
}

/* "std::vector<int>" of "vector<int>" in a namespace. */
static const char *scoped(struct type_pool *pool, Dwarf_Die *die, const char *name)
{
	struct str text AUTO_STR = STR_INIT;
	struct err *err = type_scope_add(die, &text);

	if (!err && !text.len)
		return name;
	if (!err)
		err = str_add(&text, name);
	pool->nomem |= err != NULL;
	return err ? name : type_pool_keep(pool, text.at);
}

/* gcc writes "long unsigned int", where people, and clang, write "unsigned long". */
static const char *short_name(const char *name)
{
	static const char *const names[][2] = {
		{ "long int", "long" }, { "long unsigned int", "unsigned long" },
		{ "long long int", "long long" }, { "long long unsigned int", "unsigned long long" },
		{ "short int", "short" }, { "short unsigned int", "unsigned short" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(name, names[i][0]))
			return names[i][1];
	return name;
}

static void read_type(struct type *type)
{
	int tag = dwarf_tag(&type->die);
	const char *name = dwarf_diename(&type->die);

	type->kind = kind_of(tag);
	type->cxx = type_die_is_cxx(&type->die);
	if (name && type->kind != TYPE_FUNCTION)
		type->name = tag == DW_TAG_base_type ? short_name(name) : !type->cxx ? name :
			scoped(type->pool, &type->die, name);
	type->sized = die_number(&type->die, DW_AT_byte_size, &type->size);
	type->declared = die_flag(&type->die, DW_AT_declaration);
	type->is_const = tag == DW_TAG_const_type;
	type->is_volatile = tag == DW_TAG_volatile_type;
	if (tag == DW_TAG_base_type)
		read_base(type);
	else if (tag == DW_TAG_unspecified_type)
		type->kind = TYPE_VOID;
	else if (type->kind == TYPE_ARRAY)
		read_array(type);
	else if (!type->sized && (type->kind == TYPE_POINTER || type_is_reference(type))) {
		type->size = 8;
		type->sized = true;
	}
}

/* A type in a unit of its own is declared, with its signature, where it is used. */
static Dwarf_Die signed_die(Dwarf_Die *die)
{
	Dwarf_Attribute mem;
	Dwarf_Die at;

	return dwarf_attr(die, DW_AT_signature, &mem) && dwarf_formref_die(&mem, &at) ? at : *die;
}

struct type *type_at(struct type_pool *pool, Dwarf_Die *used)
{
	Dwarf_Die at = signed_die(used), *die = &at;
	struct type *type = map_get(&pool->by_die, (uintptr_t)die->addr);

	if (type)
		return type;
	type = new_type(pool, TYPE_UNKNOWN);
	if (type == pool->unknown)
		return type;
	if (map_put(&pool->by_die, (uintptr_t)die->addr, type))
		pool->nomem = true;
	type->die = *die;
	read_type(type);
	return type;
}

struct type *type_of(struct type_pool *pool, Dwarf_Die *die)
{
	Dwarf_Attribute mem;
	Dwarf_Die at;

	if (!dwarf_attr_integrate(die, DW_AT_type, &mem))
		return pool->nothing;
	return dwarf_formref_die(&mem, &at) ? type_at(pool, &at) : pool->unknown;
}

struct type *type_target(struct type *type)
{
	if (!type->has_target) {
		type->target = type->die.addr ? type_of(type->pool, &type->die) :
						type->pool->unknown;
		type->has_target = true;
	}
	return type->target;
}

struct type *type_plain(struct type *type)
{
	for (unsigned i = 0; i < TYPE_DEPTH; i++) {
		if (type->kind == TYPE_TYPEDEF || type->kind == TYPE_QUALIFIED) {
			type = type_target(type);
		} else if (type->declared && type->pool->complete) {
			if (!type->sought)
				type->whole = type->pool->complete(type->pool->ctx, type);
			type->sought = true;
			return type->whole ? type->whole : type;
		} else {
			return type;
		}
	}
	return type->pool->unknown;
}

bool type_is_struct(const struct type *plain)
{
	return plain->kind == TYPE_STRUCT || plain->kind == TYPE_CLASS || plain->kind == TYPE_UNION;
}

bool type_is_integer(const struct type *plain)
{
	return plain->kind == TYPE_INT || plain->kind == TYPE_CHAR || plain->kind == TYPE_BOOL ||
	       plain->kind == TYPE_ENUM;
}

bool type_is_reference(const struct type *plain)
{
	return plain->kind == TYPE_REFERENCE || plain->kind == TYPE_RVALUE;
}

struct err *type_size(struct type *type, uint64_t *ret)
{
	uint64_t factor = 1;

	for (unsigned i = 0; i < TYPE_DEPTH; i++) {
		type = type_plain(type);
		if (type->kind == TYPE_ARRAY && !type->sized) {
			if (__builtin_mul_overflow(factor, type->counted ? type->count : 0,
						   &factor))
				return err_create(ERR_RANGE, "an array of more than 2^63 bytes");
			type = type_target(type);
			continue;
		}
		if (type->kind == TYPE_FUNCTION || type->kind == TYPE_VOID)
			*ret = 1;
		else if (!type->sized || type->declared)
			return err_create(ERR_UNSUPPORTED, "%s is an incomplete type: only its "
					  "name is known", type->name ? type->name : "this");
		else
			*ret = type->size;
		if (__builtin_mul_overflow(*ret, factor, ret) || *ret > INT64_MAX)
			return err_create(ERR_RANGE, "an array of more than 2^63 bytes");
		return NULL;
	}
	return err_create(ERR_FORMAT, "a type that leads to itself");
}

/*
 * Before DWARF 4 the offset of a bit field is that from the most significant bit of the integer that
 * it is in, and since then that from the start of the struct.
 */
static void read_bits(struct member *member)
{
	uint64_t size, offset, whole;

	if (!die_number(&member->die, DW_AT_bit_size, &size) || !size || size > 64)
		return;
	member->bit_size = (uint32_t)size;
	if (die_number(&member->die, DW_AT_data_bit_offset, &offset)) {
		member->offset += offset / 8;
		member->bit_offset = (uint32_t)(offset % 8);
		return;
	}
	if (!die_number(&member->die, DW_AT_bit_offset, &offset))
		return;
	if (!die_number(&member->die, DW_AT_byte_size, &whole) &&
	    type_size(member->type, &whole))
		return;
	offset = 8 * whole - offset - size;
	if (offset > 128) {
		member->bit_size = 0;
		member->type = member->type->pool->unknown;
		return;
	}
	member->offset += offset / 8;
	member->bit_offset = (uint32_t)(offset % 8);
}

static bool read_member(struct type_pool *pool, Dwarf_Die *die, bool in_union, struct member *ret)
{
	int tag = dwarf_tag(die);

	if (tag != DW_TAG_member && tag != DW_TAG_inheritance && tag != DW_TAG_variable)
		return false;
	*ret = (struct member){
		.name = dwarf_diename(die), .type = type_of(pool, die), .die = *die,
		.base = tag == DW_TAG_inheritance,
		.is_virtual = dwarf_hasattr(die, DW_AT_virtuality),
		.artificial = die_flag(die, DW_AT_artificial),
	};
	ret->is_static = tag == DW_TAG_variable ||
		(!ret->base && !in_union && die_flag(die, DW_AT_external) &&
		 !dwarf_hasattr(die, DW_AT_data_member_location) &&
		 !dwarf_hasattr(die, DW_AT_data_bit_offset));
	if (ret->is_static)
		return true;
	if (!die_number(die, DW_AT_data_member_location, &ret->offset) &&
	    dwarf_hasattr(die, DW_AT_data_member_location) && !ret->is_virtual)
		ret->type = pool->unknown;
	read_bits(ret);
	return true;
}

const struct members *type_members(struct type *plain)
{
	struct member member;
	Dwarf_Die die;

	if (plain->has_members || !plain->die.addr)
		return &plain->members;
	plain->has_members = true;
	if (dwarf_child(&plain->die, &die) == 0)
		do {
			if (!read_member(plain->pool, &die, plain->kind == TYPE_UNION, &member))
				continue;
			if (vec_push(&plain->members.vec, member))
				plain->pool->nomem = true;
		} while (die_next(&die) && plain->members.vec.nr < TYPE_MEMBERS &&
			 !plain->pool->nomem && !cancel_requested());
	return &plain->members;
}

/* Values that share no bit, and whose bits are beside one another, are flags: they may be combined. */
static bool are_flags(const struct enumerators *list)
{
	uint64_t seen = 0;

	vec_each(one, &list->vec) {
		uint64_t value = (uint64_t)one->value, lowest = value & -value;

		if (one->value < 0 || seen & value || (value && value & (value + lowest)))
			return false;
		seen |= value;
	}
	return true;
}

const struct enumerators *type_enumerators(struct type *plain)
{
	struct enumerators *list = plain->enumerators;
	Dwarf_Die die;

	if (list)
		return list;
	list = calloc(1, sizeof(*list));
	if (!list) {
		static const struct enumerators none = { VEC_INIT, false };

		plain->pool->nomem = true;
		return &none;
	}
	plain->enumerators = list;
	if (plain->die.addr && dwarf_child(&plain->die, &die) == 0)
		do {
			struct enumerator one = { .name = dwarf_diename(&die) };

			if (dwarf_tag(&die) != DW_TAG_enumerator || !one.name ||
			    !die_signed(&die, DW_AT_const_value, &one.value))
				continue;
			if (vec_push(&list->vec, one))
				plain->pool->nomem = true;
		} while (die_next(&die) && list->vec.nr < TYPE_MEMBERS &&
			 !cancel_requested());
	list->flags = are_flags(list);
	return list;
}
