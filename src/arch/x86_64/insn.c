/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Decoding x86-64 instructions with Zydis. */

#include "arch/x86_64/insn.h"

#include <Zydis/Zydis.h>

#include <stdio.h>

#include "arch/arch.h"
#include "arch/x86_64/x86_64.h"

struct decoded {
	ZydisDecodedInstruction info;
	ZydisDecodedOperand operand[ZYDIS_MAX_OPERAND_COUNT];
};

static bool decode(const uint8_t *code, size_t len, struct decoded *ret)
{
	ZydisDecoder decoder;

	return ZYAN_SUCCESS(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64,
					     ZYDIS_STACK_WIDTH_64)) &&
	       ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code, len, &ret->info, ret->operand));
}

static bool has_prefix(const ZydisDecodedInstruction *info, uint8_t prefix)
{
	for (unsigned i = 0; i < info->raw.prefix_count; i++)
		if (info->raw.prefixes[i].value == prefix)
			return true;
	return false;
}

/* Returns the memory operand that is relative to RIP or EIP, or NULL. */
static const ZydisDecodedOperand *rip_operand(const struct decoded *decoded)
{
	for (unsigned i = 0; i < decoded->info.operand_count; i++) {
		const ZydisDecodedOperand *operand = &decoded->operand[i];

		if (operand->type == ZYDIS_OPERAND_TYPE_MEMORY &&
		    (operand->mem.base == ZYDIS_REGISTER_RIP ||
		     operand->mem.base == ZYDIS_REGISTER_EIP))
			return operand;
	}
	return NULL;
}

static bool operand_uses_sp(const ZydisDecodedOperand *operand)
{
	ZydisRegister reg = ZYDIS_REGISTER_NONE;

	if (operand->type == ZYDIS_OPERAND_TYPE_MEMORY)
		reg = operand->mem.base;
	else if (operand->type == ZYDIS_OPERAND_TYPE_REGISTER)
		reg = operand->reg.value;
	return reg == ZYDIS_REGISTER_RSP || reg == ZYDIS_REGISTER_ESP;
}

static void fixed(struct insn *insn, const char *why)
{
	insn->kind = INSN_FIXED;
	insn->why = why;
}

static void classify_relative(const ZydisDecodedInstruction *info, uint64_t pc, struct insn *insn)
{
	insn->target = pc + info->length + (uint64_t)info->raw.imm[0].value.s;
	/* Intel ignores an operand size prefix here, AMD cuts the target to 16 bits. */
	if (has_prefix(info, 0x66) && !info->raw.rex.W)
		fixed(insn, "16-bit branch");
	else if (info->meta.category == ZYDIS_CATEGORY_CALL)
		insn->kind = INSN_CALL;
	else if (info->meta.category == ZYDIS_CATEGORY_UNCOND_BR)
		insn->kind = INSN_JUMP;
	else if (info->mnemonic == ZYDIS_MNEMONIC_XBEGIN)
		fixed(insn, "relative to its place");
	else if (info->opcode >= 0xe0 && info->opcode <= 0xe3)
		insn->kind = INSN_LOOP;
	else
		insn->kind = INSN_JCC;
	insn->condition = info->opcode & 0xf;
	insn->ends = insn->kind == INSN_JUMP;
}

static void classify_indirect(const struct decoded *decoded, struct insn *insn)
{
	const ZydisDecodedInstruction *info = &decoded->info;

	if (info->meta.branch_type == ZYDIS_BRANCH_TYPE_FAR ||
	    info->mnemonic == ZYDIS_MNEMONIC_IRETQ) {
		fixed(insn, "far branch");
	} else if (info->meta.category == ZYDIS_CATEGORY_CALL) {
		insn->kind = INSN_CALL_INDIRECT;
		if (operand_uses_sp(&decoded->operand[0]))
			fixed(insn, "call through the stack pointer");
	}
	insn->ends = info->meta.category != ZYDIS_CATEGORY_CALL;
}

static void classify(const struct decoded *decoded, uint64_t pc, struct insn *insn)
{
	const ZydisDecodedInstruction *info = &decoded->info;

	switch (info->meta.category) {
	case ZYDIS_CATEGORY_CALL:
	case ZYDIS_CATEGORY_COND_BR:
	case ZYDIS_CATEGORY_UNCOND_BR:
	case ZYDIS_CATEGORY_RET:
		if (info->raw.imm[0].is_relative)
			classify_relative(info, pc, insn);
		else
			classify_indirect(decoded, insn);
		return;
	case ZYDIS_CATEGORY_INTERRUPT:
	case ZYDIS_CATEGORY_SYSRET:
		fixed(insn, "trap");
		return;
	default:
		break;
	}
	switch (info->mnemonic) {
	case ZYDIS_MNEMONIC_UD0:
	case ZYDIS_MNEMONIC_UD1:
	case ZYDIS_MNEMONIC_UD2:
	case ZYDIS_MNEMONIC_HLT:
		/* A handler of the signal may look at the PC. */
		fixed(insn, "trap");
		break;
	default:
		break;
	}
}

bool insn_decode(const uint8_t *code, size_t len, uint64_t pc, struct insn *ret)
{
	const ZydisDecodedOperand *operand;
	struct decoded decoded;
	struct insn insn = { .kind = INSN_PLAIN };

	if (!decode(code, len, &decoded))
		return false;
	insn.len = decoded.info.length;
	if (decoded.info.attributes & ZYDIS_ATTRIB_HAS_MODRM)
		insn.modrm = decoded.info.raw.modrm.offset;
	insn.padding = decoded.info.mnemonic == ZYDIS_MNEMONIC_NOP ||
		       decoded.info.mnemonic == ZYDIS_MNEMONIC_INT3;
	classify(&decoded, pc, &insn);
	operand = rip_operand(&decoded);
	if (operand) {
		insn.disp = decoded.info.raw.disp.offset;
		insn.target = pc + insn.len + (uint64_t)operand->mem.disp.value;
		if (operand->mem.base == ZYDIS_REGISTER_EIP)
			fixed(&insn, "32-bit address relative to its place");
		else if (insn.kind == INSN_PLAIN)
			insn.kind = INSN_RIP;
	}
	*ret = insn;
	return true;
}

/* The first instruction of a function */

static ZydisRegister whole(ZydisRegister reg)
{
	return ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
}

/* Does the instruction read any part of this register? */
static bool reads(const struct decoded *decoded, ZydisRegister reg)
{
	for (unsigned i = 0; i < decoded->info.operand_count; i++) {
		const ZydisDecodedOperand *operand = &decoded->operand[i];

		if (operand->type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    (operand->actions & ZYDIS_OPERAND_ACTION_MASK_READ) &&
		    whole(operand->reg.value) == reg)
			return true;
		if (operand->type == ZYDIS_OPERAND_TYPE_MEMORY &&
		    (whole(operand->mem.base) == reg || whole(operand->mem.index) == reg))
			return true;
	}
	return false;
}

/* Is it `xor eax, eax`, which is encoded as if it read the register? */
static bool is_zero_idiom(const struct decoded *decoded)
{
	return decoded->info.mnemonic == ZYDIS_MNEMONIC_XOR &&
	       decoded->operand[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
	       decoded->operand[1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
	       decoded->operand[0].reg.value == decoded->operand[1].reg.value;
}

/*
 * May a function change this register before it has read it? Not if its caller needs it, nor if it
 * is one of the first `args` arguments.
 */
static bool is_free_to_change(ZydisRegister reg, unsigned args)
{
	static const ZydisRegister order[] = {
		ZYDIS_REGISTER_RDI, ZYDIS_REGISTER_RSI, ZYDIS_REGISTER_RDX,
		ZYDIS_REGISTER_RCX, ZYDIS_REGISTER_R8, ZYDIS_REGISTER_R9,
		/* the rest are never arguments */
		ZYDIS_REGISTER_RAX, ZYDIS_REGISTER_R10, ZYDIS_REGISTER_R11,
	};

	for (unsigned i = args; i < ARRAY_SIZE(order); i++)
		if (order[i] == reg)
			return true;
	return false;
}

/* Does the instruction have the same effect if it runs twice, and does it keep the arguments? */
static bool may_be_repeated(const struct decoded *decoded, unsigned args)
{
	for (unsigned i = 0; i < decoded->info.operand_count; i++) {
		const ZydisDecodedOperand *operand = &decoded->operand[i];
		ZydisRegister reg;

		if (!(operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
			continue;
		if (operand->type != ZYDIS_OPERAND_TYPE_REGISTER)
			return false;
		if (ZydisRegisterGetClass(operand->reg.value) == ZYDIS_REGCLASS_FLAGS)
			continue;
		reg = whole(operand->reg.value);
		if (!is_free_to_change(reg, args) ||
		    (reads(decoded, reg) && !is_zero_idiom(decoded)))
			return false;
	}
	return true;
}

/*
 * Returns the bytes that the instruction takes from SP, if it does nothing else with registers;
 * else 0.
 */
static uint8_t takes_from_sp(const struct decoded *decoded)
{
	const ZydisDecodedInstruction *info = &decoded->info;
	const ZydisDecodedOperand *first = &decoded->operand[0], *second = &decoded->operand[1];
	int64_t bytes = 0;

	if (info->mnemonic == ZYDIS_MNEMONIC_PUSH)
		return first->type == ZYDIS_OPERAND_TYPE_MEMORY ||
		       info->operand_width != 64 ? 0 : 8;
	if (first->type != ZYDIS_OPERAND_TYPE_REGISTER || first->reg.value != ZYDIS_REGISTER_RSP)
		return 0;
	if (info->mnemonic == ZYDIS_MNEMONIC_SUB && second->type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
		bytes = second->imm.value.s;
	else if (info->mnemonic == ZYDIS_MNEMONIC_LEA && second->mem.base == ZYDIS_REGISTER_RSP &&
		 second->mem.index == ZYDIS_REGISTER_NONE)
		bytes = -second->mem.disp.value;
	return bytes > 0 && bytes <= ENTRY_SP_MAX && bytes % 8 == 0 ? (uint8_t)bytes : 0;
}

bool x86_64_insn_entry(const uint8_t *code, size_t len, unsigned args, struct entry_insn *ret)
{
	struct decoded decoded;
	uint8_t sp;

	if (!decode(code, len, &decoded))
		return false;
	sp = takes_from_sp(&decoded);
	switch (decoded.info.mnemonic) {
	case ZYDIS_MNEMONIC_ENDBR64:
	case ZYDIS_MNEMONIC_NOP:
		break;
	case ZYDIS_MNEMONIC_PUSH:
	case ZYDIS_MNEMONIC_SUB:
		if (!sp)
			return false;
		break;
	case ZYDIS_MNEMONIC_LEA:
	case ZYDIS_MNEMONIC_MOV:
	case ZYDIS_MNEMONIC_MOVZX:
	case ZYDIS_MNEMONIC_MOVSX:
	case ZYDIS_MNEMONIC_MOVSXD:
	case ZYDIS_MNEMONIC_XOR:
	case ZYDIS_MNEMONIC_TEST:
	case ZYDIS_MNEMONIC_CMP:
		if (!sp && !may_be_repeated(&decoded, args))
			return false;
		break;
	default:
		return false;
	}
	*ret = (struct entry_insn){ decoded.info.length, sp };
	return true;
}

/* Registers that a function changes */

/* The register's bit, if C may change it; else 0. */
static uint32_t set_bit(ZydisRegister reg)
{
	static const ZydisRegister of[NR_SET] = {
		[SET_RAX] = ZYDIS_REGISTER_RAX, [SET_RCX] = ZYDIS_REGISTER_RCX,
		[SET_RDX] = ZYDIS_REGISTER_RDX, [SET_RSI] = ZYDIS_REGISTER_RSI,
		[SET_RDI] = ZYDIS_REGISTER_RDI, [SET_R8] = ZYDIS_REGISTER_R8,
		[SET_R9] = ZYDIS_REGISTER_R9, [SET_R10] = ZYDIS_REGISTER_R10,
		[SET_R11] = ZYDIS_REGISTER_R11,
	};

	for (unsigned i = 0; i < NR_SET; i++)
		if (of[i] == whole(reg))
			return 1u << i;
	return 0;
}

/* Does nothing, whatever its operands say: `xchg ax, ax` is padding. */
static bool does_nothing(const struct decoded *decoded)
{
	return decoded->info.mnemonic == ZYDIS_MNEMONIC_NOP ||
	       (decoded->info.mnemonic == ZYDIS_MNEMONIC_XCHG &&
		decoded->operand[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		decoded->operand[1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		decoded->operand[0].reg.value == decoded->operand[1].reg.value);
}

bool x86_64_insn_changed_registers(const uint8_t *code, size_t len, uint32_t *changed,
				   uint32_t *popped)
{
	struct decoded decoded;

	for (size_t off = 0; off < len; off += decoded.info.length) {
		if (!decode(code + off, len - off, &decoded))
			return false;
		for (unsigned i = 0; i < decoded.info.operand_count && !does_nothing(&decoded); i++) {
			const ZydisDecodedOperand *operand = &decoded.operand[i];

			if (operand->type != ZYDIS_OPERAND_TYPE_REGISTER ||
			    !(operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
				continue;
			*changed |= set_bit(operand->reg.value);
			if (decoded.info.mnemonic == ZYDIS_MNEMONIC_POP)
				*popped |= set_bit(operand->reg.value);
		}
	}
	return true;
}

/* `mov eax, imm32` of code that is not position-independent; other numbers are seldom addresses. */
static bool has_address(const struct decoded *decoded, uint64_t *ret)
{
	const ZydisDecodedOperand *operand = &decoded->operand[1];

	if (decoded->info.mnemonic != ZYDIS_MNEMONIC_MOV ||
	    operand->type != ZYDIS_OPERAND_TYPE_IMMEDIATE || decoded->info.raw.imm[0].size < 32)
		return false;
	*ret = operand->imm.value.u;
	return true;
}

bool x86_64_insn_reference(const uint8_t *code, size_t len, uint64_t start, size_t *at,
			   struct code_reference *ret)
{
	struct decoded decoded;

	while (*at < len && decode(code + *at, len - *at, &decoded)) {
		const ZydisDecodedOperand *operand = rip_operand(&decoded);

		*at += decoded.info.length;
		ret->word = operand && decoded.info.mnemonic != ZYDIS_MNEMONIC_LEA;
		if (operand)
			ret->target = start + *at + (uint64_t)operand->mem.disp.value;
		if (operand || has_address(&decoded, &ret->target))
			return true;
	}
	return false;
}

bool x86_64_insn_ends_in_call(const uint8_t *code, size_t len)
{
	struct decoded decoded;

	for (size_t insn = 1; insn <= MIN(len, (size_t)X86_64_CALL_MOST); insn++)
		if (decode(code + len - insn, insn, &decoded) && decoded.info.length == insn &&
		    decoded.info.meta.category == ZYDIS_CATEGORY_CALL)
			return true;
	return false;
}

size_t x86_64_insn_text(const uint8_t *code, size_t len, uint64_t at, char *text, size_t room)
{
	struct decoded decoded;
	ZydisFormatter formatter;

	if (!decode(code, len, &decoded) ||
	    ZYAN_FAILED(ZydisFormatterInit(&formatter, ZYDIS_FORMATTER_STYLE_INTEL)))
		return 0;
	/* If the text does not fit, it is only the mnemonic, cut if necessary. */
	if (ZYAN_FAILED(ZydisFormatterFormatInstruction(
		    &formatter, &decoded.info, decoded.operand,
		    decoded.info.operand_count_visible, text, room, at, NULL)))
		snprintf(text, room, "%s", ZydisMnemonicGetString(decoded.info.mnemonic));
	return decoded.info.length;
}
