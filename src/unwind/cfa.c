/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The machine of CFA programs: one pass over the instructions, a state at a time. */

#include "unwind/cfa.h"

#include <dwarf.h>

#include "arch/x86_64/frame.h"

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
	uint64_t limit;				/* end of the FDE's code */
	struct cfa_state remembered[REMEMBER_MAX];
	unsigned nr_remembered;
};

/* The rule of a register that is followed, or NULL. */
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

/* Multiplication and addition wrap: the numbers are the file's. */
static int64_t factored(const struct machine *machine, uint64_t n)
{
	return (int64_t)(n * (uint64_t)machine->cie->data_align);
}

static bool uleb(struct machine *machine, uint64_t *ret)
{
	return cfi_uleb(&machine->at, machine->end, ret);
}

static bool sleb(struct machine *machine, uint64_t *ret)
{
	int64_t value;

	if (!cfi_sleb(&machine->at, machine->end, &value))
		return false;
	*ret = (uint64_t)value;
	return true;
}

/* A register and a rule with a factored offset. */
static bool op_offset(struct machine *machine, enum rule_kind kind, bool with_sign)
{
	uint64_t reg, n;

	if (!uleb(machine, &reg) || !(with_sign ? sleb(machine, &n) : uleb(machine, &n)))
		return false;
	rule_set(machine, reg, (struct rule){ .kind = kind, .offset = factored(machine, n) });
	return true;
}

/* A register that is undefined or the same. */
static bool op_plain(struct machine *machine, enum rule_kind kind)
{
	uint64_t reg;

	if (!uleb(machine, &reg))
		return false;
	rule_set(machine, reg, (struct rule){ .kind = kind });
	return true;
}

static bool op_register(struct machine *machine)
{
	uint64_t reg, in;

	if (!uleb(machine, &reg) || !uleb(machine, &in))
		return false;
	rule_set(machine, reg,
		 (struct rule){ .kind = RULE_REGISTER, .reg = (uint32_t)MIN(in, UINT32_MAX) });
	return true;
}

static bool expression(struct machine *machine, enum rule_kind kind, struct rule *ret)
{
	uint64_t len;

	if (!uleb(machine, &len) || len > (uint64_t)(machine->end - machine->at))
		return false;
	*ret = (struct rule){ .kind = kind, .expr = machine->at, .expr_len = len };
	machine->at += len;
	return true;
}

static bool op_expression(struct machine *machine, enum rule_kind kind)
{
	struct rule rule;
	uint64_t reg;

	if (!uleb(machine, &reg) || !expression(machine, kind, &rule))
		return false;
	rule_set(machine, reg, rule);
	return true;
}

static bool op_def_cfa(struct machine *machine, bool with_sign)
{
	uint64_t reg, n;

	if (!uleb(machine, &reg) || !(with_sign ? sleb(machine, &n) : uleb(machine, &n)))
		return false;
	machine->state.cfa = (struct rule){
		.kind = RULE_REGISTER,
		.reg = (uint32_t)MIN(reg, UINT32_MAX),
		.offset = with_sign ? factored(machine, n) : (int64_t)n,
	};
	return true;
}

static bool op_def_cfa_register(struct machine *machine)
{
	uint64_t reg;

	if (machine->state.cfa.kind != RULE_REGISTER || !uleb(machine, &reg))
		return false;
	machine->state.cfa.reg = (uint32_t)MIN(reg, UINT32_MAX);
	return true;
}

static bool op_def_cfa_offset(struct machine *machine, bool with_sign)
{
	uint64_t n;

	if (machine->state.cfa.kind != RULE_REGISTER ||
	    !(with_sign ? sleb(machine, &n) : uleb(machine, &n)))
		return false;
	machine->state.cfa.offset = with_sign ? factored(machine, n) : (int64_t)n;
	return true;
}

static bool op_remember(struct machine *machine)
{
	if (machine->nr_remembered == REMEMBER_MAX)
		return false;
	machine->remembered[machine->nr_remembered++] = machine->state;
	return true;
}

static bool op_restore_state(struct machine *machine)
{
	if (!machine->nr_remembered)
		return false;
	machine->state = machine->remembered[--machine->nr_remembered];
	return true;
}

/* All instructions that change rules but do not move the PC. */
static bool op_rule(struct machine *machine, uint8_t op)
{
	uint64_t n;

	switch (op) {
	case DW_CFA_nop:
		return true;
	case DW_CFA_offset_extended:
		return op_offset(machine, RULE_OFFSET, false);
	case DW_CFA_offset_extended_sf:
		return op_offset(machine, RULE_OFFSET, true);
	case DW_CFA_val_offset:
		return op_offset(machine, RULE_VAL_OFFSET, false);
	case DW_CFA_val_offset_sf:
		return op_offset(machine, RULE_VAL_OFFSET, true);
	case DW_CFA_restore_extended:
		return uleb(machine, &n) && rule_restore(machine, n);
	case DW_CFA_undefined:
		return op_plain(machine, RULE_UNDEFINED);
	case DW_CFA_same_value:
		return op_plain(machine, RULE_SAME);
	case DW_CFA_register:
		return op_register(machine);
	case DW_CFA_remember_state:
		return op_remember(machine);
	case DW_CFA_restore_state:
		return op_restore_state(machine);
	case DW_CFA_def_cfa:
		return op_def_cfa(machine, false);
	case DW_CFA_def_cfa_sf:
		return op_def_cfa(machine, true);
	case DW_CFA_def_cfa_register:
		return op_def_cfa_register(machine);
	case DW_CFA_def_cfa_offset:
		return op_def_cfa_offset(machine, false);
	case DW_CFA_def_cfa_offset_sf:
		return op_def_cfa_offset(machine, true);
	case DW_CFA_def_cfa_expression:
		return expression(machine, RULE_EXPRESSION, &machine->state.cfa);
	case DW_CFA_expression:
		return op_expression(machine, RULE_EXPRESSION);
	case DW_CFA_val_expression:
		return op_expression(machine, RULE_VAL_EXPRESSION);
	case DW_CFA_GNU_args_size:	/* what the callee pops; of no matter to a return address */
		return uleb(machine, &n);
	default:
		return false;
	}
}

/* Where an instruction that moves the PC moves it; false if it is none, or broken. */
static bool op_advance(struct machine *machine, uint8_t op, uint64_t *ret)
{
	uint64_t delta;

	switch (op) {
	case DW_CFA_set_loc:
		return cfi_address(machine->cie, &machine->at, machine->end, ret) &&
		       *ret >= machine->pc;
	case DW_CFA_advance_loc1:
		if (!cfi_fixed(&machine->at, machine->end, 1, &delta))
			return false;
		break;
	case DW_CFA_advance_loc2:
		if (!cfi_fixed(&machine->at, machine->end, 2, &delta))
			return false;
		break;
	case DW_CFA_advance_loc4:
		if (!cfi_fixed(&machine->at, machine->end, 4, &delta))
			return false;
		break;
	default:
		if ((op & 0xc0) != DW_CFA_advance_loc)
			return false;
		delta = op & 0x3f;
	}
	if (__builtin_mul_overflow(delta, machine->cie->code_align, &delta) ||
	    __builtin_add_overflow(machine->pc, delta, ret))
		return false;
	return true;
}

static bool is_advance(uint8_t op)
{
	return (op & 0xc0) == DW_CFA_advance_loc ||
	       (op >= DW_CFA_set_loc && op <= DW_CFA_advance_loc4);
}

/* An instruction that does not move the PC. */
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
		return op_rule(machine, op);
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

/* Go on to the PC to: the state so far holds up to there. */
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
