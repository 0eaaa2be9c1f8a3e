/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Everything that mdbg knows of a processor is in one const table for each, all compiled
 * everywhere, so that nothing outside src/arch asks `#if`. docs/add-arch.md says what a port must
 * bring.
 *
 * A register set is held as the kernel gives it (NT_PRSTATUS), as an array of 64-bit words; the
 * table says which word is what. Code bytes go in and out as arrays: no process is touched here.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define REGS_WORDS		34	/* the largest of all processors (aarch64) */
#define DISPLACED_MAX		128	/* bytes */
#define DISPLACED_INSNS		16
#define STUB_MAX		96	/* bytes */
#define THUNK_MAX		272	/* bytes */

/* Registers of a thread, in the layout of NT_PRSTATUS. */
struct regs {
	uint64_t word[REGS_WORDS];
};

/*
 * A displaced prologue: the instructions under a patch, made to run at another place, then a jump
 * back to the first instruction that was not displaced.
 */
struct displaced {
	uint8_t code[DISPLACED_MAX];
	size_t len;		/* of code, with the jump back */
	/*
	 * Bytes of the original, >= min_len: whole instructions, and the padding behind a last one
	 * that does not go on.
	 */
	size_t consumed;
	size_t nr;		/* instructions */
	/*
	 * A PC at code + to is one at from in the original, and the other way round: so a thread
	 * is moved off the patch before it is written. One between two entries is inside a step
	 * and cannot be moved to the original. Behind the nr instructions stands the jump back,
	 * which is consumed in the original; without one, its place is len.
	 */
	struct {
		uint8_t from;	/* offset in the original */
		uint8_t to;	/* offset in code */
	} insn[DISPLACED_INSNS + 1];
};

/*
 * The stub that the breakpoint engine sends a thread through when the value that a function returns
 * matters: push what must be kept, `call displaced prologue; trap; drop; ret`. All other registers
 * are as the function leaves them.
 *
 * With retry, the stub is for a throwing function whose nothrow form is `call`ed instead: arguments
 * nr_args and nothrow (an address to pass as the argument after them) are set, and where NULL comes
 * back, the frame is dropped, the arguments are restored and the stub jumps to retry (the displaced
 * prologue of the throwing form), all without a tracer's help.
 */
struct stub_spec {
	uint64_t at;		/* where the stub will lie */
	uint8_t undo;		/* as in struct thunk_spec */
	uint64_t call;		/* what it calls */
	uint64_t retry;		/* 0, or where to jump on NULL */
	uint64_t nothrow;	/* with retry: value of argument nr_args */
	unsigned nr_args;	/* with retry: arguments to keep, 1 or 2 */
};

struct stub {
	uint8_t code[STUB_MAX];
	size_t len;
	size_t entry;		/* as in struct thunk */
	size_t trap;		/* offset of the trap instruction */
	size_t ret;		/* offset just past the call: the return address on the stack */
	/* Bytes from SP at the called function's entry up to SP at the stub's. */
	size_t frame;
};

/*
 * The thunk of a function whose entry is a jump (agent/state.h tells what for). It preserves
 * every register but those that the function itself changes: compilers let callers in the same
 * file rely on registers that a callee does not touch. A function that takes arguments on the
 * stack cannot have one (nor a stub): they would be one frame further away. THUNK_FREE can.
 *
 *	THUNK_NEW	lay the frame's arguments, call, save the rest, call leave(frame, probe),
 *			restore, take the frame away, return
 *	THUNK_ENTER	the same after enter(frame, probe); if that returns nonzero, all is restored,
 *			the frame taken away and `displaced` jumped to
 *	THUNK_FREE	save, call release(argument ptr_arg, SP at entry, probe), if that returns
 *			nonzero call unknown free with the same, the caller's RBP and RBX (the frame
 *			pointer and what else its walk needs) and what release returned, restore,
 *			jump to displaced
 *
 * With nothrow (THUNK_ENTER only) that is called in place of displaced, with the address nothrow
 * as the argument after the first nr_args; after leave, where it returned 0, the arguments and
 * the stack are as at entry again and displaced is jumped to. The three arguments are as at entry
 * after a block, too.
 */
enum thunk_kind { THUNK_NEW, THUNK_ENTER, THUNK_FREE };

struct thunk_spec {
	enum thunk_kind kind;
	uint64_t at;			/* where the thunk will lie */
	/*
	 * Bytes to give back to SP first: entry_insn.sp of the instruction in front of the patch.
	 */
	uint8_t undo;
	uint64_t displaced;
	uint64_t probe;			/* passed to the agent */
	/* functions of the agent, at any distance */
	uint64_t enter, leave, release, unknown;
	uint8_t ptr_arg;		/* THUNK_FREE: 0 to 2 */
	uint64_t nothrow_call;		/* 0, or the nothrow form */
	uint64_t nothrow;		/* any address */
	uint8_t nr_args;		/* 1 or 2 */
};

struct thunk {
	uint8_t code[THUNK_MAX];
	size_t len;
	uint8_t undo;
	size_t entry;		/* offset at which SP is as at the function's entry */
	/* Offsets just past the calls: return addresses on the stack; 0: there is no such call. */
	size_t call_ret, enter_ret, leave_ret, release_ret, unknown_free_ret;
	/*
	 * At these return addresses, from SP (behind the return address) to the CFA of the thunk.
	 * THUNK_FREE: agent_cfa is that of release and unknown free, and there is no call_cfa (0).
	 */
	size_t call_cfa, agent_cfa;
	size_t ret;		/* offset of the final `ret`, where all is done; 0: THUNK_FREE */
};

/*
 * The first instruction of a function, where it can stay in place and a patch begin behind it. A
 * kernel uprobe or a debugger's breakpoint on the function's entry then runs the file's
 * instruction, and arrives at the patch like any other thread. Thunk and stub undo the instruction
 * (what it has taken from SP is given back), and the displaced prologue, which begins with a copy
 * of it, does it again.
 */
struct entry_insn {
	uint8_t len;		/* bytes; 0: it cannot stay */
	uint8_t sp;		/* bytes that it takes from SP, at most ENTRY_SP_MAX */
};

#define ENTRY_SP_MAX	120

struct sigframe_spec;

/*
 * Porting guide. The port's own work is in five pieces, each tested with arrays (tests/unit/arch):
 *
 *	registers	the words of NT_PRSTATUS, what each is for, and their DWARF numbers
 *	trap		an instruction no longer than the shortest, that stops at itself or
 *			(trap_pc_bias) behind
 *	displace	whole instructions, moved: all that depends on their place is rewritten so
 *			that registers, flags, memory and return addresses come out as they would
 *			have; what cannot be is refused by name, never guessed
 *	thunk		the same for a function whose entry is a jump, calling the agent's C
 *	stub		call, trap, return; the stack aligned as the ABI asks in the called
 *			function, no register changed that the function would have kept
 *	sigframe	what rt_sigreturn reads, so that a borrowed thread restores itself
 *
 * A processor with instructions of fixed length has trap_len 4 and jump_len 4 or more, and a return
 * address in a register: then a stub has to keep that register on the stack. Where instruction and
 * data caches are not coherent, writing through /proc/PID/mem is what flushes them, so none of
 * this does.
 */
struct arch {
	const char *name;
	uint16_t elf_machine;
	uint8_t elf_class;

	/* The breakpoint instruction, and how far past it the PC is when it stops. */
	uint8_t trap[4];
	uint8_t trap_len;
	uint8_t trap_pc_bias;

	/* Word of struct regs. */
	uint8_t regs_words;	/* how many there are */
	uint8_t pc, sp, fp, ret, tp, flags;
	uint8_t syscall_nr;	/* where a system call takes its number ... */
	uint8_t orig_syscall;	/* ... and where the kernel keeps it meanwhile (-1: not in one) */
	uint8_t syscall_ret;
	uint8_t arg[6];		/* of a function */
	uint8_t syscall_arg[6];
	const char *const *reg_names;	/* regs_words of them, in the order of struct regs */
	/*
	 * Word of struct regs for a DWARF register number; 0xff: none (also for the return address
	 * column).
	 */
	uint8_t dwarf_to_word[32];

	uint32_t red_zone;	/* bytes below SP that belong to the function */
	uint64_t entry_flags;	/* of the flags' register, as at a function's entry */
	/*
	 * Offset from the thread pointer to the address of its table of TLS blocks, and how far
	 * behind the table's start that address is (glibc).
	 */
	uint8_t dtv, dtv_first;
	uint32_t jump_len;	/* bytes that a jump probe patches */

	/*
	 * Can the first instruction of a function be undone, or be done twice? True for a landing
	 * pad (endbr64), no-operations, pushes, what takes a constant from SP, and moves and
	 * tests that change nothing but flags and registers which they do not read. Of those no
	 * argument below `args` is changed: they are still to be looked at. Neither is a register
	 * that the function must keep for its caller. The sp of *ret is 0 for all but pushes and
	 * the like.
	 */
	bool (*entry_insn)(const uint8_t *code, size_t len, unsigned args, struct entry_insn *ret);
	/*
	 * Displace at least min_len bytes of the len bytes of code that lie at from, to run at to.
	 * ERR_UNSUPPORTED names the instruction that cannot be moved (a trap, a branch into the
	 * middle of the patch, a call that would return there, unknown bytes, end of function with
	 * something but padding behind), ERR_RANGE the one that would be too far from its data at
	 * to. len says what is the function's: nothing beyond it is taken.
	 */
	struct err *(*displace)(const uint8_t *code, size_t len, uint64_t from, uint64_t to,
				size_t min_len, struct displaced *ret);
	/* A jump of jump_len bytes; ERR_RANGE if to is too far. */
	struct err *(*jump)(uint64_t from, uint64_t to, uint8_t *code, size_t *len_ret);
	/*
	 * Does any branch among the len bytes of a function's code, which lies at start, go to an
	 * address in [low, high)? True also where bytes do not decode; jumps by register or table
	 * do not count, nor do other functions (x86_64.c says why that is safe, and where not).
	 * *target_ret (may be NULL) is the address, 0 if not known.
	 *
	 * Branches among the displaced instructions are displace's to judge: give the code from
	 * consumed on.
	 */
	bool (*jumps_into)(const uint8_t *code, size_t len, uint64_t start, uint64_t low,
			   uint64_t high, uint64_t *target_ret);
	/*
	 * Does a jump (no call: that is recursion) in the same code go to `entry`, that of the
	 * function? Then it begins with a loop, and a thread that comes there may be in its next
	 * round: neither kind of probe can tell it from a call.
	 */
	bool (*loops_at)(const uint8_t *code, size_t len, uint64_t start, uint64_t entry);
	/*
	 * The target of the next direct jump (no call), from *at on, that leaves the len bytes of
	 * code, which lie at start; *at is moved behind it. 0: there is no other, or bytes do not
	 * decode.
	 */
	uint64_t (*jump_out)(const uint8_t *code, size_t len, uint64_t start, size_t *at);
	struct err *(*stub)(const struct stub_spec *spec, struct stub *ret);
	/* ERR_UNSUPPORTED: numbers that are out of the bounds given with struct thunk_spec. */
	struct err *(*thunk)(const struct thunk_spec *spec, struct thunk *ret);
	/* From SP to the CFA where an instruction of a thunk, at this offset, is about to run. */
	size_t (*thunk_cfa)(const struct thunk *thunk, size_t offset);
	/*
	 * One instruction as text, "mov rax, rbx", at most room bytes; returns its length in bytes,
	 * 0: does not decode.
	 */
	size_t (*insn_text)(const uint8_t *code, size_t len, uint64_t at, char *text, size_t room);

	uint8_t syscall_insn_len;	/* bytes of the instruction that enters the kernel */
	/*
	 * Code that a remote call needs and that most programs have in their own text: `syscall;
	 * ret`; the start of "load the number of rt_sigreturn; syscall" (a libc's restorer); and
	 * "pop the number of a system call; ret", which does instead of the restorer.
	 */
	uint8_t call_gadget[8], call_gadget_len;
	uint8_t restorer_gadget[16], restorer_gadget_len;
	uint8_t pop_gadget[8], pop_gadget_len;
	/* A frame for rt_sigreturn: see arch/sigframe.h. */
	struct err *(*sigframe)(const struct sigframe_spec *spec, void *buf, size_t room,
				uint64_t *sp_ret, size_t *len_ret);
};

extern const struct arch arch_x86_64;

/* The table for an ELF machine and class (ELFCLASS64), or NULL. */
const struct arch *arch_find(uint16_t elf_machine, uint8_t elf_class);
/* The processor that mdbg itself was built for. */
const struct arch *arch_host(void);

static inline uint64_t regs_get(const struct regs *regs, uint8_t word)
{
	return regs->word[word];
}

static inline void regs_set(struct regs *regs, uint8_t word, uint64_t value)
{
	regs->word[word] = value;
}
