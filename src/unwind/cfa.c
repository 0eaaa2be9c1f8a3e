/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs CFA programs: one pass over the instructions, one state at a time. */

#include "unwind/cfa.h"

#include <dwarf.h>

#include "arch/host.h"

/*
 * Programs nest remember_state two or three deep; without a limit a broken one could grow without
 * bound.
 */
#define REMEMBER_MAX	32

struct machine {
	const struct cfi_cie *cie;
	const struct cfa_state *initial;	/* NULL while the CIE's own program runs */
	const uint8_t *at, *end;
	struct cfa_state state;
	uint64_t pc;
	uint64_t limit;				/* the end of the FDE's code */
	struct cfa_state remembered[REMEMBER_MAX];
	unsigned nr_remembered;
};

/* Returns the rule of a register that is followed, or NULL. */
static struct rule *rule_of(struct cfa_state *state, uint64_t reg)
{
	switch (reg) {
	case FRAME_BX:
		return &state->bx;
	case FRAME_FP:
		return &state->fp;
	case FRAME_SP:
		return &state->sp;
	case FRAME_RA:
		return &state->ra;
	case FRAME_KEPT ... FRAME_KEPT + ROW_KEPT - 1:
		return &state->kept[reg - FRAME_KEPT];
	default:
		return NULL;
	}
}

static void rule_set(struct machine *machine, uint64_t reg, struct rule rule)
{
	struct rule *to = rule_of(&machine->state, reg);

	if (to)
		*to = rule;
}

static bool rule_restore(struct machine *machine, uint64_t reg)
{
	struct rule *to = rule_of(&machine->state, reg);

	if (!machine->initial)
		return false;
	if (to)
		*to = *rule_of((struct cfa_state *)machine->initial, reg);
	return true;
}

/* Multiplication and addition wrap, since the numbers come from the file. */
static int64_t factored(const struct machine *machine, uint64_t n)
{
	return (int64_t)(n * (uint64_t)machine->cie->data_align);
}

static bool uleb(struct machine *machine, uint64_t *ret)
{
	return cfi_uleb(&machine->at, machine->end, ret);
}

/* An instruction: its function, and its operands, as bits of enum operand. */
struct op {
	bool (*run)(struct machine *machine, const struct op *op);
	enum rule_kind kind;	/* of the rule that it gives */
	uint8_t operands;
};

enum operand {
	OPERAND_REG = 1,
	OPERAND_OFFSET = 2,
	OPERAND_SIGNED = 4,	/* the offset is signed; that of a CFA rule is factored only then */
};

static bool offset_read(struct machine *machine, const struct op *op, uint64_t *ret)
{
	int64_t value;

	if (!(op->operands & OPERAND_SIGNED))
		return uleb(machine, ret);
	if (!cfi_sleb(&machine->at, machine->end, &value))
		return false;
	*ret = (uint64_t)value;
	return true;
}

static bool expression_read(struct machine *machine, struct rule *rule)
{
	uint64_t len;

	if (!uleb(machine, &len) || len > (uint64_t)(machine->end - machine->at))
		return false;
	rule->expr = machine->at;
	rule->expr_len = len;
	machine->at += len;
	return true;
}

/* Read a register and set its rule. */
static bool op_rule(struct machine *machine, const struct op *op)
{
	struct rule rule = { .kind = (uint8_t)op->kind };
	uint64_t reg, n;

	if (!uleb(machine, &reg))
		return false;
	switch (op->kind) {
	case RULE_OFFSET:
	case RULE_VAL_OFFSET:
		if (!offset_read(machine, op, &n))
			return false;
		rule.offset = factored(machine, n);
		break;
	case RULE_REGISTER:
		if (!uleb(machine, &n))
			return false;
		rule.reg = (uint32_t)MIN(n, UINT32_MAX);
		break;
	case RULE_EXPRESSION:
	case RULE_VAL_EXPRESSION:
		if (!expression_read(machine, &rule))
			return false;
		break;
	default:
		break;
	}
	rule_set(machine, reg, rule);
	return true;
}

/*
 * Set the CFA's rule: a register and an offset, or only one of the two, which replaces its old
 * value.
 */
static bool op_def_cfa(struct machine *machine, const struct op *op)
{
	const uint8_t both = OPERAND_REG | OPERAND_OFFSET;
	struct rule rule = { .kind = RULE_REGISTER };
	uint64_t n;

	if ((op->operands & both) != both) {
		bool after_expression = machine->state.cfa.kind == RULE_EXPRESSION &&
					op->operands == OPERAND_REG;

		rule = machine->state.cfa;
		if (rule.kind != RULE_REGISTER && !after_expression)
			return false;
		rule.kind = RULE_REGISTER;
	}
	if (op->operands & OPERAND_REG) {
		if (!uleb(machine, &n))
			return false;
		rule.reg = (uint32_t)MIN(n, UINT32_MAX);
	}
	if (op->operands & OPERAND_OFFSET) {
		if (!offset_read(machine, op, &n))
			return false;
		rule.offset = op->operands & OPERAND_SIGNED ? factored(machine, n) : (int64_t)n;
	}
	machine->state.cfa = rule;
	return true;
}

static bool op_def_cfa_expression(struct machine *machine, const struct op *op UNUSED)
{
	/* A register may be set next, and then the offset is the last one (libgcrypt, by libgcc). */
	machine->state.cfa.kind = RULE_EXPRESSION;
	return expression_read(machine, &machine->state.cfa);
}

static bool op_restore(struct machine *machine, const struct op *op UNUSED)
{
	uint64_t reg;

	return uleb(machine, &reg) && rule_restore(machine, reg);
}

static bool op_remember(struct machine *machine, const struct op *op UNUSED)
{
	if (machine->nr_remembered == REMEMBER_MAX)
		return false;
	machine->remembered[machine->nr_remembered++] = machine->state;
	return true;
}

static bool op_restore_state(struct machine *machine, const struct op *op UNUSED)
{
	if (!machine->nr_remembered)
		return false;
	machine->state = machine->remembered[--machine->nr_remembered];
	return true;
}

/* Skip the number of bytes that the callee pops, which does not matter for a return address. */
static bool op_args_size(struct machine *machine, const struct op *op UNUSED)
{
	uint64_t n;

	return uleb(machine, &n);
}

static bool op_nop(struct machine *machine UNUSED, const struct op *op UNUSED)
{
	return true;
}

/* The instructions that change rules, do not move the PC, and are followed by their operands. */
static const struct op ops[] = {
	[DW_CFA_nop] = { op_nop, 0, 0 },
	[DW_CFA_offset_extended] = { op_rule, RULE_OFFSET, 0 },
	[DW_CFA_offset_extended_sf] = { op_rule, RULE_OFFSET, OPERAND_SIGNED },
	[DW_CFA_val_offset] = { op_rule, RULE_VAL_OFFSET, 0 },
	[DW_CFA_val_offset_sf] = { op_rule, RULE_VAL_OFFSET, OPERAND_SIGNED },
	[DW_CFA_restore_extended] = { op_restore, 0, 0 },
	[DW_CFA_undefined] = { op_rule, RULE_UNDEFINED, 0 },
	[DW_CFA_same_value] = { op_rule, RULE_SAME, 0 },
	[DW_CFA_register] = { op_rule, RULE_REGISTER, 0 },
	[DW_CFA_remember_state] = { op_remember, 0, 0 },
	[DW_CFA_restore_state] = { op_restore_state, 0, 0 },
	[DW_CFA_def_cfa] = { op_def_cfa, 0, OPERAND_REG | OPERAND_OFFSET },
	[DW_CFA_def_cfa_sf] = { op_def_cfa, 0, OPERAND_REG | OPERAND_OFFSET | OPERAND_SIGNED },
	[DW_CFA_def_cfa_register] = { op_def_cfa, 0, OPERAND_REG },
	[DW_CFA_def_cfa_offset] = { op_def_cfa, 0, OPERAND_OFFSET },
	[DW_CFA_def_cfa_offset_sf] = { op_def_cfa, 0, OPERAND_OFFSET | OPERAND_SIGNED },
	[DW_CFA_def_cfa_expression] = { op_def_cfa_expression, 0, 0 },
	[DW_CFA_expression] = { op_rule, RULE_EXPRESSION, 0 },
	[DW_CFA_val_expression] = { op_rule, RULE_VAL_EXPRESSION, 0 },
	[DW_CFA_GNU_args_size] = { op_args_size, 0, 0 },
};

/* Get the PC to which an instruction moves it (is_advance); false if it is broken. */
static bool op_advance(struct machine *machine, uint8_t op, uint64_t *ret)
{
	uint64_t delta;

	if (op == DW_CFA_set_loc)
		return cfi_address(machine->cie, &machine->at, machine->end, ret) &&
		       *ret >= machine->pc;
	if ((op & 0xc0) == DW_CFA_advance_loc)
		delta = op & 0x3f;
	else if (!cfi_fixed(&machine->at, machine->end, 1u << (op - DW_CFA_advance_loc1), &delta))
		return false;
	return !__builtin_mul_overflow(delta, machine->cie->code_align, &delta) &&
	       !__builtin_add_overflow(machine->pc, delta, ret);
}

static bool is_advance(uint8_t op)
{
	return (op & 0xc0) == DW_CFA_advance_loc ||
	       (op >= DW_CFA_set_loc && op <= DW_CFA_advance_loc4);
}

/* Run an instruction that does not move the PC. */
static bool step(struct machine *machine, uint8_t op)
{
	uint64_t n;

	switch (op & 0xc0) {
	case DW_CFA_offset:
		if (!uleb(machine, &n))
			return false;
		rule_set(machine, op & 0x3f, (struct rule){
			.kind = RULE_OFFSET,
			.offset = factored(machine, n),
		});
		return true;
	case DW_CFA_restore:
		return rule_restore(machine, op & 0x3f);
	default:
		return op < ARRAY_SIZE(ops) && ops[op].run && ops[op].run(machine, &ops[op]);
	}
}

bool cfa_run_cie(const struct cfi_cie *cie, struct cfa_state *ret)
{
	struct machine machine;

	machine.cie = cie;
	machine.initial = NULL;
	machine.at = cie->insns;
	machine.end = cie->insns_end;
	machine.nr_remembered = 0;
	machine.state = (struct cfa_state){
		.cfa = { .kind = RULE_UNDEFINED },
		.bx = { .kind = RULE_SAME },
		/* kept: RULE_SAME, which is 0 */
		.fp = { .kind = RULE_SAME },
		.sp = { .kind = RULE_VAL_OFFSET },
		.ra = { .kind = RULE_OFFSET, .offset = FRAME_RA_OFFSET },
	};
	while (machine.at < machine.end) {
		uint8_t op = *machine.at++;

		if (is_advance(op) || !step(&machine, op))
			return false;
	}
	*ret = machine.state;
	return true;
}

/* Move to PC `to`: the current state is valid up to there. */
static struct err *advance(struct machine *machine, uint64_t to, cfa_emit_fn *emit, void *ctx)
{
	struct err *err = NULL;

	if (to > machine->pc)
		err = emit(machine->pc, &machine->state, ctx);
	machine->pc = to;
	return err;
}

struct err *cfa_run_fde(const struct cfi_cie *cie, const struct cfa_state *initial,
			const struct cfi_fde *fde, cfa_emit_fn *emit, void *ctx, bool *bad_ret)
{
	struct machine machine;
	struct err *err = NULL;
	bool good = true;
	uint64_t to;

	machine.cie = cie;
	machine.initial = initial;
	machine.at = fde->insns;
	machine.end = fde->insns_end;
	machine.pc = fde->start;
	machine.limit = fde->start + fde->size;
	machine.nr_remembered = 0;
	machine.state = *initial;
	while (!err && machine.at < machine.end && machine.pc < machine.limit) {
		uint8_t op = *machine.at++;

		if (!is_advance(op))
			good = step(&machine, op);
		else if ((good = op_advance(&machine, op, &to)))
			err = advance(&machine, to, emit, ctx);
		if (!good)
			break;
	}
	if (good && !err && machine.pc < machine.limit)
		err = advance(&machine, machine.limit, emit, ctx);
	if (!err)
		*bad_ret = !good;
	return err;
}
