/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The states of the agent's threads have some facts that the log does not have (agent/state.h).
 * They are read while the threads write them, so every number is bounded here before it is used.
 */

#include <string.h>

#include "heap/block.h"
#include "log/pending.h"
#include "os/tracer.h"
#include "probe/area.h"
#include "probe/probe.h"
#include "probe/trap_ledger.h"
#include "session/private.h"
#include "tracee/region.h"
#include "tracee/share.h"
#include "tracee/target.h"
#include "tracee/wait.h"

#define QUIET_NS	1000000000ull	/* how long to wait until no thread is in the agent, ... */
#define STEP_NS		20000ull	/* ... in steps of so long at first, ... */
#define STEP_MOST_NS	1000000ull	/* ... and at last */

static void add_pending(struct agent_thread *thread, void *ctx)
{
	unwind_cache_each(&thread->cache, log_pending_add, ctx);
}

struct err *session_pending(const struct session *session, struct log_pending *ret)
{
	struct err *err = log_pending_init(&session->region->log, ret);

	if (!err)
		share_each_thread(session->region, add_pending, ret);
	return err;
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

	return op->gave && log_lookup(log, op->gave, &there) && there.time > op->old.time;
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
		    !log_lookup(job->log, op.old.address, &there) && !gave(job->log, &op)) {
			log_bound_ids(job->log, &op.old.thread, &op.old.stack);
			job->err = vec_push(&job->in_hand->vec, op.old);
		}
	}
}

struct err *session_in_hand(const struct session *session, struct in_hand *ret)
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

	for (unsigned i = 0; i < session->nr_processes; i++)
		if (session->process[i].state == PROCESS_LIVE)
			for_each_thread(thread, session->process[i].target)
				event_reset(thread);
}

static struct err *is_quiet(void *ctx, bool *done_ret)
{
	struct probes *probes = ((struct session *)ctx)->current->probes;

	*done_ret = !probes || !probes->state || !pc_in_agent(probes);
	return NULL;
}

struct err *session_quiet(struct session *session)
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
	if (!target_can_move(session->current->target, NULL, NULL))
		return err_hint(err, "the process is stopped: kill -CONT %d lets it go on",
				session->current->pid);
	return err_hint(err, "`malloc off` waits longer");
}

struct err *session_forget_records(struct session *session)
{
	bool live = session->current->state == PROCESS_LIVE && session->current->probes;
	struct err *err = NULL;
	bool was;

	if (live)
		err = session_pause(session, &was);
	if (err)
		return err;
	if (live)
		err = session_quiet(session);
	if (!err) {
		session_doubt(session, RECORDS_LACK);
		share_each_thread(session->region, forget_counts, NULL);
		forget_calls(session);
		log_reset(&session->region->log);
	}
	if (live)
		session_resume(session, was);
	return err;
}
