/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Follows the result of a call (arch/result_flow.h). */

#include "arch/x86_64/x86_64.h"

#include <string.h>

#include <Zydis/Zydis.h>

#include "arch/result_flow.h"
#include "base/compiler.h"

#define STEPS	300u
#define SLOTS	24u		/* words of the frame that have a value */
#define BEHIND	UINT32_MAX	/* the value of an address that was made of the result */

enum { REG_AX, REG_SP = 4, REG_FP = 5, REG_NONE = 16 };

struct slot {
	int64_t offset;		/* from the CFA */
	uint32_t value;
};

struct way {
	const struct result_flow *flow;
	uint64_t pc;
	uint32_t reg[16];	/* by the processor's number: values */
	struct slot slot[SLOTS];
	unsigned nr_slots;
	int64_t sp, fp;
	bool sp_known, fp_known;
	bool tested;		/* the flags say whether the result is NULL */
	bool behind;		/* an address was made of the result */
	uint32_t typed;		/* the value of the first typed place that it was in */
};

struct decoded {
	ZydisDecodedInstruction info;
	ZydisDecodedOperand operand[ZYDIS_MAX_OPERAND_COUNT];
};

/* DWARF has rdx before rcx, and rsi, rdi, rbp, rsp behind rbx. */
static const uint8_t dwarf_numbers[16] = { 0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15 };

static unsigned number_of(ZydisRegister reg)
{
	ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);

	if (whole < ZYDIS_REGISTER_RAX || whole > ZYDIS_REGISTER_R15)
		return REG_NONE;
	return (unsigned)(whole - ZYDIS_REGISTER_RAX);
}

static uint32_t ask(struct way *way, struct result_place place)
{
	place.pc = way->pc;
	return way->flow->typed(way->flow->ctx, &place);
}

/* By what was moved there, or by the variable that is in it. */
static uint32_t register_value(struct way *way, unsigned reg)
{
	if (reg >= REG_NONE)
		return RESULT_NONE;
	return way->reg[reg] ? way->reg[reg] :
		ask(way, (struct result_place){ .in = RESULT_IN_REGISTER,
						.number = dwarf_numbers[reg] });
}

static struct slot *find_slot(struct way *way, int64_t offset)
{
	for (unsigned i = 0; i < way->nr_slots; i++)
		if (way->slot[i].offset == offset)
			return &way->slot[i];
	return NULL;
}

static void set_slot(struct way *way, int64_t offset, uint32_t value)
{
	struct slot *slot = find_slot(way, offset);

	if (!slot && value && way->nr_slots < SLOTS)
		slot = &way->slot[way->nr_slots++];
	if (slot)
		*slot = (struct slot){ offset, value };
}

/* *place gets what a word of memory is; false: it is nothing that can be typed. */
static bool place_of(struct way *way, const struct decoded *decoded,
		     const ZydisDecodedOperand *operand, struct result_place *place)
{
	const ZydisDecodedOperandMem *mem = &operand->mem;
	unsigned base = number_of(mem->base);

	*place = (struct result_place){ .offset = mem->disp.value };
	if (operand->type != ZYDIS_OPERAND_TYPE_MEMORY || mem->type != ZYDIS_MEMOP_TYPE_MEM ||
	    operand->size != 64 || mem->segment == ZYDIS_REGISTER_FS ||
	    mem->segment == ZYDIS_REGISTER_GS)
		return false;
	if (mem->base == ZYDIS_REGISTER_RIP || (mem->base == ZYDIS_REGISTER_NONE &&
						mem->index == ZYDIS_REGISTER_NONE)) {
		place->in = RESULT_IN_MEMORY;
		place->address = (uint64_t)place->offset;
		if (mem->base == ZYDIS_REGISTER_RIP)
			place->address += way->pc + decoded->info.length;
		place->offset = 0;
		return true;
	}
	if (mem->index == ZYDIS_REGISTER_NONE &&
	    ((base == REG_SP && way->sp_known) || (base == REG_FP && way->fp_known))) {
		place->in = RESULT_IN_FRAME;
		place->offset += base == REG_SP ? way->sp : way->fp;
		return true;
	}
	if (base == REG_SP || base == REG_FP) {
		place->in = RESULT_IN_FP;
		return base == REG_FP && mem->index == ZYDIS_REGISTER_NONE;
	}
	place->in = mem->index == ZYDIS_REGISTER_NONE ? RESULT_IN_MEMBER : RESULT_IN_ELEMENT;
	place->base = register_value(way, base);
	return place->base > RESULT_ITSELF && place->base != BEHIND;
}

static uint32_t load(struct way *way, const struct decoded *decoded,
		     const ZydisDecodedOperand *operand)
{
	struct result_place place;
	const struct slot *slot;

	if (!place_of(way, decoded, operand, &place))
		return RESULT_NONE;
	slot = place.in == RESULT_IN_FRAME ? find_slot(way, place.offset) : NULL;
	return slot ? slot->value : ask(way, place);
}

static void store(struct way *way, const struct decoded *decoded,
		  const ZydisDecodedOperand *operand, uint32_t value)
{
	struct result_place place;

	if (!place_of(way, decoded, operand, &place))
		return;
	if (place.in == RESULT_IN_FRAME)
		set_slot(way, place.offset, value);
	if (value != RESULT_ITSELF || way->typed)
		return;
	/* A variable may be there from the next instruction on. */
	way->typed = ask(way, place);
	if (!way->typed && (place.in == RESULT_IN_FRAME || place.in == RESULT_IN_FP)) {
		place.pc = way->pc + decoded->info.length;
		way->typed = way->flow->typed(way->flow->ctx, &place);
	}
}

static void move(struct way *way, const struct decoded *decoded)
{
	const ZydisDecodedOperand *to = &decoded->operand[0], *from = &decoded->operand[1];
	bool whole = to->size == 64, from_reg = from->type == ZYDIS_OPERAND_TYPE_REGISTER;
	unsigned source = from_reg ? number_of(from->reg.value) : REG_NONE;
	uint32_t value = !whole ? RESULT_NONE :
		from_reg ? (source < REG_NONE ? way->reg[source] : RESULT_NONE) :
		load(way, decoded, from);
	unsigned target;

	if (to->type != ZYDIS_OPERAND_TYPE_REGISTER) {
		store(way, decoded, to, value);
		return;
	}
	/* What is known of the variable there goes with it. */
	if (whole && from_reg && !value && source != REG_SP && source != REG_FP)
		value = register_value(way, source);
	target = number_of(to->reg.value);
	if (target >= REG_NONE)
		return;
	way->reg[target] = value;
	if (target == REG_FP) {
		way->fp_known = source == REG_SP && way->sp_known;
		way->fp = way->sp;
	} else if (target == REG_SP) {
		way->sp_known = source == REG_FP && way->fp_known;
		way->sp = way->fp;
	}
}

static bool is_result(struct way *way, const struct decoded *decoded,
		      const ZydisDecodedOperand *operand)
{
	if (operand->size != 64)
		return false;
	if (operand->type == ZYDIS_OPERAND_TYPE_REGISTER)
		return number_of(operand->reg.value) < REG_NONE &&
		       way->reg[number_of(operand->reg.value)] == RESULT_ITSELF;
	return operand->type == ZYDIS_OPERAND_TYPE_MEMORY &&
	       load(way, decoded, operand) == RESULT_ITSELF;
}

static void test(struct way *way, const struct decoded *decoded)
{
	const ZydisDecodedOperand *x = &decoded->operand[0], *y = &decoded->operand[1];
	bool same = x->type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    y->type == ZYDIS_OPERAND_TYPE_REGISTER && x->reg.value == y->reg.value;
	bool zero = decoded->info.mnemonic == ZYDIS_MNEMONIC_CMP &&
		    y->type == ZYDIS_OPERAND_TYPE_IMMEDIATE && !y->imm.value.u;

	way->tested = (zero || (same && decoded->info.mnemonic == ZYDIS_MNEMONIC_TEST)) &&
		      is_result(way, decoded, x);
}

static void push(struct way *way, const struct decoded *decoded)
{
	const ZydisDecodedOperand *operand = &decoded->operand[0];
	unsigned reg = operand->type == ZYDIS_OPERAND_TYPE_REGISTER ?
		number_of(operand->reg.value) : REG_NONE;

	way->sp -= 8;
	if (way->sp_known)
		set_slot(way, way->sp, reg < REG_NONE ? way->reg[reg] : RESULT_NONE);
}

static void pop(struct way *way, const struct decoded *decoded)
{
	unsigned reg = decoded->operand[0].type == ZYDIS_OPERAND_TYPE_REGISTER ?
		number_of(decoded->operand[0].reg.value) : REG_NONE;
	const struct slot *slot = way->sp_known ? find_slot(way, way->sp) : NULL;

	if (reg < REG_NONE)
		way->reg[reg] = slot ? slot->value : RESULT_NONE;
	way->fp_known &= reg != REG_FP;
	way->sp += 8;
}

/* A call leaves only the registers that functions keep. */
static void forget_at_call(struct way *way)
{
	static const uint8_t lost[] = { 0, 1, 2, 6, 7, 8, 9, 10, 11 };

	for (size_t i = 0; i < ARRAY_SIZE(lost); i++)
		way->reg[lost[i]] = RESULT_NONE;
}

static bool is_made_of_result(const struct way *way, unsigned reg)
{
	return reg < REG_NONE && (way->reg[reg] == RESULT_ITSELF || way->reg[reg] == BEHIND);
}

/* Does it compute an address from the result: by adding to it in place, or elsewhere? */
static bool goes_behind(struct way *way, const struct decoded *decoded)
{
	const ZydisDecodedOperand *to = &decoded->operand[0], *from = &decoded->operand[1];
	ZydisMnemonic is = decoded->info.mnemonic;
	uint32_t value;

	if (is == ZYDIS_MNEMONIC_LEA)
		return is_made_of_result(way, number_of(from->mem.base)) ||
		       is_made_of_result(way, number_of(from->mem.index));
	if (is != ZYDIS_MNEMONIC_ADD && is != ZYDIS_MNEMONIC_SUB && is != ZYDIS_MNEMONIC_INC &&
	    is != ZYDIS_MNEMONIC_AND)
		return false;
	if (to->type == ZYDIS_OPERAND_TYPE_REGISTER)
		return is_made_of_result(way, number_of(to->reg.value));
	value = to->type == ZYDIS_OPERAND_TYPE_MEMORY ? load(way, decoded, to) : RESULT_NONE;
	return value == RESULT_ITSELF || value == BEHIND;
}

/* Whatever else is written has no value that is known. */
static void forget(struct way *way, const struct decoded *decoded)
{
	const ZydisDecodedOperand *operand = decoded->operand;
	bool number = decoded->info.operand_count_visible > 1 &&
		      operand[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
	bool behind = goes_behind(way, decoded);
	uint32_t value = behind ? BEHIND : RESULT_NONE;

	way->behind |= behind;
	for (unsigned i = 0; i < decoded->info.operand_count; i++) {
		unsigned reg = operand[i].type == ZYDIS_OPERAND_TYPE_REGISTER ?
			number_of(operand[i].reg.value) : REG_NONE;

		if (!(operand[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
			continue;
		if (operand[i].type == ZYDIS_OPERAND_TYPE_MEMORY)
			store(way, decoded, &operand[i], value);
		if (reg >= REG_NONE)
			continue;
		way->reg[reg] = value;
		way->fp_known &= reg != REG_FP;
		if (reg != REG_SP)
			continue;
		if (number && decoded->info.mnemonic == ZYDIS_MNEMONIC_SUB)
			way->sp -= operand[1].imm.value.s;
		else if (number && decoded->info.mnemonic == ZYDIS_MNEMONIC_ADD)
			way->sp += operand[1].imm.value.s;
		else
			way->sp_known = false;
	}
}

static void leave(struct way *way)
{
	const struct slot *slot = way->fp_known ? find_slot(way, way->fp) : NULL;

	way->sp_known = way->fp_known;
	way->sp = way->fp + 8;
	way->fp_known = false;
	way->reg[REG_FP] = slot ? slot->value : RESULT_NONE;
}

static void step(struct way *way, const struct decoded *decoded)
{
	ZydisMnemonic is = decoded->info.mnemonic;

	if (is == ZYDIS_MNEMONIC_TEST || is == ZYDIS_MNEMONIC_CMP) {
		test(way, decoded);
		return;
	}
	/* Others keep the flags that matter between a test and its branch. */
	if (is == ZYDIS_MNEMONIC_MOV)
		move(way, decoded);
	else if (is == ZYDIS_MNEMONIC_PUSH)
		push(way, decoded);
	else if (is == ZYDIS_MNEMONIC_POP)
		pop(way, decoded);
	else if (is == ZYDIS_MNEMONIC_CALL)
		forget_at_call(way);
	else if (is == ZYDIS_MNEMONIC_LEAVE)
		leave(way);
	else
		forget(way, decoded);
	way->tested &= is == ZYDIS_MNEMONIC_MOV || is == ZYDIS_MNEMONIC_LEA ||
		       is == ZYDIS_MNEMONIC_NOP;
}

/* Where it goes on; false: the way ends there. */
static bool go_on(struct way *way, const struct decoded *decoded, uint64_t *next)
{
	ZydisInstructionCategory is = decoded->info.meta.category;
	const ZydisDecodedOperand *to = &decoded->operand[0];

	*next = way->pc + decoded->info.length;
	if (is == ZYDIS_CATEGORY_RET || decoded->info.mnemonic == ZYDIS_MNEMONIC_UD2 ||
	    decoded->info.mnemonic == ZYDIS_MNEMONIC_HLT ||
	    decoded->info.mnemonic == ZYDIS_MNEMONIC_INT3)
		return false;
	if (is == ZYDIS_CATEGORY_UNCOND_BR ||
	    (way->tested && decoded->info.mnemonic == ZYDIS_MNEMONIC_JNZ)) {
		if (to->type != ZYDIS_OPERAND_TYPE_IMMEDIATE)
			return false;
		*next += (uint64_t)to->imm.value.s;
	}
	return true;
}

/* Is the result in a register in which a variable is? */
static void look_at_registers(struct way *way)
{
	for (unsigned i = 0; i < REG_NONE && !way->typed; i++)
		if (way->reg[i] == RESULT_ITSELF)
			way->typed = ask(way, (struct result_place){
				.in = RESULT_IN_REGISTER, .number = dwarf_numbers[i] });
}

static enum result_end typed_end(const struct way *way)
{
	return way->behind ? RESULT_TYPED_HEAD : RESULT_TYPED;
}

static enum result_end end_of(const struct way *way, const struct decoded *decoded)
{
	uint32_t returned = decoded->info.meta.category == ZYDIS_CATEGORY_RET ? way->reg[REG_AX] :
										RESULT_NONE;

	if (returned == BEHIND)
		return RESULT_LOST;
	return way->typed ? typed_end(way) :
	       returned == RESULT_ITSELF ? RESULT_RETURNED : RESULT_LOST;
}

enum result_end x86_64_result_follow(const struct result_flow *flow, uint32_t *ret)
{
	struct way way = { .flow = flow, .pc = flow->pc, .reg[REG_AX] = RESULT_ITSELF,
			   .sp = flow->sp, .fp = flow->fp, .sp_known = flow->sp_known,
			   .fp_known = flow->fp_known };
	struct decoded decoded;
	ZydisDecoder decoder;

	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	for (unsigned i = 0; i < STEPS; i++) {
		uint64_t at = way.pc - flow->start, next;

		if (at >= flow->len ||
		    !ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, flow->code + at, flow->len - at,
							 &decoded.info, decoded.operand)))
			break;
		look_at_registers(&way);
		*ret = way.typed;
		if (!go_on(&way, &decoded, &next))
			return end_of(&way, &decoded);
		step(&way, &decoded);
		way.pc = next;
	}
	*ret = way.typed;
	return way.typed ? typed_end(&way) : RESULT_LOST;
}
