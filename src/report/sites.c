/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The blocks of text of `malloc sites`. */

#include "report/sites.h"

#include <inttypes.h>

#include "base/cancel.h"
#include "log/log.h"
#include "report/lacks.h"
#include "report/out.h"
#include "report/progress.h"
#include "report/stack.h"
#include "session/session.h"

#define INDENT	8	/* of the traceback */

struct err *site_label(struct session *session, const struct stack_names *names, enum site_by by,
		       const struct site *site, struct str *ret)
{
	struct log_thread_view thread;

	switch (by) {
	case SITE_STACK:
		return NULL;
	case SITE_FUNCTION:
		return str_addf(ret, "function %s", stack_names_name(names, site->key));
	case SITE_MODULE:
		return str_addf(ret, "module %s", stack_names_name(names, site->key));
	case SITE_SIZE:
		return str_addf(ret, "blocks of %" PRIu64 " bytes", site->key);
	case SITE_THREAD:
		break;
	}
	thread = log_thread_get(session_log(session), (uint32_t)site->key);
	return thread.lwp ? str_addf(ret, "thread %u", thread.lwp) :
			    str_add(ret, "thread (unknown)");
}

static void print_counts(const struct site *site, struct out *out)
{
	char oldest[32], median[32];

	if (site->total)
		out_f(out, "    all-time %" PRIu64 " blocks, %" PRIu64 " bytes; %" PRIu64 " freed\n",
		      site->total, site->total_bytes,
		      site->freed);
	if (!site->count)
		return;
	format_duration(oldest, sizeof(oldest), site->oldest);
	format_duration(median, sizeof(median), site->median);
	out_f(out, "    oldest %s, median %s; growing by %.1f bytes/s\n", oldest, median,
	      site->rate);
}

static struct err *print_site(struct session *session, const struct stack_names *names,
			      enum site_by by, const struct sites *sites, size_t rank,
			      struct stack_texts *texts, struct out *out)
{
	const struct site *site = &sites->vec.at[rank];
	AUTO_STR struct str label = STR_INIT;
	struct err *err = site_label(session, names, by, site, &label);

	if (err)
		return err;
	out_f(out, "#%zu  %" PRIu64 " bytes in %" PRIu64 " blocks (%.1f %%)", rank + 1,
	      site->bytes, site->count,
	      sites->bytes ? 100.0 * (double)site->bytes / (double)sites->bytes : 0.0);
	if (label.len)
		out_f(out, ": %s", str_text(&label));
	out_text(out, "\n");
	print_counts(site, out);
	if (by != SITE_STACK)
		out_text(out, "    most of it from\n");
	out_blanks(out, INDENT);
	err = stack_texts_print(texts, site->stack, out);
	out_text(out, "\n");
	return err;
}

static void print_sampling(uint64_t sample, struct out *out)
{
	if (sample)
		out_f(out, "Sampled (one in %" PRIu64 " bytes): all figures are estimates\n",
		      sample);
}

struct err *sites_print(struct session *session, const struct stack_names *names, enum site_by by,
			const struct sites *sites, struct out *out)
{
	struct stack_texts texts;
	struct progress progress;
	struct err *err = NULL;
	size_t i;

	out_heading(out, "Allocation Sites of the Process:");
	out_text(out, "\n\n");
	stack_texts_init(&texts, session, INDENT);
	progress_start(&progress, "listing sites");
	for (i = 0; !err && !out_done(out) && i < sites->vec.nr; i++) {
		err = print_site(session, names, by, sites, i, &texts, out);
		if (!err)
			err = cancel_check();
		progress_step(&progress, i, sites->vec.nr);
	}
	progress_end(&progress);
	stack_texts_free(&texts);
	if (!err)
		err = lacks_print(session, out);
	if (!err)
		out_f(out, "%zu sites listed; %" PRIu64 " allocations, %" PRIu64 " bytes in all sites\n",
		      sites->vec.nr, sites->count,
		      sites->bytes);
	if (!err)
		print_sampling(log_config(session_log(session)).sample, out);
	return err;
}
