/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Keeps track of functions that are not watched and blocks that are not recorded (theory in
 * lacks.h).
 */

#include "session/lacks.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/path.h"
#include "probe/probe.h"
#include "session/private.h"
#include "session/pool/user_sizes.h"
#include "tracee/region.h"

/* Warnings of the log that the user has had. */
enum { TOLD_SAMPLING = 1, TOLD_FULL = 2, TOLD_STACKLESS = 4, TOLD_ROOM = 8 };

#define NAMED_MAX	2	/* functions named for one reason; more are only counted */
#define NO_JUMP		"no jump: "

static bool is_lacking(const struct probe *probe)
{
	return probe_of_allocator(probe) && !probe->gone && !probe->elsewhere &&
	       probe->module->died == UINT32_MAX && probe->state != PROBE_PLANNED &&
	       !probe_records(probe);
}

/* It has a breakpoint although a jump was asked for. */
static bool is_slower(const struct probes *probes, const struct probe *probe)
{
	return probe_of_allocator(probe) && probe_records(probe) &&
	       probe->engine == PROBE_BREAKPOINT &&
	       probes->policy == PROBE_AUTO && !probes->process && *probe->why;
}

static const char *reason(const struct probe *probe)
{
	if (probe->overwritten)
		return "another tool has written over its patch";
	if (!strncmp(probe->why, NO_JUMP, strlen(NO_JUMP)))
		return probe->why + strlen(NO_JUMP);
	return probe->why;
}

/* Warnings are made on the tracer thread. */

/* probe/patch_watch.c warns of a patch that is overwritten later. */
static bool is_to_be_told(const struct probes *probes, const struct probe *probe)
{
	return !probe->warned && !probe->overwritten &&
	       (is_lacking(probe) || is_slower(probes, probe));
}

/* The functions of one module that have the same reason. */
struct group {
	const struct probe *first;
	bool slower;
	unsigned nr;
	struct str names;
	struct err *err;
};

static bool belongs(const struct probes *probes, const struct group *group,
		    const struct probe *probe)
{
	return is_to_be_told(probes, probe) && is_lacking(probe) != group->slower &&
	       probe->module == group->first->module &&
	       !strcmp(reason(probe), reason(group->first));
}

static void name_one(struct group *group, const struct probe *probe, unsigned all)
{
	unsigned most = all == NAMED_MAX + 1 ? all : NAMED_MAX;

	if (group->nr++ < most && !group->err)
		group->err = str_addf(&group->names, "%s%s", group->nr == 1 ? "" :
				      group->nr == all ? " and " : ", ", probe->fn->name);
}

static void name_all(struct probes *probes, struct group *group)
{
	unsigned all = 0;

	for (size_t i = 0; i < probes->all.nr; i++)
		all += belongs(probes, group, probes->all.at[i]);
	vec_each_value(probe, &probes->all) {
		if (!belongs(probes, group, probe))
			continue;
		name_one(group, probe, all);
		if (probe != group->first)
			probe->warned = true;
	}
	if (all > NAMED_MAX + 1 && !group->err)
		group->err = str_addf(&group->names, " and %u others", all - NAMED_MAX);
}

static void tell_group(struct session *session, struct probes *probes, struct probe *first)
{
	struct group group = { .first = first, .slower = !is_lacking(first), .names = STR_INIT };

	name_all(probes, &group);
	first->warned = true;
	session_warn_hint(session, *first->hint ? first->hint : group.slower ?
			  "a call stops its thread twice there; `malloc -v` says which function has what" :
			  "answers say what they lack; `malloc -v` says which function has what",
			  "warning: %.200s %s %s: %.200s (%.60s)",
			  group.err ? first->fn->name : str_text(&group.names),
			  group.nr == 1 ? "is" : "are",
			  group.slower ? "watched by breakpoints" : "not watched", reason(first),
			  path_base(first->module->path));
	str_free(&group.names);
}

static bool any_gives(const struct probes *probes)
{
	vec_each_value(probe, &probes->all) {
		if (probe_of_allocator(probe) && probe->fn->role != ALLOC_FREE &&
		    probe_records(probe))
			return true;
	}
	return false;
}

void lacks_tell_probes(struct session *session, struct probes *probes)
{
	if (!probes->armed)
		return;
	vec_each_value(probe, &probes->all) {
		if (is_to_be_told(probes, probe))
			tell_group(session, probes, probe);
	}
	if (!any_gives(probes) && !probes->told_blind)
		session_warn_hint(session, "`malloc -v` says why, function by function",
				  "warning: nothing is recorded: no function that gives out blocks "
				  "is watched");
	probes->told_blind = !any_gives(probes);
}

static const char larger_log[] =
	"`malloc reset` makes room; --log-limit SIZE, at the next attach, makes it larger";

/* Either the region is full, or the process has no more to spare. */
static void tell_no_room(struct session *session, const char *what, const char *then)
{
	const struct memory_limit *limit = &session->budget.limit;

	/* The log may have taken all of it since the last look. */
	log_budget_look_now(session);
	if (session->budget.exhausted)
		session_warn_hint(session, limit->hint, "warning: %s (%s, of which %" PRIu64
				  "M are left, and it takes no more than a quarter): %s", what,
				  limit->name, limit->left >> 20, then);
	else
		session_warn_hint(session, larger_log, "warning: %s: %s", what, then);
}

static void tell_full(struct session *session, const struct log *log)
{
	struct log_accounts accounts = reader_accounts(log);
	bool full = accounts.table_full, stackless = accounts.unstacked;

	if (full && !(session->told & TOLD_FULL))
		tell_no_room(session, "the log is full",
			     "more blocks are not recorded, but counted");
	if (stackless && !(session->told & TOLD_STACKLESS))
		tell_no_room(session, "the log has no room for more stacks",
			     "new ones are not kept");
	session->told &= ~(TOLD_FULL | TOLD_STACKLESS);
	session->told |= (full ? TOLD_FULL : 0) | (stackless ? TOLD_STACKLESS : 0);
}

void lacks_tell_log(struct session *session)
{
	const struct log *log = session->region ? &session->region->log : NULL;
	const struct room *room = &session->room;

	if (!log || !log->header)
		return;
	if (log_config(log).cost && !(session->told & TOLD_SAMPLING))
		session_warn_hint(session, "`status` says what it takes; --cost off records all",
				  "the log samples, so that recording takes no more than %g %% of the "
				  "processor time of the process: totals are estimates",
				  log_config(log).cost / 100.0);
	else if (log_config(log).sample && !(session->told & TOLD_SAMPLING))
		session_warn_hint(session, "--sample 0 records all",
				  "warning: the log samples: of %" PRIu64 " bytes about one block is "
				  "recorded, and totals are estimates", log_config(log).sample);
	if (*room->why && !(session->told & TOLD_ROOM))
		session_warn_hint(session, room->hint,
				  "warning: the log has %" PRIu64 "M and not %" PRIu64 "M: %s",
				  room->log >> 21, session->config.log_limit >> 20, room->why);
	session->told |= TOLD_SAMPLING | TOLD_ROOM;
	tell_full(session, log);
}

static struct err *cannot_jump(const struct probe *probe)
{
	return err_hint(err_create(ERR_ATTACH,
				   "%s cannot have a jump, which --engine jump asks for: %.300s "
				   "(%.60s)",
				   probe->fn->name, reason(probe), path_base(probe->module->path)),
			"%s%s%s", probe->hint, *probe->hint ? "; or " : "",
			"--engine auto, which takes a breakpoint where there can be no jump");
}

static struct err *cannot_watch(const struct probe *probe)
{
	struct err *err = err_create(
		ERR_ATTACH, "no function of an allocator can be watched; %s: %.300s (%.60s)",
		probe->fn->name, reason(probe), path_base(probe->module->path));

	return err_hint(err, "%s", *probe->hint ? probe->hint : "--no-arm attaches without probes");
}

struct err *lacks_refuse(const struct session *session)
{
	const struct probes *probes = session->current->probes;
	const struct probe *first = NULL;
	bool any = false;

	vec_each_value(probe, &probes->all) {
		any |= probe_of_allocator(probe) && probe_records(probe);
		if (!first && is_lacking(probe))
			first = probe;
	}
	if (first && probes->policy == PROBE_ONLY_JUMP)
		return cannot_jump(first);
	return first && !any ? cannot_watch(first) : NULL;
}

static struct err *add(struct session_lacks *lacks, const char *function, const char *why)
{
	struct session_lack lack;

	snprintf(lack.function, sizeof(lack.function), "%s", function);
	snprintf(lack.why, sizeof(lack.why), "%.*s", (int)sizeof(lack.why) - 1, why);
	return vec_push(&lacks->vec, lack);
}

static struct err *add_count(struct session_lacks *lacks, uint64_t count, const char *why)
{
	char text[256];

	if (!count)
		return NULL;
	snprintf(text, sizeof(text), "%" PRIu64 " %s", count, why);
	return add(lacks, "", text);
}

static struct err *add_probes(struct session_lacks *lacks, const struct probes *probes)
{
	struct err *err = NULL;

	for (size_t i = 0; probes && i < probes->all.nr && !err; i++) {
		const struct probe *probe = probes->all.at[i];
		char why[320];

		if (!is_lacking(probe))
			continue;
		snprintf(why, sizeof(why), "%.240s (%.60s)", reason(probe),
			 path_base(probe->module->path));
		err = add(lacks, probe->fn->name, why);
	}
	return err;
}

static struct err *add_log(struct session_lacks *lacks, const struct log *log)
{
	struct log_accounts accounts = reader_accounts(log);
	uint64_t sample = log_config(log).sample;
	struct err *err = NULL;
	char text[128];

	if (log_rate(log))
		snprintf(text, sizeof(text),
			 "the log samples (--cost): not all blocks are in a record");
	else
		snprintf(text, sizeof(text),
			 "the log samples (one in %" PRIu64 " bytes): most blocks are in no record",
			 sample);
	if (sample)
		err = add(lacks, "", text);
	if (!err)
		err = add_count(lacks, accounts.table_full,
				"blocks were not recorded: the log was full");
	if (!err)
		err = add_count(lacks, accounts.unstacked,
				"blocks were recorded without their stacks: the log had no room for them");
	if (!err)
		err = add_count(lacks, accounts.undeferred,
				"stacks were cut short at a library that had just been loaded: there "
				"was no room to keep them until it was known");
	return err;
}

static struct err *add_gap(struct session_lacks *lacks, const struct session *session)
{
	struct process *process = session->current;

	if (session->records == RECORDS_STALE)
		return add(lacks, "",
			   "the probes were out for a while: what was allocated then is not "
			   "recorded, and what was freed then is still listed");
	if (process->probes && !process->probes->armed && session->state != SESSION_NONE &&
	    !process_has_ended(process->state))
		return add(lacks, "", "the probes are out: nothing is recorded");
	return NULL;
}

static bool has_user_probe(const struct probes *probes)
{
	for (size_t i = 0; probes && i < probes->all.nr; i++)
		if (probes->all.at[i]->fn && probes->all.at[i]->fn->user)
			return true;
	return false;
}

struct lacks_job {
	struct session_lacks *lacks;
	bool users;		/* the user has named functions */
	struct user_sizes sizes;
};

static struct err *lacks_job(struct session *session, void *arg)
{
	struct lacks_job *job = arg;
	struct session_lacks *lacks = job->lacks;
	struct err *err = add_probes(lacks, session->current->probes);

	for_each_process(process, session)
		if (!err && process != session->current && process->state == PROCESS_LIVE)
			err = add_probes(lacks, process->probes);
	job->users = has_user_probe(session->current->probes);
	if (!err)
		err = add_log(lacks, &session->region->log);
	return err ? err : add_gap(lacks, session);
}

/* Has the user said of a wrong argument that it is the size? */
static struct err *sizes_job(struct session *session, void *arg)
{
	const struct lacks_job *job = arg;
	const struct user_sizes *sizes = &job->sizes;
	struct log_stack_view stack = reader_stack(&session->region->log, sizes->stack);
	const struct probes *probes = session->current->probes;
	const char *function = "(unknown)";
	char text[256];

	for (size_t i = 0; probes && stack.nr && i < probes->all.nr; i++)
		if (probes->all.at[i]->address == stack.pcs[0] && probes->all.at[i]->fn)
			function = probes->all.at[i]->fn->name;
	snprintf(text, sizeof(text), "%" PRIu64 " blocks that `probe alloc` has recorded cannot be: "
		 "they reach beyond mapped memory, the largest, %.60s's, has %" PRIu64
		 " bytes; is another argument its size?", sizes->impossible, function,
		 sizes->bytes);
	return add(job->lacks, "", text);
}

/* This takes a look at the whole log, and so is done here. */
static struct err *add_sizes(struct session *session, struct lacks_job *job)
{
	struct err *err = user_sizes(session, &job->sizes);

	return err || !job->sizes.impossible ? err : session_call(session, sizes_job, job);
}

struct err *session_lacks(struct session *session, struct session_lacks *ret)
{
	struct lacks_job job = { .lacks = ret };
	struct err *err = NULL;
	bool blind = false;

	*ret = (struct session_lacks){ VEC_INIT };
	if (session_recorded(session)) {
		err = session_call(session, lacks_job, &job);
		if (!err && job.users)
			err = add_sizes(session, &job);
		if (!err)
			err = blind_check(session, &blind);
	}
	if (!err && blind)
		err = add(ret, "",
			  "no call of the allocator is seen, though its heaps change: the process "
			  "may execute a translation or a copy of its code");
	if (err)
		vec_free(&ret->vec);
	return err;
}
