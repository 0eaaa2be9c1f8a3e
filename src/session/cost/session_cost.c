/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The cost of recording, measured and kept (theory in log/sample_cost.h). */

#include "session/cost/session_cost.h"

#include "base/trace.h"
#include "log/log_clock.h"
#include "log/log_layout.h"
#include "os/code_share.h"
#include "os/procfs.h"
#include "os/tracer.h"
#include "probe/probe.h"
#include "session/private.h"
#include "tracee/region.h"

#define CLOCK_NS	30000000000u	/* of processor time */
#define CLOCK_FAST_NS	100e6		/* of the fast path, by its stamps */
#define CLOCK_EACH_NS	300000000000u
#define RANGES		64u
#define PAUSE_NS	2000000000u	/* after it nothing is known of the time before */

static struct log *log_of(const struct session *session)
{
	return session->region && session->region->log.header ? &session->region->log : NULL;
}

/* A process that is not there any more keeps what it had. */
static uint64_t processor_time(struct session *session)
{
	uint64_t *had = session->cost.process_ns, sum = 0, now;

	for (uint32_t i = 0; i < session->nr_processes; i++) {
		const struct process *process = &session->process[i];

		if (!process_has_ended(process->state) && process->pid > 0 &&
		    procfs_processor_time(process->pid, &now))
			had[i] = MAX(had[i], now);
		sum += had[i];
	}
	return sum;
}

/* A new log, `malloc reset`, another bound: what it took is counted from here. */
static void begin(struct session_cost_state *is, const struct log *log, uint32_t bound)
{
	if (is->log_start == log_clock_begin(log) && is->bound == bound)
		return;
	code_share_close(is->clock);
	*is = (struct session_cost_state){ .log_start = log_clock_begin(log), .bound = bound,
					   .clock_from = bound ? 0 : UINT64_MAX };
}

static void end_clock(struct session_cost_state *is, uint64_t next)
{
	code_share_close(is->clock);
	is->clock = NULL;
	is->clock_from = next;
}

/* Without the task clock the factor of the fast path stays what it was once measured as. */
static void begin_clock(struct session_cost_state *is, pid_t pid)
{
	struct err *err = code_share_open(pid, &is->clock);

	if (err) {
		trace_line("task clock: %s", err->msg);
		end_clock(is, UINT64_MAX);
		return;
	}
	is->clock_seen = is->cost.clock.seen;
	is->clock_watched = is->now.watched_ns;
}

/* Where the code of mdbg's is: the agent, thunks and displaced prologues. */
static void read_clock(struct session_cost_state *is, const struct process *process)
{
	struct code_range range[RANGES];
	size_t nr = 0;

	vec_each(area, &process->probes->areas)
		if (nr < RANGES)
			range[nr++] = (struct code_range){ area->address,
							   area->address + area->len };
	code_share_read(is->clock, range, nr, &is->now.ours_ns, &is->now.watched_ns);
	if (is->cost.clock.seen - is->clock_seen >= CLOCK_FAST_NS ||
	    is->now.watched_ns - is->clock_watched >= CLOCK_NS)
		end_clock(is, is->now.process_ns + CLOCK_EACH_NS);
}

/* Take a look at the clocks and the log. */
static void look(struct session *session, const struct log *log)
{
	struct session_cost_state *is = &session->cost;

	is->now.accounts = reader_accounts(log);
	is->now.tick_ns = log_clock_tick(log);
	is->now.process_ns = processor_time(session);
	if (is->clock)
		read_clock(is, session->current);
	else if (is->now.process_ns >= is->clock_from)
		begin_clock(is, session->current->pid);
}

void session_cost_poll(struct session *session)
{
	struct session_cost_state *is = &session->cost;
	struct log *log = log_of(session);
	struct log_config config;

	if (!log)
		return;
	config = log_config(log);
	if (!config.sample)
		return;
	pthread_mutex_lock(&session->lock);
	begin(is, log, config.cost);
	is->cost.begun &= tracer_now() - is->polled < PAUSE_NS;
	is->polled = tracer_now();
	look(session, log);
	if (is->now.tick_ns > 0)
		log_set_rate(log, sample_cost_look(&is->cost, &is->now, config.cost,
						   log_rate(log)));
	pthread_mutex_unlock(&session->lock);
}

void session_cost_forget(struct session *session)
{
	pthread_mutex_lock(&session->lock);
	code_share_close(session->cost.clock);
	session->cost.clock = NULL;
	pthread_mutex_unlock(&session->lock);
}

bool session_cost(struct session *session, struct session_cost *ret)
{
	const struct log *log = session_recorded(session) ? log_of(session) : NULL;
	const struct sample_cost *cost = &session->cost.cost;
	struct log_config config;

	if (!log || !log_config(log).sample)
		return false;
	config = log_config(log);
	pthread_mutex_lock(&session->lock);
	begin(&session->cost, log, config.cost);
	*ret = (struct session_cost){
		.bound = config.cost,
		.moves = log_rate(log),
		.fails = cost->fails && config.cost,
		.lately = sample_cost_percent(&cost->lately),
		.since = sample_cost_percent(&cost->all),
		.one_of = cost->lately.recorded > 0 ?
			cost->lately.blocks / cost->lately.recorded : 0,
		.clocked = session->cost.clock_from != UINT64_MAX,
	};
	pthread_mutex_unlock(&session->lock);
	return true;
}

struct err *session_cost_set(struct session *session, uint32_t bound)
{
	struct log *log = session_need_target(session) ? NULL : log_of(session);

	if (bound > SAMPLE_COST_MOST)
		return err_create(ERR_USAGE, "cost: more than 100 percent");
	session->config.cost = bound;
	if (log && !log_set_cost(log, bound) && bound)
		session_warn_hint(session, "`detach`, and `attach` again",
				  "the log of this process was begun without a bound on its cost: "
				  "--cost is of the next attach");
	return NULL;
}
