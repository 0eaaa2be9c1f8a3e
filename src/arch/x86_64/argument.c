/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which of its arguments a function passes on in a call (struct arch, passes_on).
 *
 * The code is read once, from the function's start to the call. Each register, and each word of the
 * function's stack, has the set of arguments that its value was made of: moved, added to, or chosen
 * from. What is loaded from other memory has none: that an argument points there does not make it
 * the argument. Where a branch leads forward to, the sets of both ways are joined; loops are not
 * followed. So the result is what may be passed on, on some way to the call.
 */

#include "arch/x86_64/x86_64.h"

#include <string.h>

#include <Zydis/Zydis.h>

#include "base/compiler.h"

#define SLOTS		64	/* words of the stack below the return address */
#define BRANCHES	16

struct flow {
	uint8_t reg[16];	/* by number of the register */
	uint8_t slot[SLOTS];
	int64_t sp, fp;		/* less SP at the entry */
	bool sp_known, fp_known;
};

struct branch {
	size_t target;		/* offset in the code */
	struct flow flow;
};

struct reading {
	struct flow flow;
	struct branch branch[BRANCHES];
	unsigned nr_branches;
	bool cut;		/* the instruction before never goes on to this one */
};

struct decoded {
	ZydisDecodedInstruction info;
	ZydisDecodedOperand operand[ZYDIS_MAX_OPERAND_COUNT];
};

enum { REG_SP = 4, REG_FP = 5, REG_NONE = 16 };

static const uint8_t arguments[] = { 7, 6, 2, 1, 8, 9 };	/* rdi, rsi, rdx, rcx, r8, r9 */

static unsigned number_of(ZydisRegister reg)
{
	ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);

	if (whole < ZYDIS_REGISTER_RAX || whole > ZYDIS_REGISTER_R15)
		return REG_NONE;
	return (unsigned)(whole - ZYDIS_REGISTER_RAX);
}

/* The word of the stack that an operand is; NULL: it is none that is known. */
static uint8_t *slot_of(struct flow *flow, const ZydisDecodedOperand *operand)
{
	unsigned base = number_of(operand->mem.base);
	int64_t at;

	if (operand->mem.index != ZYDIS_REGISTER_NONE ||
	    !(base == REG_SP ? flow->sp_known : base == REG_FP && flow->fp_known))
		return NULL;
	at = (base == REG_SP ? flow->sp : flow->fp) + operand->mem.disp.value;
	return at < 0 && at >= -8 * SLOTS ? &flow->slot[(-at + 7) / 8 - 1] : NULL;
}

static uint8_t value_of(struct flow *flow, const ZydisDecodedOperand *operand)
{
	uint8_t *slot;
	unsigned reg;

	if (operand->type == ZYDIS_OPERAND_TYPE_REGISTER) {
		reg = number_of(operand->reg.value);
		return reg < REG_NONE ? flow->reg[reg] : 0;
	}
	if (operand->type != ZYDIS_OPERAND_TYPE_MEMORY)
		return 0;
	if (operand->mem.type == ZYDIS_MEMOP_TYPE_AGEN) {
		unsigned base = number_of(operand->mem.base), index = number_of(operand->mem.index);

		return (uint8_t)((base < REG_NONE ? flow->reg[base] : 0) |
				 (index < REG_NONE ? flow->reg[index] : 0));
	}
	slot = slot_of(flow, operand);
	return slot ? *slot : 0;
}

static void set(struct flow *flow, const ZydisDecodedOperand *operand, uint8_t value)
{
	uint8_t *slot;
	unsigned reg;

	if (operand->type == ZYDIS_OPERAND_TYPE_REGISTER) {
		reg = number_of(operand->reg.value);
		if (reg < REG_NONE)
			flow->reg[reg] = value;
	} else if (operand->type == ZYDIS_OPERAND_TYPE_MEMORY) {
		slot = slot_of(flow, operand);
		if (slot)
			*slot = value;
	}
}

static bool is_reg(const ZydisDecodedOperand *operand, unsigned number)
{
	return operand->type == ZYDIS_OPERAND_TYPE_REGISTER &&
	       number_of(operand->reg.value) == number;
}

/* Follow SP and BP. */
static void move_stack(struct flow *flow, const struct decoded *decoded)
{
	const ZydisDecodedOperand *to = &decoded->operand[0], *from = &decoded->operand[1];
	bool number = decoded->info.operand_count_visible > 1 &&
		      from->type == ZYDIS_OPERAND_TYPE_IMMEDIATE;

	if (decoded->info.mnemonic == ZYDIS_MNEMONIC_MOV && is_reg(to, REG_FP)) {
		flow->fp_known = is_reg(from, REG_SP) && flow->sp_known;
		flow->fp = flow->sp;
	} else if (decoded->info.mnemonic == ZYDIS_MNEMONIC_POP && is_reg(to, REG_FP)) {
		flow->fp_known = false;
	} else if (!is_reg(to, REG_SP)) {
		return;
	} else if (decoded->info.mnemonic == ZYDIS_MNEMONIC_SUB && number) {
		flow->sp -= from->imm.value.s;
	} else if (decoded->info.mnemonic == ZYDIS_MNEMONIC_ADD && number) {
		flow->sp += from->imm.value.s;
	} else if (decoded->info.operand_count_visible &&
		   to->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) {
		flow->sp_known = false;
	}
}

static void push(struct flow *flow, const ZydisDecodedOperand *operand)
{
	uint8_t value = value_of(flow, operand);

	flow->sp -= 8;
	if (flow->sp_known && flow->sp < 0 && flow->sp >= -8 * SLOTS)
		flow->slot[-flow->sp / 8 - 1] = value;
}

static void pop(struct flow *flow, const ZydisDecodedOperand *operand)
{
	bool known = flow->sp_known && flow->sp < 0 && flow->sp >= -8 * SLOTS;

	set(flow, operand, known ? flow->slot[-flow->sp / 8 - 1] : 0);
	flow->sp += 8;
}

/* A call leaves only the registers that functions keep. */
static void forget_at_call(struct flow *flow)
{
	static const uint8_t lost[] = { 0, 1, 2, 6, 7, 8, 9, 10, 11 };

	for (size_t i = 0; i < ARRAY_SIZE(lost); i++)
		flow->reg[lost[i]] = 0;
}

/* Does it read the operand, or may it leave it as it was? */
static bool keeps(const ZydisDecodedOperand *operand)
{
	return operand->actions & (ZYDIS_OPERAND_ACTION_MASK_READ | ZYDIS_OPERAND_ACTION_CONDWRITE) ||
	       (operand->type == ZYDIS_OPERAND_TYPE_MEMORY &&
		operand->mem.type == ZYDIS_MEMOP_TYPE_AGEN);
}

/* Whatever is written is made of all that is read. */
static void compute(struct flow *flow, const struct decoded *decoded)
{
	ZydisMnemonic is = decoded->info.mnemonic;
	bool zero = (is == ZYDIS_MNEMONIC_XOR || is == ZYDIS_MNEMONIC_SUB) &&
		    decoded->operand[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    is_reg(&decoded->operand[1], number_of(decoded->operand[0].reg.value));
	uint8_t value = 0;

	for (unsigned i = 0; !zero && i < decoded->info.operand_count; i++)
		if (keeps(&decoded->operand[i]))
			value |= value_of(flow, &decoded->operand[i]);
	for (unsigned i = 0; i < decoded->info.operand_count; i++)
		if (decoded->operand[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
			set(flow, &decoded->operand[i], value);
}

static void step(struct flow *flow, const struct decoded *decoded)
{
	switch (decoded->info.mnemonic) {
	case ZYDIS_MNEMONIC_PUSH:
		push(flow, &decoded->operand[0]);
		return;
	case ZYDIS_MNEMONIC_POP:
		move_stack(flow, decoded);
		pop(flow, &decoded->operand[0]);
		return;
	case ZYDIS_MNEMONIC_CALL:
		forget_at_call(flow);
		return;
	default:
		move_stack(flow, decoded);
		compute(flow, decoded);
	}
}

static void join(struct flow *flow, const struct flow *other)
{
	for (size_t i = 0; i < ARRAY_SIZE(flow->reg); i++)
		flow->reg[i] |= other->reg[i];
	for (size_t i = 0; i < SLOTS; i++)
		flow->slot[i] |= other->slot[i];
}

/* Branches that lead to this offset bring their sets. */
static void arrive(struct reading *reading, size_t at)
{
	for (unsigned i = 0; i < reading->nr_branches; i++) {
		if (reading->branch[i].target != at)
			continue;
		if (reading->cut)
			reading->flow = reading->branch[i].flow;
		else
			join(&reading->flow, &reading->branch[i].flow);
		reading->cut = false;
	}
}

static void leave(struct reading *reading, const struct decoded *decoded, size_t behind)
{
	const ZydisDecodedOperand *to = &decoded->operand[0];
	ZydisInstructionCategory is = decoded->info.meta.category;

	if ((is == ZYDIS_CATEGORY_COND_BR || is == ZYDIS_CATEGORY_UNCOND_BR) &&
	    to->type == ZYDIS_OPERAND_TYPE_IMMEDIATE && to->imm.value.s > 0 &&
	    reading->nr_branches < BRANCHES)
		reading->branch[reading->nr_branches++] = (struct branch){
			behind + (size_t)to->imm.value.s, reading->flow };
	if (is == ZYDIS_CATEGORY_UNCOND_BR || is == ZYDIS_CATEGORY_RET)
		reading->cut = true;
}

static uint8_t passed(const struct flow *flow, unsigned into)
{
	uint8_t value = 0;

	for (unsigned i = 0; i < ARRAY_SIZE(arguments); i++)
		if (into & 1u << i)
			value |= flow->reg[arguments[i]];
	return value;
}

unsigned x86_64_argument_passes_on(const uint8_t *code, size_t len, unsigned into)
{
	struct reading reading = { .flow = { .sp_known = true } };
	struct decoded decoded;
	ZydisDecoder decoder;

	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	for (unsigned i = 0; i < ARRAY_SIZE(arguments); i++)
		reading.flow.reg[arguments[i]] = (uint8_t)(1u << i);
	for (size_t at = 0; at < len; at += decoded.info.length) {
		if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code + at, len - at, &decoded.info,
							 decoded.operand)))
			return 0;
		arrive(&reading, at);
		if (at + decoded.info.length == len)
			return decoded.info.meta.category == ZYDIS_CATEGORY_CALL && !reading.cut ?
				passed(&reading.flow, into) : 0;
		leave(&reading, &decoded, at + decoded.info.length);
		step(&reading.flow, &decoded);
	}
	return 0;
}
