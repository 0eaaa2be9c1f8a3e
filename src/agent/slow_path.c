/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The ledger's environment in the target, and the functions by which thunks call the ledger
 * (log/ledger.h, state.h). Freestanding.
 */

#include "agent/slow_path.h"

#include "log/ref_ring.h"

/*
 * For walks: recognises return addresses that point into thunks and stubs. Displaced prologues have
 * no frame of their own, and there are no rows for a PC inside of them.
 */
static bool translate(void *ctx, uint64_t *pc, int32_t *cfa_offset)
{
	const struct agent_state *state = ctx;
	const struct agent_slot *slot = (const void *)(*pc & ~(uint64_t)(AGENT_SLOT - 1));
	uint32_t offset = *pc % AGENT_SLOT;

	for (uint32_t i = 0; i < state->nr_areas; i++) {
		const struct agent_range *area = &state->area[i];

		if (*pc - area->start >= area->end - area->start)
			continue;
		if (offset < AGENT_SLOT_THUNK)
			return true;
		*cfa_offset = (int32_t)(offset < AGENT_SLOT_STUB ? slot->thunk_cfa :
								   slot->stub_cfa);
		return false;
	}
	return true;
}

static inline const struct agent_probe *probe_of(const struct ledger_call *call)
{
	return (const void *)((const char *)call->function - offsetof(struct agent_probe, ledger));
}

static inline const struct agent_state *state_of(const struct ledger_call *call)
{
	return (const void *)((const char *)call->ledger - offsetof(struct agent_state, ledger));
}

static ALWAYS_INLINE uint32_t env_walk(const struct ledger_call *call, uint32_t depth)
{
	const struct agent_probe *probe = probe_of(call);
	const uint64_t *saved = call->env;	/* RBP and RBX */
	const struct agent_state *state = state_of(call);
	struct agent_thread *thread = (struct agent_thread *)call->thread;
	struct walk_area area = { 0, UINT64_MAX, translate, (void *)(uintptr_t)state };
	const struct walk_map *map = __atomic_load_n(&state->map, __ATOMIC_RELAXED);
	struct cache_walk walk = {
		.setting = cache_setting(map->generation, depth),
		.map = map,
		.area = &area,
		.log = log_of(state),
		.function = probe->address,
		.pc = *(const volatile uint64_t *)call->sp,
		.sp = call->sp + 8,
		.bp = saved[0],
		.bx = saved[1],
		.high = agent_thread_stack_end(state, call->thread, call->sp),
		.depth = depth,
		.thread = ledger_number(call->thread),
	};

	if (UNLIKELY(!thread))
		return unwind_cache_stack(NULL, &walk);
	thread->cache.more = agent_stacks_word;
	thread->cache.others = (struct agent_walk){
		.state = state, .thread = call->thread, .low = walk.sp, .high = walk.high,
	};
	return unwind_cache_stack(&thread->cache, &walk);
}

static ALWAYS_INLINE void env_count(const struct ledger_call *call, uint32_t stack, uint64_t blocks,
				    uint64_t bytes)
{
	struct agent_thread *thread = (struct agent_thread *)call->thread;

	unwind_cache_add(LIKELY(thread) ? &thread->cache : NULL, call->ledger->log, stack, blocks,
			 bytes);
}

static inline bool env_bounds(const struct ledger_call *call)
{
	return agent_thread_bounds(state_of(call), call->thread, call->sp);
}

static inline bool env_word(const struct ledger_call *call, uint64_t at, uint64_t *ret)
{
	if (at != call->sp &&
	    at > agent_thread_stack_end(state_of(call), call->thread, call->sp) - 8)
		return false;
	*ret = *(const volatile uint64_t *)at;
	return true;
}

static inline uint64_t env_caller(const struct ledger_call *call)
{
	uint64_t pc = *(const volatile uint64_t *)call->sp;
	int32_t unused;

	return translate((void *)(uintptr_t)state_of(call), &pc, &unused) ? pc : 0;
}

/* The return address of a free is read again only on a stack whose bounds are known. */
static inline bool env_tells(const struct ledger_call *call)
{
	const struct ledger_thread *thread = call->thread;

	return thread && (thread->freed != call->block || ledger_holds(thread, call->sp));
}

/*
 * What is freed may be no block, and nothing be mapped there: then the function itself must have the
 * fault, and not the agent. Where nobody may ask the kernel (agent_stacks.h), no head is read.
 */
static inline bool env_head(const struct ledger_call *call, uint64_t *ret)
{
	uint64_t at = call->block - sizeof(*ret);

	if (at < LOG_PAGE || at % sizeof(*ret) || !state_of(call)->stacks.asks ||
	    !cpu_can_read(at))
		return false;
	*ret = *(const volatile uint64_t *)(uintptr_t)at;
	return true;
}

#include "log/ledger_events.h"

/* The key of a block in the log; 0: none. */
static inline uint64_t key(const struct agent_probe *probe, uint64_t block)
{
	return block ? block | (uint64_t)probe->ledger.user << LOG_DOMAIN_SHIFT : 0;
}

static ALWAYS_INLINE struct ledger_call call_of(const struct agent_state *state,
						const struct agent_probe *probe,
						struct agent_thread *thread, uint64_t sp,
						uint64_t block, const uint64_t *saved)
{
	return (struct ledger_call){
		.ledger = &state->ledger,
		.thread = (struct ledger_thread *)thread,
		.function = &probe->ledger,
		.sp = sp,
		.block = block,
		.env = saved,
	};
}

static ALWAYS_INLINE struct ledger_call framed_call(const struct agent_frame *frame,
						    const struct agent_probe *probe,
						    struct agent_thread *thread)
{
	uint64_t block = probe->ledger.resize ? key(probe, frame->arg[probe->ptr]) : 0;

	return call_of(probe->state, probe, thread, entry_sp(frame), block, &frame->bp);
}

static inline uint64_t size_argument(const struct agent_frame *frame,
				     const struct agent_probe *probe)
{
	return probe->size < 0 ? probe->bytes : size_of_block(frame, probe);
}

/* The block that the function has returned, or 0. */
static inline uint64_t result_block(const struct agent_frame *frame,
				    const struct agent_probe *probe)
{
	if (LIKELY(probe->role != AGENT_NEW_BY_REF))
		return frame->ax;
	return (uint32_t)frame->ax ? 0 : *(const volatile uint64_t *)frame->arg[probe->ptr];
}

/*
 * Where the log samples, all that the slow path takes is measured (log/sample_cost.h). A
 * thread that loses its processor meanwhile counts SLOW_MOST at most; one without state is left out.
 */
#define SLOW_MOST	(1u << 16)	/* ticks */

static inline void slow_begin(const struct agent_state *state, struct agent_thread *thread)
{
	if (UNLIKELY(state->ledger.sample) && LIKELY(thread))
		thread->ledger.began = log_now();
}

static inline void slow_end(const struct agent_state *state, const struct agent_thread *thread)
{
	if (UNLIKELY(state->ledger.sample) && LIKELY(thread))
		account_add(log_of(state), thread->ledger.log_thread, LOG_ACCOUNT(slow_ticks),
			    MIN(log_now() - thread->ledger.began, (uint64_t)SLOW_MOST));
}

/* Handles all returns but the plain case (a plain function, in a thread with nothing under way). */
static NOINLINE void leave_otherwise(const struct agent_frame *frame,
				     const struct agent_probe *probe, struct agent_thread *thread)
{
	struct ledger_call call = framed_call(frame, probe, thread);

	ledger_leave(&call, &frame->words, key(probe, result_block(frame, probe)),
		     size_argument(frame, probe));
	slow_end(probe->state, thread);
	agent_thread_let_go(thread);
}

void slow_path_leave_kept(struct agent_frame *frame, const struct agent_probe *probe, KEPT)
{
	const struct agent_state *state = probe->state;
	uint64_t block = frame->ax;
	struct agent_thread *thread;
	struct ledger_call call;

	if (!enabled(probe->state))
		return;
	if (!probe->ledger.entered)
		frame->words = (struct ledger_words){ 0, 0 };
	thread = agent_thread_hold(state);
	slow_begin(state, thread);
	keep(thread, r12, r13, r14, r15);
	if (UNLIKELY(!thread) || UNLIKELY(probe->role | probe->ledger.throwing) ||
	    UNLIKELY(thread->ledger.nr_ops) || UNLIKELY(!block)) {
		leave_otherwise(frame, probe, thread);
		return;
	}
	call = call_of(state, probe, thread, entry_sp(frame), 0, &frame->bp);
	record(&call, &frame->words, key(probe, block), size_argument(frame, probe), false);
	slow_end(state, thread);
	agent_thread_let_go(thread);
}

/*
 * The function is about to free a chain of blocks, as the user says, and follows the same links in the
 * same order. The user may be wrong: a page is read only if the kernel says that it can be.
 */
static NOINLINE void release_chain(const struct agent_frame *frame,
				   const struct agent_probe *probe, struct agent_thread *thread)
{
	uint64_t block = frame->arg[probe->ptr], link = frame->arg[probe->count], page = 0;
	struct ledger_call call;

	for (uint32_t i = 0; block && i < USER_CHAIN_MOST; i++) {
		uint64_t at = block + link, next;

		if (at % sizeof(next) || !probe->state->stacks.asks)
			return;
		if (at / LOG_PAGE != page && !cpu_can_read(at))
			return;
		page = at / LOG_PAGE;
		next = *(const volatile uint64_t *)(uintptr_t)at;
		call = call_of(probe->state, probe, thread, entry_sp(frame), key(probe, block),
			       NULL);
		(void)ledger_release(&call);
		block = next;
	}
}

uint64_t agent_enter_kept(struct agent_frame *frame, const struct agent_probe *probe, KEPT)
{
	struct agent_thread *thread;
	struct ledger_call call;
	bool as_it_is;

	/* Do not run its nothrow form: that may call the throwing one, and so on for ever. */
	if (!enabled(probe->state))
		return 1;
	thread = agent_thread_hold(probe->state);
	if (UNLIKELY(probe->call)) {
		release_chain(frame, probe, thread);
		agent_thread_let_go(thread);
		return 1;
	}
	slow_begin(probe->state, thread);
	keep(thread, r12, r13, r14, r15);
	call = framed_call(frame, probe, thread);
	as_it_is = ledger_enter(&call, &frame->words);
	slow_end(probe->state, thread);
	agent_thread_let_go(thread);
	return as_it_is;
}

uint64_t slow_path_release(uint64_t block, uint64_t sp, const struct agent_probe *probe)
{
	const struct agent_state *state = probe->state;
	struct agent_thread *thread;
	struct ledger_call call;
	uint64_t say;

	if (!enabled(probe->state))
		return 0;
	/* A reference: all that is done with it needs the stack. */
	if (UNLIKELY(probe->call))
		return block ? LEDGER_UNKNOWN : 0;
	thread = agent_thread_hold(state);
	slow_begin(state, thread);
	call = call_of(state, probe, thread, sp, key(probe, block), NULL);
	say = ledger_release(&call);
	slow_end(state, thread);
	agent_thread_let_go(thread);
	return say;
}

/* call->block is the object, in the domain of malloc's blocks. */
static NOINLINE void note_reference(const struct ledger_call *call, uint8_t what)
{
	struct ref_event event;

	event.object = call->block & ((1ull << LOG_PROCESS_SHIFT) - 1);
	event.time = log_now();
	event.thread = ledger_number(call->thread);
	event.stack = env_walk(call, call->ledger->depth);
	event.gives = what == USER_CALL_UNREF;
	ref_ring_put(call->ledger->log, &event);
}

void agent_unknown_free_kept(uint64_t block, uint64_t sp, const struct agent_probe *probe,
			     uint64_t bp, uint64_t bx, uint64_t said, KEPT)
{
	const uint64_t saved[] = { bp, bx };
	struct agent_thread *thread;
	struct ledger_call call;

	if (!enabled(probe->state))
		return;
	thread = agent_thread_hold(probe->state);
	keep(thread, r12, r13, r14, r15);
	call = call_of(probe->state, probe, thread, sp, block, saved);
	if (UNLIKELY(probe->call))
		note_reference(&call, probe->call);
	else
		ledger_unknown_free(&call, said);
	agent_thread_let_go(thread);
}

uint32_t slow_path_stack(const struct agent_probe *probe, struct agent_thread *thread, uint64_t sp,
			 const uint64_t *saved)
{
	struct ledger_call call = call_of(probe->state, probe, thread, sp, 0, saved);

	return env_walk(&call, probe->state->ledger.depth);
}
