/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The states of the agent's threads have some facts that the log does not have (agent/state.h).
 * They are read while the threads write them, so every number is bounded here before it is used.
 */

#include <string.h>
#include <time.h>

#include "heap/block.h"
#include "log/log_totals.h"
#include "os/tracer.h"
#include "probe/area.h"
#include "probe/probe.h"
#include "probe/trap_ledger.h"
#include "session/private.h"
#include "tracee/region.h"
#include "tracee/share.h"
#include "tracee/target.h"
#include "tracee/target_wait.h"

#define QUIET_NS	1000000000ull	/* how long to wait until no thread is in the agent, ... */
#define STEP_NS		20000ull	/* ... in steps of so long at first, ... */
#define STEP_MOST_NS	1000000ull	/* ... and at last */
#define ROUNDS		3u		/* readings of all threads' counts */
#define NAP_NS		50000		/* until a thread has put an entry into its ring */
#define NAPS		200u		/* in one reading */

struct count {
	uint64_t blocks, bytes;
	uint32_t stack;
};

struct totals_job {
	const struct log *log;
	struct log_totals *totals;
	VEC(struct count) counts;	/* of one thread, until they are known to be right */
	uint64_t turns;			/* of all threads */
	unsigned naps;
	struct err *err;
};

static void add_turn(struct agent_thread *thread, void *ctx)
{
	struct totals_job *job = ctx;

	job->turns += unwind_cache_turn(&thread->cache);
}

static void take_count(uint32_t stack, uint64_t blocks, uint64_t bytes, void *ctx)
{
	struct totals_job *job = ctx;

	if (!job->err && blocks)
		job->err = vec_push(&job->counts, ((struct count){ blocks, bytes, stack }));
}

/* False: its ring has changed meanwhile. */
static bool take_counts(const struct agent_thread *thread, struct totals_job *job)
{
	uint64_t turn = unwind_cache_turn(&thread->cache);

	vec_clear(&job->counts);
	if (turn & 1)
		return false;
	unwind_cache_each(&thread->cache, take_count, job);
	job->turns += turn;
	return unwind_cache_turn(&thread->cache) == turn;
}

/*
 * A thread puts an entry in within a microsecond, unless it has to wait for a processor. One that
 * does not come to an end is left out: the counts are too small then, but not wrong
 * (log/log_totals.h).
 */
static void add_counts(struct agent_thread *thread, void *ctx)
{
	const struct timespec nap = { 0, NAP_NS };
	struct totals_job *job = ctx;
	uint64_t turns = job->turns;

	while (!take_counts(thread, job)) {
		job->turns = turns;
		if (job->err || job->naps == NAPS)
			return;
		job->naps++;
		nanosleep(&nap, NULL);
	}
	vec_each(count, &job->counts)
		log_totals_add(job->totals, log_deferred_whole(job->log, count->stack),
			       count->blocks, count->bytes);
}

/* False: something was folded meanwhile, or may have been. */
static bool read_totals(const struct session *session, struct totals_job *job)
{
	uint64_t turns;

	job->turns = job->naps = 0;
	share_each_thread(session->region, add_turn, job);
	turns = job->turns;
	job->turns = 0;
	log_totals_begin(job->log, job->totals);
	share_each_thread(session->region, add_counts, job);
	log_totals_end(job->totals);
	return turns == job->turns;
}

struct err *session_agent_totals(const struct session *session, struct log_totals *ret)
{
	struct totals_job job = { .log = &session->region->log, .totals = ret };
	struct err *err = log_totals_init(job.log, ret);

	if (err)
		return err;
	for (unsigned i = 0; i < ROUNDS && !job.err && !read_totals(session, &job); i++)
		;
	vec_free(&job.counts);
	if (job.err)
		log_totals_free(ret);
	return job.err;
}

struct in_hand_job {
	const struct log *log;
	struct in_hand *in_hand;
	struct err *err;
};

/* Copy an operation. False: it changed while it was read. */
static bool read_op(const struct agent_thread *thread, uint32_t i, struct ledger_op *ret)
{
	memcpy(ret, &thread->ledger.op[i], sizeof(*ret));
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return __atomic_load_n(&thread->ledger.nr_ops, __ATOMIC_RELAXED) > i &&
		!memcmp(ret, &thread->ledger.op[i], sizeof(*ret));
}

/* Is its new block recorded already, while the operation is still in the list? */
static bool gave(const struct log *log, const struct ledger_op *op)
{
	struct log_record there;

	return op->gave && log_record_lookup(log, op->gave, &there) && there.time > op->old.time;
}

static void add_in_hand(struct agent_thread *thread, void *ctx)
{
	struct in_hand_job *job = ctx;
	uint32_t nr = MIN(__atomic_load_n(&thread->ledger.nr_ops, __ATOMIC_ACQUIRE),
			  (uint32_t)LEDGER_OPS);

	for (uint32_t i = 0; i < nr && !job->err; i++) {
		struct log_record there;
		struct ledger_op op;

		if (read_op(thread, i, &op) && op.took && op.old.address &&
		    !(op.old.address >> LOG_PROCESS_SHIFT) && !(op.old.size >> 48) &&
		    !log_record_lookup(job->log, op.old.address, &there) && !gave(job->log, &op)) {
			log_bound_ids(job->log, &op.old.thread, &op.old.stack);
			job->err = vec_push(&job->in_hand->vec, op.old);
		}
	}
}

struct err *session_agent_in_hand(const struct session *session, struct in_hand *ret)
{
	struct in_hand_job job = { .log = &session->region->log, .in_hand = ret };

	*ret = (struct in_hand){ VEC_INIT };
	share_each_thread(session->region, add_in_hand, &job);
	if (job.err)
		vec_free(&ret->vec);
	return job.err;
}

/* The functions below run on the tracer thread. */

static void forget_counts(struct agent_thread *thread, void *ctx UNUSED)
{
	unwind_cache_reset(&thread->cache);
	ledger_reset(&thread->ledger);
}

/* The same for the calls that stopped at breakpoints. */
static void forget_calls(struct session *session)
{
	struct thread *thread;

	for_each_process(process, session)
		if (process->state == PROCESS_LIVE)
			for_each_thread(thread, process->target)
				trap_ledger_reset(thread);
}

static struct err *is_quiet(void *ctx, bool *done_ret)
{
	struct probes *probes = ((struct session *)ctx)->current->probes;

	*done_ret = !probes || !probes->state || !area_has_thread(probes);
	return NULL;
}

struct err *session_agent_quiet(struct session *session)
{
	const struct target_wait wait = {
		.look = is_quiet, .ctx = session,
		.step = STEP_NS, .step_most = STEP_MOST_NS, .deadline = tracer_now() + QUIET_NS,
	};
	bool quiet;
	struct err *err = target_wait(session->current->target, &wait, &quiet);

	if (err || quiet)
		return err;
	err = err_create(ERR_TIMEOUT, "a thread of process %d stays in a probe",
			 session->current->pid);
	if (!stop_can_move(session->current->target, NULL, NULL))
		return err_hint(err, "the process is stopped: kill -CONT %d lets it go on",
				session->current->pid);
	return err_hint(err, "`malloc off` waits longer");
}

struct err *session_agent_forget(struct session *session)
{
	bool live = session->current->state == PROCESS_LIVE && session->current->probes;
	struct err *err = NULL;
	bool was;

	if (live)
		err = session_pause(session, &was);
	if (err)
		return err;
	if (live)
		err = session_agent_quiet(session);
	if (!err) {
		session_doubt(session, RECORDS_LACK);
		share_each_thread(session->region, forget_counts, NULL);
		forget_calls(session);
		log_reset(&session->region->log);
		session_refs_forget(session);
	}
	if (live)
		session_pause_end(session, was);
	return err;
}
