/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The state of a walk, and the registers in its frame (theory in walk.c). */
#pragma once

#include <stddef.h>

#include "arch/host.h"
#include "base/compiler.h"
#include "unwind/walk.h"

enum regs_from {
	REGS_NONE,		/* only PC, SP and BP are known */
	REGS_INNERMOST,		/* from the caller of walk() */
	REGS_SIGNAL,		/* in the sigcontext: the frame that a signal interrupted */
};

struct walker {
	const struct walk_map *map;
	const struct walk_stack *stack;
	const struct walk_regs *innermost;
	/* module of the last PC: mostly it is that of the next one, too */
	const struct walk_module *module;
	uint64_t pc, sp, fp;
	/* traced: where fp was saved, FP_INITIAL, FP_NOTED */
	uint64_t fp_at;
	/* where BX is saved, BX_INNERMOST, BX_LOST; with REGS_SIGNAL it is in the sigcontext */
	uint64_t bx_at;
	struct walk_trace *trace;		/* NULL: not traced */
	enum regs_from regs_from;
	/* why fp is not known; WALK_COMPLETE: it is known */
	enum walk_end fp_lost;
	/* number of the last frames that are unproven: see frame_pointer_leave */
	uint32_t unproven;
	/* PC is an instruction to run, not a return address */
	bool exact;
	bool wants_kept;			/* a rule needs one of R12 to R15: see kept_at */
	/* where R12 to R15 are saved, as bx_at; NULL: they are not followed */
	uint64_t *kept_at;
};

/* These values are not addresses of stack words. */
#define BX_INNERMOST	0
#define BX_LOST		1
#define FP_INITIAL	0
#define FP_NOTED	1

/* Stack words need not be aligned, and may have any type. */
struct word {
	uint64_t value;
} __attribute__((packed, may_alias));

static inline bool word_read(const struct walk_stack *stack, uint64_t addr, uint64_t *ret)
{
	if (LIKELY(addr >= stack->low && addr < stack->high &&
		   stack->high - addr >= sizeof(*ret))) {
		const char *at = (const char *)stack->copy + (addr - stack->low);

		*ret = ((const struct word *)at)->value;
		return true;
	}
	return stack->more && stack->more(stack->ctx, addr, ret);
}

/* Note that the result depends on this word. */
static inline void note_slot(const struct walker *walker, uint64_t addr, uint64_t value)
{
	struct walk_trace *trace = walker->trace;

	if (!trace)
		return;
	if (UNLIKELY(trace->nr >= WALK_TRACE_SLOTS) || UNLIKELY(addr < walker->stack->low) ||
	    UNLIKELY(addr >= walker->stack->high)) {
		trace->whole = false;
		return;
	}
	trace->address[trace->nr] = addr;
	trace->value[trace->nr++] = value;
}

/* Note that the result depends on BP as it is now; only while it is known. */
static inline void note_fp(struct walker *walker)
{
	if (!walker->trace || walker->fp_at == FP_NOTED)
		return;
	if (walker->fp_at == FP_INITIAL)
		walker->trace->fp_used = true;
	else
		note_slot(walker, walker->fp_at, walker->fp);
	walker->fp_at = FP_NOTED;
}

/* Read a register by its DWARF number; false: it is not known. */
bool walk_register(struct walker *walker, unsigned reg, uint64_t *ret);
/* Go on to where the caller's R12 to R15 are; only while they are followed (kept_at). */
void walk_registers_restore_kept(const struct walker *walker, const struct row *row, uint64_t cfa);
/* Code without CFI may have used RBX, and R12 to R15. */
void walk_registers_lose(struct walker *walker);
