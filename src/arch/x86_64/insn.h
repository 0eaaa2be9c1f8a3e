/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One decoded x86-64 instruction, with the facts that are needed to move it to another place. This
 * is the only user of Zydis' decoder.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct code_reference;
struct entry_insn;

enum insn_kind {
	INSN_PLAIN,		/* runs anywhere */
	INSN_RIP,		/* as INSN_PLAIN, except for a memory operand relative to RIP */
	INSN_JUMP,		/* jmp rel */
	INSN_JCC,		/* jcc rel */
	INSN_LOOP,		/* loop, loope, loopne, jecxz, jrcxz: rel8 only */
	INSN_CALL,		/* call rel */
	INSN_CALL_INDIRECT,	/* call reg or memory, RIP-relative or not */
	INSN_FIXED,		/* must stay where it is: `why` says why */
};

struct insn {
	enum insn_kind kind;
	uint8_t len;
	/* offset of the RIP-relative displacement in the instruction; 0: none */
	uint8_t disp;
	uint8_t modrm;		/* offset of the ModRM byte; 0: none */
	uint8_t condition;	/* INSN_JCC: condition of the opcode, 0 to 15 */
	bool ends;		/* it never continues to the next instruction */
	bool padding;		/* nop or int3, of any length */
	uint64_t target;	/* of a relative branch or a RIP-relative operand */
	const char *why;
};

/*
 * Decode the instruction at code, which lies at address pc. False: it is no instruction, or not all
 * of its bytes are there.
 */
bool insn_decode(const uint8_t *code, size_t len, uint64_t pc, struct insn *ret);

/* Members of struct arch. */
bool x86_64_insn_entry(const uint8_t *code, size_t len, unsigned args, struct entry_insn *ret);
bool x86_64_insn_changed_registers(const uint8_t *code, size_t len, uint32_t *changed,
				   uint32_t *popped);
bool x86_64_insn_reference(const uint8_t *code, size_t len, uint64_t start, size_t *at,
			   struct code_reference *ret);
/* rex, opcode, ModRM, SIB, displacement of 32 bits */
#define X86_64_CALL_MOST	8
bool x86_64_insn_ends_in_call(const uint8_t *code, size_t len);
size_t x86_64_insn_text(const uint8_t *code, size_t len, uint64_t at, char *text, size_t room);
