/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Moves threads away from the places of jumps (evacuate.h). */

#include "probe/evacuate.h"

#include <stdio.h>

#include "probe/area.h"
#include "probe/probe.h"
#include "tracee/backtrace.h"
#include "tracee/target.h"

#define DEPTH		512	/* frames that are looked at */
#define WORDS		4096	/* read at once */
#define SCAN_MAX	(1ull << 20)	/* bytes of a stack */

static bool is_jump(const struct probe *probe)
{
	return probe->state == PROBE_PLANNED && probe->engine == PROBE_JUMP && probe->slot;
}

/* The jump that has pc inside, but not at its first byte. */
static struct probe *jump_at(const struct probes *probes, uint64_t pc)
{
	vec_each_value(probe, &probes->all) {
		if (is_jump(probe) && pc > probe->patch &&
		    pc - probe->patch < probes->target->arch->jump_len)
			return probe;
	}
	return NULL;
}

static void give_up(const struct probes *probes, struct probe *probe, pid_t tid)
{
	char why[160];

	snprintf(why, sizeof(why), "thread %d may stand inside the patch", tid);
	choose_no_jump(probes, probe, why);
	/*
	 * The thread may be there for a moment only, and such a function has no other engine; so it
	 * is tried again.
	 */
	probe->paused = probe_is_growth(probe);
}

/* The address of the displaced copy of the instruction at pc; 0: no instruction begins at pc. */
static uint64_t displaced_at(const struct probe *probe, uint64_t pc)
{
	for (size_t i = 0; i <= probe->displaced.nr; i++)
		if (probe->address + probe->displaced.insn[i].from == pc)
			return probe->prologue + probe->displaced.insn[i].to;
	return 0;
}

/* A search through the aligned words of a stack, from SP up, for PCs inside a jump. */
struct scan {
	const struct probes *probes;
	uint64_t at, end;
	uint64_t low, high;		/* of all jumps */
	uint64_t words[WORDS];		/* those in front of at */
	size_t nr, next;
};

static void scan_begin(struct scan *scan, const struct probes *probes, uint64_t sp)
{
	*scan = (struct scan){ .probes = probes, .at = sp & ~7ull, .low = UINT64_MAX };
	scan->end = scan->at + SCAN_MAX;
	vec_each_value(probe, &probes->all)
		if (is_jump(probe)) {
			scan->low = MIN(scan->low, probe->patch);
			scan->high = MAX(scan->high,
					 probe->patch + probes->target->arch->jump_len);
		}
}

static bool scan_more(struct scan *scan)
{
	size_t got;

	if (!memory_read_ahead(&scan->probes->target->mem.memory, &scan->at, scan->end,
			       scan->words, sizeof(scan->words), &got))
		return false;
	scan->nr = got / sizeof(scan->words[0]);
	scan->next = 0;
	scan->at += scan->nr * sizeof(scan->words[0]);
	return scan->nr > 0;
}

/* The jump that contains the next such PC; NULL: there is no more. */
static struct probe *scan_next(struct scan *scan, uint64_t *at_ret, uint64_t *pc_ret)
{
	while (scan->next < scan->nr || scan_more(scan)) {
		uint64_t pc = scan->words[scan->next++];
		struct probe *probe = pc < scan->low || pc >= scan->high ?
					      NULL : jump_at(scan->probes, pc);

		if (!probe)
			continue;
		*at_ret = scan->at - (scan->nr - scan->next + 1) * sizeof(pc);
		*pc_ret = pc;
		return probe;
	}
	return NULL;
}

#define SAVED_MAX	16	/* copies of a PC that are tried */

/* Does a walk reach the displaced instruction at `to`? */
struct passing {
	struct probes *probes;
	uint64_t to;
	bool seen;
};

static bool pass(void *ctx, uint64_t *pc, int32_t *cfa_offset)
{
	struct passing *passing = ctx;

	passing->seen |= *pc == passing->to;
	return area_translate(passing->probes, pc, cfa_offset);
}

static bool walk_comes_to(struct probes *probes, struct thread *thread, uint64_t to)
{
	struct passing passing = { .probes = probes, .to = to };
	struct walk_area area = probes->walk_area;
	uint64_t pcs[DEPTH];
	enum walk_end end;

	area.translate = pass;
	area.ctx = &passing;
	backtrace_walk(thread->target, &thread->regs, &area, pcs, DEPTH, &end);
	return passing.seen;
}

/*
 * Is the word at `at` the one in which a frame keeps its PC? Then a walk reaches `to` when that is
 * written there; otherwise the word is put back.
 */
static bool change_saved(struct probes *probes, struct thread *thread, uint64_t at, uint64_t pc,
			 uint64_t to)
{
	if (patch_fill(thread->target, at, &to, sizeof(to)))
		return false;
	if (walk_comes_to(probes, thread, to))
		return true;
	if (patch_fill(thread->target, at, &pc, sizeof(pc)) && probes->warn)
		probes->warn(probes->ctx, "a word of a stack could not be put back");
	return false;
}

/*
 * A frame of the stack has a PC inside a jump: a signal came there. There may be copies of this PC
 * (siginfo has one, if it was a trap).
 */
static void move_saved(struct probes *probes, struct thread *thread, struct probe *probe,
		       uint64_t pc)
{
	uint64_t to = displaced_at(probe, pc), at, found;
	struct scan scan;

	scan_begin(&scan, probes, regs_get(&thread->regs, thread->target->arch->sp));
	for (int tried = 0; to && tried < SAVED_MAX && scan_next(&scan, &at, &found);) {
		if (found != pc)
			continue;
		if (change_saved(probes, thread, at, pc, to))
			return;
		tried++;
	}
	give_up(probes, probe, thread->tid);
}

static void clear_words(struct probes *probes, pid_t tid, uint64_t sp)
{
	struct probe *probe;
	struct scan scan;
	uint64_t at, pc;

	scan_begin(&scan, probes, sp);
	while ((probe = scan_next(&scan, &at, &pc)))
		give_up(probes, probe, tid);
}

static void clear_stuck(struct probes *probes, const struct thread *thread)
{
	const struct arch *arch = thread->target->arch;
	struct probe *probe;
	struct regs regs;

	if (stack_use_stuck_regs(thread, &regs)) {
		probe = jump_at(probes, regs_get(&regs, arch->pc));
		if (probe)
			give_up(probes, probe, thread->tid);
		clear_words(probes, thread->tid, regs_get(&regs, arch->sp));
		return;
	}
	for (size_t i = 0; i < probes->all.nr; i++)
		if (is_jump(probes->all.at[i]))
			give_up(probes, probes->all.at[i], thread->tid);
}

/*
 * The innermost frame is in the registers. Those of a borrowed thread are also in a frame on its
 * stack (tracee/remote.h).
 */
static void clear_pc(struct probes *probes, struct thread *thread, bool borrowed)
{
	const struct arch *arch = thread->target->arch;
	uint64_t pc = regs_get(&thread->regs, arch->pc), to;
	struct probe *probe = jump_at(probes, pc);

	if (!probe)
		return;
	to = displaced_at(probe, pc);
	if (!to || borrowed) {
		give_up(probes, probe, thread->tid);
		return;
	}
	regs_set(&thread->regs, arch->pc, to);
	thread->regs_changed = true;
	/* Write them at once: mdbg may be killed after the jump is there. */
	if (thread_flush_regs(thread))
		give_up(probes, probe, thread->tid);
}

struct way {
	struct probes *probes;
	const struct thread *borrowed;
};

static void clear_thread(struct thread *thread, const struct stack_top *top, void *ctx)
{
	const struct way *way = ctx;
	struct probes *probes = way->probes;
	uint64_t pcs[DEPTH];
	enum walk_end end;
	uint32_t nr;

	if (!thread_is_stopped(thread)) {
		clear_stuck(probes, thread);
		return;
	}
	nr = backtrace_walk_top(thread, top, &probes->walk_area, pcs, DEPTH, &end);
	for (uint32_t i = 1; i < nr; i++) {
		struct probe *probe = jump_at(probes, pcs[i]);

		if (probe)
			move_saved(probes, thread, probe, pcs[i]);
	}
	/* The part of a stack that could not be walked may hold any PC. */
	if (end != WALK_COMPLETE)
		clear_words(probes, thread->tid,
			    regs_get(&thread->regs, thread->target->arch->sp));
	clear_pc(probes, thread, thread == way->borrowed);
}

void evacuate(struct probes *probes, const struct thread *borrowed)
{
	struct way way = { .probes = probes, .borrowed = borrowed };

	backtrace_each_top(probes->target, clear_thread, &way);
}
