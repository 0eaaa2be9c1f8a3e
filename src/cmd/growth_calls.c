/* SPDX-License-Identifier: GPL-3.0-or-later */
/* growth brk, mmap and shm (growth.h). */

#include "answer/answer.h"
#include "base/cancel.h"
#include "base/cleanup.h"
#include "cmd/shell/cmd.h"
#include "cmd/growth_source.h"
#include "log/growth_ring.h"
#include "report/growth.h"
#include "report/traceback.h"
#include "session/session.h"

_Static_assert((int)GROWTH_BRK == HELD_BRK && (int)GROWTH_MMAP == HELD_MMAP &&
	       (int)GROWTH_SHM == HELD_SHM, "the first kinds are those of growth/held.h");

static struct err *start(struct session *session, unsigned kinds, struct out *out)
{
	struct session_growth_lacks lacks = { VEC_INIT };
	struct err *err = session_growth_start(session, kinds, &lacks);

	vec_each(lack, &lacks.vec)
		out_f(out, "not watched: %s of %s: %s\n", lack->function, lack->module, lack->why);
	vec_free(&lacks.vec);
	return err;
}

static void sums_free(struct growth_sums *sums)
{
	vec_free(&sums->vec);
}

static const struct column sum_columns[] = {
	{ "bytes", ">BYTES", "held", COLUMN(BYTES, struct growth_sum, bytes),
	  .flags = COLUMN_BRIEF },
	{ "count", ">COUNT", "mappings", COLUMN(NUMBER, struct growth_sum, count),
	  .flags = COLUMN_BRIEF },
	{ "total", ">TOTAL", "calls of all time, as far back as the log has them",
	  COLUMN(NUMBER, struct growth_sum, total), .flags = COLUMN_BRIEF },
	{ "totalbytes", ">TOTALBYTES", "what these have added", COLUMN(BYTES, struct growth_sum, total_bytes),
	  .flags = COLUMN_BRIEF },
	{ "stack", "FUNCTION", NULL, COLUMN(STACK, struct growth_sum, stack),
	  .flags = COLUMN_BRIEF },
};

static const struct relation sum_relation = RELATION("growth", sum_columns, struct growth_sum);

static struct err *add_up(struct call *call, struct growth_ask *ask,
			  struct session_growth_view *view, struct growth_sums *sums)
{
	const struct filter_env env = query_env(call, &ask->query);
	struct err *err = session_growth_view(call->session, view);

	if (!err)
		err = query_warn_of_nobody(call, &ask->query.names, &ask->query.filter);
	if (!err)
		err = growth_add_up(&view->pieces, (enum held_kind)ask->kind, &ask->query.filter,
				    &env, sums);
	if (!err)
		err = growth_add_calls(call->session, (enum held_kind)ask->kind, sums);
	if (err)
		return err;
	return query_growth_sort(&ask->query,
				 relation_find(&sum_relation, query_sort_keys[ask->query.sort]),
				 sums->vec.at, sums->vec.nr, sizeof(*sums->vec.at), &sums->vec.nr);
}

static struct err *show(struct call *call, struct growth_ask *ask)
{
	static const char *const headings[] = {
		[GROWTH_BRK] = "Held by brk:", [GROWTH_MMAP] = "Held by mmap:",
		[GROWTH_SHM] = "Held by shm:",
	};
	CLEANUP(session_growth_view_free) struct session_growth_view view = { .mapped = 0 };
	CLEANUP(sums_free) struct growth_sums sums = { .bytes = 0 };
	struct err *err = add_up(call, ask, &view, &sums);

	if (!err)
		err = growth_print(&ask->query.names, &view, &sums, headings[ask->kind], call->out);
	if (!err && ask->alone)
		growth_print_end(&view, call->out);
	return err;
}

static struct err *show_end(struct call *call)
{
	CLEANUP(session_growth_view_free) struct session_growth_view view = { .mapped = 0 };
	struct err *err = session_growth_view(call->session, &view);

	if (!err)
		growth_print_end(&view, call->out);
	return err;
}

static struct err *rows(struct call *call, struct growth_ask *ask, struct answer *ret)
{
	CLEANUP(session_growth_view_free) struct session_growth_view view = { .mapped = 0 };
	CLEANUP(sums_free) struct growth_sums sums = { .bytes = 0 };
	struct err *err = add_up(call, ask, &view, &sums);

	*ret = (struct answer)ANSWER_KEPT(&sum_relation);
	vec_each_while(sum, &sums.vec, !err)
		err = answer_add(ret, sum);
	return err;
}

static struct err *sites(struct call *call, struct growth_ask *ask, struct sites *ret)
{
	CLEANUP(session_growth_view_free) struct session_growth_view view = { .mapped = 0 };
	CLEANUP(sums_free) struct growth_sums sums = { .bytes = 0 };
	struct err *err = add_up(call, ask, &view, &sums);

	ret->bytes = sums.bytes;
	ret->count = sums.count;
	for (size_t i = 0; !err && i < sums.vec.nr; i++) {
		const struct growth_sum *sum = &sums.vec.at[i];

		err = vec_push(&ret->vec, ((struct site){
			.key = sum->stack, .stack = sum->stack,
			.bytes = sum->bytes, .count = sum->count }));
	}
	return err;
}

/* The events of some numbers. The target goes on, and may write over those that are not read yet. */
static struct err *print_events(struct call *call, unsigned kinds, uint64_t from, uint64_t next,
				struct stack_texts *texts)
{
	CLEANUP(mapped_file_list_free) struct mapped_file_list files = { VEC_INIT };
	const struct log *log = session_log(call->session);
	struct err *err = session_growth_files(call->session, &files);
	uint64_t missed = 0, brk = from == growth_ring_run(log).first ? growth_ring_run(log).brk : 0;
	struct growth_event event;

	for (; !err && from != next && !out_done(call->out); from++) {
		if (growth_ring_get(log, from, &event) != GROWTH_READ)
			missed++;
		else if (event.call < GROWTH_CALLS && kinds & 1u << growth_kind_of(event.call))
			err = growth_event_print(call->session, &event, &files, texts, &brk,
						 call->out);
		if (!err)
			err = cancel_check();
	}
	if (!err && missed)
		out_f(call->out, "%llu events are not listed: newer ones came in their place, or "
		      "their calls have not returned yet\n", (unsigned long long)missed);
	return err;
}

/* Oldest first, as far back as the ring goes. */
static struct err *print_log(struct call *call, unsigned kinds, bool stacks)
{
	const struct log *log = session_log(call->session);
	struct growth_run run = growth_ring_run(log);
	uint64_t next = growth_ring_next(log), from = run.first, gone = 0;
	struct stack_texts texts;
	struct err *err;

	if (!run.start)
		return err_hint(err_create(ERR_STATE, "nothing was recorded"),
				"`growth start` begins");
	if (next - from > log->nr_growth)
		from = next - log->nr_growth;
	gone = from - run.first;
	if (gone)
		out_f(call->out, "%llu older events are gone\n", (unsigned long long)gone);
	traceback_texts_init(&texts, call->session, GROWTH_INDENT);
	err = print_events(call, kinds, from, next, stacks ? &texts : NULL);
	traceback_texts_free(&texts);
	return err;
}

const struct growth_source growth_calls = {
	.kinds		= 1u << GROWTH_BRK | 1u << GROWTH_MMAP | 1u << GROWTH_SHM,
	.unasked	= 1u << GROWTH_BRK | 1u << GROWTH_MMAP | 1u << GROWTH_SHM,
	.logged		= 1u << GROWTH_BRK | 1u << GROWTH_MMAP | 1u << GROWTH_SHM,
	.attrs		= 1u << FILTER_ADDRESS | 1u << FILTER_SIZE | 1u << FILTER_THREAD |
			  1u << FILTER_TIME | 1u << FILTER_AGE | 1u << FILTER_FUNCTION |
			  1u << FILTER_MODULE,
	.start		= start,
	.stop		= session_growth_stop,
	.running	= session_growth_kinds,
	.show		= show,
	.show_end	= show_end,
	.rows		= rows,
	.sites		= sites,
	.unit		= "mappings",
	.log		= print_log,
};
