/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Everything that mdbg knows about processors is in const tables, one for each. All tables are
 * compiled everywhere, so that no code outside src/arch needs an `#if`. docs/add-arch.md says what
 * a port must bring.
 *
 * A register set is kept as the kernel gives it (NT_PRSTATUS), as an array of 64-bit words; the
 * table says what each word is for. Code bytes are passed as arrays: no process is touched here.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/result_flow.h"
#include "base/err.h"

#define REGS_WORDS		34	/* on aarch64, which has the most */
#define DISPLACED_MAX		128	/* bytes */
#define DISPLACED_INSNS		16
#define STUB_MAX		192	/* bytes */
#define THUNK_MAX		352	/* bytes */
/* Bytes of a count of calls: a word in each of COUNT_BYTES / 64 cache lines. */
#define COUNT_BYTES		4096u

/* A part of a register that has a name of its own; size 0 ends a list of them. */
struct register_part {
	char name[6];
	uint8_t dwarf;		/* DWARF's number of the register */
	uint8_t shift, size;	/* bits, bytes */
};

/* Registers of a thread, in the layout of NT_PRSTATUS. */
struct regs {
	uint64_t word[REGS_WORDS];
};

/*
 * A displaced prologue: a copy of the instructions under a patch that can run at another place, and
 * then a jump back to the first instruction that was not displaced.
 */
struct displaced {
	uint8_t code[DISPLACED_MAX];
	size_t len;		/* bytes of code, including the jump back */
	/*
	 * How many bytes of the original are replaced, >= min_len: whole instructions, and also the
	 * padding behind the last one if that one never continues to the next.
	 */
	size_t consumed;
	size_t nr;		/* instructions */
	/*
	 * Pairs of equivalent PCs: a thread at offset `from` in the original may be moved to offset
	 * `to` in code, and back. So threads are moved off the patch before it is written. A PC
	 * between two entries is inside a step and cannot be moved to the original. Behind the nr
	 * instructions comes the jump back, which corresponds to `consumed` in the original; if
	 * there is none, its place is len.
	 */
	struct {
		uint8_t from;	/* offset in the original */
		uint8_t to;	/* offset in code */
	} insn[DISPLACED_INSNS + 1];
};

/*
 * Thunks and stubs of a function in which a coroutine may be suspended count the calls that are
 * under way: one is added at the entry, and taken away right before the last instruction, in which
 * the thread leaves. A call that is suspended is on no thread's stack, so that only this count says
 * that somebody will come back. It is the sum of words in different cache lines, so that threads do
 * not wait for each other; a call may add to one and subtract from another.
 */

/*
 * The breakpoint engine sends a thread through a stub when the value that a function returns
 * matters. The stub pushes the registers to be kept, then does `call displaced prologue; trap;
 * drop; ret`. All other registers are as the function leaves them.
 *
 * With retry, the stub is for a throwing function, and calls the nothrow form of it instead.
 * nr_args and nothrow (an address to pass as the argument after the first nr_args) are then set. If
 * the call returns NULL, the stub drops its frame, restores the arguments and jumps to retry (the
 * displaced prologue of the throwing form), without a tracer's help.
 */
struct stub_spec {
	uint64_t at;		/* address at which the stub will lie */
	uint8_t undo;		/* as in struct thunk_spec */
	uint64_t call;		/* address that it calls */
	uint64_t retry;		/* 0, or where to jump on NULL */
	uint64_t nothrow;	/* with retry: value of argument nr_args */
	unsigned nr_args;	/* with retry: arguments to keep, 1 or 2 */
	uint64_t counts;	/* as in struct thunk_spec */
};

struct stub {
	uint8_t code[STUB_MAX];
	size_t len;
	uint8_t undo;
	size_t entry;		/* as in struct thunk */
	size_t trap;		/* offset of the trap instruction */
	size_t ret;		/* offset just past the call: the return address on the stack */
	/* Bytes from SP at the entry of the called function to SP at the entry of the stub. */
	size_t frame;
};

/*
 * The thunk of a function whose entry is patched with a jump (agent/state.h says what it is for).
 * It preserves every register except those that the function itself changes: compilers let callers
 * in the same file rely on registers that a callee does not touch. So it need not save what is in
 * `changed` (changed_registers), but for the first three arguments. A function that takes arguments
 * on the stack can have neither thunk nor stub, because its arguments would be one frame further
 * away. A THUNK_FREE may have them.
 *
 *	THUNK_NEW	lay the frame's arguments, call, save the rest, call leave(frame, probe),
 *			restore, take the frame away, return
 *	THUNK_ENTER	the same after enter(frame, probe); if that returns nonzero, restore all,
 *			take the frame away and jump to `displaced`
 *	THUNK_FREE	save, call release(argument ptr_arg, SP at entry, probe), if that returns
 *			nonzero call unknown free with the same, the caller's RBP and RBX (the frame
 *			pointer and what else its walk needs) and what release returned, restore,
 *			jump to displaced
 *
 * With nothrow_call (THUNK_ENTER only), that function is called in place of displaced, with the
 * address nothrow as the argument after the first nr_args. If it returned 0, the thunk calls leave,
 * restores the arguments and the stack as at entry, and jumps to displaced. If it returned a block,
 * the three arguments are restored, too.
 */
enum thunk_kind { THUNK_NEW, THUNK_ENTER, THUNK_FREE };

struct thunk_spec {
	enum thunk_kind kind;
	uint64_t at;			/* where the thunk will lie */
	/* Bytes to give back to SP first: entry_insn.sp of the instruction before the patch. */
	uint8_t undo;
	uint64_t displaced;
	uint64_t probe;			/* passed to the agent */
	/* functions of the agent, at any distance */
	uint64_t enter, leave, release, unknown;
	uint8_t ptr_arg;		/* THUNK_FREE: 0 to 2 */
	uint64_t nothrow_call;		/* 0, or the nothrow form */
	uint64_t nothrow;		/* any address */
	uint8_t nr_args;		/* 1 or 2 */
	/* THUNK_ENTER without a nothrow form only: the frame has six arguments, not three. */
	bool wide;
	/*
	 * THUNK_NEW: so many of the first three arguments are laid in the frame, and the agent's
	 * two words are not set.
	 */
	uint8_t args;
	/* Registers that the function changes, of those that C may change; 0: they are not known. */
	uint32_t changed;
	/*
	 * The address, near `at`, of a word with the address of COUNT_BYTES bytes, in which the
	 * calls under way are counted; 0: they are not. Not for THUNK_FREE, to which nobody returns.
	 */
	uint64_t counts;
};

struct thunk {
	uint8_t code[THUNK_MAX];
	size_t len;
	uint8_t undo;
	size_t entry;		/* offset at which SP is as at the function's entry */
	/*
	 * Offsets just past the calls, which are the return addresses on the stack; 0: no such
	 * call.
	 */
	size_t call_ret, enter_ret, leave_ret, release_ret, unknown_free_ret;
	/*
	 * Distances from SP, as it is right behind the return address at these calls, to the CFA of
	 * the thunk. For THUNK_FREE, agent_cfa is valid for release and unknown free, and call_cfa
	 * is 0.
	 */
	size_t call_cfa, agent_cfa;
	/* offset of the final `ret`, where the thunk has done all; 0: THUNK_FREE */
	size_t ret;
};

/*
 * The first instruction of a function, if it can stay in place while the patch begins behind it. A
 * kernel uprobe or a debugger's breakpoint on the function's entry then runs the instruction of the
 * file, and arrives at the patch like any other thread. Thunk and stub undo the instruction (they
 * give back what it has taken from SP), and the displaced prologue, which begins with a copy of it,
 * does it again.
 */
struct entry_insn {
	uint8_t len;		/* bytes; 0: it cannot stay */
	uint8_t sp;		/* bytes that it takes from SP, at most ENTRY_SP_MAX */
};

#define ENTRY_SP_MAX	120

/* An address that an instruction has in it, or computes from its own. */
struct code_reference {
	uint64_t target;
	bool word;	/* the instruction reads the word there, or goes where that leads */
};

struct sigframe_spec;

/*
 * Porting guide. A port has to provide these pieces, each tested with arrays (tests/unit/arch):
 *
 *	registers	the words of NT_PRSTATUS, what each is for, and their DWARF numbers
 *	trap		an instruction no longer than the shortest one, that stops at itself or
 *			(trap_pc_bias) behind itself
 *	displace	whole instructions are moved: all that depends on their place is rewritten
 *			so that registers, flags, memory and return addresses come out as they would
 *			have; an instruction that cannot be moved is named in the error
 *	thunk		code for a function whose entry is a jump, which calls the agent's C
 *	stub		call, trap, return; the stack is aligned as the ABI demands in the called
 *			function, and no register is changed that the function would have kept
 *	sigframe	the data that rt_sigreturn reads, so that a borrowed thread restores itself
 *
 * A processor with instructions of fixed length has trap_len 4 and jump_len 4 or more, and keeps
 * the return address in a register, so that a stub has to save that register on the stack. If
 * instruction and data caches are not coherent, a write through /proc/PID/mem flushes them, so the
 * code here need not.
 */
struct arch {
	const char *name;
	uint16_t elf_machine;
	uint8_t elf_class;

	/* The breakpoint instruction, and how far past it the PC is when it stops. */
	uint8_t trap[4];
	uint8_t trap_len;
	uint8_t trap_pc_bias;
	uint8_t nop[4];		/* as long as trap, and does nothing */

	/* Indices of words in struct regs. */
	uint8_t regs_words;	/* number of words */
	uint8_t pc, sp, fp, ret, tp, flags;
	uint8_t syscall_nr;	/* number of the system call, when it is made ... */
	/* ... and where the kernel keeps that number during the call (-1: not in a call) */
	uint8_t orig_syscall;
	uint8_t syscall_ret;
	uint8_t arg[6];		/* arguments of a function */
	uint8_t syscall_arg[6];
	uint32_t note_extended;	/* the note (NT_) with the vector registers, beside NT_FPREGSET */
	const char *const *reg_names;	/* regs_words names, in the order of struct regs */
	/*
	 * Index of the word in struct regs for a DWARF register number; 0xff: none, and so for the
	 * return address column.
	 */
	uint8_t dwarf_to_word[32];

	/*
	 * DWARF's number of the first vector register, how many follow one another from there, and how
	 * the kernel gives them (note_extended, NT_FPREGSET): the offset of the first, and bytes from
	 * each to the next.
	 */
	uint8_t dwarf_vectors, nr_vectors, vectors_at, vector_size;

	const struct register_part *parts;

	uint32_t red_zone;	/* bytes below SP that belong to the function */
	uint64_t entry_flags;	/* contents of the flags register at a function's entry */
	/*
	 * Offset from the thread pointer to the address of the thread's table of TLS blocks, and
	 * the distance of that address from the start of the table (glibc).
	 */
	uint8_t dtv, dtv_first;
	/*
	 * Offsets of SP, PC and flags in the ucontext of a signal's frame, which lies behind its
	 * restorer. All flags of entry_flags are set there, and none above 32 bits.
	 */
	uint16_t context_sp, context_pc, context_flags;
	uint32_t jump_len;	/* bytes that a jump probe patches */

	/*
	 * Can the first instruction of a function be undone, or run twice? True for a landing pad
	 * (endbr64), no-operations, pushes, instructions that subtract a constant from SP, and
	 * moves and tests that change nothing but flags and registers which they do not read. An
	 * instruction that changes one of the first `args` arguments does not count, because they
	 * are still needed; nor does one that changes a register which the function must keep for
	 * its caller. The sp of *ret is 0 unless the instruction takes bytes from SP.
	 */
	bool (*entry_insn)(const uint8_t *code, size_t len, unsigned args, struct entry_insn *ret);
	/*
	 * Displace at least min_len bytes of the len bytes of code that lie at from, to run at to.
	 * ERR_UNSUPPORTED names the instruction that cannot be moved (a trap, a branch into the
	 * middle of the patch, a call that would return there, unknown bytes, or the end of the
	 * function with something other than padding behind it); ERR_RANGE names an instruction
	 * that would be too far from its data at to. The function ends at len, and nothing beyond
	 * is taken.
	 */
	struct err *(*displace)(const uint8_t *code, size_t len, uint64_t from, uint64_t to,
				size_t min_len, struct displaced *ret);
	/* Write a jump of jump_len bytes; ERR_RANGE if to is too far. */
	struct err *(*jump)(uint64_t from, uint64_t to, uint8_t *code, size_t *len_ret);
	/*
	 * Does any branch among the len bytes of a function's code, which lies at start, go to an
	 * address in [low, high)? True also if bytes do not decode. Jumps by register or table do
	 * not count, nor do jumps of other functions (x86_64.c says why that is safe, and where
	 * not). *target_ret (may be NULL) is the address, 0 if not known.
	 *
	 * displace judges the branches among the displaced instructions, so pass the code from
	 * consumed on.
	 */
	bool (*jumps_into)(const uint8_t *code, size_t len, uint64_t start, uint64_t low,
			   uint64_t high, uint64_t *target_ret);
	/*
	 * Does a jump in the code of a function go to its `entry`? A call does not count, since it
	 * is recursion. If so, the function begins with a loop, and a thread at the entry may be in
	 * a later round of it: neither kind of probe can tell that from a call.
	 */
	bool (*loops_at)(const uint8_t *code, size_t len, uint64_t start, uint64_t entry);
	/*
	 * Find the next direct jump (not a call) from *at on that leaves the len bytes of code,
	 * which lie at start. Returns its target and moves *at behind it. 0: there is no other
	 * jump, or bytes do not decode.
	 */
	uint64_t (*jump_out)(const uint8_t *code, size_t len, uint64_t start, size_t *at);
	/* The same for direct calls. */
	uint64_t (*call_out)(const uint8_t *code, size_t len, uint64_t start, size_t *at);
	/*
	 * Find the next instruction from *at on, that is no direct branch, with an address that it
	 * computes from its own or has as a number, and move *at behind it. The number may be no
	 * address. False: there is no other one, or bytes do not decode.
	 */
	bool (*reference)(const uint8_t *code, size_t len, uint64_t start, size_t *at,
			  struct code_reference *ret);
	/*
	 * Add to *changed the registers that instructions of this code change, of those that C may
	 * change (a set for thunk_spec.changed), and to *popped those that a pop gives a value,
	 * since that may be their old one. False: bytes do not decode.
	 */
	bool (*changed_registers)(const uint8_t *code, size_t len, uint32_t *changed,
				  uint32_t *popped);
	/*
	 * These bytes are a function from its start up to and with a call. Which of its own
	 * arguments may be in the arguments `into` of that call, as they are or computed from (a
	 * size to which a head's is added)? Both are sets, 1 << number, of the first six that are
	 * words. 0: none, or bytes do not decode.
	 */
	unsigned (*passes_on)(const uint8_t *code, size_t len, unsigned into);
	/* Where does the result of a call go? *ret is the value of the typed place (RESULT_TYPED). */
	enum result_end (*follow_result)(const struct result_flow *flow, uint32_t *ret);
	struct err *(*stub)(const struct stub_spec *spec, struct stub *ret);
	/* ERR_UNSUPPORTED: a number is out of the bounds given in struct thunk_spec. */
	struct err *(*thunk)(const struct thunk_spec *spec, struct thunk *ret);
	/*
	 * Returns the distance from SP to the CFA when the instruction at this offset of a thunk is
	 * about to run.
	 */
	size_t (*thunk_cfa)(const struct thunk *thunk, size_t offset);
	size_t (*stub_cfa)(const struct stub *stub, size_t offset);
	/*
	 * Disassemble one instruction ("mov rax, rbx") into at most room bytes. Returns its length
	 * in bytes, 0 if it does not decode.
	 */
	size_t (*insn_text)(const uint8_t *code, size_t len, uint64_t at, char *text, size_t room);

	/*
	 * Can the code that ends with these bytes end with a call, so that a return address is
	 * just behind it? False is certain if all bytes of the instruction would be among them.
	 */
	bool (*ends_in_call)(const uint8_t *code, size_t len);

	uint8_t syscall_insn_len;	/* bytes of the instruction that enters the kernel */
	/*
	 * Code that a remote call needs and that most programs have in their own text: `syscall;
	 * ret`; the start of "load the number of rt_sigreturn; syscall" (the restorer of a libc);
	 * and "pop the number of a system call; ret", which can replace the restorer.
	 */
	uint8_t call_gadget[8], call_gadget_len;
	uint8_t restorer_gadget[16], restorer_gadget_len;
	uint8_t pop_gadget[8], pop_gadget_len;
	uint8_t call_most;		/* bytes of the longest call instruction */
	/* Build a frame for rt_sigreturn: see arch/sigframe.h. */
	struct err *(*sigframe)(const struct sigframe_spec *spec, void *buf, size_t room,
				uint64_t *sp_ret, size_t *len_ret);
	/*
	 * Change the extended state of a thread (note_extended) so that no protection key (pkeys(7))
	 * keeps it from memory. False: none does, and nothing was changed. May be NULL.
	 */
	bool (*open_keys)(void *xstate, size_t len);
};

extern const struct arch arch_x86_64;

/* Returns the table for an ELF machine and class (ELFCLASS64), or NULL. */
const struct arch *arch_find(uint16_t elf_machine, uint8_t elf_class);
/* Returns the processor that mdbg itself was built for. */
const struct arch *arch_host(void);

static inline uint64_t regs_get(const struct regs *regs, uint8_t word)
{
	return regs->word[word];
}

static inline void regs_set(struct regs *regs, uint8_t word, uint64_t value)
{
	regs->word[word] = value;
}
