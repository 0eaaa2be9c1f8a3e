/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of x86_64: System V ABI, registers as struct user_regs_struct of <sys/user.h>. */

#include "arch/x86_64/x86_64.h"

#include <elf.h>
#include <inttypes.h>

#include "arch/sigframe.h"
#include "arch/x86_64/code.h"
#include "arch/x86_64/insn.h"

static const char *const reg_names[NR_WORDS] = {
	[R15] = "r15", [R14] = "r14", [R13] = "r13", [R12] = "r12", [RBP] = "rbp", [RBX] = "rbx",
	[R11] = "r11", [R10] = "r10", [R9] = "r9", [R8] = "r8", [RAX] = "rax", [RCX] = "rcx",
	[RDX] = "rdx", [RSI] = "rsi", [RDI] = "rdi", [ORIG_RAX] = "orig_rax", [RIP] = "rip",
	[CS] = "cs", [EFLAGS] = "eflags", [RSP] = "rsp", [SS] = "ss", [FS_BASE] = "fs_base",
	[GS_BASE] = "gs_base", [DS] = "ds", [ES] = "es", [FS] = "fs", [GS] = "gs",
};

#define PARTS(dwarf, xx, lo)						\
	{ "e" xx, dwarf, 0, 4 }, { xx, dwarf, 0, 2 }, { lo, dwarf, 0, 1 }
#define NUMBERED(n)							\
	{ "r" #n "d", n, 0, 4 }, { "r" #n "w", n, 0, 2 }, { "r" #n "l", n, 0, 1 }

/* As gdb calls them. */
static const struct register_part parts[] = {
	PARTS(0, "ax", "al"), PARTS(1, "dx", "dl"), PARTS(2, "cx", "cl"), PARTS(3, "bx", "bl"),
	PARTS(4, "si", "sil"), PARTS(5, "di", "dil"), PARTS(6, "bp", "bpl"), PARTS(7, "sp", "spl"),
	{ "ah", 0, 8, 1 }, { "dh", 1, 8, 1 }, { "ch", 2, 8, 1 }, { "bh", 3, 8, 1 },
	NUMBERED(8), NUMBERED(9), NUMBERED(10), NUMBERED(11), NUMBERED(12), NUMBERED(13),
	NUMBERED(14), NUMBERED(15), { .size = 0 },
};

static struct err *x86_64_jump(uint64_t from, uint64_t to, uint8_t *code, size_t *len_ret)
{
	struct code out = { .bytes = code, .room = JUMP_NEAR_LEN, .start = from };

	if (!code_reaches(from + JUMP_NEAR_LEN, to))
		return err_create(ERR_RANGE,
				  "jump from 0x%" PRIx64 " to 0x%" PRIx64 ": too far for 32 bits",
				  from, to);
	code_jump(&out, to);
	*len_ret = out.len;
	return NULL;
}

/* The branches to look for: those to [low, high), with or without calls. */
struct branches {
	uint64_t low, high;
	bool calls;
};

/*
 * Only relative branches are considered, from the first byte on, one instruction after the other.
 * This does not see:
 *
 *	switches	A jump through a table comes behind the compare and branch that bound its
 *			index, and those are longer than a patch; the labels in the table lie behind
 *			the jump. The words of a table in the code count only if they do not decode.
 *			If every indirect jump counted as one into the patch, a good part of all
 *			functions would be refused, and nothing found.
 *	computed goto	The same holds for the code that compilers generate for it.
 *	other functions	Hand-written functions share code (one of the 2,200 that glibc exports jumps
 *			into the first bytes of another, a variant of memmove). A compiler's cold
 *			part (FUNCTION.cold), which is a function of its own here, comes back behind
 *			a branch that led to it.
 *	exceptions	Landing pads lie behind a call.
 */
static bool branches_into(const uint8_t *code, size_t len, uint64_t start,
			  const struct branches *to, uint64_t *target_ret)
{
	struct insn insn;

	for (size_t off = 0; off < len; off += insn.len) {
		if (!insn_decode(code + off, len - off, start + off, &insn)) {
			*target_ret = 0;
			return true;
		}
		if (!insn.disp && insn.target && insn.target >= to->low &&
		    insn.target < to->high && (to->calls || insn.kind != INSN_CALL)) {
			*target_ret = insn.target;
			return true;
		}
	}
	return false;
}

static bool x86_64_jumps_into(const uint8_t *code, size_t len, uint64_t start, uint64_t low,
			      uint64_t high, uint64_t *target_ret)
{
	const struct branches to = { low, high, .calls = true };
	uint64_t target;
	bool found = branches_into(code, len, start, &to, &target);

	if (found && target_ret)
		*target_ret = target;
	return found;
}

static bool x86_64_loops_at(const uint8_t *code, size_t len, uint64_t start, uint64_t entry)
{
	const struct branches to = { entry, entry + 1, .calls = false };
	uint64_t target;

	return branches_into(code, len, start, &to, &target) && target;
}

/* The next jump or call that leaves the code. */
static uint64_t branch_out(const uint8_t *code, size_t len, uint64_t start, size_t *at, bool calls)
{
	struct insn insn;

	while (*at < len && insn_decode(code + *at, len - *at, start + *at, &insn)) {
		bool found = calls ? insn.kind == INSN_CALL :
				     insn.kind == INSN_JUMP || insn.kind == INSN_JCC;

		*at += insn.len;
		if (found && insn.target - start >= len)
			return insn.target;
	}
	return 0;
}

static uint64_t x86_64_jump_out(const uint8_t *code, size_t len, uint64_t start, size_t *at)
{
	return branch_out(code, len, start, at, false);
}

static uint64_t x86_64_call_out(const uint8_t *code, size_t len, uint64_t start, size_t *at)
{
	return branch_out(code, len, start, at, true);
}

const struct arch arch_x86_64 = {
	.name			= "x86_64",
	.elf_machine		= EM_X86_64,
	.elf_class		= ELFCLASS64,

	.trap			= { 0xcc },	/* int3 */
	.trap_len		= 1,
	.trap_pc_bias		= 1,
	.nop			= { 0x90 },

	.regs_words		= NR_WORDS,
	.pc			= RIP,
	.sp			= RSP,
	.fp			= RBP,
	.ret			= RAX,
	.tp			= FS_BASE,
	.flags			= EFLAGS,
	.syscall_nr		= RAX,
	.orig_syscall		= ORIG_RAX,
	.syscall_ret		= RAX,
	.arg			= { RDI, RSI, RDX, RCX, R8, R9 },
	.syscall_arg		= { RDI, RSI, RDX, R10, R8, R9 },
	.note_extended		= NT_X86_XSTATE,
	.reg_names		= reg_names,
	.parts			= parts,
	/* System V ABI, figure 3.36; 17 and up are vector registers. */
	.dwarf_to_word		= {
		RAX, RDX, RCX, RBX, RSI, RDI, RBP, RSP, R8, R9, R10, R11, R12, R13, R14, R15,
		[16 ... 31] = 0xff,
	},

	/* FXSAVE in the Intel SDM, volume 1, 10.5.1: so begins what XSAVE makes as well. */
	.dwarf_vectors		= 17,
	.nr_vectors		= 16,
	.vectors_at		= 160,
	.vector_size		= 16,

	.red_zone		= 128,
	.entry_flags		= 0x202,	/* IF, and the bit that is always set; no DF */
	.dtv			= 8,
	.dtv_first		= 16,
	.context_sp		= 160,
	.context_pc		= 168,
	.context_flags		= 176,
	.jump_len		= JUMP_NEAR_LEN,

	.entry_insn		= x86_64_insn_entry,
	.displace		= x86_64_displace,
	.jump			= x86_64_jump,
	.jumps_into		= x86_64_jumps_into,
	.loops_at		= x86_64_loops_at,
	.jump_out		= x86_64_jump_out,
	.call_out		= x86_64_call_out,
	.reference		= x86_64_insn_reference,
	.changed_registers	= x86_64_insn_changed_registers,
	.stub			= x86_64_stub,
	.thunk			= x86_64_thunk,
	.thunk_cfa		= x86_64_thunk_cfa,
	.stub_cfa		= x86_64_thunk_stub_cfa,
	.insn_text		= x86_64_insn_text,
	.passes_on		= x86_64_argument_passes_on,
	.follow_result		= x86_64_result_follow,
	.ends_in_call		= x86_64_insn_ends_in_call,

	.syscall_insn_len	= 2,
	.call_gadget		= { 0x0f, 0x05, 0xc3 },			/* syscall; ret */
	.call_gadget_len	= 3,
	/* mov $15, %rax; syscall */
	.restorer_gadget	= { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 },
	.restorer_gadget_len	= 9,
	.pop_gadget		= { 0x58, 0xc3 },			/* pop %rax; ret */
	.pop_gadget_len		= 2,
	.call_most		= X86_64_CALL_MOST,
	.sigframe		= x86_64_sigframe,
	.open_keys		= x86_64_sigframe_open_keys,
};
