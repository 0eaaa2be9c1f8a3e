/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The sites of `malloc watch`, as text. */

#include "report/watch.h"

#include <stdio.h>
#include <string.h>

#include "log/log.h"
#include "report/lack_text.h"
#include "report/out.h"
#include "report/sites.h"
#include "report/traceback.h"
#include "session/session.h"

#define INDENT		8u	/* of a traceback */
#define WIDE		110u	/* a terminal of so many columns has room for a whole spark line */
#define SPARK_SHORT	8u
#define SPARK_ROOM	(4 * RATES_PAST + 1)
#define FIGURE_ROOM	32

const char *const watch_sort_words[] = {
	[RATES_BYTES] = "bytes", [RATES_GROWTH] = "growth",
	[RATES_ALLOCS] = "allocations", [RATES_FREES] = "frees",
};

/* Events a second; "-" if there is only one reading, or if the events are not counted. */
static void per_second(char ret[FIGURE_ROOM], const struct rates *rates, uint64_t events,
		       bool counted)
{
	double rate = rates->over_ns ? (double)events * 1e9 / (double)rates->over_ns : 0.0;

	if (!rates->over_ns || !counted)
		snprintf(ret, FIGURE_ROOM, "-");
	else
		snprintf(ret, FIGURE_ROOM, "%.*f", rate < 1000 ? 1 : 0, rate);
}

/* "+4096"; "-" if there is only one reading. */
static void growth_text(char ret[FIGURE_ROOM], const struct rates *rates, const struct rate *rate,
			const struct out *out)
{
	uint64_t bytes = (uint64_t)(rate->growth < 0 ? -rate->growth : rate->growth);

	if (!rates->over_ns)
		snprintf(ret, FIGURE_ROOM, "-");
	else
		snprintf(ret, FIGURE_ROOM, "%c%s", rate->growth < 0 ? '-' : '+',
			 number_text_size(out, bytes).at);
}

/* A letter for each of the last `most` readings; the lowest letter is for the least of them. */
static void spark_text(const struct watch_view *view, const struct rate *rate, size_t most,
		       char ret[SPARK_ROOM])
{
	static const char *const ascii[] = { "_", ".", ",", "-", "=", "+", "*", "#" };
	static const char *const blocks[] = {
		"\xe2\x96\x81", "\xe2\x96\x82", "\xe2\x96\x83", "\xe2\x96\x84",
		"\xe2\x96\x85", "\xe2\x96\x86", "\xe2\x96\x87", "\xe2\x96\x88",
	};
	float past[RATES_PAST], least, largest;
	size_t nr = rates_past(view->rates, rate, past), first = nr > most ? nr - most : 0;

	ret[0] = '\0';
	least = largest = nr ? past[first] : 0;
	for (size_t i = first; i < nr; i++) {
		least = MIN(least, past[i]);
		largest = MAX(largest, past[i]);
	}
	for (size_t i = first; i < nr; i++) {
		float part = largest > least ? (past[i] - least) / (largest - least) : 0;
		size_t level = MIN((size_t)(part * 8), (size_t)7);

		strcat(ret, view->utf8 ? blocks[level] : ascii[level]);
	}
}

/* "5100 bytes in 2 blocks, growth +0 bytes, 2.0 allocations/s, 2.0 frees/s  ▁▁█" */
static void print_figures(const struct watch_view *view, const struct rate *rate, bool counted,
			  struct out *out)
{
	char growth[FIGURE_ROOM], allocs[FIGURE_ROOM], frees[FIGURE_ROOM], spark[SPARK_ROOM];

	growth_text(growth, view->rates, rate, out);
	per_second(allocs, view->rates, rate->new_allocs, counted);
	per_second(frees, view->rates, rate->new_frees, counted);
	spark_text(view, rate, RATES_PAST, spark);
	out_f(out, "%s bytes in %" PRIu64 " blocks, growth %s bytes, %s allocations/s, %s frees/s"
	      "  %s\n", number_text_size(out, rate->bytes).at, rate->count, growth, allocs, frees,
	      spark);
}

/*
 * Print what older blocks have given back meanwhile: growth of others is none as far as that goes. What
 * is not known of that is said where it would make growth less.
 */
static void print_older(const struct watch_view *view, struct out *out)
{
	const struct rates *rates = view->rates;
	const struct log_older *older = &rates->new_older;
	char net[FIGURE_ROOM];
	struct rate all = rates->all;

	all.growth -= (int64_t)older->bytes;
	growth_text(net, rates, &all, out);
	if (older->bytes)
		out_f(out, "          %s bytes from before the attach were freed: growth %s in all\n",
		      number_text_size(out, older->bytes).at, net);
	if (older->unsized)
		out_f(out, "          %" PRIu64 " blocks from before the attach, of unknown size, were "
		      "freed: growth is less by these\n", older->unsized);
	if (!older->known && all.growth > 0)
		out_text(out, "          (what was freed of blocks from before the attach is not known: "
			 "growth may be less)\n");
}

/* Print the sums in two lines, for terminals on which one line would be cut. */
static void print_sums_short(const struct watch_view *view, struct out *out)
{
	const struct rates *rates = view->rates;
	char time[32], growth[FIGURE_ROOM], allocs[FIGURE_ROOM], frees[FIGURE_ROOM];
	char spark[SPARK_ROOM];

	number_text_time(time, sizeof(time), rates->time_ns);
	growth_text(growth, rates, &rates->all, out);
	per_second(allocs, rates, rates->all.new_allocs, true);
	per_second(frees, rates, rates->all.new_frees, true);
	spark_text(view, &rates->all, RATES_PAST, spark);
	out_f(out, "%s  %s bytes in %" PRIu64 " blocks, growth %s bytes\n", strchr(time, ' ') + 1,
	      number_text_size(out, rates->all.bytes).at, rates->all.count, growth);
	out_f(out, "          %s allocations/s, %s frees/s  %s\n", allocs, frees, spark);
	print_older(view, out);
}

/* Print the time of the reading, and the sums. */
static void print_sums(const struct watch_view *view, struct out *out)
{
	char time[32];

	number_text_time(time, sizeof(time), view->rates->time_ns);
	out_f(out, "%s  ", time);
	print_figures(view, &view->rates->all, true, out);
	print_older(view, out);
}

/* All-time counts belong to stacks, so there are none of blocks without a stack. */
static bool is_counted(uint32_t stack)
{
	return stack != LOG_STACK_NONE;
}

struct err *watch_print_block(const struct watch_view *view, struct out *out)
{
	struct err *err = NULL;

	print_sums(view, out);
	out_text(out, "\n");
	for (size_t i = 0; i < view->top->vec.nr && !err && !out_done(out); i++) {
		uint32_t stack = view->top->vec.at[i];

		out_f(out, "#%zu  ", i + 1);
		print_figures(view, &view->rates->vec.at[stack], is_counted(stack), out);
		if (is_counted(stack))
			err = sites_print_headline(view->names, stack, out);
		else
			out_text(out, "    (no stack)\n");
	}
	if (!err)
		err = lack_text_print(view->session, out);
	if (!err)
		sites_print_sampling(view->session, out);
	out_text(out, "\n");
	return err;
}

static struct err *print_row(const struct watch_view *view, size_t row, bool selected,
			     size_t spark_most, struct out *out)
{
	uint32_t stack = view->top->vec.at[row];
	const struct rate *rate = &view->rates->vec.at[stack];
	char growth[FIGURE_ROOM], allocs[FIGURE_ROOM], frees[FIGURE_ROOM], spark[SPARK_ROOM];
	AUTO_STR struct str headline = STR_INIT;
	struct err *err = stack_names_headline(view->names, stack, &headline);

	growth_text(growth, view->rates, rate, out);
	per_second(allocs, view->rates, rate->new_allocs, is_counted(stack));
	per_second(frees, view->rates, rate->new_frees, is_counted(stack));
	spark_text(view, rate, spark_most, spark);
	out_f(out, "%c%2zu %11s %8" PRIu64 " %10s %9s %9s ", selected ? '>' : ' ', row + 1,
	      number_text_size(out, rate->bytes).at, rate->count, growth, allocs, frees);
	out_column(out, spark, spark_most + 1);
	out_f(out, "%s\n", headline.len ? str_text(&headline) : "(no stack)");
	return err;
}

struct err *watch_print_table(const struct watch_view *view, size_t selected, size_t columns,
			      struct out *out)
{
	size_t spark_most = columns < WIDE ? SPARK_SHORT : RATES_PAST;
	char every[32];
	struct err *err = NULL;

	number_text_duration(every, sizeof(every), view->every_ns);
	out_f(out, "malloc watch: process %d every %s, by %s%s%s\n", session_pid(view->session),
	      every, watch_sort_words[view->sort], *view->note ? ", " : "", view->note);
	out_text(out, "s: sort  1-9, Enter: open a site  up, down: choose one  m: mark  q: quit\n");
	if (columns < WIDE)
		print_sums_short(view, out);
	else
		print_sums(view, out);
	err = lack_text_print(view->session, out);
	sites_print_sampling(view->session, out);
	out_text(out, columns < WIDE ? "" : "\n");
	out_text(out, "  #       BYTES   BLOCKS     GROWTH  ALLOCS/S   FREES/S ");
	out_column(out, "BYTES", spark_most + 1);
	out_text(out, "SITE\n");
	for (size_t row = 0; row < view->top->vec.nr && !err; row++)
		err = print_row(view, row, row == selected, spark_most, out);
	return err;
}

struct err *watch_print_site(const struct watch_view *view, uint32_t stack, struct out *out)
{
	const struct rate *rate = rates_of(view->rates, stack);
	struct stack_texts texts;
	struct err *err = NULL;

	print_sums(view, out);
	out_text(out, "\n");
	if (rate)
		print_figures(view, rate, is_counted(stack), out);
	if (is_counted(stack))
		err = sites_print_headline(view->names, stack, out);
	out_blanks(out, INDENT);
	traceback_texts_init(&texts, view->session, INDENT);
	if (!err)
		err = traceback_texts_print(&texts, stack, out);
	traceback_texts_free(&texts);
	return err;
}
