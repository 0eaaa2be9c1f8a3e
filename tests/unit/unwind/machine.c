/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The made-up machine: rows on the one hand, libdw's expressions on the other. */

#include "machine.h"

#include <dwarf.h>

#include "unit.h"

enum { RBX = 3, RBP = 6, RSP = 7, R12 = 12, RIP = 16 };

/*
 * rax to r15 by DWARF number, then rip, in the kernel's struct sigcontext behind struct ucontext's
 * first 40 bytes.
 */
static const uint8_t sigcontext[17] = {
	144, 136, 152, 128, 112, 104, 120, 160, 40, 48, 56, 64, 72, 80, 88, 96, 168,
};

void machine_init(struct machine *machine, uint64_t pc)
{
	for (unsigned i = 0; i < 16; i++)
		machine->reg[i] = 0x7ffd00000000ull + 0x1234570ull * (i + 1);
	machine->reg[RIP] = pc;
}

static uint64_t word_at(uint64_t addr)
{
	return (addr ^ 0x5555555555555555ull) * 0x9e3779b97f4a7c15ull;
}

static void row_fp(const struct machine *machine, const struct row *row, struct outcome *outcome)
{
	outcome->fp_known = row->fp != ROW_FP_UNDEFINED;
	if (row->fp == ROW_FP_SAME)
		outcome->fp = machine->reg[RBP];
	else if (row->fp == ROW_FP_CFA)
		outcome->fp = word_at(outcome->cfa + (uint64_t)(int64_t)row->fp_offset);
	else if (row->fp == ROW_FP_FP)
		outcome->fp = word_at(machine->reg[RBP] + (uint64_t)(int64_t)row->fp_offset);
	else if (row->fp == ROW_FP_REG)
		outcome->fp = machine->reg[row->fp_offset];
}

static void row_bx(const struct machine *machine, const struct row *row, struct outcome *outcome)
{
	outcome->bx_known = row->bx != ROW_BX_LOST;
	outcome->bx = row->bx ? word_at(outcome->cfa - 8 * (uint64_t)row->bx) : machine->reg[RBX];
}

static void row_keep(const struct machine *machine, const struct row *row, struct outcome *outcome)
{
	for (unsigned i = 0; i < ROW_KEPT; i++) {
		unsigned n = row_kept(row, i);

		outcome->kept_known[i] = n != ROW_KEPT_LOST;
		outcome->kept[i] = n ? word_at(outcome->cfa - 8 * (uint64_t)n) : machine->reg[R12 + i];
	}
}

static uint64_t row_ra(const struct machine *machine, const struct row *row, uint64_t cfa)
{
	switch (row->cfa) {
	case ROW_CFA_SP_RA_REG:
	case ROW_CFA_FP_RA_REG:
		return machine->reg[row->cfa_reg];
	case ROW_CFA_SP_RA_AT:
	case ROW_CFA_FP_RA_AT:
		return word_at(cfa + 8 * (uint64_t)(int8_t)row->cfa_reg);
	default:
		return word_at(cfa - 8);
	}
}

static struct outcome signal_outcome(const struct machine *machine)
{
	uint64_t sp = machine->reg[RSP];
	struct outcome outcome = {
		.kind = OUTCOME_FRAME,
		.cfa = word_at(sp + sigcontext[RSP]),
		.pc = word_at(sp + sigcontext[RIP]),
		.fp = word_at(sp + sigcontext[RBP]),
		.bx = word_at(sp + sigcontext[RBX]),
		.fp_known = true,
		.bx_known = true,
	};

	for (unsigned i = 0; i < ROW_KEPT; i++) {
		outcome.kept[i] = word_at(sp + sigcontext[R12 + i]);
		outcome.kept_known[i] = true;
	}
	return outcome;
}

struct outcome outcome_of_row(const struct machine *machine, const struct row *row)
{
	struct outcome outcome = { .kind = OUTCOME_FRAME };
	uint64_t offset = (uint64_t)(int64_t)row->cfa_offset, add = row_add(row);

	switch ((enum row_cfa)row->cfa) {
	case ROW_CFA_SP:
	case ROW_CFA_SP_RA_REG:
	case ROW_CFA_SP_RA_AT:
		outcome.cfa = machine->reg[RSP] + offset;
		break;
	case ROW_CFA_FP:
	case ROW_CFA_FP_RA_REG:
	case ROW_CFA_FP_RA_AT:
		outcome.cfa = machine->reg[RBP] + offset;
		break;
	case ROW_CFA_REG:
		outcome.cfa = machine->reg[row->cfa_reg] + offset;
		break;
	case ROW_CFA_FP_MEM:
		outcome.cfa = word_at(machine->reg[RBP] + offset) + add;
		break;
	case ROW_CFA_SP_MEM:
		outcome.cfa = word_at(machine->reg[RSP] + offset) + add;
		break;
	case ROW_CFA_REG_MEM:
		outcome.cfa = word_at(machine->reg[row_reg(row)] + offset) + add;
		break;
	case ROW_CFA_PLT:
		outcome.cfa = machine->reg[RSP] + offset;
		outcome.cfa += (machine->reg[RIP] & 15) >= row->cfa_reg ? 8 : 0;
		break;
	case ROW_CFA_SIGNAL:
		return signal_outcome(machine);
	case ROW_CFA_END:
		return (struct outcome){ .kind = OUTCOME_END };
	case ROW_CFA_COMPLEX:
		return (struct outcome){ .kind = OUTCOME_COMPLEX };
	default:
		return (struct outcome){ .kind = OUTCOME_NONE };
	}
	outcome.pc = row_ra(machine, row, outcome.cfa);
	row_keep(machine, row, &outcome);
	row_fp(machine, row, &outcome);
	row_bx(machine, row, &outcome);
	return outcome;
}

struct stack {
	uint64_t word[16];
	unsigned nr;
	bool value;	/* the result is the value, not where it lies */
	bool reg;	/* the result is what a register holds */
	bool unknown;	/* it has an operation that this machine has not */
};

static uint64_t pop(struct stack *stack)
{
	if (!stack->nr) {
		stack->unknown = true;
		return 0;
	}
	return stack->word[--stack->nr];
}

static void push(struct stack *stack, uint64_t word)
{
	if (stack->nr == 16) {
		stack->unknown = true;
		return;
	}
	stack->word[stack->nr++] = word;
}

static void binary(struct stack *stack, uint8_t atom)
{
	uint64_t right = pop(stack), left = pop(stack);

	switch (atom) {
	case DW_OP_plus:
		push(stack, left + right);
		break;
	case DW_OP_minus:
		push(stack, left - right);
		break;
	case DW_OP_mul:
		push(stack, left * right);
		break;
	case DW_OP_and:
		push(stack, left & right);
		break;
	case DW_OP_shl:
		push(stack, left << right);
		break;
	case DW_OP_ge:
		push(stack, (int64_t)left >= (int64_t)right);
		break;
	default:
		stack->unknown = true;
	}
}

static void operate(const struct machine *machine, struct stack *stack, const Dwarf_Op *op,
		    uint64_t cfa)
{
	if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg16) {
		push(stack, machine->reg[op->atom - DW_OP_breg0] + op->number);
	} else if (op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31) {
		push(stack, op->atom - DW_OP_lit0);
	} else if (op->atom >= DW_OP_const1u && op->atom <= DW_OP_consts) {
		push(stack, op->number);
	} else if (op->atom == DW_OP_drop) {
		pop(stack);
	} else if (op->atom == DW_OP_regx) {
		push(stack, machine->reg[op->number]);
		stack->reg = true;
	} else if (op->atom == DW_OP_bregx) {
		push(stack, machine->reg[op->number] + op->number2);
	} else if (op->atom == DW_OP_deref) {
		push(stack, word_at(pop(stack)));
	} else if (op->atom == DW_OP_plus_uconst) {
		push(stack, pop(stack) + op->number);
	} else if (op->atom == DW_OP_call_frame_cfa) {
		push(stack, cfa);
	} else if (op->atom == DW_OP_stack_value) {
		stack->value = true;
	} else if (op->atom != DW_OP_nop) {
		binary(stack, op->atom);
	}
}

static struct stack evaluate(const struct machine *machine, const Dwarf_Op *ops, size_t nr,
			     uint64_t cfa)
{
	struct stack stack = { .nr = 0 };

	for (size_t i = 0; i < nr; i++)
		operate(machine, &stack, &ops[i], cfa);
	return stack;
}

/* The caller's value of a register; false if undefined, or beyond this machine. */
static bool frame_register(const struct machine *machine, Dwarf_Frame *frame, int reg, uint64_t cfa,
			   uint64_t *ret)
{
	Dwarf_Op room[3], *ops;
	struct stack stack;
	size_t nr;

	CU_ASSERT_FATAL(dwarf_frame_register(frame, reg, room, &ops, &nr) == 0);
	if (!nr && ops == room)
		return false;
	*ret = machine->reg[reg];
	if (!nr)
		return true;
	stack = evaluate(machine, ops, nr, cfa);
	*ret = stack.value || stack.reg ? pop(&stack) : word_at(pop(&stack));
	return !stack.unknown;
}

struct outcome outcome_of_frame(const struct machine *machine, Dwarf_Frame *frame)
{
	struct outcome outcome = { .kind = OUTCOME_FRAME };
	struct stack stack;
	Dwarf_Op *ops;
	uint64_t sp;
	size_t nr;

	if (!frame)
		return (struct outcome){ .kind = OUTCOME_NONE };
	if (dwarf_frame_cfa(frame, &ops, &nr))
		return (struct outcome){ .kind = OUTCOME_INVALID };
	if (nr) {
		stack = evaluate(machine, ops, nr, 0);
		outcome.cfa = pop(&stack);
		if (stack.unknown)
			return (struct outcome){ .kind = OUTCOME_COMPLEX };
	}
	if (!frame_register(machine, frame, RIP, outcome.cfa, &outcome.pc))
		return (struct outcome){ .kind = OUTCOME_END };
	/* Where SP is not the CFA, a row must not pretend that it were. */
	if (!nr || !frame_register(machine, frame, RSP, outcome.cfa, &sp) || sp != outcome.cfa)
		outcome.kind = OUTCOME_COMPLEX;
	outcome.fp_known = frame_register(machine, frame, RBP, outcome.cfa, &outcome.fp);
	/*
	 * libdw's table of the ABI has RAX for RBX among the registers that are the same unless
	 * said otherwise.
	 */
	outcome.bx_known = true;
	if (!frame_register(machine, frame, RBX, outcome.cfa, &outcome.bx))
		outcome.bx = machine->reg[RBX];
	for (int i = 0; i < ROW_KEPT; i++)
		outcome.kept_known[i] = frame_register(machine, frame, R12 + i, outcome.cfa,
						       &outcome.kept[i]);
	return outcome;
}
