/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prints page faults by stack and by file. */

#include "report/faults.h"

#include <inttypes.h>

#include "base/cancel.h"
#include "base/compiler.h"
#include "report/out.h"
#include "report/sites.h"
#include "report/traceback.h"

#define INDENT	8	/* of the traceback */
#define FILES	10	/* that are listed */

const char *faults_file(const struct session_faults *faults, const struct fault_sum *sum)
{
	return sum->file && sum->file < faults->files.nr ? faults->files.at[sum->file] : "";
}

void faults_filter(struct session_faults *faults, const struct filter *filter,
		   const struct filter_env *env)
{
	size_t nr = 0;

	if (!filter->conds.nr)
		return;
	vec_each(sum, &faults->sums) {
		const struct block block = { .stack = sum->stack };

		if (filter_matches(filter, env, &block))
			faults->sums.at[nr++] = *sum;
	}
	faults->sums.nr = nr;
}

static void print_figures(const struct session_faults *faults, const struct fault_sum *sum,
			  struct out *out)
{
	const char *file = faults_file(faults, sum);

	out_f(out, "%" PRIu64 " pages in %" PRIu64 " faults (%" PRIu64 " minor, %" PRIu64 " major",
	      sum->pages, sum->minor + sum->major, sum->minor, sum->major);
	if (sum->huge)
		out_f(out, "; %" PRIu64 " of huge pages", sum->huge);
	out_text(out, ")");
	if (*file) {
		out_text(out, " of ");
		out_outside(out, (struct outside){ file });
	}
	out_text(out, "\n");
}

static struct err *print_sum(struct stack_names *names, const struct session_faults *faults,
			     size_t i, struct stack_texts *texts, struct out *out)
{
	const struct fault_sum *sum = &faults->sums.at[i];
	struct err *err;

	out_f(out, "#%zu  ", i + 1);
	print_figures(faults, sum, out);
	err = sites_print_headline(names, sum->stack, out);
	out_blanks(out, INDENT);
	if (!err)
		err = traceback_texts_print(texts, sum->stack, out);
	out_text(out, "\n");
	return err;
}

COMPARE_BY(by_faults, struct fault_sum, sum, ~(sum->minor + sum->major))

/* Print the sums by file alone: those of a file are added to its first one. */
static struct err *print_files(const struct session_faults *faults, struct out *out)
{
	VEC(struct fault_sum) files = VEC_INIT;
	struct err *err = NULL;

	vec_each(sum, &faults->sums) {
		struct fault_sum *file = vec_slot(&files, sum->file);

		if (!file) {
			err = err_nomem;
			break;
		}
		file->file = sum->file;
		file->minor += sum->minor;
		file->major += sum->major;
		file->huge += sum->huge;
		file->pages += sum->pages;
	}
	vec_sort(&files, by_faults);
	out_text(out, "By file:\n");
	for (size_t i = 0; i < MIN(files.nr, (size_t)FILES); i++) {
		if (!(files.at[i].minor + files.at[i].major))
			break;
		out_text(out, "    ");
		print_figures(faults, &files.at[i], out);
	}
	vec_free(&files);
	return err;
}

static void print_end(const struct session_faults *faults, struct out *out)
{
	out_f(out, "%" PRIu64 " faults: %" PRIu64 " minor, %" PRIu64 " major; %" PRIu64 " pages\n",
	      faults->minor + faults->major, faults->minor, faults->major, faults->pages);
	out_count(out, "%" PRIu64 " more are of mdbg's log in the process\n", faults->own);
	out_count(out, "%" PRIu64 " page faults were lost: the ring was full\n", faults->lost);
	out_count(out, "%" PRIu64 " faults are in no stack: no room (--log-limit)\n",
		  faults->unsummed);
	out_count(out, "%" PRIu64 " pages are in no page count: no room (--log-limit)\n",
		  faults->unpaged);
	out_count(out, "%" PRIu64 " faults have no stack\n", faults->unstacked);
	if (faults->sizeless)
		out_text(out, "a huge page counts as one page: this kernel does not say the size of "
			 "pages (Linux 5.11 does)\n");
	if (faults->user_only)
		out_text(out, "faults inside system calls are not seen: kernel.perf_event_paranoid "
			 "permits them to root and CAP_PERFMON alone\n");
	out_text(out, "\n");
}

struct err *faults_print(struct stack_names *names, const struct session_faults *faults,
			 uint64_t limit, struct out *out)
{
	struct stack_texts texts;
	struct err *err = NULL;

	out_heading(out, "Page faults:");
	traceback_texts_init(&texts, names->session, INDENT);
	for (size_t i = 0; !err && !out_done(out) && i < MIN(faults->sums.nr, limit); i++) {
		err = print_sum(names, faults, i, &texts, out);
		if (!err)
			err = cancel_check();
	}
	traceback_texts_free(&texts);
	if (!err)
		err = print_files(faults, out);
	if (!err)
		print_end(faults, out);
	return err;
}
