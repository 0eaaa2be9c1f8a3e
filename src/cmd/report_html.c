/* SPDX-License-Identifier: GPL-3.0-or-later */
/* report: what is known of the memory of a process, as one HTML file. */

#include "base/cleanup.h"
#include "cmd/cmd.h"
#include "cmd/export.h"
#include "cmd/query.h"
#include "export/model.h"
#include "export/report_html.h"
#include "report/blocks.h"
#include "report/lack_text.h"
#include "report/out.h"
#include "session/session.h"

/* A report that is made: what its parts were asked with, and what came back. */
struct making {
	struct query sites, leaks;
	struct model model;
	struct report report;
	char no_leaks[sizeof(((struct err *)NULL)->msg)];
};

static void making_free(struct making *making)
{
	report_free(&making->report);
	model_free(&making->model);
	query_free(&making->sites);
	query_free(&making->leaks);
}

/* Before the sites, so that what is lost is among them. */
static struct err *find_leaks(const struct call *call, struct making *making)
{
	const char *const words[] = { "all", NULL };
	struct call all = *call;
	struct err *err;

	all.argc = 1;
	all.argv = words;
	err = query_leaks(&all, &making->leaks);
	if (!err) {
		making->report.leaks = &making->leaks.leaks;
		making->report.found = &making->leaks.found;
		return NULL;
	}
	if (err->code == ERR_CANCELLED || err->code == ERR_NOMEM)
		return err;
	/* A report without leaks says why it has none. */
	snprintf(making->no_leaks, sizeof(making->no_leaks), "%s", err->msg);
	making->report.no_leaks = making->no_leaks;
	return NULL;
}

static int by_size(const void *va, const void *vb)
{
	const struct report_change *a = va, *b = vb;
	uint64_t x = (uint64_t)llabs(a->bytes), y = (uint64_t)llabs(b->bytes);

	if (x != y)
		return x > y ? -1 : 1;
	return a->stack < b->stack ? -1 : a->stack > b->stack;
}

/* The growth of the sites: what has gone altogether has no site, and is not among the changes. */
static struct err *list_growth(const struct model *model, struct report_difference *ret)
{
	struct err *err = NULL;

	for (size_t i = 0; !err && i < model->held; i++) {
		const struct site *site = &model->sites.at[i].figures;

		if (model->sites.at[i].part != MODEL_RECORDED || !site->growth)
			continue;
		if (site->growth > 0)
			ret->grown += (uint64_t)site->growth;
		else
			ret->shrunk -= (uint64_t)site->growth;
		err = vec_push(&ret->changes, ((struct report_change){
			.stack = site->stack, .bytes = site->growth }));
	}
	vec_sort(&ret->changes, by_size);
	return err;
}

static struct err *find_differences(struct making *making)
{
	const struct model *model = &making->model;
	struct report_difference *difference;
	struct err *err;
	char over[64];

	if (!model->growth_ns) {
		making->report.no_differences = "Nothing is known yet of an earlier moment: mdbg has looked "
						"once. Make the report again in a while.";
		return NULL;
	}
	err = vec_push(&making->report.differences, ((struct report_difference){ .title = NULL }));
	if (err)
		return err;
	difference = making->report.differences.at;
	format_duration(over, sizeof(over), model->growth_ns);
	if (asprintf(&difference->title, "The last %s", over) < 0)
		difference->title = NULL;
	difference->note = strdup("Of the sites that hold something now.");
	if (!difference->title || !difference->note)
		return err_nomem;
	return list_growth(model, difference);
}

static struct err *make(const struct call *call, struct making *making)
{
	struct call sites = *call;
	struct err *err = find_leaks(call, making);

	sites.argc = 0;
	sites.argv += call->argc;
	if (!err)
		err = query_sites(&sites, &making->sites);
	if (!err)
		err = export_model(&sites, false, MODEL_NO_FREED, &making->sites, &making->model);
	if (!err)
		err = find_differences(making);
	making->report.session = call->session;
	making->report.names = &making->sites.names;
	making->report.model = &making->model;
	return err;
}

static struct err *write_to(const char *name, const struct report *report, bool *stream_ret)
{
	Tcl_DString native;
	struct err *err;

	if (!Tcl_TranslateFileName(NULL, name, &native))
		return err_create(ERR_NOTFOUND, "write to %s: no such user", name);
	err = report_write(report, Tcl_DStringValue(&native), stream_ret);
	Tcl_DStringFree(&native);
	return err;
}

static struct err *run(struct call *call)
{
	CLEANUP(making_free) struct making making = { .no_leaks = "" };
	const struct model *model = &making.model;
	struct err *err = make(call, &making);
	bool stream = false;

	if (!err)
		err = write_to(call->argv[0], &making.report, &stream);
	/* What reads a pipe expects the page and nothing else. */
	if (err || stream)
		return err;
	heap_stood_print(&making.sites.heap, call->out);
	err = lacks_print(call->session, call->out);
	if (err)
		return err;
	out_f(call->out, "%zu sites, %" PRIu64 " allocations, %s bytes written to %s\n", model->held,
	      model->count, size_text(call->out, model->bytes).at, call->argv[0]);
	return NULL;
}

const struct cmd cmd_report = {
	.name		= "report",
	.usage		= "FILE.html",
	.brief		= "one HTML file with all of it, to be sent to a colleague",
	.help		= "A verdict in three sentences, memory over time, a flame graph, the sites\n"
			  "(sort, search, tracebacks), leaks by kind, and what has changed. The\n"
			  "file needs a browser, and no network: it has its own scripts, and may\n"
			  "load nothing. Names of functions and files are in it, but neither data\n"
			  "of the program nor its arguments.\n"
			  "The process is stopped for the search of leaks, as by `malloc leaks`.\n"
			  "Where leaks cannot be looked for, the report says why.\n"
			  "FILE is written beside and renamed, as by `export`.\n",
	.need		= call_need_recording,
	.run		= run,
	.min_args	= 1,
	.max_args	= 1,
	.complete	= COMPLETE_FILES,
};
