/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a trap means to the log (theory in event.h). */

#include "probe/event.h"

#include <stdlib.h>
#include <string.h>

#include "base/trace.h"
#include "log/sample.h"
#include "probe/probe.h"
#include "probe/stray.h"
#include "target/stack.h"
#include "target/target.h"

static uint64_t argument(const struct thread *thread, int8_t nr)
{
	return nr == ALLOC_NO_ARG ? 0 : regs_get(&thread->regs, thread->target->arch->arg[nr]);
}

static uint64_t sp_of(const struct thread *thread)
{
	return regs_get(&thread->regs, thread->target->arch->sp);
}

static struct thread_ops *ops_of(struct probes *probes, struct thread *thread)
{
	struct thread_ops *ops = thread->data;

	if (!ops)
		ops = thread->data = calloc(1, sizeof(*ops));
	if (ops && !ops->registered) {
		ops->log_thread =
			log_thread(probes->log, regs_get(&thread->regs, thread->target->arch->tp),
				   (uint32_t)thread->tid);
		ops->registered = true;
		ops->random = log_now() ^ (uint64_t)thread->tid << 32;
		ops->gap = sample_gap(&ops->random, log_config(probes->log).sample);
	}
	return ops;
}

/* The key of a probe's block in the log. */
static uint64_t key(const struct probes *probes, const struct probe *probe, uint64_t address)
{
	return (address & ((1ull << LOG_PROCESS_SHIFT) - 1)) |
		(uint64_t)probes->process << LOG_PROCESS_SHIFT |
		(probe->fn->user ? LOG_DOMAIN_USER : 0);
}

static void count(struct probes *probes, const struct thread_ops *ops, unsigned what, uint64_t by)
{
	log_count(probes->log, ops->log_thread, what, by);
}

static void drop_op(struct probes *probes, struct thread_ops *ops, unsigned i)
{
	count(probes, ops, LOG_ACCOUNT(voided), 1);
	memmove(&ops->op[i], &ops->op[i + 1], (ops->nr - i - 1) * sizeof(ops->op[0]));
	ops->nr--;
}

/* The stack at a function's entry, as if the function's first instruction were about to run. */
static uint32_t take_stack(struct probes *probes, const struct probe *probe, struct thread *thread,
			   const struct thread_ops *ops, uint32_t depth)
{
	struct target *target = thread->target;
	struct regs regs = thread->regs;
	uint64_t pcs[LOG_DEPTH_MAX];
	uint32_t nr, stack;
	enum walk_end end;

	regs_set(&regs, target->arch->pc, probe->address);
	nr = stack_walk(target, &regs, &probes->walk_area, pcs, depth, &end);
	stack = log_stack(probes->log, pcs, nr, (uint8_t)end, target->modules.generation);
	if (stack == LOG_STACK_NONE)
		count(probes, ops, LOG_ACCOUNT(unstacked), 1);
	return stack;
}

/* The block is not in the log (stray.h). Its stack tells what it is: a few frames at least. */
static void stray(struct probes *probes, const struct probe *probe, struct thread *thread,
		  const struct thread_ops *ops, uint64_t block)
{
	struct log_config config = log_config(probes->log);
	struct log_stray free = {
		.address = block,
		.time = log_now(),
		.thread = ops->log_thread,
	};

	if (config.sample || probe->fn->user)
		return;
	free.stack = take_stack(probes, probe, thread, ops, MAX(config.stack_depth, STRAY_DEPTH));
	free.on_stack = stray_on_stack(probes, thread, argument(thread, probe->fn->ptr));
	log_stray(probes->log, &free, &probes->facts, 0, !ops->lost);
}

/* Is a free by this function remembered, of a block that the log had (log/freed.h)? */
static bool remembers(const struct probes *probes, const struct probe *probe)
{
	return !probe->fn->user && log_config(probes->log).free_history;
}

static void remember_free(struct probes *probes, const struct thread_ops *ops,
			  const struct log_record *block, uint32_t stack)
{
	const struct log_free free = {
		.address = block->address,
		.block_time = block->time,
		.time = log_now(),
		.thread = ops->log_thread,
		.stack = stack,
	};

	log_note_free(probes->log, &free);
}

/* The innermost operation that was entered above sp and works on the block ptr. */
static bool inside_resize_of(const struct thread_ops *ops, uint64_t sp, uint64_t ptr)
{
	for (unsigned i = ops->nr; i-- > 0;)
		if (ops->op[i].sp > sp && ops->op[i].ptr == ptr &&
		    ops->op[i].probe->fn->role == ALLOC_RESIZE)
			return true;
	return false;
}

static bool led_to_by_last_free(const struct thread *thread, const struct thread_ops *ops,
				uint64_t block)
{
	uint64_t ra;

	return ops->freed == block && sp_of(thread) <= ops->freed_sp &&
		!memory_read_u64(&thread->target->mem.memory, ops->freed_sp, &ra) &&
		ra == ops->freed_ra;
}

static void entry_free(struct probes *probes, const struct probe *probe, struct thread *thread,
		       struct thread_ops *ops)
{
	uint64_t ptr = argument(thread, probe->fn->ptr), sp = sp_of(thread);
	uint64_t block = key(probes, probe, ptr);
	struct log_record old;

	if (!ptr) {
		count(probes, ops, LOG_ACCOUNT(null_frees), 1);
		return;
	}
	if ((!probe->fn->user && inside_resize_of(ops, sp, ptr)) ||
	    (led_to_by_last_free(thread, ops, block) && !log_lookup(probes->log, block, &old))) {
		count(probes, ops, LOG_ACCOUNT(nested), 1);
		return;
	}
	if (!log_remove(probes->log, block, ops->log_thread, &old))
		stray(probes, probe, thread, ops, block);
	else if (remembers(probes, probe))
		remember_free(probes, ops, &old,
			      take_stack(probes, probe, thread, ops,
					 log_config(probes->log).stack_depth));
	if (probe->fn != probes->plain_free) {	/* a wrapper of free, perhaps */
		ops->freed = block;
		ops->freed_sp = sp;
		if (memory_read_u64(&thread->target->mem.memory, sp, &ops->freed_ra))
			ops->freed = 0;
	}
}

static struct op *push_op(struct probes *probes, const struct probe *probe, struct thread *thread,
			  struct thread_ops *ops)
{
	uint64_t sp = sp_of(thread);
	struct op *op;

	for (unsigned i = ops->nr; i-- > 0;)
		if (ops->op[i].sp == sp)
			drop_op(probes, ops, i);
	if (ops->nr == OPS_MAX) {
		drop_op(probes, ops, 0);
		ops->lost = true;
	}
	op = &ops->op[ops->nr++];
	memset(op, 0, sizeof(*op));
	op->probe = probe;
	op->sp = sp;
	return op;
}

static uint64_t size_argument(const struct probe *probe, const struct thread *thread)
{
	uint64_t size = argument(thread, probe->fn->size);

	if (probe->fn->count == ALLOC_NO_ARG)
		return size;
	if (__builtin_mul_overflow(size, argument(thread, probe->fn->count), &size))
		return UINT64_MAX;
	return size;
}

/*
 * A throwing function whose nothrow twin calls it in turn (libstdc++'s do): the inner call must run
 * as it is, or it would go round in circles.
 */
static bool called_by_own_twin(const struct probe *probe, const struct thread *thread,
			       const struct thread_ops *ops)
{
	for (unsigned i = ops->nr; probe->nothrow && i-- > 0;)
		if (ops->op[i].probe == probe && ops->op[i].sp > sp_of(thread))
			return true;
	return false;
}

static bool draw(const struct probes *probes, struct thread_ops *ops, uint64_t size)
{
	uint64_t mean = log_config(probes->log).sample;

	if (!mean)
		return true;
	size = sample_size(size);
	if (ops->gap >= size) {
		ops->gap -= size;
		return false;
	}
	ops->gap = sample_gap(&ops->random, mean);
	return true;
}

static void entry_alloc(struct probes *probes, const struct probe *probe, struct thread *thread,
			struct thread_ops *ops)
{
	uint64_t ptr = argument(thread, probe->fn->ptr);
	bool resize = probe->fn->role == ALLOC_RESIZE && ptr;
	bool inside = resize && inside_resize_of(ops, sp_of(thread), ptr);
	struct op *op = push_op(probes, probe, thread, ops);

	op->ptr = ptr;
	op->size = size_argument(probe, thread);
	op->inside = inside;
	op->sampled = !inside && draw(probes, ops, op->size);
	if (op->sampled)
		op->stack = take_stack(probes, probe, thread, ops,
				       log_config(probes->log).stack_depth);
	if (!resize || inside)
		return;
	op->took = log_remove(probes->log, key(probes, probe, ptr), ops->log_thread, &op->old);
	if (!op->took)
		stray(probes, probe, thread, ops, key(probes, probe, ptr));
}

uint64_t event_entry(struct probes *probes, struct probe *probe, struct thread *thread)
{
	struct thread_ops *ops = ops_of(probes, thread);

	if (!ops) {
		trace_line("thread %d: no memory to record with", thread->tid);
		return probe->resume;
	}
	if (probe->fn->role == ALLOC_FREE) {
		entry_free(probes, probe, thread, ops);
		return probe->resume;
	}
	if (called_by_own_twin(probe, thread, ops))
		return probe->resume;
	entry_alloc(probes, probe, thread, ops);
	return probe->stub;
}

/* Forget an inner operation that returned the same block, and its record. */
static void drop_inner(struct probes *probes, const struct thread_ops *ops, const struct op *op,
		       uint64_t address)
{
	uint64_t block = key(probes, op->probe, address);
	const struct inner *known = NULL;
	struct log_record inner;
	struct sample_share share;

	for (unsigned i = 0; i < MIN(op->nr_inner, (unsigned)INNER_MAX); i++)
		if (op->inner[i].block == address)
			known = &op->inner[i];
	if (known && known->passed) {
		count(probes, ops, LOG_ACCOUNT(unsampled), (uint64_t)-1);
		count(probes, ops, LOG_ACCOUNT(nested), 1);
		return;
	}
	if (!known || !log_lookup(probes->log, block, &inner) ||
	    !log_remove(probes->log, block, ops->log_thread, &inner))
		return;
	count(probes, ops, LOG_ACCOUNT(frees), (uint64_t)-1);
	count(probes, ops, LOG_ACCOUNT(free_bytes), -inner.size);
	count(probes, ops, LOG_ACCOUNT(allocs), (uint64_t)-1);
	count(probes, ops, LOG_ACCOUNT(alloc_bytes), -inner.size);
	count(probes, ops, LOG_ACCOUNT(nested), 1);
	share = sample_share(log_config(probes->log).sample, inner.size, inner.time);
	log_stack_count(probes->log, inner.stack, -share.blocks, -share.bytes);
}

static void record(struct probes *probes, struct thread_ops *ops, const struct op *op,
		   uint64_t block)
{
	struct log_record new = {
		.address = key(probes, op->probe, block),
		.size = MIN(op->size, (1ull << 48) - 1),
		.thread = ops->log_thread,
		.stack = op->stack,
		.heap = LOG_HEAP_UNKNOWN,
	};

	struct sample_share share;

	drop_inner(probes, ops, op, block);
	if (!op->sampled) {
		count(probes, ops, LOG_ACCOUNT(unsampled), 1);
		return;
	}
	new.time = MAX(log_now(), probes->last_time + 1);
	probes->last_time = new.time;
	share = sample_share(log_config(probes->log).sample, new.size, new.time);
	if (log_insert(probes->log, &new, NULL))
		log_stack_count(probes->log, new.stack, share.blocks, share.bytes);
}

/* The block that an operation gave, or 0. */
static uint64_t result_block(const struct op *op, const struct thread *thread)
{
	uint64_t value = regs_get(&thread->regs, thread->target->arch->ret);

	if (op->probe->fn->role != ALLOC_NEW_BY_REF)
		return value;
	if ((int32_t)value || memory_read_u64(&thread->target->mem.memory, op->ptr, &value))
		return 0;
	return value;
}

static void finish(struct probes *probes, struct thread *thread, struct thread_ops *ops,
		   const struct op *op)
{
	uint64_t block = result_block(op, thread);
	bool resize = op->probe->fn->role == ALLOC_RESIZE && op->ptr;

	if (op->inside) {
		count(probes, ops, LOG_ACCOUNT(nested), 1);
		return;
	}
	if (op->took && (block ? block != op->ptr : !op->size) && remembers(probes, op->probe))
		remember_free(probes, ops, &op->old, op->stack);
	if (block) {
		record(probes, ops, op, block);
	} else if (!resize || op->size) {	/* not freed */
		if (op->took)
			log_restore(probes->log, &op->old, ops->log_thread);
		else if (resize && log_config(probes->log).sample)	/* entry_alloc has counted it */
			count(probes, ops, LOG_ACCOUNT(unsampled_frees), (uint64_t)-1);
		count(probes, ops, LOG_ACCOUNT(failed), 1);
	}
	/* The operation around this one, if any, wants to know what came from inside. */
	if (block && ops->nr > 0) {
		struct op *outer = &ops->op[ops->nr - 1];

		if (outer->sp > op->sp && outer->probe->fn->user == op->probe->fn->user)
			outer->inner[outer->nr_inner++ % INNER_MAX] =
				(struct inner){ block, !op->sampled };
	}
}

bool event_return(struct probes *probes, struct probe *probe, struct thread *thread)
{
	uint64_t sp = sp_of(thread) + probe->stub_frame - sizeof(uint64_t);
	struct thread_ops *ops = thread->data;

	for (unsigned i = ops ? ops->nr : 0; i-- > 0;) {
		struct op op = ops->op[i];

		if (op.sp != sp || op.probe != probe)
			continue;
		while (ops->nr > i + 1)
			drop_op(probes, ops, ops->nr - 1);
		ops->nr = i;
		finish(probes, thread, ops, &op);
		return true;
	}
	trace_line("thread %d: return of %s without its entry", thread->tid, probe->fn->name);
	return false;
}

void event_void(struct probes *probes, struct thread *thread)
{
	struct thread_ops *ops = thread->data;

	if (!ops)
		return;
	while (ops->nr > 0)
		drop_op(probes, ops, ops->nr - 1);
	free(ops);
	thread->data = NULL;
}
