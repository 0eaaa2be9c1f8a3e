/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Types of results of calls (result_type.h). */

#include "type/result_type.h"

#include <string.h>

#include "arch/arch.h"
#include "base/cancel.h"
#include "symbol/symbol_code.h"
#include "type/die.h"
#include "type/place_list.h"

#define ALLOC_TYPE	0x3e0eu	/* DW_AT_LLVM_alloc_type, which libdw does not know */
#define DEPTH		64u
#define PLACES_MOST	16384u	/* of a function */
#define OWN		2u	/* values: the layout of what they point to + OWN */
#define WORD		8u

/* Where a variable is, for a part of the code. */
struct var_place {
	uint64_t start, end;	/* as in the debug information */
	bool in_frame;
	bool by_fp;		/* offset is from the frame pointer, not from the CFA */
	uint32_t number;	/* DWARF's, of a register */
	int64_t offset;
	uint32_t layout;	/* of what it points to */
};

struct reading {
	struct layouts *layouts;
	const struct result_globals *globals;
	struct symbol_code code;
	uint64_t pc;
	bool fp_base;		/* the frame's base is the frame pointer, not the CFA */
	bool base_known;
	VEC(struct var_place) places;
	uint32_t stated;	/* layout that the call site says; or LAYOUT_NONE */
	struct err *err;
};

COMPARE_BY(by_address, struct layout_root, x, x->address)

struct err *result_type_globals(const struct layouts *layouts, struct result_globals *ret)
{
	struct err *err = NULL;

	vec_each_while(root, &layouts->ret->roots, !err)
		err = vec_push(&ret->vec, *root);
	vec_sort(&ret->vec, by_address);
	return err;
}

void result_type_free_globals(struct result_globals *globals)
{
	vec_free(&globals->vec);
}

/* The base of the frame by the function's attribute: the CFA, or a register. */
static void take_base(struct reading *reading)
{
	Dwarf_Attribute mem, *attr = dwarf_attr_integrate(&reading->code.function, DW_AT_frame_base,
							  &mem);
	struct operations ops;
	struct operation op;

	if (!operations_of(attr, &ops) || !operations_only(ops, &op))
		return;
	reading->base_known = op.atom == DW_OP_call_frame_cfa || op.atom == DW_OP_reg6;
	reading->fp_base = op.atom == DW_OP_reg6;
}

/* Is it a register, or a word of the frame? */
static bool take_place(const struct reading *reading, struct operations ops, struct var_place *ret)
{
	struct operation op;

	if (!operations_only(ops, &op))
		return false;
	if (op.atom >= DW_OP_reg0 && op.atom <= DW_OP_reg15) {
		ret->number = op.atom - DW_OP_reg0;
		return true;
	}
	ret->in_frame = true;
	ret->offset = (int64_t)op.number;
	ret->by_fp = op.atom == DW_OP_breg6 || reading->fp_base;
	return op.atom == DW_OP_breg6 || (op.atom == DW_OP_fbreg && reading->base_known);
}

/* A variable that stays in its place is there in all of its scope. */
static void add_place(struct reading *reading, struct var_place place, Dwarf_Die *scope)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t offset = 0;

	if (reading->places.nr >= PLACES_MOST || reading->err)
		return;
	if (place.end != UINT64_MAX) {
		reading->err = vec_push(&reading->places, place);
		return;
	}
	while (!reading->err && reading->places.nr < PLACES_MOST &&
	       (offset = dwarf_ranges(scope, offset, &base, &start, &end)) > 0) {
		place.start = start;
		place.end = end;
		reading->err = vec_push(&reading->places, place);
	}
}

static void add_variable(struct reading *reading, Dwarf_Die *die, Dwarf_Die *scope)
{
	Dwarf_Attribute mem, *attr = dwarf_attr(die, DW_AT_location, &mem);
	struct place_list list;
	struct place_range range;
	uint32_t layout;

	if (!place_list_begin(attr, &list))
		return;
	reading->err = layouts_of_target(reading->layouts,
					 type_of(types_pool(reading->layouts->types), die),
					 &layout);
	if (layout == LAYOUT_NONE)
		return;
	while (!reading->err && place_list_next(&list, &range)) {
		struct var_place place = {
			.start = range.start, .end = range.end, .layout = layout,
		};

		if (reading->places.nr >= PLACES_MOST)
			return;
		if (take_place(reading, range.ops, &place))
			add_place(reading, place, scope);
	}
}

/* What is allocated by the call that returns to pc. */
static void take_call_site(struct reading *reading, Dwarf_Die *die)
{
	Dwarf_Attribute mem;
	Dwarf_Addr pc;
	Dwarf_Die type;

	if (dwarf_formaddr(dwarf_attr(die, DW_AT_call_return_pc, &mem), &pc) ||
	    pc + reading->code.bias != reading->pc ||
	    !dwarf_formref_die(dwarf_attr(die, ALLOC_TYPE, &mem), &type))
		return;
	reading->err = layouts_of(reading->layouts,
				  type_at(types_pool(reading->layouts->types), &type),
				  &reading->stated);
}

static void read_scope(struct reading *reading, Dwarf_Die *scope, unsigned depth)
{
	Dwarf_Die die;

	if (depth == DEPTH || dwarf_child(scope, &die))
		return;
	do {
		switch (dwarf_tag(&die)) {
		case DW_TAG_variable:
		case DW_TAG_formal_parameter:
			add_variable(reading, &die, scope);
			break;
		case DW_TAG_lexical_block:
		case DW_TAG_inlined_subroutine:
			read_scope(reading, &die, depth + 1);
			break;
		case DW_TAG_call_site:
			take_call_site(reading, &die);
			break;
		default:
			break;
		}
		if (!reading->err)
			reading->err = cancel_check();
	} while (!reading->err && reading->places.nr < PLACES_MOST && die_next(&die));
}

/* The pointer at that byte of a value of the type; NULL: there is none, or it is not known. */
static struct type *pointer_at(struct type *type, uint64_t offset)
{
	for (unsigned depth = 0; depth < DEPTH; depth++) {
		struct type *plain = type_plain(type), *next = NULL;
		uint64_t size;

		if (plain->kind == TYPE_POINTER)
			return offset ? NULL : plain;
		if (plain->kind == TYPE_ARRAY) {
			struct err *err = type_size(type_target(plain), &size);

			if (err || !size) {
				err_ignore(err);
				return NULL;
			}
			type = type_target(plain);
			offset %= size;
			continue;
		}
		if (plain->kind != TYPE_STRUCT && plain->kind != TYPE_CLASS)
			return NULL;
		vec_each(member, &type_members(plain)->vec) {
			if (member->is_static || member->is_virtual || member->bit_size ||
			    member->offset > offset)
				continue;
			if (!next || member->offset >= size) {
				next = member->type;
				size = member->offset;
			}
		}
		if (!next)
			return NULL;
		type = next;
		offset -= size;
	}
	return NULL;
}

static uint32_t value_at(struct reading *reading, struct type *type, uint64_t offset)
{
	struct type *pointer = pointer_at(type, offset);
	uint32_t layout = LAYOUT_NONE;

	if (pointer && !reading->err)
		reading->err = layouts_of_target(reading->layouts, pointer, &layout);
	return layout == LAYOUT_NONE ? RESULT_NONE : layout + OWN;
}

static uint32_t in_member(struct reading *reading, const struct result_place *place)
{
	struct type *type = reading->layouts->of.at[place->base - OWN];
	struct type *plain = type_plain(type);

	/* Pointers side by side. */
	if (plain->kind == TYPE_POINTER)
		return place->offset % (int64_t)WORD ? RESULT_NONE : value_at(reading, plain, 0);
	if (place->in == RESULT_IN_ELEMENT || place->offset < 0 ||
	    (uint64_t)place->offset >= reading->layouts->ret->vec.at[place->base - OWN].size)
		return RESULT_NONE;
	return value_at(reading, plain, (uint64_t)place->offset);
}

static uint32_t in_memory(struct reading *reading, const struct result_place *place)
{
	const struct result_globals *globals = reading->globals;
	size_t behind = LOWER_BOUND(i, 0, globals->vec.nr,
				    globals->vec.at[i].address <= place->address);
	const struct layout_root *root = behind ? &globals->vec.at[behind - 1] : NULL;
	uint64_t offset = root ? place->address - root->address : 0;

	if (!root || offset >= reading->layouts->ret->vec.at[root->layout].size)
		return RESULT_NONE;
	return value_at(reading, reading->layouts->of.at[root->layout], offset);
}

static bool is_at(const struct var_place *at, const struct result_place *place)
{
	if (place->in == RESULT_IN_REGISTER)
		return !at->in_frame && at->number == place->number;
	return at->in_frame && at->by_fp == (place->in == RESULT_IN_FP) &&
	       at->offset == place->offset;
}

/* Two variables that say two things of one place say nothing. */
static uint32_t in_variable(const struct reading *reading, const struct result_place *place)
{
	uint64_t pc = place->pc - reading->code.bias;
	uint32_t found = LAYOUT_NONE;

	vec_each(at, &reading->places) {
		if (pc < at->start || pc >= at->end || !is_at(at, place))
			continue;
		if (found != LAYOUT_NONE && found != at->layout)
			return RESULT_NONE;
		found = at->layout;
	}
	return found == LAYOUT_NONE ? RESULT_NONE : found + OWN;
}

static uint32_t typed(void *ctx, const struct result_place *place)
{
	struct reading *reading = ctx;
	struct result_place by_fp = *place;
	uint32_t value;

	if (place->in == RESULT_IN_MEMORY)
		return in_memory(reading, place);
	if (place->in == RESULT_IN_MEMBER || place->in == RESULT_IN_ELEMENT)
		return in_member(reading, place);
	value = in_variable(reading, place);
	if (value || place->in != RESULT_IN_FRAME || !reading->code.fp_known)
		return value;
	by_fp.in = RESULT_IN_FP;
	by_fp.offset -= reading->code.fp;
	return in_variable(reading, &by_fp);
}

/* What the function returns, if the result is that. */
static struct err *take_returned(struct reading *reading, enum result_type *ret,
				 uint32_t *layout_ret)
{
	struct type *type = type_of(types_pool(reading->layouts->types), &reading->code.function);
	struct err *err = layouts_of_target(reading->layouts, type, layout_ret);

	if (!err && *layout_ret != LAYOUT_NONE)
		*ret = RESULT_TYPE_FOUND;
	else if (!err && type_plain(type)->kind == TYPE_POINTER)
		*ret = RESULT_TYPE_PASSED;
	return err;
}

/* A number in front of what an allocator gives out is no array of numbers. */
static bool is_struct(const struct reading *reading, uint32_t layout)
{
	return type_is_struct(type_plain(reading->layouts->of.at[layout]));
}

static struct err *follow(struct reading *reading, enum result_type *ret, uint32_t *layout_ret)
{
	const struct symbol_code *code = &reading->code;
	const struct result_flow flow = {
		.code = code->code, .len = code->len, .start = code->start, .pc = reading->pc,
		.sp = code->sp, .fp = code->fp, .sp_known = code->sp_known,
		.fp_known = code->fp_known, .typed = typed, .ctx = reading,
	};
	uint32_t value = RESULT_NONE;
	enum result_end end = arch_host()->follow_result(&flow, &value);

	if (reading->err)
		return reading->err;
	if (end == RESULT_RETURNED)
		return take_returned(reading, ret, layout_ret);
	if (end == RESULT_TYPED || (end == RESULT_TYPED_HEAD && is_struct(reading, value - OWN))) {
		*ret = RESULT_TYPE_FOUND;
		*layout_ret = value - OWN;
	}
	return NULL;
}

struct err *result_type_at(struct layouts *layouts, const struct result_globals *globals,
			   uint64_t pc, uint32_t generation, enum result_type *ret,
			   uint32_t *layout_ret)
{
	struct reading reading = { .layouts = layouts, .globals = globals, .pc = pc,
				   .stated = LAYOUT_NONE };
	struct err *err;

	*ret = RESULT_TYPE_NO_INFO;
	*layout_ret = LAYOUT_NONE;
	if (!symbol_code_at(types_symbols(layouts->types), pc, generation, &reading.code))
		return NULL;
	*ret = RESULT_TYPE_NONE;
	take_base(&reading);
	read_scope(&reading, &reading.code.function, 0);
	err = reading.err;
	if (!err && reading.stated != LAYOUT_NONE) {
		*ret = RESULT_TYPE_STATED;
		*layout_ret = reading.stated;
	} else if (!err) {
		err = follow(&reading, ret, layout_ret);
	}
	vec_free(&reading.places);
	free(reading.code.code);
	return err;
}
