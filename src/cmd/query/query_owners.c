/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Graphs of `malloc owners` and `malloc path`, and the last one (query_owners.h). */

#include "cmd/query/query_owners.h"

#include <stdlib.h>

#include "cmd/shell/call.h"
#include "cmd/shell/shell.h"
#include "os/tracer.h"
#include "session/session.h"

static void forget_graph(struct shell *shell)
{
	if (shell->owners)
		owner_rows_free(&shell->owners->owners);
	free(shell->owners);
	shell->owners = NULL;
}

void query_owners_forget(struct shell *shell)
{
	forget_graph(shell);
	for (int i = 0; shell->owners_before && i < OWNER_BLOCK; i++)
		owner_change_free(&shell->owners_before->by[i]);
	free(shell->owners_before);
	shell->owners_before = NULL;
}

struct err *query_owners_before(const struct call *call, enum owner_by by,
				struct owner_change **ret)
{
	struct shell *shell = call->shell;

	if (!shell->owners_before) {
		shell->owners_before = calloc(1, sizeof(*shell->owners_before));
		if (!shell->owners_before)
			return err_nomem;
		for (int i = 0; i < OWNER_BLOCK; i++)
			shell->owners_before->by[i] = (struct owner_change)OWNER_CHANGE_INIT;
	}
	*ret = &shell->owners_before->by[by];
	return NULL;
}

void query_owners_replace(struct owner_change *before, struct owner_change *now)
{
	owner_change_free(before);
	*before = *now;
	before->taken = tracer_now();
	*now = (struct owner_change)OWNER_CHANGE_INIT;
}

/* May the question be answered from the last graph? */
static bool is_usable(const struct call *call, const struct query_owners *query)
{
	const struct owners_kept *kept = call->shell->owners;
	bool core = session_state(call->session) == SESSION_CORE;

	if (!kept || kept->pid != session_pid(call->session) || !query->ask.address)
		return false;
	if (core)
		return true;
	return !query->now && call->out && tracer_now() - kept->answered <= KEPT_NS;
}

static struct err *take(const struct call *call, const struct query_owners *query)
{
	struct shell *shell = call->shell;
	struct err *err;

	forget_graph(shell);
	shell->owners = calloc(1, sizeof(*shell->owners));
	if (!shell->owners)
		return err_nomem;
	err = owner_rows_take(call->session, &query->ask, &shell->owners->owners);
	if (err) {
		forget_graph(shell);
		return err;
	}
	shell->owners->pid = session_pid(call->session);
	shell->owners->taken = tracer_now();
	return NULL;
}

/* Is the block there, and could it be asked? */
static struct err *ask_kept(const struct call *call, const struct query_owners *query,
			    bool *done_ret)
{
	struct owner_graph *graph = &call->shell->owners->owners.graph;
	struct err *err = owner_graph_ask(session_memory(call->session), &query->ask, graph);

	*done_ret = !err && graph->block != WORD_NO_BLOCK;
	return err;
}

struct err *query_owners(const struct call *call, const struct query_owners *query,
			 struct owners **ret, uint64_t *age_ret)
{
	bool done = false;
	struct err *err = call_need_view(call);

	if (!err && is_usable(call, query))
		err = ask_kept(call, query, &done);
	*age_ret = done ? tracer_now() - call->shell->owners->taken : 0;
	if (!err && !done)
		err = take(call, query);
	if (!err && query->keeps)
		err = owner_rows_find(call->session, false, &call->shell->owners->owners);
	if (!err)
		*ret = &call->shell->owners->owners;
	return err;
}

/* What it takes; blocks of 2^32 bytes and more, and names of roots, are few. */
static uint64_t bytes_of(const struct owners *owners)
{
	const struct owner_graph *graph = &owners->graph;
	uint64_t blocks = graph->graph.nr, vertices = owners->keeps.of ? owners->keeps.top : 0;

	return blocks * (sizeof(struct packed_block) + sizeof(*graph->graph.first)) +
	       graph->graph.to.nr * sizeof(*graph->graph.to.at) + graph->graph.turned.lists.nr +
	       graph->graph.roots.nr * sizeof(*graph->graph.roots.at) +
	       vertices * (sizeof(*owners->keeps.of) + sizeof(*owners->keeps.some) +
			   sizeof(*owners->keeps.blocks));
}

void query_owners_end(const struct call *call)
{
	struct owners_kept *kept = call->shell->owners;

	if (!kept)
		return;
	if (bytes_of(&kept->owners) > KEPT_BYTES) {
		forget_graph(call->shell);
		return;
	}
	owner_graph_rest(&kept->owners.graph);
	if (!kept->answered)
		kept->answered = tracer_now();
}
