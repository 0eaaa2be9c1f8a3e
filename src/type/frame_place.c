/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where local variables are (frame.h). */

#include <string.h>

#include "base/compiler.h"
#include "arch/arch.h"
#include "type/call_site.h"
#include "type/die.h"
#include "type/frame.h"
#include "type/place_list.h"
#include "type/types.h"

#define STACK		64u
#define STEPS		10000u	/* of a variable, with all expressions that its own one leads to */
#define ENTRY_STEPS	10u	/* that a look at a call costs */
#define BYTES		sizeof(((struct value *)0)->bytes)

enum place_kind {
	PLACE_MEMORY,		/* at the address on the top of the stack */
	PLACE_REGISTER,
	PLACE_VALUE,		/* what is on the top of the stack */
	PLACE_BYTES,
	PLACE_NOWHERE,
};

/* A run of an expression. */
struct run {
	const struct value_world *world;
	struct operations ops;
	unsigned *left;			/* steps */
	uint64_t stack[STACK];
	size_t nr;
	enum place_kind kind;		/* of what was said last */
	uint64_t reg;
	struct operation block;		/* of PLACE_BYTES */
	const char *unknown;		/* why the place is not known */
	struct err *err;
	/* a value in pieces, or in a register: its bytes so far */
	uint8_t bytes[BYTES];
	size_t len;
	uint16_t lost;			/* of them, those that are nowhere */
	bool pieces;
};

static const char damaged[] = "its expression is damaged";
static const char no_end[] = "its expression does not end";

static bool fail(struct run *run, const char *why)
{
	if (!run->unknown)
		run->unknown = why;
	return false;
}

static bool push(struct run *run, uint64_t value)
{
	if (run->nr == STACK)
		return fail(run, "its expression is too deep");
	run->stack[run->nr++] = value;
	return true;
}

static bool need(struct run *run, size_t nr)
{
	return run->nr >= nr || fail(run, damaged);
}

static bool push_register(struct run *run, uint64_t reg, uint64_t add)
{
	const struct walk_frame *at = &run->world->frame->at;

	if (reg >= FRAME_REGS || !(at->known >> reg & 1))
		return fail(run, "it is in a register that is not known in this frame");
	return push(run, at->regs[reg] + add);
}

/* Memory of less than a word. */
static bool deref(struct run *run, uint64_t size)
{
	uint64_t word = 0;

	if (!need(run, 1))
		return false;
	run->err = memory_read(run->world->memory, run->stack[run->nr - 1], &word,
			       MIN(size, sizeof(word)));
	run->stack[run->nr - 1] = word;
	return !run->err;
}

static bool compute(uint64_t atom, uint64_t x, uint64_t y, uint64_t *ret)
{
	switch (atom) {
	case DW_OP_plus: *ret = x + y; return true;
	case DW_OP_minus: *ret = x - y; return true;
	case DW_OP_mul: *ret = x * y; return true;
	case DW_OP_and: *ret = x & y; return true;
	case DW_OP_or: *ret = x | y; return true;
	case DW_OP_xor: *ret = x ^ y; return true;
	case DW_OP_shl: *ret = y < 64 ? x << y : 0; return true;
	case DW_OP_shr: *ret = y < 64 ? x >> y : 0; return true;
	case DW_OP_shra: *ret = (uint64_t)((int64_t)x >> MIN(y, 63u)); return true;
	case DW_OP_eq: *ret = x == y; return true;
	case DW_OP_ne: *ret = x != y; return true;
	case DW_OP_lt: *ret = (int64_t)x < (int64_t)y; return true;
	case DW_OP_le: *ret = (int64_t)x <= (int64_t)y; return true;
	case DW_OP_gt: *ret = (int64_t)x > (int64_t)y; return true;
	case DW_OP_ge: *ret = (int64_t)x >= (int64_t)y; return true;
	default: return false;
	}
}

/* Operators of two operands, or of one. False without a reason: it is none of them. */
static bool operate(struct run *run, const struct operation *op)
{
	uint64_t *top, value;

	if (!run->nr)
		return false;
	top = &run->stack[run->nr - 1];
	if (run->nr >= 2 && compute(op->atom, top[-1], *top, &value)) {
		top[-1] = value;
		run->nr--;
		return true;
	}
	switch (op->atom) {
	case DW_OP_plus_uconst: *top += op->number; return true;
	case DW_OP_neg: *top = -*top; return true;
	case DW_OP_not: *top = ~*top; return true;
	case DW_OP_abs: *top = (int64_t)*top < 0 ? -*top : *top; return true;
	case DW_OP_dup: return push(run, *top);
	case DW_OP_drop: run->nr--; return true;
	case DW_OP_over: return need(run, 2) && push(run, top[-1]);
	case DW_OP_swap:
		if (!need(run, 2))
			return false;
		value = *top;
		*top = top[-1];
		top[-1] = value;
		return true;
	case DW_OP_deref: return deref(run, 8);
	case DW_OP_deref_size: return deref(run, op->number);
	default: return false;
	}
}

static struct err *run_frame_base(struct run *run, uint64_t *ret, bool *known_ret);
static void go(struct run *run);

static bool frame_base(struct run *run, const struct operation *op)
{
	uint64_t base = 0;
	bool known;

	run->err = run_frame_base(run, &base, &known);
	if (run->err || !known)
		return fail(run, "the base of its frame is not known");
	return push(run, base + op->number);
}

static bool add_bytes(struct run *run, const void *bytes, size_t len)
{
	if (len > BYTES - run->len)
		return fail(run, "it is in too many parts");
	memcpy(run->bytes + run->len, bytes, len);
	run->len += len;
	return true;
}

static void lose(struct run *run, uint64_t size)
{
	run->lost |= (uint16_t)(((1u << size) - 1) << run->len);
}

/* Of a general register, or of one for vectors. */
static bool register_bytes(struct run *run, uint8_t bytes[BYTES])
{
	const struct frame *frame = run->world->frame;
	uint64_t vector = run->reg - frame->arch->dwarf_vectors;

	if (run->reg < FRAME_REGS && frame->at.known >> run->reg & 1)
		memcpy(bytes, &frame->at.regs[run->reg], sizeof(uint64_t));
	else if (run->reg >= FRAME_REGS && vector < frame->nr_vectors)
		memcpy(bytes, frame->vectors[vector], FRAME_VECTOR);
	else
		return fail(run, "it is in a register that is not known in this frame");
	return true;
}

/* The bytes of what was said last: a part of the variable. */
static bool end_piece(struct run *run, uint64_t size)
{
	uint8_t bytes[BYTES] = { 0 };

	if (size > BYTES - run->len)
		return fail(run, "it is in too many parts");
	switch (run->kind) {
	case PLACE_MEMORY:
		if (!run->nr)		/* an empty piece is nowhere */
			lose(run, size);
		else
			run->err = memory_read(run->world->memory, run->stack[run->nr - 1], bytes,
					       size);
		break;
	case PLACE_REGISTER:
		if (!register_bytes(run, bytes))
			return false;
		break;
	case PLACE_VALUE:
		if (!need(run, 1))
			return false;
		memcpy(bytes, &run->stack[run->nr - 1], MIN(size, sizeof(uint64_t)));
		break;
	case PLACE_BYTES:
		memcpy(bytes, run->block.bytes, MIN(size, run->block.number));
		break;
	default:
		lose(run, size);
	}
	run->nr = 0;
	run->kind = PLACE_MEMORY;
	return !run->err && add_bytes(run, bytes, size);
}

/* The register that an expression of one operation names; false: it is none. */
static bool only_register(struct operations ops, uint64_t *ret)
{
	struct operation op;

	if (!operations_only(ops, &op))
		return false;
	*ret = op.atom == DW_OP_regx ? op.number : (uint64_t)op.atom - DW_OP_reg0;
	return op.atom == DW_OP_regx || (op.atom >= DW_OP_reg0 && op.atom <= DW_OP_reg31);
}

/*
 * What a register had when the frame's function was entered: the caller's debug information says it
 * of the call (call_site.h).
 */
static bool entry_value(struct run *run, const struct operation *op)
{
	static const char why[] = "it is what a register had when the function was entered";
	struct value_world caller = *run->world;
	struct run value = { .world = &caller, .left = run->left };
	Dwarf_Attribute mem;
	uint64_t reg;

	*run->left -= MIN(ENTRY_STEPS, *run->left);
	if (!only_register(operations_inside(&run->ops, op), &reg) ||
	    !call_site_value(run->world, run->world->frame, reg, &mem) ||
	    !operations_of(&mem, &value.ops))
		return fail(run, why);
	caller.frame = run->world->frame->caller;
	go(&value);
	run->err = value.err;
	if (run->err || value.unknown || value.kind != PLACE_MEMORY || !value.nr || value.pieces)
		return fail(run, *run->left ? why : no_end);
	return push(run, value.stack[value.nr - 1]);
}

/* What is no arithmetic: where it is, if not in memory. */
static bool place(struct run *run, const struct operation *op)
{
	switch (op->atom) {
	case DW_OP_stack_value:
		run->kind = PLACE_VALUE;
		return need(run, 1);
	case DW_OP_implicit_value:
		run->kind = PLACE_BYTES;
		run->block = *op;
		return true;
	case DW_OP_implicit_pointer:
	case DW_OP_GNU_implicit_pointer:
		run->kind = PLACE_NOWHERE;
		return true;
	case DW_OP_piece:
		run->pieces = true;
		return end_piece(run, op->number);
	case DW_OP_entry_value:
	case DW_OP_GNU_entry_value:
		return entry_value(run, op);
	default:
		return fail(run, "its place is given in a way that mdbg does not know");
	}
}

/* The place in the data of the frame's thread, of its module. */
static bool thread_place(struct run *run)
{
	const struct frame *frame = run->world->frame;
	uint64_t start = 0;

	if (!need(run, 1))
		return false;
	if (!frame->thread_data)
		return fail(run, "it is thread-local");
	run->err = frame->thread_data(frame->ctx, frame->function.module, &start);
	run->stack[run->nr - 1] += start;
	return !run->err;
}

static bool step(struct run *run, const struct operation *op)
{
	const struct frame *frame = run->world->frame;
	uint64_t number;

	if (op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31)
		return push(run, op->atom - DW_OP_lit0);
	if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31)
		return push_register(run, op->atom - DW_OP_breg0, op->number);
	if ((op->atom >= DW_OP_reg0 && op->atom <= DW_OP_reg31) || op->atom == DW_OP_regx) {
		run->kind = PLACE_REGISTER;
		run->reg = op->atom == DW_OP_regx ? op->number : (uint64_t)op->atom - DW_OP_reg0;
		return true;
	}
	switch (op->atom) {
	case DW_OP_const1u ... DW_OP_consts:
		return push(run, op->number);
	case DW_OP_addr:
	case DW_OP_addrx:
	case DW_OP_GNU_addr_index:
		return operations_number(&run->ops, op, &number) ?
			push(run, number + frame->function.bias) : fail(run, damaged);
	case DW_OP_constx:
	case DW_OP_GNU_const_index:
		return operations_number(&run->ops, op, &number) ? push(run, number) : fail(run, damaged);
	case DW_OP_form_tls_address:
	case DW_OP_GNU_push_tls_address:
		return thread_place(run);
	case DW_OP_bregx:
		return push_register(run, op->number, op->other);
	case DW_OP_fbreg:
		return frame_base(run, op);
	case DW_OP_call_frame_cfa:
		return frame->at.has_cfa ? push(run, frame->at.cfa) :
			fail(run, "the base of its frame is not known");
	case DW_OP_bra:
		if (!need(run, 1))
			return false;
		if (run->stack[--run->nr])
			operations_jump(&run->ops, (int64_t)op->number);
		return true;
	case DW_OP_skip:
		operations_jump(&run->ops, (int64_t)op->number);
		return true;
	case DW_OP_nop:
		return true;
	default:
		return operate(run, op) || (!run->err && !run->unknown && place(run, op));
	}
}

static void go(struct run *run)
{
	struct operation op;

	while (operations_next(&run->ops, &op)) {
		if (!*run->left) {
			fail(run, no_end);
			return;
		}
		--*run->left;
		if (!step(run, &op))
			return;
	}
	if (run->ops.damaged)
		fail(run, damaged);
	if (run->kind == PLACE_MEMORY && !run->nr && !run->pieces)
		run->kind = PLACE_NOWHERE;
}

/* The function's DW_AT_frame_base: a register's value, or an address. */
static struct err *run_frame_base(struct run *of, uint64_t *ret, bool *known_ret)
{
	const struct frame *frame = of->world->frame;
	Dwarf_Die die = frame->function.die;
	Dwarf_Attribute mem, *attr = dwarf_attr_integrate(&die, DW_AT_frame_base, &mem);
	struct run run = { .world = of->world, .left = of->left };
	bool is_damaged;

	*known_ret = false;
	/* One that is based on itself has no base. */
	if (!attr || of->ops.attr->valp == attr->valp ||
	    !place_list_at(attr, frame_pc(frame) - frame->function.bias, &run.ops, &is_damaged))
		return NULL;
	go(&run);
	if (run.kind == PLACE_REGISTER && !run.unknown && !run.err)
		push_register(&run, run.reg, 0);
	*known_ret = !run.err && !run.unknown && run.nr;
	if (*known_ret)
		*ret = run.stack[run.nr - 1];
	return run.err;
}

/* What has no place of its own in the code, but a value. */
static bool constant(Dwarf_Die *die, struct value *value)
{
	Dwarf_Attribute mem;
	Dwarf_Block block;
	int64_t number;

	if (die_signed(die, DW_AT_const_value, &number)) {
		memcpy(value->bytes, &number, sizeof(number));
		return true;
	}
	if (dwarf_formblock(dwarf_attr_integrate(die, DW_AT_const_value, &mem), &block))
		return false;
	memcpy(value->bytes, block.data, MIN(block.length, BYTES));
	return block.length <= BYTES;
}

static struct err *place_value(struct run *run, struct value *ret)
{
	uint64_t size = 0;
	struct err *err;

	if (run->kind == PLACE_NOWHERE) {
		ret->nowhere = true;
		return NULL;
	}
	if (run->kind == PLACE_MEMORY && !run->pieces) {
		*ret = value_at(ret->type, run->stack[run->nr - 1]);
		return NULL;
	}
	err = type_size(ret->type, &size);
	if (err) {
		err_ignore(err);
		fail(run, "its type has no size");
	} else if (size > BYTES) {
		fail(run, "it is in too many parts");
	} else if (!run->pieces) {
		end_piece(run, size);
	}
	memcpy(ret->bytes, run->bytes, sizeof(ret->bytes));
	ret->lost = run->lost;
	ret->nowhere = run->len && run->lost == (1u << run->len) - 1;
	return run->err;
}

struct err *frame_place(const struct value_world *world, Dwarf_Die *die, struct value *ret)
{
	const struct frame *frame = world->frame;
	Dwarf_Attribute mem, *attr = dwarf_attr_integrate(die, DW_AT_location, &mem);
	unsigned left = STEPS;
	struct run run = { .world = world, .left = &left };
	struct err *err;
	bool is_damaged;

	*ret = (struct value){ .type = type_of(types_pool(world->types), die) };
	if (!attr) {
		ret->nowhere = !constant(die, ret);
		return NULL;
	}
	if (!place_list_at(attr, frame_pc(frame) - frame->function.bias, &run.ops, &is_damaged)) {
		ret->nowhere = true;
		ret->why = is_damaged ? "its place cannot be read" : NULL;
		return NULL;
	}
	go(&run);
	if (run.err)
		return run.err;
	err = run.unknown ? NULL : place_value(&run, ret);
	if (!err && run.unknown) {
		ret->nowhere = true;
		ret->why = run.unknown;
	}
	return err;
}
