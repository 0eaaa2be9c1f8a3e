/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The stack walk. It is freestanding: no libc, no static data, and it reads only memory within the
 * caller's bounds.
 *
 * A frame is a PC, the SP in it and, as far as they are known, BP, RBX, R12 to R15 and (innermost)
 * the other registers. Its row gives the CFA, which is the caller's SP; the return address lies
 * right below. The walk ends at a row that says so (_start, clone3), or where it cannot continue
 * with certainty.
 * It guesses only in one case: the frame pointer of code without any CFI.
 *
 * Each frame's SP is above the last one's, or the stack is corrupt. There are two exceptions. A
 * signal frame may lead anywhere (sigaltstack). A function that has switched to another stack
 * (__morestack, a coroutine's start) has a CFA on the old one, which may lie lower. By that a walk
 * steps down only if the CFA lies below all that the stack of SP has in use, more than STEP_LEAST
 * away, and its return address is in a module. Both kinds of frames are among the PCs that are
 * stored, so that their number bounds the walk all the same.
 *
 * A traced walk notes each stack word when it first matters: a return address as soon as it is
 * read, a restored BP or RBX only when a rule uses it. Until then BP is a value and where it came
 * from (fp_at). The loop is compiled twice, so that the other walks do not pay for it.
 *
 * R12 to R15 are hardly ever needed. So a walk follows them only once a row has asked for one: it
 * then begins again, from the start, with a third loop.
 */

#include "unwind/walk.h"

#include "base/compiler.h"
#include "unwind/walk_registers.h"

/* our own frames (stubs) in one stack; they nest as allocators do, two or three deep */
#define OWN_MAX		64
#define STEP_LEAST	4096u

const struct walk_module *walk_map_find(const struct walk_map *map, uint64_t pc)
{
	const struct walk_module *module = map->module;
	uint32_t nr = map->nr;

	/* This compiles to conditional moves, as in rows_find(). */
	while (nr > 1) {
		uint32_t half = nr / 2;

		module = module[half].start <= pc ? module + half : module;
		nr -= half;
	}
	return nr && pc >= module->start && pc < module->end ? module : NULL;
}

/* Returns the row for pc. NULL: there is no module (*in_module_ret is false) or no row. */
static inline const struct row *row_find(struct walker *walker, uint64_t pc, bool *in_module_ret)
{
	const struct walk_module *module = walker->module;
	struct walk_cache *cache = walker->map->cache;
	uint32_t slot = (uint32_t)(pc ^ pc >> 9) % WALK_CACHE_ENTRIES;
	const struct row *row;

	*in_module_ret = true;
	if (cache && LIKELY(cache->entry[slot].key == ~pc))
		return &cache->entry[slot].row;
	if (!module || pc < module->start || pc >= module->end) {
		module = walk_map_find(walker->map, pc);
		if (!module) {
			*in_module_ret = false;
			return NULL;
		}
		walker->module = module;
	}
	row = rows_find(&module->rows, (uint32_t)(pc - module->start));
	if (cache && row) {
		cache->entry[slot].key = ~pc;
		cache->entry[slot].row = *row;
	}
	return row;
}

/* Continue in the caller. False: the return address says that there is none. */
static inline bool caller_enter(struct walker *walker, uint64_t pc, uint64_t sp)
{
	walker->pc = pc;
	walker->sp = sp;
	walker->regs_from = REGS_NONE;
	walker->exact = false;
	return pc != 0;
}

static inline void bx_restore(struct walker *walker, const struct row *row, uint64_t cfa)
{
	if (row->bx)
		walker->bx_at = row->bx == ROW_BX_LOST ? BX_LOST : cfa - 8 * (uint64_t)row->bx;
}

/* BP of the caller is in another register. */
static NOINLINE void fp_restore_register(struct walker *walker, const struct row *row)
{
	walker->fp_lost = walk_register(walker, (unsigned)row->fp_offset, &walker->fp) ?
		WALK_COMPLETE : WALK_REGISTER;
	walker->fp_at = FP_NOTED;
}

/*
 * Restore BP of the caller, by the row. It is read although it may never be needed, so a failure
 * counts only when it is.
 */
static ALWAYS_INLINE void fp_restore(struct walker *walker, const struct row *row, uint64_t cfa,
				     bool traced)
{
	uint64_t at;

	switch (row->fp) {
	case ROW_FP_SAME:
		return;
	case ROW_FP_CFA:
		at = cfa + (uint64_t)(int64_t)row->fp_offset;
		break;
	case ROW_FP_FP:
		if (walker->fp_lost)
			return;
		if (traced)
			note_fp(walker);
		at = walker->fp + (uint64_t)(int64_t)row->fp_offset;
		break;
	case ROW_FP_REG:
		fp_restore_register(walker, row);
		return;
	default:
		walker->fp_lost = WALK_COMPLEX;
		return;
	}
	if (traced)
		walker->fp_at = at;
	walker->fp_lost = word_read(walker->stack, at, &walker->fp) ? WALK_COMPLETE : WALK_MEMORY;
}

/* Leave a signal frame, from which the kernel restores all registers. */
static bool signal_leave(struct walker *walker, enum walk_end *end)
{
	static const uint8_t offsets[FRAME_REGS] = FRAME_SIGNAL_OFFSETS;
	uint64_t at = walker->sp, pc, sp, fp;

	*end = WALK_MEMORY;
	if (!word_read(walker->stack, at + offsets[FRAME_RA], &pc) ||
	    !word_read(walker->stack, at + offsets[FRAME_SP], &sp) ||
	    !word_read(walker->stack, at + offsets[FRAME_FP], &fp))
		return false;
	if (walker->trace)
		walker->trace->whole = false;
	walker->pc = pc;
	walker->sp = sp;
	walker->fp = fp;
	walker->fp_lost = WALK_COMPLETE;
	walker->bx_at = at + offsets[FRAME_BX];
	for (unsigned i = 0; walker->kept_at && i < ROW_KEPT; i++)
		walker->kept_at[i] = at + offsets[FRAME_KEPT + i];
	walker->regs_from = REGS_SIGNAL;
	walker->exact = true;
	return true;
}

/* Compute the CFA for the rarer rows. */
static bool cfa_find(struct walker *walker, const struct row *row, uint64_t *cfa,
		     enum walk_end *end)
{
	uint64_t offset = (uint64_t)(int64_t)row->cfa_offset, at;

	switch (row->cfa) {
	case ROW_CFA_REG:
	case ROW_CFA_REG_MEM:
		*end = WALK_REGISTER;
		if (!walk_register(walker, row_reg(row), &at))
			return false;
		*cfa = at += offset;
		if (row->cfa == ROW_CFA_REG)
			return true;
		*end = WALK_MEMORY;
		if (!word_read(walker->stack, at, cfa))
			return false;
		note_slot(walker, at, *cfa);
		*cfa += row_add(row);
		return true;
	case ROW_CFA_FP_MEM:
	case ROW_CFA_SP_MEM:
		*end = walker->fp_lost;
		if (row->cfa == ROW_CFA_FP_MEM && walker->fp_lost)
			return false;
		if (row->cfa == ROW_CFA_FP_MEM)
			note_fp(walker);
		at = (row->cfa == ROW_CFA_FP_MEM ? walker->fp : walker->sp) + offset;
		*end = WALK_MEMORY;
		if (!word_read(walker->stack, at, cfa))
			return false;
		note_slot(walker, at, *cfa);
		*cfa += row_add(row);
		return true;
	case ROW_CFA_PLT:
		*cfa = walker->sp + offset + ((walker->pc & 15) >= row->cfa_reg ? 8 : 0);
		return true;
	default:
		*end = row->cfa == ROW_CFA_END ? WALK_COMPLETE : WALK_COMPLEX;
		return false;
	}
}

/* Leave a function whose return address is not where the call has put it (vfork has a register). */
static bool moved_leave(struct walker *walker, const struct row *row, enum walk_end *end)
{
	bool by_fp = row->cfa == ROW_CFA_FP_RA_REG || row->cfa == ROW_CFA_FP_RA_AT;
	uint64_t cfa = by_fp ? walker->fp : walker->sp, at, pc;

	*end = walker->fp_lost;
	if (by_fp && walker->fp_lost)
		return false;
	if (by_fp)
		note_fp(walker);
	cfa += (uint64_t)(int64_t)row->cfa_offset;
	/* In other frames than the innermost a call has put something on the stack. */
	*end = WALK_LOOP;
	if (cfa < walker->sp || (cfa == walker->sp && !walker->exact))
		return false;
	if (row->cfa == ROW_CFA_SP_RA_AT || row->cfa == ROW_CFA_FP_RA_AT) {
		at = cfa + 8 * (uint64_t)(int8_t)row->cfa_reg;
		*end = WALK_MEMORY;
		if (!word_read(walker->stack, at, &pc))
			return false;
		note_slot(walker, at, pc);
	} else {
		*end = WALK_REGISTER;
		if (!walk_register(walker, row->cfa_reg, &pc))
			return false;
	}
	fp_restore(walker, row, cfa, true);
	bx_restore(walker, row, cfa);
	if (walker->kept_at)
		walk_registers_restore_kept(walker, row, cfa);
	*end = WALK_COMPLETE;
	return caller_enter(walker, pc, cfa);
}

/* Note the place from which another walk can go on as soon as the module is known. */
static void note_outside(const struct walker *walker)
{
	struct walk_outside *outside = walker->stack->outside;
	const struct walk_regs *innermost = walker->innermost;

	if (!outside || outside->pc)
		return;
	outside->pc = walker->pc;
	outside->sp = walker->sp;
	outside->fp = walker->fp_lost ? 0 : walker->fp;
	outside->exact = walker->exact;
	outside->bx = 0;
	if (walker->bx_at == BX_INNERMOST && innermost->regs && innermost->nr_regs > FRAME_BX)
		outside->bx = innermost->regs[FRAME_BX];
	else if (walker->bx_at > BX_LOST)
		(void)word_read(walker->stack, walker->bx_at, &outside->bx);
}

static bool begins_in_module(const struct walker *walker)
{
	return walk_map_find(walker->map, walker->innermost->pc - 1);
}

/*
 * For code without CFI, use [BP] and [BP+8] if that looks like a frame. A module's code may have
 * been called by JIT code (as V8's builtins are): such a caller, and its callers, are unproven
 * until one of them turns out to have been called by a module. Frames that stay unproven are
 * dropped again (frames).
 */
static bool frame_pointer_leave(struct walker *walker, bool in_module, enum walk_end *end)
{
	uint64_t frame = walker->fp, fp, pc;

	*end = in_module ? WALK_NO_ROW : WALK_NO_MODULE;
	if (!in_module)
		note_outside(walker);
	if (walker->fp_lost)
		return false;
	note_fp(walker);
	if (frame < walker->sp || frame > UINT64_MAX - 16)
		return false;
	if (!word_read(walker->stack, frame, &fp) || !word_read(walker->stack, frame + 8, &pc))
		return false;
	note_slot(walker, frame + 8, pc);
	if (!pc)
		return false;
	if (walk_map_find(walker->map, pc - 1))
		walker->unproven = 0;
	else if (in_module || walker->unproven || begins_in_module(walker))
		walker->unproven++;
	walker->fp = fp;
	walker->fp_at = frame;
	walk_registers_lose(walker);
	return caller_enter(walker, pc, frame + 16);
}

/*
 * Leave a function that has switched stacks, for the frame that BP has kept: goroutines' stacks lie
 * below those of threads. If it is above SP the function was called on the thread's stack, and did
 * not switch; its caller's frame, which BP does not lead to, is then not known.
 */
static bool switch_leave(struct walker *walker, enum walk_end *end)
{
	uint64_t frame = walker->fp, fp, pc;

	*end = walker->fp_lost;
	if (walker->fp_lost)
		return false;
	note_fp(walker);
	*end = WALK_NO_ROW;
	if (frame >= walker->sp)
		return false;
	*end = WALK_MEMORY;
	if (!word_read(walker->stack, frame, &fp) || !word_read(walker->stack, frame + 8, &pc))
		return false;
	note_slot(walker, frame + 8, pc);
	*end = WALK_NO_ROW;
	if (!walk_map_find(walker->map, pc - 1))
		return false;
	walker->fp = fp;
	walker->fp_at = frame;
	walk_registers_lose(walker);
	return caller_enter(walker, pc, frame + 16);
}

/* The CFA is not above SP: is it on another stack? */
static NOINLINE bool steps_down(const struct walker *walker, const struct row *row, uint64_t cfa)
{
	const struct walk_stack *stack = walker->stack;
	uint64_t at = cfa + (uint64_t)FRAME_RA_OFFSET, pc;

	return row->cfa != ROW_CFA_SP && cfa <= walker->sp && walker->sp - cfa > STEP_LEAST &&
	       (at < stack->low || at >= stack->high) && word_read(stack, at, &pc) &&
	       walk_map_find(walker->map, pc - 1);
}

/* Continue from the current frame in its caller. False: there is none; *end says why. */
static ALWAYS_INLINE bool frame_leave(struct walker *walker, enum walk_end *end, bool traced,
				      bool keeps)
{
	uint64_t pc, cfa;
	bool in_module;
	const struct row *row = row_find(walker, walker->pc - !walker->exact, &in_module);

	if (!row || row->cfa == ROW_CFA_NONE)
		return frame_pointer_leave(walker, in_module, end);
	if (LIKELY(row->cfa == ROW_CFA_SP)) {
		cfa = walker->sp + (uint64_t)(int64_t)row->cfa_offset;
	} else if (row->cfa == ROW_CFA_FP) {
		*end = walker->fp_lost;
		if (walker->fp_lost)
			return false;
		if (traced)
			note_fp(walker);
		cfa = walker->fp + (uint64_t)(int64_t)row->cfa_offset;
	} else if (row->cfa == ROW_CFA_SIGNAL) {
		return signal_leave(walker, end);
	} else if (row->cfa == ROW_CFA_FP_SWITCH) {
		return switch_leave(walker, end);
	} else if (row->cfa == ROW_CFA_SP_RA_REG || row->cfa >= ROW_CFA_FP_RA_REG) {
		return moved_leave(walker, row, end);
	} else if (!cfa_find(walker, row, &cfa, end)) {
		return false;
	}
	*end = WALK_LOOP;
	if (UNLIKELY(cfa <= walker->sp || cfa - walker->sp < 8) && !steps_down(walker, row, cfa))
		return false;
	*end = WALK_MEMORY;
	if (!word_read(walker->stack, cfa + (uint64_t)FRAME_RA_OFFSET, &pc))
		return false;
	if (traced)
		note_slot(walker, cfa + (uint64_t)FRAME_RA_OFFSET, pc);
	fp_restore(walker, row, cfa, traced);
	bx_restore(walker, row, cfa);
	if (keeps)
		walk_registers_restore_kept(walker, row, cfa);
	*end = WALK_COMPLETE;
	return caller_enter(walker, pc, cfa);
}

/* Leave a frame of our own: BP is unchanged, and the return address is below the CFA. */
static bool own_leave(struct walker *walker, int32_t cfa_offset, enum walk_end *end)
{
	uint64_t cfa = walker->sp + (uint64_t)(int64_t)cfa_offset, pc;

	*end = WALK_LOOP;
	if (cfa_offset < 8 || cfa < walker->sp)
		return false;
	*end = WALK_MEMORY;
	if (!word_read(walker->stack, cfa + (uint64_t)FRAME_RA_OFFSET, &pc))
		return false;
	note_slot(walker, cfa + (uint64_t)FRAME_RA_OFFSET, pc);
	*end = WALK_COMPLETE;
	return caller_enter(walker, pc, cfa);
}

static ALWAYS_INLINE uint32_t frames(struct walker *walker, const struct walk_area *area,
				     uint64_t *pcs, uint32_t max, enum walk_end *end, bool traced,
				     bool keeps)
{
	uint64_t area_start = area ? area->start : 0, area_len = area ? area->end - area->start : 0;
	uint32_t nr = 0, own = 0;
	int32_t cfa_offset;
	bool more;

	do {
		if (UNLIKELY(walker->pc - area_start < area_len) &&
		    !area->translate(area->ctx, &walker->pc, &cfa_offset)) {
			*end = WALK_LOOP;
			more = own++ < OWN_MAX && own_leave(walker, cfa_offset, end);
			continue;
		}
		if (nr == max) {
			*end = WALK_DEPTH;
			break;
		}
		pcs[nr++] = walker->pc;
		more = frame_leave(walker, end, traced, keeps);
	} while (more);
	if (UNLIKELY(walker->unproven) && *end != WALK_DEPTH) {
		nr -= MIN(nr, walker->unproven);
		*end = nr && !walk_map_find(walker->map, pcs[nr - 1] - 1) ? WALK_NO_MODULE :
			WALK_NO_ROW;
	}
	return nr;
}

/* This is out of line, so that a plain walk does not need its stack as well. */
static NOINLINE uint32_t frames_traced(struct walker *walker, const struct walk_area *area,
				       uint64_t *pcs, uint32_t max, enum walk_end *end)
{
	return frames(walker, area, pcs, max, end, true, false);
}

static void begin(struct walker *walker, const struct walk_start *start, struct walk_trace *trace)
{
	walker->map = start->map;
	walker->stack = start->stack;
	walker->innermost = start->regs;
	walker->module = NULL;
	walker->pc = start->regs->pc;
	walker->sp = start->regs->sp;
	walker->fp = start->regs->fp;
	walker->fp_at = FP_INITIAL;
	walker->bx_at = BX_INNERMOST;
	walker->trace = trace;
	walker->regs_from = start->in_caller ? REGS_NONE : REGS_INNERMOST;
	walker->fp_lost = WALK_COMPLETE;
	walker->unproven = 0;
	walker->exact = !start->in_caller;
	walker->wants_kept = false;
	walker->kept_at = NULL;
	if (!trace)
		return;
	trace->whole = true;
	trace->fp_used = trace->bx_used = false;
	trace->nr = 0;
}

/* Walk once more, following R12 to R15: a rule has turned out to need one of them. */
static NOINLINE uint32_t walk_keeping(struct walker *walker, const struct walk_start *start,
				      uint64_t *pcs, uint32_t max, enum walk_end *end)
{
	uint64_t kept_at[ROW_KEPT] = { BX_INNERMOST, BX_INNERMOST, BX_INNERMOST, BX_INNERMOST };

	if (start->stack->outside)
		start->stack->outside->pc = 0;
	begin(walker, start, walker->trace);
	walker->kept_at = kept_at;
	return frames(walker, start->area, pcs, max, end, true, true);
}

uint32_t walk(const struct walk_start *start, uint64_t *pcs, uint32_t max, enum walk_end *end,
	      struct walk_trace *trace)
{
	const struct walk_map *map = start->map;
	struct walker walker;
	uint32_t nr;

	if (map->cache && map->cache->generation != map->generation) {
		for (uint32_t i = 0; i < WALK_CACHE_ENTRIES; i++)
			map->cache->entry[i].key = 0;
		map->cache->generation = map->generation;
	}
	begin(&walker, start, trace);
	nr = trace ? frames_traced(&walker, start->area, pcs, max, end) :
		     frames(&walker, start->area, pcs, max, end, false, false);
	return UNLIKELY(walker.wants_kept) ? walk_keeping(&walker, start, pcs, max, end) : nr;
}

#if __STDC_HOSTED__	/* not in the agent */
bool walk_frame_at(const struct walk_start *start, uint32_t nr, uint64_t *pcs,
		   struct walk_frame *ret)
{
	uint64_t kept_at[ROW_KEPT] = { BX_INNERMOST, BX_INNERMOST, BX_INNERMOST, BX_INNERMOST };
	struct walk_map map = *start->map;
	struct walker walker;
	enum walk_end end;

	map.cache = NULL;
	*ret = (struct walk_frame){ .pc = 0 };
	begin(&walker, start, NULL);
	walker.map = &map;
	walker.kept_at = kept_at;
	if (frames(&walker, start->area, pcs, nr, &end, false, true) != nr || end != WALK_DEPTH)
		return false;
	ret->pc = walker.pc;
	ret->exact = walker.exact;
	for (unsigned reg = 0; reg < FRAME_REGS; reg++)
		if (reg == FRAME_FP ? !walker.fp_lost :
				      walk_register(&walker, reg, &ret->regs[reg]))
			ret->known |= 1u << reg;
	ret->regs[FRAME_FP] = walker.fp;
	ret->regs[FRAME_RA] = walker.pc;
	ret->known |= 1u << FRAME_RA;
	/* The CFA is the caller's SP; but what a signal frame leads to has an SP of its own. */
	ret->has_cfa = frame_leave(&walker, &end, false, true) && walker.regs_from == REGS_NONE;
	ret->cfa = walker.sp;
	return true;
}
#endif
