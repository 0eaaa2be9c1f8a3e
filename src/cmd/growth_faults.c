/* SPDX-License-Identifier: GPL-3.0-or-later */
/* growth fault (growth.h). */

#include "answer/answer.h"
#include "base/cleanup.h"
#include "cmd/shell/cmd.h"
#include "cmd/growth_source.h"
#include "report/faults.h"
#include "session/session.h"

#define KIND	(1u << GROWTH_FAULT)

static struct err *start(struct session *session, unsigned kinds UNUSED, struct out *out UNUSED)
{
	return session_faults_start(session);
}

static unsigned running(const struct session *session)
{
	return session_faults_on(session) ? KIND : 0;
}

static struct err *ask(struct call *call, struct growth_ask *asked, struct session_faults *ret)
{
	static const struct column pages = { "bytes", NULL, NULL,
					     COLUMN(NUMBER, struct fault_sum, pages) };
	const struct filter_env env = query_env(call, &asked->query);
	struct err *err = session_faults(call->session, ret);
	size_t left;

	if (!err)
		err = query_warn_of_nobody(call, &asked->query.names, &asked->query.filter);
	if (err)
		return err;
	faults_filter(ret, &asked->query.filter, &env);
	/* They are in order of faults. */
	return query_growth_sort(&asked->query,
				 asked->query.sort == SITE_SORT_BYTES ? &pages : NULL,
				 ret->sums.at, ret->sums.nr, sizeof(*ret->sums.at), &left);
}

static struct err *show(struct call *call, struct growth_ask *asked)
{
	CLEANUP(session_faults_free) struct session_faults faults = { .minor = 0 };
	struct err *err = ask(call, asked, &faults);

	return err ? err : faults_print(&asked->query.names, &faults, asked->query.order.limit,
					call->out);
}

struct sum_row {
	uint64_t bytes, count;
	struct fault_sum sum;
	const char *file;
};

#define IS(kind, member)	COLUMN(kind, struct sum_row, member)

static const struct column sum_columns[] = {
	{ "bytes", ">BYTES", "4096 for each page", IS(BYTES, bytes), .flags = COLUMN_BRIEF },
	{ "count", ">COUNT", "faults", IS(NUMBER, count), .flags = COLUMN_BRIEF },
	{ "pages", ">PAGES", NULL, IS(NUMBER, sum.pages) },
	{ "huge", ">HUGE", "faults that have brought a huge page", IS(NUMBER, sum.huge) },
	{ "minor", ">MINOR", NULL, IS(NUMBER, sum.minor) },
	{ "major", ">MAJOR", NULL, IS(NUMBER, sum.major) },
	{ "file", "FILE", NULL, IS(TEXT, file), .flags = COLUMN_BRIEF },
	{ "stack", "FUNCTION", NULL, IS(STACK, sum.stack), .flags = COLUMN_BRIEF },
};

static const struct relation sum_relation = RELATION("growth", sum_columns, struct sum_row);

static struct err *rows(struct call *call, struct growth_ask *asked, struct answer *ret)
{
	CLEANUP(session_faults_free) struct session_faults faults = { .minor = 0 };
	struct err *err = ask(call, asked, &faults);

	*ret = (struct answer)ANSWER_KEPT(&sum_relation);
	for (size_t i = 0; !err && i < MIN(faults.sums.nr, asked->query.order.limit); i++) {
		const struct fault_sum *sum = &faults.sums.at[i];

		err = answer_add(ret, &(struct sum_row){
			sum->pages * 4096, sum->minor + sum->major, *sum,
			faults_file(&faults, sum) });
	}
	return err;
}

/* A stack has a sum for each file; in a graph they are side by side in one frame. */
static struct err *sites(struct call *call, struct growth_ask *asked, struct sites *ret)
{
	CLEANUP(session_faults_free) struct session_faults faults = { .minor = 0 };
	struct err *err = ask(call, asked, &faults);

	for (size_t i = 0; !err && i < faults.sums.nr; i++) {
		const struct fault_sum *sum = &faults.sums.at[i];
		struct site site = { .key = sum->stack, .stack = sum->stack,
				     .bytes = sum->pages * 4096,
				     .count = sum->minor + sum->major };

		ret->bytes += site.bytes;
		ret->count += site.count;
		if (i < asked->query.order.limit)
			err = vec_push(&ret->vec, site);
	}
	return err;
}

const struct growth_source growth_faults = {
	.kinds		= KIND,
	.unasked	= KIND,
	.attrs		= 1u << FILTER_FUNCTION | 1u << FILTER_MODULE,
	.lacks		= "page faults are added up by stack and file: FILTER has function and "
			  "module, and there is no `since`",
	.start		= start,
	.stop		= session_faults_stop,
	.running	= running,
	.show		= show,
	.rows		= rows,
	.sites		= sites,
	.unit		= "faults",
};
