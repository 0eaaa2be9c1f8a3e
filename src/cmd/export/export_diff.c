/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What has changed between two moments or files, as an export of stacks. */

#include "cmd/export/export_diff.h"

#include <string.h>

#include "cmd/shell/cmd.h"
#include "export/changes.h"
#include "export/export_formats.h"
#include "report/diff.h"
#include "report/moment_text.h"
#include "report/sites.h"
#include "session/session.h"

/* Take `sort total` away from the end. */
static bool take_total(struct call *words)
{
	bool total = words->argc > 2 && !strcmp(words->argv[words->argc - 2], "sort") &&
		     !strcmp(words->argv[words->argc - 1], "total");

	words->argc -= total ? 2 : 0;
	return total;
}

static struct err *of_moments(const struct call *call, bool total, bool both, const char *options,
			      const struct query_diff *diff, struct model *ret)
{
	const struct compare *compare = &diff->compare;
	struct changes_source source = {
		.session = call->session, .held = &compare->difference,
		.allocated = diff->all_time ? &diff->allocated : NULL,
		.from_ns = compare->from.name.time_ns, .to_ns = compare->to.name.time_ns,
		.options = options,
	};
	struct err *err;

	if (total && !both)
		source.held = &diff->allocated;
	if (!both)
		source.allocated = NULL;
	err = changes_of_moments(&source, ret);
	if (!err)
		ret->all_time = total;
	return err;
}

struct err *export_diff(const struct call *call, const struct export_format *format,
			const char *options, struct query_diff *diff_ret,
			struct model *model_ret)
{
	struct call words = *call;
	bool total = take_total(&words);
	struct err *err;

	if (!call->argc)
		return err_create(ERR_USAGE, "a moment or a file goes after diff");
	err = query_diff(&words, cmd_malloc_diff.twin->of, diff_ret);
	if (!err && total && !diff_ret->all_time)
		err = err_hint(err_create(ERR_STATE, "what was allocated is not known"),
			       "it is known from one mark to another, or to now");
	if (err)
		return err;
	if (diff_ret->files)
		return changes_of_models(&diff_ret->compare, options, model_ret);
	return of_moments(call, total, format->wants & EXPORT_FREED, options, diff_ret, model_ret);
}

void export_diff_print(struct session *session, const struct query_diff *diff,
		       const struct model *model, const char *file, struct out *out)
{
	const struct compare *compare = &diff->compare;

	if (diff->files)
		compare_notes_print(compare, out);
	else
		moment_text_print_unrecorded(session, compare->from.name.time_ns,
					     compare->to.name.time_ns, out);
	out_f(out, "%zu changes written to %s\n", model->held, file);
	diff_sums_print(model->all_time ? &diff->allocated : &compare->difference,
			!diff->files && !diff->filtered && !model->all_time, out);
	if (!diff->files)
		sites_print_sampling(session, out);
}
