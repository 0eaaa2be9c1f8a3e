/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The blocks of text of `malloc sites`. */

#include "report/sites.h"

#include <inttypes.h>
#include <string.h>

#include "answer/older_find.h"
#include "base/cancel.h"
#include "base/compiler.h"
#include "heap/history.h"
#include "log/log.h"
#include "os/procfs.h"
#include "report/figures.h"
#include "report/lack_text.h"
#include "report/out.h"
#include "report/progress.h"
#include "report/rows_text.h"
#include "report/stood_text.h"
#include "report/traceback.h"
#include "session/cost/session_cost.h"
#include "session/peak_watch.h"
#include "session/session.h"

#define INDENT	8	/* of the traceback */

/* The text around a figure. If `before` is NULL it is not printed. */
struct site_text {
	const char *before, *behind;
};

/*
 * The words around the figures of `malloc sites` and `malloc stale`, in their order. A line that
 * has `with` is printed only if that figure is known and not 0. For an earlier moment growth stands
 * alone.
 */
static const struct site_line {
	const char *key;		/* of site_relation; NULL: the share of freed blocks */
	const char *with;
	struct site_text sites, stale;
} site_lines[] = {
	{ "bytes", NULL, .stale = { "", " bytes in " } },
	{ "count", NULL, .stale = { "", " blocks; of " } },
	{ "total", "total", { "    all-time ", " blocks, " }, { "", " ever recorded there " } },
	{ "totalbytes", "total", { "", " bytes; " }, { NULL, NULL } },
	{ "freed", "total", { "", " freed" }, { "", " (" } },
	{ "freedbytes", "total", { " (", " bytes)\n" }, { NULL, NULL } },
	{ NULL, NULL, .stale = { "", " %) were freed; " } },
	{ "oldest", "count", { "    oldest ", ", " }, { "oldest ", "\n" } },
	{ "median", "count", { "median ", "; " }, { NULL, NULL } },
	{ "growth", "count", { "growth ", "\n" }, { NULL, NULL } },
};

static double share(uint64_t bytes, uint64_t all)
{
	return all ? 100.0 * (double)bytes / (double)all : 0.0;
}

/* "+4096 bytes in 5s", or "-". */
static void print_growth(const struct sites *sites, const struct site *site, struct out *out)
{
	char over[32];

	if (!sites->growth_ns) {
		out_text(out, "-");
		return;
	}
	number_text_duration(over, sizeof(over), sites->growth_ns);
	out_f(out, "%c%s bytes in %s", site->growth < 0 ? '-' : '+',
	      number_text_size(out, (uint64_t)(site->growth < 0 ? -site->growth : site->growth)).at,
	      over);
}

static void print_value(const struct sites *sites, const struct site_row *row,
			const struct column *column, struct out *out)
{
	struct column_value is = column_get(column, row);
	char age[32];

	if (column->kind == COLUMN_AGE) {
		/* Of blocks from before the attach no age is known. */
		number_text_duration(age, sizeof(age), is.number);
		out_text(out, is.number ? age : "-");
	} else if (column->kind == COLUMN_BYTES) {
		out_text(out, number_text_size(out, is.number).at);
	} else if (column->kind == COLUMN_CHANGE) {
		print_growth(sites, &row->site, out);
	} else {
		out_f(out, "%" PRIu64, is.number);
	}
}

static void print_figure(const struct sites *sites, const struct site_row *row,
			 const struct site_line *line, const struct site_text *text,
			 struct out *out)
{
	const struct site *site = &row->site;

	if (!text->before)
		return;
	out_text(out, text->before);
	if (line->key)
		print_value(sites, row, relation_find(&site_relation, line->key), out);
	else
		out_f(out, "%.1f",
		      site->total ? 100.0 * (double)site->freed / (double)site->total : 0.0);
	out_text(out, text->behind);
}

void site_print_stale(const struct sites *sites, const struct site *site, struct out *out)
{
	const struct site_row row = site_row_of(sites, site);

	for (size_t i = 0; i < ARRAY_SIZE(site_lines); i++)
		print_figure(sites, &row, &site_lines[i], &site_lines[i].stale, out);
}

static bool has_figure(const struct sites *sites, const struct site_row *row,
		       const struct site_line *line)
{
	const struct column *column = line->key ? relation_find(&site_relation, line->key) : NULL;

	if (sites->past && column && !column_get(column, row).known)
		return false;
	return !line->with || column_get(relation_find(&site_relation, line->with), row).number;
}

static void print_counts(const struct sites *sites, const struct site *site, struct out *out)
{
	const struct site_row row = site_row_of(sites, site);

	for (size_t i = 0; i < ARRAY_SIZE(site_lines); i++) {
		const struct site_line *line = &site_lines[i];

		if (!has_figure(sites, &row, line))
			continue;
		/* For an earlier moment, growth is the only figure of its line. */
		if (sites->past && line->key && !strcmp(line->key, "growth"))
			out_text(out, "    ");
		print_figure(sites, &row, line, &line->sites, out);
	}
	if (sites->idle)
		out_f(out, "    %.1f allocations a second since recording began\n", site->call_rate);
}

struct err *sites_print_headline(struct stack_names *names, uint32_t stack, struct out *out)
{
	AUTO_STR struct str text = STR_INIT;
	struct err *err = stack_names_headline(names, stack, &text);

	if (!err && text.len)
		out_f(out, "    in %s\n", str_text(&text));
	return err;
}

/* By function, a function without a name has its caller by name. */
static struct err *print_caller(struct stack_names *names, uint32_t stack, struct out *out)
{
	AUTO_STR struct str text = STR_INIT;
	struct err *err = stack_names_caller(names, stack, "    called by ", &text);

	if (!err && text.len)
		out_f(out, "%s\n", str_text(&text));
	return err;
}

static struct err *print_site(struct stack_names *names, enum site_by by,
			      const struct sites *sites, size_t rank, struct stack_texts *texts,
			      struct out *out)
{
	const struct site *site = &sites->vec.at[rank];
	AUTO_STR struct str label = STR_INIT;
	struct err *err = site_label(names, by, site, &label);

	if (err)
		return err;
	out_f(out, "#%zu  %s bytes in %" PRIu64 " blocks (%.1f %%)", rank + 1,
	      number_text_size(out, site->bytes).at, site->count,
	      share(site->bytes, sites->bytes + sites->older_bytes));
	if (label.len)
		out_f(out, ": %s", str_text(&label));
	out_text(out, "\n");
	print_counts(sites, site, out);
	if (by != SITE_STACK)
		out_text(out, "    most of it from\n");
	err = by == SITE_FUNCTION ? print_caller(names, site->stack, out) :
				    sites_print_headline(names, site->stack, out);
	out_blanks(out, INDENT);
	if (!err)
		err = traceback_texts_print(texts, site->stack, out);
	out_text(out, "\n");
	return err;
}

void sites_print_sampling(struct session *session, struct out *out)
{
	struct session_cost cost;

	if (!session_cost(session, &cost) || !cost.moves) {
		out_count(out, "Sampled (one in %" PRIu64 " bytes): all figures are estimates\n",
			  log_config(session_log(session)).sample);
		return;
	}
	out_text(out, "Sampled (");
	figures_print_cost(&cost, 0, out);
	out_text(out, "): all figures are estimates\n");
}

/* Print why there is no growth, and how to get it. */
static void print_no_growth(enum site_by by, const struct sites *sites, struct out *out)
{
	if (sites->growth_ns || sites->past || !sites->vec.nr)
		return;
	if (by >= SITE_THREAD)
		out_text(out, "Growth (-) is known by stack, function, line and module only\n");
	else
		out_f(out, "Growth (-) needs a sample of %llu s ago or earlier to compare with\n",
		      GROWTH_LEAST_NS / 1000000000);
}

static void print_heading(const struct moment_name *at, struct out *out)
{
	if (!at->word) {
		out_heading(out, "Allocation Sites of the Process:");
		return;
	}
	out_bold(out, true);
	out_text(out, "Allocation Sites of the Process at ");
	moment_text_print_name(at, out);
	out_text(out, ":");
	out_bold(out, false);
	out_text(out, "\n\n");
}

/* Print with which moment growth was computed, if the user has chosen it. */
static void print_since(struct session *session, const struct sites_when *when, struct out *out)
{
	if (!when->since.word)
		return;
	out_text(out, "Growth is since ");
	moment_text_print_name(&when->since, out);
	out_text(out, "\n");
	moment_text_print_unrecorded(session, when->since.time_ns,
				     when->at.word ? when->at.time_ns : when->since.now_ns, out);
}

static struct err *print_blocks(struct stack_names *names, enum site_by by,
				const struct sites *sites, struct out *out)
{
	struct stack_texts texts;
	struct err *err = NULL;

	traceback_texts_init(&texts, names->session, INDENT);
	for (size_t i = 0; !err && !out_done(out) && i < sites->vec.nr; i++) {
		err = print_site(names, by, sites, i, &texts, out);
		if (!err)
			err = cancel_check();
		progress_step("listing sites", i, sites->vec.nr);
	}
	traceback_texts_free(&texts);
	return err;
}

/* Print what is held besides, by blocks of which no site is known. */
static void print_older(const struct sites *sites, const struct sites_when *when, struct out *out)
{
	const struct older_look *older = when->older;

	if (sites->early_count)
		out_f(out, "Of these %" PRIu64 " blocks, %s bytes, are from before the attach\n",
		      sites->early_count, number_text_size(out, sites->early_bytes).at);
	if (!older)
		return;
	if (older->known && older->held.blocks)
		out_f(out, "Not in these: blocks from before the attach, %s%s bytes in %" PRIu64
		      " blocks (%.1f %% of all; `by size` and `by heap` have them)\n",
		      older->held.at_most ? "at most " : "",
		      number_text_size(out, older->held.bytes).at, older->held.blocks,
		      share(older->held.bytes, sites->bytes + older->held.bytes));
	else if (!older->known && *older->why)
		out_f(out, "Not in these: blocks from before the attach (%s)\n", older->why);
	else if (!older->known)
		out_text(out, "Not in these: blocks from before the attach\n");
	stood_text_print(out, older->pause_ns, "");
}

/* Print how the peak was found, and how much of it the sites are. */
static void print_peak(struct session *session, const struct sites_when *when,
		       const struct sites *sites, struct out *out)
{
	struct proc_status status;
	struct peak peak;
	char time[32];

	if (!when->at.word || strcmp(when->at.word, "peak"))
		return;
	if (!when->at.watched || !peak_watch_found(session, &peak)) {
		out_text(out, "The peak is the highest sample of the history (`malloc -v` says how often these "
			      "are taken): there may have been more between two of them\n");
	} else {
		number_text_time(time, sizeof(time), peak.high_ns);
		out_f(out, "Recorded blocks have held %s bytes at most, at %s, as far as looks every "
		      "%llu ms have seen", number_text_size(out, peak.high_bytes).at, time,
		      (unsigned long long)peak.every_ns / 1000000);
		if (!when->filtered && sites->bytes < peak.high_bytes)
			out_f(out, "; %.1f %% of it are in these sites",
			      100.0 * (double)sites->bytes / (double)peak.high_bytes);
		out_text(out, "\n");
	}
	if (!procfs_status(session_pid(session), &status) && status.peak_kb)
		out_f(out, "Most that the process has had in memory (VmHWM): %s bytes\n",
		      number_text_size(out, status.peak_kb << 10).at);
}

/* Print what sites had that may hold nothing now, or why these are not listed. */
static void print_all_time(const struct sites *sites, const struct sites_when *when,
			   struct out *out)
{
	if (sites->idle)
		out_f(out, "In all of the time these have allocated %" PRIu64 " blocks, %s bytes\n",
		      sites->total, number_text_size(out, sites->total_bytes).at);
	else if (when->idle && !sites->past)
		out_text(out, "Sites that hold nothing now are not listed: of what was freed only the stack "
			      "is known\n");
}

struct err *sites_print_sums(struct stack_names *names, const struct sites *sites,
			     const struct sites_when *when, bool listed, struct out *out)
{
	struct session *session = names->session;
	struct err *err = lack_text_print(session, out);

	if (err)
		return err;
	if (listed)
		out_f(out, "%zu sites listed; ", sites->vec.nr);
	out_f(out, "%" PRIu64 " allocations, %s bytes in all sites\n", sites->count,
	      number_text_size(out, sites->bytes).at);
	print_peak(session, when, sites, out);
	print_all_time(sites, when, out);
	print_older(sites, when, out);
	sites_print_sampling(session, out);
	return NULL;
}

/* Print what must be known of the listed sites, and their sums. */
static struct err *print_end(struct stack_names *names, enum site_by by, const struct sites *sites,
			     const struct sites_when *when, struct out *out)
{
	struct session *session = names->session;

	print_no_growth(by, sites, out);
	print_since(session, when, out);
	return sites_print_sums(names, sites, when, true, out);
}

struct err *sites_print(struct stack_names *names, enum site_by by, const struct sites *sites,
			const struct sites_when *when, struct out *out)
{
	struct err *err;

	print_heading(&when->at, out);
	err = print_blocks(names, by, sites, out);
	return err ? err : print_end(names, by, sites, when, out);
}

struct err *sites_print_brief(struct stack_names *names, enum site_by by, struct sites *sites,
			      const struct sites_when *when, struct out *out)
{
	const struct sites sums = *sites;	/* without its vector, which the rows take */
	struct answer rows;
	struct err *err = site_rows(names, by, true, sites, &rows);

	if (err)
		return err;
	print_heading(&when->at, out);
	err = rows_text_print(&rows, NULL, out);
	out_text(out, "\n");
	return err ? err : print_end(names, by, &sums, when, out);
}
