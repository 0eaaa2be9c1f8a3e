/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The blocks of text of `malloc sites`. */

#include "report/sites.h"

#include <inttypes.h>

#include "base/cancel.h"
#include "base/compiler.h"
#include "heap/history.h"
#include "log/log.h"
#include "report/lack_text.h"
#include "report/out.h"
#include "report/progress.h"
#include "report/traceback.h"
#include "session/session.h"

#define INDENT	8	/* of the traceback */

/* "line history.c:42"; a frame without a line is named by its function. */
static struct err *line_label(const struct stack_names *names, uint64_t key, struct str *ret)
{
	int line = stack_names_line(names, key);
	const char *name = stack_names_name(names, key);

	if (line)
		return str_addf(ret, "line %s:%d", name, line);
	if (!key)
		return str_addf(ret, "line %s", name);
	return str_addf(ret, "function %s, line not known", name);
}

struct err *site_label(struct session *session, const struct stack_names *names, enum site_by by,
		       const struct site *site, struct str *ret)
{
	struct log_thread_view thread;

	switch (by) {
	case SITE_STACK:
		return NULL;
	case SITE_FUNCTION:
		return str_addf(ret, "function %s", stack_names_name(names, site->key));
	case SITE_LINE:
		return line_label(names, site->key, ret);
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

#define AT(member)	offsetof(struct site, member)

const struct site_field site_fields[] = {
	{ .key = "bytes", .unit = SITE_BYTES, .at = AT(bytes), .past = true,
	  .stale = { "", " bytes in " } },
	{ .key = "count", .at = AT(count), .past = true, .stale = { "", " blocks; of " } },
	{ .key = "total", .at = AT(total), .with = AT(total),
	  .sites = { "    all-time ", " blocks, " }, .stale = { "", " ever recorded there " } },
	{ .key = "totalbytes", .unit = SITE_BYTES, .at = AT(total_bytes), .with = AT(total),
	  .sites = { "", " bytes; " } },
	{ .key = "freed", .at = AT(freed), .with = AT(total),
	  .sites = { "", " freed" }, .stale = { "", " (" } },
	{ .key = "freedbytes", .unit = SITE_BYTES, .at = AT(freed_bytes), .with = AT(total),
	  .sites = { " (", " bytes)\n" } },
	{ .unit = SITE_FREED_SHARE, .stale = { "", " %) were freed; " } },
	{ .key = "oldest", .unit = SITE_AGE, .at = AT(oldest), .with = AT(count),
	  .sites = { "    oldest ", ", " }, .stale = { "oldest ", "\n" } },
	{ .key = "median", .unit = SITE_AGE, .at = AT(median), .with = AT(count),
	  .sites = { "median ", "; " } },
	{ .key = "growth", .unit = SITE_GROWTH, .at = AT(growth), .with = AT(count), .past = true,
	  .sites = { "growth ", "\n" } },
	{ .key = "rate", .unit = SITE_RATE, .at = AT(rate), .past = true },
	{ .key = "over", .unit = SITE_OVER, .past = true },
};
const size_t site_fields_nr = ARRAY_SIZE(site_fields);

bool site_figure_known(const struct sites *sites, const struct site_field *field)
{
	if (field->unit >= SITE_GROWTH && field->unit <= SITE_OVER)
		return sites->growth_ns;
	return field->past || !sites->past;
}

uint64_t site_figure(const struct site *site, const struct site_field *field)
{
	return *(const uint64_t *)((const char *)site + field->at);
}

/* "+4096 bytes in 5s", or "-". */
static void print_growth(const struct sites *sites, const struct site *site, struct out *out)
{
	char over[32];

	if (!sites->growth_ns) {
		out_text(out, "-");
		return;
	}
	format_duration(over, sizeof(over), sites->growth_ns);
	out_f(out, "%c%s bytes in %s", site->growth < 0 ? '-' : '+',
	      size_text(out, (uint64_t)(site->growth < 0 ? -site->growth : site->growth)).at, over);
}

static void print_field(const struct sites *sites, const struct site *site,
			const struct site_field *field, const struct site_text *text,
			struct out *out)
{
	char age[32];

	if (!text->before)
		return;
	out_text(out, text->before);
	if (field->unit == SITE_AGE) {
		format_duration(age, sizeof(age), site_figure(site, field));
		out_text(out, age);
	} else if (field->unit == SITE_BYTES) {
		out_text(out, size_text(out, site_figure(site, field)).at);
	} else if (field->unit == SITE_GROWTH) {
		print_growth(sites, site, out);
	} else if (field->unit == SITE_FREED_SHARE) {
		out_f(out, "%.1f", site->total ? 100.0 * (double)site->freed / (double)site->total : 0.0);
	} else {
		out_f(out, "%" PRIu64, site_figure(site, field));
	}
	out_text(out, text->behind);
}

void site_print_stale(const struct sites *sites, const struct site *site, struct out *out)
{
	for (size_t i = 0; i < site_fields_nr; i++)
		print_field(sites, site, &site_fields[i], &site_fields[i].stale, out);
}

static void print_counts(const struct sites *sites, const struct site *site, struct out *out)
{
	/* For an earlier moment, growth is the only figure of its line. */
	if (sites->past && sites->growth_ns)
		out_text(out, "    ");
	for (size_t i = 0; i < site_fields_nr; i++) {
		const struct site_field *field = &site_fields[i];

		if (sites->past && !site_figure_known(sites, field))
			continue;
		if (!field->with || *(const uint64_t *)((const char *)site + field->with))
			print_field(sites, site, field, &field->sites, out);
	}
}

struct err *site_headline(struct stack_names *names, uint32_t stack, struct str *ret)
{
	struct log_stack_view view = log_stack_get(session_log(names->session), stack);
	enum symbol_names form = session_naming(names->session)->names;
	struct symbol_frame frame;

	if (!stack_names_own(names, stack, &frame))
		return NULL;
	/* Code without a name is shown by its place. */
	if (frame.function)
		return function_text(ret, &frame, form);
	return str_add(ret, symbols_text(names->symbols, frame.pc, view.generation,
					 frame.pc != view.pcs[0], form));
}

struct err *headline_print(struct stack_names *names, uint32_t stack, struct out *out)
{
	AUTO_STR struct str text = STR_INIT;
	struct err *err = site_headline(names, stack, &text);

	if (!err && text.len)
		out_f(out, "    in %s\n", str_text(&text));
	return err;
}

static struct err *print_site(struct stack_names *names, enum site_by by,
			      const struct sites *sites, size_t rank, struct stack_texts *texts,
			      struct out *out)
{
	const struct site *site = &sites->vec.at[rank];
	AUTO_STR struct str label = STR_INIT;
	struct err *err = site_label(texts->session, names, by, site, &label);

	if (err)
		return err;
	out_f(out, "#%zu  %s bytes in %" PRIu64 " blocks (%.1f %%)", rank + 1,
	      size_text(out, site->bytes).at, site->count,
	      sites->bytes ? 100.0 * (double)site->bytes / (double)sites->bytes : 0.0);
	if (label.len)
		out_f(out, ": %s", str_text(&label));
	out_text(out, "\n");
	print_counts(sites, site, out);
	if (by != SITE_STACK)
		out_text(out, "    most of it from\n");
	if (by != SITE_FUNCTION)
		err = headline_print(names, site->stack, out);
	out_blanks(out, INDENT);
	if (!err)
		err = stack_texts_print(texts, site->stack, out);
	out_text(out, "\n");
	return err;
}

void sampling_print(struct session *session, struct out *out)
{
	out_count(out, "Sampled (one in %" PRIu64 " bytes): all figures are estimates\n",
		  log_config(session_log(session)).sample);
}

/* Print why there is no growth, and how to get it. */
static void print_no_growth(enum site_by by, const struct sites *sites, struct out *out)
{
	if (sites->growth_ns || sites->past || !sites->vec.nr)
		return;
	if (by == SITE_THREAD || by == SITE_SIZE)
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
	moment_name_print(at, out);
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
	moment_name_print(&when->since, out);
	out_text(out, "\n");
	unrecorded_print(session, when->since.time_ns,
			 when->at.word ? when->at.time_ns : when->since.now_ns, out);
}

struct err *sites_print(struct stack_names *names, enum site_by by, const struct sites *sites,
			const struct sites_when *when, struct out *out)
{
	struct session *session = names->session;
	struct stack_texts texts;
	struct err *err = NULL;

	print_heading(&when->at, out);
	stack_texts_init(&texts, session, INDENT);
	for (size_t i = 0; !err && !out_done(out) && i < sites->vec.nr; i++) {
		err = print_site(names, by, sites, i, &texts, out);
		if (!err)
			err = cancel_check();
		progress_step("listing sites", i, sites->vec.nr);
	}
	stack_texts_free(&texts);
	if (err)
		return err;
	print_no_growth(by, sites, out);
	print_since(session, when, out);
	if (!err)
		err = lacks_print(session, out);
	if (!err)
		out_f(out, "%zu sites listed; %" PRIu64 " allocations, %s bytes in all sites\n",
		      sites->vec.nr, sites->count, size_text(out, sites->bytes).at);
	if (!err)
		sampling_print(session, out);
	return err;
}
