/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Writes x86-64 machine code into an array, for a place that is known. If something does not fit,
 * it is left out and `full` is set, so that a writer checks once, at the end.
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

/* Returns the address at which the next byte will lie. */
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

/* Does the distance from the end of an instruction to target fit into 32 bits? */
static inline bool code_reaches(uint64_t end, uint64_t target)
{
	int64_t distance = (int64_t)(target - end);

	return distance == (int32_t)distance;
}

/*
 * Write a jump that touches neither registers nor flags: jmp rel32 if that reaches, else a jump
 * through a word behind it.
 */
void code_jump(struct code *code, uint64_t target);
/*
 * Write a call: a direct one if rel32 reaches, else one through a word that code_call_word puts
 * behind the code. Returns what must be passed to code_call_word as disp; 0: no word is needed.
 */
size_t code_call(struct code *code, uint64_t target);
void code_call_word(struct code *code, size_t disp, uint64_t target);
/* Add to SP without a change to the flags. */
void code_add_sp(struct code *code, int add);
/*
 * Add 1 to, or take it from, a count of calls (struct thunk_spec): counts is the address of the word
 * that has its address. Flags are changed.
 */
void code_count(struct code *code, uint64_t counts, bool enter);
/* The word that was popped last, or the last return address, is wiped from below SP. */
void code_forget(struct code *code);
/* Push a 64-bit constant without a change to registers and flags. */
void code_push(struct code *code, uint64_t value);
