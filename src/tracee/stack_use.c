/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Does a thread run in code of ours, or will it return into it?
 *
 * Code is unmapped if all threads say no, so the answer is taken from the target's memory alone.
 * Unwind rows come from a file, which may be wrong, or of somebody who means ill: a walk that they
 * lead past a frame, or that ends too early, would let a thread return to nothing.
 *
 *	PC			is in one of the ranges
 *	a word of the stack	from SP to the end of the stack, is, and a thread can return to it: a
 *				call ends just before it, or it is a restorer, which the kernel puts
 *				there. Other words are the program's data, such as the start of an
 *				area that it has read in the journal. A word that counts may also be
 *				one that an earlier call has left in a frame which does not write all
 *				of its words. Thunks and stubs wipe theirs, so these are rare (a
 *				signal that came in one of them); a wait for such a thread has a limit
 *	a signal's frame	is known by the restorer, the two words behind it, and the flags register,
 *				which are always so. (A restorer with zeros behind it is also what
 *				sigaction leaves on a stack.) It has a PC that counts like the thread's
 *				own; and SP. If that is on another stack (the handler's is an alternate
 *				one) the search goes on there
 *
 * In the agent's C code (an `inner` range) a thread is only by its PC or a signal's frame, since it
 * calls nothing of others. So the words there do not count, which it leaves everywhere.
 *
 * The end of a stack is what the thread's control block says (tracee/tcb.h), if SP is within; else
 * that of the mapping, and of those right behind it: a coroutine's stack may be part of a larger
 * mapping, and words behind its end can only keep code. If SP is in no mapping that can be written
 * to, or nothing of it can be read, the answer is yes.
 *
 * Only beyond WORDS_MAX bytes unwind rows decide: a thread whose stack ends somewhere in a heap of
 * gigabytes would else be inside for ever. So nobody is inside if neither the words up to there say
 * so, nor a walk that comes to the end.
 *
 * Stacks that are nobody's at the moment (suspended coroutines) are not seen here: see
 * tracee/call_count.h.
 */

#include "tracee/backtrace.h"

#include <inttypes.h>

#include "base/cleanup.h"
#include "base/page.h"
#include "os/procfs.h"
#include "tracee/gadget.h"
#include "tracee/region.h"
#include "tracee/target.h"
#include "tracee/tcb.h"

#define WINDOW		32768u
#define WORDS_MAX	(8u << 20)
#define WALK_DEPTH	2048
#define FRAME_FLAGS	7	/* the largest uc_flags that the kernel sets */
#define STACKS		8	/* alternate stacks in each other, at most */
#define AGENT_STACK	2048u	/* twice what the agent takes of it */
#define ASKED_MOST	4u	/* an answer takes 5 us, all mappings 50 us to milliseconds */
#define OTHERS		16u

/* The range that pc is in, or NULL. */
static const struct stack_range *range_of(uint64_t pc, const struct stack_range *range, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++)
		if (pc >= range[i].start && pc < range[i].end)
			return &range[i];
	return NULL;
}

static bool is_mapping(const struct journal_entry *entry)
{
	bool made = entry->state == JOURNAL_PLANNED || entry->state == JOURNAL_DONE;

	return made && (entry->kind == JOURNAL_MAPPING || entry->kind == JOURNAL_DATA ||
			entry->kind == JOURNAL_LOG || entry->kind == JOURNAL_REGION);
}

/* The start of the lowest mapping above address that the journal names, or end. */
static uint64_t next_mapping(const struct journal *journal, uint64_t address, uint64_t end)
{
	for_each_entry(entry, journal)
		if (is_mapping(entry) && entry->address > address)
			end = MIN(end, entry->address);
	return end;
}

/*
 * The words of a stack from SP up, as far as they can be read, at most WORDS_MAX bytes. They end
 * before any mapping of ours: such a mapping is full of its own addresses, and mappings that the
 * kernel makes later, such as the stack of the next thread, lie just below it.
 */
struct words {
	struct target *target;
	struct memory *memory;
	uint64_t from, at, end;
	size_t i, nr;
	uint64_t word[WINDOW / 8];
};

static bool next_word(struct words *words, uint64_t *ret)
{
	size_t got;

	if (words->at + words->i * 8 >= words->end)
		return false;
	if (words->i == words->nr) {
		words->at += words->nr * 8;
		if (!memory_read_ahead(words->memory, &words->at, words->end, words->word,
				       sizeof(words->word), &got) ||
		    got < 8)
			return false;
		words->nr = got / 8;
		words->i = 0;
	}
	*ret = words->word[words->i++];
	return true;
}

static uint64_t last_address(const struct words *words)
{
	return words->at + (words->i - 1) * 8;
}

static void words_begin(struct words *words, struct target *target, struct memory *memory,
			uint64_t sp)
{
	words->target = target;
	words->memory = memory;
	words->from = words->at = sp & ~7ull;
	words->end = words->at + WORDS_MAX;
	if (target->region)
		words->end = next_mapping(target->region->journal, words->at, words->end);
	if (target->left)
		words->end = next_mapping(target->left, words->at, words->end);
	words->i = words->nr = 0;
}

/* A thread, and where it must not be. regs has its thread pointer, if that is known. */
struct search {
	struct target *target;
	const struct regs *regs;
	const struct stack_range *range;
	uint32_t nr;
	uint64_t low, len;	/* all ranges lie in here */
	unsigned stacks;
};

bool stack_use_by_thread(struct target *target, const struct regs *regs, uint64_t *low_ret,
			 uint64_t *high_ret)
{
	uint64_t tp = regs_get(regs, target->arch->tp), block[2];
	struct tcb tcb;

	if (!target->stack_offset && target->state == TARGET_STOPPED) {
		tcb_derive(target, &tcb);
		target->stack_offset = tcb.stack_offset;
	}
	if (!tp || !target->stack_offset ||
	    memory_read(target->memory, tp + target->stack_offset, block, sizeof(block)) ||
	    !block[0] || __builtin_add_overflow(block[0], block[1], high_ret))
		return false;
	*low_ret = block[0];
	return true;
}

/* The end of the stack with SP that the thread's control block tells of; 0: of none. */
static uint64_t end_by_thread(const struct search *search, uint64_t sp)
{
	uint64_t low, high;

	return stack_use_by_thread(search->target, search->regs, &low, &high) && sp >= low &&
	       sp < high ? high : 0;
}

/* What the searches of one stop have found, for the next ones. */
struct stack_known {
	struct proc_maps maps;		/* all, if `all` */
	bool all;
	unsigned asked;			/* for how many stacks the kernel was asked for mappings */
	uint64_t other[OTHERS];		/* words that are no restorer's address, the last ones */
	unsigned nr_other;
};

static struct stack_known *known_of(struct target *target)
{
	if (!target->stack_known)
		target->stack_known = calloc(1, sizeof(*target->stack_known));
	return target->stack_known;
}

void stack_use_forget(struct target *target)
{
	if (!target->stack_known)
		return;
	procparse_maps_free(&target->stack_known->maps);
	free(target->stack_known);
	target->stack_known = NULL;
}

/* The mappings from sp on, as far as words are read. All are read if many stacks need theirs. */
static struct err *maps_from(struct target *target, struct stack_known *known, uint64_t sp)
{
	if (known->all)
		return NULL;
	procparse_maps_free(&known->maps);
	known->maps = (struct proc_maps){ VEC_INIT };
	if (target->kind->live && known->asked++ < ASKED_MOST)
		return procfs_maps_at(target->mem.tid, sp, sp + WORDS_MAX, &known->maps,
				      &known->all);
	known->all = true;
	return target_maps(target, &known->maps);
}

/* 0: SP is on no stack. */
static uint64_t end_by_maps(const struct search *search, uint64_t sp)
{
	struct stack_known *known = known_of(search->target);
	const struct proc_map *map, *behind;
	uint64_t end;

	if (!known || maps_from(search->target, known, sp))
		return 0;
	map = procparse_maps_find(&known->maps, sp);
	if (!map || !map->write)
		return 0;
	end = map->end;
	/* The process may have split its stack into several mappings (by madvise, for example). */
	behind = known->maps.vec.at + known->maps.vec.nr;
	while (++map < behind && map->start == end && map->write && !map->shared)
		end = map->end;
	return end;
}

static bool in_any(const struct search *search, uint64_t pc)
{
	return range_of(pc, search->range, search->nr);
}

/*
 * Will a thread that has this word on its stack return to it? If the code cannot be read, it may;
 * but pages of an area that nobody has touched are read, as zeros: there is no code.
 */
static bool returns_to(const struct search *search, uint64_t word)
{
	const struct stack_range *range = range_of(word, search->range, search->nr);
	struct target *target = search->target;
	uint8_t before[16];
	uint64_t len;

	if (!range || range->inner)
		return false;
	len = MIN(word - range->start, (uint64_t)target->arch->call_most);
	return memory_read(&target->mem.bring, word - len, before, len) ||
	       target->arch->ends_in_call(before, len) || gadget_is_restorer(target, word);
}

static bool stack_has(struct search *search, uint64_t sp);

/* The ucontext of a signal's frame. from, end: the stack that it is on. */
static bool frame_has(struct search *search, uint64_t context, uint64_t from, uint64_t end)
{
	const struct arch *arch = search->target->arch;
	struct memory *memory = search->target->memory;
	uint64_t sp, pc;

	if (memory_read_u64(memory, context + arch->context_sp, &sp) ||
	    memory_read_u64(memory, context + arch->context_pc, &pc))
		return true;
	if (in_any(search, pc))
		return true;
	return (sp < from || sp >= end) && stack_has(search, sp);
}

/* If they cannot be read, they may be any. */
static bool has_flags(const struct search *search, uint64_t context)
{
	const struct arch *arch = search->target->arch;
	uint64_t flags;

	return memory_read_u64(search->target->memory, context + arch->context_flags, &flags) ||
	       ((flags & arch->entry_flags) == arch->entry_flags && flags <= UINT32_MAX);
}

/*
 * The same few words are on all stacks of a program, such as the return address of what a thread
 * began with.
 */
static bool is_restorer(const struct search *search, uint64_t word)
{
	struct stack_known *known = known_of(search->target);

	for (unsigned i = 0; known && i < OTHERS; i++)
		if (known->other[i] == word)
			return false;
	if (gadget_is_restorer(search->target, word))
		return true;
	if (known)
		known->other[known->nr_other++ % OTHERS] = word;
	return false;
}

/* Do these words begin a signal's frame: the restorer, uc_flags, uc_link? The context is the second. */
static bool is_frame(const struct search *search, const uint64_t word[3], uint64_t context)
{
	return word[1] <= FRAME_FLAGS && !word[2] && word[0] >= PAGE &&
	       (in_any(search, word[0]) || modules_find(&search->target->modules, word[0])) &&
	       is_restorer(search, word[0]) && has_flags(search, context);
}

/* Rows alone: see the top of this file. */
static bool walk_comes_there(const struct search *search)
{
	AUTO_FREE uint64_t *pcs = malloc(WALK_DEPTH * sizeof(*pcs));
	enum walk_end end;
	uint32_t nr;

	if (!pcs)
		return true;
	nr = backtrace_walk(search->target, search->regs, NULL, pcs, WALK_DEPTH, &end);
	for (uint32_t i = 0; i < nr; i++)
		if (in_any(search, pcs[i]))
			return true;
	return end != WALK_COMPLETE;
}

static bool stack_has(struct search *search, uint64_t sp)
{
	uint64_t end = end_by_thread(search, sp), last[3] = { 0, UINT64_MAX, UINT64_MAX }, context;
	struct words words;

	if (!end)
		end = end_by_maps(search, sp);
	if (!end || search->stacks++ == STACKS)
		return true;
	words_begin(&words, search->target, search->target->memory, sp);
	words.end = MIN(words.end, end);
	while (next_word(&words, &last[2])) {
		if (last[2] - search->low < search->len && returns_to(search, last[2]))
			return true;
		context = last_address(&words) - 8;
		if (is_frame(search, last, context) && frame_has(search, context, sp, end))
			return true;
		last[0] = last[1];
		last[1] = last[2];
	}
	if (!words.nr)
		return true;		/* it cannot be read */
	return end - sp > WORDS_MAX && words.end - words.from >= WORDS_MAX &&
	       walk_comes_there(search);
}

static bool uses(struct target *target, const struct regs *regs, const struct stack_range *range,
		 uint32_t nr)
{
	struct search search = { target, regs, range, nr, UINT64_MAX, 0, 0 };
	uint64_t high = 0;

	for (uint32_t i = 0; i < nr; i++) {
		search.low = MIN(search.low, range[i].start);
		high = MAX(high, range[i].end);
	}
	search.len = high - search.low;
	return in_any(&search, regs_get(regs, target->arch->pc)) ||
	       stack_has(&search, regs_get(regs, target->arch->sp));
}

bool stack_uses(struct target *target, const struct regs *regs, const struct stack_range *range,
		uint32_t nr)
{
	bool used = uses(target, regs, range, nr);

	stack_use_forget(target);
	return used;
}

/* The last two words of /proc/TID/syscall, as proc(5) has it, if the thread is in the kernel. */
bool stack_use_stuck_regs(const struct thread *thread, struct regs *ret)
{
	const struct arch *arch = thread->target->arch;
	AUTO_FREE char *text = NULL;
	uint64_t sp, pc;
	char *last;

	if (procfs_file(thread->tid, "syscall", &text, NULL))
		return false;
	last = strrchr(text, ' ');
	if (!last || sscanf(last, "%" SCNx64, &pc) != 1)
		return false;
	*last = 0;
	last = strrchr(text, ' ');
	if (!last || sscanf(last, "%" SCNx64, &sp) != 1)
		return false;
	memset(ret, 0, sizeof(*ret));
	regs_set(ret, arch->pc, pc);
	regs_set(ret, arch->sp, sp);
	return true;
}

bool stack_use_of_thread(struct thread *thread, const struct stack_range *range, uint32_t nr)
{
	struct regs regs;

	if (thread_is_stopped(thread))
		return uses(thread->target, &thread->regs, range, nr);
	return !stack_use_stuck_regs(thread, &regs) || uses(thread->target, &regs, range, nr);
}

uint64_t stack_use_thunk_frame(struct target *target, struct memory *memory, uint64_t sp,
			       bool (*is_return)(void *ctx, uint64_t pc), void *ctx)
{
	struct words words;
	uint64_t word;

	words_begin(&words, target, memory, sp);
	words.end = words.at + AGENT_STACK;
	while (next_word(&words, &word)) {
		if (is_return(ctx, word))
			return last_address(&words);
	}
	return 0;
}
