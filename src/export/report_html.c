/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The page of a report (report_html.h). */

#include "export/report_html.h"

#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>

#include "answer/account_rows.h"
#include "base/cleanup.h"
#include "base/text_set.h"
#include "export/assets.h"
#include "export/export_file.h"
#include "export/flame_svg.h"
#include "export/markup.h"
#include "export/model.h"
#include "export/owner_flame.h"
#include "export/verdict.h"
#include "heap/leak.h"
#include "report/leak_text.h"
#include "report/out.h"
#include "report/traceback.h"
#include "session/account.h"
#include "session/replay/session_replay.h"
#include "session/session.h"

#define FLAME_ROOM	(1200u << 10)	/* bytes of its frames */
#define NAME_MOST	400u
#define NONCE_BYTES	16u

struct page {
	const struct report *report;
	const struct model *model;
	struct export_file *file;
	char nonce[2 * NONCE_BYTES + 1];
};

static void text(const struct page *page, const char *html)
{
	export_file_text(page->file, html);
}

static void name(const struct page *page, const char *outside)
{
	markup_write(page->file, outside, NAME_MOST);
}

/* Facts */

/* Sums by the functions that sites are named after, by their key; 0: unknown. */
struct function_sums {
	uint64_t bytes, lost;
	int64_t growth;
};

/* A place without a name is one of its own, by its module and address. */
struct functions {
	struct stack_names *names;
	VEC(struct function_sums) vec;
	struct text_set places;
	VEC(struct function_sums) by_place;
};

static struct err *sums_of(struct functions *functions, uint32_t stack, struct function_sums **ret)
{
	uint64_t key = stack_names_key(functions->names, stack, SITE_FUNCTION);
	AUTO_STR struct str text = STR_INIT;
	struct err *err;
	uint32_t place;

	if (key) {
		*ret = vec_slot(&functions->vec, key);
		return *ret ? NULL : err_nomem;
	}
	err = stack_names_headline(functions->names, stack, &text);
	if (!err)
		err = text_set_copy(&functions->places, text.len ? str_text(&text) :
				    "code that is not known", &place);
	if (err)
		return err;
	*ret = vec_slot(&functions->by_place, place);
	return *ret ? NULL : err_nomem;
}

static struct err *add_up(const struct report *report, struct functions *functions)
{
	const struct model *model = report->model;

	for (size_t i = 0; i < model->held; i++) {
		const struct model_site *site = &model->sites.at[i];
		struct function_sums *sums;
		struct err *err;

		if (site->part != MODEL_RECORDED)
			continue;
		err = sums_of(functions, site->figures.stack, &sums);
		if (err)
			return err;
		sums->bytes += site->figures.bytes;
		sums->growth += model->growth_ns ? site->figures.growth : 0;
	}
	for (size_t i = 0; report->leaks && i < report->leaks->vec.nr; i++) {
		const struct leak *leak = &report->leaks->vec.at[i];
		struct function_sums *sums;
		struct err *err;

		if (leak->kind != LEAK_DEFINITE || leak->preattach ||
		    leak->suppression != SUPPRESS_NONE)
			continue;
		err = sums_of(functions, leak->stack, &sums);
		if (err)
			return err;
		sums->lost += leak->bytes + leak->indirect_bytes;
	}
	return NULL;
}

static void try_largest(const struct function_sums *sums, const char *name,
			struct verdict_facts *facts, uint64_t *lost)
{
	if (sums->bytes > facts->top_bytes) {
		facts->top = name;
		facts->top_bytes = sums->bytes;
	}
	if (sums->growth > 0 && (uint64_t)sums->growth > facts->grower_bytes) {
		facts->grower = name;
		facts->grower_bytes = (uint64_t)sums->growth;
	}
	if (sums->lost > *lost) {
		facts->loser = name;
		*lost = sums->lost;
	}
}

static void find_largest(const struct functions *functions, struct verdict_facts *facts)
{
	uint64_t lost = 0;

	for (size_t key = 1; key < functions->vec.nr; key++)
		try_largest(&functions->vec.at[key], stack_names_name(functions->names, key), facts,
			    &lost);
	for (size_t i = 0; i < functions->by_place.nr; i++)
		try_largest(&functions->by_place.at[i], functions->places.vec.at[i], facts, &lost);
}

/* The largest parts of the account, but for mdbg's. */
static void find_parts(const struct account *account, struct verdict_facts *facts)
{
	facts->resident = account->part[ACCOUNT_ALL] - account->part[ACCOUNT_OWN];
	for (unsigned i = 0; i < ACCOUNT_ALL; i++) {
		struct verdict_part part = { account_what(i), account->part[i] };

		for (unsigned at = 0; at < VERDICT_PARTS && i != ACCOUNT_OWN; at++) {
			struct verdict_part before = facts->part[at];

			if (part.bytes <= before.bytes)
				continue;
			facts->part[at] = part;
			part = before;
		}
	}
}

static void take_judged(const struct memory_verdict *judged, struct verdict_facts *facts)
{
	/* Whose blocks grow is said by name. */
	if (judged->kind == MEMORY_SECOND_LOOK || judged->kind == MEMORY_NOTHING_GROWS ||
	    judged->kind == MEMORY_HEAP_GROWS)
		return;
	facts->judged = judged->text;
	facts->ask = judged->ask;
	facts->judged_bytes = judged->bytes;
	facts->judged_ns = judged->ns;
}

static struct err *gather(const struct report *report, struct functions *functions,
			  struct verdict_facts *ret)
{
	const struct model *model = report->model;
	struct err *err = add_up(report, functions);

	*ret = (struct verdict_facts){
		.bytes = model->bytes, .count = model->count, .sampled = model->sample,
		.ended = session_state(report->session) == SESSION_ENDED,
		.early_bytes = model->early_bytes, .grower_ns = model->growth_ns,
		.no_leaks = report->leaks ? NULL : report->no_leaks,
	};
	if (model->samples.nr > 1) {
		const struct model_sample *first = model->samples.at;
		const struct model_sample *last = vec_end(&model->samples) - 1;

		/*
		 * A log begins empty: what it has after the first second did not grow in that time.
		 */
		first += !first->count && first + 1 < last;
		ret->over_ns = last->time_ns - first->time_ns;
		ret->then_bytes = first->bytes;
		ret->older_bytes = last->older - first->older;
		ret->older_unknown = last->unsized != first->unsized || last->unsized == UINT64_MAX;
		ret->now_bytes = last->bytes;
		ret->then_rss = first->rss;
		ret->now_rss = last->rss;
	}
	if (report->leaks) {
		const struct leak_sum *sum = report->leaks->sum;

		ret->lost_bytes = sum[LEAK_DEFINITE].bytes + sum[LEAK_INDIRECT].bytes;
		ret->lost_blocks = sum[LEAK_DEFINITE].blocks + sum[LEAK_INDIRECT].blocks;
	}
	if (report->account) {
		find_parts(&report->account->account, ret);
		take_judged(report->judged, ret);
	}
	if (!err)
		find_largest(functions, ret);
	return err;
}

/* Sections */

static struct err *write_verdict(const struct page *page)
{
	struct str sentences[VERDICT_SENTENCES] = { STR_INIT, STR_INIT, STR_INIT };
	struct functions functions = { .names = page->report->names, .places = TEXT_SET_INIT };
	struct verdict_facts facts;
	struct err *err = gather(page->report, &functions, &facts);

	if (!err)
		err = verdict_write(&facts, sentences);
	vec_free(&functions.vec);
	vec_free(&functions.by_place);
	text_set_free(&functions.places);
	text(page, "<section id=\"verdict\"><h2>Verdict</h2>\n");
	for (unsigned i = 0; i < VERDICT_SENTENCES; i++) {
		text(page, "<p>");
		markup_write(page->file, str_text(&sentences[i]), MARKUP_WHOLE);
		text(page, "</p>\n");
		str_free(&sentences[i]);
	}
	text(page, "</section>\n");
	return err;
}

static void write_fact(const struct page *page, const char *what, const char *is)
{
	text(page, "<dt>");
	text(page, what);
	text(page, "</dt><dd>");
	name(page, is);
	text(page, "</dd>\n");
}

static void write_facts(const struct page *page)
{
	const struct model *model = page->model;
	char now[64], since[64], number[96];

	number_text_time(now, sizeof(now), model->now_ns);
	number_text_time(since, sizeof(since), model->since_ns);
	text(page, "<dl>\n");
	snprintf(number, sizeof(number), "%" PRIu64 " bytes in %" PRIu64 " blocks", model->bytes,
		 model->count);
	write_fact(page, "Held", number);
	if (model->early_count) {
		snprintf(number, sizeof(number), "%" PRIu64 " bytes in %" PRIu64 " blocks",
			 model->early_bytes, model->early_count);
		write_fact(page, "Not recorded", number);
	}
	write_fact(page, "At", now);
	write_fact(page, "Recorded since", since);
	write_fact(page, "Allocator", model->allocator);
	if (model->sample) {
		snprintf(number, sizeof(number), "one allocation in %" PRIu64 " bytes: figures are "
			 "estimates", model->sample);
		write_fact(page, "Sampled", number);
	}
	text(page, "</dl>\n");
}

static bool has_account(const struct report *report)
{
	return report->account || session_replay_is(report->session);
}

static struct err *write_parts(const struct page *page, struct answer *rows)
{
	const struct account_row *row;
	struct err *err = NULL;

	text(page, "<div class=\"scroll\"><table class=\"kinds\"><thead>"
	     "<tr><th scope=\"col\">Part</th><th scope=\"col\">Bytes</th><th scope=\"col\">Percent"
	     "</th><th scope=\"col\">What it is</th></tr></thead><tbody>\n");
	while (!err && !(err = answer_next(rows, (const void **)&row)) && row) {
		text(page, "<tr><th scope=\"row\">");
		markup_write(page->file, row->part, MARKUP_WHOLE);
		export_file_f(page->file, "</th><td>%" PRIu64 "</td><td>", row->bytes);
		if (row->shared)
			export_file_f(page->file, "%.1f", row->share);
		text(page, "</td><td class=\"text\">");
		markup_write(page->file, row->note, MARKUP_WHOLE);
		text(page, "</td></tr>\n");
	}
	text(page, "</tbody></table></div>\n");
	return err;
}

/* The rows of `memory account`: of now, or as they were recorded last, if they were. */
static struct err *write_account(const struct page *page)
{
	CLEANUP(answer_free) struct answer rows = { .nr = 0 };
	const struct report *report = page->report;
	char time[32] = "";
	uint64_t time_ns;
	struct err *err;

	if (!has_account(report))
		return NULL;
	text(page, "<section id=\"account\"><h2>What is in memory</h2>\n");
	if (report->account) {
		err = account_rows(report->account, false, &rows);
	} else {
		err = account_rows_recorded(report->session, false, &time_ns, &rows);
		number_text_time(time, sizeof(time), time_ns);
	}
	if (err && err->code == ERR_NOTFOUND) {
		text(page, "<p>");
		markup_write(page->file, err->msg, MARKUP_WHOLE);
		text(page, ": it is taken every five minutes, or more rarely.</p></section>\n");
		return NULL;
	}
	if (!err && *time)
		export_file_f(page->file, "<p>This was taken at %s.</p>\n", time);
	if (!err)
		err = write_parts(page, &rows);
	text(page, "</section>\n");
	return err;
}

static void write_time(const struct page *page)
{
	text(page, "<section id=\"time\"><h2>Memory over time</h2>\n");
	if (page->model->samples.nr < 2)
		text(page, "<p>There is no history of this process: the report was made too soon after "
		     "the attach.</p>\n");
	else
		text(page, "<div id=\"chart\"></div>\n");
	text(page, "</section>\n");
}

static void write_graph(const struct page *page, const char *head, const struct flame_graph *graph)
{
	text(page, head);
	text(page, "</p>\n<div class=\"scroll\">");
	flame_svg_write(graph, false, page->file);
	text(page, "</div></section>\n");
}

static struct err *write_flame(const struct page *page)
{
	struct flame_graph graph;
	struct err *err = flame_svg_build(page->model, FLAME_BYTES, FLAME_ROOM, NAME_MOST, &graph);

	if (err)
		return err;
	write_graph(page, "<section id=\"flame\"><h2>Flame graph</h2>\n<p>Bytes held: each frame is as "
		    "wide as what was allocated in it and in what it has called; callers are below. "
		    "Click, or Enter, zooms in; Esc shows the whole.", &graph);
	flame_svg_free(&graph);
	return NULL;
}

static void write_none(const struct page *page, const char *head, const char *why)
{
	text(page, head);
	text(page, " is not known: ");
	name(page, why);
	text(page, ".</p></section>\n");
}

static struct err *write_owners(const struct page *page)
{
	CLEANUP(flame_svg_free) struct flame_graph graph = { .names = TEXT_SET_INIT };
	const struct report *report = page->report;
	struct err *err;

	if (!report->owners) {
		write_none(page, "<section id=\"owners\"><h2>Owners</h2>\n<p>Who keeps the memory",
			   report->no_owners);
		return NULL;
	}
	err = owner_flame_build(page->model, report->names, report->owners, &graph);
	if (!err)
		write_graph(page, "<section id=\"owners\"><h2>Owners</h2>\n<p>Who keeps the memory: each "
			    "root, and each block above it, by who allocated it, is as wide as what would "
			    "go with it. Blocks of one list are one frame.", &graph);
	return err;
}

static struct err *write_types(const struct page *page)
{
	CLEANUP(flame_svg_free) struct flame_graph graph = { .names = TEXT_SET_INIT };
	struct err *err;

	if (!page->report->types) {
		write_none(page, "<section id=\"types\"><h2>Types</h2>\n<p>What the blocks are",
			   page->report->no_types);
		return NULL;
	}
	err = owner_flame_build_types(page->model, page->report->types, &graph);
	if (!err)
		write_graph(page, "<section id=\"types\"><h2>Types</h2>\n<p>What the blocks are, above how "
			    "that is known.", &graph);
	return err;
}

static void write_leak_sum(const struct page *page, const char *kind, const struct leak_sum *sum)
{
	export_file_f(page->file, "<tr><th scope=\"row\">%s</th><td>%" PRIu64 "</td><td>%" PRIu64
		      "</td></tr>\n", kind, sum->bytes, sum->blocks);
}

/* The text of `malloc leaks` above its list: it says what may hide leaks or make them up. */
static struct err *write_doubts(const struct page *page)
{
	const struct report *report = page->report;
	AUTO_CLOSE int fd = memfd_create("mdbg-report", MFD_CLOEXEC);
	AUTO_FCLOSE FILE *lines = NULL;
	AUTO_FREE char *line = NULL;
	size_t room = 0;
	struct out out;
	struct err *err = fd < 0 ? err_sys("memfd_create") : out_init_fd(&out, fd, "the report");

	if (err)
		return err;
	leak_text_print_summary(report->session, report->found, report->leaks, &out);
	err = out_finish(&out);
	if (!err && lseek(fd, 0, SEEK_SET))
		err = err_sys("lseek");
	lines = err ? NULL : fdopen(take_fd(fd), "r");
	text(page, "<details><summary>What the search says of itself</summary><pre>");
	while (lines && getline(&line, &room, lines) > 0) {
		line[strcspn(line, "\n")] = '\0';
		markup_write(page->file, line, MARKUP_WHOLE);
		text(page, "\n");
	}
	text(page, "</pre></details>\n");
	return err;
}

static struct err *write_leaks(const struct page *page)
{
	const struct leaks *leaks = page->report->leaks;
	struct err *err;

	text(page, "<section id=\"leaks\"><h2>Leaks</h2>\n");
	if (!leaks) {
		text(page, "<p>Leaks could not be looked for: ");
		name(page, page->report->no_leaks);
		text(page, ".</p></section>\n");
		return NULL;
	}
	text(page, "<table class=\"kinds\"><thead><tr><th scope=\"col\">Kind</th><th scope=\"col\">Bytes"
	     "</th><th scope=\"col\">Blocks</th></tr></thead><tbody>\n");
	for (unsigned i = 0; i < LEAK_KINDS; i++)
		write_leak_sum(page, leak_kind_name(i), &leaks->sum[i]);
	if (leaks->suppressed.blocks)
		write_leak_sum(page, "suppressed", &leaks->suppressed);
	text(page, "</tbody></table>\n");
	err = write_doubts(page);
	text(page, "<div id=\"leak-table\"></div></section>\n");
	return err;
}

static void write_tables(const struct page *page)
{
	const struct report *report = page->report;

	text(page, "<section id=\"differences\"><h2>Differences</h2>\n");
	if (report->differences.nr)
		text(page, "<div id=\"difference-tables\"></div>\n");
	else {
		text(page, "<p>");
		name(page, report->no_differences);
		text(page, "</p>\n");
	}
	text(page, "</section>\n");
}

/* The page */

static struct err *make_nonce(struct page *page)
{
	unsigned char bytes[NONCE_BYTES];

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return err_sys("getrandom");
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(page->nonce + 2 * i, 3, "%02x", bytes[i]);
	return NULL;
}

static void write_title(const struct page *page)
{
	text(page, "Memory of ");
	flame_svg_program(page->model, page->file);
}

static void write_head(const struct page *page)
{
	static const char *const sheets[] = { "report.css", "flamegraph.css" };

	export_file_f(page->file, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
		      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		      "script-src 'nonce-%s'; style-src 'nonce-%s'; img-src data:; base-uri 'none'; "
		      "form-action 'none'\">\n", page->nonce, page->nonce);
	text(page, "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	     "<meta name=\"color-scheme\" content=\"light dark\">\n"
	     "<link rel=\"icon\" href=\"data:,\">\n<title>");
	write_title(page);
	export_file_f(page->file, "</title>\n<style nonce=\"%s\">\n", page->nonce);
	for (size_t i = 0; i < ARRAY_SIZE(sheets); i++)
		assets_write(page->file, sheets[i]);
	text(page, "</style></head>\n<body><header><h1>");
	write_title(page);
	text(page, "</h1>\n<nav aria-label=\"Sections\"><a href=\"#verdict\">Verdict</a> ");
	if (has_account(page->report))
		text(page, "<a href=\"#account\">Memory</a> ");
	text(page, "<a href=\"#time\">Time</a> <a href=\"#flame\">Flame graph</a> "
	     "<a href=\"#owners\">Owners</a> <a href=\"#types\">Types</a> <a href=\"#sites\">Sites</a> <a href=\"#leaks\">Leaks</a> "
	     "<a href=\"#differences\">Differences</a></nav></header>\n<main>\n"
	     "<noscript><p>This page shows its tables by a script of its own, which is not allowed to "
	     "run here.</p></noscript>\n");
}

static struct err *write_scripts(const struct page *page)
{
	struct err *err;

	text(page, "</main>\n<script type=\"application/json\" id=\"data\">");
	err = report_data_write(page->report, page->file);
	export_file_f(page->file, "</script>\n<script nonce=\"%s\">\n", page->nonce);
	assets_write(page->file, "flamegraph.js");
	assets_write(page->file, "report.js");
	text(page, "</script></body></html>\n");
	return err;
}

static struct err *write_page(const struct report *report, struct export_file *file)
{
	struct page page = { .report = report, .model = report->model, .file = file };
	struct err *err = make_nonce(&page);

	if (err)
		return err;
	write_head(&page);
	err = write_verdict(&page);
	write_facts(&page);
	if (!err)
		err = write_account(&page);
	write_time(&page);
	if (!err)
		err = write_flame(&page);
	if (!err)
		err = write_owners(&page);
	if (!err)
		err = write_types(&page);
	text(&page, "<section id=\"sites\"><h2>Sites</h2>\n<div id=\"site-table\"></div></section>\n");
	if (!err)
		err = write_leaks(&page);
	write_tables(&page);
	return err ? err : write_scripts(&page);
}

struct err *report_html_write(const struct report *report, const char *file_name, bool *stream_ret)
{
	struct export_file *file;
	struct err *err = export_file_begin(file_name, false, &file);

	if (err)
		return err;
	*stream_ret = !export_file_path(file);
	return export_file_end(file, write_page(report, file));
}

void report_html_free(struct report *report)
{
	vec_each(difference, &report->differences) {
		free(difference->title);
		free(difference->note);
		difference_free(&difference->found);
	}
	vec_free(&report->differences);
}
