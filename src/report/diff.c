/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prints the answer of `malloc diff`. */

#include "report/diff.h"

#include <inttypes.h>

#include "base/cancel.h"
#include "report/lack_text.h"
#include "report/out.h"
#include "report/progress.h"
#include "report/sites.h"
#include "report/traceback.h"

static void print_end(const char *which, const struct moment_name *moment,
		      struct sample_share total, struct out *out)
{
	out_f(out, "    %-5s", which);
	moment_name_print(moment, out);
	out_f(out, ": %s bytes in %" PRIu64 " blocks\n", size_text(out, total.bytes).at,
	      total.blocks);
}

/* Print a change of bytes with its sign; 0 has a plus. */
static void print_change(struct out *out, int64_t bytes)
{
	out_f(out, "%c%s", bytes < 0 ? '-' : '+',
	      size_text(out, bytes < 0 ? -(uint64_t)bytes : (uint64_t)bytes).at);
}

void diff_rank_print(size_t rank, int64_t bytes, int64_t count, struct out *out)
{
	out_f(out, "#%zu  ", rank + 1);
	print_change(out, bytes);
	out_f(out, " bytes in %+" PRId64 " blocks\n", count);
}

void diff_sums_print(size_t nr, uint64_t grown, uint64_t shrunk, struct out *out)
{
	out_f(out, "%zu sites changed; grown %s bytes, ", nr, size_text(out, grown).at);
	out_f(out, "shrunk %s bytes\n", size_text(out, shrunk).at);
}

static struct err *print_site(struct stack_names *names, struct stack_texts *texts, size_t rank,
			      const struct change *change, struct out *out)
{
	struct err *err;

	diff_rank_print(rank, change->bytes, change->count, out);
	err = headline_print(names, change->stack, out);
	out_blanks(out, DIFF_INDENT);
	if (!err)
		err = stack_texts_print(texts, change->stack, out);
	out_text(out, "\n");
	return err;
}

static struct err *print_sites(struct session *session, const struct difference *difference,
			       struct out *out)
{
	struct stack_texts texts;
	struct stack_names names;
	struct err *err = NULL;

	stack_texts_init(&texts, session, DIFF_INDENT);
	stack_names_init(&names, session);
	for (size_t i = 0; !err && !out_done(out) && i < difference->vec.nr; i++) {
		err = print_site(&names, &texts, i, &difference->vec.at[i], out);
		if (!err)
			err = cancel_check();
		progress_step("listing sites", i, difference->vec.nr);
	}
	stack_names_free(&names);
	stack_texts_free(&texts);
	return err;
}

struct err *diff_print(struct session *session, const struct moment_name *from,
		       const struct moment_name *to, const struct difference *difference,
		       struct out *out)
{
	struct err *err;

	out_heading(out, "Changes of the Allocation Sites of the Process:");
	print_end("from", from, difference->from, out);
	print_end("to", to, difference->to, out);
	out_text(out, "\n");
	err = print_sites(session, difference, out);
	if (err)
		return err;
	unrecorded_print(session, from->time_ns, to->time_ns, out);
	err = lacks_print(session, out);
	if (err)
		return err;
	diff_sums_print(difference->vec.nr, difference->grown, difference->shrunk, out);
	sampling_print(session, out);
	return NULL;
}
