/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The ledger's part that needs no environment. Freestanding; theory in ledger.h. */

#include "log/ledger.h"

static void count(struct log *log, const struct ledger_thread *thread, unsigned what, uint64_t by)
{
	account_add(log, ledger_number(thread), what, by);
}

void ledger_count_now(struct log *log, struct ledger_thread *thread)
{
	const struct ledger_uncounted *is = &thread->uncounted;

	if (is->time >= log->header->start)
		stack_table_count(log, is->stack, is->blocks, is->bytes);
	thread->uncounted.time = 0;
}

void ledger_put_off(struct ledger_thread *thread, const struct log_record *record,
		    struct sample_share share)
{
	thread->uncounted.blocks = share.blocks;
	thread->uncounted.bytes = share.bytes;
	thread->uncounted.stack = record->stack;
	compiler_barrier();
	thread->uncounted.time = record->time;
}

void ledger_abandon(struct log *log, struct ledger_thread *thread)
{
	ledger_settle(log, thread);
	if (thread->nr_ops)
		count(log, thread, LOG_ACCOUNT(voided), thread->nr_ops);
	thread->nr_ops = 0;
	thread->stack_low = thread->stack_high = 0;
	thread->inserted = thread->freed = 0;
}

void ledger_reset(struct ledger_thread *thread)
{
	for (uint32_t i = 0; i < LEDGER_OPS; i++)
		thread->op[i].took = thread->op[i].missed = 0;
}

void ledger_void(struct log *log, struct ledger_thread *thread, uint64_t sp, bool bounded)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < thread->nr_ops; i++) {
		uint64_t at = thread->op[i].sp;

		if (at == sp || (at < sp && bounded && ledger_holds(thread, at)))
			continue;
		if (kept != i)
			thread->op[kept] = thread->op[i];
		kept++;
		compiler_barrier();	/* or this becomes a call of memmove */
	}
	if (kept == thread->nr_ops)
		return;
	count(log, thread, LOG_ACCOUNT(voided), thread->nr_ops - kept);
	thread->nr_ops = kept;
	if (!kept)
		ledger_settle(log, thread);
}

/*
 * The record that a new one has replaced was part of the same call: count as if it had never been.
 */
static void drop_inner(struct ledger_call call, const struct log_record *inner)
{
	struct sample_share share = sample_share(sample_mean(call.ledger->sample, inner->rate),
						 inner->size, inner->time);
	struct ledger_thread *thread = call.thread;
	struct log *log = call.ledger->log;

	count(log, thread, LOG_ACCOUNT(replaced), -1ull);
	count(log, thread, LOG_ACCOUNT(free_bytes), -inner->size);
	count(log, thread, LOG_ACCOUNT(allocs), -1ull);
	count(log, thread, LOG_ACCOUNT(alloc_bytes), -inner->size);
	count(log, thread, LOG_ACCOUNT(nested), 1);
	if (thread->uncounted.time == inner->time)
		thread->uncounted.time = 0;
	else
		stack_table_count(log, inner->stack, -share.blocks, -share.bytes);
}

bool ledger_insert_again(struct ledger_call call, const struct log_record *record,
			 uint64_t last)
{
	struct log_record old;

	if (!log_record_insert(call.ledger->log, record, &old))
		return false;
	if (old.address && old.time == last && call.thread->inserted_sp < call.sp)
		drop_inner(call, &old);
	return true;
}

void ledger_take_back(struct ledger_call call, uint64_t block)
{
	const struct ledger_thread *thread = call.thread;
	struct log *log = call.ledger->log;
	struct log_record inner;

	if (thread->inserted != block || !log_record_lookup(log, block, &inner) ||
	    inner.time != thread->last_time ||
	    !log_record_remove(log, block, thread->log_thread, &inner))
		return;
	count(log, thread, LOG_ACCOUNT(frees), -1ull);
	count(log, thread, LOG_ACCOUNT(replaced), 1);
	count(log, thread, LOG_ACCOUNT(unsampled), 1);
	drop_inner(call, &inner);
}

void ledger_put_back(struct ledger_call call, const struct ledger_words *words,
		     const struct ledger_op *op)
{
	const struct ledger_thread *thread = call.thread;
	bool alone = words->how == LEDGER_ALONE;
	struct log *log = call.ledger->log;
	struct log_record old, last;

	if (op && op->took) {
		log_record_restore(log, &op->old, thread->log_thread);
	} else if (op && op->missed && !call.ledger->sample && !call.function->user &&
		   op->old.size) {
		count(log, thread, LOG_ACCOUNT(unknown_frees), -1ull);
		count(log, thread, LOG_ACCOUNT(sized_frees), -1ull);
		count(log, thread, LOG_ACCOUNT(sized_bytes), -op->old.size);
	} else if (alone && words->what & LEDGER_TOOK) {
		old.address = call.block;
		old.size = words->what & ~LEDGER_TOOK;
		old.time = log_now();
		old.thread = 0;
		old.stack = LOG_STACK_NONE;
		old.heap = LOG_HEAP_UNKNOWN;
		old.rate = log_rate(log);
		/* Nobody else has had the address since, so its last record is most likely this one. */
		if (log_record_retired(log, call.block, &last) && last.size == old.size)
			old = last;
		log_record_restore(log, &old, ledger_number(thread));
	} else if (call.ledger->sample && (op ? op->missed : alone)) {
		/* The entry has counted a free, and there was none. */
		count(log, thread, LOG_ACCOUNT(unsampled_frees), -1ull);
	}
}
