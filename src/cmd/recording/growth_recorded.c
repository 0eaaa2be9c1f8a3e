/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * growth brk, mmap and shm of a recording: the sums of each stack at its cursor. The single mappings
 * are not recorded, so `since` is not what was made since then and is held, but what the stacks hold
 * more than then.
 */

#include "answer/site_rows.h"
#include "base/cleanup.h"
#include "cmd/growth_source.h"
#include "cmd/shell/cmd.h"
#include "report/rows_text.h"
#include "session/history.h"
#include "session/replay/session_replay.h"
#include "session/replay/session_replay_figures.h"

static unsigned running(const struct session *session)
{
	return session_replay_is(session) ? session_replay_figures_growth_kinds(session) : 0;
}

static struct err *moment_at(struct call *call, struct growth_ask *ask, uint64_t time_ns,
			struct moment *ret)
{
	return session_replay_figures_growth(call->session, (unsigned)ask->kind, time_ns, ret);
}

static struct err *make_sites(struct call *call, struct growth_ask *ask, struct sites *ret)
{
	CLEANUP(moment_free) struct moment now = MOMENT_INIT, since = MOMENT_INIT;
	struct query *query = &ask->query;
	const struct filter_env env = query_env(call, query);
	struct site_spec spec = { .by = SITE_STACK, .sort = query->sort,
				  .limit = query->order.limit };
	struct err *err = moment_at(call, ask, query->now_ns, &now);

	if (!err && query->since.word) {
		err = moment_at(call, ask, query->since.moment.time_ns, &since);
		spec.since = &since;
	}
	return err ? err : sites_from_moment(&env, &query->filter, &now, &spec, ret);
}

static struct err *show(struct call *call, struct growth_ask *ask)
{
	static const char *const headings[] = {
		[GROWTH_BRK] = "Held by brk", [GROWTH_MMAP] = "Held by mmap",
		[GROWTH_SHM] = "Held by shm",
	};
	CLEANUP(sites_free) struct sites sites = SITES_INIT;
	CLEANUP(answer_free) struct answer answer = { .nr = 0 };
	struct err *err = make_sites(call, ask, &sites);
	uint64_t bytes = sites.bytes, count = sites.count;

	if (!err)
		err = site_rows(&ask->query.names, SITE_STACK, true, &sites, &answer);
	if (err)
		return err;
	out_f(call->out, "%s at %s:\n\n", headings[ask->kind], session_replay_now_text(call->session));
	err = rows_text_print(&answer, &ask->query.names, call->out);
	out_f(call->out, "\n%s bytes in %" PRIu64 " mappings\n\n",
	      number_text_size(call->out, bytes).at, count);
	return err;
}

static struct err *rows(struct call *call, struct growth_ask *ask, struct answer *ret)
{
	CLEANUP(sites_free) struct sites sites = SITES_INIT;
	struct err *err = make_sites(call, ask, &sites);

	return err ? err : site_rows(&ask->query.names, SITE_STACK, false, &sites, ret);
}

const struct growth_source growth_recorded = {
	.attrs		= 1u << FILTER_FUNCTION | 1u << FILTER_MODULE,
	.lacks		= "of a recording the sums of stacks are known: a filter has function and module",
	.running	= running,
	.show		= show,
	.rows		= rows,
	.sites		= make_sites,
	.unit		= "mappings",
};
