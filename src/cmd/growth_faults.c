/* SPDX-License-Identifier: GPL-3.0-or-later */
/* growth fault (growth.h). */

#include "base/cleanup.h"
#include "cmd/cmd.h"
#include "cmd/growth.h"
#include "cmd/values.h"
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
	const struct filter_env env = query_env(call, &asked->query);
	struct err *err = session_faults(call->session, ret);

	if (!err)
		faults_filter(ret, &asked->query.filter, &env);
	return err;
}

static struct err *show(struct call *call, struct growth_ask *asked)
{
	CLEANUP(session_faults_free) struct session_faults faults = { .minor = 0 };
	struct err *err = ask(call, asked, &faults);

	return err ? err : faults_print(&asked->query.names, &faults, asked->query.order.limit,
					call->out);
}

static Tcl_Obj *sum_dict(const struct session_faults *faults, const struct fault_sum *sum)
{
	Tcl_Obj *dict = Tcl_NewDictObj();

	dict_number(dict, "bytes", sum->pages * 4096);
	dict_number(dict, "count", sum->minor + sum->major);
	dict_number(dict, "pages", sum->pages);
	dict_number(dict, "minor", sum->minor);
	dict_number(dict, "major", sum->major);
	dict_text(dict, "file", faults_file(faults, sum));
	dict_number(dict, "stack", sum->stack);
	return dict;
}

static struct err *value(struct call *call, struct growth_ask *asked, Tcl_Obj **ret)
{
	CLEANUP(session_faults_free) struct session_faults faults = { .minor = 0 };
	struct err *err = ask(call, asked, &faults);

	if (err)
		return err;
	faults.sums.nr = MIN(faults.sums.nr, asked->query.order.limit);
	*ret = value_list(&faults.sums, sum, sum_dict(&faults, sum));
	return NULL;
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
	.value		= value,
	.sites		= sites,
	.unit		= "faults",
};
