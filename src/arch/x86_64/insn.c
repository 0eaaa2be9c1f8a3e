/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Decoding x86-64 instructions with Zydis. */

#include "arch/x86_64/insn.h"

#include <Zydis/Zydis.h>

#include <stdio.h>

#include "base/compiler.h"

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

/* The operand in memory that is relative to RIP or EIP, or NULL. */
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
		/* Who handles the signal looks at the PC. */
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

size_t x86_64_insn_len(const uint8_t *code, size_t len)
{
	struct decoded decoded;

	return decode(code, len, &decoded) ? decoded.info.length : 0;
}

size_t x86_64_insn_text(const uint8_t *code, size_t len, uint64_t at, char *text, size_t room)
{
	struct decoded decoded;
	ZydisFormatter formatter;

	if (!decode(code, len, &decoded) ||
	    ZYAN_FAILED(ZydisFormatterInit(&formatter, ZYDIS_FORMATTER_STYLE_INTEL)))
		return 0;
	/* What does not fit: the mnemonic alone, cut if need be. */
	if (ZYAN_FAILED(ZydisFormatterFormatInstruction(
		    &formatter, &decoded.info, decoded.operand,
		    decoded.info.operand_count_visible, text, room, at, NULL)))
		snprintf(text, room, "%s", ZydisMnemonicGetString(decoded.info.mnemonic));
	return decoded.info.length;
}
