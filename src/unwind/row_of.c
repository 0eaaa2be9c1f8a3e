/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rules at one PC as a row: what a row can hold of them. */

#include "unwind/row_of.h"

#include "arch/host.h"

/* Convert the CFA's rule that is a word plus a number. False: it does not fit. */
static bool row_cfa_memory(const struct cfa_value *value, struct row *row)
{
	bool other = value->reg != FRAME_SP && value->reg != FRAME_FP;

	if (value->reg >= FRAME_RA || value->add < 0 || value->add > ROW_ADD_MOST || value->add % 8)
		return false;
	row->cfa = value->reg == FRAME_SP ? ROW_CFA_SP_MEM :
		   value->reg == FRAME_FP ? ROW_CFA_FP_MEM : ROW_CFA_REG_MEM;
	row->cfa_reg = (uint8_t)(value->add / 8 << 4 | (other ? value->reg : 0));
	return true;
}

/* Convert the CFA's rule to a row; a rule that does not fit makes it complex. */
static void row_cfa(const struct rule *rule, struct row *row)
{
	struct cfa_value value = { .reg = rule->reg, .offset = rule->offset };
	uint8_t from;

	row->cfa = ROW_CFA_COMPLEX;
	if (rule->kind == RULE_UNDEFINED) {
		row->cfa = ROW_CFA_NONE;
		return;
	}
	if (rule->kind == RULE_EXPRESSION &&
	    cfa_expression_plt(rule->expr, rule->expr_len, &value.offset, &from)) {
		row->cfa = ROW_CFA_PLT;
		row->cfa_reg = from;
	} else if (rule->kind == RULE_EXPRESSION &&
		   !cfa_expression(rule->expr, rule->expr_len, &value)) {
		return;
	} else if (value.memory) {
		if (!row_cfa_memory(&value, row))
			return;
	} else if (value.reg < FRAME_RA) {
		row->cfa = value.reg == FRAME_SP ? ROW_CFA_SP :
			   value.reg == FRAME_FP ? ROW_CFA_FP : ROW_CFA_REG;
		row->cfa_reg = row->cfa == ROW_CFA_REG ? (uint8_t)value.reg : 0;
	}
	if (value.offset != (int32_t)value.offset)
		row->cfa = ROW_CFA_COMPLEX;
	row->cfa_offset = (int32_t)value.offset;
}

/*
 * Convert BP's rule. A rule that does not fit leaves BP undefined, since most walks never need it.
 */
static void row_fp(const struct rule *rule, struct row *row)
{
	struct cfa_value value;
	int64_t offset = rule->offset;

	row->fp = ROW_FP_UNDEFINED;
	if (rule->kind == RULE_SAME) {
		row->fp = ROW_FP_SAME;
		return;
	}
	if (rule->kind == RULE_OFFSET) {
		row->fp = ROW_FP_CFA;
	} else if (rule->kind == RULE_REGISTER && rule->reg < FRAME_RA) {
		row->fp = ROW_FP_REG;
		offset = rule->reg;
	} else if (rule->kind == RULE_EXPRESSION &&
		   cfa_expression(rule->expr, rule->expr_len, &value) &&
		   value.reg == FRAME_FP && !value.memory) {
		row->fp = ROW_FP_FP;
		offset = value.offset;
	} else {
		return;
	}
	if (offset != (int16_t)offset)
		row->fp = ROW_FP_UNDEFINED;
	else
		row->fp_offset = (int16_t)offset;
}

/* Convert RBX's rule: it is unchanged, or a push near the CFA has saved it; else it is lost. */
static uint8_t row_bx(const struct rule *rule)
{
	if (rule->kind == RULE_SAME)
		return 0;
	if (rule->kind != RULE_OFFSET || rule->offset % 8 || rule->offset >= 0 ||
	    rule->offset <= -8 * ROW_BX_LOST)
		return ROW_BX_LOST;
	return (uint8_t)(-rule->offset / 8);
}

/* Convert the rule of one of R12 to R15, as row_kept has it. */
static unsigned row_keep(const struct rule *rule)
{
	int64_t n = -rule->offset / 8;

	if (rule->kind == RULE_SAME)
		return 0;
	return rule->kind != RULE_OFFSET || rule->offset % 8 || n <= 0 || n >= ROW_KEPT_LOST ?
	       ROW_KEPT_LOST : (unsigned)n;
}

/* Convert the rule of a return address that is not where the call has put it. */
static void row_ra(const struct rule *rule, struct row *row)
{
	bool by_fp = row->cfa == ROW_CFA_FP;
	int64_t n = rule->offset / 8;

	if (!by_fp && row->cfa != ROW_CFA_SP) {
		row->cfa = ROW_CFA_COMPLEX;
	} else if (rule->kind == RULE_REGISTER && rule->reg < FRAME_RA) {
		row->cfa = by_fp ? ROW_CFA_FP_RA_REG : ROW_CFA_SP_RA_REG;
		row->cfa_reg = (uint8_t)rule->reg;
	} else if (rule->kind == RULE_OFFSET && !(rule->offset % 8) && n == (int8_t)n) {
		row->cfa = by_fp ? ROW_CFA_FP_RA_AT : ROW_CFA_SP_RA_AT;
		row->cfa_reg = (uint8_t)n;
	} else {
		row->cfa = ROW_CFA_COMPLEX;
	}
}

/* Is the rule "saved in the sigcontext", as the C library's restorer writes it? */
static bool in_sigcontext(const struct rule *rule, unsigned reg, bool memory)
{
	static const uint8_t offsets[FRAME_REGS] = FRAME_SIGNAL_OFFSETS;
	struct cfa_value value;

	return rule->kind == RULE_EXPRESSION &&
	       cfa_expression(rule->expr, rule->expr_len, &value) &&
	       value.reg == FRAME_SP && value.offset == offsets[reg] && value.memory == memory &&
	       !value.add;
}

static bool state_is_signal(const struct cfa_state *state)
{
	return in_sigcontext(&state->cfa, FRAME_SP, true) &&
	       in_sigcontext(&state->ra, FRAME_RA, false) &&
	       in_sigcontext(&state->fp, FRAME_FP, false) &&
	       in_sigcontext(&state->bx, FRAME_BX, false);
}

struct row row_of(const struct cfi_cie *cie, const struct cfa_state *state)
{
	struct row row = { .cfa = ROW_CFA_COMPLEX };

	if (state->ra.kind == RULE_UNDEFINED) {
		row.cfa = ROW_CFA_END;
		return row;
	}
	if (state_is_signal(state)) {
		row.cfa = ROW_CFA_SIGNAL;
		return row;
	}
	if (cie->signal || state->sp.kind != RULE_VAL_OFFSET || state->sp.offset)
		return row;
	row_cfa(&state->cfa, &row);
	if (row.cfa == ROW_CFA_NONE)
		return (struct row){ .cfa = ROW_CFA_NONE };
	if (state->ra.kind != RULE_OFFSET || state->ra.offset != FRAME_RA_OFFSET)
		row_ra(&state->ra, &row);
	if (row.cfa == ROW_CFA_COMPLEX)
		return (struct row){ .cfa = ROW_CFA_COMPLEX };
	row_fp(&state->fp, &row);
	row.bx = row_bx(&state->bx);
	for (unsigned i = 0; i < ROW_KEPT; i++)
		row.kept |= (uint16_t)(row_keep(&state->kept[i]) << 4 * i);
	return row;
}
