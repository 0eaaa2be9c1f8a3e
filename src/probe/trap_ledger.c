/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The ledger's environment in mdbg, and the functions by which traps come to the ledger (theory in
 * trap_ledger.h).
 */

#include "probe/trap_ledger.h"

#include <stdlib.h>
#include <string.h>

#include "base/trace.h"
#include "log/ref_ring.h"
#include "probe/probe.h"
#include "tracee/backtrace.h"
#include "tracee/target.h"

struct event {
	const struct probes *probes;
	const struct probe *probe;
	struct thread *thread;
};

static uint64_t argument(const struct thread *thread, int8_t nr)
{
	return nr == ALLOC_NO_ARG ? 0 : regs_get(&thread->regs, thread->target->arch->arg[nr]);
}

static uint64_t sp_of(const struct thread *thread)
{
	return regs_get(&thread->regs, thread->target->arch->sp);
}

/*
 * Walk the stack as it is at the function's first instruction: at the return everything that a walk
 * needs is as it was there.
 */
static uint32_t env_walk(const struct ledger_call *call, uint32_t depth)
{
	const struct event *event = call->env;
	struct target *target = event->thread->target;
	struct regs regs = event->thread->regs;
	struct log *log = call->ledger->log;
	uint64_t pcs[LOG_DEPTH_MAX];
	uint32_t nr, stack;
	enum walk_end end;

	regs_set(&regs, target->arch->pc, event->probe->address);
	regs_set(&regs, target->arch->sp, call->sp);
	nr = backtrace_walk_entry(target, &regs, &event->probes->walk_area, pcs, depth, &end);
	stack = stack_table_insert(log, pcs, nr, (uint8_t)end, target->modules.generation);
	if (stack == LOG_STACK_NONE)
		registry_count(log, call->thread->log_thread, LOG_ACCOUNT(unstacked), 1);
	return stack;
}

static void env_count(const struct ledger_call *call, uint32_t stack, uint64_t blocks,
		      uint64_t bytes)
{
	stack_table_count(call->ledger->log, stack, blocks, bytes);
}

static bool env_word(const struct ledger_call *call, uint64_t at, uint64_t *ret)
{
	const struct event *event = call->env;

	return !memory_read_u64(&event->thread->target->mem.memory, at, ret);
}

static bool take_bounds(const struct ledger_call *call, uint64_t low, uint64_t size)
{
	if (call->sp - low >= size)
		return false;
	call->thread->stack_low = low;
	call->thread->stack_high = low + size;
	return true;
}

static bool env_bounds(const struct ledger_call *call)
{
	const struct event *event = call->env;
	const struct probes *probes = event->probes;
	uint64_t block[2];

	if (take_bounds(call, probes->main_low, probes->main_high - probes->main_low))
		return true;
	return probes->stack_offset &&
	       !memory_read(&event->thread->target->mem.memory,
			    call->thread->key + probes->stack_offset, block, sizeof(block)) &&
	       block[1] <= UINT64_MAX - block[0] && take_bounds(call, block[0], block[1]);
}

/* There are no bounds: the whole stack is examined anyway. */
static uint64_t env_caller(const struct ledger_call *call UNUSED)
{
	return 0;
}

static bool env_tells(const struct ledger_call *call)
{
	const struct event *event = call->env;
	const struct thread_ops *ops = event->thread->data;

	return !ops->lost;
}

static bool env_head(const struct ledger_call *call, uint64_t *ret)
{
	const struct event *event = call->env;
	uint64_t block = call->block & ((1ull << LOG_PROCESS_SHIFT) - 1);

	return !memory_read_u64(&event->thread->target->mem.memory, block - sizeof(*ret), ret);
}

#include "log/ledger_events.h"

static struct thread_ops *ops_of(const struct probes *probes, struct thread *thread)
{
	struct thread_ops *ops = thread->data;

	if (ops)
		return ops;
	ops = thread->data = calloc(1, sizeof(*ops));
	if (!ops)
		return NULL;
	ops->ledger.key = regs_get(&thread->regs, thread->target->arch->tp);
	ops->ledger.lwp = (uint32_t)thread->tid;
	ops->ledger.log_thread = registry_thread(probes->log, ops->ledger.key, ops->ledger.lwp);
	return ops;
}

/* The key of a probe's block in the log; 0: none. */
static uint64_t key(const struct probes *probes, const struct probe *probe, uint64_t address)
{
	if (!address)
		return 0;
	return (address & ((1ull << LOG_PROCESS_SHIFT) - 1)) |
		(uint64_t)probes->process << LOG_PROCESS_SHIFT |
		(probe->fn->user ? LOG_DOMAIN_USER : 0);
}

struct ledger_function trap_ledger_function(const struct probes *probes, const struct probe *probe,
					    bool entered)
{
	const struct alloc_function *fn = probe->fn;

	return (struct ledger_function){
		.resize = fn->role == ALLOC_RESIZE,
		.throwing = probe->nothrow != 0,
		.wraps = fn->role == ALLOC_FREE && fn != probes->plain_free,
		.user = fn->user,
		.entered = entered,
		.headed = fn->ptr != ALLOC_NO_ARG && fn->role != ALLOC_NEW_BY_REF && !fn->user &&
			  allocator_is_headed(probe->module, fn),
	};
}

/* The ledger's view of a call. ptr is the block that is freed or resized, if any. */
static struct ledger_call call_of(struct probes *probes, struct probe *probe,
				  const struct event *event, uint64_t sp, uint64_t ptr)
{
	const struct thread_ops *ops = event->thread->data;
	struct log_config config = log_config(probes->log);

	probes->ledger.log = probes->log;
	probes->ledger.sample = config.sample;
	probes->ledger.history = config.free_history;
	probes->ledger.depth = config.stack_depth;
	probe->ledger = trap_ledger_function(probes, probe, true);
	return (struct ledger_call){
		.ledger = &probes->ledger,
		.thread = (struct ledger_thread *)&ops->ledger,
		.function = &probe->ledger,
		.sp = sp,
		.block = probe->fn->role == ALLOC_NEW_BY_REF ? 0 : key(probes, probe, ptr),
		.env = event,
	};
}

static uint64_t size_argument(const struct probe *probe, const struct thread *thread)
{
	uint64_t size = argument(thread, probe->fn->size);

	if (probe->fn->bytes)
		return probe->fn->bytes;
	if (probe->fn->count == ALLOC_NO_ARG)
		return size;
	if (__builtin_mul_overflow(size, argument(thread, probe->fn->count), &size))
		return UINT64_MAX;
	return size;
}

/*
 * A call will not return. ledger_void and ledger_abandon (log/ledger.c) count the operations in
 * `voided`, the resizes and throwing functions. They cannot do that for plain functions: the ledger
 * lists no call of these, since the agent sees it only at its return. So that is done here.
 */
static void drop_call(struct probes *probes, struct thread_ops *ops, unsigned i)
{
	const struct probe *probe = ops->call[i].probe;

	if (probe->fn->role != ALLOC_RESIZE && !probe->nothrow)
		registry_count(probes->log, ops->ledger.log_thread, LOG_ACCOUNT(voided), 1);
	memmove(&ops->call[i], &ops->call[i + 1], (ops->nr - i - 1) * sizeof(ops->call[0]));
	ops->nr--;
}

static void push_call(struct probes *probes, struct thread_ops *ops, const struct event_call *call)
{
	for (unsigned i = ops->nr; i-- > 0;)
		if (ops->call[i].sp == call->sp)
			drop_call(probes, ops, i);
	if (ops->nr == EVENT_CALLS) {
		drop_call(probes, ops, 0);
		ops->lost = true;
	}
	ops->call[ops->nr++] = *call;
}

/* A reference to call->block is taken or given back. */
static void note_reference(const struct ledger_call *call, uint8_t what)
{
	struct ref_event event = {
		.object = call->block & ~LOG_DOMAIN_USER,
		.time = log_now(),
		.thread = call->thread->log_thread,
		.gives = what == USER_CALL_UNREF,
	};

	if (!event.object)
		return;
	event.stack = env_walk(call, call->ledger->depth);
	ref_ring_put(call->ledger->log, &event);
}

/* The chain that begins with call->block is about to be freed. */
static void release_chain(const struct probes *probes, struct ledger_call *call, uint64_t link)
{
	const struct event *event = call->env;

	for (uint32_t i = 0; call->block && i < USER_CHAIN_MOST; i++) {
		uint64_t at = call->block & ((1ull << LOG_PROCESS_SHIFT) - 1), next;

		if (memory_read_u64(&event->thread->target->mem.memory, at + link, &next))
			next = 0;
		(void)ledger_release(call);
		call->block = key(probes, event->probe, next);
	}
}

uint64_t trap_ledger_entry(struct probes *probes, struct probe *probe, struct thread *thread)
{
	const struct event event = { probes, probe, thread };
	struct thread_ops *ops = ops_of(probes, thread);
	struct event_call pushed = {
		.probe = probe,
		.sp = sp_of(thread),
		.ptr = argument(thread, probe->fn->ptr),
		.size = size_argument(probe, thread),
	};
	struct ledger_call call;
	uint64_t said;

	if (!ops) {
		trace_line("thread %d: no memory to record with", thread->tid);
		return probe->resume;
	}
	call = call_of(probes, probe, &event, pushed.sp, pushed.ptr);
	if (probe->fn->role == ALLOC_FREE && probe->fn->call) {
		if (probe->fn->call == USER_CALL_CHAIN)
			release_chain(probes, &call, argument(thread, probe->fn->count));
		else
			note_reference(&call, probe->fn->call);
		return probe->resume;
	}
	if (probe->fn->role == ALLOC_FREE) {
		said = ledger_release(&call);
		if (said)
			ledger_unknown_free(&call, said);
		return probe->resume;
	}
	if (ledger_enter(&call, &pushed.words))
		return probe->resume;
	push_call(probes, ops, &pushed);
	return probe->stub;
}

/* The block that a call has returned, or 0. */
static uint64_t result_block(const struct event_call *call, const struct thread *thread)
{
	uint64_t value = regs_get(&thread->regs, thread->target->arch->ret);

	if (call->probe->fn->role != ALLOC_NEW_BY_REF)
		return value;
	if ((int32_t)value || memory_read_u64(&thread->target->mem.memory, call->ptr, &value))
		return 0;
	return value;
}

bool trap_ledger_return(struct probes *probes, struct probe *probe, struct thread *thread)
{
	uint64_t sp = sp_of(thread) + probe->stub_frame - sizeof(uint64_t);
	const struct event event = { probes, probe, thread };
	struct thread_ops *ops = thread->data;

	for (unsigned i = ops ? ops->nr : 0; i-- > 0;) {
		struct event_call is = ops->call[i];
		struct ledger_call call;

		if (is.sp != sp || is.probe != probe)
			continue;
		while (ops->nr > i + 1)
			drop_call(probes, ops, ops->nr - 1);
		ops->nr = i;
		call = call_of(probes, probe, &event, sp, is.ptr);
		ledger_leave(&call, &is.words, key(probes, probe, result_block(&is, thread)),
			     is.size);
		return true;
	}
	trace_line("thread %d: return of %s without its entry", thread->tid, probe->fn->name);
	return false;
}

void trap_ledger_reset(struct thread *thread)
{
	struct thread_ops *ops = thread->data;

	if (ops)
		ledger_reset(&ops->ledger);
}

void trap_ledger_void(struct probes *probes, struct thread *thread)
{
	struct thread_ops *ops = thread->data;

	if (!ops)
		return;
	while (ops->nr > 0)
		drop_call(probes, ops, ops->nr - 1);
	ledger_abandon(probes->log, &ops->ledger);
	free(ops);
	thread->data = NULL;
}
