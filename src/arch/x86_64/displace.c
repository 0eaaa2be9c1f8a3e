/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Displacing a prologue: the instructions under a patch, made to run elsewhere.
 *
 * Two passes. The first decodes whole instructions until min_len bytes are covered and refuses what
 * cannot be moved. The second writes the copy. Everything that depends on the place is rewritten so
 * that registers, flags and memory come out as they would have:
 *
 *	operand [rip+d]		the same instruction, d re-based; too far for 32 bits: ERR_RANGE
 *	jmp, jcc (any size)	the near form; if rel32 does not reach, through a 64-bit word
 *	loop, jrcxz (rel8)	the same instruction, hopping to a jump behind it
 *	call			push the ORIGINAL return address, then jump
 *
 * Branches among the displaced instructions. If a branch goes to a displaced instruction, the copy
 * of it goes to the copy of that instruction. This includes the first one: a jump back to the entry
 * is a loop (or a tail call turned into one), not a new call, and by the original entry it would
 * run into the probe. A call of the function itself is a new call, and goes to the original. A
 * branch into the middle of an instruction still goes to the original if the patch does not touch
 * those bytes (the old `je 1f; lock; 1: cmpxchg`), else it is refused.
 *
 * Calls. A `call` in the copy would leave a return address that no CFI describes: an exception
 * thrown below it would end in terminate(), and every traceback would have to know of copies. With
 * the original address on the stack, the callee sees what it would have seen (so do
 * __builtin_return_address and the call-pop idiom) and returns straight into the function. So a
 * call is always the last instruction displaced, and one that would return into patched bytes is
 * refused. The price is that the return does not match the hardware's shadow stack; mdbg does not
 * attach to a process that has one (tracee/refuse.c).
 *
 * The end of the function. If a `ret` or `jmp` comes before min_len, the bytes behind it may be in
 * use: as the target of a branch, or by the next function. Of these bytes only nop and int3 may be
 * patched, and only up to len, where the function ends as far as the caller knows. They are
 * consumed, but not copied.
 *
 * Steps. A call pushes its return address with two instructions, and between them the stack holds
 * half an address. Each entry of insn[] is one step of the original; a PC between two entries
 * belongs to an unfinished step and cannot be moved to the original.
 */

#include "arch/x86_64/x86_64.h"

#include <inttypes.h>
#include <string.h>

#include "arch/x86_64/code.h"
#include "arch/x86_64/insn.h"

struct work {
	const uint8_t *code;
	size_t len;
	uint64_t from;
	size_t min_len;
	struct insn insn[DISPLACED_INSNS];
	uint8_t off[DISPLACED_INSNS];		/* offset of insn[] in code */
	size_t nr;
	size_t consumed;
	struct code out;
	struct displaced displaced;
	/*
	 * Near branches within the copy: offset of their rel32, and the index of the instruction
	 * that they go to.
	 */
	struct {
		uint8_t at;
		uint8_t insn;
	} fixup[DISPLACED_INSNS];
	size_t nr_fixups;
};

static struct err *refuse(const struct work *work, size_t off, const char *why)
{
	char text[96];

	if (!x86_64_insn_text(work->code + off, work->len - off, work->from + off, text,
			      sizeof(text)))
		strcpy(text, "unknown instruction");
	return err_create(ERR_UNSUPPORTED, "0x%" PRIx64 ": '%s' cannot be moved: %s",
			  work->from + off, text, why);
}

/* Returns the index of the displaced instruction that starts at address target, or nr. */
static size_t find_insn(const struct work *work, uint64_t target)
{
	size_t i = 0;

	while (i < work->nr && work->from + work->off[i] != target)
		i++;
	return i;
}

static bool is_patched(const struct work *work, uint64_t address)
{
	return address > work->from && address < work->from + work->min_len;
}

static struct err *check_insn(const struct work *work, size_t i)
{
	const struct insn *insn = &work->insn[i];
	size_t end = work->off[i] + insn->len;

	switch (insn->kind) {
	case INSN_FIXED:
		return refuse(work, work->off[i], insn->why);
	case INSN_CALL:
		if (is_patched(work, insn->target))
			return refuse(work, work->off[i], "it calls into the patch");
		/* fall through */
	case INSN_CALL_INDIRECT:
		if (end < work->min_len)
			return refuse(work, work->off[i], "it returns into the patch");
		return NULL;
	case INSN_JUMP:
	case INSN_JCC:
	case INSN_LOOP:
		if (is_patched(work, insn->target) && find_insn(work, insn->target) == work->nr)
			return refuse(work, work->off[i], "it goes into the middle of the patch");
		return NULL;
	case INSN_PLAIN:
	case INSN_RIP:
		break;
	}
	return NULL;
}

/* Decode the instruction at consumed. */
static struct err *decode_next(const struct work *work, struct insn *ret)
{
	size_t off = work->consumed;

	if (off >= work->len)
		return err_create(ERR_UNSUPPORTED,
				  "0x%" PRIx64 ": too short for the patch: %zu of %zu bytes",
				  work->from, work->len, work->min_len);
	if (!insn_decode(work->code + off, work->len - off, work->from + off, ret))
		return err_create(ERR_UNSUPPORTED,
				  "0x%" PRIx64 ": not an instruction that mdbg knows",
				  work->from + off);
	return NULL;
}

/*
 * The last instruction has ended the code before the end of the patch. Bytes behind it that never
 * run may be patched, too, if they belong to the function.
 */
static struct err *take_padding(struct work *work)
{
	while (work->consumed < work->min_len) {
		struct insn insn;
		struct err *err = decode_next(work, &insn);

		if (err)
			return err;
		if (!insn.padding)
			return refuse(work, work->off[work->nr - 1],
				      "the function ends there, before the patch does");
		work->consumed += insn.len;
	}
	return NULL;
}

/* First pass: decode until min_len bytes are covered. */
static struct err *decode_all(struct work *work)
{
	while (work->consumed < work->min_len) {
		struct insn *insn = &work->insn[work->nr];
		size_t off = work->consumed;
		struct err *err;

		if (work->nr == DISPLACED_INSNS)
			return refuse(work, off, "too many instructions under the patch");
		err = decode_next(work, insn);
		if (err)
			return err;
		work->off[work->nr++] = off;
		work->consumed += insn->len;
		if (insn->ends)
			err = take_padding(work);
		if (err)
			return err;
	}
	for (size_t i = 0; i < work->nr; i++) {
		struct err *err = check_insn(work, i);

		if (err)
			return err;
	}
	return NULL;
}

/* Copy an instruction; its operand relative to RIP is adjusted to the new place. */
static struct err *put_copy(struct work *work, size_t i)
{
	const struct insn *insn = &work->insn[i];
	uint64_t end = code_pc(&work->out) + insn->len;
	size_t start = work->out.len;

	code_put(&work->out, work->code + work->off[i], insn->len);
	if (work->out.full || !insn->disp)
		return NULL;
	if (!code_reaches(end, insn->target))
		return err_recode(refuse(work, work->off[i], "too far from what it points to"),
				  ERR_RANGE);
	for (unsigned b = 0; b < 4; b++)
		work->out.bytes[start + insn->disp + b] = (insn->target - end) >> (8 * b);
	return NULL;
}

/* Does a rel32 that ends at end reach target, in the copy or outside? */
static bool reaches(const struct work *work, uint64_t end, uint64_t target)
{
	return find_insn(work, target) < work->nr || code_reaches(end, target);
}

/*
 * Write the rel32 of a branch that reaches; one within the copy is filled in when the layout is
 * known.
 */
static void put_rel32(struct work *work, uint64_t target)
{
	size_t to = find_insn(work, target);

	if (to < work->nr) {
		work->fixup[work->nr_fixups].at = work->out.len;
		work->fixup[work->nr_fixups++].insn = to;
		target = code_pc(&work->out) + 4;
	}
	code_u32(&work->out, target - (code_pc(&work->out) + 4));
}

static void put_jump(struct work *work, uint64_t target)
{
	if (reaches(work, code_pc(&work->out) + JUMP_NEAR_LEN, target)) {
		code_u8(&work->out, 0xe9);
		put_rel32(work, target);
	} else {
		code_jump(&work->out, target);
	}
}

/* Returns the number of bytes that put_jump takes at pc. */
static uint8_t jump_len(const struct work *work, uint64_t pc, uint64_t target)
{
	return reaches(work, pc + JUMP_NEAR_LEN, target) ? JUMP_NEAR_LEN : JUMP_FAR_LEN;
}

/* Write the near form if it reaches, else the opposite condition, which hops over a jump. */
static void put_jcc(struct work *work, const struct insn *insn)
{
	struct code *out = &work->out;

	if (reaches(work, code_pc(out) + 6, insn->target)) {
		code_op(out, 0x0f, 0x80 | insn->condition);
		put_rel32(work, insn->target);
	} else {
		code_op(out, 0x70 | (insn->condition ^ 1), JUMP_FAR_LEN);
		code_jump(out, insn->target);
	}
}

/*
 * These branches have only a rel8, so they hop over a jump that hops over the jump to the target.
 */
static void put_loop(struct work *work, size_t i)
{
	const struct insn *insn = &work->insn[i];
	struct code *out = &work->out;

	code_put(out, work->code + work->off[i], insn->len - 1);
	code_u8(out, 2);
	code_op(out, 0xeb, jump_len(work, code_pc(out) + 2, insn->target));
	put_jump(work, insn->target);
}

static struct err *put_call(struct work *work, size_t i)
{
	const struct insn *insn = &work->insn[i];
	struct err *err;
	size_t start;

	code_push(&work->out, work->from + work->off[i] + insn->len);
	if (insn->kind == INSN_CALL) {
		code_jump(&work->out, insn->target);
		return NULL;
	}
	start = work->out.len;
	err = put_copy(work, i);
	if (!err && !work->out.full)
		work->out.bytes[start + insn->modrm] ^= 0x30;	/* call (ff /2) to jmp (ff /4) */
	return err;
}

static struct err *put_insn(struct work *work, size_t i)
{
	switch (work->insn[i].kind) {
	case INSN_JUMP:
		put_jump(work, work->insn[i].target);
		return NULL;
	case INSN_JCC:
		put_jcc(work, &work->insn[i]);
		return NULL;
	case INSN_LOOP:
		put_loop(work, i);
		return NULL;
	case INSN_CALL:
	case INSN_CALL_INDIRECT:
		return put_call(work, i);
	case INSN_PLAIN:
	case INSN_RIP:
	case INSN_FIXED:
		break;
	}
	return put_copy(work, i);
}

static void fix_branches(struct work *work)
{
	for (size_t i = 0; i < work->nr_fixups; i++) {
		struct code field = { .bytes = work->out.bytes + work->fixup[i].at, .room = 4 };

		uint8_t to = work->displaced.insn[work->fixup[i].insn].to;

		code_u32(&field, to - (work->fixup[i].at + 4));
	}
}

/* Second pass: write the copy, then the jump back if its end can be reached. */
static struct err *write_all(struct work *work)
{
	const struct insn *last = &work->insn[work->nr - 1];

	for (size_t i = 0; i < work->nr; i++) {
		struct err *err;

		work->displaced.insn[i].from = work->off[i];
		work->displaced.insn[i].to = work->out.len;
		err = put_insn(work, i);
		if (err)
			return err;
	}
	work->displaced.insn[work->nr].from = work->consumed;
	work->displaced.insn[work->nr].to = work->out.len;
	if (!last->ends && last->kind != INSN_CALL && last->kind != INSN_CALL_INDIRECT)
		code_jump(&work->out, work->from + work->consumed);
	if (work->out.full)
		return refuse(work, 0, "the copy would be too long");
	fix_branches(work);
	return NULL;
}

struct err *x86_64_displace(const uint8_t *code, size_t len, uint64_t from, uint64_t to,
			    size_t min_len, struct displaced *ret)
{
	struct work work = {
		.code = code,
		.len = len,
		.from = from,
		.min_len = MAX(min_len, (size_t)1),
		.out = { .room = DISPLACED_MAX, .start = to },
	};
	struct err *err;

	work.out.bytes = work.displaced.code;
	err = decode_all(&work);
	if (!err)
		err = write_all(&work);
	if (err)
		return err;
	work.displaced.len = work.out.len;
	work.displaced.consumed = work.consumed;
	work.displaced.nr = work.nr;
	*ret = work.displaced;
	return NULL;
}
