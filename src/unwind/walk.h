/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The stack walk over rows. It is freestanding: mdbg uses it on copied stack memory, and the agent
 * on its own stack.
 */
#pragma once

#include <stdbool.h>

#include "arch/host.h"
#include "unwind/rows.h"

/* A module's executable range in the process, with its rows. */
struct walk_module {
	uint64_t start, end;	/* addresses; row offset 0 is at start */
	struct rows rows;
};

/*
 * The rows that walks have used, by PC. This halves the time of a walk over frames that were seen
 * before. It must be zeroed at the beginning; a walk with a map of another generation empties it.
 * Only one walk at a time may use it.
 */
#define WALK_CACHE_ENTRIES	512

struct walk_cache {
	uint32_t generation;
	struct {
		uint64_t key;	/* ~PC, so that 0 is no entry */
		struct row row;
	} entry[WALK_CACHE_ENTRIES];
};

/* All modules, sorted by start, not overlapping. */
struct walk_map {
	const struct walk_module *module;
	uint32_t nr;
	uint32_t generation;	/* changes whenever a module comes or goes */
	struct walk_cache *cache;	/* may be NULL */
};

/* Why a walk ended. The log's format has these numbers, so new ones come at the end. */
enum walk_end {
	/* the outermost frame (_start, clone3, a thread's first function) */
	WALK_COMPLETE,
	WALK_DEPTH,		/* max frames; more would follow */
	WALK_NO_MODULE,		/* a PC outside all modules, and no frame pointer chain to follow */
	WALK_NO_ROW,		/* a PC without CFI, and no frame pointer chain to follow */
	WALK_COMPLEX,		/* CFI that rows cannot express */
	/* stack memory that cannot be read (outside the bounds that are known) */
	WALK_MEMORY,
	WALK_LOOP,		/* SP did not grow: a corrupt stack */
	/* set without a walk: the library was not known yet (log/log_deferred.h) */
	WALK_DEFERRED,
	/*
	 * set by the agent in place of WALK_MEMORY, unless the kernel has said so: a stack that it
	 * does not know (agent/agent_stacks.h)
	 */
	WALK_STACK,
	WALK_REGISTER,		/* CFI that needs a register which is not known in that frame */
	WALK_COPY,		/* set by growth/faults.c: no more of the stack was copied */
	WALK_ENDS,
};

/* Returns "complete", "stack depth", ...: for `(stack ends here: …)`. Not in the agent. */
const char *walk_end_name(enum walk_end end);

/*
 * The registers that rows use. regs[] holds all by DWARF number, for the innermost frame only (may
 * be NULL).
 */
struct walk_regs {
	uint64_t pc, sp, fp;
	const uint64_t *regs;
	uint32_t nr_regs;
};

/*
 * Stack memory: the bytes of [low, high) are at copy (copy == low itself in the agent, which reads
 * its own stack). more, if not NULL, is called for a word outside, which may lie in another stack: a
 * coroutine's caller, what a signal handler on a stack of its own has interrupted. Of the memory
 * below low it gives only that of other stacks, as far as it can tell. If the innermost frame may be
 * anywhere in a function, low must lie below SP by the red zone (128 bytes): behind the pops of an
 * epilogue, CFI still names the slots that were popped.
 */
struct walk_stack {
	const void *copy;
	uint64_t low, high;
	bool (*more)(void *ctx, uint64_t addr, uint64_t *ret);
	void *ctx;
	struct walk_outside *outside;	/* to be filled in, or NULL */
};

/*
 * The first frame of a walk whose PC is in no module, from which another walk can go on when the
 * module is known. All zero before the walk; pc stays 0 if there is none.
 */
struct walk_outside {
	uint64_t pc, sp, fp, bx;	/* fp, bx: 0 if they are not known */
	bool exact;			/* a signal interrupted it there: pc is no return address */
};

/*
 * Code that the caller put into the process and that is in no module (displaced prologues, stubs).
 * translate is called for each PC in it and says how the walk continues.
 */
struct walk_area {
	uint64_t start, end;		/* translate is called only for a PC in here; 0, 0: never */
	/*
	 * true: continue with *pc (the original of a displaced instruction) as if it had been found
	 * there. false: it is a frame of our own: *cfa_offset is CFA - SP, BP is unchanged, and the
	 * frame is not part of the traceback.
	 */
	bool (*translate)(void *ctx, uint64_t *pc, int32_t *cfa_offset);
	void *ctx;
};

/*
 * The words of the stack that a walk has read. They tell whether another walk would read the same
 * (agent/unwind_cache.h). A slot is a word that the walk's result depends on: return addresses, the
 * saved BP of a frame if BP was used later, words that a rule read.
 *
 * If the trace is whole, any walk that begins with the same PC and SP (and BP, RBX where used), has
 * the same bounds, maximum, map and area, and finds the same values in the slots, has the same
 * result. All slots are inside [low, high). They are in the order in which they came to matter: as
 * long as the values of two walks agree, so do the addresses up to the next slot. A walk that
 * cannot be told by its slots (a signal frame, a word that came from `more`, R12 to R15 as they
 * were at the start, too many slots) is not whole.
 */
#define WALK_TRACE_SLOTS 264	/* for LOG_DEPTH_MAX frames that all use BP, and a few more */

struct walk_trace {
	bool whole;
	bool fp_used;		/* the initial BP was used */
	bool bx_used;		/* the initial RBX was used */
	uint32_t nr;
	uint64_t address[WALK_TRACE_SLOTS];
	uint64_t value[WALK_TRACE_SLOTS];
};

/* The start of a walk, and the memory that it may read. */
struct walk_start {
	const struct walk_map *map;
	const struct walk_regs *regs;
	const struct walk_stack *stack;
	const struct walk_area *area;	/* NULL: no code of our own is in the process */
	/*
	 * regs are those of a caller: regs->pc is a return address, which is looked up one byte
	 * back, and of regs->regs no more than RBX and R12 to R15 is used. Otherwise they are the
	 * state at an instruction that is about to run, and regs->pc is looked up as it is.
	 */
	bool in_caller;
};

/*
 * Walk from start. pcs[0] is regs->pc; the others are return addresses as they lie on the stack,
 * which are looked up one byte back, except in the frame that a signal interrupted. Returns the
 * number of PCs stored, at most max (0 only if all frames that could be read are our own, of the
 * area), and the reason in *end. trace is for walks that begin in a caller; it may be NULL.
 *
 * If a row is missing, [BP] and [BP+8] are tried as a frame pointer frame. They are accepted only
 * if BP is inside the readable stack, above SP, and the return address lies in a module, or outside
 * of all modules (JIT code) if frame pointers lead from it to a module; if they do not, the JIT
 * code to which CFI has led is the last frame. A walk that begins outside of all modules goes as
 * far as frame pointers lead.
 */
uint32_t walk(const struct walk_start *start, uint64_t *pcs, uint32_t max, enum walk_end *end,
	      struct walk_trace *trace);

/* The registers in a frame, by DWARF number. */
struct walk_frame {
	uint64_t pc;
	bool exact;		/* pc is about to run; else it is a return address */
	uint32_t known;		/* a bit for each register */
	uint64_t regs[FRAME_REGS];
	bool has_cfa;
	uint64_t cfa;		/* as its function's CFI computes it */
};

/*
 * The registers in frame nr of the walk from start: 0 is pcs[0] of walk(). What a function may have
 * changed and not saved is not known. False: the walk does not come that far. pcs has room for nr
 * (at least 1). Not in the agent.
 */
bool walk_frame_at(const struct walk_start *start, uint32_t nr, uint64_t *pcs,
		   struct walk_frame *ret);

/* Returns the module that holds pc, or NULL. */
const struct walk_module *walk_map_find(const struct walk_map *map, uint64_t pc);
