/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Thunks of x86_64. A thread comes here by the jump at a function's entry, or behind its first
 * instruction. In the second case the thunk begins with `lea rsp, [rsp+UNDO]` if that instruction
 * has taken bytes from SP. So the thread has the function's own registers and stack, with SP at the
 * return address.
 *
 *	THUNK_NEW		THUNK_ENTER			THUNK_FREE
 *
 *	lay			lay				save
 *	call DISPLACED		frame				mov rdi, ARGUMENT
 *	frame			call ENTER(rsp, PROBE)		lea rsi, [rsp+72]
 *	call LEAVE(rsp, PROBE)	test rax, rax			mov rdx, PROBE
 *	unframe			unframe; lea rsp, [rsp+8]	call RELEASE
 *	lea rsp, [rsp+48]	jnz 1f				test rax, rax
 *	ret			[mov rsi|rdx, NOTHROW]		jnz 3f
 *				call DISPLACED|NOTHROW_CALL  4:	restore
 *				frame				jmp DISPLACED
 *				call LEAVE(rsp, PROBE)	     3:	mov rdi, [rsp+ARGUMENT]
 *				unframe				lea, mov: rsi, rdx as above
 *								mov rcx, rbp; mov r8, rbx; mov r9, rax
 *								call UNKNOWN
 *								jmp 4b
 *				lea rsp, [rsp+48]	[lea rsp, [rsp+24]; pop rdi; pop rsi; pop rdx]
 *				[test rax, rax; jz 2f]
 *				ret
 *			     1:	lea rsp, [rsp+40]
 *			     2:	jmp DISPLACED
 *
 *	lay	push rdx; push rsi; push rdi; push 0; push 0	three arguments, two words of the agent
 *		wide: before that a word of padding, push r9; push r8; push rcx
 *	save	push rax, rcx, rdx, rsi, rdi, r8 to r11		the registers that C may change
 *	frame	push a word of padding; save; push rbx; push rbp
 *	unframe, restore: the other way round; SP is then at the padding, or as before save
 *
 * THUNK_NEW and THUNK_FREE lay the same words, but write only those that somebody needs: in
 * THUNK_NEW the function's arguments, rax, rbx and rbp, in THUNK_FREE the arguments, and in both
 * the registers that the function may leave as they are. No caller expects to find the others
 * unchanged, which the function changes itself. They are zeroed: if the agent's values stayed in
 * them, the function would wait for these values where an instruction writes a part of a register,
 * or is said to read what it only writes. (jemalloc's malloc took 35 cycles more for that.)
 *
 * This is the layout of the frame that the agent gets. SP is 8 modulo 16 at entry. It is as the ABI
 * demands for the call of the function, five words below, and for the calls of the agent, which are
 * twelve words further down, or in THUNK_FREE nine words below SP at entry. The agent's C uses only
 * general registers, and keeps rbx and rbp: these two are pushed only for it to read.
 *
 * The nothrow form is another function: it gets its argument in a register that the throwing one
 * may not touch. So all three argument registers are restored after it. If it returned a block, the
 * caller may rely on those that the throwing form keeps; if not, they are the arguments of the
 * throwing form.
 *
 * Flags are not kept across a call, since no caller looks at the flags that a callee leaves. But no
 * instruction of unframe touches them, so the test of ENTER's result still holds behind it.
 *
 * If the calls are counted (arch.h), that is done first and last, before `ret` and the jumps to
 * DISPLACED.
 *
 * After each call of the agent, its return address is wiped from the stack (put_forget).
 *
 * Every `ret` returns from the latest call: the thunk jumps to DISPLACED only when nothing of ours
 * is on the stack. So this works with a shadow stack, too.
 */

#include "arch/x86_64/x86_64.h"

#include <string.h>

#include "arch/x86_64/code.h"
#include "arch/x86_64/insn.h"

enum {
	WORD		= 8,
	LAID		= (3 + 2) * WORD,
	LAID_WIDE	= LAID + 4 * WORD,
	SAVED		= NR_SET * WORD,
	FRAME		= WORD + SAVED + 2 * WORD,
};

/* Words behind the code, for calls that rel32 does not reach: at most one for each call. */
struct words {
	struct {
		size_t disp;
		uint64_t target;
	} at[3];
	size_t nr;
};

/* Write a call. Returns the offset of the return address. */
static size_t put_call(struct code *code, struct words *words, uint64_t target)
{
	words->at[words->nr].disp = code_call(code, target);
	words->at[words->nr++].target = target;
	return code->len;
}

#define SET(reg)	(1u << SET_##reg)
#define ARGUMENTS	(SET(RDI) | SET(RSI) | SET(RDX))

/* How instructions name a register: the bits of its number, and the prefixes that have the rest. */
static const struct {
	uint8_t bits, mov, xor;
} saved[NR_SET] = {
	[SET_RAX] = { 0, 0x48, 0 }, [SET_RCX] = { 1, 0x48, 0 }, [SET_RDX] = { 2, 0x48, 0 },
	[SET_RSI] = { 6, 0x48, 0 }, [SET_RDI] = { 7, 0x48, 0 }, [SET_R8] = { 0, 0x4c, 0x45 },
	[SET_R9] = { 1, 0x4c, 0x45 }, [SET_R10] = { 2, 0x4c, 0x45 }, [SET_R11] = { 3, 0x4c, 0x45 },
};

static const uint8_t argument[] = { SET_RDI, SET_RSI, SET_RDX };

static void put_save(struct code *code)
{
	code_op(code, 0x50, 0x51, 0x52, 0x56, 0x57);		/* push rax, rcx, rdx, rsi, rdi */
	code_op(code, 0x41, 0x50, 0x41, 0x51, 0x41, 0x52, 0x41, 0x53);	/* push r8 to r11 */
}

static void put_restore(struct code *code)
{
	code_op(code, 0x41, 0x5b, 0x41, 0x5a, 0x41, 0x59, 0x41, 0x58);	/* pop r11 to r8 */
	code_op(code, 0x5f, 0x5e, 0x5a, 0x59, 0x58);		/* pop rdi, rsi, rdx, rcx, rax */
}

#define STORE	0x89		/* mov [rsp+at], reg */
#define LOAD	0x8b		/* mov reg, [rsp+at] */

static void put_mov(struct code *code, uint8_t opcode, unsigned reg, size_t at)
{
	code_op(code, saved[reg].mov, opcode, (uint8_t)(0x44 | saved[reg].bits << 3), 0x24,
		(uint8_t)at);
}

static void put_clear(struct code *code, size_t at)
{
	code_op(code, 0x48, 0xc7, 0x44, 0x24, (uint8_t)at, 0, 0, 0, 0);	/* mov qword [rsp+at], 0 */
}

/* Processors know that `xor reg, reg` reads nothing. Here it is of 32 bits. */
static void put_zero(struct code *code, unsigned reg)
{
	if (saved[reg].xor)
		code_u8(code, saved[reg].xor);
	code_op(code, 0x31, (uint8_t)(0xc0 | saved[reg].bits * 9));
}

/* The offset of a register's word from the lowest one that `save` writes. */
static size_t word_of(unsigned reg)
{
	return (NR_SET - 1 - reg) * WORD;
}

/* Store the registers of a set in their words; the lowest one is at SP + at. */
static void put_store(struct code *code, uint32_t keep, size_t at)
{
	for (unsigned reg = 0; reg < NR_SET; reg++)
		if (keep & 1u << reg)
			put_mov(code, STORE, reg, at + word_of(reg));
}

/* Load them again, and zero all others. */
static void put_load(struct code *code, uint32_t keep, size_t at)
{
	for (unsigned reg = 0; reg < NR_SET; reg++) {
		if (keep & 1u << reg)
			put_mov(code, LOAD, reg, at + word_of(reg));
		else
			put_zero(code, reg);
	}
}

static uint8_t laid(const struct thunk_spec *spec)
{
	return spec->wide ? LAID_WIDE : LAID;
}

static void put_lay(const struct thunk_spec *spec, struct code *code)
{
	if (spec->wide)			/* push rcx (the padding), r9, r8, rcx */
		code_op(code, 0x51, 0x41, 0x51, 0x41, 0x50, 0x51);
	code_op(code, 0x52, 0x56, 0x57);			/* push rdx, rsi, rdi */
	code_op(code, 0x6a, 0, 0x6a, 0);			/* push 0, 0 */
}

/* The same words, but only the arguments are written. */
static void put_lay_new(const struct thunk_spec *spec, struct code *code)
{
	code_add_sp(code, -LAID);
	for (unsigned i = 0; i < MIN(spec->args, ARRAY_SIZE(argument)); i++)
		put_mov(code, STORE, argument[i], (2 + i) * WORD);
}

/*
 * The agent has returned. Its return address now lies below SP. It might become part of a later
 * frame that does not write all of its words, and would then look as if the thread were still to
 * return to it. So it is wiped.
 */
static void put_forget(struct code *code)
{
	code_forget(code);
}

/* agent(frame, probe), with the frame at SP. Returns the offset of the return address. */
static size_t put_agent(struct code *code, struct words *words, uint64_t agent, uint64_t probe)
{
	size_t return_address;

	code_op(code, 0x48, 0x89, 0xe7);			/* mov rdi, rsp */
	code_op(code, 0x48, 0xbe);				/* mov rsi, imm64 */
	code_u64(code, probe);
	return_address = put_call(code, words, agent);
	put_forget(code);
	return return_address;
}

/* Write the rest of the frame. */
static void put_frame(struct code *code)
{
	code_u8(code, 0x50);					/* push rax: the padding */
	put_save(code);
	code_op(code, 0x53, 0x55);				/* push rbx, rbp */
}

/* Undo put_frame, except for the padding, which is still on the stack. */
static void put_unframe(struct code *code)
{
	code_add_sp(code, 2 * WORD);
	put_restore(code);
}

/* Write a short jump forward, to the place where put_label is called with the result. */
static size_t put_jcc(struct code *code, uint8_t opcode)
{
	code_op(code, opcode, 0);
	return code->len;
}

static void put_label(struct code *code, size_t jump)
{
	code->bytes[jump - 1] = code->len - jump;
}

/* The same with an offset of 32 bits. */
static size_t put_far_jcc(struct code *code, uint8_t opcode)
{
	code_op(code, 0x0f, opcode + 0x10, 0, 0, 0, 0);
	return code->len;
}

static void put_far_label(struct code *code, size_t jump)
{
	uint32_t offset = (uint32_t)(code->len - jump);

	memcpy(code->bytes + jump - sizeof(offset), &offset, sizeof(offset));
}

/* The call begins, or ends: SP is as at the function's entry. */
static void put_count(const struct thunk_spec *spec, struct code *code, bool enter)
{
	if (!spec->counts)
		return;
	code_count(code, spec->counts, enter);
	if (!enter)
		code_forget(code);
}

static void put_new(const struct thunk_spec *spec, struct code *code, struct words *words,
		    struct thunk *thunk)
{
	uint32_t keep = ~spec->changed | SET(RAX);

	put_count(spec, code, true);
	put_lay_new(spec, code);
	thunk->call_ret = put_call(code, words, spec->displaced);
	code_add_sp(code, -FRAME);
	/* The padding is where the return address of the call was: see put_forget. */
	put_clear(code, FRAME - WORD);
	put_store(code, keep, 2 * WORD);
	code_op(code, 0x48, 0x89, 0x5c, 0x24, WORD);		/* mov [rsp+8], rbx */
	code_op(code, 0x48, 0x89, 0x2c, 0x24);			/* mov [rsp], rbp */
	thunk->leave_ret = put_agent(code, words, spec->leave, spec->probe);
	put_load(code, keep, 2 * WORD);
	/* A search for leaks would take it for a pointer of the program's. */
	put_clear(code, 2 * WORD + word_of(SET_RAX));
	code_add_sp(code, FRAME + LAID);
	put_count(spec, code, false);
	thunk->ret = code->len;
	code_u8(code, 0xc3);					/* ret */
}

static void put_enter(const struct thunk_spec *spec, struct code *code, struct words *words,
		      struct thunk *thunk)
{
	size_t bypass, retry = 0;

	put_count(spec, code, true);
	put_lay(spec, code);
	put_frame(code);
	thunk->enter_ret = put_agent(code, words, spec->enter, spec->probe);
	code_op(code, 0x48, 0x85, 0xc0);			/* test rax, rax */
	put_unframe(code);
	code_add_sp(code, WORD);
	bypass = put_far_jcc(code, 0x75);				/* jnz */
	if (spec->nothrow_call) {
		code_op(code, 0x48, spec->nr_args == 1 ? 0xbe : 0xba);	/* mov rsi|rdx, imm64 */
		code_u64(code, spec->nothrow);
	}
	thunk->call_ret = put_call(code, words,
				   spec->nothrow_call ? spec->nothrow_call : spec->displaced);
	put_frame(code);
	thunk->leave_ret = put_agent(code, words, spec->leave, spec->probe);
	put_unframe(code);
	if (spec->nothrow_call) {
		code_add_sp(code, 3 * WORD);
		code_op(code, 0x5f, 0x5e, 0x5a);		/* pop rdi, rsi, rdx */
		code_op(code, 0x48, 0x85, 0xc0);		/* test rax, rax */
		retry = put_jcc(code, 0x74);			/* jz */
	} else {
		code_add_sp(code, WORD + laid(spec));
	}
	put_count(spec, code, false);
	thunk->ret = code->len;
	code_u8(code, 0xc3);					/* ret */
	put_far_label(code, bypass);
	code_add_sp(code, laid(spec));
	if (retry)
		put_label(code, retry);
	put_count(spec, code, false);
	code_jump(code, spec->displaced);
}

/* Write the agent's arguments behind the block: SP at entry, and the probe. */
static void put_free_args(const struct thunk_spec *spec, struct code *code)
{
	code_op(code, 0x48, 0x8d, 0x74, 0x24, SAVED);		/* lea rsi, [rsp+72] */
	code_op(code, 0x48, 0xba);				/* mov rdx, imm64 */
	code_u64(code, spec->probe);
}

/* The agent's C has restored rbp and rbx; its result is still in rax. */
static void put_unknown_free(const struct thunk_spec *spec, struct code *code, struct words *words,
			     struct thunk *thunk)
{
	code_op(code, 0x48, LOAD, 0x7c, 0x24,			/* mov rdi, [rsp+x] */
		(uint8_t)word_of(argument[spec->ptr_arg]));
	put_free_args(spec, code);
	code_op(code, 0x48, 0x89, 0xe9);			/* mov rcx, rbp */
	code_op(code, 0x49, 0x89, 0xd8);			/* mov r8, rbx */
	code_op(code, 0x49, 0x89, 0xc1);			/* mov r9, rax */
	thunk->unknown_free_ret = put_call(code, words, spec->unknown);
	put_forget(code);
}

static void put_free(const struct thunk_spec *spec, struct code *code, struct words *words,
		     struct thunk *thunk)
{
	uint32_t keep = ~spec->changed | ARGUMENTS;
	size_t unknown, back;

	code_add_sp(code, -SAVED);
	put_store(code, keep, 0);
	if (spec->ptr_arg)					/* mov rdi, rsi|rdx */
		code_op(code, 0x48, 0x89, spec->ptr_arg == 1 ? 0xf7 : 0xd7);
	put_free_args(spec, code);
	thunk->release_ret = put_call(code, words, spec->release);
	put_forget(code);
	code_op(code, 0x48, 0x85, 0xc0);			/* test rax, rax */
	unknown = put_jcc(code, 0x75);				/* jnz */
	back = code->len;
	put_load(code, keep, 0);
	code_add_sp(code, SAVED);
	code_jump(code, spec->displaced);
	put_label(code, unknown);
	put_unknown_free(spec, code, words, thunk);
	code_op(code, 0xeb, (uint8_t)(back - (code->len + 2)));	/* jmp */
}

static struct err *check(const struct thunk_spec *spec)
{
	if (spec->kind == THUNK_FREE && spec->ptr_arg > 2)
		return err_create(ERR_UNSUPPORTED, "thunk for a block in argument %u: only 0 to 2",
				  spec->ptr_arg);
	if (spec->nothrow_call && spec->kind != THUNK_ENTER)
		return err_create(ERR_UNSUPPORTED, "only THUNK_ENTER can have a nothrow form");
	if (spec->counts && (spec->kind == THUNK_FREE ||
			     !code_reaches(spec->at + THUNK_MAX, spec->counts)))
		return err_create(ERR_UNSUPPORTED, "a count of calls that the thunk cannot have");
	if (spec->wide && (spec->kind != THUNK_ENTER || spec->nothrow_call))
		return err_create(ERR_UNSUPPORTED, "only a plain THUNK_ENTER has six arguments");
	if (spec->nothrow_call && (spec->nr_args < 1 || spec->nr_args > 2))
		return err_create(ERR_UNSUPPORTED,
				  "thunk with a nothrow form for %u arguments: only 1 and 2",
				  spec->nr_args);
	return NULL;
}

struct err *x86_64_thunk(const struct thunk_spec *spec, struct thunk *ret)
{
	struct thunk thunk = {
		.undo = spec->undo,
		.call_cfa = (size_t)laid(spec) + WORD,
		.agent_cfa = FRAME + (size_t)laid(spec) + WORD,
	};
	struct code code = { .bytes = thunk.code, .room = THUNK_MAX, .start = spec->at };
	struct words words = { .nr = 0 };
	struct err *err = check(spec);

	if (err)
		return err;
	if (spec->undo)
		code_add_sp(&code, spec->undo);
	thunk.entry = code.len;
	switch (spec->kind) {
	case THUNK_NEW:
		put_new(spec, &code, &words, &thunk);
		break;
	case THUNK_ENTER:
		put_enter(spec, &code, &words, &thunk);
		break;
	case THUNK_FREE:
		put_free(spec, &code, &words, &thunk);
		thunk.call_cfa = 0;
		thunk.agent_cfa = SAVED + WORD;
		break;
	}
	for (size_t i = 0; i < words.nr; i++)
		code_call_word(&code, words.at[i].disp, words.at[i].target);
	thunk.len = code.len;
	*ret = thunk;
	return NULL;
}

/* Returns how much an instruction of a thunk adds to the distance from SP to the CFA. */
static int pushes(const uint8_t *insn)
{
	uint8_t opcode = insn[0] == 0x41 ? insn[1] : insn[0];	/* REX.B: r8 to r15 */
	int32_t add;

	if ((opcode >= 0x50 && opcode <= 0x57) || insn[0] == 0x6a)
		return WORD;
	if (opcode >= 0x58 && opcode <= 0x5f)
		return -WORD;
	if (insn[0] == 0x48 && insn[1] == 0x8d && insn[2] == 0x64)	/* lea rsp, [rsp+imm8] */
		return -(int8_t)insn[4];
	if (insn[0] == 0x48 && insn[1] == 0x8d && insn[2] == 0xa4) {	/* lea rsp, [rsp+imm32] */
		memcpy(&add, insn + 4, sizeof(add));
		return -add;
	}
	return 0;
}

/* undo is what the code begins with: see struct thunk_spec. */
static size_t cfa_at(const uint8_t *bytes, size_t len, uint8_t undo, size_t offset)
{
	size_t label[2] = { 0 }, cfa_there[2] = { 0 }, nr = 0, off = 0;
	size_t cfa = WORD + undo;
	struct insn insn;

	while (off < offset && insn_decode(bytes + off, len - off, off, &insn)) {
		cfa += (size_t)pushes(bytes + off);
		if (insn.kind == INSN_JCC && nr < ARRAY_SIZE(label)) {
			label[nr] = insn.target;
			cfa_there[nr++] = cfa;
		}
		off += insn.len;
		/*
		 * The code behind `ret`, or behind the jump to displaced, is reached only by a
		 * jump.
		 */
		for (size_t i = 0; i < nr; i++)
			if (label[i] == off)
				cfa = cfa_there[i];
	}
	return cfa;
}

size_t x86_64_thunk_cfa(const struct thunk *thunk, size_t offset)
{
	return cfa_at(thunk->code, thunk->len, thunk->undo, offset);
}

size_t x86_64_thunk_stub_cfa(const struct stub *stub, size_t offset)
{
	return cfa_at(stub->code, stub->len, stub->undo, offset);
}
