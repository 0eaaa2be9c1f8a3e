/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stack walks of a target's threads. */

#include "tracee/backtrace.h"

#include <inttypes.h>

#include "base/cleanup.h"
#include "tracee/target.h"

/*
 * The least and the most bytes that are copied at first. In between it is as many as the target's
 * stacks have needed so far.
 */
#define COPY_MIN	1024u
#define COPY		8192u
#define WINDOW		4096u
#define USES_DEPTH	2048

struct window {
	struct memory *memory;
	bool used;
	uint64_t start, end;
	uint8_t bytes[WINDOW];
};

/* The word is above what was copied: read a page around it. */
static bool more(void *ctx, uint64_t addr, uint64_t *ret)
{
	struct window *window = ctx;
	size_t got;

	window->used = true;
	if (addr < window->start || addr + sizeof(*ret) > window->end) {
		if (memory_read_some(window->memory, addr, window->bytes, WINDOW,
				     &got) ||
		    got < sizeof(*ret))
			return false;
		window->start = addr;
		window->end = addr + got;
	}
	memcpy(ret, window->bytes + (addr - window->start), sizeof(*ret));
	return true;
}

static uint32_t dwarf_regs(const struct arch *arch, const struct regs *regs, uint64_t *by_number)
{
	uint32_t nr = ARRAY_SIZE(arch->dwarf_to_word);

	for (uint32_t i = 0; i < nr; i++)
		by_number[i] =
			arch->dwarf_to_word[i] == 0xff ? 0 : regs_get(regs, arch->dwarf_to_word[i]);
	return nr;
}

/* The output of a walk. */
struct path {
	uint64_t *pcs;
	uint32_t max;
	enum walk_end *end;
	/* regs are at the first instruction of a function: see backtrace_walk_entry */
	bool at_entry;
	struct walk_frame *frame;	/* behind the pcs; NULL: it is not wanted */
};

/* Walk with the memory of stack; its other fields are set here. */
static uint32_t walk_over(struct target *target, const struct regs *regs,
			  const struct walk_stack *stack, const struct walk_area *area,
			  const struct path *path)
{
	const struct arch *arch = target->arch;
	uint64_t by_number[ARRAY_SIZE(arch->dwarf_to_word)];
	struct walk_regs from = {
		.pc = regs_get(regs, arch->pc),
		.sp = regs_get(regs, arch->sp),
		.fp = regs_get(regs, arch->fp),
		.regs = by_number,
		.nr_regs = dwarf_regs(arch, regs, by_number),
	};
	struct walk_map map = target->modules.map;
	struct walk_start start;
	struct walk_area own;

	if (!area && target->kind->walk_area(target, &own))
		area = &own;
	map.cache = &target->walk_cache;
	if (path->at_entry) {
		*path->pcs = from.pc;
		*path->end = WALK_MEMORY;
		if (memory_read_u64(target->memory, from.sp, &from.pc))
			return 1;
		from.sp += sizeof(from.pc);
	}
	start = (struct walk_start){ &map, &from, stack, area, path->at_entry };
	if (path->frame)
		return walk_frame_at(&start, path->max, path->pcs, path->frame);
	return path->at_entry + walk(&start, path->pcs + path->at_entry,
				     path->max - path->at_entry, path->end, NULL);
}

static uint32_t walk_from_top(struct target *target, const struct regs *regs,
			      const struct stack_top *top, const struct walk_area *area,
			      const struct path *path, bool *more_ret)
{
	struct window window;
	struct walk_stack stack = { .copy = top->copy,
				    .low = top->low,
				    .high = top->high,
				    .more = more,
				    .ctx = &window };
	uint32_t nr;

	/* The fields are set one by one because an initialiser would clear the bytes, too. */
	window.memory = target->memory;
	window.used = false;
	window.start = window.end = 0;
	nr = walk_over(target, regs, &stack, area, path);
	*more_ret = window.used;
	return nr;
}

static uint32_t walk_regs(struct target *target, const struct regs *regs,
			  const struct walk_area *area, const struct path *path)
{
	uint8_t copy[COPY];
	struct stack_top top = { .copy = copy };
	struct regs begin;
	bool needs_more;
	uint64_t sp;
	uint32_t nr;
	size_t got;

	target->kind->walk_start(target, regs, &begin);
	sp = top.low = regs_get(&begin, target->arch->sp);

	if (memory_read_some(target->memory, sp, copy, MAX(target->stack_copy, COPY_MIN),
			     &got))
		got = 0;
	top.high = sp + got;
	nr = walk_from_top(target, &begin, &top, area, path, &needs_more);
	if (needs_more)
		target->stack_copy = MIN(2 * MAX(target->stack_copy, COPY_MIN), COPY);
	return nr;
}

uint32_t backtrace_walk(struct target *target, const struct regs *regs,
			const struct walk_area *area,
			uint64_t *pcs, uint32_t max, enum walk_end *end)
{
	return walk_regs(target, regs, area, &(struct path){ pcs, max, end, .frame = NULL });
}

uint32_t backtrace_walk_entry(struct target *target, const struct regs *regs,
			      const struct walk_area *area, uint64_t *pcs, uint32_t max,
			      enum walk_end *end)
{
	return walk_regs(target, regs, area, &(struct path){ pcs, max, end, .at_entry = true });
}

bool backtrace_frame(struct target *target, const struct regs *regs, const struct walk_area *area,
		     uint32_t nr, struct walk_frame *ret)
{
	AUTO_FREE uint64_t *pcs = calloc(nr + 1, sizeof(*pcs));
	enum walk_end end;

	return pcs && walk_regs(target, regs, area,
				&(struct path){ pcs, nr, &end, .frame = ret });
}

uint32_t backtrace_walk_top(const struct thread *thread, const struct stack_top *top,
			    const struct walk_area *area, uint64_t *pcs, uint32_t max,
			    enum walk_end *end)
{
	const struct path path = { pcs, max, end, .frame = NULL };
	bool unused;

	return walk_from_top(thread->target, &thread->regs, top, area, &path, &unused);
}

#define TOPS	32	/* threads whose stacks are read at once */
/*
 * Bytes that are copied of each stack. Every cache line is a miss (512 bytes take 1.4 us, 1,664
 * take 4.5), and most stacks of waiting threads are shorter; walks over the others read more.
 */
#define TOP	512u

/* Threads whose tops are read together. */
struct tops {
	struct target *target;
	void (*fn)(struct thread *thread, const struct stack_top *top, void *ctx);
	void *ctx;
	size_t nr, len;		/* len: TOP, or 0 without memory for it */
	uint8_t *bytes;
	struct thread *thread[TOPS];
	struct procmem_piece piece[TOPS];
};

static void hand_out(struct tops *tops)
{
	struct err *err = procmem_read_pieces(&tops->target->mem, tops->piece, tops->nr);

	for (size_t i = 0; i < tops->nr; i++) {
		const struct procmem_piece *piece = &tops->piece[i];
		struct stack_top top = { piece->buf, piece->addr, piece->addr };

		if (!err)
			top.high += piece->got;
		tops->fn(tops->thread[i], &top, tops->ctx);
	}
	tops->nr = 0;
}

static void add_top(struct tops *tops, struct thread *thread)
{
	const struct arch *arch = tops->target->arch;

	if (!thread_is_stopped(thread)) {
		tops->fn(thread, NULL, tops->ctx);
		return;
	}
	tops->thread[tops->nr] = thread;
	tops->piece[tops->nr] = (struct procmem_piece){
		.addr = regs_get(&thread->regs, arch->sp) - arch->red_zone,
		.buf = tops->bytes + tops->nr * tops->len,
		.len = tops->len,
	};
	if (++tops->nr == TOPS)
		hand_out(tops);
}

void backtrace_each_top(struct target *target,
			void (*fn)(struct thread *thread, const struct stack_top *top, void *ctx),
			void *ctx)
{
	AUTO_FREE uint8_t *bytes = malloc(TOPS * TOP);
	struct tops tops = { .target = target, .fn = fn, .ctx = ctx, .bytes = bytes };
	struct thread *thread;

	tops.len = bytes ? TOP : 0;
	for_each_thread(thread, target)
		add_top(&tops, thread);
	hand_out(&tops);
	stack_use_forget(target);
}

struct slot {
	uint64_t address, value;
};

/* A walk for which the place of each PC is known. */
struct walked {
	struct window window;
	VEC(struct slot) reads;
	bool short_of_memory;
	enum walk_end end;
	uint32_t nr;
	uint64_t pc[USES_DEPTH];
	uint64_t slot[USES_DEPTH];	/* where it was found; 0: in a register */
};

static bool read_noted(void *ctx, uint64_t addr, uint64_t *ret)
{
	struct walked *walked = ctx;

	if (!more(&walked->window, addr, ret))
		return false;
	if (vec_reserve(&walked->reads, 1)) {
		walked->short_of_memory = true;
		return false;
	}
	walked->reads.at[walked->reads.nr++] = (struct slot){ addr, *ret };
	return true;
}

static void walk_noted(struct target *target, struct memory *memory, const struct regs *regs,
		       const struct walk_area *area, struct walked *walked)
{
	uint64_t sp = regs_get(regs, target->arch->sp);
	struct walk_stack stack = { .low = sp, .high = sp, .more = read_noted, .ctx = walked };
	const struct path path = { walked->pc, USES_DEPTH, &walked->end, .frame = NULL };
	size_t next = 0;

	walked->window.memory = memory ? memory : target->memory;
	walked->nr = walk_over(target, regs, &stack, area, &path);
	for (uint32_t i = 1; i < walked->nr; i++) {
		size_t at = next;

		while (at < walked->reads.nr && walked->reads.at[at].value != walked->pc[i])
			at++;
		walked->slot[i] = at < walked->reads.nr ? walked->reads.at[at].address : 0;
		next = walked->slot[i] ? at + 1 : next;
	}
}

struct err *backtrace_frames(struct target *target, struct memory *memory, const struct regs *regs,
			     const struct walk_area *area, struct stack_frames *ret)
{
	AUTO_FREE struct walked *walked = calloc(1, sizeof(*walked));
	uint64_t *words;
	bool failed;

	if (!walked)
		return err_nomem;
	walk_noted(target, memory, regs, area, walked);
	failed = walked->short_of_memory;
	vec_free(&walked->reads);
	words = failed ? NULL : malloc((2 * walked->nr + 1) * sizeof(*words));
	if (!words)
		return err_nomem;
	*ret = (struct stack_frames){ words, words + walked->nr, walked->nr, walked->end };
	memcpy(ret->pc, walked->pc, walked->nr * sizeof(*words));
	memcpy(ret->slot, walked->slot, walked->nr * sizeof(*words));
	return NULL;
}

void backtrace_frames_free(struct stack_frames *frames)
{
	free(frames->pc);
	*frames = (struct stack_frames){ .nr = 0 };
}

bool backtrace_frames_at(const struct stack_frames *frames, uint64_t address, uint64_t *pc_ret,
			 bool *returns_ret)
{
	for (uint32_t i = 0; i + 1 < frames->nr && frames->slot[i + 1]; i++) {
		if (address > frames->slot[i + 1])
			continue;
		*pc_ret = frames->pc[i];
		*returns_ret = i > 0;
		return true;
	}
	return false;
}
