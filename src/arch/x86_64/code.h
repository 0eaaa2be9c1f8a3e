/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Writing x86-64 machine code into an array, for a place that is known. What does not fit sets
 * `full` and is left out, so that a writer checks once, at the end.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JUMP_NEAR_LEN	5	/* jmp rel32 */
#define JUMP_FAR_LEN	14	/* jmp [rip+0]; .quad */

struct code {
	uint8_t *bytes;
	size_t len;
	size_t room;
	uint64_t start;		/* address at which bytes[0] will lie */
	bool full;
};

/* Where the next byte will lie. */
static inline uint64_t code_pc(const struct code *code)
{
	return code->start + code->len;
}

void code_put(struct code *code, const void *bytes, size_t len);
void code_u8(struct code *code, uint8_t byte);
void code_u32(struct code *code, uint32_t value);
void code_u64(struct code *code, uint64_t value);
#define code_op(code, ...) \
	code_put(code, (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }))

/* Is the distance from the end of an instruction to target one that 32 bits hold? */
static inline bool code_reaches(uint64_t end, uint64_t target)
{
	int64_t distance = (int64_t)(target - end);

	return distance == (int32_t)distance;
}

/*
 * A jump that touches neither registers nor flags: jmp rel32 where that reaches, else through a
 * word behind it.
 */
void code_jump(struct code *code, uint64_t target);
/*
 * A call: direct where rel32 reaches, else through a word that code_call_word puts behind the code.
 * Returns what that wants to know, 0: there is no word.
 */
size_t code_call(struct code *code, uint64_t target);
void code_call_word(struct code *code, size_t disp, uint64_t target);
/* Add to SP; the flags are kept. */
void code_add_sp(struct code *code, int8_t add);
/* Push a 64-bit constant; registers and flags are kept. */
void code_push(struct code *code, uint64_t value);
