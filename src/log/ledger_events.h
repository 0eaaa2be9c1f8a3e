/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The events of the ledger (theory in ledger.h), to be compiled into one environment: included
 * once, by a file that has defined before
 *
 *	env_walk	the id of the call's stack, at most `depth` frames of it; LOG_STACK_NONE if
 *			there is no room (counted in unstacked)
 *	env_count	count blocks to the stack that env_walk has given last, for this call
 *	env_bounds	find out the bounds of the stack that the call's SP is on: they are in the
 *			thread then (there is one). False: they are not known
 *	env_word	the word at `at` of the stack, not below the call's SP. False: it cannot be
 *			read
 *	env_caller	the return address of the call; 0: out of code of ours
 *	env_tells	could a free of this block that another one has led to be told from a
 *			second one?
 *
 * So the agent calls nothing by a pointer, and has all of this inlined where that pays. A function
 * that is not to be inlined gets a copy of the call: one whose address nobody takes is never laid
 * down in memory.
 */
#include "log/ledger.h"

static inline void count(const struct ledger_call *call, unsigned what, uint64_t by)
{
	account_add(call->ledger->log, ledger_number(call->thread), what, by);
}

static inline bool bounded(const struct ledger_call *call)
{
	return ledger_holds(call->thread, call->sp) || env_bounds(call);
}

/* Void the operations that this event shows to be gone. */
static inline void void_others(const struct ledger_call *call)
{
	if (UNLIKELY(call->thread->nr_ops))
		ledger_void(call->ledger->log, call->thread, call->sp, bounded(call));
}

/* Is a free by this function to be remembered if the log had its block? */
static inline bool remembers(const struct ledger_call *call)
{
	return UNLIKELY(call->ledger->history) && !call->function->user;
}

/* The block is freed, whatever else happens. */
static inline void remember(const struct ledger_call *call, uint64_t block, uint64_t block_time,
			    uint32_t stack)
{
	struct log_free free = {
		.address = block,
		.block_time = block_time,
		.time = log_now(),
		.thread = ledger_number(call->thread),
		.stack = stack,
	};

	free_history_note(call->ledger->log, &free);
}

/* Remember a free by this call; its stack must still be walked. */
static NOINLINE void walk_and_remember(struct ledger_call call, uint64_t block, uint64_t block_time)
{
	remember(&call, block, block_time, env_walk(&call, call.ledger->depth));
}

/* The bits of a glibc chunk's head (mchunk_size in malloc.c). */
#define HEAD_MMAPPED	2ull
#define HEAD_NEVER	8ull
#define HEAD_BITS	15ull
#define HEAD_LEAST	32ull

/* What the block has room for, by the word before it; 0: that is no head. */
static inline uint64_t headed_size(const struct ledger_call *call)
{
	uint64_t head, size;

	if (!env_head(call, &head) || head & HEAD_NEVER)
		return 0;
	size = head & ~HEAD_BITS;
	if (size < HEAD_LEAST || size > LOG_SIZE_MAX)
		return 0;
	return size - (head & HEAD_MMAPPED ? 16 : 8);
}

/* Count the size of a block that has stayed unknown, and return it; 0: it is not known. */
static inline uint64_t count_size(const struct ledger_call *call)
{
	uint64_t size = headed_size(call);

	if (size) {
		count(call, LOG_ACCOUNT(sized_frees), 1);
		count(call, LOG_ACCOUNT(sized_bytes), size);
	}
	return size;
}

/*
 * The block is not in the log, but perhaps it was (freed). The stack shows what kind of free this
 * is; a few frames of it are needed at least. Returns the size that was counted, or 0.
 */
static NOINLINE uint64_t unknown(struct ledger_call copy, bool freed)
{
	const struct ledger_call *call = &copy;
	uint64_t address = call->block & ((1ull << LOG_PROCESS_SHIFT) - 1);
	uint32_t stack = env_walk(call, MAX(call->ledger->depth, UNKNOWN_FREE_DEPTH));
	struct log_unknown_free free;

	/* The fields are set one by one because an initialiser would clear the struct first. */
	free.address = call->block;
	free.time = log_now();
	free.thread = ledger_number(call->thread);
	free.stack = stack;
	free.on_stack = call->thread && address >= call->sp && bounded(call) &&
			ledger_holds(call->thread, address);
	if (!log_unknown_free(call->ledger->log, &free, &call->ledger->facts, env_caller(call),
			      freed && env_tells(call)))
		return 0;
	if (call->function->headed)
		return count_size(call);
	if (call->thread && call->function->wraps)
		call->thread->unsized = call->block;
	return 0;
}

/*
 * May a free be counted as one of an unknown block? Not where the log samples, and not for
 * functions that the user has named.
 */
static inline bool may_be_unknown_free(const struct ledger_call *call)
{
	return !call->ledger->sample && !call->function->user;
}

static ALWAYS_INLINE bool insert(const struct ledger_call *call, struct log_record *record)
{
	struct ledger_thread *thread = call->thread;
	uint64_t last;
	bool is_in;

	if (UNLIKELY(!thread)) {
		record->time = log_now();
		return log_record_insert(call->ledger->log, record, NULL);
	}
	last = thread->last_time;
	record->time = thread->last_time = ledger_time(thread);
	if (thread->inserted == record->address || UNLIKELY(call->ledger->sample))
		is_in = ledger_insert_again(*call, record, last);
	else
		is_in = fast_insert(call->ledger->log, record, NULL);
	thread->inserted = record->address;
	thread->inserted_sp = call->sp;
	return is_in;
}

/* Fills in *record. False: the log has no room for it. */
static ALWAYS_INLINE bool record_all(const struct ledger_call *call, uint64_t block, uint64_t size,
				     uint8_t rate, struct log_record *record)
{
	uint32_t stack = env_walk(call, call->ledger->depth);

	/*
	 * The fields are set one by one because an initialiser would clear the struct first; and
	 * only now, because the walk used the room before.
	 */
	record->address = block;
	record->size = size;
	record->thread = ledger_number(call->thread);
	record->stack = stack;
	record->heap = LOG_HEAP_UNKNOWN;
	record->rate = rate;
	return insert(call, record);
}

/*
 * Count a block that is recorded to its stack: after it is in the table, so that no reader knows of
 * more blocks of a stack than were recorded (log/log_totals.h). An inner call's is put off.
 */
static ALWAYS_INLINE void count_stack(const struct ledger_call *call,
				      const struct log_record *record, struct sample_share share,
				      bool inner)
{
	struct ledger_thread *thread = call->thread;

	if (LIKELY(thread))
		ledger_settle(call->ledger->log, thread);
	if (UNLIKELY(inner))
		ledger_put_off(thread, record, share);
	else
		env_count(call, record->stack, share.blocks, share.bytes);
}

/* Was this block drawn for inside of this call? */
static inline bool drawn_inside(const struct ledger_call *call, const struct ledger_words *words,
				uint64_t block)
{
	return call->function->entered && words->how == LEDGER_LISTED &&
	       call->thread->drawn == block && call->thread->draws != (uint32_t)words->what;
}

/* Begin the countdown of a thread that has none, or one of another rate. At rate ALL it is 0. */
static inline void count_down(const struct ledger_call *call, uint8_t rate, uint64_t mean)
{
	struct ledger_thread *thread = call->thread;

	if (!thread->random)
		thread->random = log_now() ^ call->sp << 32 ^ thread->key;
	else if (thread->rate == rate)
		return;
	thread->rate = rate;
	thread->gap = mean ? sample_gap(&thread->random, mean) : 0;
}

/* Is a sample inside this block? *rate is that of its record. */
static inline bool draw(const struct ledger_call *call, uint64_t block, uint64_t size,
			uint8_t *rate)
{
	struct ledger_thread *thread = call->thread;
	uint8_t now = log_rate(call->ledger->log);
	uint64_t mean = sample_mean(call->ledger->sample, now);
	bool always = now && (!mean || size >= SAMPLE_LARGE);

	size = sample_size(size);
	*rate = always ? SAMPLE_RATE_ALL : now;
	if (UNLIKELY(!thread)) {
		uint64_t random = log_now() ^ call->sp << 32;

		return always || sample_gap(&random, mean) < size;
	}
	count_down(call, now, mean);
	if (thread->freed == block)
		thread->freed = 0;	/* the address is another block now */
	thread->draws++;
	thread->drawn = block;
	thread->drawn_gap = thread->gap;
	thread->drawn_in = always || thread->gap < size;
	if (LIKELY(!thread->drawn_in))
		thread->gap -= size;
	else if (!always)
		thread->gap = sample_gap(&thread->random, mean);
	return thread->drawn_in;
}

static NOINLINE void record_samples(struct ledger_call copy, const struct ledger_words *words,
				    uint64_t block, uint64_t size, bool inner)
{
	const struct ledger_call *call = &copy;
	struct ledger_thread *thread = call->thread;
	bool again = thread && drawn_inside(call, words, block);
	bool was_in = again && thread->drawn_in;
	struct sample_share share;
	struct log_record record;
	uint8_t rate;

	if (UNLIKELY(again))
		thread->gap = thread->drawn_gap;
	if (LIKELY(!draw(call, block, size, &rate))) {
		if (was_in)
			ledger_take_back(*call, block);
		else
			count(call, again ? LOG_ACCOUNT(nested) : LOG_ACCOUNT(unsampled), 1);
		return;
	}
	if (again && !was_in) {
		count(call, LOG_ACCOUNT(unsampled), -1ull);
		count(call, LOG_ACCOUNT(nested), 1);
	}
	if (!record_all(call, block, size, rate, &record))
		return;
	share = sample_share(sample_mean(call->ledger->sample, rate), size, record.time);
	count_stack(call, &record, share, inner);
}

/*
 * The stack that the walk has found; LOG_STACK_NONE if the draw took no sample. inner: this is
 * inside of a call that is listed, and the block may be that call's.
 */
static ALWAYS_INLINE uint32_t record(const struct ledger_call *call,
				     const struct ledger_words *words, uint64_t block,
				     uint64_t size, bool inner)
{
	struct log_record record;

	size = MIN(size, LOG_SIZE_MAX);
	if (UNLIKELY(call->ledger->sample)) {
		record_samples(*call, words, block, size, inner);
		return LOG_STACK_NONE;
	}
	if (LIKELY(record_all(call, block, size, 0, &record)))
		count_stack(call, &record, (struct sample_share){ 1, size }, inner);
	return record.stack;
}

/* The function has returned; op (may be NULL) is the operation that its entry has listed. */
static inline void finish(const struct ledger_call *call, const struct ledger_words *words,
			  struct ledger_op *op, uint64_t block, uint64_t size)
{
	bool took = op && op->took && remembers(call);
	uint32_t stack;

	if (op && op->inside) {
		count(call, LOG_ACCOUNT(nested), 1);
	} else if (LIKELY(block)) {
		/*
		 * A reader that finds the new block in the log knows by this that the old one is
		 * gone.
		 */
		if (op)
			__atomic_store_n(&op->gave, block, __ATOMIC_RELEASE);
		stack = record(call, words, block, size,
			       call->thread && call->thread->nr_ops > (op ? 1u : 0u));
		if (took && op->block != block)		/* it was moved */
			remember(call, op->block, op->old.time, stack);
	} else if (call->block && !size) {	/* it was freed, and no stack was taken */
		if (took)
			walk_and_remember(*call, op->block, op->old.time);
	} else {
		if (call->block)
			ledger_put_back(*call, words, op);
		count(call, LOG_ACCOUNT(failed), 1);
	}
}

/*
 * The operation that was entered with this call; all operations inside it are dropped. NULL: it was
 * voided.
 */
static inline struct ledger_op *find_op(const struct ledger_call *call)
{
	struct ledger_thread *thread = call->thread;

	for (uint32_t i = thread ? thread->nr_ops : 0; i-- > 0;) {
		struct ledger_op *op = &thread->op[i];

		if (op->sp != call->sp || op->function != call->function)
			continue;
		if (thread->nr_ops > i + 1)
			count(call, LOG_ACCOUNT(voided), thread->nr_ops - i - 1);
		thread->nr_ops = i + 1;
		return op;
	}
	return NULL;
}

/* The call, for `size` bytes, has returned. block is its result as in a record, or 0. */
static inline void ledger_leave(const struct ledger_call *call, const struct ledger_words *words,
				uint64_t block, uint64_t size)
{
	struct ledger_op *op = NULL;

	if (!call->function->resize && !call->function->throwing) {
		if (call->thread)
			void_others(call);
	} else if (words->how == LEDGER_LISTED) {
		op = find_op(call);
		if (!op && call->thread)	/* it was voided, and has returned after all */
			count(call, LOG_ACCOUNT(voided), -1ull);
	}
	finish(call, words, op, block, size);
	compiler_barrier();
	if (!op)
		return;
	call->thread->nr_ops--;
	if (!call->thread->nr_ops)
		ledger_settle(call->ledger->log, call->thread);
}

/* The innermost operation that was entered above this call and resizes the same block. */
static inline bool inside_resize(const struct ledger_call *call)
{
	const struct ledger_thread *thread = call->thread;

	for (uint32_t i = thread->nr_ops; call->block && i-- > 0;)
		if (thread->op[i].sp > call->sp && thread->op[i].block == call->block)
			return true;
	return false;
}

/*
 * The nothrow form of a throwing function may call the throwing one (libstdc++'s do). That inner
 * call must run as it is, or the two would call each other for ever.
 */
static inline bool called_by_own_nothrow(const struct ledger_call *call)
{
	const struct ledger_thread *thread = call->thread;

	for (uint32_t i = thread->nr_ops; i-- > 0;)
		if (thread->op[i].function == call->function && thread->op[i].sp > call->sp)
			return true;
	return false;
}

/* A place for one more operation, which is not in the list yet. */
static inline struct ledger_op *next_op(const struct ledger_call *call)
{
	struct ledger_thread *thread = call->thread;

	if (thread->nr_ops == LEDGER_OPS) {
		for (uint32_t i = 1; i < LEDGER_OPS; i++) {
			thread->op[i - 1] = thread->op[i];
			compiler_barrier();	/* or this becomes a call of memmove */
		}
		thread->nr_ops--;
		count(call, LOG_ACCOUNT(voided), 1);
	}
	return &thread->op[thread->nr_ops];
}

static inline void enter_listed(const struct ledger_call *call)
{
	struct ledger_op *op = next_op(call);

	op->sp = call->sp;
	op->function = call->function;
	op->block = call->block;
	op->gave = 0;
	op->took = op->missed = 0;
	op->inside = inside_resize(call);
	compiler_barrier();
	call->thread->nr_ops++;
	if (!call->block || op->inside)
		return;
	op->took = log_record_remove(call->ledger->log, op->block, call->thread->log_thread,
				     &op->old);
	op->missed = !op->took;
	if (UNLIKELY(!op->took) && may_be_unknown_free(call))
		op->old.size = unknown(*call, op->old.address);
}

/*
 * Without state a throwing function cannot be told from its own nothrow form, so it runs as it is.
 */
static NOINLINE bool enter_alone(struct ledger_call copy, struct ledger_words *words)
{
	const struct ledger_call *call = &copy;
	struct log_record old;

	if (call->function->throwing) {
		count(call, LOG_ACCOUNT(voided), 1);
		return true;
	}
	words->how = LEDGER_ALONE;
	words->what = 0;
	if (call->block && log_record_remove(call->ledger->log, call->block, 0, &old))
		words->what = LEDGER_TOOK | old.size;
	else if (call->block && may_be_unknown_free(call))
		unknown(*call, old.address);
	return false;
}

/*
 * True: the function must run as it is, and the call must not come to ledger_leave (it is no
 * event).
 */
static inline bool ledger_enter(const struct ledger_call *call, struct ledger_words *words)
{
	if (UNLIKELY(!call->thread))
		return enter_alone(*call, words);
	void_others(call);
	words->how = LEDGER_LISTED;
	words->what = call->thread->draws;
	if (call->function->throwing && called_by_own_nothrow(call))
		return true;
	if (call->function->throwing || call->function->resize)
		enter_listed(call);
	return false;
}

/* Did the last free that may lead to another one lead to this one? */
static inline bool led_to_by_last_free(const struct ledger_call *call)
{
	const struct ledger_thread *thread = call->thread;
	struct log_record record;
	uint64_t ra;

	return thread->freed == call->block && call->sp <= thread->freed_sp &&
	       env_word(call, thread->freed_sp, &ra) && ra == thread->freed_ra &&
	       !log_record_lookup(call->ledger->log, call->block, &record);
}

/* Is a free part of another event? */
static NOINLINE bool release_inside(struct ledger_call copy)
{
	const struct ledger_call *call = &copy;

	void_others(call);
	if (!inside_resize(call)) {
		if (!led_to_by_last_free(call))
			return false;
		if (call->thread->unsized == call->block && call->function->headed)
			count_size(call);
		call->thread->unsized = 0;
	}
	count(call, LOG_ACCOUNT(nested), 1);
	return true;
}

/* Returns the answer of ledger_release for a free whose record was taken out. */
static inline uint64_t take_out(const struct ledger_call *call)
{
	uint32_t number = ledger_number(call->thread);
	struct log *log = call->ledger->log;
	struct log_record old;

	if (UNLIKELY(call->ledger->sample)) {
		log_record_remove(log, call->block, number, NULL);
		return 0;
	}
	if (UNLIKELY(!fast_remove(log, call->block, number, &old)))
		return may_be_unknown_free(call) ? ledger_missed(&old) : 0;
	return remembers(call) ? old.time : 0;
}

/* A free of call->block is about to run; see LEDGER_UNKNOWN. */
static inline uint64_t ledger_release(const struct ledger_call *call)
{
	struct ledger_thread *thread = call->thread;
	uint64_t say;

	if (UNLIKELY(!call->block)) {
		count(call, LOG_ACCOUNT(null_frees), 1);
		return 0;
	}
	if (LIKELY(thread) && UNLIKELY(thread->nr_ops || thread->freed == call->block) &&
	    release_inside(*call))
		return 0;
	say = take_out(call);
	if (LIKELY(thread) && call->function->wraps) {
		thread->freed = call->block;
		thread->freed_sp = call->sp;
		if (!env_word(call, call->sp, &thread->freed_ra))
			thread->freed = 0;
	}
	return say;
}

static inline void ledger_unknown_free(const struct ledger_call *call, uint64_t said)
{
	if (said > LEDGER_FREED)
		walk_and_remember(*call, call->block, said);
	else
		unknown(*call, said == LEDGER_FREED);
}
