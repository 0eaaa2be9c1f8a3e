/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prints the answer of `malloc diff`. */

#include "report/diff.h"

#include <inttypes.h>

#include "base/cancel.h"
#include "report/out.h"
#include "report/progress.h"
#include "report/sites.h"
#include "report/traceback.h"

static void print_end(const char *which, const struct diff_end *end, struct sample_share total,
		      struct out *out)
{
	out_f(out, "    %-5s", which);
	moment_text_print_name(&end->name, out);
	if (end->command)
		out_f(out, " of process %d", (int)end->pid);
	if (end->command && *end->command) {
		out_text(out, ", ");
		out_outside(out, (struct outside){ end->command });
	}
	out_f(out, ": %s bytes in %" PRIu64 " blocks\n", number_text_size(out, total.bytes).at,
	      total.blocks);
}

/* Print "#1  +500 bytes in +5 blocks", for the rank 0; a change of 0 has a plus. */
static void print_rank(size_t rank, const struct change *change, struct out *out)
{
	int64_t bytes = change->bytes;

	out_f(out, "#%zu  %c%s bytes in %+" PRId64 " blocks\n", rank + 1, bytes < 0 ? '-' : '+',
	      number_text_size(out, bytes < 0 ? -(uint64_t)bytes : (uint64_t)bytes).at,
	      change->count);
}

struct err *diff_print(const struct diff_view *view, struct out *out)
{
	const struct difference *difference = view->difference;
	struct err *err = NULL;

	out_heading(out, view->heading);
	print_end("from", &view->from, difference->from, out);
	print_end("to", &view->to, difference->to, out);
	out_text(out, "\n");
	for (size_t i = 0; !err && !out_done(out) && i < difference->vec.nr; i++) {
		const struct change *change = &difference->vec.at[i];

		print_rank(i, change, out);
		err = view->print_stack(view->ctx, change, out);
		out_text(out, "\n");
		if (!err)
			err = cancel_check();
		progress_step("listing sites", i, difference->vec.nr);
	}
	return err;
}

struct stacks {
	struct stack_texts texts;
	struct stack_names names;
};

static struct err *print_stack(void *ctx, const struct change *change, struct out *out)
{
	struct stacks *stacks = ctx;
	struct err *err = sites_print_headline(&stacks->names, change->to, out);

	out_blanks(out, DIFF_INDENT);
	return err ? err : traceback_texts_print(&stacks->texts, change->to, out);
}

struct err *diff_moments_print(struct session *session, const struct moment_name *from,
			       const struct moment_name *to, const struct difference *difference,
			       struct out *out)
{
	struct stacks stacks;
	const struct diff_view view = {
		.heading = "Changes of the Allocation Sites of the Process:", .from.name = *from,
		.to.name = *to, .difference = difference, .print_stack = print_stack,
		.ctx = &stacks,
	};
	struct err *err;

	traceback_texts_init(&stacks.texts, session, DIFF_INDENT);
	stack_names_init(&stacks.names, session);
	err = diff_print(&view, out);
	stack_names_free(&stacks.names);
	traceback_texts_free(&stacks.texts);
	return err;
}

/* Print what was freed of older blocks, whose sites nobody knows. */
static void print_older(const struct difference *difference, struct out *out)
{
	const struct difference_older *older = &difference->older;
	int64_t net = difference_net(difference);

	if (!older->known || older->bytes < 0 || older->frees < 0 || older->unsized < 0) {
		if (!older->known && difference->grown > difference->shrunk)
			out_text(out, "What was freed meanwhile of blocks from before the attach is not known: a\n"
				 "process that replaces these grows by less\n");
		return;
	}
	if (older->frees)
		out_f(out, "%s bytes in %" PRId64 " blocks from before the attach were freed "
		      "meanwhile: %s%s bytes in all\n",
		      number_text_size(out, (uint64_t)older->bytes).at, older->frees,
		      net < 0 ? "shrunk by " : "grown by ",
		      number_text_size(out, net < 0 ? -(uint64_t)net : (uint64_t)net).at);
	if (older->unsized)
		out_f(out, "%" PRId64 " blocks %sof unknown size were freed meanwhile, too; they are not "
		      "set off\n", older->unsized,
		      older->frees ? "" : "from before the attach, ");
}

void diff_sums_print(const struct difference *difference, bool all, struct out *out)
{
	out_count(out, "%zu more are left out by limit\n", difference->unlisted);
	out_f(out, "%zu sites changed; grown %s bytes, ", difference->vec.nr + difference->unlisted,
	      number_text_size(out, difference->grown).at);
	out_f(out, "shrunk %s bytes\n", number_text_size(out, difference->shrunk).at);
	if (all)
		print_older(difference, out);
}
