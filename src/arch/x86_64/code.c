/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writing x86-64 machine code. */

#include "arch/x86_64/code.h"

#include <string.h>

void code_put(struct code *code, const void *bytes, size_t len)
{
	if (code->full || len > code->room - code->len) {
		code->full = true;
		return;
	}
	memcpy(code->bytes + code->len, bytes, len);
	code->len += len;
}

void code_u8(struct code *code, uint8_t byte)
{
	code_put(code, &byte, sizeof(byte));
}

void code_u32(struct code *code, uint32_t value)
{
	for (int shift = 0; shift < 32; shift += 8)
		code_u8(code, value >> shift);
}

void code_u64(struct code *code, uint64_t value)
{
	code_u32(code, value);
	code_u32(code, value >> 32);
}

void code_jump(struct code *code, uint64_t target)
{
	if (code_reaches(code_pc(code) + JUMP_NEAR_LEN, target)) {
		code_u8(code, 0xe9);			/* jmp rel32 */
		code_u32(code, target - (code_pc(code) + 4));
	} else {
		code_op(code, 0xff, 0x25, 0, 0, 0, 0);	/* jmp [rip+0] */
		code_u64(code, target);
	}
}

size_t code_call(struct code *code, uint64_t target)
{
	size_t disp;

	if (code_reaches(code_pc(code) + 5, target)) {
		code_u8(code, 0xe8);			/* call rel32 */
		code_u32(code, target - (code_pc(code) + 4));
		return 0;
	}
	code_op(code, 0xff, 0x15);			/* call [rip+disp32] */
	disp = code->len;
	code_u32(code, 0);
	return disp;
}

void code_call_word(struct code *code, size_t disp, uint64_t target)
{
	struct code field = { .bytes = code->bytes + disp, .room = 4 };

	if (!disp)
		return;
	code_u32(&field, code->len - (disp + 4));
	code_u64(code, target);
}

void code_add_sp(struct code *code, int add)
{
	if (add == (int8_t)add) {
		code_op(code, 0x48, 0x8d, 0x64, 0x24, (uint8_t)add);	/* lea rsp, [rsp+add] */
		return;
	}
	code_op(code, 0x48, 0x8d, 0xa4, 0x24);
	code_u32(code, (uint32_t)add);
}

void code_push(struct code *code, uint64_t value)
{
	code_u8(code, 0x68);				/* push imm32, sign-extended */
	code_u32(code, value);
	code_op(code, 0xc7, 0x44, 0x24, 0x04);		/* mov dword [rsp+4], imm32 */
	code_u32(code, value >> 32);
}

#define SPREAD	0x9e3779b1u	/* odd, and of no pattern: SPs of threads differ in few bits */

/* The upper bits of the product choose the cache line. */
void code_count(struct code *code, uint64_t counts, bool enter)
{
	code_op(code, 0x51, 0x69, 0xcc);			/* push rcx; imul ecx, esp, imm32 */
	code_u32(code, SPREAD);
	code_op(code, 0xc1, 0xe9, 20, 0x80, 0xe1, 0xc0);	/* shr ecx, 20; and cl, 0xc0 */
	code_op(code, 0x48, 0x03, 0x0d);			/* add rcx, [rip+counts] */
	code_u32(code, (uint32_t)(counts - (code_pc(code) + 4)));
	code_op(code, 0xf0, 0x48, 0xff, enter ? 0x01 : 0x09);	/* lock inc|dec qword [rcx] */
	code_u8(code, 0x59);					/* pop rcx */
}

void code_forget(struct code *code)
{
	code_op(code, 0x48, 0xc7, 0x44, 0x24, 0xf8, 0, 0, 0, 0);	/* mov qword [rsp-8], 0 */
}
