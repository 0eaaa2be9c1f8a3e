/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the calls of thunks mean to the log (theory in state.h). Freestanding.
 *
 * From agent_enter to agent_leave the frame says how the entry was taken:
 *
 *	op[0]	op[1]
 *	LISTED	draws		an operation of the thread, or none to be listed; how many blocks the thread
 *				had drawn for (state.h, sampling)
 *	ALONE	TOOK | size	there was no thread to list it: what a realloc took
 */

#include "agent/record.h"

#include "log/quick.h"
#include "log/sample.h"
#include "log/stray.h"

enum { LISTED, ALONE };

#define TOOK		(1ull << 63)

/* What a walk begins with: SP at a function's entry, and its caller's registers. */
struct call {
	uint64_t sp, bp, bx;
};

static inline void count(const struct agent_state *state, const struct agent_thread *thread,
			 unsigned what, uint64_t by)
{
	account_add(log_of(state), agent_thread_number(thread), what, by);
}

static inline uint64_t argument(const struct agent_frame *frame, int8_t nr)
{
	return nr < 0 ? 0 : frame->arg[nr];
}

static inline uint64_t size_argument(const struct agent_frame *frame,
				     const struct agent_probe *probe)
{
	return probe->size < 0 ? 0 : size_of_block(frame, probe);
}

/* By what the log knows a block. */
static inline uint64_t key(const struct agent_probe *probe, uint64_t block)
{
	return block | (uint64_t)probe->user << LOG_DOMAIN_SHIFT;
}

/* The block that is resized, or 0. */
static inline uint64_t resized(const struct agent_frame *frame, const struct agent_probe *probe)
{
	uint64_t block = probe->role == AGENT_RESIZE ? argument(frame, probe->ptr) : 0;

	return block ? key(probe, block) : 0;
}

/* The block that the function gave, or 0. */
static inline uint64_t result_block(const struct agent_frame *frame,
				    const struct agent_probe *probe)
{
	if (LIKELY(probe->role != AGENT_NEW_BY_REF))
		return frame->ax;
	return (uint32_t)frame->ax ? 0 : *(const volatile uint64_t *)frame->arg[probe->ptr];
}

/*
 * Of walks: where return addresses lead to thunks and stubs. Displaced prologues have no frame of
 * their own, and what is interrupted there no rows.
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

static ALWAYS_INLINE uint32_t walk_call(const struct call *call, const struct agent_probe *probe,
					struct agent_thread *thread, uint32_t depth,
					uint32_t blocks, uint64_t bytes)
{
	const struct agent_state *state = probe->state;
	struct walk_area area = { 0, UINT64_MAX, translate, (void *)(uintptr_t)state };
	struct memo_walk walk = {
		.map = __atomic_load_n(&state->map, __ATOMIC_RELAXED),
		.area = &area,
		.log = log_of(state),
		.function = probe->address,
		.pc = *(const volatile uint64_t *)call->sp,
		.sp = call->sp + 8,
		.bp = call->bp,
		.bx = call->bx,
		.high = agent_thread_stack_end(state, thread, call->sp),
		.depth = depth,
		.thread = agent_thread_number(thread),
		.blocks = blocks,
	};

	return memo_stack(LIKELY(thread) ? &thread->memo : NULL, &walk, bytes);
}

static inline struct call call_of(const struct agent_frame *frame)
{
	return (struct call){ entry_sp(frame), frame->bp, frame->bx };
}

/* As walk_call, of a call that has returned. */
static ALWAYS_INLINE uint32_t take_stack(const struct agent_frame *frame,
					 const struct agent_probe *probe,
					 struct agent_thread *thread, uint32_t blocks,
					 uint64_t bytes)
{
	struct call call = call_of(frame);

	return walk_call(&call, probe, thread, probe->state->depth, blocks, bytes);
}

/* Is a free by this function remembered, of a block that the log had? */
static inline bool remembers(const struct agent_probe *probe)
{
	return UNLIKELY(probe->state->history) && !probe->user;
}

/* The block was freed, whatever else happens. */
static NOINLINE void remember_free(const struct agent_state *state,
				   const struct agent_thread *thread, uint64_t block,
				   uint64_t block_time, uint32_t stack)
{
	struct log_free free = {
		.address = block,
		.block_time = block_time,
		.time = log_now(),
		.thread = agent_thread_number(thread),
		.stack = stack,
	};

	log_note_free(log_of(state), &free);
}

/* Where the call comes from; 0: out of code of ours, so that only a walk can tell. */
static uint64_t caller_of(const struct agent_state *state, const struct call *call)
{
	uint64_t pc = *(const volatile uint64_t *)call->sp;
	int32_t unused;

	return translate((void *)(uintptr_t)state, &pc, &unused) ? pc : 0;
}

/*
 * The block is not in the log, but perhaps it was (freed). Nothing has been allocated by this stack, so
 * it is not counted to it. What it is, is told by its stack: a few frames of it at least.
 */
static NOINLINE void stray(const struct call *call, const struct agent_probe *probe,
			   struct agent_thread *thread, uint64_t block, bool freed)
{
	const struct agent_state *state = probe->state;
	struct log_stray free;
	uint32_t stack = walk_call(call, probe, thread, MAX(state->depth, STRAY_DEPTH), 0, 0);
	bool bounded, told_apart;

	/* One by one: an initialiser would clear it first. */
	free.address = block;
	free.time = log_now();
	free.thread = agent_thread_number(thread);
	free.stack = stack;
	bounded = thread && agent_thread_holds(thread, call->sp);
	free.on_stack = bounded && block >= call->sp && block < thread->stack_high;
	/* Of a free that leads to another one the stack must tell. */
	told_apart = thread && (thread->freed != block || bounded);
	log_stray(log_of(state), &free, &state->facts, caller_of(state, call),
		  freed && told_apart);
}

/* Is it worth a look? */
static inline bool may_be_stray(const struct agent_probe *probe)
{
	return !probe->state->sample && !probe->user;
}

/* The record that a new one has replaced was part of the same call: as if it had never been. */
static NOINLINE void drop_inner(const struct agent_state *state, const struct agent_thread *thread,
				const struct log_record *inner)
{
	struct sample_share share = sample_share(state->sample, inner->size, inner->time);

	count(state, thread, LOG_ACCOUNT(replaced), -1ull);
	count(state, thread, LOG_ACCOUNT(free_bytes), -inner->size);
	count(state, thread, LOG_ACCOUNT(allocs), -1ull);
	count(state, thread, LOG_ACCOUNT(alloc_bytes), -inner->size);
	count(state, thread, LOG_ACCOUNT(nested), 1);
	log_stack_count(log_of(state), inner->stack, -share.blocks, -share.bytes);
}

/* Perhaps it is the same block as the last one, and its record is still there. */
static NOINLINE bool insert_again(const struct agent_state *state, struct agent_thread *thread,
				  const struct log_record *new, uint64_t last, uint64_t sp)
{
	struct log_record old;

	if (!log_insert(log_of(state), new, &old))
		return false;
	if (old.address && old.time == last && thread->inserted_sp < sp)
		drop_inner(state, thread, &old);
	return true;
}

static ALWAYS_INLINE bool insert(const struct agent_state *state, struct agent_thread *thread,
				 struct log_record *new, uint64_t sp)
{
	uint64_t last;
	bool is_in;

	if (UNLIKELY(!thread)) {
		new->time = log_now();
		return log_insert(log_of(state), new, NULL);
	}
	last = thread->last_time;
	new->time = thread->last_time = next_time(thread);
	if (thread->inserted == new->address || UNLIKELY(state->sample))
		is_in = insert_again(state, thread, new, last, sp);
	else
		is_in = quick_insert(log_of(state), new, NULL);
	thread->inserted = new->address;
	thread->inserted_sp = sp;
	return is_in;
}

/* *new is made here. False: there is no room for it. */
static ALWAYS_INLINE bool record_all(const struct agent_frame *frame,
				     const struct agent_probe *probe, struct agent_thread *thread,
				     uint64_t block, uint64_t size, struct log_record *new)
{
	const struct agent_state *state = probe->state;
	uint32_t stack = take_stack(frame, probe, thread, 1, size);

	/* One by one: an initialiser would clear it first. Now: until here the walk has the room. */
	new->address = block;
	new->size = size;
	new->thread = agent_thread_number(thread);
	new->stack = stack;
	new->heap = LOG_HEAP_UNKNOWN;
	if (LIKELY(insert(state, thread, new, entry_sp(frame))))
		return true;
	log_stack_count(log_of(state), new->stack, -1ull, -size);
	return false;
}

/* Is a sample inside this block? */
static inline bool draw(const struct agent_state *state, struct agent_thread *thread,
			uint64_t block, uint64_t size, uint64_t sp)
{
	size = sample_size(size);
	if (UNLIKELY(!thread)) {
		uint64_t random = log_now() ^ sp << 32;

		return sample_gap(&random, state->sample) < size;
	}
	if (UNLIKELY(!thread->random)) {
		thread->random = log_now() ^ sp << 32 ^ thread->key;
		thread->gap = sample_gap(&thread->random, state->sample);
	}
	if (thread->freed == block)
		thread->freed = 0;	/* it is another block now */
	thread->draws++;
	thread->drawn = block;
	thread->drawn_gap = thread->gap;
	thread->drawn_in = thread->gap < size;
	if (LIKELY(!thread->drawn_in))
		thread->gap -= size;
	else
		thread->gap = sample_gap(&thread->random, state->sample);
	return thread->drawn_in;
}

/* Was the block drawn for inside of this call? */
static inline bool drawn_inside(const struct agent_frame *frame, const struct agent_probe *probe,
				const struct agent_thread *thread, uint64_t block)
{
	return probe->entered && frame->op[0] == LISTED && thread->drawn == block &&
	       thread->draws != (uint32_t)frame->op[1];
}

/* The inner record of a call that turns out not to be sampled. */
static void take_back_inner(const struct agent_state *state, const struct agent_thread *thread,
			    uint64_t block)
{
	struct log_record inner;

	if (thread->inserted != block || !log_lookup(log_of(state), block, &inner) ||
	    inner.time != thread->last_time ||
	    !log_remove(log_of(state), block, thread->log_thread, &inner))
		return;
	count(state, thread, LOG_ACCOUNT(frees), -1ull);
	count(state, thread, LOG_ACCOUNT(replaced), 1);
	count(state, thread, LOG_ACCOUNT(unsampled), 1);
	drop_inner(state, thread, &inner);
}

static NOINLINE void record_samples(const struct agent_frame *frame,
				    const struct agent_probe *probe, struct agent_thread *thread,
				    uint64_t block, uint64_t size)
{
	const struct agent_state *state = probe->state;
	uint64_t sp = entry_sp(frame);
	bool again = thread && drawn_inside(frame, probe, thread, block);
	bool was_in = again && thread->drawn_in;
	struct sample_share share;
	struct log_record new;

	if (UNLIKELY(again))
		thread->gap = thread->drawn_gap;
	if (LIKELY(!draw(state, thread, block, size, sp))) {
		if (was_in)
			take_back_inner(state, thread, block);
		else
			count(state, thread, again ? LOG_ACCOUNT(nested) : LOG_ACCOUNT(unsampled), 1);
		return;
	}
	if (again && !was_in) {
		count(state, thread, LOG_ACCOUNT(unsampled), -1ull);
		count(state, thread, LOG_ACCOUNT(nested), 1);
	}
	if (!record_all(frame, probe, thread, block, size, &new))
		return;
	share = sample_share(state->sample, size, new.time);
	log_stack_count(log_of(state), new.stack, share.blocks - 1, share.bytes - size);
}

/* The stack that was taken; LOG_STACK_NONE where it is drawn for. */
static ALWAYS_INLINE uint32_t record(const struct agent_frame *frame,
				     const struct agent_probe *probe, struct agent_thread *thread,
				     uint64_t block)
{
	uint64_t size = MIN(size_argument(frame, probe), SIZE_MAX_LOG);
	struct log_record new;

	block = key(probe, block);
	if (UNLIKELY(probe->state->sample)) {
		record_samples(frame, probe, thread, block, size);
		return LOG_STACK_NONE;
	}
	record_all(frame, probe, thread, block, size, &new);
	return new.stack;
}

/* A resize has failed: what its entry took is as it was. */
static NOINLINE void put_back(const struct agent_frame *frame, const struct agent_probe *probe,
			      const struct agent_thread *thread, const struct agent_op *op)
{
	struct log *log = log_of(probe->state);
	struct log_record old;

	if (op && op->took) {
		log_restore(log, &op->old, thread->log_thread);
	} else if (frame->op[0] == ALONE && frame->op[1] & TOOK) {
		/* Mostly log_restore finds the rest where it was. */
		old.address = resized(frame, probe);
		old.size = frame->op[1] & ~TOOK;
		old.time = log_now();
		old.thread = 0;
		old.stack = LOG_STACK_NONE;
		old.heap = LOG_HEAP_UNKNOWN;
		log_restore(log, &old, agent_thread_number(thread));
	} else if (probe->state->sample && (op ? op->missed : frame->op[0] == ALONE)) {
		/* The entry has counted a free that was none. */
		count(probe->state, thread, LOG_ACCOUNT(unsampled_frees), -1ull);
	}
}

/* A resize has freed what it took: it has moved it, or size 0 was asked for. */
static inline void remember_taken(const struct agent_state *state,
				  const struct agent_thread *thread, const struct agent_op *op,
				  uint32_t stack)
{
	remember_free(state, thread, op->ptr, op->old.time, stack);
}

/* By size 0: nothing was recorded, so that its stack is not known. */
static NOINLINE void remember_freed(const struct agent_frame *frame,
				    const struct agent_probe *probe, struct agent_thread *thread,
				    const struct agent_op *op)
{
	remember_taken(probe->state, thread, op, take_stack(frame, probe, thread, 0, 0));
}

/* The function has returned; op (may be NULL) is the operation that its entry has listed. */
static inline void finish(const struct agent_frame *frame, const struct agent_probe *probe,
			  struct agent_thread *thread, struct agent_op *op)
{
	uint64_t block = result_block(frame, probe);
	uint32_t stack;

	if (op && op->inside) {
		count(probe->state, thread, LOG_ACCOUNT(nested), 1);
		return;
	}
	if (LIKELY(block)) {
		/* Who finds this in the log knows that what was taken is no longer there. */
		if (op)
			__atomic_store_n(&op->gave, key(probe, block), __ATOMIC_RELEASE);
		stack = record(frame, probe, thread, block);
		if (op && op->took && op->ptr != op->gave && remembers(probe))
			remember_taken(probe->state, thread, op, stack);
		return;
	}
	if (resized(frame, probe)) {
		if (!size_argument(frame, probe)) {	/* freed */
			if (op && op->took && remembers(probe))
				remember_freed(frame, probe, thread, op);
			return;
		}
		put_back(frame, probe, thread, op);
	}
	count(probe->state, thread, LOG_ACCOUNT(failed), 1);
}

/*
 * The operation that was entered with this frame, all those inside it dropped; NULL: it was taken
 * for void.
 */
static struct agent_op *find_op(const struct agent_frame *frame, const struct agent_probe *probe,
				struct agent_thread *thread)
{
	for (uint32_t i = thread ? thread->nr_ops : 0; i-- > 0;) {
		struct agent_op *op = &thread->op[i];

		if (op->sp != entry_sp(frame) || op->probe != probe)
			continue;
		if (thread->nr_ops > i + 1)
			count(probe->state, thread, LOG_ACCOUNT(voided), thread->nr_ops - i - 1);
		thread->nr_ops = i + 1;
		return op;
	}
	return NULL;
}

static void leave_entered(const struct agent_frame *frame, const struct agent_probe *probe,
			  struct agent_thread *thread)
{
	struct agent_op *op = NULL;

	if (frame->op[0] == LISTED) {
		op = find_op(frame, probe, thread);
		if (!op && thread)	/* taken for void, and back after all */
			count(probe->state, thread, LOG_ACCOUNT(voided), -1ull);
	}
	finish(frame, probe, thread, op);
	compiler_barrier();
	if (op)
		thread->nr_ops--;
}

/* All that is not a plain function's block, recorded by a thread with nothing under way. */
static NOINLINE void leave_otherwise(const struct agent_frame *frame,
				     const struct agent_probe *probe, struct agent_thread *thread)
{
	if (probe->role == AGENT_RESIZE || probe->throwing) {
		leave_entered(frame, probe, thread);
	} else {
		if (thread && thread->nr_ops)
			agent_thread_void(probe->state, thread, entry_sp(frame));
		finish(frame, probe, thread, NULL);
	}
	agent_thread_let_go(thread);
}

void record_leave(struct agent_frame *frame, const struct agent_probe *probe)
{
	const struct agent_state *state = probe->state;
	struct agent_thread *thread;
	uint64_t block = frame->ax;

	if (!enabled(state))
		return;
	thread = agent_thread_hold(state);
	if (UNLIKELY(!thread) || UNLIKELY(probe->role | probe->throwing) ||
	    UNLIKELY(thread->nr_ops) || UNLIKELY(!block)) {
		leave_otherwise(frame, probe, thread);
		return;
	}
	record(frame, probe, thread, block);
	agent_thread_let_go(thread);
}

/* The innermost operation that was entered above sp and resizes this block. */
static bool inside_resize_of(const struct agent_thread *thread, uint64_t sp, uint64_t block)
{
	for (uint32_t i = thread->nr_ops; i-- > 0;)
		if (thread->op[i].sp > sp && thread->op[i].ptr == block)
			return true;
	return false;
}

/*
 * A throwing function whose nothrow twin calls it in turn (libstdc++'s do): the inner call must run
 * as it is, or it would go round in circles.
 */
static bool called_by_own_twin(const struct agent_thread *thread, const struct agent_probe *probe,
			       uint64_t sp)
{
	for (uint32_t i = thread->nr_ops; i-- > 0;)
		if (thread->op[i].probe == probe && thread->op[i].sp > sp)
			return true;
	return false;
}

/* A place for one more operation, not listed yet. */
static struct agent_op *next_op(const struct agent_state *state, struct agent_thread *thread)
{
	if (thread->nr_ops == AGENT_OPS) {
		for (uint32_t i = 1; i < AGENT_OPS; i++) {
			thread->op[i - 1] = thread->op[i];
			compiler_barrier();	/* or this becomes a call of memmove */
		}
		thread->nr_ops--;
		count(state, thread, LOG_ACCOUNT(voided), 1);
	}
	return &thread->op[thread->nr_ops];
}

/* The block that is resized. */
static void take_out(const struct agent_frame *frame, const struct agent_probe *probe,
		     struct agent_thread *thread, struct agent_op *op)
{
	struct call call = call_of(frame);

	op->took = log_remove(log_of(probe->state), op->ptr, thread->log_thread, &op->old);
	op->missed = !op->took;
	if (UNLIKELY(!op->took) && may_be_stray(probe))
		stray(&call, probe, thread, op->ptr, op->old.address);
}

static void enter_listed(struct agent_frame *frame, const struct agent_probe *probe,
			 struct agent_thread *thread)
{
	uint64_t sp = entry_sp(frame), block = resized(frame, probe);
	struct agent_op *op = next_op(probe->state, thread);

	op->sp = sp;
	op->probe = probe;
	op->ptr = block;
	op->gave = 0;
	op->took = op->missed = 0;
	op->inside = block && inside_resize_of(thread, sp, block);
	compiler_barrier();
	thread->nr_ops++;
	if (block && !op->inside)
		take_out(frame, probe, thread, op);
}

/* Without state: nothing tells a throwing function's own twin, so it is let alone. */
static NOINLINE uint64_t enter_alone(struct agent_frame *frame, const struct agent_probe *probe)
{
	uint64_t block = resized(frame, probe);
	struct call call = call_of(frame);
	struct log_record old;

	if (probe->throwing) {
		count(probe->state, NULL, LOG_ACCOUNT(voided), 1);
		return 1;
	}
	frame->op[0] = ALONE;
	frame->op[1] = 0;
	if (block && log_remove(log_of(probe->state), block, 0, &old))
		frame->op[1] = TOOK | old.size;
	else if (block && may_be_stray(probe))
		stray(&call, probe, NULL, block, old.address);
	return 0;
}

ENTRY uint64_t agent_enter(struct agent_frame *frame, const struct agent_probe *probe)
{
	const struct agent_state *state = probe->state;
	struct agent_thread *thread;
	bool twin;

	/* Not by its nothrow form: that may call a throwing one, which would come round for ever. */
	if (!enabled(state))
		return 1;
	thread = agent_thread_hold(state);
	if (UNLIKELY(!thread))
		return enter_alone(frame, probe);
	if (UNLIKELY(thread->nr_ops))
		agent_thread_void(state, thread, entry_sp(frame));
	twin = probe->throwing && called_by_own_twin(thread, probe, entry_sp(frame));
	frame->op[0] = LISTED;
	frame->op[1] = thread->draws;
	if (!twin && (probe->throwing || probe->role == AGENT_RESIZE))
		enter_listed(frame, probe, thread);
	agent_thread_let_go(thread);
	return twin;
}

/* Did the last free that may do so lead to this one? */
static bool led_to_by_last_free(const struct agent_state *state, struct agent_thread *thread,
				uint64_t sp, uint64_t block)
{
	struct log_record record;

	if (thread->freed != block || sp > thread->freed_sp ||
	    thread->freed_sp > agent_thread_stack_end(state, thread, sp) - 8 ||
	    *(const volatile uint64_t *)thread->freed_sp != thread->freed_ra)
		return false;
	return !log_lookup(log_of(state), block, &record);
}

/* Is a free part of another event? */
static NOINLINE bool release_inside(const struct agent_state *state, struct agent_thread *thread,
				    uint64_t sp, uint64_t block)
{
	if (thread->nr_ops)
		agent_thread_void(state, thread, sp);
	if (!inside_resize_of(thread, sp, block) && !led_to_by_last_free(state, thread, sp, block))
		return false;
	count(state, thread, LOG_ACCOUNT(nested), 1);
	return true;
}

/* What agent_release is to say. */
static uint64_t release(const struct agent_state *state, const struct agent_probe *probe,
			const struct agent_thread *thread, uint64_t block)
{
	struct log_record old;

	if (UNLIKELY(state->sample)) {
		log_remove(log_of(state), block, agent_thread_number(thread), NULL);
		return 0;
	}
	if (UNLIKELY(!quick_remove(log_of(state), block, agent_thread_number(thread), &old)))
		return may_be_stray(probe) ? agent_missed(&old) : 0;
	return remembers(probe) ? old.time : 0;
}

uint64_t record_release(uint64_t block, uint64_t sp, const struct agent_probe *probe)
{
	const struct agent_state *state = probe->state;
	struct agent_thread *thread;
	uint64_t say = 0;

	if (!enabled(state))
		return 0;
	thread = agent_thread_hold(state);
	if (UNLIKELY(!block)) {
		count(state, thread, LOG_ACCOUNT(null_frees), 1);
		agent_thread_let_go(thread);
		return 0;
	}
	block = key(probe, block);
	if (UNLIKELY(!thread) || LIKELY(!thread->nr_ops && thread->freed != block) ||
		   !release_inside(state, thread, sp, block)) {
		say = release(state, probe, thread, block);
		if (LIKELY(thread) && probe->wraps)
			note_freed(thread, block, sp);
	}
	agent_thread_let_go(thread);
	return say;
}

ENTRY void agent_stray(uint64_t block, uint64_t sp, const struct agent_probe *probe, uint64_t bp,
		       uint64_t bx, uint64_t said)
{
	const struct agent_state *state = probe->state;
	struct call call = { sp, bp, bx };
	struct agent_thread *thread;

	if (!enabled(state))
		return;
	thread = agent_thread_hold(state);
	if (said > AGENT_FREED)
		remember_free(state, thread, block, said,
			      walk_call(&call, probe, thread, state->depth, 0, 0));
	else
		stray(&call, probe, thread, block, said == AGENT_FREED);
	agent_thread_let_go(thread);
}
